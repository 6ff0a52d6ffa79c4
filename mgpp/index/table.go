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
// blocks.

const (
	maxCols   = 7
	blockRows = 256
	dirBytes  = 40 // of an entry: two keys, offset, length, checksum, extra
)

type row [maxCols]uint64

func (a *row) less(b *row) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// tableMeta is where a table lies.
type tableMeta struct {
	Cols   int    `json:"cols"`
	Rows   uint64 `json:"rows"`
	Blocks int    `json:"blocks"`
	Dir    int64  `json:"dir"` // offset of the directory
	Sum    uint32 `json:"sum"` // of the directory
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
	m := tableMeta{Cols: t.cols, Rows: t.rows, Blocks: len(t.dir) / dirBytes, Dir: t.out.at, Sum: crc32.Checksum(t.dir, castagnoli)}
	if t.err == nil {
		_, t.err = t.out.Write(t.dir)
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

func decodeBlock(b []byte, cols int, rows []row) ([]row, error) {
	if len(b) == 0 || b[0] != 0 {
		return nil, errBlock
	}
	n, k := binary.Uvarint(b[1:])
	if k <= 0 || n > blockRows || n == 0 || int(n)*cols > len(b) {
		return nil, errBlock
	}
	b = b[1+k:]
	rows = append(rows[:0], make([]row, n)...)
	for c := range cols {
		prev := uint64(0)
		for i := range rows {
			u, k := binary.Uvarint(b)
			if k <= 0 {
				return nil, errBlock
			}
			b = b[k:]
			prev += u>>1 ^ -(u & 1)
			rows[i][c] = prev
		}
	}
	if len(b) > 0 {
		return nil, errBlock
	}
	return rows, nil
}

// table reads one. The directory is read when it is needed first.
type table struct {
	tableMeta
	f      io.ReaderAt
	zstd   *zstd.Decoder
	dir    []byte
	cached map[int][]row
	order  []int // of cached, oldest first
	buf    []byte
	raw    []byte
}

// cachedBlocks is how many blocks of each table are kept decoded.
const cachedBlocks = 256

func (t *table) open() error {
	if t.dir != nil || t.Blocks == 0 {
		return nil
	}
	dir := make([]byte, t.Blocks*dirBytes)
	if _, err := t.f.ReadAt(dir, t.Dir); err != nil && err != io.EOF {
		return err
	}
	if crc32.Checksum(dir, castagnoli) != t.Sum {
		return fmt.Errorf("%w: a directory", ErrCorrupt)
	}
	t.dir = dir
	return nil
}

func (t *table) key(block int) (a, b uint64) {
	e := t.dir[block*dirBytes:]
	return binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])
}

// most is the largest value of the extra column in a block.
func (t *table) most(block int) uint64 { return binary.LittleEndian.Uint64(t.dir[block*dirBytes+32:]) }

// block returns the rows of a block, read-only, valid until blocks of the table
// that were asked for more recently have taken its place.
func (t *table) block(i int) ([]row, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	if rows, ok := t.cached[i]; ok {
		return rows, nil
	}
	rows, err := t.load(i, nil)
	if err != nil {
		return nil, err
	}
	if t.cached == nil {
		t.cached = map[int][]row{}
	}
	if len(t.order) == cachedBlocks {
		delete(t.cached, t.order[0])
		t.order = t.order[1:]
	}
	t.cached[i] = rows
	t.order = append(t.order, i)
	return rows, nil
}

func (t *table) load(i int, rows []row) ([]row, error) {
	e := t.dir[i*dirBytes : (i+1)*dirBytes]
	off, n, sum := int64(binary.LittleEndian.Uint64(e[16:])), int(binary.LittleEndian.Uint32(e[24:])), binary.LittleEndian.Uint32(e[28:])
	if off < 0 || n > 1<<20 {
		return nil, errBlock
	}
	if cap(t.buf) < n {
		t.buf = make([]byte, n)
	}
	b := t.buf[:n]
	if _, err := t.f.ReadAt(b, off); err != nil && err != io.EOF {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli) != sum {
		return nil, errBlock
	}
	if n > 0 && b[0] == 1 {
		var err error
		if t.raw, err = t.zstd.DecodeAll(b[1:], t.raw[:0]); err != nil {
			return nil, errBlock
		}
		b = t.raw
	}
	return decodeBlock(b, t.Cols, rows)
}

// at returns row i.
func (t *table) at(i uint64) (row, error) {
	if i >= t.Rows {
		return row{}, fmt.Errorf("%w: row %d of %d", ErrCorrupt, i, t.Rows)
	}
	rows, err := t.block(int(i / blockRows))
	if err != nil || int(i%blockRows) >= len(rows) {
		return row{}, fmt.Errorf("%w: row %d", ErrCorrupt, i)
	}
	return rows[i%blockRows], nil
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
	want := row{a, b}
	block := sort.Search(t.Blocks, func(i int) bool {
		x, y := t.key(i)
		return !(&row{x, y}).less(&want)
	})
	if block == 0 {
		return 0, nil
	}
	rows, err := t.block(block - 1)
	if err != nil {
		return 0, err
	}
	i := sort.Search(len(rows), func(i int) bool { return !rows[i].less(&want) })
	return uint64(block-1)*blockRows + uint64(i), nil
}

// scan gives the rows from number i on until f returns false.
func (t *table) scan(i uint64, f func(*row) bool) error {
	for i < t.Rows {
		rows, err := t.block(int(i / blockRows))
		if err != nil {
			return err
		}
		for k := i % blockRows; k < uint64(len(rows)); k++ {
			if !f(&rows[k]) {
				return nil
			}
		}
		i = (i/blockRows + 1) * blockRows
	}
	return nil
}
