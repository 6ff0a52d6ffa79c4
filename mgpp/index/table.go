package index

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sort"
)

// A table is rows of numbers, sorted by the first two, in blocks, each with a checksum
// behind it. Its directory has for each block the first row's two and the length; it
// follows the blocks. It is cut into pages, of which a list, behind it, has the first key
// and the checksum: a query reads the list and the pages that it needs.

const (
	topBytes = 20 // of an entry of the list of pages: two keys, checksum
	sumBytes = 4  // of a block
)

// tableMeta is where a table lies.
type tableMeta struct {
	Cols   int    `json:"cols"`
	Rows   uint64 `json:"rows"`
	Blocks int    `json:"blocks"`
	Dir    int64  `json:"dir"`            // offset of the directory
	Sum    uint32 `json:"sum"`            // of the list of its pages
	Most   bool   `json:"most,omitempty"` // the directory has the largest value of a column
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // read-only

// output is a file that is written from the front.
type output struct {
	w  *bufio.Writer
	at int64
}

func newOutput(w io.Writer) *output { return &output{w: bufio.NewWriterSize(w, 1<<18)} }

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.at += int64(n)
	return n, err
}

// tableWriter writes a table. Its rows come sorted.
type tableWriter struct {
	out   *output
	block filling
	dir   []dirEntry
	rows  uint64
	// mostCol is the column whose largest value of each block is in the directory;
	// 0: none.
	mostCol int
	err     error
}

// newTable begins a table, of which the blocks lie one behind the other: nothing else is
// written to out until it is finished.
func newTable(out *output, cols int) *tableWriter {
	return &tableWriter{out: out, block: filling{cols: cols}}
}

// add adds a row: its first numbers, as many as the table has columns.
func (t *tableWriter) add(r []uint64) {
	t.block.add(r)
	t.rows++
	if t.block.n == blockRows {
		t.flush()
	}
}

func (t *tableWriter) flush() {
	if t.block.n == 0 || t.err != nil {
		return
	}
	e := dirEntry{a: t.block.cells[0][0], b: t.block.cells[1][0]}
	if t.mostCol > 0 {
		e.most = slices.Max(t.block.cells[t.mostCol][:t.block.n])
	}
	b := t.block.code()
	e.n = uint16(len(b))
	t.dir = append(t.dir, e)
	_, t.err = t.out.Write(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
}

// finish writes the directory.
func (t *tableWriter) finish() (tableMeta, error) {
	t.flush()
	m := tableMeta{Cols: t.block.cols, Rows: t.rows, Blocks: len(t.dir), Dir: t.out.at, Most: t.mostCol > 0}
	at := t.out.at // of a block: first of the first
	for _, e := range t.dir {
		at -= int64(e.n) + sumBytes
	}
	var top, page []byte
	for part := range slices.Chunk(t.dir, pageBlocks) {
		if t.err != nil {
			break
		}
		page = appendPage(page[:0], at, part, m.Most)
		for _, e := range part {
			at += int64(e.n) + sumBytes
		}
		top = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(top, part[0].a), part[0].b)
		top = binary.LittleEndian.AppendUint32(top, crc32.Checksum(page, castagnoli))
		_, t.err = t.out.Write(page)
	}
	m.Sum = crc32.Checksum(top, castagnoli)
	if t.err == nil {
		_, t.err = t.out.Write(top)
	}
	return m, t.err
}

// table reads one. Its directory is read as it is needed.
type table struct {
	tableMeta
	f      io.ReaderAt
	top    []byte   // the list of pages; nil: not read
	pages  int      // of the directory
	kept   []kept   // of them, by number: few are wanted again, and fresh memory costs as much as reading
	cached []cached // blocks, by number
	loads  int      // of blocks
	last   nearby   // what blockBelow returned: the words of a node lie together

	foreseen []foreseen // by number
}

// cached is a block that was read.
type cached struct {
	block
	number int // plus 1
}

// kept is a page of the directory that was read.
type kept struct {
	page
	number int // plus 1
}

// nearby is a block, where it is the last of which the first row is below a key: that is
// above from and not above to.
type nearby struct {
	from, to key // alike: nothing is known
	i        int
}

func (n *nearby) has(want key) bool { return n.from.less(want) && !n.to.less(want) }

const (
	// leastCached and mostCached are how many blocks of each table are kept: more, the more
	// were read. A short question touches little memory so.
	leastCached, mostCached = 1 << 5, 1 << 13
	// blockRoom is what the memory for a block is a multiple of, so that it is enough for most
	// others.
	blockRoom = 256
	// keptPages is how many pages of a directory are kept.
	keptPages = 8
)

// open reads the list of pages.
func (t *table) open() error {
	if t.top != nil || t.Blocks == 0 {
		return nil
	}
	whole := t.Blocks / pageBlocks
	end, pages := int64(whole)*int64(pageBytes(pageBlocks, t.Most)), whole
	if rest := t.Blocks % pageBlocks; rest > 0 {
		end, pages = end+int64(pageBytes(rest, t.Most)), pages+1
	}
	top := make([]byte, pages*topBytes)
	if err := t.directory(top, t.Dir+end, t.Sum); err != nil {
		return err
	}
	t.top, t.pages, t.kept = top, pages, make([]kept, min(pages, keptPages))
	return nil
}

func (t *table) directory(b []byte, at int64, sum uint32) error {
	if _, err := t.f.ReadAt(b, at); err != nil && err != io.EOF {
		return err
	}
	if crc32.Checksum(b, castagnoli) != sum {
		return fmt.Errorf("%w: a directory", ErrCorrupt)
	}
	return nil
}

// page returns a page of the directory, valid until another is asked for. The table is open.
func (t *table) page(i int) (page, error) {
	k := &t.kept[i%len(t.kept)]
	if k.number != i+1 {
		k.number = 0
		p, err := t.readPage(i, k.b)
		if err != nil {
			return page{}, err
		}
		*k = kept{p, i + 1}
	}
	return k.page, nil
}

// readPage reads a page of the directory into the room of another, if it is enough.
func (t *table) readPage(i int, room []byte) (page, error) {
	n := min(t.Blocks-i*pageBlocks, pageBlocks)
	b := slices.Grow(room[:0], pageBytes(n, t.Most))[:pageBytes(n, t.Most)]
	err := t.directory(b, t.Dir+int64(i)*int64(pageBytes(pageBlocks, t.Most)), binary.LittleEndian.Uint32(t.top[i*topBytes+16:]))
	return page{b, n}, err
}

// block returns a block, valid until another is asked for.
func (t *table) block(i int) (*block, error) {
	if len(t.cached) > 0 {
		if k := &t.cached[i%len(t.cached)]; k.number == i+1 {
			return &k.block, nil
		}
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	if n := len(t.cached); n == 0 || t.loads > 8*n && n < mostCached {
		old := t.cached
		t.cached = make([]cached, max(2*n, leastCached))
		for _, k := range old {
			if k.number > 0 {
				t.cached[(k.number-1)%len(t.cached)] = k
			}
		}
	}
	t.loads++
	k := &t.cached[i%len(t.cached)]
	k.number = 0
	p, err := t.page(i / pageBlocks)
	if err != nil {
		return nil, err
	}
	if k.block, err = t.load(p, i%pageBlocks, k.b); err != nil {
		return nil, err
	}
	k.number = i + 1
	return &k.block, nil
}

// load reads block i of a page into the room of another, if it is enough.
func (t *table) load(p page, i int, room []byte) (block, error) {
	at, n := p.place(i)
	if at < 0 || n > maxBlock {
		return block{}, errBlock
	}
	b := room[:cap(room)]
	if need := n + max(sumBytes, behind); len(b) < need {
		b = make([]byte, (need+blockRoom-1)/blockRoom*blockRoom)
	}
	if _, err := t.f.ReadAt(b[:n+sumBytes], at); err != nil && err != io.EOF {
		return block{}, err
	}
	if crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return block{}, errBlock
	}
	return parseBlock(b[:n], t.Cols)
}

// at returns row i.
func (t *table) at(i uint64) (row, error) {
	if i >= t.Rows {
		return row{}, fmt.Errorf("%w: row %d of %d", ErrCorrupt, i, t.Rows)
	}
	k, err := t.block(int(i / blockRows))
	if err != nil || int(i%blockRows) >= k.n {
		return row{}, fmt.Errorf("%w: row %d", ErrCorrupt, i)
	}
	return k.row(int(i % blockRows)), nil
}

// search returns the number of the first row that is not below (a, b); Rows if
// there is none.
func (t *table) search(a, b uint64) (uint64, error) {
	if f := t.foreseenBelow(key{a, b}); f != nil {
		return uint64(f.i) + 1, nil
	}
	k, i, err := t.blockBelow(a, b)
	if k == nil {
		return 0, err
	}
	n, _ := k.below(a, b)
	return uint64(i)*blockRows + uint64(n), nil
}

// before returns the last row that is below (a, b) and has the number a too, and its
// number; false if there is none.
func (t *table) before(a, b uint64) (r row, i uint64, ok bool, err error) {
	if f := t.foreseenBelow(key{a, b}); f != nil {
		if f.from[0] != a {
			return row{}, 0, false, nil
		}
		return f.row, uint64(f.i), true, nil
	}
	k, block, err := t.blockBelow(a, b)
	if k == nil {
		return row{}, 0, false, err
	}
	n, last := k.below(a, b)
	if n == 0 || last[0] != a {
		return row{}, 0, false, nil
	}
	return k.row(n - 1), uint64(block)*blockRows + uint64(n-1), true, nil
}

// blockBelow returns the last block of which the first row is below a key; nil if there is
// none.
func (t *table) blockBelow(a, b uint64) (*block, int, error) {
	if t.Blocks == 0 {
		return nil, 0, nil
	}
	if err := t.open(); err != nil {
		return nil, 0, err
	}
	want := key{a, b}
	if t.last.has(want) {
		k, err := t.block(t.last.i)
		return k, t.last.i, err
	}
	at := t.pageBelow(want)
	if at < 0 {
		return nil, 0, nil
	}
	p, err := t.page(at)
	if err != nil {
		return nil, 0, err
	}
	t.last = t.nearby(p, at, want)
	k, err := t.block(t.last.i)
	return k, t.last.i, err
}

// pageBelow returns the last page of which the first key is below another; -1 if there is
// none. The table is open.
func (t *table) pageBelow(want key) int {
	return sort.Search(t.pages, func(i int) bool { return !t.firstOf(i).less(want) }) - 1
}

// firstOf is the first key of a page.
func (t *table) firstOf(i int) key {
	e := t.top[i*topBytes:]
	return key{binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])}
}

// nearby finds the last block of a page, which has the number at, of which the first row is
// below a key. The first row of the page is.
func (t *table) nearby(p page, at int, want key) nearby {
	in := max(sort.Search(p.n, func(i int) bool { return !p.key(i).less(want) })-1, 0)
	n := nearby{from: p.key(in), to: key{math.MaxUint64, math.MaxUint64}, i: at*pageBlocks + in}
	switch {
	case in+1 < p.n:
		n.to = p.key(in + 1)
	case at+1 < t.pages:
		n.to = t.firstOf(at + 1)
	}
	return n
}

// scan gives the rows from number i on until f returns false.
func (t *table) scan(i uint64, f func(*row) bool) error {
	var r row
	var room rows
	for i < t.Rows {
		k, err := t.block(int(i / blockRows))
		if err != nil {
			return err
		}
		room = k.rows(room)
		for at := int(i % blockRows); at < room.len(); at++ {
			if r = room.at(at); !f(&r) {
				return nil
			}
		}
		i = (i/blockRows + 1) * blockRows
	}
	return nil
}
