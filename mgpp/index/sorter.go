package index

import (
	"errors"
	"io"
	"os"
)

// sorter sorts more rows than memory holds by their first two numbers: it sorts as
// many as it may keep, writes them to a file as a run, and merges the runs in the end.
// A run is sorted and written while the next one is collected. Rows that are alike in
// both numbers keep no order.
type sorter struct {
	cols  int
	cells []uint64 // of the rows that are collected, one row after another
	most  int      // bytes of them
	dir   string   // of the file of runs

	// What follows belongs to the goroutine that writes a run, until busy says that it
	// has ended; nil: there is none.
	busy  chan struct{}
	spare []uint64 // of the rows of the run before
	order [2][]ranked
	file  *os.File
	out   *output
	runs  []tableMeta
	err   error
}

// sortBytes is how much a sorter collects for a run: it is sorted in a cache.
const sortBytes = 4 << 20

func newSorter(cols int, dir string) *sorter {
	return &sorter{cols: cols, most: sortBytes, dir: dir}
}

// add adds a row of as many numbers as the sorter has columns.
func (s *sorter) add(r ...uint64) {
	s.cells = append(s.cells, r...)
	if len(s.cells)*8 >= s.most {
		s.spill()
	}
}

// wait waits for the run that is being written.
func (s *sorter) wait() {
	if s.busy != nil {
		<-s.busy
		s.busy = nil
	}
}

// spill begins to write what has been collected as a run.
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

func (s *sorter) write(run []uint64) {
	if s.err != nil {
		return
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp(s.dir, "mgtrace-index-*"); s.err != nil {
			return
		}
		s.out = newOutput(s.file)
	}
	t := newTable(s.out, s.cols)
	for _, k := range s.sorted(run) {
		t.add(run[int(k.row)*s.cols:][:s.cols])
	}
	var m tableMeta
	m, s.err = t.finish()
	s.runs = append(s.runs, m)
}

// ranked is a row with one of the numbers that it is sorted by.
type ranked struct {
	key uint64
	row uint32
}

// sorted returns the rows in order: sorted by the second number, unless they came so,
// and then by the first, which leaves what is alike as it is.
func (s *sorter) sorted(run []uint64) []ranked {
	n := len(run) / s.cols
	for i := range s.order {
		if cap(s.order[i]) < n {
			s.order[i] = make([]ranked, n)
		}
		s.order[i] = s.order[i][:n]
	}
	list, other := s.order[0], s.order[1]
	var descends [2]bool
	for i := range list {
		list[i].row = uint32(i)
		for c := range descends {
			descends[c] = descends[c] || i > 0 && run[i*s.cols+c] < run[(i-1)*s.cols+c]
		}
	}
	if descends[1] {
		list, other = s.radix(run, 1, list, other)
	}
	if descends[0] || descends[1] {
		list, _ = s.radix(run, 0, list, other)
	}
	return list
}

const digit = 11 // bits of a key that are sorted by at once

// radix sorts a list stably by a column, from the lowest digit to the highest; it uses
// another list of the same length.
func (s *sorter) radix(run []uint64, col int, list, other []ranked) (sorted, rest []ranked) {
	differ := uint64(0)
	for i := range list {
		list[i].key = run[int(list[i].row)*s.cols+col]
		differ |= list[i].key ^ list[0].key
	}
	for shift := 0; differ>>shift != 0; shift += digit {
		if differ>>shift&(1<<digit-1) == 0 {
			continue
		}
		var at [1 << digit]int
		for i := range list {
			at[list[i].key>>shift&(1<<digit-1)]++
		}
		sum := 0
		for d := range at {
			at[d], sum = sum, sum+at[d]
		}
		for i := range list {
			d := &at[list[i].key>>shift&(1<<digit-1)]
			other[*d] = list[i]
			*d++
		}
		list, other = other, list
	}
	return list, other
}

// mergeRun is a run that is merged.
type mergeRun struct {
	t     *table
	block int
	rows  rows
	room  []byte
	at    int
	head  row
}

// next moves on; it reports whether there is another row.
func (r *mergeRun) next() (bool, error) {
	if r.at++; r.at < r.rows.len() {
		r.head = r.rows.at(r.at)
		return true, nil
	}
	if r.block == r.t.Blocks {
		return false, nil
	}
	if r.block > 0 && r.block%pageBlocks == 0 {
		r.t.pages[r.block/pageBlocks-1] = page{} // of the directory: it is behind
	}
	k, err := r.t.load(r.block, func(n int) []byte { return r.room[:n] })
	r.block, r.at = r.block+1, 0
	if err != nil {
		return false, err
	}
	r.rows = k.rows(r.rows)
	r.head = r.rows.at(0)
	return true, nil
}

// finish gives all rows in order, and removes what it wrote.
func (s *sorter) finish(f func(*row)) error {
	defer s.close()
	s.wait()
	if s.file == nil && s.err == nil {
		var r row
		for _, k := range s.sorted(s.cells) {
			copy(r[:], s.cells[int(k.row)*s.cols:][:s.cols])
			f(&r)
		}
		return nil
	}
	if len(s.cells) > 0 {
		s.write(s.cells)
	}
	s.free()
	if s.err == nil {
		s.err = s.out.w.Flush()
	}
	if s.err != nil {
		return s.err
	}
	return s.merge(f)
}

// free lets go of the memory.
func (s *sorter) free() {
	s.cells, s.spare, s.order = nil, nil, [2][]ranked{}
}

// merge keeps the runs in a heap by their next rows.
func (s *sorter) merge(f func(*row)) error {
	var heap []*mergeRun
	for _, m := range s.runs {
		r := &mergeRun{t: &table{tableMeta: m, f: io.ReaderAt(s.file)}, room: make([]byte, maxBlock+behind), at: -1}
		if err := r.t.open(); err != nil {
			return err
		}
		if ok, err := r.next(); err != nil {
			return err
		} else if ok {
			heap = append(heap, r)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		down(heap, i)
	}
	for len(heap) > 0 {
		f(&heap[0].head)
		ok, err := heap[0].next()
		if err != nil {
			return err
		}
		if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		if len(heap) > 0 {
			down(heap, 0)
		}
	}
	return nil
}

func down(heap []*mergeRun, i int) {
	for {
		k := 2*i + 1
		if k >= len(heap) {
			return
		}
		if k+1 < len(heap) && heap[k+1].head.less(&heap[k].head) {
			k++
		}
		if !heap[k].head.less(&heap[i].head) {
			return
		}
		heap[i], heap[k] = heap[k], heap[i]
		i = k
	}
}

// close removes the file and lets go of the memory. What it wrote is not wanted any
// more.
func (s *sorter) close() {
	s.wait()
	s.free()
	if s.file != nil {
		s.err = errors.Join(s.err, s.file.Close(), os.Remove(s.file.Name()))
		s.file = nil
	}
}
