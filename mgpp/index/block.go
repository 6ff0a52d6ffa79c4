package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sort"
)

// A block is up to blockRows rows, coded by column. It begins with the number of its rows. A
// column begins with a byte that says how its numbers are coded:
//
//   - 0 to 64, packed: they take so many bits each, and are what is more than the least of
//     them, which stands before them, behind the number of its bytes. So each of them is
//     found without the others. All columns that a table is sorted by are packed.
//   - varied: each is the zigzag of what it is more than that of the row before, in as few
//     bytes as that needs, 0 to 8. Their lengths, two in a byte, the first in the low half,
//     stand before them all. It is for values, of which one in eight may be a pointer and
//     the others small.

const (
	maxCols   = 9
	keyCols   = 2 // that a table is sorted by
	blockRows = 64
	behind    = 8 // room behind a block that coding and decoding may touch
	varied    = 0x80
	// packedMost is the most bits of a number that can be read at once wherever it begins;
	// more are 64.
	packedMost = 57
	maxBlock   = 1 + maxCols*(2+8+8*blockRows)
)

// row is a row of a table of any number of columns.
type row [maxCols]uint64

// key is the numbers of a row that a table is sorted by.
type key [keyCols]uint64

func (a key) less(b key) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// rows are those of a block, decoded: one column after another.
type rows struct {
	cells []uint64
	n     int // rows
}

func (r *rows) len() int { return r.n }

func (r *rows) at(i int) (out row) {
	for c, k := 0, i; k < len(r.cells); c, k = c+1, k+r.n {
		out[c] = r.cells[k]
	}
	return out
}

// filling is a block that is being filled with rows.
type filling struct {
	cells [maxCols][blockRows]uint64
	cols  int
	n     int
	coded [maxBlock + behind]byte
}

func (f *filling) add(r []uint64) {
	for c, v := range r[:f.cols] {
		f.cells[c][f.n] = v
	}
	f.n++
}

// code codes the block, and empties it. What it returns is valid until it is called
// again.
func (f *filling) code() []byte {
	f.coded[0] = byte(f.n)
	at := 1
	for c := range f.cols {
		column := f.cells[c][:f.n]
		least, most := column[0], column[0]
		for _, v := range column {
			least, most = min(least, v), max(most, v)
		}
		width := bits.Len64(most - least)
		if width > packedMost {
			width = 64
		}
		packed := 2 + bytesOf(least) + (f.n*width+7)/8
		// Numbers that vary are found one after another only: that has to be worth it.
		if c >= keyCols && 4*variedBytes(column) < 3*packed {
			f.coded[at] = varied
			at = vary(f.coded[:], at+1, column)
			continue
		}
		f.coded[at], f.coded[at+1] = byte(width), byte(bytesOf(least))
		binary.LittleEndian.PutUint64(f.coded[at+2:], least)
		pack(f.coded[at+2+bytesOf(least):], column, least, uint(width))
		at += packed
	}
	f.n = 0
	return f.coded[:at]
}

// pack writes what numbers are more than the least of them, and up to behind bytes more.
func pack(out []byte, column []uint64, least uint64, width uint) {
	word, filled := uint64(0), uint(0)
	for _, v := range column {
		v -= least
		word |= v << filled
		if filled += width; filled >= 64 {
			binary.LittleEndian.PutUint64(out, word)
			out = out[8:]
			filled -= 64
			word = v >> (width - filled)
		}
	}
	binary.LittleEndian.PutUint64(out, word)
}

// variedBytes is how long a column is that is coded as one that varies.
func variedBytes(column []uint64) int {
	n, before := 1+(len(column)+1)/2, uint64(0)
	for _, v := range column {
		n += bytesOf(zigzag(v - before))
		before = v
	}
	return n
}

// vary writes a column that varies, and returns where it ends.
func vary(out []byte, at int, column []uint64) int {
	lengths := out[at:][:(len(column)+1)/2]
	clear(lengths)
	at += len(lengths)
	before := uint64(0)
	for i, v := range column {
		x := zigzag(v - before)
		before = v
		binary.LittleEndian.PutUint64(out[at:], x)
		n := bytesOf(x)
		at += n
		lengths[i/2] |= byte(n << (i % 2 * 4))
	}
	return at
}

func zigzag(d uint64) uint64   { return d<<1 ^ uint64(int64(d)>>63) }
func unzigzag(u uint64) uint64 { return u>>1 ^ -(u & 1) }

// bytesOf is how many bytes a number takes: 0 for 0.
func bytesOf(v uint64) int { return (bits.Len64(v) + 7) >> 3 }

// lengthSums has the sum of the two lengths of a byte; one that there is not makes it
// more than a block can have. Read-only.
var lengthSums = func() (t [256]uint32) {
	for i := range t {
		t[i] = uint32(i&15 + i>>4)
		if i&15 > 8 || i>>4 > 8 {
			t[i] = 1 << 20
		}
	}
	return t
}()

// lengthMasks has the bytes that a number of each length has. Read-only.
var lengthMasks = [16]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

var errBlock = fmt.Errorf("%w: a block of a table", ErrCorrupt)

// block is a block as it lies in the file. A query wants a row or two of most: only these
// are decoded.
type block struct {
	b       []byte // with as many bytes as behind says behind its length
	n       int    // rows
	cols    int
	columns [maxCols]column
}

// column is where the numbers of a column lie.
type column struct {
	least uint64
	at    uint16 // of a varied one: of the lengths
	form  uint8
}

// parseBlock checks the bytes of a block of so many columns, which has as many bytes as
// behind says behind its length.
func parseBlock(b []byte, cols int) (block, error) {
	if len(b) < 1 || len(b) > maxBlock || b[0] == 0 || b[0] > blockRows {
		return block{}, errBlock
	}
	k := block{b: b[:len(b)+behind], n: int(b[0]), cols: cols}
	at := uint32(1)
	for c := range cols {
		if int(at) >= len(b) {
			return block{}, errBlock
		}
		x := column{form: b[at]}
		at++
		switch {
		case x.form == varied && c >= keyCols:
			x.at = uint16(at)
			lengths := k.b[at:min(int(at)+k.half(), len(b))]
			at += uint32(k.half())
			for _, l := range lengths {
				at += lengthSums[l]
			}
		case x.form <= packedMost || x.form == 64:
			n := b[min(int(at), len(b)-1)]
			if n > 8 {
				return block{}, errBlock
			}
			x.least = binary.LittleEndian.Uint64(k.b[min(int(at)+1, len(b)):]) & lengthMasks[n]
			at += 1 + uint32(n)
			x.at = uint16(at)
			at += uint32((k.n*int(x.form) + 7) / 8)
		default:
			return block{}, errBlock
		}
		k.columns[c] = x
	}
	if int(at) != len(b) {
		return block{}, errBlock
	}
	return k, nil
}

// half is how many bytes the lengths of a column that varies take.
func (k *block) half() int { return (k.n + 1) / 2 }

// cell returns the number of a row in a column.
func (k *block) cell(c, i int) uint64 {
	x := &k.columns[c]
	if x.form != varied {
		return x.packed(k.b, i)
	}
	var room [blockRows]uint64
	k.varied(x, room[:i+1])
	return room[i]
}

// packed returns number i of a packed column.
func (x *column) packed(b []byte, i int) uint64 {
	bit := uint(i) * uint(x.form)
	return x.least + binary.LittleEndian.Uint64(b[uint(x.at)+bit>>3:])>>(bit&7)&(1<<x.form-1)
}

// varied decodes the first numbers of a column that varies, as many as out has room for.
func (k *block) varied(x *column, out []uint64) {
	lengths := k.b[x.at:][:k.half()]
	b, value := k.b[int(x.at)+k.half():], uint64(0)
	for i := range out {
		l := lengths[i>>1] >> (i & 1 << 2) & 15
		value += unzigzag(binary.LittleEndian.Uint64(b) & lengthMasks[l])
		b = b[l:]
		out[i] = value
	}
}

// row returns row i.
func (k *block) row(i int) (out row) {
	for c := range k.cols {
		out[c] = k.cell(c, i)
	}
	return out
}

// below is how many of the rows are below a key, and the key of the last of them.
func (k *block) below(a, b uint64) (n int, last key) {
	n = sort.Search(k.n, func(i int) bool {
		x := k.columns[0].packed(k.b, i)
		return x > a || x == a && k.columns[1].packed(k.b, i) >= b
	})
	if n > 0 {
		last = key{k.cell(0, n-1), k.cell(1, n-1)}
	}
	return n, last
}

// rows decodes all of them into the room of others, if it is enough.
func (k *block) rows(room rows) rows {
	if cap(room.cells) < k.cols*k.n {
		room.cells = make([]uint64, k.cols*k.n)
	}
	cells := room.cells[:k.cols*k.n]
	for c := range k.cols {
		out, x := cells[c*k.n:][:k.n], &k.columns[c]
		if x.form == varied {
			k.varied(x, out)
			continue
		}
		for i := range out {
			out[i] = x.packed(k.b, i)
		}
	}
	return rows{cells, k.n}
}
