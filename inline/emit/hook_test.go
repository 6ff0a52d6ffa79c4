package emit

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"mgtrace/x86"
)

// displacedForms are instructions at which the hook routine is called: function
// entries, returns, points. T stands for four bytes of displacement to the
// target, behind which nothing follows; R for one to the data.
var displacedForms = []struct {
	text, code string
	steps      bool // also step by step: it does not show the trap flag
}{
	{"ret", "\xc3", true},
	{"ret 16", "\xc2\x10\x00", true},
	{"rep ret", "\xf3\xc3", true},
	{"call target", "\xe8TTTT", true},
	{"call rax", "\xff\xd0", true},
	{"call [rsi]", "\xff\x16", true},
	{"call [rsi+rax*0+8]", "\xff\x56\x08", true},
	{"call [rsp]", "\xff\x14\x24", true},
	{"call [rip+data]", "\xff\x15RRRR", true},
	{"jmp target", "\xe9TTTT", true},
	{"jmp rax", "\xff\xe0", true},
	{"jmp [rsi]", "\xff\x26", true},
	{"notrack jmp rax", "\x3e\xff\xe0", true},
	{"jc target", "\x0f\x82TTTT", true},
	{"jg target", "\x0f\x8fTTTT", true},
	{"push rax", "\x50", true},
	{"push r12", "\x41\x54", true},
	{"push rsp", "\x54", true},
	{"push [rsi]", "\xff\x36", true},
	{"push 5", "\x6a\x05", true},
	{"pushfq", "\x9c", false},
	{"pop rbp", "\x5d", true},
	{"pop rsp", "\x5c", true},
	{"leave", "\xc9", true},
	{"endbr64", "\xf3\x0f\x1e\xfa", true},
	{"nop", "\x90", true},
	{"sub rsp, 40", "\x48\x83\xec\x28", true},
	{"xor eax, eax", "\x31\xc0", true},
	{"lahf", "\x9f", true},
	{"std", "\xfd", true},
	{"mov rax, [rip+data]", "\x48\x8b\x05RRRR", true},
	{"lea r9, [rip+data]", "\x4c\x8d\x0dRRRR", true},
	{"movaps xmm3, [rip+data]", "\x0f\x28\x1dRRRR", true},
	{"vzeroupper", "\xc5\xf8\x77", true},
	{"syscall", "\x0f\x05", false},
}

// TestHooks runs instructions with a call of the hook routine before them, and
// a system call between two.
func TestHooks(t *testing.T) {
	a := &author{rng: rand.New(rand.NewPCG(5, 6))}
	var subjects []*subject
	for _, f := range displacedForms {
		for round := range 12 {
			s := a.write("", &variants[0])
			s.text = f.text
			s.site = Site{Tag: None, Hook: round * 1000003, After: f.text == "syscall"}
			s.EA &^= 15
			code := []byte(f.code)
			for mark, to := range map[string]uint64{"TTTT": target, "RRRR": s.EA} {
				if i := strings.Index(f.code, mark); i >= 0 {
					binary.LittleEndian.PutUint32(code[i:], uint32(to-(s.PC+uint64(len(code)))))
				}
			}
			binary.LittleEndian.PutUint64(s.Mem[0:], target)
			binary.LittleEndian.PutUint64(s.Mem[8:], target)
			s.Regs[6], s.Regs[0], s.Regs[5] = s.EA, target, s.EA+64
			if s.site.After {
				s.Regs[0] = 39 // getpid
			}
			if f.steps && round%2 == 0 {
				s.Mode = modeStep
			}
			if a.finish(t, s, append(code, make([]byte, 16)...)) {
				subjects = append(subjects, s)
			}
		}
	}
	judge(t, subjects)
}

// TestLeaves: where allocators and writers are left the routine is called only if an open
// call returns there, and one of free is forgotten.
func TestLeaves(t *testing.T) {
	a := &author{rng: rand.New(rand.NewPCG(7, 8))}
	var subjects []*subject
	for _, c := range []struct {
		from    Leaving
		open    func(sp uint64) [5]uint64
		hooks   int
		forgets bool
	}{
		{Allocators, func(uint64) [5]uint64 { return [5]uint64{0, 0, 0, 1} }, 0, false},
		{Allocators, func(sp uint64) [5]uint64 { return [5]uint64{-sp, 0, 0, 1} }, 1, false},
		{Allocators, func(sp uint64) [5]uint64 { return [5]uint64{-sp - 8, 0, 0, 1} }, 0, false},
		{Allocators, func(sp uint64) [5]uint64 { return [5]uint64{0, -sp, 0, 1} }, 0, true},
		{Allocators, func(sp uint64) [5]uint64 { return [5]uint64{0, -sp - 8, 0, 1} }, 0, false},
		{Allocators, func(sp uint64) [5]uint64 { return [5]uint64{0, 0, -sp, 1} }, 0, false},
		{Writers, func(uint64) [5]uint64 { return [5]uint64{} }, 0, false},
		{Writers, func(sp uint64) [5]uint64 { return [5]uint64{0, 0, -sp, 0} }, 1, false},
		{Writers, func(sp uint64) [5]uint64 { return [5]uint64{-sp - 8, 0, -sp - 8, 1} }, 0, false},
		{Writers, func(sp uint64) [5]uint64 { return [5]uint64{-sp, 0, 0, 1} }, 1, false},
		{Writers, func(sp uint64) [5]uint64 { return [5]uint64{0, -sp, 0, 1} }, 1, false},
		{Tails, func(uint64) [5]uint64 { return [5]uint64{} }, 0, false},
		{Tails, func(sp uint64) [5]uint64 { return [5]uint64{-sp, 0, 0, 1} }, 1, false},
		{Tails, func(sp uint64) [5]uint64 { return [5]uint64{0, -sp, 0, 1} }, 1, false},
		{Tails, func(sp uint64) [5]uint64 { return [5]uint64{-sp - 8, 0, 0, 1} }, 0, false},
		{Tails, func(sp uint64) [5]uint64 { return [5]uint64{0, -sp - 8, -sp, 1} }, 0, false},
	} {
		for round := range 12 {
			s := a.write("", &variants[0])
			s.text = "ret"
			s.site = Site{Tag: None, Hook: 5, Leaves: c.from}
			s.Open = c.open(s.Regs[4])
			if round%2 == 0 {
				s.Mode = modeStep
			}
			if !a.finish(t, s, append([]byte{0xc3}, make([]byte, 16)...)) {
				t.Fatal("no trampoline")
			}
			s.hooks, s.forgets = c.hooks, c.forgets
			subjects = append(subjects, s)
		}
	}
	judge(t, subjects)
}

// TestBeside: the routine is not called where functions begin and end that nobody named, once their calls are not told any more.
func TestBeside(t *testing.T) {
	a := &author{rng: rand.New(rand.NewPCG(15, 16))}
	var subjects []*subject
	for i := range variants {
		for round := range 8 {
			s := a.write("", &variants[i])
			code := []byte{0x53} // push rbx
			if s.text = "push rbx"; round/2%2 == 0 {
				s.text, code = "ret", []byte{0xc3}
			}
			s.site = Site{Tag: None, Hook: 5, Beside: true}
			s.Open[4] = uint64(round / 4)
			if round%2 == 0 {
				s.Mode = modeStep
			}
			if !a.finish(t, s, append(code, make([]byte, 16)...)) {
				t.Fatal("no trampoline")
			}
			s.hooks = 1 - round/4
			subjects = append(subjects, s)
		}
	}
	judge(t, subjects)
}

// TestFrees: where a block is freed whose stores are not recorded the routine is not called,
// unless a call of an allocator is open.
func TestFrees(t *testing.T) {
	a := &author{rng: rand.New(rand.NewPCG(9, 10))}
	var subjects []*subject
	for i := range variants {
		v := &variants[i]
		if !v.opt.Filter.On {
			continue
		}
		for round := range 16 {
			s := a.write("", v)
			s.text = "push rbx"
			s.site = Site{Tag: None, Hook: 5, Frees: true}
			s.Regs[7] = s.EA
			s.Open[3] = uint64(round / 2 % 2)
			if round%2 == 0 {
				s.Mode = modeStep
			}
			if !a.finish(t, s, append([]byte{0x53}, make([]byte, 16)...)) {
				t.Fatal("no trampoline")
			}
			s.hooks = 1
			if v.shadow == 0 && s.Open[3] == 0 {
				s.hooks = 0
			}
			subjects = append(subjects, s)
		}
	}
	if len(subjects) == 0 {
		t.Fatal("no variant has a filter")
	}
	judge(t, subjects)
}

// TestOpens: a call that begins where no other is open is noted without the routine.
func TestOpens(t *testing.T) {
	const descriptor = 0x7f1234567890
	a := &author{rng: rand.New(rand.NewPCG(11, 12))}
	var subjects []*subject
	for _, c := range []struct {
		opens Opening
		open  [5]uint64
		notes bool
	}{
		{Opening{Index: 3, Func: descriptor, At: x86.NoReg, Bytes: x86.RDI}, [5]uint64{}, true},
		{Opening{Index: 3, Func: descriptor, At: x86.RDI, Bytes: x86.RSI}, [5]uint64{0, 0, 64, 0}, true},
		{Opening{Index: 3, Func: descriptor, At: x86.RDI, Bytes: x86.RSI}, [5]uint64{64, 0, 0, 64}, false},
		{Opening{Writer: true, Index: 70000, At: x86.RDI, Bytes: x86.RDX}, [5]uint64{}, true},
		{Opening{Writer: true, Index: 70000, At: x86.RDI, Bytes: x86.NoReg}, [5]uint64{}, true},
		{Opening{Writer: true, Index: 70000, At: x86.RDI, Bytes: x86.RDX}, [5]uint64{0, 0, 64, 0}, false},
		{Opening{Writer: true, Index: 70000, At: x86.RDI, Bytes: x86.RDX}, [5]uint64{64, 0, 0, 64}, false},
	} {
		for round := range 8 {
			s := a.write("", &variants[0])
			s.text = "nop"
			s.site = Site{Tag: None, Hook: 5, Opens: &c.opens}
			s.Open, s.notes = c.open, c.notes
			if round%2 == 0 {
				s.Mode = modeStep
			}
			if !a.finish(t, s, append([]byte{0x90}, make([]byte, 16)...)) {
				t.Fatal("no trampoline")
			}
			if s.hooks = 1; c.notes {
				s.hooks = 0
			}
			subjects = append(subjects, s)
		}
	}
	judge(t, subjects)
}

// TestWrites: where a few bytes are written to closed granules the routine is not called,
// unless a writer is open.
func TestWrites(t *testing.T) {
	a := &author{rng: rand.New(rand.NewPCG(13, 14))}
	var subjects []*subject
	for i := range variants {
		v := &variants[i]
		if !v.opt.Filter.On {
			continue
		}
		for round, c := range []struct {
			bytes  uint64
			writer uint64
			few    bool
		}{{1, 0, true}, {64, 0, true}, {0, 0, false}, {65, 0, false}, {1 << 63, 0, false}, {8, 64, false}} {
			for mode := range uint64(2) {
				s := a.write("", v)
				s.text = "push rbx"
				s.site = Site{Tag: None, Hook: 5, Opens: &Opening{Writer: true, At: x86.RDI, Bytes: x86.RDX, Closed: true}}
				s.Regs[x86.RDI], s.Regs[x86.RDX] = s.EA+uint64(round), c.bytes
				s.Open = [5]uint64{0, 0, c.writer, mode}
				s.Mode = modeStep * mode
				if !a.finish(t, s, append([]byte{0x53}, make([]byte, 16)...)) {
					t.Fatal("no trampoline")
				}
				if s.hooks = 1; c.few && v.shadow == 0 {
					s.hooks = 0
				}
				subjects = append(subjects, s)
			}
		}
	}
	judge(t, subjects)
}
