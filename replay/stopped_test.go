package replay

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/x86"
)

// TestLed: what a thread's registers and stack tell of where it died is what the whole run tells, as far as it goes.
func TestLed(t *testing.T) {
	for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
		f, _ := compile(t, "led.c", level, "-fno-builtin", "-no-pie", "-fno-optimize-sibling-calls", "-fno-ipa-ra")
		for name, want := range map[string][]string{
			"chain":   {"third+0", "second+0", "first+0", "head+0"},
			"indexed": {"third+0", "second+0", "kids+16", "first+8", "first+32", "head+0"},
			"text":    {"second+24", "first+0", "head+0"},
			"visit":   {"second+16", "first+0", "head+0"},
			"within":  {"third+0", "second+0", "first+0", "head+0"},
			"through": {"third+0", "second+0", "first+0", "head+0"},
			"placed":  {"third+0", "second+0", "kids+16", "first+8", "head+0"},
			"chosen":  {}, // which way the function took that was called is not known
			"loop":    {}, // where it came from the second time is not known any more
		} {
			m := New(f)
			call := Call{Entry: f.funcs[name], MaxSteps: 1000, Crash: Crash{PC: 1}}
			c := m.begin(&call)
			regs := c.die()
			if !errors.Is(c.run.Err, ErrFault) {
				t.Fatalf("%s, %s: %v", name, level, c.run.Err)
			}
			var got []string
			for _, r := range Led(f, f.stopped(t, c, regs)) {
				got = append(got, f.variable(r.Addr))
				if !slices.ContainsFunc(c.run.Reads, func(o Read) bool { return o.Addr == r.Addr && o.Depth == r.Depth }) {
					t.Errorf("%s, %s: %s of %d was not read so: %+v", name, level, f.variable(r.Addr), r.Of, c.run.Reads)
				}
			}
			slices.Sort(got[min(1, len(got)):]) // which of several comes first is the compiler's
			slices.Sort(want[min(1, len(want)):])
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", name, level, got, want)
			}
		}
	}
}

// TestLedElsewhere: memory that does not hold any more what a register had from there is not told, nor is what needs a register that is not
// known.
func TestLedElsewhere(t *testing.T) {
	f, _ := compile(t, "led.c", "-O2", "-fno-builtin", "-no-pie")
	call := Call{Entry: f.funcs["chain"], MaxSteps: 1000, Crash: Crash{PC: 1}}
	c := New(f).begin(&call)
	regs := c.die()
	calls := f.stopped(t, c, regs)
	for r := range calls[0].Regs {
		if calls[0].Regs[r] == 0x660 {
			calls[0].Regs[r] = 0x1660
		}
	}
	calls[0].Fault += 0x1000
	if got := Led(f, calls); got != nil {
		t.Errorf("another value: %+v", got)
	}
	calls = f.stopped(t, c, regs)
	if calls[0].PC = calls[0].Hi; Led(f, calls) != nil {
		t.Error("an instruction that is not in the function")
	}
}

// die executes the call until it dies, and returns what the registers held before the last instruction, and before each call around it,
// innermost first.
func (c *cpu) die() (regs [][16]uint64) {
	for c.run.Err == nil && c.pc != outside {
		if n := len(c.frames); !nowhere(c.pc) {
			regs = append(regs[:min(n, len(regs))], c.reg)
		}
		c.go1()
	}
	slices.Reverse(regs)
	return regs
}

// TestLedDivisor: of a division it is the divisor, wherever that is.
func TestLedDivisor(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, _ := compile(t, "led.c", level, "-fno-builtin", "-no-pie")
		call := Call{Entry: f.funcs["parts"], MaxSteps: 1000}
		c := New(f).begin(&call)
		calls := f.stopped(t, c, c.die())
		calls[0].Fault, calls[0].Divides = 0, true
		var got []string
		for _, r := range Led(f, calls) {
			got = append(got, f.variable(r.Addr))
		}
		if want := []string{"third+24", "second+0", "first+0", "head+0"}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", level, got, want)
		}
	}
}

// TestLedEnds: of a program that ends itself it is what the condition asked, also behind a loop.
func TestLedEnds(t *testing.T) {
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		f, _ := compile(t, "led.c", level, "-fno-builtin", "-no-pie", "-fno-reorder-blocks-and-partition", "-fno-optimize-sibling-calls", "-fno-ipa-ra")
		for name, want := range map[string][]string{
			"checked": {"second+32", "first+0", "head+0"},
			"narrow":  {"second+32", "first+0", "head+0"},
			"failing": {"second+32", "first+0", "head+0"}, // by a function of its own, which has no return
			// whatever that asks which it calls by a pointer; a loop that has no return is what the program does
			"panicked": {"second+32", "first+0", "head+0"},
			"served":   {"second+32", "first+0", "head+0"},
			"early":    {"calls+0"},
			"lists":    {"second+32", "first+0", "head+0"},
			"byted":    {"second+40", "first+0", "head+0"},
			"denied":   {"second+40", "first+0", "head+0"},             // what a function made of flags
			"spanned":  {"second+24", "second+0", "first+0", "head+0"}, // a number of elements between two pointers
		} {
			call := Call{Entry: f.funcs[name], MaxSteps: 1000}
			c := New(f).begin(&call)
			calls := f.stopped(t, c, c.die())[1:] // stop is what ends the program
			for i := range calls {
				calls[i].Ends = true
				of, _, _ := strings.Cut(f.name(calls[i].Lo), ".") // a clone's too
				calls[i].NoReturn = slices.Contains([]string{"finish", "panic", "serve"}, of)
			}
			calls[0].Fault = 0
			calls[0].Known = 0xf<<12 | 1<<x86.Reg(rbx).DWARF() | 1<<x86.Reg(rbp).DWARF() | 1<<x86.Reg(rsp).DWARF()
			var got []string
			for _, r := range Led(f, calls) {
				got = append(got, f.variable(r.Addr))
			}
			switch {
			case name == "lists" && level == "-O0":
				want = want[:1] // who put that on the stack is not on the way
			case name == "served" && level == "-O1":
				want = nil // two ways meet
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", name, level, got, want)
			}
		}
	}
}

// TestLedApart: a compiler puts apart what hardly ever is executed, as calls of what ends the program.
func TestLedApart(t *testing.T) {
	f, _ := compile(t, "led.c", "-O2", "-fno-builtin", "-no-pie")
	if f.funcs["apart.cold"] == 0 {
		t.Skip("the compiler leaves it in one place")
	}
	call := Call{Entry: f.funcs["apart"], MaxSteps: 1000}
	c := New(f).begin(&call)
	s := f.stopped(t, c, c.die())[1]
	s.Ends, s.Cold = true, [][2]uint64{{s.Lo, s.Hi}}
	s.Lo, s.Hi = f.function(t, f.funcs["apart"])
	var got []string
	for _, r := range Led(f, []Stopped{s}) {
		got = append(got, f.variable(r.Addr))
	}
	if want := []string{"second+32", "first+0", "head+0"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if s.Cold = nil; Led(f, []Stopped{s}) != nil {
		t.Error("an instruction that is not in the function")
	}
}

// TestArgument: what a function was given that ends the program, and where that was read.
func TestArgument(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, _ := compile(t, "led.c", level, "-fno-builtin", "-no-pie", "-fno-optimize-sibling-calls", "-fno-ipa-ra")
		call := Call{Entry: f.funcs["text"], MaxSteps: 1000, Crash: Crash{PC: 1}}
		c := New(f).begin(&call)
		calls := f.stopped(t, c, c.die())
		calls[0].Known &^= 1 << x86.RDI.DWARF()
		value, known, led := Argument(f, calls)
		if !known || value != 0x880 || len(led) == 0 || f.variable(led[0].Addr) != "second+24" {
			t.Errorf("%s: %#x, %t, %+v", level, value, known, led)
		}
		calls[0].PC = calls[0].Lo // no call
		if _, known, led := Argument(f, calls); known || led != nil {
			t.Errorf("%s: of what is no call %+v", level, led)
		}
	}
}

// stopped is a run where it died, in its calls. Of the registers of those around it only what a function leaves as it was is known.
func (f *file) stopped(t *testing.T, c *cpu, regs [][16]uint64) (out []Stopped) {
	at := regs[0][rsp] - 128
	stack := make([]byte, 4096)
	for i := range stack {
		stack[i] = byte(c.load(at+uint64(i), 1))
	}
	places := []uint64{c.run.PC}
	for _, ret := range slices.Backward(c.frames[:len(regs)-1]) {
		places = append(places, ret-1)
	}
	for i, pc := range places {
		s := Stopped{PC: pc, Stack: stack, Base: at, Known: 0xf<<12 | 1<<x86.Reg(rbx).DWARF() | 1<<x86.Reg(rbp).DWARF() | 1<<x86.Reg(rsp).DWARF()}
		s.Lo, s.Hi = f.function(t, pc)
		for r, v := range regs[i] {
			s.Regs[x86.Reg(r).DWARF()] = v
		}
		if i == 0 {
			s.Known, s.Fault = 1<<16-1, map[string]uint64{"visit": 0x770, "text": 0x880}[f.name(pc)]
			if s.Astray = f.name(pc) == "visit"; s.Fault == 0 {
				s.Fault = 0x660
			}
		}
		out = append(out, s)
	}
	return out
}

// function is where the code of the one lies that has an address.
func (f *file) function(t *testing.T, pc uint64) (lo, hi uint64) {
	symbols, err := f.elf.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value <= pc && pc < s.Value+s.Size {
			return s.Value, s.Value + s.Size
		}
	}
	t.Fatalf("no function at %#x", pc)
	return 0, 0
}

// name is the variable or function whose address comes last before another one; variable is how far behind it, too.
func (f *file) name(addr uint64) (name string) {
	for n, at := range f.funcs {
		if at <= addr && at > f.funcs[name] && n != "" {
			name = n
		}
	}
	return name
}

func (f *file) variable(addr uint64) string {
	n := f.name(addr)
	return fmt.Sprintf("%s+%d", n, addr-f.funcs[n])
}

// FuzzLed: whatever the code is, it ends, and each read leads to one before it, or to where the program died.
func FuzzLed(f *testing.F) {
	f.Add([]byte{0x48, 0x8b, 0x47, 0x08, 0x48, 0x01, 0xc0, 0x48, 0x01, 0xc0, 0x48, 0x8b, 0x00}, uint8(10), uint64(0x2000), []byte{1, 2, 3})
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x7d, 0xf8, 0x48, 0x8b, 0x45, 0xf8, 0xff, 0x10}, uint8(12), uint64(0x1000), []byte{0})
	f.Add([]byte{0xe8, 0x02, 0x00, 0x00, 0x00, 0xff, 0x10, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x7d, 0xf8, 0x48, 0x8b, 0x45, 0xf8, 0x5d, 0xc3}, uint8(5), uint64(0x1000), []byte{0})
	f.Add([]byte{0xe8, 0xfb, 0xff, 0xff, 0xff, 0xff, 0x10, 0xc3}, uint8(5), uint64(0x1000), []byte{0}) // it calls itself
	f.Add(bytes.Repeat([]byte{0x48, 0x01, 0xc0}, 80), uint8(237), uint64(0), []byte{})                 // each of twice what there was before
	f.Fuzz(func(t *testing.T, code []byte, at uint8, value uint64, stack []byte) {
		s := Stopped{PC: bytesAt + uint64(at), Known: 1<<16 - 1, Lo: bytesAt, Hi: bytesAt + uint64(len(code)), Stack: stack, Base: value &^ 7, Astray: value&1 != 0, Divides: value&2 != 0, Ends: value&4 != 0}
		for n := range s.Regs {
			s.Regs[n] = value + uint64(n)<<4
		}
		around := s
		around.Known = 0xf << 12
		for i, r := range Led(bytesWorld(code), []Stopped{s, around, around}) {
			if r.Of >= i || r.Of < 0 != (r.Depth == 0) {
				t.Errorf("read %d: %+v", i, r)
			}
		}
	})
}
