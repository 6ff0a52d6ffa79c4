package probe

import (
	"testing"

	"mgtrace/trace"
)

// TestInstanceAt: an address in an inlined instance is told the point at which that begins, its first instruction is not.
func TestInstanceAt(t *testing.T) {
	entry := func(fn trace.FuncID, image int, addr uint64, kind string) Point {
		return Point{Site: Site{Image: image, Addr: addr}, ID: trace.PointID(addr), Point: trace.Point{Func: fn, Kind: kind}}
	}
	p := Plan{
		Inlined: map[trace.FuncID][]Instance{1: {{0, [][2]uint64{{10, 20}, {30, 40}}}, {0, [][2]uint64{{50, 60}}}}, 2: {{1, [][2]uint64{{10, 20}}}}},
		Points:  []Point{entry(1, 0, 10, "inline-entry"), entry(1, 0, 20, "inline-exit"), entry(1, 0, 50, "inline-entry"), entry(2, 1, 10, "inline-entry")},
	}
	for _, c := range []struct {
		fn    trace.FuncID
		image int
		addr  uint64
		want  trace.PointID
	}{{1, 0, 10, 0}, {1, 0, 11, 10}, {1, 0, 35, 10}, {1, 0, 25, 0}, {1, 0, 59, 50}, {1, 1, 11, 0}, {2, 1, 11, 10}, {2, 0, 11, 0}, {3, 0, 11, 0}} {
		if got := p.InstanceAt(c.fn, c.image, c.addr); got != c.want {
			t.Errorf("function %d, image %d, %d: %d, want %d", c.fn, c.image, c.addr, got, c.want)
		}
	}
}
