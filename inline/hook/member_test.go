package hook_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"mgtrace/capture"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/inline/matter"
	"mgtrace/probe"
	"mgtrace/trace"
)

const barrenAt = 0x6080_0000

// memberMachine is one in which the second argument of fWatch leads to a node of 24 bytes.
func memberMachine(t *testing.T) *machine {
	plan, tails := testPlan()
	plan.Funcs[fWatch].ID = 1
	return newMachine(t, plan, tails, 1<<20, matter.Member{Func: 1, Arg: 2, Size: 24})
}

// member makes a node.
func (m *machine) member(addr uint64) {
	m.call(fWatch, sp0, caller, 0, addr)
	m.ret(fWatch, 0, sp0, 0)
}

// What lies where a node is that a call returns is told when it does; a jump to another function does
// not know its result.
func TestMemberReturned(t *testing.T) {
	plan, tails := testPlan()
	plan.Funcs[fWatch].ID = 1
	m := newMachine(t, plan, tails, 1<<20, matter.Member{Func: 1, Arg: matter.Result, Size: 24})
	m.call(fWatch, sp0, caller, heap+8, heap+8)
	m.log()
	m.poke(heap+40, 0x0203040506070809)
	m.ret(fWatch, 0, sp0, heap+40)
	want := "found 0 30001028+24 base 30001028 pc "
	if got := strings.Join(m.log(), "\n"); !strings.Contains(got, want) || !strings.Contains(got, ": 0908070605040302") {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What lies where a node is made is told, unless all stores there were recorded.
func TestMember(t *testing.T) {
	for _, s := range []struct {
		name string
		do   func(m *machine)
		want string // granules
		told string // what lay there: address+bytes
	}{
		{"in a block", func(m *machine) { m.malloc(caller, heap, 64); m.member(heap + 16) }, "oooo....", ""},
		{"in no block", func(m *machine) { m.member(heap + 40) }, "..oo....", "found 0 30001028+24 base 30001028 pc 409000: 0908070605040302" + strings.Repeat("00", 16)},
		{"partly", func(m *machine) { m.malloc(caller, heap, 32); m.member(heap + 24) }, "ooo.....", "found 0 30001018+24 "},
		{"again", func(m *machine) { m.member(heap + 40); m.log(); m.member(heap + 40) }, "..oo....", ""},
		{"nowhere", func(m *machine) { m.member(0) }, "........", ""},
		{"on the stack", func(m *machine) { m.member(stackAt + 128) }, "........", ""},
		{"where nothing is", func(m *machine) { m.member(1<<48 - 8) }, "........", ""},
		{"not filtered", func(m *machine) {
			m.poke(processAt+layout.Config, 0)
			m.malloc(caller, heap, 64)
			m.member(heap + 16)
		}, "........", "found 0 30001010+24 "},
	} {
		t.Run(s.name, func(t *testing.T) {
			m := memberMachine(t)
			m.filter(false, 0)
			m.poke(heap+40, 0x0203040506070809)
			s.do(m)
			if got := m.granules(len(s.want)); got != s.want {
				t.Errorf("got %s, want %s", got, s.want)
			}
			got := strings.Join(m.log(), "\n")
			if told := strings.Contains(got, "found"); told != (s.told != "") || !strings.Contains(got, s.told) {
				t.Errorf("told %s\nwant %q", got, s.told)
			}
		})
	}
}

// A copy of a function may take its arguments in other registers.
func TestMemberMoved(t *testing.T) {
	for _, s := range []struct {
		name string
		args []probe.Arg
		want string
	}{
		{"in another register", []probe.Arg{{Reg: -1}, {Reg: 0}}, "oo......"},
		{"nowhere", []probe.Arg{{Reg: 0}, {Reg: -1}}, "........"},
		{"it has no such argument", []probe.Arg{{Reg: 0}}, "........"},
	} {
		plan, tails := testPlan()
		plan.Funcs[fWatch].ID, plan.Funcs[fWatch].Args = 1, s.args
		m := newMachine(t, plan, tails, 1<<16, matter.Member{Func: 1, Arg: 2, Size: 24})
		m.filter(false, 0)
		m.call(fWatch, sp0, caller, heap, heap+64)
		if got := m.granules(len(s.want)); got != s.want {
			t.Errorf("%s: got %s, want %s", s.name, got, s.want)
		}
	}
}

// barren maps what is kept for requests.
func (m *machine) barren() {
	m.mmap(barrenAt, (layout.BarrenSize+0xfff)&^0xfff, 3)
	m.poke(processAt+layout.Barren, barrenAt)
}

// request writes down what is asked for.
func (m *machine) request(block, addr, size, time uint64) {
	for i, v := range []uint64{block, addr, size, time} {
		m.poke(barrenAt+layout.BarrenBlock+8*uint64(i), v)
	}
}

// wouldClose is what the tracer closes if it is the one who answers.
func (m *machine) wouldClose(block, addr, size, time uint64) (lo, hi uint64) {
	m.request(block, addr, size, time)
	return hook.Barren(m.read(processAt, layout.ProcessSize), m.read(barrenAt, layout.BarrenSize))
}

// ask asks that a part of a block be closed, as of a time, and has the routine run.
func (m *machine) ask(block, addr, size, time uint64) (answer uint32) {
	m.request(block, addr, size, time)
	m.poke(processAt+layout.Asked, 1)
	m.copied(caller, heap+0x1000, 8)
	if m.peek(processAt+layout.Asked) != 0 {
		m.t.Error("the request is not answered")
	}
	return binary.LittleEndian.Uint32(m.read(barrenAt+layout.BarrenAnswer, 4))
}

// A part of a block is closed when the tracer asks for it, unless the block has ended since the
// time that the tracer knows of, or a node was made in that part.
func TestBarren(t *testing.T) {
	const past, future = 1, 1 << 62
	for _, s := range []struct {
		name         string
		do           func(m *machine)
		addr, size   uint64
		time         uint64
		wantGranules string
	}{
		{"all", func(m *machine) {}, heap, 64, past, "........"},
		{"a part", func(m *machine) {}, heap + 8, 40, past, "o..o...."},
		{"less than a granule", func(m *machine) {}, heap + 8, 16, past, "oooo...."},
		{"it has ended", func(m *machine) { m.free(caller, heap); m.malloc(caller, heap, 64) }, heap, 64, past, "oooo...."},
		{"it had ended before", func(m *machine) { m.free(caller, heap); m.malloc(caller, heap, 64) }, heap, 64, future, "........"},
		{"realloc", func(m *machine) { m.realloc(caller, heap, 64, heap) }, heap, 64, past, "oooo...."},
		{"a node was made", func(m *machine) { m.member(heap + 32) }, heap, 64, past, "oooo...."},
		{"one reaches into it", func(m *machine) { m.member(heap + 8) }, heap + 16, 48, past, "oooo...."},
		{"one beside", func(m *machine) { m.member(heap) }, heap + 32, 32, past, "oo......"},
		{"one was made before", func(m *machine) { m.member(heap + 32) }, heap, 64, future, "........"},
		{"many were made", func(m *machine) {
			for range layout.BarrenMembers {
				m.member(heap + 0x200)
			}
		}, heap, 64, past, "oooo...."},
		{"threads", func(m *machine) { m.poke(processAt+layout.Many, 1) }, heap, 64, past, "oooo...."},
		{"a node later", func(m *machine) { m.ask(heap, heap, 64, past); m.member(heap) }, heap + 32, 16, past, "oo......"},
		{"realloc in place later", func(m *machine) { m.ask(heap, heap, 64, past); m.realloc(caller, heap, 96, heap) }, heap, 64, past, "........"},
		{"moved later", func(m *machine) { m.ask(heap, heap, 64, past); m.realloc(caller, heap, 96, heap+128) }, heap, 64, past, "........"},
		{"free later", func(m *machine) { m.ask(heap, heap, 64, past); m.free(caller, heap); m.malloc(caller, heap, 32) }, heap, 64, past, "oo......"},
		{"too small to hold a node", func(m *machine) {
			m.poke(processAt+layout.LeastBlock, 24)
			m.free(caller, heap)
			m.malloc(caller, heap, 23)
			m.malloc(caller, heap+64, 24)
		}, heap, 64, past, "..oooo.."},
	} {
		t.Run(s.name, func(t *testing.T) {
			m := memberMachine(t)
			m.filter(false, 0)
			m.barren()
			m.malloc(caller, heap, 64)
			s.do(m)
			lo, hi := m.wouldClose(heap, s.addr, s.size, s.time)
			before := m.granules(len(s.wantGranules))
			answer := m.ask(heap, s.addr, s.size, s.time)
			if got := m.granules(len(s.wantGranules)); got != s.wantGranules {
				t.Errorf("got %s, want %s (answer %d)", got, s.wantGranules, answer)
			}
			closed := []byte(before)
			for a := lo; a < hi; a += layout.Granule {
				closed[(a-heap)/layout.Granule] = '.'
			}
			if string(closed) != s.wantGranules || (lo < hi) != (answer == layout.BarrenClosed) {
				t.Errorf("the tracer would close %x to %x: %s, want %s", lo, hi, closed, s.wantGranules)
			}
			m.log()
		})
	}
}

// Of blocks that are allocated with a stack of which the tracer says so, only a part is opened.
func TestBarrenAlike(t *testing.T) {
	m := memberMachine(t)
	stacks := [][]trace.Addr{{caller, 0x111}}
	m.merger = log.NewMerger(log.NewTable(m.plan, false), log.Options{Known: func(n uint32) []trace.Addr { return stacks[n-1] }}, m)
	m.merger.Start(thread, 0, log.Range{})
	m.filter(false, 0)
	m.barren()
	m.mmap(pathsAt, (hook.PathsSize+0xfff)&^0xfff, 3)
	table := make([]byte, hook.PathsSize)
	hook.PutPath(table, capture.PathKey{PC: caller, SP: sp0 + 8}, 0, &capture.Path{Words: []capture.StackWord{{Off: 0, Want: caller}}}, 1)
	m.write(pathsAt, table)
	m.poke(processAt+layout.Paths, pathsAt)
	for _, s := range []struct {
		name                string
		stack, size, lo, hi uint64
		bytes               uint64
		want                string
	}{
		{"none", 0, 0, 0, 0, 64, "oooo...."},
		{"all of it", 1, 0, 0, 0, 64, "........"},
		{"another stack", 1 + layout.BarrenKinds, 0, 0, 0, 64, "oooo...."},
		{"but for a part", 1, 64, 16, 40, 64, ".oo....."},
		{"another size", 1, 64, 16, 40, 48, "ooo....."},
		{"a part behind it", 1, 0, 80, 100, 64, "........"},
	} {
		m.poke(barrenAt+layout.BarrenAlike+layout.BarrenKind, s.stack|s.size<<32)
		m.poke(barrenAt+layout.BarrenAlike+layout.BarrenKind+8, s.lo|s.hi<<32)
		m.malloc(caller, heap, s.bytes)
		if got := m.granules(len(s.want)); got != s.want {
			t.Errorf("%s: got %s, want %s", s.name, got, s.want)
		}
		m.write(shadowAt+heap>>4, make([]byte, 8))
	}
	m.log()
}
