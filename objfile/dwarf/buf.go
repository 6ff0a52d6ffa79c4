package dwarf

import (
	"bytes"
	"encoding/binary"
)

// Buf reads little-endian values from a section. A read past the end gives
// zero and makes the Buf bad; a bad Buf stays bad and gives only zeros.
type Buf struct {
	data []byte
	off  uint64
	bad  bool
}

// NewBuf returns a reader of data from offset off.
func NewBuf(data []byte, off uint64) Buf {
	return Buf{data: data, off: off, bad: off > uint64(len(data))}
}

// Bad says whether a read went past the end.
func (b *Buf) Bad() bool { return b.bad }

// Off returns the offset of the next byte.
func (b *Buf) Off() uint64 { return b.off }

// More says whether there is something left to read.
func (b *Buf) More() bool { return !b.bad && b.off < uint64(len(b.data)) }

// Bytes returns the next n bytes, nil if there are fewer.
func (b *Buf) Bytes(n uint64) []byte {
	if b.bad || n > uint64(len(b.data))-b.off {
		b.bad = true
		return nil
	}
	s := b.data[b.off : b.off+n : b.off+n]
	b.off += n
	return s
}

// U8 reads one byte.
func (b *Buf) U8() uint8 {
	if b.bad || b.off >= uint64(len(b.data)) {
		b.bad = true
		return 0
	}
	v := b.data[b.off]
	b.off++
	return v
}

// U16 reads two bytes.
func (b *Buf) U16() uint16 {
	if s := b.Bytes(2); s != nil {
		return binary.LittleEndian.Uint16(s)
	}
	return 0
}

// U24 reads three bytes.
func (b *Buf) U24() uint32 {
	if s := b.Bytes(3); s != nil {
		return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16
	}
	return 0
}

// U32 reads four bytes.
func (b *Buf) U32() uint32 {
	if s := b.Bytes(4); s != nil {
		return binary.LittleEndian.Uint32(s)
	}
	return 0
}

// U64 reads eight bytes.
func (b *Buf) U64() uint64 {
	if s := b.Bytes(8); s != nil {
		return binary.LittleEndian.Uint64(s)
	}
	return 0
}

// Uint reads an unsigned value of 1, 2, 3, 4 or 8 bytes.
func (b *Buf) Uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(b.U8())
	case 2:
		return uint64(b.U16())
	case 3:
		return uint64(b.U24())
	case 4:
		return uint64(b.U32())
	case 8:
		return b.U64()
	}
	b.bad = true
	return 0
}

// Uleb reads an unsigned LEB128 value; bits beyond 64 are dropped.
func (b *Buf) Uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		c := b.U8()
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c&0x80 == 0 {
			return v
		}
	}
}

// Sleb reads a signed LEB128 value.
func (b *Buf) Sleb() int64 {
	var v int64
	for shift := uint(0); ; shift += 7 {
		c := b.U8()
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		if c&0x80 == 0 {
			if c&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// CString reads a string that a NUL ends.
func (b *Buf) CString() []byte {
	if b.bad {
		return nil
	}
	n := bytes.IndexByte(b.data[b.off:], 0)
	if n < 0 {
		b.bad = true
		return nil
	}
	s := b.data[b.off : b.off+uint64(n)]
	b.off += uint64(n) + 1
	return s
}

// Length reads the initial length of a unit: 4 bytes, or 12 in the 64-bit
// format (DWARF 5, section 7.4).
func (b *Buf) Length() (n uint64, dwarf64 bool) {
	n = uint64(b.U32())
	switch {
	case n == 0xffffffff:
		return b.U64(), true
	case n >= 0xfffffff0:
		b.bad = true
	}
	return n, false
}

func (b *Buf) offset(dwarf64 bool) uint64 {
	if dwarf64 {
		return b.U64()
	}
	return uint64(b.U32())
}

// stringAt returns the NUL-terminated string at off of a string section.
func stringAt(sec []byte, off uint64) string {
	b := NewBuf(sec, off)
	return string(b.CString())
}
