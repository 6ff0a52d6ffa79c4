package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A block is up to blockRows rows, coded by column: each number as the zigzag of what
// it is more than that of the row before, in as few bytes as it needs, 0 to 8. The
// block begins with the number of its rows; then come for each column the lengths of its
// numbers, two in a byte, the first in the low half; and then for each column the
// numbers. So neither coding nor decoding has a branch that depends on what is coded.

const (
	maxCols   = 9
	blockRows = 64
	blockHead = 1
	behind    = 8 // room behind a block that coding and decoding may touch
	maxBlock  = blockHead + maxCols*(blockRows/2+8*blockRows)
)

// row is a row of a table of any number of columns.
type row [maxCols]uint64

func (a *row) less(b *row) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

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
	half := (f.n + 1) / 2
	f.coded[0] = byte(f.n)
	at := blockHead + f.cols*half
	for c := range f.cols {
		column := f.cells[c][:f.n]
		if f.n%2 == 1 && f.n < blockRows {
			f.cells[c][f.n] = column[f.n-1] // a difference of none, which takes no bytes
			column = f.cells[c][:f.n+1]
		}
		lengths := f.coded[blockHead+c*half:][:half]
		before := uint64(0)
		for i := range lengths {
			a, b := column[2*i], column[2*i+1]
			x, y := zigzag(a-before), zigzag(b-a)
			before = b
			binary.LittleEndian.PutUint64(f.coded[at:], x)
			n := bytesOf(x)
			at += n
			binary.LittleEndian.PutUint64(f.coded[at:], y)
			m := bytesOf(y)
			at += m
			lengths[i] = byte(n | m<<4)
		}
	}
	f.n = 0
	return f.coded[:at]
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

// block is a block as it lies in the file. A query wants a row or two of most: only what
// stands before them is decoded.
type block struct {
	b    []byte          // with as many bytes as behind says behind its length
	n    int             // rows
	from [maxCols]uint16 // where the numbers of each column begin
	cols int
}

// parseBlock checks the bytes of a block of so many columns, which has as many bytes as
// behind says behind its length.
func parseBlock(b []byte, cols int) (block, error) {
	if len(b) < blockHead || len(b) > maxBlock || b[0] == 0 || b[0] > blockRows {
		return block{}, errBlock
	}
	k := block{b: b[:len(b)+behind], n: int(b[0]), cols: cols}
	at := uint32(blockHead + cols*k.half())
	if len(b) < int(at) {
		return block{}, errBlock
	}
	for c := range cols {
		k.from[c] = uint16(at)
		for _, l := range k.lengths(c) {
			at += lengthSums[l]
		}
		if int(at) > len(b) {
			return block{}, errBlock
		}
	}
	if int(at) != len(b) {
		return block{}, errBlock
	}
	return k, nil
}

// half is how many bytes the lengths of a column take.
func (k *block) half() int { return (k.n + 1) / 2 }

func (k *block) lengths(c int) []byte { return k.b[blockHead+c*k.half():][:k.half()] }

// column gives the numbers of a column, one after another.
type column struct {
	lengths, in []byte
	at, i       int
	value       uint64
}

func (k *block) column(c int) column {
	return column{lengths: k.lengths(c), in: k.b, at: int(k.from[c])}
}

func (c *column) next() uint64 {
	l := c.lengths[c.i>>1] >> (c.i & 1 << 2) & 15
	c.i++
	c.value += unzigzag(binary.LittleEndian.Uint64(c.in[c.at:]) & lengthMasks[l])
	c.at += int(l)
	return c.value
}

// row returns row i.
func (k *block) row(i int) (out row) {
	for c := range k.cols {
		before, at := uint64(0), int(k.from[c])
		lengths := k.lengths(c)
		for _, l := range lengths[:i/2] {
			x := binary.LittleEndian.Uint64(k.b[at:]) & lengthMasks[l&15]
			at += int(l & 15)
			y := binary.LittleEndian.Uint64(k.b[at:]) & lengthMasks[l>>4]
			at += int(l >> 4)
			before += unzigzag(x) + unzigzag(y)
		}
		rest := column{lengths: lengths, in: k.b, at: at, i: i &^ 1, value: before}
		for range 1 + i%2 {
			out[c] = rest.next()
		}
	}
	return out
}

// below is how many of the rows are below a key, and the key of the last of them.
func (k *block) below(a, b uint64) (n int, key [2]uint64) {
	first, second := k.column(0), k.column(1)
	for ; n < k.n; n++ {
		x, y := first.next(), second.next()
		if x > a || x == a && y >= b {
			break
		}
		key = [2]uint64{x, y}
	}
	return n, key
}

// rows decodes all of them into the room of others, if it is enough.
func (k *block) rows(room rows) rows {
	n, half := k.n, k.half()
	if cap(room.cells) < k.cols*n+1 { // the last may come with one that is none
		room.cells = make([]uint64, k.cols*n+1)
	}
	cells := room.cells[:k.cols*n+1]
	for c := range k.cols {
		out, at := cells[c*n:][:2*half], int(k.from[c])
		before := uint64(0)
		for i, l := range k.lengths(c) {
			x := binary.LittleEndian.Uint64(k.b[at:]) & lengthMasks[l&15]
			at += int(l & 15)
			before += unzigzag(x)
			out[2*i] = before
			y := binary.LittleEndian.Uint64(k.b[at:]) & lengthMasks[l>>4]
			at += int(l >> 4)
			before += unzigzag(y)
			out[2*i+1] = before
		}
	}
	return rows{cells[:k.cols*n], n}
}
