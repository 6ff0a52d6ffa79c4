package live

import (
	"testing"

	"mgtrace/objfile"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// TestFullStack tells a stack that has come to its end from a pointer that leads nowhere.
func TestFullStack(t *testing.T) {
	maps := []mem.Map{
		{Lo: 0x10000, Hi: 0x20000, Read: true, Write: true},
		{Lo: 0x100000, Hi: 0x101000}, // where the stack of a thread ends
		{Lo: 0x101000, Hi: 0x900000, Read: true, Write: true},
		{Lo: 0x7f000000, Hi: 0x7f800000, Read: true, Write: true}, // grows
	}
	for _, test := range []struct {
		what      string
		sp, fault uint64
		full      bool
	}{
		{"the stack of a thread, a call", 0x101000, 0x100ff8, true},
		{"the same, a frame that is larger than what is left", 0x100800, 0x100a00, true},
		{"the first thread's", 0x7f000010, 0x7efffff0, true},
		{"where no memory was is not known", 0x101000, 0, false},
		{"a pointer that leads nowhere", 0x101000, 0x30000, false},
		{"one that leads just below a stack with much left", 0x700000, 0x100ff8, false},
		{"one that leads below the one, and the stack is the other", 0x7f000010, 0x100ff8, false},
		{"one that leads just above a stack on the heap", 0x1ff00, 0x20010, false},
		{"one that may not be stored through", 0x102000, 0x101ff8, false},
	} {
		regs := make([]uint64, trace.SignalRegs)
		regs[objfile.RegSP] = test.sp
		if c := (&astray{regs: regs, fault: test.fault}); c.fullStack(maps) != test.full {
			t.Errorf("%s: full is %v", test.what, !test.full)
		}
	}
}
