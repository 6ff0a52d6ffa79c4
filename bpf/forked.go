package bpf

import (
	"cmp"
	"fmt"
	"slices"
)

// A forked child with memory of its own inherits the breakpoints, and a program of a uprobe_multi link has no way to have
// the kernel take them out there: since Linux 6.12 what it returns is not looked at, and for another process than the
// link's it is not even run. The kernel does not put them in again: it does so when a file is mapped or a probe made, and
// then asks the link's filter, which wants the one process (kernel/events/uprobes.c, kernel/trace/bpf_trace.c). So whoever
// traces the child writes the original bytes back.

// Child is a forked process that stands still and has not executed an instruction.
type Child interface {
	TID() int
	ReadMemory(buf []byte, addr uint64) (int, error)
	WriteMemory(b []byte, addr uint64) error // read-only pages included
}

// inherited is a place where a child may have a breakpoint.
type inherited struct {
	offset   uint64 // in its file
	original byte
}

// inherited lists those places, by image and offset.
func (e *Engine) inherited() [][]inherited {
	out := make([][]inherited, len(e.plan.Images))
	add := func(image int, addr, offset uint64) {
		if b := e.plan.Images[image].File.Code(addr, 1); len(b) == 1 && b[0] != int3 {
			out[image] = append(out[image], inherited{offset, b[0]})
		}
	}
	for _, s := range e.sites {
		add(s.Image, s.Addr, s.Offset)
	}
	for i := range e.plan.Funcs {
		s := e.plan.Funcs[i].Entry // of those with a uretprobe
		add(s.Image, s.Addr, s.Offset)
	}
	for i := range out {
		slices.SortFunc(out[i], func(a, b inherited) int { return cmp.Compare(a.offset, b.offset) })
		out[i] = slices.Compact(out[i])
	}
	return out
}

// int3 is the instruction of a breakpoint.
const int3 = 0xcc

// Disown takes the breakpoints out of a forked child that does not share the program's memory. It is for the goroutine
// that traces.
func (e *Engine) Disown(child Child) error {
	if e.places == nil {
		e.places = e.inherited()
	}
	err := e.eachPiece(child.TID(), e.places, func(_ int, code []byte, at uint64, places []inherited) error {
		return giveBack(child, code, at, places)
	})
	if err != nil {
		return fmt.Errorf("breakpoints in process %d: %w", child.TID(), err)
	}
	return nil
}

// giveBack writes the original bytes of some places, of which the first lies at an address; code is room for what lies there.
func giveBack(child Child, code []byte, at uint64, places []inherited) error {
	if _, err := child.ReadMemory(code, at); err != nil {
		return nil // killed, or not to be read, nor executed then
	}
	changed := false
	for _, p := range places {
		if b := &code[p.offset-places[0].offset]; *b == int3 {
			*b, changed = p.original, true
		}
	}
	if !changed {
		return nil
	}
	return child.WriteMemory(code, at)
}

// eachPiece goes through the places, by image, that are mapped in a process where the kernel puts breakpoints in, as piecesOf does.
// Of a process that has ended, and of images that are gone, there are none.
func (e *Engine) eachPiece(tid int, places [][]inherited, f func(image int, code []byte, at uint64, places []inherited) error) error {
	maps, err := readMaps(tid)
	if err != nil {
		return nil
	}
	for i, im := range e.plan.Images {
		of, err := findImage(tid, im.Path, maps)
		if err != nil {
			continue
		}
		for _, m := range of.maps {
			if m.write || m.shared { // the kernel puts none in there
				continue
			}
			err := piecesOf(m, places[i], func(code []byte, at uint64, places []inherited) error { return f(i, code, at, places) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// piecesOf goes through the places in a mapping, in pieces of neighbouring pages: each that has a place has most
// likely been copied for the program already. f is given room for the bytes from the first place of a piece to its last, and where they lie.
func piecesOf(m mapping, places []inherited, f func(code []byte, at uint64, places []inherited) error) error {
	from, _ := slices.BinarySearchFunc(places, m.offset, func(p inherited, at uint64) int { return cmp.Compare(p.offset, at) })
	to, _ := slices.BinarySearchFunc(places, m.offset+(m.hi-m.lo), func(p inherited, at uint64) int { return cmp.Compare(p.offset, at) })
	for places = places[from:to]; len(places) > 0; {
		n := 1
		for n < len(places) && places[n].offset/pageSize-places[n-1].offset/pageSize <= 1 {
			n++
		}
		first, last := places[0].offset, places[n-1].offset
		if err := f(make([]byte, last-first+1), m.lo+first-m.offset, places[:n]); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}
