package index

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sort"

	"github.com/klauspost/compress/zstd"
)

// A table is rows of numbers, sorted by the first two, in blocks. Its directory
// has for each block the first row's two and where the block lies; it follows the
// blocks. It is cut into pages, of which a list, behind it, has the first key and the
// checksum: a query reads the list and the pages that it needs.

const (
	maxCols   = 7
	blockRows = 128
	dirBytes  = 40  // of an entry: two keys, offset, length, checksum, extra
	pageDir   = 256 // entries of a page of the directory
	topBytes  = 20  // of an entry of the list of pages: two keys, checksum
)

type row [maxCols]uint64

// rows are those of a block, one after another, as many numbers each as the table has
// columns.
type rows struct {
	cells []uint64
	cols  int
}

func (r rows) len() int { return len(r.cells) / r.cols }

func (r rows) at(i int) (out row) {
	copy(out[:], r.cells[i*r.cols:][:r.cols])
	return out
}

func (r rows) less(i int, b *row) bool {
	c := r.cells[i*r.cols:][:2]
	return c[0] < b[0] || c[0] == b[0] && c[1] < b[1]
}

func (a *row) less(b *row) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

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
	cols  int
	zstd  *zstd.Encoder // nil: blocks are not compressed
	block []row
	dir   []byte
	rows  uint64
	extra uint64 // largest of the block, of column extraCol
	// extraCol is the column whose largest value of each block is in the directory;
	// 0: none.
	extraCol int
	raw, buf []byte
	err      error
}

func newTable(out *output, cols int, z *zstd.Encoder) *tableWriter {
	return &tableWriter{out: out, cols: cols, zstd: z, block: make([]row, 0, blockRows)}
}

func (t *tableWriter) add(r *row) {
	t.block = append(t.block, *r)
	t.rows++
	if t.extraCol > 0 {
		t.extra = max(t.extra, r[t.extraCol])
	}
	if len(t.block) == blockRows {
		t.flush()
	}
}

func (t *tableWriter) flush() {
	if len(t.block) == 0 || t.err != nil {
		return
	}
	t.raw = encodeBlock(t.raw[:0], t.block, t.cols)
	b := t.raw
	if t.zstd != nil {
		t.buf = t.zstd.EncodeAll(t.raw, append(t.buf[:0], 1))
		if len(t.buf) < len(t.raw) {
			b = t.buf
		}
	}
	first := &t.block[0]
	for _, v := range [3]uint64{first[0], first[1], uint64(t.out.at)} {
		t.dir = binary.LittleEndian.AppendUint64(t.dir, v)
	}
	t.dir = binary.LittleEndian.AppendUint32(t.dir, uint32(len(b)))
	t.dir = binary.LittleEndian.AppendUint32(t.dir, crc32.Checksum(b, castagnoli))
	t.dir = binary.LittleEndian.AppendUint64(t.dir, t.extra)
	_, t.err = t.out.Write(b)
	t.block, t.extra = t.block[:0], 0
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
	m := tableMeta{Cols: t.cols, Rows: t.rows, Blocks: len(t.dir) / dirBytes, Dir: t.out.at, Sum: crc32.Checksum(top, castagnoli)}
	for _, b := range [2][]byte{t.dir, top} {
		if t.err == nil {
			_, t.err = t.out.Write(b)
		}
	}
	return m, t.err
}

// encodeBlock codes rows by column, each number as the difference from that of
// the row before. The first byte says that it is not compressed.
func encodeBlock(b []byte, rows []row, cols int) []byte {
	b = binary.AppendUvarint(append(b, 0), uint64(len(rows)))
	for c := range cols {
		prev := uint64(0)
		for i := range rows {
			d := rows[i][c] - prev
			b = binary.AppendUvarint(b, d<<1^uint64(int64(d)>>63))
			prev = rows[i][c]
		}
	}
	return b
}

var errBlock = fmt.Errorf("%w: a block of a table", ErrCorrupt)

// decodeBlock decodes rows into those of a block of before, if there is room.
func decodeBlock(b []byte, cols int, in rows) (rows, error) {
	if len(b) == 0 || b[0] != 0 {
		return rows{}, errBlock
	}
	n, k := binary.Uvarint(b[1:])
	if k <= 0 || n > blockRows || n == 0 || int(n)*cols > len(b) {
		return rows{}, errBlock
	}
	b = b[1+k:]
	cells := in.cells
	if cap(cells) < int(n)*cols {
		cells = make([]uint64, int(n)*cols)
	}
	cells = cells[:int(n)*cols]
	for c := range cols {
		prev := uint64(0)
		for i := c; i < len(cells); i += cols {
			var u uint64
			switch { // most are of one byte or two
			case len(b) >= 1 && b[0] < 0x80:
				u, b = uint64(b[0]), b[1:]
			case len(b) >= 2 && b[1] < 0x80:
				u, b = uint64(b[0]&0x7f)|uint64(b[1])<<7, b[2:]
			default:
				v, k := binary.Uvarint(b)
				if k <= 0 {
					return rows{}, errBlock
				}
				u, b = v, b[k:]
			}
			prev += u>>1 ^ -(u & 1)
			cells[i] = prev
		}
	}
	if len(b) > 0 {
		return rows{}, errBlock
	}
	return rows{cells, cols}, nil
}

// table reads one. Its directory is read as it is needed.
type table struct {
	tableMeta
	f      io.ReaderAt
	zstd   *zstd.Decoder
	top    []byte   // the list of pages; nil: not read
	pages  [][]byte // of the directory; nil: not read
	cached map[int]rows
	order  []int // of cached, oldest first
	buf    []byte
	raw    []byte
}

// cachedBlocks is how many blocks of each table are kept decoded.
const cachedBlocks = 2048

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

// block returns the rows of a block, read-only, valid until blocks of the table
// that were asked for more recently have taken its place.
func (t *table) block(i int) (rows, error) {
	if err := t.open(); err != nil {
		return rows{}, err
	}
	if r, ok := t.cached[i]; ok {
		return r, nil
	}
	r, err := t.load(i, rows{})
	if err != nil {
		return rows{}, err
	}
	if t.cached == nil {
		t.cached = map[int]rows{}
	}
	if len(t.order) == cachedBlocks {
		delete(t.cached, t.order[0])
		t.order = t.order[1:]
	}
	t.cached[i] = r
	t.order = append(t.order, i)
	return r, nil
}

func (t *table) load(i int, in rows) (rows, error) {
	e, err := t.entry(i)
	if err != nil {
		return rows{}, err
	}
	if e.at < 0 || e.n > 1<<20 {
		return rows{}, errBlock
	}
	if cap(t.buf) < e.n {
		t.buf = make([]byte, e.n)
	}
	b := t.buf[:e.n]
	if _, err := t.f.ReadAt(b, e.at); err != nil && err != io.EOF {
		return rows{}, err
	}
	if crc32.Checksum(b, castagnoli) != e.sum {
		return rows{}, errBlock
	}
	if e.n > 0 && b[0] == 1 {
		if t.raw, err = t.zstd.DecodeAll(b[1:], t.raw[:0]); err != nil {
			return rows{}, errBlock
		}
		b = t.raw
	}
	return decodeBlock(b, t.Cols, in)
}

// at returns row i.
func (t *table) at(i uint64) (row, error) {
	if i >= t.Rows {
		return row{}, fmt.Errorf("%w: row %d of %d", ErrCorrupt, i, t.Rows)
	}
	r, err := t.block(int(i / blockRows))
	if err != nil || int(i%blockRows) >= r.len() {
		return row{}, fmt.Errorf("%w: row %d", ErrCorrupt, i)
	}
	return r.at(int(i % blockRows)), nil
}

// search returns the number of the first row that is not below (a, b); Rows if
// there is none.
func (t *table) search(a, b uint64) (uint64, error) {
	if t.Blocks == 0 {
		return 0, nil
	}
	if err := t.open(); err != nil {
		return 0, err
	}
	// The last page whose first key is below, and of it the last block.
	want := row{a, b}
	below := func(a, b uint64) bool { return (&row{a, b}).less(&want) }
	page := sort.Search(len(t.pages), func(i int) bool {
		e := t.top[i*topBytes:]
		return !below(binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:]))
	}) - 1
	if page < 0 {
		return 0, nil
	}
	dir, err := t.page(page)
	if err != nil {
		return 0, err
	}
	block := page*pageDir + sort.Search(len(dir)/dirBytes, func(i int) bool {
		e := dir[i*dirBytes:]
		return !below(binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:]))
	})
	r, err := t.block(block - 1)
	if err != nil {
		return 0, err
	}
	i := sort.Search(r.len(), func(i int) bool { return !r.less(i, &want) })
	return uint64(block-1)*blockRows + uint64(i), nil
}

// scan gives the rows from number i on until f returns false.
func (t *table) scan(i uint64, f func(*row) bool) error {
	var r row
	for i < t.Rows {
		b, err := t.block(int(i / blockRows))
		if err != nil {
			return err
		}
		for k := int(i % blockRows); k < b.len(); k++ {
			if r = b.at(k); !f(&r) {
				return nil
			}
		}
		i = (i/blockRows + 1) * blockRows
	}
	return nil
}
