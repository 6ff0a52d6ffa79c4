package capture

import (
	"mgtrace/probe"
	"mgtrace/trace"
)

// chunks collects a write that comes in several hits.
type chunks struct {
	open  bool
	op    Op
	head  Hit    // its first chunk
	start uint64 // offset of buf in the write
	next  uint64 // offset of the next chunk
	buf   []byte
}

// write handles a hit with written bytes.
func (a *Assembler) write(t *thread, h *Hit) {
	if a.innerCleared(t, h) {
		return
	}
	w := &t.write
	switch {
	case h.Flags&Masked != 0:
		a.masked(t, h)
	case !w.open && h.Offset == 0 && h.Flags&(More|Unread) == 0:
		a.wrote(t, h, 0, h.Data, h.Flags&Partial != 0)
	default:
		a.chunk(t, h)
	}
}

// chunk adds a hit to the open write and reports it when it is whole. Chunks
// that were lost or could not be read split it.
func (a *Assembler) chunk(t *thread, h *Hit) {
	w := &t.write
	if !w.open {
		*w = chunks{open: true, op: h.Op, head: *h, buf: w.buf[:0]}
		w.head.Data, w.head.Stack = nil, nil
	}
	if h.Offset > w.next {
		a.flush(t)
		a.unread(t, &w.head, w.next, h.Offset-w.next)
		w.next, w.start = h.Offset, h.Offset
	}
	end := h.Offset + uint64(len(h.Data))
	if h.Flags&Unread != 0 {
		a.flush(t)
		a.unread(t, &w.head, h.Offset, uint64(len(h.Data)))
		w.start = end
	} else {
		w.buf = append(w.buf, h.Data...)
	}
	w.next = end
	if h.Flags&More != 0 {
		return
	}
	w.open = false
	if w.start == 0 {
		a.wrote(t, &w.head, 0, w.buf, h.Flags&Partial != 0)
		w.buf = w.buf[:0]
		return
	}
	a.flush(t)
	if h.Flags&Partial != 0 && w.head.Size > end {
		a.unread(t, &w.head, end, w.head.Size-end)
	}
}

// flush reports the bytes collected so far as a write of their own.
func (a *Assembler) flush(t *thread) {
	w := &t.write
	if len(w.buf) > 0 {
		a.wrote(t, &w.head, w.start, w.buf, false)
	}
	w.start = w.next
	w.buf = w.buf[:0]
}

// cut ends a write whose remaining chunks did not come.
func (a *Assembler) cut(t *thread) {
	w := &t.write
	w.open = false
	a.flush(t)
	if w.head.Size > w.next {
		a.unread(t, &w.head, w.next, w.head.Size-w.next)
	}
}

// masked reports each run of bytes that a masked store changed. Bytes that it
// wrote with the value they had can not be told from those it left alone.
func (a *Assembler) masked(t *thread, h *Hit) {
	half := len(h.Data) / 2
	n := min(half, int(min(h.Size, 1<<16)))
	if h.Flags&Unread != 0 || n == 0 {
		a.unread(t, h, 0, h.Size)
		return
	}
	now, old := h.Data[:n], h.Data[half:half+n]
	for i := 0; i < n; {
		j := i
		for j < n && now[j] != old[j] {
			j++
		}
		if j > i {
			a.wrote(t, h, uint64(i), now[i:j], false)
		}
		i = max(j, i+1)
	}
}

// wrote reports data written at offset off of the write of h.
func (a *Assembler) wrote(t *thread, h *Hit, off uint64, data []byte, partial bool) {
	e := a.writeEvent(h, off)
	e.Data = data
	e.Size = uint64(len(data))
	if partial {
		e.Flags |= trace.FlagPartial
		e.Size = h.Size
	}
	a.keep(t, e)
}

// unread reports n bytes at offset off of the write of h as written with
// unknown values.
func (a *Assembler) unread(t *thread, h *Hit, off, n uint64) {
	if h.Op == Passed {
		return // nobody has written there
	}
	e := a.writeEvent(h, off)
	e.Kind = trace.KindUnread
	e.Size = n
	if e.Name == "" {
		e.Name = "memory could not be read"
	}
	a.keep(t, e)
}

func (a *Assembler) writeEvent(h *Hit, off uint64) *trace.Event {
	e := a.event(h, trace.KindStore)
	e.Addr = trace.Addr(h.Addr + off)
	e.Base = trace.Addr(h.Base)
	if h.Flags&Late != 0 {
		e.Flags |= trace.FlagLate
	}
	switch h.Op {
	case Store:
		s := &a.plan.Stores[h.Index]
		e.Flags |= s.Flags()
		if s.Frame {
			e.Base = 0
		}
	case Bulk:
		e.Kind = trace.KindBulk
		e.Name = a.plan.Funcs[h.Index].Name
	case Syscall:
		e.Kind = trace.KindSyscall
		e.Aux = uint64(h.Index)
	case Found:
		e.Kind, e.PC = trace.KindImage, 0
	case Passed:
		e.Kind = trace.KindPassed
	}
	return e
}

// ownBooks says that a thread is inside an allocator of a library: what that
// writes with memcpy or memset is its own business (jemalloc's realloc copies so),
// for the event of its call accounts for it. What strdup copies is the caller's.
func (a *Assembler) ownBooks(t *thread) bool {
	if len(t.allocs) == 0 {
		return false
	}
	f := &a.plan.Funcs[t.allocs[0].fn]
	return !f.Declared && f.Role != probe.RoleStrdup
}
