package index

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"
)

// A table is rows of numbers, sorted by the first two, in blocks. Its directory
// has for each block the first row's two and where the block lies; it follows the
// blocks. It is cut into pages, of which a list, behind it, has the first key and the
// checksum: a query reads the list and the pages that it needs.

const (
	dirBytes = 40 // of an entry: two keys, offset, length, checksum, extra
	pageDir  = 64 // entries of a page of the directory
	topBytes = 20 // of an entry of the list of pages: two keys, checksum
)

// tableMeta is where a table lies.
type tableMeta struct {
	Cols   int    `json:"cols"`
	Rows   uint64 `json:"rows"`
	Blocks int    `json:"blocks"`
	Dir    int64  `json:"dir"` // offset of the directory
	Sum    uint32 `json:"sum"` // of the list of its pages
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
	dir   []byte
	rows  uint64
	// extraCol is the column whose largest value of each block is in the directory;
	// 0: none.
	extraCol int
	err      error
}

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
	for _, v := range [3]uint64{t.block.cells[0][0], t.block.cells[1][0], uint64(t.out.at)} {
		t.dir = binary.LittleEndian.AppendUint64(t.dir, v)
	}
	extra := uint64(0)
	if t.extraCol > 0 {
		extra = slices.Max(t.block.cells[t.extraCol][:t.block.n])
	}
	b := t.block.code()
	t.dir = binary.LittleEndian.AppendUint32(t.dir, uint32(len(b)))
	t.dir = binary.LittleEndian.AppendUint32(t.dir, crc32.Checksum(b, castagnoli))
	t.dir = binary.LittleEndian.AppendUint64(t.dir, extra)
	_, t.err = t.out.Write(b)
}

// finish writes the directory.
func (t *tableWriter) finish() (tableMeta, error) {
	t.flush()
	var top []byte
	for at := 0; at < len(t.dir); at += pageDir * dirBytes {
		page := t.dir[at:min(at+pageDir*dirBytes, len(t.dir))]
		top = append(top, page[:16]...)
		top = binary.LittleEndian.AppendUint32(top, crc32.Checksum(page, castagnoli))
	}
	m := tableMeta{Cols: t.block.cols, Rows: t.rows, Blocks: len(t.dir) / dirBytes, Dir: t.out.at, Sum: crc32.Checksum(top, castagnoli)}
	for _, b := range [2][]byte{t.dir, top} {
		if t.err == nil {
			_, t.err = t.out.Write(b)
		}
	}
	return m, t.err
}

// table reads one. Its directory is read as it is needed.
type table struct {
	tableMeta
	f      io.ReaderAt
	top    []byte   // the list of pages; nil: not read
	pages  [][]byte // of the directory; nil: not read
	cached map[int]*block
	order  []int  // of cached, oldest first
	room   []byte // for blocks to come
}

const (
	// cachedBlocks is how many blocks of each table are kept.
	cachedBlocks = 1 << 13
	// roomBytes is how much memory is taken at once for blocks.
	roomBytes = 1 << 15
)

// open reads the list of pages.
func (t *table) open() error {
	if t.top != nil || t.Blocks == 0 {
		return nil
	}
	pages := (t.Blocks + pageDir - 1) / pageDir
	top := make([]byte, pages*topBytes)
	if err := t.directory(top, t.Dir+int64(t.Blocks)*dirBytes, t.Sum); err != nil {
		return err
	}
	t.top, t.pages = top, make([][]byte, pages)
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

// page returns a page of the directory. The table is open.
func (t *table) page(i int) ([]byte, error) {
	if t.pages[i] == nil {
		page := make([]byte, min(t.Blocks-i*pageDir, pageDir)*dirBytes)
		if err := t.directory(page, t.Dir+int64(i)*pageDir*dirBytes, binary.LittleEndian.Uint32(t.top[i*topBytes+16:])); err != nil {
			return nil, err
		}
		t.pages[i] = page
	}
	return t.pages[i], nil
}

// entry is what the directory says of a block. The table is open.
type entry struct {
	a, b uint64 // of its first row
	at   int64
	n    int
	sum  uint32
	most uint64 // the largest value of the extra column
}

func (t *table) entry(block int) (entry, error) {
	page, err := t.page(block / pageDir)
	if err != nil {
		return entry{}, err
	}
	e := page[block%pageDir*dirBytes:][:dirBytes]
	return entry{
		binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:]), int64(binary.LittleEndian.Uint64(e[16:])),
		int(binary.LittleEndian.Uint32(e[24:])), binary.LittleEndian.Uint32(e[28:]), binary.LittleEndian.Uint64(e[32:]),
	}, nil
}

// block returns a block, which is kept for a while.
func (t *table) block(i int) (*block, error) {
	if k, ok := t.cached[i]; ok {
		return k, nil
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	k, err := t.load(i, &t.room)
	if err != nil {
		return nil, err
	}
	if t.cached == nil {
		t.cached = map[int]*block{}
	}
	if len(t.order) == cachedBlocks {
		delete(t.cached, t.order[0])
		t.order = t.order[1:]
	}
	t.cached[i] = &k
	t.order = append(t.order, i)
	return &k, nil
}

// load reads a block into room, of which it takes as much as it needs. The table is open.
func (t *table) load(i int, room *[]byte) (block, error) {
	e, err := t.entry(i)
	if err != nil {
		return block{}, err
	}
	if e.at < 0 || e.n > maxBlock {
		return block{}, errBlock
	}
	if len(*room) < e.n+behind {
		*room = make([]byte, max(roomBytes, e.n+behind))
	}
	b := (*room)[:e.n]
	*room = (*room)[e.n+behind:]
	if _, err := t.f.ReadAt(b, e.at); err != nil && err != io.EOF {
		return block{}, err
	}
	if crc32.Checksum(b, castagnoli) != e.sum {
		return block{}, errBlock
	}
	return parseBlock(b, t.Cols)
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
	k, block, err := t.blockBelow(a, b)
	if k == nil {
		return row{}, 0, false, err
	}
	n, key := k.below(a, b)
	if n == 0 || key[0] != a {
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
	// The last page whose first key is below, and of it the last block.
	want := row{a, b}
	below := func(a, b uint64) bool { return (&row{a, b}).less(&want) }
	page := sort.Search(len(t.pages), func(i int) bool {
		e := t.top[i*topBytes:]
		return !below(binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:]))
	}) - 1
	if page < 0 {
		return nil, 0, nil
	}
	dir, err := t.page(page)
	if err != nil {
		return nil, 0, err
	}
	i := page*pageDir + sort.Search(len(dir)/dirBytes, func(i int) bool {
		e := dir[i*dirBytes:]
		return !below(binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:]))
	}) - 1
	k, err := t.block(i)
	return k, i, err
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
