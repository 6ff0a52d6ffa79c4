package syscalls

import "testing"

// Every entry names the arguments that its rule needs.
func TestWriting(t *testing.T) {
	for nr, d := range Writing() {
		switch d.Rule {
		case Result, Fixed:
			if d.Ptr < 1 || d.Ptr > 6 || d.Size == 0 || d.Len > 6 || d.Rule == Fixed && d.Len != 0 {
				t.Errorf("call %d: %+v", nr, d)
			}
		case IOVec, Array:
			if d.Ptr < 1 || d.Ptr > 6 || d.Len < 1 || d.Len > 6 || (d.Rule == Array) != (d.Size > 0) {
				t.Errorf("call %d: %+v", nr, d)
			}
		case Message:
			if d.Ptr < 1 || d.Ptr > 6 {
				t.Errorf("call %d: %+v", nr, d)
			}
		case Mmap, Munmap, Mremap, Brk:
			if d != (Desc{Rule: d.Rule}) {
				t.Errorf("call %d: %+v", nr, d)
			}
		default:
			t.Errorf("call %d: rule %d", nr, d.Rule)
		}
		if nr >= Calls {
			t.Errorf("call %d is beyond Calls", nr)
		}
	}
}
