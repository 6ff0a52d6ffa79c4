package types

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Value is a scalar as read from memory. The zero Value is undefined.
type Value struct {
	Type  *Type
	Lo    uint64  // the low 64 bits, extended by the sign where the type is signed
	Hi    uint64  // the high 64 bits, likewise
	Float float64 // Kind Float: the value, rounded where the type is wider
	Bits  int     // width in bits; 0: undefined
}

// Read decodes the scalar s from b, which begins at the scalar (s.Offset).
// The value is undefined where b is too short.
func Read(s Scalar, b []byte) Value { return s.Type.Decode(b, s.BitOffset, s.BitSize) }

// Decode reads a value of type t from the little-endian bytes b. A bitSize
// above 0 is a bit-field's, bitOffset bits above bit 0 of b. The value is
// undefined where b is too short or t is no scalar; of a union, or of anything
// else wider than 16 bytes, it holds the first 16.
func (t *Type) Decode(b []byte, bitOffset, bitSize int) Value {
	if t == nil || t.Size <= 0 && bitSize == 0 {
		return Value{}
	}
	switch t.Kind {
	case Void, Func, Array, Struct:
		return Value{}
	}
	bits := bitSize
	if bits == 0 {
		bits = int(min(t.Stored(), 16)) * 8
	}
	if bits < 0 || bits > 128 || bitOffset < 0 || bitOffset > len(b)*8-bits || bitSize == 0 && int64(len(b)) < t.Stored() {
		return Value{}
	}
	v := Value{Type: t, Bits: bits}
	v.Lo = loadBits(b, bitOffset, min(bits, 64))
	if bits > 64 {
		v.Hi = loadBits(b, bitOffset+64, bits-64)
	}
	v.extend()
	if t.Kind == Float {
		v.Float = t.float(v.Lo, v.Hi)
	}
	return v
}

// loadBits returns n ≤ 64 bits of b from bit offset on. b is long enough.
func loadBits(b []byte, offset, n int) uint64 {
	var v uint64
	first, shift := offset/8, uint(offset%8)
	for i, got := first, 0; got < n+int(shift); i, got = i+1, got+8 {
		if at := got - int(shift); at < 0 {
			v |= uint64(b[i]) >> shift
		} else {
			v |= uint64(b[i]) << uint(at)
		}
	}
	if n < 64 {
		v &= 1<<uint(n) - 1
	}
	return v
}

// extend extends the sign of a signed type to 128 bits.
func (v *Value) extend() {
	if v.Type.Kind != Int && !(v.Type.Kind == Enum && v.Type.Signed) {
		return
	}
	switch {
	case v.Bits < 64:
		shift := uint(64 - v.Bits)
		v.Lo = uint64(int64(v.Lo<<shift) >> shift)
		v.Hi = uint64(int64(v.Lo) >> 63)
	case v.Bits == 64:
		v.Hi = uint64(int64(v.Lo) >> 63)
	case v.Bits < 128:
		shift := uint(128 - v.Bits)
		v.Hi = uint64(int64(v.Hi<<shift) >> shift)
	}
}

// Defined reports whether v is a value at all.
func (v Value) Defined() bool { return v.Bits > 0 }

// Signed reports whether v is a signed integer.
func (v Value) Signed() bool {
	return v.Type != nil && (v.Type.Kind == Int || v.Type.Kind == Enum && v.Type.Signed)
}

// Int returns v in 64-bit arithmetic: an unsigned value by its bits, a float
// cut towards zero. It is not ok where the value is undefined or does not fit;
// an unsigned 64-bit value above MaxInt64 is ok and comes out negative.
func (v Value) Int() (n int64, ok bool) {
	switch {
	case !v.Defined():
		return 0, false
	case v.Type.Kind == Float:
		if math.IsNaN(v.Float) || v.Float >= 1<<63 || v.Float < -1<<63 {
			return 0, false
		}
		return int64(v.Float), true
	case v.Signed():
		return int64(v.Lo), v.Hi == uint64(int64(v.Lo)>>63)
	}
	return int64(v.Lo), v.Hi == 0
}

// Enumerator returns the name of an enumeration's value, "" if it has none.
func (v Value) Enumerator() string {
	if v.Defined() && v.Type.Kind == Enum {
		for _, e := range v.Type.Enumerators {
			if uint64(e.Value) == v.Lo {
				return e.Name
			}
		}
	}
	return ""
}

// String formats v for people: "12", "RED", "NULL", "0x55d0c2a0", "1.5",
// "true", "97 'a'"; "undefined".
func (v Value) String() string {
	if !v.Defined() {
		return "undefined"
	}
	switch v.Type.Kind {
	case Float:
		return strconv.FormatFloat(v.Float, 'g', -1, v.precision())
	case Bool:
		if v.Lo <= 1 {
			return strconv.FormatBool(v.Lo == 1)
		}
	case Pointer:
		if v.Lo == 0 {
			return "NULL"
		}
		return "0x" + strconv.FormatUint(v.Lo, 16)
	case Union, Opaque:
		return v.hex()
	case Enum:
		if name := v.Enumerator(); name != "" {
			return name
		}
	}
	text := v.decimal()
	if v.isChar() {
		text += fmt.Sprintf(" %q", rune(v.Lo))
	}
	return text
}

func (v Value) precision() int {
	if v.Type.Size <= 4 {
		return 32
	}
	return 64
}

// isChar reports whether v is a printable character of a character type.
func (v Value) isChar() bool {
	switch v.Type.Name {
	case "char", "signed char", "unsigned char", "char8_t":
		return v.Lo >= ' ' && v.Lo <= '~'
	}
	return false
}

func (v Value) decimal() string {
	if v.Signed() {
		if n := int64(v.Lo); v.Hi == uint64(n>>63) {
			return strconv.FormatInt(n, 10)
		}
		n := new(big.Int).Lsh(big.NewInt(int64(v.Hi)), 64)
		return n.Add(n, new(big.Int).SetUint64(v.Lo)).String()
	}
	if v.Hi == 0 {
		return strconv.FormatUint(v.Lo, 10)
	}
	n := new(big.Int).Lsh(new(big.Int).SetUint64(v.Hi), 64)
	return n.Or(n, new(big.Int).SetUint64(v.Lo)).String()
}

// hex formats the bytes of a union, as one number if it is no wider than that.
func (v Value) hex() string {
	text := "0x" + strconv.FormatUint(v.Lo, 16)
	if v.Hi != 0 {
		text = fmt.Sprintf("0x%x%016x", v.Hi, v.Lo)
	}
	if v.Type.Size*8 > int64(v.Bits) {
		text += "…"
	}
	return text
}
