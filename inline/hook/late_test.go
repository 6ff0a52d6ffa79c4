package hook_test

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/inline/layout"
)

// A block of which it is known late that it does not matter is closed then, but for what
// shows that its end must be told.
func TestLate(t *testing.T) {
	const (
		lateAt = 0x6000_0000
		mine   = caller + 0x100 // known from the beginning to matter
		out    = caller + 0x200
	)
	open, closed := verdict{ret: mine, says: layout.SaysOpen}, verdict{ret: caller, says: layout.SaysClosed}
	passes := verdict{ret: caller, base: layout.BaseSP, offset: 16}
	var m *machine
	// learn has the tracer tell what it knows, and the routine look at all entries. What was on
	// the stack is not there any more.
	learn := func(list ...verdict) {
		m.verdicts(64, append(list, open)...)
		m.poke(sp0, mine)
		m.poke(sp0+16, mine)
		for range 1200 {
			m.copied(mine, heap+0x1000, 8) // which is closed
		}
	}
	for _, s := range []struct {
		name string
		do   func()
		want string   // granules
		told []string // how the records begin, behind the first one
	}{
		{"closed", func() { learn(closed) }, "o...........", nil},
		{"its first granule", func() { learn(closed); m.copied(mine, heap, 4); m.copied(mine, heap+16, 48) }, "o...........", []string{"memcpy"}},
		{"its end", func() { learn(closed); m.free(mine, heap) }, "o...........", []string{"free"}},
		{"its memory for another", func() { learn(closed); m.free(mine, heap); m.malloc(mine, heap, 48); learn(closed) }, "ooo.........", []string{"free", "malloc"}},
		{"for one that does not matter", func() { learn(closed); m.free(mine, heap); m.malloc(caller, heap, 48) }, "............", []string{"free"}},
		{"it matters", func() { learn(verdict{ret: caller, says: layout.SaysOpen}) }, "oooo........", nil},
		{"nothing is known", func() { learn() }, "oooo........", nil},
		{"a frame further out", func() { learn(passes, verdict{ret: out, says: layout.SaysClosed}) }, "o...........", nil},
		{"further out it matters", func() { learn(passes, verdict{ret: out, says: layout.SaysOpen}) }, "oooo........", nil},
		{"one by one", func() { learn(passes); learn(passes, verdict{ret: out, says: layout.SaysClosed}) }, "o...........", nil},
		{"its end before", func() { m.free(mine, heap); m.malloc(mine, heap, 64); learn(closed) }, "oooo........", []string{"free", "malloc"}},
		{"larger before", func() { m.realloc(caller, heap, 96, heap); learn(closed) }, "oooooo......", []string{"realloc"}},
		{"elsewhere before", func() { m.realloc(caller, heap, 64, heap+128); learn(closed) }, "oooo....oooo", []string{"realloc"}},
		{"larger", func() { learn(closed); m.realloc(caller, heap, 96, heap) }, "............", []string{"realloc"}},
		{"elsewhere", func() { learn(closed); m.realloc(caller, heap, 64, heap+128) }, "............", []string{"realloc"}},
		{"elsewhere it matters", func() { learn(closed); m.realloc(mine, heap, 64, heap+128) }, "........oooo", []string{"realloc", "realloc", "realloc"}}, // and its bytes
		{"given up by realloc", func() { learn(closed); m.realloc(caller, heap, 0, 0); m.malloc(mine, heap, 16) }, "o...........", []string{"realloc", "malloc"}},
		{"several threads", func() { m.poke(processAt+layout.Many, 1); learn(closed) }, "oooo........", nil},
		{"a neighbour", func() { m.malloc(mine, heap+64, 64); learn(closed) }, "o...oooo....", []string{"malloc"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			plan, tails := testPlan()
			m = newMachine(t, plan, tails, 1<<20)
			m.filter(false, layout.ConfigForget)
			m.mmap(lateAt, layout.LateTable, 3)
			m.poke(processAt+layout.Late, lateAt)
			m.verdicts(64, open)
			m.poke(sp0, caller)
			m.poke(sp0+16, out)
			m.malloc(caller, heap, 64)
			if got := m.log(); len(got) != 1 || !strings.Contains(got[0], "malloc") || m.granules(4) != "oooo" {
				t.Fatalf("the block is not told: %v", got)
			}
			s.do()
			if got := m.granules(len(s.want)); got != s.want {
				t.Errorf("got %s, want %s", got, s.want)
			}
			got := m.log()
			for i, line := range got {
				if i >= len(s.told) || !strings.Contains(line, s.told[i]) {
					t.Errorf("record %d: %s", i, line)
				}
			}
			if len(got) != len(s.told) {
				t.Errorf("%d records, want %q", len(got), s.told)
			}
			waiting, entries := m.peek(processAt+layout.LateNext)>>32, 0
			for i := range uint64(layout.LateEntries) {
				if m.peek(lateAt+8*i) != 0 {
					entries++
				}
			}
			if waiting > uint64(entries) {
				t.Error(fmt.Sprint(waiting, " blocks wait in ", entries, " entries"))
			}
			if taken := m.peek(processAt+layout.LateTaken) & 0xffff_ffff; taken != uint64(entries) {
				t.Error(fmt.Sprint(taken, " entries are said to be taken, ", entries, " are"))
			}
		})
	}
}

// Blocks that would have the same entry are all closed late, and one that has ended is not.
func TestLateBeside(t *testing.T) {
	const lateAt = 0x6000_0000
	home := func(addr uint64) uint64 {
		return addr >> layout.GranuleShift * layout.VerdictHash >> layout.VerdictShift % layout.LateEntries
	}
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<20)
	m.filter(false, layout.ConfigForget)
	m.mmap(lateAt, layout.LateTable, 3)
	m.poke(processAt+layout.Late, lateAt)
	m.verdicts(64)
	m.poke(sp0, caller)
	var blocks []uint64
	for addr := uint64(heap); len(blocks) < 6; addr += layout.Granule {
		if home(addr) == home(heap) {
			blocks = append(blocks, addr)
		}
	}
	granules := func(addr uint64) string {
		return m.granules(int(addr-heap)/layout.Granule + 4)[(addr-heap)/layout.Granule:]
	}
	for _, addr := range blocks {
		m.malloc(caller, addr, 64)
	}
	m.free(caller, blocks[3])
	m.verdicts(64, verdict{ret: caller, says: layout.SaysClosed})
	for range 1200 {
		m.copied(caller, heap+0x800, 8)
	}
	for i, addr := range blocks {
		want := "o..." // its first granule shows that its end must be told
		if i == 3 {    // stores to freed blocks are recorded, until the memory is allocated again
			want = "oooo"
		}
		if got := granules(addr); got != want {
			t.Errorf("block %d: got %s, want %s", i, got, want)
		}
	}
}
