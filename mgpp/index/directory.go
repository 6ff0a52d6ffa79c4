package index

import "encoding/binary"

// pageBlocks is how many blocks a page of a directory tells of.
const pageBlocks = 128

// dirEntry is what the directory says of a block.
type dirEntry struct {
	a, b uint64 // of its first row
	most uint64 // the largest value of a column
	n    uint16 // bytes, without the checksum
}

// page is a page of the directory: where its first block lies, then the first numbers of
// all blocks, the second ones, the lengths, and the largest values, if it has them.
type page struct {
	b []byte
	n int // blocks
}

// pageBytes is how long a page of n blocks is.
func pageBytes(n int, most bool) int {
	if most {
		return 8 + 26*n
	}
	return 8 + 18*n
}

func appendPage(b []byte, at int64, part []dirEntry, most bool) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	for _, e := range part {
		b = binary.LittleEndian.AppendUint64(b, e.a)
	}
	for _, e := range part {
		b = binary.LittleEndian.AppendUint64(b, e.b)
	}
	for _, e := range part {
		b = binary.LittleEndian.AppendUint16(b, e.n)
	}
	for _, e := range part {
		if most {
			b = binary.LittleEndian.AppendUint64(b, e.most)
		}
	}
	return b
}

// key is that of the first row of a block.
func (p page) key(i int) key {
	return key{binary.LittleEndian.Uint64(p.b[8+8*i:]), binary.LittleEndian.Uint64(p.b[8+8*(p.n+i):])}
}

// place is where a block lies, and how many bytes it has without its checksum.
func (p page) place(i int) (at int64, n int) {
	at = int64(binary.LittleEndian.Uint64(p.b))
	lengths := p.b[8+16*p.n:]
	for k := range i {
		at += int64(binary.LittleEndian.Uint16(lengths[2*k:])) + sumBytes
	}
	return at, int(binary.LittleEndian.Uint16(lengths[2*i:]))
}

// most is the largest value that a column has in a block; the page has it.
func (p page) most(i int) uint64 { return binary.LittleEndian.Uint64(p.b[8+18*p.n+8*i:]) }
