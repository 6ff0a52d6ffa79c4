package hook_test

import (
	"slices"
	"strings"
	"testing"

	"mgtrace/inline/layout"
)

// What the stack of an allocation shows decides whether the block is opened.
func TestMatter(t *testing.T) {
	const in, a, b, c = caller, caller + 0x100, caller + 0x200, caller + 0x300
	passes := func(says uint64) verdict { return verdict{ret: in, says: says, base: layout.BaseSP, offset: 16} }
	byRBP := func(ret uint64) verdict { return verdict{ret: ret, base: layout.BaseBP, offset: 16, bp: -16} }
	for _, s := range []struct {
		name   string
		config uint64
		named  [][2]uint64
		table  []verdict
		stack  []uint64 // the innermost first, 16 bytes apart
		open   bool
	}{
		{"nothing is known", 0, nil, nil, []uint64{in}, true},
		{"closed", 0, nil, []verdict{{ret: in, says: layout.SaysClosed}}, []uint64{in}, false},
		{"open", 0, nil, []verdict{{ret: in, says: layout.SaysOpen}}, []uint64{in}, true},
		{"the caller is closed", 0, nil, []verdict{passes(0), {ret: a, says: layout.SaysClosed}}, []uint64{in, a}, false},
		{"another caller is not known", 0, nil, []verdict{passes(0), {ret: a, says: layout.SaysClosed}}, []uint64{in, b}, true},
		{"the caller is open", 0, nil, []verdict{passes(layout.SaysLeansClosed), {ret: a, says: layout.SaysOpen}}, []uint64{in, a}, true},
		{"the innermost leans", 0, nil, []verdict{passes(layout.SaysLeansClosed), {ret: a, says: layout.SaysLeansOpen | layout.SaysEnds}}, []uint64{in, a}, false},
		{"it leans the other way", 0, nil, []verdict{passes(layout.SaysLeansOpen), {ret: a, says: layout.SaysLeansClosed | layout.SaysEnds}}, []uint64{in, a}, true},
		{"nobody knows better", 0, nil, []verdict{passes(0), {ret: a, says: layout.SaysEnds}}, []uint64{in, a}, true},
		{"the outermost", 0, nil, []verdict{passes(layout.SaysLeansClosed), {ret: a, base: layout.BaseNone}}, []uint64{in, a}, false},
		{"no step", 0, nil, []verdict{{ret: in, says: layout.SaysLeansClosed, base: layout.BaseUnknown}}, []uint64{in, a}, true},
		{"beyond what is told", 0, nil, []verdict{{ret: in, says: layout.SaysLeansClosed, base: layout.BaseSP, offset: 64}}, []uint64{in, a}, false},
		{"by rbp", 0, nil, []verdict{byRBP(in), byRBP(a), {ret: c, says: layout.SaysClosed}}, []uint64{in, a, c}, false},
		{"named", layout.ConfigSettled, [][2]uint64{{b, 0x10}, {a, 1}}, nil, []uint64{in, a}, true},
		{"beside it", layout.ConfigSettled, [][2]uint64{{b, 0x10}, {a, 1}}, nil, []uint64{in, a + 1, b + 0x10}, false},
		{"too far out", layout.ConfigSettled, [][2]uint64{{a, 1}}, nil, []uint64{in, in, in, in, a}, false},
		{"named, though closed", 0, [][2]uint64{{a, 1}}, []verdict{{ret: in, says: layout.SaysClosed}}, []uint64{in, a}, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			plan, tails := testPlan()
			m := newMachine(t, plan, tails, 1<<16)
			m.filter(false, s.config)
			m.verdicts(64, s.table...)
			m.named(s.named...)
			for i, ret := range s.stack {
				m.poke(sp0+uint64(i)*16, ret)
				m.poke(sp0+uint64(i)*16+8, sp0+uint64(i)*16+24) // rbp, as a chain of frames saves it
			}
			m.regs[rbp] = sp0 + 8
			m.call(fMalloc, sp0, in, 16)
			m.ret(fMalloc, 0, sp0, heap)
			if got := m.granules(1) == "o"; got != s.open {
				t.Errorf("open: %v", got)
			}
			m.write(shadowAt+heap>>4, []byte{0})
			m.noted(fMalloc, sp0, in, 16)
			m.ret(fMalloc, 0, sp0, heap)
			if got := m.granules(1) == "o"; got != s.open {
				t.Errorf("noted by a trampoline, open: %v", got)
			}
			m.log()
		})
	}
}

// noted has a call of an allocator begin as a trampoline notes it.
func (m *machine) noted(fn int, sp, ret, bytes uint64) {
	a := uint64(blockAt + layout.AllocCall)
	m.poke(a+layout.CallPC, ret)
	m.poke(a+layout.CallPtr, 0)
	m.poke(a+layout.CallBytes, bytes)
	m.poke(a+layout.CallFunc, funcsAt+uint64(fn)*layout.FuncSize)
	m.poke(a+layout.CallIndex, uint64(fn))
	m.poke(blockAt+layout.OpenCall, -sp)
	m.poke(a+layout.CallSP, sp)
}

// named says which code, ranges by beginning and length, opens what is allocated in it.
func (m *machine) named(list ...[2]uint64) {
	if len(list) == 0 {
		return
	}
	const at = verdictAt + 0x8000
	lo, hi := list[0][0], uint64(0)
	for i, r := range list {
		lo, hi = min(lo, r[0]), max(hi, r[0]+r[1])
		m.poke(at+uint64(i)*16, r[0])
		m.poke(at+uint64(i)*16+8, r[1])
	}
	m.poke(processAt+layout.Named, at)
	m.poke(processAt+layout.NamedLo, lo)
	m.poke(processAt+layout.NamedSpan, hi-lo)
	m.write(processAt+layout.NamedCount, []byte{byte(len(list)), 0, 0, 0})
}

// Code that is named is found wherever its address lies in what is looked at of the stack, also behind addresses that lie
// between the first code that is named and the last.
func TestNamedBehindOthers(t *testing.T) {
	const mine = caller + 0x100
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	m.filter(false, layout.ConfigSettled|layout.ConfigForget)
	m.named([2]uint64{mine, 1}, [2]uint64{mine + 0x80, 1})
	for _, words := range []uint64{8, 19} { // as many as are looked at together, and some beyond
		m.write(processAt+layout.StackBytes, []byte{byte(8 * words), 0, 0, 0})
		for at := range words + 1 {
			for k := range words {
				m.poke(sp0+8*k, mine+0x40+k)
			}
			m.poke(sp0+8*at, mine+0x80)
			m.call(fMalloc, sp0, m.peek(sp0), 16)
			m.ret(fMalloc, 0, sp0, heap)
			if got := m.granules(1) == "o"; got != (at < words) {
				t.Errorf("word %d of %d: open: %v", at, words, got)
			}
			m.free(caller, heap)
			m.log()
		}
	}
}

// Calls that concern only blocks which do not matter leave no record, and neither do
// writes to such blocks.
func TestForget(t *testing.T) {
	const mine = caller + 0x100
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	m.filter(false, layout.ConfigSettled|layout.ConfigForget)
	m.named([2]uint64{mine, 1})
	for _, s := range []struct {
		name string
		do   func()
		want []string // how the records begin
	}{
		{"a block of others", func() { m.malloc(caller, heap, 32) }, nil},
		{"a write into it", func() { m.copied(caller, heap, 32) }, nil},
		{"its end", func() { m.free(caller, heap) }, nil},
		{"a block that matters", func() { m.malloc(mine, heap, 32) }, []string{"malloc"}},
		{"a write into it", func() { m.copied(caller, heap+16, 16) }, []string{"memcpy"}},
		{"one that reaches it", func() { m.copied(caller, heap+24, 40) }, []string{"memcpy"}},
		{"its end", func() { m.free(caller, heap) }, []string{"free"}},
		{"its end again", func() { m.free(caller, heap) }, []string{"free"}},
		{"its memory for others", func() { m.malloc(caller, heap, 48) }, nil},
		{"which grows", func() { m.realloc(caller, heap, 64, heap) }, nil},
		{"and begins to matter", func() { m.realloc(mine, heap, 64, heap+128) }, []string{"realloc", "realloc"}}, // and its bytes
		{"in place it goes on to", func() { m.realloc(caller, heap+128, 80, heap+128) }, []string{"realloc"}},
		{"it moves", func() { m.realloc(caller, heap+128, 64, heap+256) }, []string{"realloc"}},
		{"its end", func() { m.free(caller, heap+256) }, []string{"free"}},
		{"one of others", func() { m.malloc(caller, heap+256, 64) }, nil},
		{"which stays where it is", func() { m.realloc(mine, heap+256, 96, heap+256) }, nil},
		{"its end", func() { m.free(caller, heap+256) }, nil},
		{"a call that is left unseen", func() { m.call(fMalloc, sp0, mine, 16); m.free(caller, heap+256) }, nil},
		{"nothing", func() { m.free(caller, 0) }, nil},
	} {
		s.do()
		got := m.log()
		if len(got) != len(s.want) {
			t.Errorf("%s: %d records, want %d:\n%s", s.name, len(got), len(s.want), strings.Join(got, "\n"))
			continue
		}
		for i, want := range s.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %s, want %s", s.name, got[i], want)
			}
		}
	}
}

// A lock that lies where nothing is recorded is taken after another thread gave it back all
// the same: the call that takes it has a stamp.
func TestLockOrder(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	m.filter(false, layout.ConfigSettled|layout.ConfigForget)
	m.named([2]uint64{caller + 0x100, 1})
	stamps := func(f int, args ...uint64) uint64 {
		before := m.peek(processAt + layout.Order)
		m.call(f, sp0, caller, args...)
		m.ret(f, 0, sp0, 0)
		if got := m.log(); len(got) > 0 {
			t.Errorf("recorded: %v", got)
		}
		return m.peek(processAt+layout.Order) - before
	}
	if n := stamps(fMutex, heap); n != 0 {
		t.Errorf("one thread: %d stamps", n)
	}
	m.poke(processAt+layout.Many, 1)
	if n := stamps(fMutex, heap); n != 1 {
		t.Errorf("several threads: %d stamps", n)
	}
	if n := stamps(fMemcpy, heap, heap+64, 32); n != 0 {
		t.Errorf("a write that is no lock: %d stamps", n)
	}
}

// What follows a call that has waited for another thread happens after what that one did.
func TestWaitOrder(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	for _, s := range m.sites {
		if slices.Contains(s.Enter, fWait) {
			t.Errorf("the routine is called where it is entered, at %#x", s.Offset)
		}
	}
	for many, want := range []uint64{0, 1} {
		m.poke(processAt+layout.Many, uint64(many))
		before := m.peek(processAt + layout.Order)
		m.ret(fWait, 0, sp0, 0)
		if n := m.peek(processAt+layout.Order) - before; n != want {
			t.Errorf("other threads %d: %d stamps", many, n)
		}
		if got := m.log(); len(got) > 0 {
			t.Errorf("recorded: %v", got)
		}
	}
}
