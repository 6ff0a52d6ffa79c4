package hook_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/inline/layout"
)

func expected(s string) (lines []string) {
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

func TestRoutine(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			plan, tails := testPlan()
			m := newMachine(t, plan, tails, 1<<20)
			c.run(m)
			if d := cmp.Diff(expected(c.want), m.log()); d != "" {
				t.Error(d)
			}
			if m.swaps != 0 {
				t.Errorf("%d changes of buffers", m.swaps)
			}
		})
	}
}

// The end of a buffer may come at any record and at any byte: what is recorded
// is the same.
func TestSmallBuffers(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			for size := 256; size <= 256+layout.StopSize+64; size += 12 {
				plan, tails := testPlan()
				m := newMachine(t, plan, tails, size)
				c.run(m)
				if d := cmp.Diff(expected(c.want), m.log()); d != "" {
					t.Fatalf("buffer of %d bytes: %s", size, d)
				}
			}
		})
	}
}

// A thread that is offered another buffer goes there early, or where a record finds no
// room: what is recorded is the same, and nobody had to help.
func TestTurn(t *testing.T) {
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			plan, tails := testPlan()
			for _, first := range []struct{ size, turn uint64 }{
				{1 << 16, 0}, {1 << 16, layout.NoteSize}, {1 << 16, layout.AllocSize},
				{0, 0}, {layout.NoteSize, 1 << 16}, {layout.AllocSize + 8, 1 << 16}, {layout.WriteSize + 4, 1 << 16},
			} {
				m := newMachine(t, plan, tails, 1<<20)
				m.offer(max(first.size, 4), first.turn)
				c.run(m)
				if m.peek(blockAt+layout.Next) != 0 {
					continue // it ends before
				}
				got := append(m.told(m.first()), m.log()...)
				if d := cmp.Diff(expected(c.want), got); d != "" || m.swaps != 0 {
					t.Fatalf("%d bytes, to be left after %d: %d changes of buffers by the tracer; %s", first.size, first.turn, m.swaps, d)
				}
			}
		})
	}
}

// What follows goes to the same buffer: an offer is taken once.
func TestTurnOnce(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	end := m.peek(blockAt + layout.End)
	m.offer(1<<16, layout.StopSize)
	var cursors []uint64
	for range 3 {
		m.call(fWatch, sp0, caller)
		cursors = append(cursors, m.peek(blockAt+layout.Cursor))
	}
	if first := uint64(firstAt + layout.StopSize); cursors[0] != first || m.peek(blockAt+layout.Left) != first {
		t.Errorf("the first buffer was left at %#x, its record ends at %#x", m.peek(blockAt+layout.Left), cursors[0])
	}
	if cursors[2]-cursors[1] != layout.StopSize || m.peek(blockAt+layout.End) != end {
		t.Errorf("after the change the cursor was at %#x, then at %#x; the buffer ends at %#x", cursors[1], cursors[2], m.peek(blockAt+layout.End))
	}
}

// A large write comes whole, up to the limit.
func TestLarge(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcde"), heapSize/15)
	for _, size := range []int{400, 4096, 20000, 1 << 20} {
		plan, tails := testPlan()
		m := newMachine(t, plan, tails, size)
		m.write(heapAt, data)
		for _, n := range []uint64{4095, 0x8000, 0x8001} {
			m.call(fMemcpy, sp0, caller, heapAt, 0, n)
			m.ret(fMemcpy, 0, sp0, 0)
			m.log()
			if len(m.got) != 1 {
				t.Fatalf("%d of %d: %d hits", n, size, len(m.got))
			}
			want := min(n, 0x8000)
			_, text, _ := strings.Cut(m.got[0], ": ")
			text, partial := strings.CutSuffix(text, " partial")
			if partial != (n > want) || uint64(len(text)) != 2*want || text != hex.EncodeToString(data[:want]) {
				t.Errorf("%d of %d: %d bytes, partial %v", n, size, len(text)/2, partial)
			}
		}
	}
}

// A short write comes whole, however many bytes it has, and as far as it can be read.
func TestShort(t *testing.T) {
	const end = uint64(heapAt + heapSize)
	data := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<20)
	for size := range uint64(len(data)) {
		for there := range size + 1 {
			m.write(end-there, data[:there])
			m.call(fMemcpy, sp0, caller, end-there, 0, size)
			m.ret(fMemcpy, 0, sp0, 0)
			want := []string{fmt.Sprintf("bulk memcpy %x+%d base %x pc 400500: %x", end-there, size, end-there, data[:there])}
			switch {
			case size == 0:
				want = nil
			case there < size:
				want[0] += fmt.Sprintf(" and %d unread", size-there)
			}
			if d := cmp.Diff(want, m.log()); d != "" {
				t.Fatalf("%d of %d bytes: %s", there, size, d)
			}
		}
	}
}

// A string that goes downwards leaves the direction flag set, however long it is.
func TestDirection(t *testing.T) {
	for _, words := range []uint64{1, 100} {
		plan, tails := testPlan()
		m := newMachine(t, plan, tails, 1<<20)
		data := bytes.Repeat([]byte("movsq..."), int(words))
		m.regs[flags], m.regs[rdi], m.regs[rcx] = 0x400, heap+8*(words-1), words
		m.store(sMovs, func() { m.write(heap, data) })
		want := []string{fmt.Sprintf("store 0 %x+%d base %x pc 400100: %x", heap, 8*words, heap+8*(words-1), data)}
		if d := cmp.Diff(want, m.log()); d != "" {
			t.Errorf("%d words: %s", words, d)
		}
	}
}

// Records share a time while the routine is called often.
func TestClock(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	for _, c := range []struct {
		name            string
		readings, clock uint64
		left            uint32
		shared          bool
	}{
		{"the counter was just read", 7, 1234, 6, true},
		{"for the last time", 1, 1234, 0, true},
		{"it was read long ago", 0, 1234, 0, false},
	} {
		m.poke(blockAt+layout.Clock, c.clock)
		m.poke(blockAt+layout.Readings, c.readings)
		m.call(fWatch, sp0, caller)
		time := binary.LittleEndian.Uint64(m.read(m.peek(blockAt+layout.Cursor)-layout.StopSize+layout.SpecialTime, 8))
		left := uint32(m.peek(blockAt + layout.Readings))
		if now := m.peek(blockAt + layout.Clock); time != now || left != c.left || (time == c.clock) != c.shared {
			t.Errorf("%s: time %d, counter %d, for %d more", c.name, time, now, left)
		}
	}
}

// Records that fit no buffer are counted, and told by the next that does.
func TestMissed(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 100)
	m.call(fWatch, sp0, caller)
	m.call(fWatch, sp0, caller) // tells of the first
	m.regs[rsp] = sp0
	m.syscall(11, 0, nil, heapAt, 0x2000)
	if d := cmp.Diff([]string{"lost 0 0+1 base 0", "lost 0 0+1 base 0", "unmap 0 30000000+8192 base 0"}, m.log()); d != "" {
		t.Error(d)
	}
}

// Stamps grow with each record, and the counter says which was the last.
func TestStamps(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	m.poke(processAt+layout.Order, 41)
	m.call(fWatch, sp0, caller)
	m.ret(fWatch, 0, sp0, 0)
	if n := m.peek(processAt + layout.Order); n != 43 {
		t.Errorf("the counter is %d after two records from 41", n)
	}
	b := m.read(m.peek(blockAt+layout.Cursor)-2*layout.StopSize, 2*layout.StopSize)
	for i := range 2 {
		if got := binary.LittleEndian.Uint64(b[i*layout.StopSize+layout.SpecialStamp:]); got != uint64(42+i) {
			t.Errorf("record %d has stamp %d", i, got)
		}
	}
}
