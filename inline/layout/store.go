package layout

import (
	"math"

	"mgtrace/x86"
)

// MaxValue is the greatest width, in bytes, of a store that is recorded without
// the hook routine: a vector register.
const MaxValue = 64

// Complex says that the hook routine records the store, before and after it:
// its extent is only known at run time, or it is wider than MaxValue. A
// conditional store that is atomic without a LOCK prefix is CMPccXADD, whose
// success the zero flag does not tell.
func Complex(s *x86.Store) bool {
	return s.Shape != x86.ShapeFixed && s.Shape != x86.ShapeCond ||
		s.Shape == x86.ShapeCond && s.Atomic && !s.Lock || s.Width > MaxValue
}

// PartsOf says what the record of a store that is not Complex holds. Where Base
// is false, the value of the base register is address - displacement, or 0 if
// there is no base register.
func PartsOf(s *x86.Store, strict bool) StoreParts {
	return StoreParts{
		// So that all bytes of a value can be addressed by the same register too.
		FromBase: s.Base != x86.NoReg && s.Index == x86.NoReg && !s.Addr32 && s.Disp <= math.MaxInt32-MaxValue,
		Base:     s.Base != x86.NoReg && (s.Index != x86.NoReg || s.Addr32),
		Stamp:    strict || s.Atomic,
		Flags:    s.Shape == x86.ShapeCond,
		Old:      s.Atomic && s.Old != x86.NoReg,
	}
}
