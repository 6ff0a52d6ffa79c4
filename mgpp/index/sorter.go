package index

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
	"slices"
)

// sorter sorts more rows than memory holds by their first two numbers. It deals them out:
// rows that agree in the upper bits of their first number are a bucket. When as many are
// collected as it may keep, they are written to a file, those of a bucket together, while the
// next are collected. In the end the buckets are read and sorted, one after another. One that is too
// large for that is dealt out anew, and where all its first numbers are alike, by the second.
// Rows that are alike in both numbers keep no order.
type sorter struct {
	cols  int
	by    int      // the number that they are dealt out by: 0 or 1
	cells []uint64 // of the rows that are collected, one row after another
	most  int      // bytes of them
	dir   string   // of the file

	// What follows belongs to the goroutine that writes, until busy says that it has ended;
	// nil: there is none.
	busy    chan struct{}
	spare   []uint64 // of the rows that were collected before
	buckets buckets
	file    *os.File
	at      int64 // bytes of it
	forms   []form
	out     []byte
	err     error
}

const (
	// sortBytes is how much a sorter collects before it writes.
	sortBytes = 4 << 20
	// bucketTimes is how many times as much a bucket may be, to be sorted in memory.
	bucketTimes = 4
	// bucketRows is the least number of rows of a bucket that are written together, on average.
	bucketRows = 64
	// leastBuckets is how many there may be in any case.
	leastBuckets = 16
)

func newSorter(cols int, dir string) *sorter {
	return &sorter{cols: cols, most: sortBytes, dir: dir}
}

// add adds a row of as many numbers as the sorter has columns.
func (s *sorter) add(r ...uint64) { copy(s.next(), r) }

// next adds a row, and returns its numbers, which are to be set before another is added.
func (s *sorter) next() []uint64 {
	n := len(s.cells)
	if n+s.cols > cap(s.cells) {
		s.makeRoom()
		n = len(s.cells)
	}
	s.cells = s.cells[:n+s.cols]
	return s.cells[n:]
}

// makeRoom makes room for another row.
func (s *sorter) makeRoom() {
	most := s.most / 8 / s.cols * s.cols
	if cap(s.cells) < most {
		s.cells = append(make([]uint64, 0, min(max(4*cap(s.cells), 1<<10), most)), s.cells...)
		return
	}
	s.spill()
	if cap(s.cells) < most {
		s.cells = make([]uint64, 0, most)
	}
}

// wait waits for what is being written.
func (s *sorter) wait() {
	if s.busy != nil {
		<-s.busy
		s.busy = nil
	}
}

// spill begins to write what has been collected.
func (s *sorter) spill() {
	s.wait()
	run := s.cells
	s.cells = s.spare[:0]
	done := make(chan struct{})
	s.busy = done
	go func() {
		defer close(done)
		s.write(run)
		s.spare = run
	}()
}

// form is how many bytes the numbers of each column take in a bucket of the file.
type form [maxCols]uint8

// bytes is how many a row takes.
func (f *form) bytes() (n int) {
	for _, k := range f {
		n += int(k)
	}
	return n
}

// write writes rows to the file, bucket by bucket, with as many bytes for each column as its
// largest number needs.
func (s *sorter) write(run []uint64) {
	if s.err != nil {
		return
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp(s.dir, "mgtrace-index-*"); s.err != nil {
			return
		}
		if s.err = os.Remove(s.file.Name()); s.err != nil { // at once: nobody else opens it, and it is gone however mgtrace ends
			return
		}
	}
	var all row
	for i := 0; i < len(run); i += s.cols {
		for c, v := range run[i:][:s.cols] {
			all[c] |= v
		}
	}
	var f form
	for c, v := range all {
		f[c] = uint8(bytesOf(v))
	}
	s.forms = append(s.forms, f)
	s.buckets.deal(run, s.cols, s.by, max(s.most/8/s.cols/bucketRows, leastBuckets))
	// A row may be written with as many bytes as behind says behind it: so much lies
	// between two buckets.
	width := f.bytes()
	ends := s.buckets.count
	n := 0
	for p, rows := range ends {
		if rows > 0 {
			list := &s.buckets.list[p]
			list.rows += int(rows)
			list.segments = append(list.segments, segment{s.at + int64(n), rows, uint32(len(s.forms) - 1)})
		}
		ends[p] = uint32(n)
		if rows > 0 {
			n += int(rows)*width + behind
		}
	}
	s.out = slices.Grow(s.out[:0], n)[:n]
	for i, p := range s.buckets.of {
		to := s.out[ends[p]:]
		ends[p] += uint32(width)
		at := 0
		for c, v := range run[i*s.cols:][:s.cols] {
			binary.LittleEndian.PutUint64(to[at:], v)
			at += int(f[c])
		}
	}
	_, s.err = s.file.WriteAt(s.out, s.at)
	s.at += int64(n)
}

// buckets are what rows are dealt out to.
type buckets struct {
	shift uint // the bits of a number that do not tell buckets apart
	list  []bucket
	slots []uint32 // hash table of keys: index in list, plus 1; a power of two
	of    []uint32 // the bucket of each row that was dealt out last
	count []uint32 // how many of these each bucket has
}

// bucket is the rows of which a number has the same upper bits.
type bucket struct {
	key      uint64 // these bits
	rows     int
	segments []segment
}

// segment is some rows of a bucket that lie in the file together.
type segment struct {
	at   int64
	rows uint32
	form uint32 // number of it
}

// deal finds the bucket of each row. Where that makes too many, buckets are joined: they
// never become one of all rows, which would be dealt out the same way again.
func (bs *buckets) deal(run []uint64, cols, by, most int) {
	n := len(run) / cols
	bs.of = slices.Grow(bs.of[:0], n)[:n]
	for !bs.try(run[by:], cols, most) {
		old := bs.list
		bs.shift += 3
		bs.list, bs.slots, bs.count = nil, nil, nil
		for _, o := range old {
			if o.rows > 0 {
				p := &bs.list[bs.find(o.key>>3)]
				p.rows += o.rows
				p.segments = append(p.segments, o.segments...)
			}
		}
	}
}

// try deals out the rows of which the numbers are those given, each so many behind the one
// before, to at most so many buckets; it reports whether they are enough.
func (bs *buckets) try(numbers []uint64, cols, most int) bool {
	clear(bs.count)
	used := 0
	for i := range bs.of {
		p := bs.find(numbers[i*cols] >> bs.shift)
		if bs.count[p] == 0 {
			if used++; used > most {
				return false
			}
		}
		bs.count[p]++
		bs.of[i] = p
	}
	return true
}

// find returns the bucket with a key.
func (bs *buckets) find(key uint64) uint32 {
	if 2*len(bs.list) >= len(bs.slots) {
		bs.slots = make([]uint32, max(2*len(bs.slots), 1<<8))
		for i := range bs.list {
			*bs.slot(bs.list[i].key) = uint32(i + 1)
		}
	}
	k := bs.slot(key)
	if *k == 0 {
		bs.list = append(bs.list, bucket{key: key})
		bs.count = append(bs.count, 0)
		*k = uint32(len(bs.list))
	}
	return *k - 1
}

func (bs *buckets) slot(key uint64) *uint32 {
	mask := uint64(len(bs.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		k := &bs.slots[i&mask]
		if *k == 0 || bs.list[*k-1].key == key {
			return k
		}
	}
}

// finish gives all rows in order, each valid until the next, and removes what it wrote. While it
// gives those of a bucket the next is read and sorted.
func (s *sorter) finish(f func([]uint64)) error {
	defer s.close()
	s.wait()
	if s.file == nil && s.err == nil {
		new(arranged).give(s, s.cells, f)
		return nil
	}
	if len(s.cells) > 0 {
		s.write(s.cells)
	}
	if s.err != nil {
		return s.err
	}
	s.cells, s.spare, s.out, s.buckets.of = nil, nil, nil, nil
	list := s.buckets.list
	slices.SortFunc(list, func(a, b bucket) int { return cmp.Compare(a.key, b.key) })
	next, room, done := make(chan *arranged), make(chan *arranged, 2), make(chan struct{})
	room <- new(arranged)
	room <- new(arranged)
	go func() {
		defer close(next)
		for i := range list {
			var a *arranged
			select {
			case a = <-room:
			case <-done:
				return
			}
			s.arrange(&list[i], a)
			select {
			case next <- a:
			case <-done:
				return
			}
		}
	}()
	defer func() { // the other one has ended before the file is closed
		close(done)
		for range next {
		}
	}()
	for a := range next {
		if s.err = a.err; s.err == nil && a.large != nil {
			s.err = s.again(a.large, f)
		}
		if s.err != nil {
			return s.err
		}
		a.each(s.cols, f)
		room <- a
	}
	return nil
}

// arranged is the rows of a bucket, and their order.
type arranged struct {
	rows  []uint64
	list  []ranked
	large *bucket // the bucket is too large, and has no rows here
	err   error

	bytes []byte // room
	order [2][]ranked
}

// arrange reads and sorts a bucket.
func (s *sorter) arrange(b *bucket, a *arranged) {
	a.rows, a.list, a.large, a.err = a.rows[:0], nil, nil, nil
	if b.rows*s.cols*8 > bucketTimes*s.most {
		a.large = b
		return
	}
	a.rows = slices.Grow(a.rows, b.rows*s.cols)
	for _, x := range b.segments {
		if a.err = s.read(x, a); a.err != nil {
			return
		}
	}
	a.sort(s.cols)
}

// give gives rows in order.
func (a *arranged) give(s *sorter, rows []uint64, f func([]uint64)) {
	a.rows = rows
	a.sort(s.cols)
	a.each(s.cols, f)
}

// each gives the rows in order.
func (a *arranged) each(cols int, f func([]uint64)) {
	for _, k := range a.list {
		f(a.rows[int(k.row)*cols:][:cols])
	}
}

// read appends the rows of a segment.
func (s *sorter) read(x segment, a *arranged) error {
	f := &s.forms[x.form]
	width := f.bytes()
	n := int(x.rows)*width + behind
	a.bytes = slices.Grow(a.bytes[:0], n)[:n]
	if _, err := s.file.ReadAt(a.bytes, x.at); err != nil {
		return err
	}
	from, to := len(a.rows), int(x.rows)*s.cols
	rows := slices.Grow(a.rows, to)[:from+to]
	at := 0
	for c, n := range f[:s.cols] {
		mask := lengthMasks[n]
		for i, k := from+c, at; i < len(rows); i, k = i+s.cols, k+width {
			rows[i] = binary.LittleEndian.Uint64(a.bytes[k:]) & mask
		}
		at += int(n)
	}
	a.rows = rows
	return nil
}

// each gives the rows of a bucket as they lie in the file, each valid until the next.
func (s *sorter) each(b *bucket, f func([]uint64)) error {
	var a arranged
	for _, x := range b.segments {
		a.rows = a.rows[:0]
		if err := s.read(x, &a); err != nil {
			return err
		}
		for r := range slices.Chunk(a.rows, s.cols) {
			f(r)
		}
	}
	return nil
}

// again gives the rows of a large bucket in order.
func (s *sorter) again(b *bucket, f func([]uint64)) error {
	var last key
	n, alike, ascend := 0, true, true // whether the first numbers are alike, and the rows come in order
	err := s.each(b, func(r []uint64) {
		x := key{r[0], r[1]}
		if n > 0 {
			alike = alike && x[0] == last[0]
			ascend = ascend && !x.less(last)
		}
		last = x
		n++
	})
	if err != nil {
		return err
	}
	if ascend {
		return s.each(b, f)
	}
	sub := &sorter{cols: s.cols, most: s.most, dir: s.dir}
	if alike {
		sub.by = 1
	}
	defer sub.close()
	if err := s.each(b, func(r []uint64) { sub.add(r...) }); err != nil {
		return err
	}
	return sub.finish(f)
}

// ranked is a row with one of the numbers that it is sorted by.
type ranked struct {
	key uint64
	row uint32
}

// sort finds the order of the rows: sorted by the second number, unless they came so,
// and then by the first, which leaves what is alike as it is.
func (a *arranged) sort(cols int) {
	n := len(a.rows) / cols
	for i := range a.order {
		if cap(a.order[i]) < n {
			a.order[i] = make([]ranked, n)
		}
		a.order[i] = a.order[i][:n]
	}
	list, other := a.order[0], a.order[1]
	var descends [2]bool
	for i := range list {
		list[i].row = uint32(i)
		for c := range descends {
			descends[c] = descends[c] || i > 0 && a.rows[i*cols+c] < a.rows[(i-1)*cols+c]
		}
	}
	if descends[1] {
		list, other = radix(a.rows, cols, 1, list, other)
	}
	if descends[0] || descends[1] {
		list, _ = radix(a.rows, cols, 0, list, other)
	}
	a.list = list
}

const digit = 11 // bits of a key that are sorted by at once, at most

// radix sorts a list stably by a column, from the lowest digit to the highest; it uses
// another list of the same length.
func radix(run []uint64, cols, col int, list, other []ranked) (sorted, rest []ranked) {
	differ := uint64(0)
	for i := range list {
		list[i].key = run[int(list[i].row)*cols+col]
		differ |= list[i].key ^ list[0].key
	}
	var room [1 << digit]uint32
	for shift := bits.TrailingZeros64(differ); differ>>shift != 0; shift += digit {
		if differ>>shift&(1<<digit-1) == 0 {
			continue
		}
		at := room[:1<<min(bits.Len64(differ>>shift), digit)]
		mask := uint64(len(at) - 1)
		clear(at)
		for i := range list {
			at[list[i].key>>shift&mask]++
		}
		sum := uint32(0)
		for d := range at {
			at[d], sum = sum, sum+at[d]
		}
		for i := range list {
			d := &at[list[i].key>>shift&mask]
			other[*d] = list[i]
			*d++
		}
		list, other = other, list
	}
	return list, other
}

// close removes the file and lets go of the memory. What it wrote is not wanted any
// more.
func (s *sorter) close() {
	s.wait()
	s.cells, s.spare, s.out, s.buckets = nil, nil, nil, buckets{}
	if s.file != nil {
		s.err = errors.Join(s.err, s.file.Close())
		s.file = nil
	}
}
