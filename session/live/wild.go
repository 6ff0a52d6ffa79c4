package live

import (
	"cmp"
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"mgtrace/objfile"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// A program dies of a pointer that leads to no memory, and has it from somewhere. Memory itself says where that is, also of bytes of which no
// event tells: what an allocator leaves in a block that is freed, or what came there one by one.

// Limits of the search for words of memory.
const (
	minWild     = 64 << 10 // addresses below are NULL and a little more (vm.mmap_min_addr, proc_sys_vm(5)): many words are such
	maxWildOff  = 4 << 10  // bytes from where a word leads
	maxWild     = 512      // words that are told for a register
	maxWildTo   = 16       // and for each of those
	maxSearched = 1 << 14  // words that are found
	maxTaken    = 16 << 30 // bytes of a mapping: a larger one is address space, of which little is used
	maxScanned  = 1 << 30  // bytes that are looked through, each of two times
	stackStep   = 64 << 10 // how far away from the stack pointer an instruction writes that goes on with the stack, bytes
)

// astray is a thread at an instruction that found no memory.
type astray struct {
	thread trace.ThreadID
	regs   []uint64 // trace.SignalRegs
	pc     uint64
	fault  uint64 // where no memory was; 0 if that is not known
}

// goesAstray notes a signal, if it is of that kind. The program may handle it and end then.
func (l *Program) goesAstray(signal int, thread trace.ThreadID, regs []uint64, pc, fault uint64) {
	if len(regs) == trace.SignalRegs && (signal == int(unix.SIGSEGV) || signal == int(unix.SIGBUS)) {
		l.astray = &astray{thread, slices.Clone(regs), pc, fault}
	}
}

// fullStack: the thread went astray because its stack has come to its end, and not by a pointer: what its stack pointer leads into, or has
// just left, begins just above where there was no memory. A pointer that leads there finds memory as long as the stack can grow.
func (c *astray) fullStack(maps []mem.Map) bool {
	above := func(addr uint64) mem.Map {
		i := slices.IndexFunc(maps, func(m mem.Map) bool { return m.Hi > addr && (m.Read || m.Write) })
		if i < 0 {
			return mem.Map{}
		}
		return maps[i]
	}
	sp := c.regs[objfile.RegSP]
	stack := above(sp)
	return c.fault != 0 && above(c.fault) == stack && c.fault < stack.Lo && stack.Lo-c.fault < stackStep && max(sp, c.fault)-min(sp, c.fault) < stackStep
}

// wild tells which words of memory led where a register did of the thread that went astray, and which led to those, or where other registers did.
// The process is held.
func (l *Program) wild() error {
	l.mu.Lock()
	c := l.astray
	l.astray = nil
	l.mu.Unlock()
	if c == nil {
		return nil
	}
	maps, err := l.proc.Maps()
	if err != nil || c.fullStack(maps) {
		return nil // it has ended meanwhile, or there is nothing to look for
	}
	var values, at []uint64
	for _, v := range append(c.regs[:trace.SignalRegs-1:trace.SignalRegs-1], c.pc) {
		switch m, _ := mem.FindMap(maps, v); {
		case v < minWild || slices.Contains(values, v):
		case !m.Read && !m.Write:
			values = append(values, v)
		case m.Write:
			at = append(at, v) // it may have read there what led nowhere
		}
	}
	sp := c.regs[objfile.RegSP]
	maps = slices.DeleteFunc(maps, func(m mem.Map) bool {
		return !m.Write || m.Shared || m.Size() > maxTaken || m.Lo <= sp && sp < m.Hi
	})
	slices.SortStableFunc(maps, func(a, b mem.Map) int { return cmp.Compare(a.Size(), b.Size()) }) // most of them, if not all
	held := mem.Near(l.proc, maps, values, maxWildOff, maxSearched, maxScanned)
	held = nearest(held, values, maxWild, func(w mem.Word, v uint64) uint64 { return max(w.Value, v) - min(w.Value, v) })
	for _, w := range held {
		at = append(at, w.Addr)
	}
	led := mem.Near(l.proc, maps, at, maxWildOff, maxSearched, maxScanned)
	led = nearest(led, at, maxWildTo, func(w mem.Word, v uint64) uint64 { return v - w.Value })
	for _, w := range slices.Concat(held, led) {
		ev := trace.Event{Kind: trace.KindWild, Thread: c.thread, Wall: -1, Addr: trace.Addr(w.Addr), Size: 8, Data: binary.LittleEndian.AppendUint64(nil, w.Value)}
		if err := (*intake)(l).Event(&ev); err != nil {
			return err
		}
	}
	return nil
}

// nearest are of the words, for each value, the n that are not farther away than the others, and each only once.
func nearest(words []mem.Word, values []uint64, n int, away func(w mem.Word, v uint64) uint64) (out []mem.Word) {
	slices.SortStableFunc(words, func(a, b mem.Word) int { return cmp.Compare(a.Value, b.Value) })
	chosen := map[uint64]bool{}
	for _, v := range values {
		var near []mem.Word
		from, _ := slices.BinarySearchFunc(words, v-min(v, maxWildOff), func(w mem.Word, v uint64) int { return cmp.Compare(w.Value, v) })
		for _, w := range words[from:] {
			if w.Value > v && w.Value-v >= maxWildOff {
				break
			}
			if away(w, v) < maxWildOff {
				near = append(near, w)
			}
		}
		slices.SortStableFunc(near, func(a, b mem.Word) int { return cmp.Compare(away(a, v), away(b, v)) })
		for _, w := range near[:min(len(near), n)] {
			if !chosen[w.Addr] {
				chosen[w.Addr] = true
				out = append(out, w)
			}
		}
	}
	return out
}
