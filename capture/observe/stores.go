package observe

import (
	"bytes"

	"mgtrace/capture"
	"mgtrace/capture/syscalls"
	"mgtrace/probe"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

const (
	flagZero      = 1 << 6
	flagDirection = 1 << 10
	userEnd       = 0x7fff_ffff_f000 // TASK_SIZE_MAX with four-level page tables
	maxCompared   = 64
)

// BitOffset is what the bit number of bts, btr and btc adds to the operand's address,
// in bytes: it is signed and may lead anywhere (Intel SDM volume 2, "BTS").
func BitOffset(width int, bit uint64) uint64 {
	switch width {
	case 2:
		return uint64(int64(int16(bit))>>4) * 2
	case 4:
		return uint64(int64(int32(bit))>>5) * 4
	}
	return uint64(int64(bit)>>6) * 8
}

// wanted says whether a store is: not to the thread's own stack, to static data that
// nobody asked for, inside an allocator that keeps its own books, or of a traced writer
// to its destination.
func (v *Observer) wanted(t *thread, addr, size uint64) bool {
	if t.alloc.sp != 0 && v.funcs[t.alloc.fn].hides {
		return false
	}
	for i := len(t.writers) - 1; i >= 0; i-- {
		if w := &t.writers[i]; v.funcs[w.fn].traced && w.window != 0 {
			if addr-w.dst < w.window && w.window-(addr-w.dst) >= size {
				return false
			}
			break
		}
	}
	within := func(r [2]uint64) bool { return addr >= r[0] && addr < r[1] && r[1]-addr >= size }
	if !v.frames && within(t.stack) {
		return false
	}
	for _, r := range v.static {
		if within(r) {
			return false
		}
	}
	return true
}

func (v *Observer) beforeStore(t *thread, r *mem.Regs, index int) {
	d := &v.plan.Stores[index].Effect
	s := &t.store
	*s = pending{index: index, pc: r.RIP, sp: r.RSP, size: uint64(d.Width), old: s.old[:0]}
	if d.Shape == x86.ShapeString {
		n := uint64(1)
		s.base, s.addr = r.RDI, r.RDI
		if d.Rep {
			n = r.RCX
		}
		if d.Addr32 {
			s.addr = uint64(uint32(s.addr))
			if d.Rep {
				n = uint64(uint32(n))
			}
		}
		if s.size *= n; s.size == 0 {
			return
		}
		if r.EFlags&flagDirection != 0 {
			s.addr -= s.size - uint64(d.Width)
		}
	} else {
		s.addr = Address(d, r)
		if d.Base != x86.NoReg {
			s.base = General(r, d.Base)
		}
	}
	if !v.wanted(t, s.addr, s.size) {
		v.Filtered++
		return
	}
	s.on = true
	if d.Width <= maxCompared && (d.Shape == x86.ShapeMasked || d.Shape == x86.ShapeCond) {
		// Bytes that can not be read are masked ones: they are not written either.
		s.old = append(s.old, make([]byte, d.Width)...)
		_, _ = v.memory.ReadMemory(s.old, s.addr)
	}
}

func (v *Observer) afterStore(t *thread, r *mem.Regs) {
	s := &t.store
	s.on = false
	d := &v.plan.Stores[s.index].Effect
	w := span{op: capture.Store, index: s.index, pc: s.pc, sp: s.sp, addr: s.addr, size: s.size, base: s.base}
	switch {
	case d.Shape == x86.ShapeMasked && len(s.old) > 0:
		v.putMasked(t, s, &w)
		return
	case d.Shape == x86.ShapeCond && d.Atomic && !d.Lock:
		if now := make([]byte, len(s.old)); v.same(now, s) {
			return
		}
	case d.Shape == x86.ShapeCond && r.EFlags&flagZero == 0:
		return
	}
	v.put(t, &w)
}

// same says whether memory is as it was before a conditional store.
func (v *Observer) same(now []byte, s *pending) bool {
	n, _ := v.memory.ReadMemory(now, s.addr) // n tells
	return n == len(now) && bytes.Equal(now, s.old)
}

// putMasked reports the new bytes of a masked store, then the old ones.
func (v *Observer) putMasked(t *thread, s *pending, w *span) {
	h := v.begin(w.op, t, w.pc, w.sp)
	h.Index, h.Flags, h.Addr, h.Size, h.Base = w.index, capture.Masked, w.addr, w.size, w.base
	h.Data = append(h.Data[:0], s.old...)
	_, _ = v.memory.ReadMemory(h.Data, w.addr) // what can not be read stays as it was
	h.Data = append(h.Data, s.old...)
	v.send()
}

// BeforeCall tells that a thread is about to make the system call that r says.
//
// The end of a mapping is reported before the call: behind it another thread may have
// mapped the same range already. What munmap refuses is left out (mm/mmap.c).
func (v *Observer) BeforeCall(id trace.ThreadID, r *mem.Regs) error {
	t := v.thread(id)
	v.prune(t, r.RSP)
	t.call, t.calls = r.RAX, true
	if v.syscalls[uint32(r.RAX)].Rule == syscalls.Munmap && r.RAX < syscalls.Calls {
		addr, size := r.RDI, r.RSI
		if addr&0xfff == 0 && size != 0 && addr <= userEnd && size <= userEnd-addr {
			v.note(t, capture.Unmap, r.RIP+2, r.RSP, addr, size, 0)
		}
	}
	return v.err
}

// AfterCall tells that the call of BeforeCall has returned. wrote is told which memory
// the kernel wrote, whoever is interested in it.
func (v *Observer) AfterCall(id trace.ThreadID, r *mem.Regs, wrote func(addr, size uint64)) error {
	t := v.thread(id)
	if !t.calls || t.call >= syscalls.Calls {
		return v.err
	}
	t.calls = false
	d, ok := v.syscalls[uint32(t.call)]
	result := r.RAX
	if !ok || int64(result) < 0 {
		return v.err
	}
	if d.Rule >= syscalls.Mmap {
		v.mapping(t, r, d.Rule, wrote)
		return v.err
	}
	s := span{op: capture.Syscall, index: int(t.call), pc: v.caller(t, r), sp: r.RSP}
	put := func(addr, size uint64) {
		if addr == 0 || size == 0 {
			return
		}
		wrote(addr, size)
		s.addr, s.base, s.size = addr, addr, size
		v.put(t, &s)
	}
	at := callArgument(r, int(d.Ptr))
	switch d.Rule {
	case syscalls.Result:
		if d.Len != 0 {
			result = min(result, callArgument(r, int(d.Len)))
		}
		put(at, result*uint64(d.Size))
	case syscalls.Fixed:
		put(at, uint64(d.Size))
	case syscalls.Array:
		put(at, callArgument(r, int(d.Len))*uint64(d.Size))
	case syscalls.IOVec:
		v.vector(at, callArgument(r, int(d.Len)), result, put)
	case syscalls.Message: // struct msghdr: iovec at 16, its length at 24
		v.vector(v.word(at+16), v.word(at+24), result, put)
	}
	return v.err
}

// vector divides what a call wrote among the elements of an iovec array.
func (v *Observer) vector(vec, count, left uint64, put func(addr, size uint64)) {
	const most = 1024 // IOV_MAX
	for i := uint64(0); i < min(count, most) && left > 0; i++ {
		n := min(v.word(vec+16*i+8), left)
		left -= n
		put(v.word(vec+16*i), n)
	}
}

func callArgument(r *mem.Regs, n int) uint64 {
	if n == 4 {
		return r.R10
	}
	return argument(r, n)
}

// caller is whom the write of a system call is told of, by where that returns to.
func (v *Observer) caller(t *thread, r *mem.Regs) uint64 {
	if n := len(t.writers); n > 0 {
		w := &t.writers[n-1]
		return v.Caller(w.fn, w.pc, w.sp, r)
	}
	return r.RIP
}

// Caller is whom the write of a system call is told of that returns with registers r, while
// a call of a writer is open, which is entered with sp and returns to ret: that one's caller,
// if it is the function of the library that has made the system call.
func (v *Observer) Caller(writer int, ret, sp uint64, r *mem.Regs) uint64 {
	if f := &v.funcs[writer]; sp >= r.RSP && (f.Extent == probe.ExtentCall || f.own(r.RIP)) {
		return ret
	}
	return r.RIP
}

// mapping reports what was mapped: memory that has been written, with zeros or a file.
func (v *Observer) mapping(t *thread, r *mem.Regs, rule syscalls.Rule, wrote func(addr, size uint64)) {
	switch rule {
	case syscalls.Mmap:
		wrote(r.RAX, r.RSI)
		v.note(t, capture.Map, r.RIP, r.RSP, r.RAX, r.RSI, 0)
	case syscalls.Mremap:
		syscalls.Remapped(r.RDI, r.RSI, r.RAX, r.RDX, wrote)
		v.note(t, capture.Unmap, r.RIP, r.RSP, r.RDI, r.RSI, 0)
		v.note(t, capture.Map, r.RIP, r.RSP, r.RAX, r.RDX, 0)
	case syscalls.Brk:
		was := v.brk
		if v.brk = r.RAX; was != 0 && was != v.brk {
			if v.brk > was {
				wrote(was, v.brk-was)
			}
			v.note(t, capture.Break, r.RIP, r.RSP, v.brk, 0, was)
		}
	}
}

func (v *Observer) note(t *thread, op capture.Op, pc, sp, addr, size, base uint64) {
	h := v.begin(op, t, pc, sp)
	h.Addr, h.Size, h.Base = addr, size, base
	v.send()
}
