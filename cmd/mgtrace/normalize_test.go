package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/trace"
)

// normalizer names what addresses mean at a time of the run.
type normalizer struct {
	modules []trace.Module
	main    trace.ThreadID
	threads map[trace.ThreadID]int // from 1 in the order of their beginning; 0 is the main thread
	numbers map[uint32]string      // thread and process numbers
	areas   []*area                // blocks that live and what is mapped, later ones win
	count   map[string]int         // areas named so far
	shared  map[string]bool        // what several threads wrote to
}

// area is a block or a mapping.
type area struct {
	name   string
	lo, hi uint64
	start  uint64 // where it began
	mapped bool
	arena  bool // of malloc, where blocks are
}

const arenaSize = 64 << 20 // HEAP_MAX_SIZE of glibc's arena.c

// lines returns the events of each thread.
func (n *normalizer) lines(evs []trace.Event) [][]line {
	n.threads, n.numbers, n.count = map[trace.ThreadID]int{0: 0, n.main: 0}, map[uint32]string{uint32(n.main): "thread0"}, map[string]int{}
	var ids []trace.ThreadID // ascending: in the order in which the main thread made them
	for i := range evs {
		if e := &evs[i]; e.Kind == trace.KindFork {
			n.numbers[uint32(e.Aux)] = fmt.Sprintf("child%d", len(n.numbers))
		}
	}
	evs = slices.DeleteFunc(evs, func(e trace.Event) bool { return e.Thread != n.main && n.numbers[uint32(e.Thread)] != "" })
	for i := range evs {
		if e := &evs[i]; e.Thread != 0 && e.Thread != n.main && !slices.Contains(ids, e.Thread) {
			ids = append(ids, e.Thread)
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		n.threads[id] = i + 1
		n.numbers[uint32(id)] = fmt.Sprintf("thread%d", i+1)
	}
	out := make([][]line, len(n.threads)-1)
	var audit []line
	writers := map[string]map[int]bool{}
	for i := range evs {
		e := &evs[i]
		t := n.threads[e.Thread]
		l, ok := n.line(e)
		if !ok {
			continue
		}
		if l.where != "" {
			if writers[l.where] == nil {
				writers[l.where] = map[int]bool{}
			}
			writers[l.where][t] = true
		}
		switch {
		case e.PC == 0 && (e.Kind == trace.KindBulk || e.Kind == trace.KindMemory): // the session's, when the process ends
			audit = append(audit, l)
		default:
			out[t] = append(out[t], l)
		}
	}
	byText := func(a, b line) int { return strings.Compare(a.text+a.where, b.text+b.where) }
	slices.SortFunc(audit, byText)
	out = append(out, audit)
	n.shared = map[string]bool{}
	for where, who := range writers {
		n.shared[where] = len(who) > 1
	}
	return out
}

// line is the form of one event; false if it is not compared.
func (n *normalizer) line(e *trace.Event) (line, bool) {
	l := line{kind: e.Kind, thread: n.threads[e.Thread], late: e.Flags&trace.FlagLate != 0, pc: e.PC, text: fmt.Sprintf("%v %v", e.Kind, e.Flags&^trace.FlagLate)}
	say := func(format string, args ...any) { l.text += fmt.Sprintf(" "+format, args...) }
	say("at %s", n.name(uint64(e.PC)))
	for _, pc := range e.Stack {
		l.stack = append(l.stack, n.name(uint64(pc)))
	}
	switch e.Kind {
	case trace.KindWild:
		return l, false
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread, trace.KindImage, trace.KindGlobal:
		say("%s size %d base %s aux %d", e.Name, e.Size, n.base(e), e.Aux)
		l.where, l.data = n.name(uint64(e.Addr)), n.value(e)
	case trace.KindMemory:
		say("%s size %d", n.name(uint64(e.Addr)), e.Size)
	case trace.KindAlloc:
		a := n.add(e, "block", e.Size)
		say("%s %s size %d", e.Name, a.name, e.Size)
	case trace.KindFree:
		say("%s %s", e.Name, n.name(uint64(e.Addr)))
		n.drop(uint64(e.Addr))
	case trace.KindRealloc:
		say("%s %s", e.Name, n.name(e.Aux))
		n.drop(e.Aux)
		say("to %s size %d", n.add(e, "block", e.Size).name, e.Size)
	case trace.KindRefused:
		say("%s size %d aux %s", e.Name, e.Size, n.name(e.Aux))
	case trace.KindMap:
		if e.Size == arenaSize || e.Size == 2*arenaSize {
			n.add(e, "arena", e.Size).arena = true
			return l, false
		}
		if a := n.find(uint64(e.Addr)); a != nil && a.arena {
			return l, false
		}
		say("%s size %d", n.add(e, "map", e.Size).name, e.Size)
	case trace.KindUnmap:
		if a := n.find(uint64(e.Addr)); a != nil && a.arena {
			n.unmap(uint64(e.Addr), uint64(e.Addr)+e.Size)
			return l, false
		}
		say("%s size %d", n.name(uint64(e.Addr)), e.Size)
		n.unmap(uint64(e.Addr), uint64(e.Addr)+e.Size)
	case trace.KindCall:
		say("func %d sp %s", e.Aux, n.name(uint64(e.SP)))
		for _, a := range e.Args[:2] { // none of the programs' functions has more
			say("%s", n.name(a))
		}
	case trace.KindReturn, trace.KindLine:
		say("%d sp %s ret %s", e.Aux, n.name(uint64(e.SP)), n.name(e.Ret))
	case trace.KindSignal:
		say("%d sp %s addr %s", e.Aux, n.name(uint64(e.SP)), n.name(uint64(e.Addr)))
		if e.Flags&trace.FlagHandled != 0 {
			l.stack = nil
		}
	case trace.KindFork, trace.KindThreadStart, trace.KindThreadExit: // Aux: numbers of the kernel
	default:
		say("aux %d size %d %s", e.Aux, e.Size, e.Name)
	}
	return l, true
}

// base is the base of a write: as a distance, unless it is far from it.
func (n *normalizer) base(e *trace.Event) string {
	if d := int64(e.Addr - e.Base); e.Base != 0 && -1<<20 < d && d < 1<<20 {
		return fmt.Sprint(-d)
	}
	return n.name(uint64(e.Base))
}

// value is what was written: in hexadecimal, addresses in it by name.
func (n *normalizer) value(e *trace.Event) string {
	const getrandom = 318
	a := n.find(uint64(e.Addr))
	_, known := n.known(uint64(e.Addr))
	if e.Kind == trace.KindSyscall && (a == nil || e.Aux == getrandom) || e.Kind == trace.KindBulk && !known {
		return "" // to a stack: padding, canaries and times
	}
	number := strings.HasPrefix(e.Name, "pthread_") || e.Kind == trace.KindStore && len(e.Data) == 4
	var b strings.Builder
	for i := 0; i < len(e.Data); {
		rest := e.Data[i:]
		if (uint64(e.Addr)+uint64(i))%8 == 0 && len(rest) >= 8 {
			v := binary.LittleEndian.Uint64(rest)
			if name, ok := n.known(v); ok {
				fmt.Fprintf(&b, "[%s]", name)
				i += 8
				continue
			}
		}
		if number && (uint64(e.Addr)+uint64(i))%4 == 0 && len(rest) >= 4 {
			if name, ok := n.numbers[binary.LittleEndian.Uint32(rest)]; ok {
				fmt.Fprintf(&b, "[%s]", name)
				i += 4
				continue
			}
		}
		b.WriteString(hex.EncodeToString(rest[:1]))
		i++
	}
	return b.String()
}

// name is an address by what it lies in, or as it is.
func (n *normalizer) name(addr uint64) string {
	if name, ok := n.known(addr); ok {
		return name
	}
	return fmt.Sprintf("%#x", addr)
}

func (n *normalizer) known(addr uint64) (string, bool) {
	if a := n.find(addr); a != nil {
		if a.arena {
			return "arena", true
		}
		return fmt.Sprintf("%s+%#x", a.name, addr-a.start), true
	}
	for _, m := range n.modules {
		if a := trace.Addr(addr); m.Lo <= a && a < m.Hi {
			return fmt.Sprintf("%s+%#x", filepath.Base(m.Path), a-m.Bias), true
		}
	}
	return "", false
}

// find returns the area that holds an address or ends at it, nil if none does.
func (n *normalizer) find(addr uint64) (ends *area) {
	for _, a := range slices.Backward(n.areas) {
		switch {
		case a.lo <= addr && addr < max(a.hi, a.lo+1) && (ends == nil || !a.mapped):
			return a
		case addr == a.hi && !a.mapped:
			ends = a
		}
	}
	return ends
}

// add begins an area, the next of its kind in the event's thread.
func (n *normalizer) add(e *trace.Event, kind string, size uint64) *area {
	kind = fmt.Sprintf("%s%d", kind, n.threads[e.Thread])
	n.count[kind]++
	a := &area{name: fmt.Sprintf("%s.%d", kind, n.count[kind]), lo: uint64(e.Addr), hi: uint64(e.Addr) + size, start: uint64(e.Addr), mapped: e.Kind == trace.KindMap}
	n.areas = append(n.areas, a)
	return a
}

// drop ends a block.
func (n *normalizer) drop(addr uint64) {
	n.areas = slices.DeleteFunc(n.areas, func(a *area) bool { return a.lo == addr && !a.mapped })
}

// unmap ends the mappings in a range, or what of them lies in it.
func (n *normalizer) unmap(lo, hi uint64) {
	for _, a := range slices.Clone(n.areas) {
		if !a.mapped || hi <= a.lo || a.hi <= lo {
			continue
		}
		if hi < a.hi {
			n.areas = append(n.areas, &area{name: a.name, lo: hi, hi: a.hi, start: a.start, mapped: true, arena: a.arena})
		}
		a.hi = max(a.lo, lo)
	}
	n.areas = slices.DeleteFunc(n.areas, func(a *area) bool { return a.mapped && a.lo == a.hi })
}
