package hook_test

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
)

// The tracer finds what was begun when a signal stopped it.
func TestPending(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	block := func() []byte { return m.read(blockAt, layout.HookEnd) }
	if p, ok := hook.Innermost(block()); ok {
		t.Errorf("nothing has begun: %+v", p)
	}
	movs := m.numbers[m.at(0x100)]
	m.regs[rsp], m.regs[rdi], m.regs[rcx] = sp0, heap, 4
	m.regs[flags] = 0x400
	m.hook(movs, 0)
	m.regs[rsp], m.regs[rax] = sp0-512, 45
	m.hook(m.next, 0)

	b := block()
	p, ok := hook.Innermost(b)
	want := hook.Pending{Site: m.next, SP: sp0 - 512, Syscall: true, Call: 45}
	if d := cmp.Diff(want, p); d != "" || !ok {
		t.Errorf("found %v: %s", ok, d)
	}
	hook.Forget(b)
	p, ok = hook.Innermost(b)
	want = hook.Pending{Site: movs, SP: sp0, Store: sMovs, Addr: heap - 24, Size: 32, Base: heap}
	if d := cmp.Diff(want, p); d != "" || !ok {
		t.Errorf("found %v: %s", ok, d)
	}
	hook.Forget(b)
	hook.Forget(b)
	if _, ok = hook.Innermost(b); ok {
		t.Error("it is not forgotten")
	}
	up := hook.Pending{Addr: heap, Size: 32, Base: heap}
	for _, c := range []struct {
		p          hook.Pending
		rdi        uint64
		addr, size uint64
	}{
		{up, heap, heap, 0},
		{up, heap + 8, heap, 8},
		{up, heap + 32, heap, 32},
		{want, heap, heap - 24, 0},
		{want, heap - 8, heap, 8},
		{want, heap - 32, heap - 24, 32},
	} {
		if addr, size := c.p.Done(c.rdi); size != c.size || size > 0 && addr != c.addr {
			t.Errorf("stopped at %#x: %#x+%d, want %#x+%d", c.rdi, addr, size, c.addr, c.size)
		}
	}
}

// What a call of the routine costs, in processor time, without its trampoline.
func BenchmarkRoutine(b *testing.B) {
	for _, c := range []struct {
		name   string
		phases int
		stack  uint64
		site   func(m *machine) int
	}{
		{"watched entry", 1, 0, func(m *machine) int { return m.numbers[m.at(0x9000)] }},
		{"malloc entry, 512 bytes of stack", 1, 512, func(m *machine) int { return m.numbers[m.at(0x1000)] }},
		{"free of no block, no stack", 1, 0, func(m *machine) int { return m.numbers[m.at(0x6000)] }},
		{"movsq, 64 bytes", 2, 0, func(m *machine) int { return m.numbers[m.at(0x100)] }},
		{"masked store, 32 bytes", 2, 0, func(m *machine) int { return m.numbers[m.at(0x300)] }},
		{"write(2)", 2, 0, func(m *machine) int { m.regs[rax] = 1; return m.next }},
		{"read(2) of nothing", 2, 0, func(m *machine) int { m.regs[rax] = 0; return m.next }},
	} {
		b.Run(c.name, func(b *testing.B) {
			plan, tails := testPlan()
			m := newMachine(b, plan, tails, 1<<20)
			m.poke(processAt+layout.StackBytes, c.stack)
			m.regs[rsp], m.regs[rdi], m.regs[rbx], m.regs[rsi], m.regs[rcx] = sp0, heap, heap, heap, 8
			site := c.site(m)
			m.writeRegs()
			m.command('t', regsAt, uint64(site), uint64(c.phases), uint64(max(b.N, 1000)))
			m.in.Flush()
			var ns [8]byte
			if _, err := io.ReadFull(m.out, ns[:]); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(binary.LittleEndian.Uint64(ns[:]))/float64(max(b.N, 1000)), "cpu-ns/op")
		})
	}
}

// What is changed of a system call until it has returned is as it was then, and the tracer
// knows what it was: the program may be led away before.
func TestChangedCall(t *testing.T) {
	const lockAll, clone, clone3, untraced = 151, 56, 435, 0x00800000
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	look := func() (hook.Pending, bool) { return hook.Innermost(m.read(blockAt, layout.HookEnd)) }
	m.poke(heap, untraced|17)
	for _, c := range []struct {
		call, arg, during, cell uint64
		changed                 bool
		at, was                 uint64
	}{
		{lockAll, 1, 5, untraced | 17, true, 0, 1},
		{lockAll, 5, 5, untraced | 17, false, 0, 0},
		{clone, untraced | 17, 17, untraced | 17, true, 0, untraced | 17},
		{clone, 17, 17, untraced | 17, false, 0, 0},
		{clone3, heap, heap, 17, true, heap, untraced | 17},
		{clone3, heap + 8, heap + 8, untraced | 17, false, 0, 0},
		{clone3, 8, 8, untraced | 17, false, 0, 0},
	} {
		word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(m.read(at, 8)) }
		rdiNow := func() uint64 { return word(regsAt + 8*rdi) }
		m.regs[rsp], m.regs[rax], m.regs[rdi] = sp0, c.call, c.arg
		m.hook(m.next, 0)
		if rdiNow() != c.during || word(heap) != c.cell {
			t.Errorf("%d: during the call rdi is %#x, the cell %#x", c.call, rdiNow(), word(heap))
		}
		p, ok := look()
		if ok != c.changed || ok && (!p.Changed || p.Addr != c.at || p.Base != c.was) {
			t.Errorf("%d: found %v, %+v", c.call, ok, p)
		}
		m.regs[rdi], m.regs[rax] = rdiNow(), 0
		m.hook(m.next, 1)
		if rdiNow() != c.arg || word(heap) != untraced|17 {
			t.Errorf("%d: after the call rdi is %#x, the cell %#x", c.call, rdiNow(), word(heap))
		}
		if _, ok := look(); ok {
			t.Errorf("%d: it is still open", c.call)
		}
	}
}

// The innermost open call of a writer, and none where none is open.
func TestOpenWriter(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	block := func() []byte { return m.read(blockAt, layout.HookEnd) }
	if w, ok := hook.OpenWriter(block()); ok {
		t.Errorf("none is open: %+v", w)
	}
	m.call(fRecv, sp0, caller, 3, heap, 5)
	if w, ok := hook.OpenWriter(block()); !ok || w != (hook.Writer{Func: fRecv, SP: sp0, PC: caller}) {
		t.Errorf("open is %+v, %v", w, ok)
	}
	m.ret(fRecv, 0, sp0, 5)
	if w, ok := hook.OpenWriter(block()); ok {
		t.Errorf("it has returned: %+v", w)
	}
}
