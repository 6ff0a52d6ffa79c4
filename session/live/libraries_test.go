package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/trace"
)

// An address is told by the shift that covered it last; by none it is told as it is.
func TestShifts(t *testing.T) {
	var s libraries
	s.cover(0x1000, 0x4000, 0x100000)
	s.cover(0x2000, 0x3000, 0x200000)
	s.cover(0x3800, 0x5000, 0)
	for pc, want := range map[trace.Addr]trace.Addr{
		0xfff: 0xfff, 0x1000: 0x101000, 0x1fff: 0x101fff, 0x2000: 0x202000, 0x2fff: 0x202fff, 0x3000: 0x103000,
		0x37ff: 0x1037ff, 0x3800: 0x3800, 0x4000: 0x4000,
	} {
		if got := s.told(pc); got != want {
			t.Errorf("%#x is told as %#x, want %#x", pc, got, want)
		}
	}
	for pc, want := range map[trace.Addr]bool{0xfff: true, 0x1000: false, 0x3800: true, 0x101000: false, 0x102800: true, 0x202800: false, 0x203000: true} {
		if got := s.plain(pc); got != want {
			t.Errorf("plain(%#x) = %v, want %v", pc, got, want)
		}
	}
	s.cover(0, 0x6000, 0)
	if got := s.told(0x1000); got != 0x1000 || len(s.shifts) != 0 {
		t.Errorf("%#x is told as %#x with %d shifts, want as it is with none", 0x1000, got, len(s.shifts))
	}
}

// A stack is moved word by word, once, and stays as it is where nothing in it moves.
func TestShiftedStack(t *testing.T) {
	var s libraries
	stack := []trace.Addr{0x1500, 0x2000, 0x9000}
	if got := s.stack(stack); &got[0] != &stack[0] {
		t.Error("a stack was copied without a shift")
	}
	s.cover(0x1000, 0x2000, 0x10000)
	got := s.stack(stack)
	// 0x2000 is the return address of a call that ends the code.
	if diff := cmp.Diff([]trace.Addr{0x11500, 0x12000, 0x9000}, got); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	if again := s.stack(stack); &again[0] != &got[0] {
		t.Error("the same stack was moved twice: it is known by its first word")
	}
	other := []trace.Addr{0x9000}
	if got := s.stack(other); &got[0] != &other[0] {
		t.Error("a stack was copied of which nothing moves")
	}
	s.cover(0x1000, 0x2000, 0)
	if got := s.stack(stack); got[0] != 0x1500 {
		t.Errorf("%#x in a stack of code that lies where it did, want 0x1500", got[0])
	}
}
