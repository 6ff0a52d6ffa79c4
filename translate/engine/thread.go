package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"mgtrace/flow"
	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/translate"
)

// A thread's slot: thread block, a small stack, the log, a guard page.
const logAt = translate.StackTop

// thread is a thread that runs translations.
type thread struct {
	tid          int
	base         uint64           // its slot in the process
	mem          []byte           // our view
	log          int              // bytes of its log up to Limit
	fs           uint64           // FS base
	read         int              // bytes of the log that were given to the sink
	epoch        uint64           // of what comes next in the log
	last         trace.Instant    // of the instruction that it executed last, of those given to the sink
	signal, from uint64           // that it was told of last, and where it was
	partial      bool             // it was led away from a string instruction that has been executed in part
	filter       log.Filter       // which of its stores are wanted
	wall         int64            // the last time that its log tells
	calls        bool             // it was told of the system call that is being made
	returning    bool             // the next system call is rt_sigreturn
	later        []target.Siginfo // signals that wait until it is out of a routine
}

// never is the epoch of a thread that has not had the baton yet.
const never = ^uint64(0)

func (e *Engine) slotSize() uint64 {
	return logAt + pageUp(uint64(e.opts.Buffer)) + translate.Slack + pageSize
}

// maxThreads at once.
const maxThreads = 512

func (e *Engine) mapSlots() error {
	size := e.slotSize() * maxThreads
	b, err := e.shared.Map(slotsAt, size, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return err
	}
	n := int(e.slotSize())
	var reqs []target.SyscallReq
	for i := range maxThreads {
		base := slotsAt + uint64(i*n)
		e.unused = append(e.unused, &thread{base: base, mem: b[i*n : (i+1)*n : (i+1)*n], log: int(pageUp(uint64(e.opts.Buffer)))})
		reqs = append(reqs, target.SyscallReq{Nr: unix.SYS_MPROTECT, Args: [6]uint64{base + uint64(n) - pageSize, pageSize, unix.PROT_NONE}})
	}
	return e.protect(reqs, "guard pages of the logs")
}

func (t *thread) get(off int) uint64    { return binary.LittleEndian.Uint64(t.mem[off:]) }
func (t *thread) set(off int, v uint64) { binary.LittleEndian.PutUint64(t.mem[off:], v) }

// cursor is how many bytes of the log are written.
func (t *thread) cursor() int { return int(t.get(translate.Cursor) - t.base - logAt) }

func (t *thread) guarded(addr uint64) bool {
	return addr-t.base-uint64(len(t.mem)-pageSize) < pageSize
}

// kept gives registers the values that the routine has kept.
func (t *thread) kept(regs *mem.Regs) {
	for _, k := range []struct {
		reg *uint64
		off int
	}{{&regs.RCX, keptRCX}, {&regs.R11, keptR11}, {&regs.RDI, keptRDI}, {&regs.RSI, keptRSI}, {&regs.RDX, keptRDX}, {&regs.R10, keptR10}} {
		*k.reg = t.get(k.off)
	}
}

// keptFlags gives RAX and the flags the values that a routine has kept: AH as lahf
// left it, AL as seto.
func (t *thread) keptFlags(regs *mem.Regs) {
	regs.RAX = t.get(keptRAX)
	const byLahf, of = 0xd5, 1 << 11
	f := t.get(keptFlags)
	regs.EFlags = regs.EFlags&^(byLahf|of) | f>>8&byLahf
	if f&1 != 0 {
		regs.EFlags |= of
	}
}

// beforeNote gives the registers of a thread in the routine of notes the values that they
// had before.
func (t *thread) beforeNote(regs *mem.Regs) {
	const at = translate.StackTop - layout.RegsSize
	for i, reg := range registers(regs) {
		*reg = t.get(at + layout.RegsGeneral + 8*i)
	}
	regs.EFlags = t.get(at + layout.RegsFlags)
	regs.RIP = t.get(translate.Back)
}

// begin gives a stopped thread its slot. The registers are to be set by the caller.
func (e *Engine) begin(th *target.Stopped, regs *mem.Regs, from int) error {
	if len(e.unused) == 0 {
		return fmt.Errorf("the program has more than %d threads at once", maxThreads)
	}
	t := e.unused[0]
	e.unused = e.unused[1:]
	clear(t.mem[:layout.BlockSize])
	t.tid, t.fs, t.read, t.epoch, t.later, t.calls = th.TID(), regs.FSBase, 0, never, nil, false
	t.set(translate.Cursor, t.base+logAt)
	t.set(translate.Limit, t.base+logAt+uint64(t.log))
	t.set(layout.End, t.base+uint64(len(t.mem)-pageSize))
	t.set(layout.HookSP, t.base+translate.StackTop)
	e.threads[t.tid] = t
	regs.GSBase = t.base
	if e.rec != nil {
		e.rec.begun(th, t, regs)
	}
	return e.sink.Other(&flow.Record{Kind: flow.Start, Thread: trace.ThreadID(t.tid), Number: uint64(from)})
}

// drain gives what a stopped thread has recorded to the sink, and what others have
// recorded before.
func (e *Engine) drain(t *thread) {
	if e.consume(t) {
		t.read = 0
		t.set(translate.Cursor, t.base+logAt)
	}
}

// consume is drain for a thread that may be in the middle of a record.
func (e *Engine) consume(t *thread) bool {
	for t.read < t.cursor() {
		first := t
		for _, o := range e.threads {
			if o.epoch < first.epoch && o.read < o.cursor() {
				first = o
			}
		}
		if !e.segment(first) {
			return false
		}
	}
	if e.rec != nil {
		if err := e.rec.Flush(); err != nil {
			e.fail(err)
			return false
		}
	}
	return true
}

// segment gives what a thread has recorded in one epoch to the sink, as far as it
// is there.
func (e *Engine) segment(t *thread) bool {
	for end := t.cursor(); t.read < end; {
		rec := t.mem[logAt+t.read:] // and what lies behind the log
		id := binary.LittleEndian.Uint32(rec)
		if id >= layout.Special && id != translate.Turn && e.rec != nil {
			n, err := e.rec.noted(t, rec[:end-t.read])
			if err != nil {
				e.fail(fmt.Errorf("thread %d's log: %w", t.tid, err))
				return false
			}
			t.read += n
			continue
		}
		if id == translate.Turn {
			t.read += translate.TurnSize
			t.epoch = binary.LittleEndian.Uint64(rec[4:])
			return true
		}
		if id == 0 || int(id) >= len(e.hot) {
			e.fail(fmt.Errorf("thread %d's log is damaged: there is no block %d", t.tid, id))
			return false
		}
		h := &e.hot[id]
		if h.slow || e.paused() {
			if !e.exec(t, e.blocks[id], rec[:h.size], int(h.insts)) {
				return false
			}
		} else if !e.fast(t, id, h, rec) {
			return false
		} else if h.stores && !e.stored(t, e.blocks[id], rec[:h.size], int(h.insts)) {
			return false
		}
		t.read += int(h.size)
		if t.returning && e.blocks[id].system() {
			t.returning = false
			if err := e.sink.Other(&flow.Record{Kind: flow.Define, Cause: flow.BySyscall, Thread: trace.ThreadID(t.tid), Number: unix.SYS_RT_SIGRETURN}); err != nil {
				e.fail(err)
				return false
			}
		}
	}
	return true
}

// fast gives the record of a block at the start of rec, all of it, to a flow.
func (e *Engine) fast(t *thread, id uint32, h *hot, rec []byte) bool {
	told, at, err := e.flow.Whole(trace.ThreadID(t.tid), h.entire)
	if err != nil {
		e.fail(err)
		return false
	}
	if h.many {
		for i, a := range e.blocks[id].told {
			told[i] = a.add + binary.LittleEndian.Uint64(rec[a.at:])&a.mask + t.fs&a.fs
		}
	} else {
		for i := range told[:h.told] {
			told[i] = h.add[i%maxHot] + binary.LittleEndian.Uint64(rec[h.at[i%maxHot]:])
		}
	}
	e.stats.Execs++
	t.last = at + trace.Instant(h.insts) - 1
	return true
}

// paused says that nobody wants to know the instructions now.
func (e *Engine) paused() bool { return e.flow != nil && e.flow.Paused() }

// exec gives one record to the sink, as far as its first n instructions.
func (e *Engine) exec(t *thread, b *block, rec []byte, n int) bool {
	h := &e.hot[b.id]
	if e.paused() {
		e.flow.Pass(n)
		e.stats.Execs++
		return !h.stores || e.stored(t, b, rec, n)
	}
	if why := b.layout.Gap; why != "" {
		if err := e.sink.Other(&flow.Record{Kind: flow.Gap, Thread: trace.ThreadID(t.tid), Size: 1, PC: trace.Addr(b.layout.Start), Why: why}); err != nil {
			e.fail(err)
			return false
		}
		if e.rec != nil {
			t.last = e.rec.w.Instant() - 1
		}
		return true
	}
	if b.flow == 0 {
		var err error
		if b.flow, err = e.sink.Block(b.layout.Block()); err == nil && e.flow != nil {
			err = e.quick(b, h)
		}
		if err != nil {
			e.fail(err)
			return false
		}
	}
	e.ranges = b.layout.Ranges(e.ranges[:0], rec, n, t.fs)
	e.stats.Execs++
	at, err := e.sink.Exec(trace.ThreadID(t.tid), b.flow, 0, n, e.ranges)
	if err != nil {
		e.fail(err)
		return false
	}
	t.last = at + trace.Instant(n) - 1
	return !h.stores || e.stored(t, b, rec, n)
}

// stored tells of the stores with values among the first n instructions of a block, which
// a thread has executed last.
func (e *Engine) stored(t *thread, b *block, rec []byte, n int) bool {
	if e.rec == nil {
		return true
	}
	if err := e.rec.stored(t, b.layout, rec, n, t.last-trace.Instant(n)+1); err != nil {
		e.fail(err)
		return false
	}
	return true
}

// other drains a thread's log and adds a record behind it.
func (e *Engine) other(t *thread, r *flow.Record) {
	e.drain(t)
	r.Thread = trace.ThreadID(t.tid)
	if err := e.sink.Other(r); err != nil {
		e.fail(err)
	}
}

// enter lets a thread, which stands at a place of the program, go on in the
// translation of pc.
func (e *Engine) enter(th *target.Stopped, regs *mem.Regs, pc uint64) error {
	regs.RIP = pc
	if !e.over {
		b, err := e.translation(pc)
		switch {
		case err == nil:
			e.goOn(e.threads[th.TID()], regs, b.r, b.r.addr+uint64(b.entry))
		case !errors.Is(err, translate.ErrNoCode):
			e.drain(e.threads[th.TID()])
			return err
		}
		// Without code the thread faults there, as it would have.
	}
	return th.SetRegs(*regs)
}

// goOn lets a thread go on at a place in a translation, as soon as it has the baton.
func (e *Engine) goOn(t *thread, regs *mem.Regs, r *region, at uint64) {
	regs.RIP = at
	if t.get(translate.Holds) == 0 {
		t.set(translate.Cont, at)
		regs.RIP = r.acquire
	}
}

// errStuck: a thread does not get out of a translation.
var errStuck = errors.New("it does not come to a place of the program")

// leave makes the registers of a thread that is in a translation those of the
// program, at a place of the program, and brings its log to the sink up to there.
// faults: it is at a fault, of the program's own instruction perhaps: the place is before
// that.
func (e *Engine) leave(th *target.Stopped, t *thread, regs *mem.Regs, faults bool) error {
	const most = 1 << 12
	for range most {
		r := e.region(regs.RIP)
		if r == nil {
			return nil
		}
		b := r.find(regs.RIP)
		var m translate.Mark
		ok := false
		if b != nil {
			m, ok = e.where(b, regs.RIP)
		} else if regs.RIP == r.addr || regs.RIP == r.trap || regs.RIP == r.trap+1 {
			m, ok = translate.Mark{Committed: true, Goes: translate.AtTarget, A: true, C: true}, true
		}
		if b == nil && r.inRoutine(regs.RIP) {
			return errStuck
		}
		if !ok || m.Goes == translate.AtNothing || m.Noted && !(m.Program && faults) {
			var fault *target.FaultError
			err := th.Step()
			if errors.As(err, &fault) && m.Noted && m.Program {
				faults = true // as it will when it goes on
				continue
			}
			if err != nil {
				return fmt.Errorf("a step at %#x: %w", regs.RIP, err)
			}
			now, err := th.Regs()
			if err != nil {
				return err
			}
			*regs = now
			continue
		}
		e.restore(t, b, &m, regs)
		return nil
	}
	return errStuck
}

// where tells what holds at an address in a block's translation, which is made once
// more for that.
func (e *Engine) where(b *block, rip uint64) (translate.Mark, bool) {
	c, err := e.again(b)
	if err != nil {
		return translate.Mark{}, false
	}
	return c.Where(int(rip - b.r.addr - uint64(b.at)))
}

// again translates a block once more, with the sites that it had.
func (e *Engine) again(b *block) (*translate.Code, error) {
	env := e.env(b.r)
	env.Checked = b.layout.Checked
	if l := b.layout; l.Sites != nil {
		env.Site = func(pc uint64, _ bool) translate.Site {
			for i := range l.Sites {
				if l.PC(i) == pc {
					return l.Sites[i]
				}
			}
			return translate.Site{}
		}
	}
	return translate.Translate(b.layout.Start, b.layout.Code, b.id, b.r.addr+uint64(b.at), env)
}

// part makes of the record of a block whose instruction n, a string instruction, has been
// executed in part, with so much of the count left, that of what it has done. It returns
// how many instructions the record is of.
func (t *thread) part(b *block, rec []byte, n int, left uint64) int {
	for i := int(b.layout.Insts[n].Accesses); i < len(b.layout.Accesses); i++ {
		a := &b.layout.Accesses[i]
		if a.Shape != translate.String && a.Shape != translate.Compare {
			continue
		}
		count := rec[translate.PartAt(int(a.Extra)):]
		done := binary.LittleEndian.Uint64(count) - left
		if done == 0 {
			return n
		}
		binary.LittleEndian.PutUint64(count, done)
		if a.Shape == translate.Compare {
			binary.LittleEndian.PutUint64(rec[translate.PartAt(int(a.Extra)+2):], 0)
		}
		t.partial = true
		return n + 1
	}
	return n
}

// restore brings registers and log to what a mark says.
func (e *Engine) restore(t *thread, b *block, m *translate.Mark, regs *mem.Regs) {
	t.partial = false
	general := registers(regs)
	if m.B {
		*general[m.RegB] = t.get(translate.SaveB)
	}
	if m.T {
		*general[m.RegT] = t.get(translate.SaveT)
	}
	if m.A {
		regs.RAX = t.get(translate.SaveRAX)
	}
	if m.C {
		regs.RCX = t.get(translate.SaveRCX)
	}
	switch {
	case m.Undo:
		t.set(translate.Cursor, t.get(translate.Cursor)-uint64(b.layout.Size()))
		e.drain(t)
	case !m.Committed:
		rec := append([]byte(nil), t.mem[logAt+t.cursor():][:b.layout.Size()]...)
		n := m.N
		if m.Program {
			n = t.part(b, rec, n, regs.RCX)
		}
		e.drain(t)
		if n > 0 {
			e.exec(t, b, rec, n)
		}
	default:
		e.drain(t)
	}
	switch m.Goes {
	case translate.AtInst:
		regs.RIP = b.layout.PC(m.N)
		if m.N == 1 && b.system() {
			regs.RCX = regs.RIP
		}
	case translate.AtAddr:
		regs.RIP = m.Addr
	case translate.AtTarget:
		regs.RIP = t.get(translate.Target)
	case translate.AtBranch:
		if regs.RIP = m.Else; holds(m.Cond, regs.EFlags) {
			regs.RIP = m.Addr
		}
	}
}

// system says whether the block is a system call.
func (b *block) system() bool {
	c := b.layout.Code
	return len(b.layout.Insts) == 1 && len(c) >= 2 && c[len(c)-2] == 0x0f && c[len(c)-1] == 0x05
}

// holds says whether a condition (SDM volume 2, appendix B.1) is true.
func holds(cond byte, flags uint64) bool {
	const cf, pf, zf, sf, of = 1, 1 << 2, 1 << 6, 1 << 7, 1 << 11
	var is bool
	switch cond >> 1 {
	case 0:
		is = flags&of != 0
	case 1:
		is = flags&cf != 0
	case 2:
		is = flags&zf != 0
	case 3:
		is = flags&(cf|zf) != 0
	case 4:
		is = flags&sf != 0
	case 5:
		is = flags&pf != 0
	case 6:
		is = flags&sf != 0 != (flags&of != 0)
	case 7:
		is = flags&zf != 0 || flags&sf != 0 != (flags&of != 0)
	}
	return is != (cond&1 != 0)
}

func registers(r *mem.Regs) [16]*uint64 {
	return [16]*uint64{&r.RAX, &r.RCX, &r.RDX, &r.RBX, &r.RSP, &r.RBP, &r.RSI, &r.RDI, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15}
}
