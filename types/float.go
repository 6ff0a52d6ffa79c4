package types

import (
	"math"
	"strings"
)

// Stored is how many bytes of an object of t hold its value, from its beginning: of a
// "long double" 10 of the 16, and a store writes no more.
func (t *Type) Stored() int64 {
	if t.isX87() {
		return 10
	}
	return t.Size
}

// isX87: t is the 80-bit format.
func (t *Type) isX87() bool {
	return t.Kind == Float && t.Size >= 10 && t.Size <= 16 && !strings.Contains(t.Name, "128") && !strings.Contains(t.Name, "quad")
}

// float converts the bits of a floating-point type to the nearest float64.
// Of the types of 16 bytes, "long double" is the 80-bit format of the x87
// (Intel SDM vol. 1, 4.2.2), the others are IEEE binary128.
func (t *Type) float(lo, hi uint64) float64 {
	switch t.Size {
	case 2:
		if strings.Contains(t.Name, "bf") { // __bf16, std::bfloat16_t
			return float64(math.Float32frombits(uint32(lo) << 16))
		}
		return ieee(lo>>15&1, lo>>10&0x1f, 5, lo&0x3ff<<54)
	case 4:
		return float64(math.Float32frombits(uint32(lo)))
	case 8:
		return math.Float64frombits(lo)
	case 10, 12, 16:
		if !t.isX87() {
			// 112 bits of fraction: the lowest 48 only decide rounding.
			fraction := hi<<16 | lo>>48
			if lo<<16 != 0 {
				fraction |= 1
			}
			return ieee(hi>>63, hi>>48&0x7fff, 15, fraction)
		}
		return x87(lo, uint16(hi))
	}
	return math.NaN()
}

// ieee builds a number from its sign, its biased exponent of n bits and its
// fraction, which is aligned to the left of 64 bits.
func ieee(sign, exponent uint64, n int, fraction uint64) float64 {
	bias := 1<<(n-1) - 1
	var v float64
	switch {
	case exponent == 1<<n-1 && fraction != 0:
		return math.NaN()
	case exponent == 1<<n-1:
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(float64(fraction>>1|fraction&1), 1-bias-63)
	default:
		v = math.Ldexp(float64(1<<63|fraction>>1|fraction&1), int(exponent)-bias-63)
	}
	return negate(sign, v)
}

// x87 converts the 80-bit format, whose leading bit is explicit. Its invalid
// encodings (unnormals, pseudo-infinities) are NaN, as they are to the processor.
func x87(mantissa uint64, top uint16) float64 {
	exponent := int(top & 0x7fff)
	integer := mantissa>>63 == 1
	var v float64
	switch {
	case exponent == 0x7fff && mantissa == 1<<63:
		v = math.Inf(1)
	case exponent == 0x7fff, exponent != 0 && !integer:
		return math.NaN()
	default:
		v = math.Ldexp(float64(mantissa), max(exponent, 1)-16383-63)
	}
	return negate(uint64(top>>15), v)
}

func negate(sign uint64, v float64) float64 {
	if sign != 0 {
		return -v
	}
	return v
}
