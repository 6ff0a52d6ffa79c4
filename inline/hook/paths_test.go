package hook_test

import (
	"strings"
	"testing"

	"mgtrace/capture"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/objfile"
	"mgtrace/trace"
)

const pathsAt = 0x6000_0000

// TestKnownStack: a stack is told by its number where all that its unwinding depended on is
// as it was, and in no other case.
func TestKnownStack(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	const first, second = caller, caller + 0x40
	stacks := [][]trace.Addr{{first, 0x111}, {second, 0x222}}
	m.merger = log.NewMerger(log.NewTable(plan, false), log.Options{Known: func(n uint32) []trace.Addr {
		if n == 0 || int(n) > len(stacks) {
			return nil
		}
		return stacks[n-1]
	}}, m)
	m.merger.Start(thread, 0, log.Range{})
	m.mmap(pathsAt, (hook.PathsSize+0xfff)&^0xfff, 3)
	table := make([]byte, hook.PathsSize)
	key := capture.PathKey{PC: first, SP: sp0 + 8}
	put := func(key capture.PathKey, way int, stack uint32, p capture.Path) {
		hook.PutPath(table, key, way, &p, stack)
		m.write(pathsAt, table)
		m.poke(processAt+layout.Paths, pathsAt)
	}
	path := capture.Path{
		Regs:  []capture.GivenReg{{Reg: objfile.RegBP, Want: 77}, {Reg: 12, Want: 78}},
		Words: []capture.StackWord{{Off: 0, Want: first}, {Off: 16, Want: 5}, {Off: 56, Want: 6}},
		End:   64,
	}
	put(key, 3, 1, path)
	for _, c := range []struct {
		name  string
		other func()
		want  string // what is told: a known stack, or so many bytes
	}{
		{"as it was", func() {}, "= 30001000 known 111\n"},
		{"a word", func() { m.poke(sp0+16, 4) }, " stack 64 "},
		{"the last word", func() { m.poke(sp0+56, 7) }, " stack 64 "},
		{"a word that does not matter", func() { m.poke(sp0+24, 4) }, "= 30001000 known 111\n"},
		{"a register", func() { m.regs[rbp] = 76 }, " stack 64 "},
		{"another one", func() { m.regs[12] = 76 }, " stack 64 "},
		{"one that does not matter", func() { m.regs[rbx] = 76 }, "= 30001000 known 111\n"},
		{"less of it is captured", func() { m.poke(processAt+layout.StackBytes, 56) }, " stack 56 "},
		{"more of it", func() { m.poke(processAt+layout.StackBytes, 72) }, " stack 72 "},
		{"none of it", func() { m.poke(processAt+layout.StackBytes, 0) }, "= 30001000\n"},
		{"it is being changed", func() { m.poke(pathsAt+uint64(key.Set())*layout.PathSet+3*layout.PathKey+layout.KeySeq, 1|1<<32) }, " stack 64 "},
		{"too many words for a path", func() {
			m.poke(pathsAt+uint64(key.Set())*layout.PathSet+layout.PathAt+3*layout.PathSize+layout.PathCounts, 0xffff)
		}, " stack 64 "},
		{"no table", func() { m.poke(processAt+layout.Paths, 0) }, " stack 64 "},
		{"another path", func() {
			put(key, 3, 2, capture.Path{Words: []capture.StackWord{{Off: 0, Want: first}}, End: 0})
		}, "= 30001000 known 222\n"},
		{"it begins elsewhere", func() { m.poke(pathsAt+uint64(key.Set())*layout.PathSet+3*layout.PathKey, second) }, " stack 64 "},
	} {
		put(key, 3, 1, path)
		m.poke(processAt+layout.StackBytes, 64)
		m.regs[rbp], m.regs[12], m.regs[rbx] = 77, 78, 79
		m.poke(sp0+16, 5)
		m.poke(sp0+24, 3)
		m.poke(sp0+56, 6)
		c.other()
		m.malloc(first, heap, 16)
		if got := strings.Join(m.log(), "\n"); !strings.Contains(got+"\n", c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
