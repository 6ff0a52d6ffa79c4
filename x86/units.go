package x86

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

// Unit is the smallest piece of a thread's registers whose reads and writes are
// told apart.
//
//	0…63     general registers: 4×register + 0 byte 0, 1 byte 1, 2 bytes 2-3, 3 bytes 4-7
//	64…191   vector registers: 64 + 4×register + 0 bytes 0-3, 1 bytes 4-7, 2 bytes 8-15, 3 bytes 16-63
//	192…     flags, opmask registers, and the rest, as named below
//
// The pieces are those that instructions write apart: al, ah, ax; a 32-bit write
// clears the upper half; float and double; movlps and movhps; what VEX clears and legacy
// encodings leave alone.
type Unit uint8

// The units of the fourth word.
const (
	UnitCF          Unit = 192
	UnitPF          Unit = 193
	UnitAF          Unit = 194
	UnitZF          Unit = 195
	UnitSF          Unit = 196
	UnitOF          Unit = 197
	UnitDF          Unit = 198
	UnitFlags       Unit = 199 // all other flags: IF, TF, AC, ID, …
	UnitK0          Unit = 200 // the first of eight opmask registers
	UnitX87         Unit = 208 // the register stack with its top and tags, which the MMX registers are too
	UnitX87Status   Unit = 209 // condition codes, exceptions, where the last instruction was
	UnitX87Control  Unit = 210
	UnitMXCSR       Unit = 211 // rounding, masks, denormals
	UnitMXCSRStatus Unit = 212 // exceptions that have happened
	UnitFSBase      Unit = 213
	UnitGSBase      Unit = 214
	UnitPKRU        Unit = 215
	UnitOther       Unit = 216 // what has no unit: segment registers, XCR0, the time-stamp counter, the processor's identity

	// Units is the number of units.
	Units = 217
)

// RegSet is a set of units.
type RegSet [4]uint64

// Has says that u is in the set.
func (s *RegSet) Has(u Unit) bool { return s[u>>6]>>(u&63)&1 != 0 }

// Add adds u.
func (s *RegSet) Add(u Unit) { s[u>>6] |= 1 << (u & 63) }

// Remove removes u.
func (s *RegSet) Remove(u Unit) { s[u>>6] &^= 1 << (u & 63) }

// Or returns the units that are in either.
func (s RegSet) Or(t RegSet) RegSet {
	return RegSet{s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]}
}

// And returns the units that are in both.
func (s RegSet) And(t RegSet) RegSet {
	return RegSet{s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]}
}

// AndNot returns the units of s that are not in t.
func (s RegSet) AndNot(t RegSet) RegSet {
	return RegSet{s[0] &^ t[0], s[1] &^ t[1], s[2] &^ t[2], s[3] &^ t[3]}
}

// Intersects says that some unit is in both.
func (s RegSet) Intersects(t RegSet) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

// Contains says that all units of t are in s.
func (s RegSet) Contains(t RegSet) bool { return t.AndNot(s).Empty() }

// Empty says that there are none.
func (s RegSet) Empty() bool { return s[0]|s[1]|s[2]|s[3] == 0 }

// Len is the number of units.
func (s RegSet) Len() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

// All yields the units in ascending order.
func (s RegSet) All() iter.Seq[Unit] {
	return func(yield func(Unit) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(Unit(64*i + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// GPR is the set of the units that hold any of bytes from … from+n-1 of a
// general register.
func GPR(r Reg, from, n int) RegSet {
	return RegSet{uint64(touched(&gprParts, from, n)) << (4 * uint(r&15))}
}

// Vector is the same of vector register v, 0 to 31.
func Vector(v, from, n int) (s RegSet) {
	s[1+v>>4&1] = uint64(touched(&vectorParts, from, n)) << (4 * (v & 15))
	return s
}

// Mask is the set of opmask register k.
func Mask(k int) RegSet { return UnitK0.plus(k).set() }

func (u Unit) plus(n int) Unit { return u + Unit(n&7) }

func (u Unit) set() (s RegSet) {
	s.Add(u)
	return s
}

// parts are the ends of a register's four units, in bytes.
type parts [4]int

var (
	gprParts    = parts{1, 2, 4, 8}
	vectorParts = parts{4, 8, 16, 64}
)

// touched is the set of units that hold any of the bytes, as four bits.
func touched(p *parts, from, n int) (m uint8) {
	start := 0
	for i, end := range p {
		if from < end && from+n > start {
			m |= 1 << i
		}
		start = end
	}
	return m
}

// covered is the set of units all of whose bytes are among those.
func covered(p *parts, from, n int) (m uint8) {
	start := 0
	for i, end := range p {
		if from <= start && from+n >= end {
			m |= 1 << i
		}
		start = end
	}
	return m
}

var gprNames = [16]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

var unitNames = [...]string{"cf", "pf", "af", "zf", "sf", "of", "df", "flags",
	"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "x87", "x87 status", "x87 control",
	"mxcsr", "mxcsr status", "fs base", "gs base", "pkru", "other"}

// String names the unit: "rax[0]", "rax[2:4]", "zmm3[8:16]", "zf".
func (u Unit) String() string {
	switch {
	case u < 64:
		return gprNames[u>>2] + [4]string{"[0]", "[1]", "[2:4]", "[4:8]"}[u&3]
	case u < 192:
		return fmt.Sprintf("zmm%d%s", (u-64)>>2, [4]string{"[0:4]", "[4:8]", "[8:16]", "[16:64]"}[u&3])
	case u < Units:
		return unitNames[u-192]
	}
	return fmt.Sprintf("unit %d", uint8(u))
}

// String lists the units, those of one register together: "rax[0:4] zf".
func (s RegSet) String() string {
	var b strings.Builder
	add := func(text string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	for u := 0; u < Units; {
		if u >= 192 {
			if s.Has(Unit(u)) {
				add(Unit(u).String())
			}
			u++
			continue
		}
		name, ends := gprNames[u>>2&15], &gprParts
		if u >= 64 {
			name, ends = fmt.Sprintf("zmm%d", (u-64)>>2), &vectorParts
		}
		for i := 0; i < 4; i++ {
			if !s.Has(Unit(u + i)) {
				continue
			}
			from := 0
			if i > 0 {
				from = ends[i-1]
			}
			for i < 3 && s.Has(Unit(u+i+1)) {
				i++
			}
			if from == 0 && i == 3 {
				add(name)
			} else {
				add(fmt.Sprintf("%s[%d:%d]", name, from, ends[i]))
			}
		}
		u += 4
	}
	return b.String()
}
