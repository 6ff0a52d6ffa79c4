package replay

import (
	"math"
	"testing"
)

// TestMathematical: functions of numbers, of double and of float; of one that is not known nothing changes.
func TestMathematical(t *testing.T) {
	for _, c := range []struct {
		name       string
		x, y, want float64
	}{
		{"floor", -1.5, 0, -2}, {"ceil", -1.5, 0, -1}, {"trunc", -1.5, 0, -1}, {"round", 2.5, 0, 3}, {"rint", 2.5, 0, 2}, {"nearbyint", 3.5, 0, 4},
		{"fabs", -2, 0, 2}, {"sqrt", 6.25, 0, 2.5}, {"fmod", -7, 3, -1}, {"copysign", 3, -1, -3}, {"fmin", 2, math.NaN(), 2}, {"fmax", 2, 5, 5}, {"fmax", math.NaN(), -5, -5},
		{"atan2", 0, 1, 0}, {"hypot", 3, 4, 5}, {"pow", 2, 10, 1024}, {"log2", 8, 0, 3},
		{"lround", -2.5, 0, -3}, {"llrint", 2.5, 0, 2},
	} {
		for _, single := range []bool{false, true} {
			cpu, name := &cpu{}, c.name
			for i, v := range []float64{c.x, c.y} {
				cpu.xmm[i][0] = math.Float64bits(v)
				if single {
					cpu.xmm[i][0] = uint64(math.Float32bits(float32(v)))
				}
			}
			if single {
				name += "f"
			}
			whole, isWhole, ok := cpu.mathematical(name)
			got := math.Float64frombits(cpu.xmm[0][0])
			switch {
			case isWhole:
				got = float64(int64(whole))
			case single:
				got = float64(math.Float32frombits(uint32(cpu.xmm[0][0])))
			}
			if !ok || got != c.want {
				t.Errorf("%s(%g, %g) is %g, not %g", name, c.x, c.y, got, c.want)
			}
		}
	}
	for _, name := range []string{"tgamma", "printf", "f", "sinl", "floorff"} {
		cpu := &cpu{}
		cpu.xmm[0][0] = math.Float64bits(-1.5)
		if _, _, ok := cpu.mathematical(name); ok || cpu.xmm[0][0] != math.Float64bits(-1.5) {
			t.Errorf("%s is not known, and was executed", name)
		}
	}
}
