package replay

import (
	"math"
	"strings"
)

// rounded are functions of the mathematical library of which the result is exact: the double that IEEE 754 says. Read-only.
// Rounding is to nearest, which programs begin with.
var rounded = map[string]func(x, y float64) float64{
	"floor": func(x, _ float64) float64 { return math.Floor(x) }, "ceil": func(x, _ float64) float64 { return math.Ceil(x) },
	"trunc": func(x, _ float64) float64 { return math.Trunc(x) }, "round": func(x, _ float64) float64 { return math.Round(x) },
	"rint": func(x, _ float64) float64 { return math.RoundToEven(x) }, "nearbyint": func(x, _ float64) float64 { return math.RoundToEven(x) },
	"fabs": func(x, _ float64) float64 { return math.Abs(x) }, "sqrt": func(x, _ float64) float64 { return math.Sqrt(x) },
	"fmod": math.Mod, "copysign": math.Copysign, "fmin": smaller, "fmax": func(x, y float64) float64 { return -smaller(-x, -y) },
}

// approximate are others, of which the last bit may be another than the library's. What a call stores of it is compared with what was
// recorded, and a decision by it goes the same way but for that bit. Read-only.
var approximate = map[string]func(x, y float64) float64{
	"sin": func(x, _ float64) float64 { return math.Sin(x) }, "cos": func(x, _ float64) float64 { return math.Cos(x) },
	"tan": func(x, _ float64) float64 { return math.Tan(x) }, "asin": func(x, _ float64) float64 { return math.Asin(x) },
	"acos": func(x, _ float64) float64 { return math.Acos(x) }, "atan": func(x, _ float64) float64 { return math.Atan(x) },
	"exp": func(x, _ float64) float64 { return math.Exp(x) }, "log": func(x, _ float64) float64 { return math.Log(x) },
	"log2": func(x, _ float64) float64 { return math.Log2(x) }, "log10": func(x, _ float64) float64 { return math.Log10(x) },
	"cbrt": func(x, _ float64) float64 { return math.Cbrt(x) }, "atan2": math.Atan2, "pow": math.Pow, "hypot": math.Hypot,
}

// integral are functions that round to a whole number. Read-only.
var integral = map[string]func(x float64) float64{
	"lround": math.Round, "llround": math.Round, "lrint": math.RoundToEven, "llrint": math.RoundToEven,
}

// smaller is fmin: of a number and none it is the number (C17, 7.12.12.3).
func smaller(x, y float64) float64 {
	switch {
	case math.IsNaN(x):
		return y
	case math.IsNaN(y):
		return x
	}
	return math.Min(x, y)
}

// mathematical does what a function of the mathematical library does, of double or, where its name ends so, of float. whole is its result
// if that is an integer.
func (c *cpu) mathematical(name string) (whole uint64, isWhole, ok bool) {
	plain := strings.TrimSuffix(name, "f")
	for _, of := range []string{name, plain} {
		single := of != name
		arg := func(i int) float64 {
			if single {
				return float64(math.Float32frombits(uint32(c.xmm[i][0])))
			}
			return math.Float64frombits(c.xmm[i][0])
		}
		f := rounded[of]
		if f == nil {
			f = approximate[of]
		}
		switch round := integral[of]; {
		case f != nil && single:
			c.xmm[0] = [2]uint64{uint64(math.Float32bits(float32(f(arg(0), arg(1)))))}
			return 0, false, true
		case f != nil:
			c.xmm[0] = [2]uint64{math.Float64bits(f(arg(0), arg(1)))}
			return 0, false, true
		case round != nil:
			return uint64(int64(round(arg(0)))), true, true
		}
	}
	return 0, false, false
}
