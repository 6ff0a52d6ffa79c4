package graph

import (
	"math"
	"testing"

	"mgtrace/trace"
)

// What a program stores may be any number: places are asked for up to the last address.
func TestOver(t *testing.T) {
	var p places
	p.put(1, 0x1000, 0x1020, func(ObjID) bool { return true })
	p.put(2, 0x1020, 0x1040, func(ObjID) bool { return true })
	for _, c := range []struct {
		addr trace.Addr
		size uint64
		want ObjID
		sure bool
	}{
		{0x1000, 0x20, 1, true},
		{0x101f, 1, 1, true},
		{0x1018, 0x10, 0, false},
		{0x1020, 1, 2, true},
		{0x1030, 0, 0, true},
		{0x2000, 8, 0, true},
		{math.MaxUint64, 1, 0, true},
		{math.MaxUint64 - 1, 1, 0, true},
		{math.MaxUint64 - 1, 8, 0, true},
		{0x1000, 1 << 40, 0, false},
	} {
		if o, sure := p.over(c.addr, c.size); o != c.want || sure != c.sure {
			t.Errorf("%#x, %d bytes: object %d, %v; want %d, %v", c.addr, c.size, o, sure, c.want, c.sure)
		}
	}
}
