package observe

import (
	"math"

	"mgtrace/capture"
	"mgtrace/probe"
	"mgtrace/target/mem"
)

// prune forgets calls whose frames are gone. What writers among them wrote is reported
// as it is now.
func (v *Observer) prune(t *thread, sp uint64) {
	for n := len(t.writers); n > 0 && capture.Left(t.writers[n-1].sp, sp); n-- {
		v.popWriter(t, false, 0)
	}
	if t.alloc.sp != 0 && capture.Left(t.alloc.sp, sp) {
		t.alloc.sp = 0
	}
}

// functions reports the functions and points of a place.
func (v *Observer) functions(t *thread, r *mem.Regs, p *place) {
	sp := r.RSP
	// One that an allocator jumped to is inside it too.
	nested := t.alloc.sp > sp || t.alloc.sp == sp && t.alloc.tail
	if p.writer >= 0 {
		v.enterWriter(t, r, p.writer)
	}
	if p.flags&stops != 0 {
		v.tellPassed(t, r, p)
		v.stop(t, r, p, nested)
	}
	if p.flags&leavesWriter != 0 && !p.site.Tail && len(t.writers) > 0 && t.writers[len(t.writers)-1].sp == sp {
		v.popWriter(t, true, r.RAX)
	}
	if p.flags&entersAlloc != 0 && !nested {
		f := &v.funcs[p.alloc]
		t.alloc = allocCall{sp: sp, pc: v.word(sp), ptr: argument(r, f.Ptr), size: f.gives(r), fn: p.alloc}
	}
	if p.flags&(leavesAlloc|returns) != 0 {
		v.leaveSite(t, r, p)
	}
}

// stop reports the registers at a place, and the stack at an outermost allocator's entry.
func (v *Observer) stop(t *thread, r *mem.Regs, p *place, nested bool) {
	h := v.begin(capture.Stop, t, r.RIP, r.RSP)
	h.Index, h.Result = p.index, r.RAX
	if a := &t.alloc; a.sp == r.RSP && p.flags&leavesAlloc != 0 && v.funcs[a.fn].Role == probe.RolePosix {
		h.Base = v.word(a.ptr)
	}
	if nested && p.flags&withStack != 0 {
		h.Flags = capture.Nested
	}
	h.Regs = capture.Regs{
		Ret: v.word(r.RSP), Args: [6]uint64{r.RDI, r.RSI, r.RDX, r.RCX, r.R8, r.R9},
		BX: r.RBX, BP: r.RBP, R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15,
	}
	if p.flags&withStack != 0 && !nested && v.opts.Stack > 0 {
		stack := make([]byte, v.opts.Stack)
		n, _ := v.memory.ReadMemory(stack, r.RSP) // n tells
		h.Stack = stack[:n&^7]
	}
	v.send()
}

// tellPassed reports what the arguments of a watched function lead to on the thread's stack.
func (v *Observer) tellPassed(t *thread, r *mem.Regs, p *place) {
	for _, f := range p.site.Enter {
		for i, words := range v.funcs[f].Passed {
			addr := argument(r, i+1)
			if words == 0 || r.RSP < t.stack[0] || addr <= r.RSP || addr >= t.stack[1] {
				continue
			}
			v.put(t, &span{op: capture.Passed, pc: r.RIP, sp: r.RSP, addr: addr, base: addr, size: min(uint64(words)*8, t.stack[1]-addr)})
		}
		v.tellTexts(t, r, v.funcs[f].Texts)
	}
}

// tellTexts reports the text that arguments lead to, wherever it lies but in the argument's own object, which tellPassed reports.
func (v *Observer) tellTexts(t *thread, r *mem.Regs, texts [6]uint8) {
	for i, of := range texts {
		at := argument(r, i+1)
		switch {
		case of == 0 || at == 0:
			continue
		case of != probe.TextHere:
			at = v.word(at + 8*uint64(of-1))
		case r.RSP >= t.stack[0] && at > r.RSP && at < t.stack[1]:
			continue
		}
		if at != 0 {
			v.put(t, &span{op: capture.Passed, pc: r.RIP, sp: r.RSP, addr: at, base: at, size: probe.TextSize})
		}
	}
}

// leaveSite ends the open allocator call where it returns.
func (v *Observer) leaveSite(t *thread, r *mem.Regs, p *place) {
	a := &t.alloc
	switch {
	case a.sp == 0 || a.sp != r.RSP:
	case p.flags&leavesAlloc != 0 && p.site.Tail:
		a.tail = true
	case p.flags&leavesAlloc != 0:
		v.leaveAlloc(t, r.RAX)
	case p.flags&returns != 0 && a.tail:
		// A function that it jumped to, and that is none of its own, returns in
		// its place.
		h := v.begin(capture.Return, t, r.RIP, r.RSP)
		h.Index, h.Result = a.fn, r.RAX
		if v.funcs[a.fn].Role == probe.RolePosix {
			h.Base = v.word(a.ptr)
		}
		v.send()
		v.leaveAlloc(t, r.RAX)
	}
}

// gives is how many bytes a declared allocator is asked for; of others it does not matter.
func (f *function) gives(r *mem.Regs) uint64 {
	if !f.Declared || f.Role != probe.RoleMalloc {
		return 0
	}
	size, _ := f.Requested(func(n int) uint64 { return argument(r, n) })
	return size
}

// leaveAlloc reports what posix_memalign and strdup wrote beside allocating, and what lies in a piece
// that a declared allocator gives out: its chunk may have been filled in when it was no block yet.
func (v *Observer) leaveAlloc(t *thread, result uint64) {
	a := t.alloc
	t.alloc.sp = 0
	s := span{op: capture.Bulk, index: a.fn, pc: a.pc, sp: a.sp}
	switch v.funcs[a.fn].Role {
	case probe.RolePosix:
		if int32(result) == 0 {
			s.addr, s.size = a.ptr, 8
		}
	case probe.RoleStrdup:
		if result != 0 {
			s.addr, s.size = result, v.length(result)+1
		}
	case probe.RoleMalloc:
		if result != 0 && result < userEnd && a.size <= userEnd-result {
			s.op, s.index, s.addr, s.size = capture.Found, 0, result, a.size
		}
	}
	s.base = s.addr
	v.put(t, &s)
}

// calledBack says whether a call of a writer inside another one, from pc, is to be
// reported: only if the outer one's library has called back into other code.
func (f *function) calledBack(pc uint64) bool { return f.skip[1] != 0 && !f.own(pc) }

// own says whether pc is in the code whose calls of the writer are its library's own.
func (f *function) own(pc uint64) bool { return f.skip[0] <= pc && pc < f.skip[1] }

func (v *Observer) enterWriter(t *thread, r *mem.Regs, fn int) {
	f, sp := &v.funcs[fn], r.RSP
	a := &t.alloc
	if a.sp > sp && v.funcs[a.fn].hides || a.sp == sp && a.tail {
		return // inside an allocator; or it jumped here at its end (strdup to memcpy)
	}
	w := writerCall{sp: sp, dst: argument(r, f.Dst), fn: fn}
	if w.dst == 0 {
		return
	}
	if w.pc = v.word(sp); f.own(w.pc) {
		return
	}
	w.len, w.count, w.window = argument(r, f.Len), argument(r, f.Count), uint64(v.opts.MaxData)
	switch f.Extent {
	case probe.ExtentProduct:
		w.len *= w.count
		w.window = w.len
	case probe.ExtentArg, probe.ExtentMinArg:
		w.window = w.len
	case probe.ExtentFixed:
		w.window = f.Fixed
	case probe.ExtentAppend:
		w.old = v.length(w.dst)
	case probe.ExtentLine:
		w.window, w.count, w.old = 0, v.word(w.len), v.word(w.dst)
	case probe.ExtentSplit:
		w.window, w.old = 0, v.word(w.dst)
	case probe.ExtentFormat:
		w.window, w.format = 0, v.behindFormat(f, r)
	}
	if n := len(t.writers); n > 0 {
		top := &t.writers[n-1]
		if top.sp > sp && !v.funcs[top.fn].calledBack(w.pc) {
			return
		}
		if top.sp == sp {
			// From one place one function is called: another one was jumped to
			// (__strcpy_chk to memcpy). The same is called anew, and was left unseen
			// before.
			if top.pc == w.pc && top.dst == w.dst && top.fn != fn {
				return
			}
			t.writers = t.writers[:n-1]
		}
	}
	t.writers = append(t.writers, w)
}

// popWriter takes the innermost open writer off and reports what it wrote.
func (v *Observer) popWriter(t *thread, returned bool, result uint64) {
	w := t.writers[len(t.writers)-1]
	t.writers = t.writers[:len(t.writers)-1]
	f := &v.funcs[w.fn]
	s := span{op: capture.Bulk, index: w.fn, pc: w.pc, sp: w.sp, addr: w.dst, base: w.dst}
	if !returned {
		s.flags = capture.Late
	}
	n := int64(result)
	switch f.Extent {
	case probe.ExtentArg, probe.ExtentProduct, probe.ExtentMinArg:
		s.size = w.len
	case probe.ExtentFixed:
		s.size = f.Fixed
	case probe.ExtentAppend:
		s.addr += w.old
		s.size = v.length(s.addr) + 1
	case probe.ExtentString:
		// NULL from fgets and gets: nothing was read. 0 from sprintf: the empty
		// string was written.
		var first [1]byte
		_, _ = v.memory.ReadMemory(first[:], s.addr) // 0 then: nothing is known to be there
		if !returned || result != 0 || first[0] == 0 {
			s.size = v.length(s.addr) + 1
		}
	case probe.ExtentResult:
		if returned && n > 0 {
			s.size = result
		}
	case probe.ExtentResultProduct:
		if returned && n > 0 {
			s.size = result * w.len
		}
	case probe.ExtentReturned:
		if returned && result >= w.dst {
			s.size = result - w.dst + 1
		}
	case probe.ExtentBounded:
		if n := int32(result); returned && n >= 0 && w.len != 0 {
			s.size = min(uint64(n)+1, w.len)
		}
	case probe.ExtentLine:
		if v.word(w.dst) != w.old {
			v.putAt(t, s, w.dst, 8)
		}
		if v.word(w.len) != w.count {
			v.putAt(t, s, w.len, 8)
		}
		if returned && result <= math.MaxInt32 { // asprintf returns an int: the upper half of its -1 is not set
			v.putAt(t, s, v.word(w.dst), result+1)
		}
	case probe.ExtentSplit:
		at := v.word(w.dst)
		if at != w.old {
			v.putAt(t, s, w.dst, 8)
		}
		var end [1]byte
		if n, _ := v.memory.ReadMemory(end[:], at-1); returned && result != 0 && n == 1 && end[0] == 0 { // n tells
			v.putAt(t, s, at-1, 1)
		}
	case probe.ExtentFormat:
		if returned {
			v.putFormat(t, &w, s, int32(result))
		}
	}
	v.put(t, &s)
}

// putAt reports what s says, of size bytes at addr.
func (v *Observer) putAt(t *thread, s span, addr, size uint64) {
	s.addr, s.base, s.size = addr, addr, size
	v.put(t, &s)
}

// span is a write whose bytes are in memory now.
type span struct {
	op               capture.Op
	flags            capture.HitFlags
	index            int
	pc, sp           uint64
	addr, size, base uint64
}

// put reports a write with its bytes; nothing if it has none.
func (v *Observer) put(t *thread, s *span) {
	if s.size == 0 {
		return
	}
	h := v.begin(s.op, t, s.pc, s.sp)
	h.Index, h.Flags = s.index, s.flags
	h.Addr, h.Size, h.Base = s.addr, s.size, s.base
	n := min(s.size, uint64(v.opts.MaxData))
	if uint64(cap(h.Data)) < n {
		h.Data = make([]byte, n)
	}
	h.Data = h.Data[:n]
	got, _ := v.memory.ReadMemory(h.Data, s.addr) // got tells
	if uint64(got) < n {
		h.Flags |= capture.Unread
	}
	if n < s.size {
		h.Flags |= capture.Partial
	}
	v.send()
}
