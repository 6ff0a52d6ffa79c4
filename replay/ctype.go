package replay

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// What <ctype.h> asks of a character glibc tells by tables: each function here returns a pointer to a pointer to the entry of 0
// (ctype.h, ctype/ctype-info.c). Of ASCII they are the same in all locales, but for the letters of a few in upper and lower case: as in
// lower, that is taken to be "C". Of other characters nothing is known.

const (
	tables    = 0x6000_0000_0000 // where they lie here: in no program's memory
	tableSize = 1 << 12          // of one with what lies before it, the pointer at its beginning
	tableZero = 256              // behind that, the entry of 0

	errnoPlace = tables + 3*tableSize // errno, which is 0: what would set it ends a run
	lastToken  = tables + 4*tableSize // where strtok goes on
)

// kinds are the functions of <ctype.h>, which C++ calls, by the bits of a table's entry (glibc: ctype.h, _ISbit).
var kinds = map[string]uint16{
	"isupper": 1 << 8, "islower": 1 << 9, "isalpha": 1 << 10, "isdigit": 1 << 11, "isxdigit": 1 << 12, "isspace": 1 << 13,
	"isprint": 1 << 14, "isgraph": 1 << 15, "isblank": 1 << 0, "iscntrl": 1 << 1, "ispunct": 1 << 2, "isalnum": 1 << 3,
}

// isKind is the result of one of these.
func (c *cpu) isKind(name string, bits uint16, ch uint64) uint64 {
	switch ch := int32(ch); {
	case ch == -1: // EOF
		return 0
	case ch < 0 || ch >= 0x80:
		c.fail(fmt.Errorf("%w: %s", ErrLibrary, name))
		return 0
	default:
		return uint64(classes(byte(ch)) & bits)
	}
}

// table is the result of a function that tells where a table lies.
func (m *Machine) table(name string) (addr uint64, ok bool) {
	var entry func(c byte) []byte
	switch name {
	case "__errno_location":
		m.given(errnoPlace, make([]byte, 4))
		return errnoPlace, true
	case "__ctype_b_loc":
		addr, entry = tables, func(c byte) []byte { return binary.LittleEndian.AppendUint16(nil, classes(c)) }
	case "__ctype_tolower_loc":
		addr, entry = tables+tableSize, func(c byte) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(lowerOf(c))) }
	case "__ctype_toupper_loc":
		addr, entry = tables+2*tableSize, func(c byte) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(upperOf(c))) }
	default:
		return 0, false
	}
	m.given(addr, binary.LittleEndian.AppendUint64(nil, addr+tableZero))
	for c := range byte(0x80) {
		e := entry(c)
		m.given(addr+tableZero+uint64(int(c)*len(e)), e)
	}
	return addr, true
}

// given has memory hold bytes from the beginning of each run.
func (m *Machine) given(addr uint64, data []byte) {
	for i, b := range data {
		n, off := (addr+uint64(i))>>pageBits, int(addr+uint64(i))&(pageSize-1)
		p := m.base[n]
		if p == nil {
			p = &page{read: ^uint32(0)}
			m.base[n] = p
		}
		p.data[off] = b
		p.learn(off, 1)
	}
}

// classes are the bits of an ASCII character, as _ISbit places them.
func classes(c byte) (set uint16) {
	in := func(s string) bool { return strings.IndexByte(s, c) >= 0 }
	digit := '0' <= c && c <= '9'
	upper, lower := 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z'
	printed := ' ' <= c && c < 0x7f
	for bit, is := range [...]bool{upper, lower, upper || lower, digit, digit || 'A' <= c && c <= 'F' || 'a' <= c && c <= 'f', in(" \t\n\v\f\r"),
		printed, printed && c != ' ', in(" \t"), c < ' ' || c == 0x7f, printed && c != ' ' && !upper && !lower && !digit, upper || lower || digit} {
		switch {
		case !is:
		case bit < 8:
			set |= 1 << bit << 8
		default:
			set |= 1 << bit >> 8
		}
	}
	return set
}

func lowerOf(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func upperOf(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}
