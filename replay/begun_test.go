package replay

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"mgtrace/x86"
)

// TestBegun: a call that begins in the middle of a function, with the registers and the frame that there are then, but elsewhere, comes to
// the same; without the frame it is told that something was not known.
func TestBegun(t *testing.T) {
	const away = 0x12_3450 // bytes that the stack is moved by
	f, _ := compile(t, "sums.c", "-O0", "-mno-red-zone")
	for _, name := range []string{"structs", "sorted", "deep"} {
		m := New(f)
		call := Call{Entry: f.funcs[name], Args: []uint64{37, 5}, MaxSteps: 100_000}
		was := m.Run(call)
		begun, unknown := 0, 0
		for c := m.begin(&call); c.pc != outside; c.go1() {
			if begins := c.run.Steps%7 == 3 && len(c.frames) == 0 && m.decode(c.pc).cond < 0; !begins {
				continue
			}
			begun++
			move := func(v uint64) uint64 {
				if stack(v) && v < outside {
					v += away
				}
				return v
			}
			b := Begun{Leaves: []uint64{outside}}
			for r := range c.reg {
				b.Regs[x86.Reg(r).DWARF()] = move(c.reg[r])
			}
			for sp := c.reg[rsp]; sp < stackTop-4096; sp += 8 {
				b.Frame = append(b.Frame, move(c.load(sp, 8)))
			}
			run := m.Run(Call{Entry: c.pc, Begun: &b, MaxSteps: 100_000})
			if run.Err != nil || run.Result != was.Result || run.Guessed > 0 || run.Steps != was.Steps-c.run.Steps {
				t.Fatalf("%s after %d of %d steps: %d in %d, %d were not known, %v; want %d", name, c.run.Steps, was.Steps, run.Result, run.Steps, run.Guessed, run.Err, was.Result)
			}
			in := m.decode(c.pc)
			if in.Op != x86asm.MOV || in.ops[1].kind != opMem || !stack(c.address(&in.ops[1])) {
				continue
			}
			unknown++
			b.Frame, b.Leaves = nil, []uint64{in.next}
			if run = m.Run(Call{Entry: c.pc, Begun: &b, MaxSteps: 100_000}); run.Steps != 1 || run.Guessed != 1 || len(run.Unset) > 0 {
				t.Errorf("%s after %d steps: left after %d, %d were not known, %v", name, c.run.Steps, run.Steps, run.Guessed, run.Unset)
			}
		}
		if begun < 3 || unknown == 0 {
			t.Errorf("%s: begun %d times, %d with a load", name, begun, unknown)
		}
	}
}
