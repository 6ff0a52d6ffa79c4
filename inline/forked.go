package inline

import (
	"cmp"
	"slices"
	"sort"

	"golang.org/x/sys/unix"

	"mgtrace/inline/patch"
	"mgtrace/target"
	"mgtrace/target/mem"
)

// A forked child with memory of its own runs without the engine. To write the original code
// back costs it a copy of each page of code that has been patched: milliseconds for a program
// such as bash. But a page of a private mapping that is dropped (MADV_DONTNEED) is, when it is
// touched again, the file's, shared with all who have it.

// droppable is patches that lie in pages of one mapping that were all the file's before.
type droppable struct {
	from, to int // in the plan's list
	of       mem.Map
	pages    patch.Range
	own      int // how many of the pages the process has for itself since
}

// pager is a process that can tell of its pages.
type pager interface {
	OwnPages(lo, hi uint64) ([]uint64, error)
}

// count is how many of the pages a process has for itself; -1: it is not known.
func (d *droppable) count(p pager) int {
	own, err := p.OwnPages(d.pages.Lo, d.pages.Hi)
	if err != nil {
		return -1
	}
	return len(own)
}

// untouched lists what of a unit's patches, which are not written yet, lies in pages that are the file's.
func (u *unit) untouched(p pager) []droppable {
	var drops []droppable
	for _, im := range u.images {
		for _, m := range im.maps {
			own, err := p.OwnPages(m.Lo, m.Hi)
			if err != nil || m.Shared {
				continue
			}
			lo := m.Lo
			for _, page := range append(own, m.Hi) { // those of others' breakpoints, and relocated code
				if d, ok := u.within(patch.Range{Lo: lo, Hi: page}); ok {
					d.of = m
					drops = append(drops, d)
				}
				lo = page + pageSize
			}
		}
	}
	slices.SortFunc(drops, func(a, b droppable) int { return cmp.Compare(a.from, b.from) })
	return drops
}

// within are the patches in some pages, if there are any.
func (u *unit) within(pages patch.Range) (d droppable, ok bool) {
	list := u.plan.Patches
	end := func(i int) uint64 { return list[i].Addr + uint64(len(list[i].New)) }
	d.from = sort.Search(len(list), func(i int) bool { return list[i].Addr >= pages.Lo })
	d.to = d.from + sort.Search(len(list)-d.from, func(i int) bool { return end(d.from+i) > pages.Hi })
	if d.from == d.to {
		return d, false
	}
	d.pages = patch.Range{Lo: list[d.from].Addr &^ (pageSize - 1), Hi: pageUp(end(d.to - 1))}
	return d, true
}

// holds says whether a child has the mapping, and in the pages nothing of its own but the patches.
func (d *droppable) holds(child *target.Stopped, maps []mem.Map) bool {
	m, ok := mem.FindMap(maps, d.pages.Lo)
	return ok && d.pages.Hi <= m.Hi && !m.Shared && m.Inode == d.of.Inode && m.Path == d.of.Path &&
		m.Offset-m.Lo == d.of.Offset-d.of.Lo && d.own > 0 && d.count(child) == d.own
}

// restore gives the code of a forked child its bytes.
func (e *Engine) restore(child *target.Stopped) error {
	dropped, err := e.drop(child)
	if err != nil {
		return err
	}
	for _, u := range e.units {
		written := 0
		for i := range u.drops {
			if d := &u.drops[i]; slices.Contains(dropped, d) {
				if err := writePatches(child, u.plan.Patches[written:d.from], original, true); err != nil {
					return err
				}
				written = d.to
			}
		}
		if err := writePatches(child, u.plan.Patches[written:], original, true); err != nil {
			return err
		}
	}
	return nil
}

// drop drops what can be dropped of a child's pages, and returns it: nothing where a call failed, because a
// filter of the program's own forbids it, say; nor of a process that outlives its tracer: its child must stay
// right if that is killed meanwhile.
func (e *Engine) drop(child *target.Stopped) (dropped []*droppable, err error) {
	if e.opts.Undo != nil {
		return nil, nil
	}
	maps, err := child.Maps()
	if err != nil {
		return nil, nil
	}
	var calls []target.SyscallReq
	for _, u := range e.units {
		for i := range u.drops {
			if d := &u.drops[i]; d.holds(child, maps) {
				dropped = append(dropped, d)
				calls = append(calls, target.SyscallReq{Nr: unix.SYS_MADVISE, Args: [6]uint64{d.pages.Lo, d.pages.Hi - d.pages.Lo, unix.MADV_DONTNEED}})
			}
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	switch err := child.Syscalls(calls); {
	case killed(err):
		return nil, err
	case err != nil:
		return nil, nil
	}
	return dropped, nil
}
