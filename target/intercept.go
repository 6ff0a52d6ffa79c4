package target

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// Interceptor is told of single threads at once, on the tracer's goroutine,
// while the other threads run on. It must not wait for anything that the
// process or another goroutine's use of the Process does; it may use the
// Process itself.
//
// Processes that share the program's memory until they execute another (vfork,
// posix_spawn) are met as children, and their signals come to OnSignal, too.
type Interceptor interface {
	// OnSignal: a thread is about to get a signal. What it does to registers,
	// mask and siginfo is what the program's handler and OnCrash see. Signals
	// of the tracer itself are not told.
	OnSignal(th *Stopped, sig syscall.Signal, info Siginfo) (deliver bool)
	// OnThread: a new thread, before its first instruction. from made it.
	OnThread(th *Stopped, from int)
	// OnFork: a thread, which stands behind the system call, has made a process; parent
	// is 0 if it has ended without telling. shares is as for OnForked, which follows, maybe when it has ended.
	OnFork(parent, child int, shares bool)
	// OnForked: a new process, before its first instruction. If it shares the
	// memory it stays traced until it executes a program or ends; else it is
	// let go after the call. parent is that of OnFork.
	OnForked(child *Stopped, parent int, shares bool)
	// OnThreadEnd: a thread, or a child that shared the memory, executes no
	// instruction of the program any more.
	OnThreadEnd(tid int)
	// OnExec: the process has a new program and no memory of the old.
	// OnThreadEnd was called for all others.
	OnExec(th *Stopped)
	// OnInterrupted answers Poke.
	OnInterrupted(th *Stopped)
}

// SetInterceptor sets who is told from now on; nil for nobody.
func (p *Process) SetInterceptor(i Interceptor) error {
	return p.do(func() { p.t.interceptor = i })
}

// Do runs f on the tracer's goroutine, where Thread may be used.
func (p *Process) Do(f func()) error { return p.do(f) }

// Poke asks for OnInterrupted of a thread; it does not wait. A thread that has
// ended is not told of.
func (p *Process) Poke(tid int) error {
	return p.post(func() {
		th := p.t.lookup(tid)
		if th == nil || th.exiting {
			return
		}
		th.poked = true
		if th.stopped || unix.PtraceInterrupt(tid) != nil { // ESRCH: killed meanwhile
			return
		}
		// A thread that waits in the kernel stops at once: sooner than
		// SIGCHLD would tell.
		if ws, err := p.t.waitOne(tid, 0); err == nil && ws.Stopped() {
			p.t.onStop(tid, ws)
		} else if err == nil {
			p.t.onEnd(tid, ws)
		}
	})
}

// Thread is a thread that stands still while f of Do runs. One that is at its end
// executes nothing any more, and is not given.
func (p *Process) Thread(tid int) (*Stopped, error) {
	th := p.t.lookup(tid)
	switch {
	case th == nil:
		return nil, fmt.Errorf("%w: %d", ErrNoThread, tid)
	case !th.stopped || th.ends():
		return nil, fmt.Errorf("%w: %d", ErrRunning, tid)
	}
	s := p.t.borrow(th)
	p.t.borrowed = append(p.t.borrowed, s)
	return s, nil
}

// Stopped is one thread that stands still. It is good until the call of the
// Interceptor that it was given to returns, or the function of Do.
type Stopped struct {
	t  *tracer
	th *thread
	d  *detour // of Step; nil: none yet
}

func (t *tracer) borrow(th *thread) *Stopped {
	s := &th.lent
	if s.t != nil {
		s = new(Stopped) // it is lent already
	}
	*s = Stopped{t: t, th: th}
	return s
}

// giveBack ends what the borrower began.
func (t *tracer) giveBack(s *Stopped) {
	_ = s.stand() // on an error the thread is gone, or it is as it was but for a signal mask
	s.t = nil
}

func (t *tracer) giveAllBack() {
	for _, s := range t.borrowed {
		t.giveBack(s)
	}
	t.borrowed = t.borrowed[:0]
}

// TID is the thread's id.
func (s *Stopped) TID() int { return s.th.tid }

// Regs returns the thread's registers.
func (s *Stopped) Regs() (mem.Regs, error) {
	regs, err := getRegs(s.th.tid)
	if s.d != nil && s.d.leaks {
		regs.EFlags &^= flagTF
	}
	return regs, err
}

// SetRegs sets the thread's registers.
func (s *Stopped) SetRegs(r mem.Regs) error { return setRegs(s.th.tid, r) }

// StopInHandler has the thread stop again before the first instruction of the
// handler of the signal that it is about to get: OnSignal is then called for a
// SIGTRAP whose code is not that of an int3. Without a handler the thread executes
// one instruction before that.
func (s *Stopped) StopInHandler() { s.th.next.step = true }

// Wait has the thread stay where it stands as long as there is an interceptor: it can not run without what that has put
// into the process.
func (s *Stopped) Wait() { s.th.waits = true }

// Later has a signal that the thread was about to get, and does not get now (OnSignal
// returned false), arrive once more.
func (s *Stopped) Later(info Siginfo) error { return s.th.sendAgain(s.t.pid, resent{info: info}) }

// SigMask returns the signals that the thread blocks, signal n in bit n-1.
func (s *Stopped) SigMask() (uint64, error) {
	if s.d != nil {
		return s.d.mask, nil
	}
	return getSigmask(s.th.tid)
}

// SetSigMask sets the signals that the thread blocks.
func (s *Stopped) SetSigMask(mask uint64) error {
	if s.d != nil {
		s.d.mask = mask
		return nil
	}
	return setSigmask(s.th.tid, mask)
}

// Action says what a signal does to the program: it has a handler for it, or it
// ends of it.
func (s *Stopped) Action(sig syscall.Signal) (handled, ends bool) {
	handled, ignored := action(s.th.tid, int(sig))
	return handled, !handled && !ignored && deadly(int(sig))
}

// SetSiginfo changes what the program will see of the signal that it is about
// to get.
func (s *Stopped) SetSiginfo(info Siginfo) error {
	switch {
	case s.d != nil:
		if s.d.info.Signal == 0 {
			return errors.New("target: no signal is being delivered")
		}
		s.d.info = info
		return nil
	case s.th.lost.Signal != 0:
		s.th.lost = info
		return nil
	}
	return setSiginfo(s.th.tid, info)
}

// Step executes one instruction. Signals that arrive meanwhile are kept for
// later. A *FaultError says that the instruction faulted instead; ErrBlocked
// that it waits in the kernel for something (a page of Userfault): neither was
// it executed then. ErrInSyscall: the thread is inside a system call that the
// kernel will restart, or end with EINTR for a handler; or the instruction is
// one: Step does not make it, since what it does to the signal mask would be lost.
func (s *Stopped) Step() error {
	regs, err := getRegs(s.th.tid)
	if err != nil {
		return err
	}
	var code [2]byte
	if _, err := s.ReadMemory(code[:], regs.RIP); err == nil && entersKernel(code) || InSyscall(regs) {
		return ErrInSyscall
	}
	if err := s.departs(); err != nil {
		return err
	}
	err = s.d.run(unix.PTRACE_SINGLESTEP, stepLimit)
	if err != nil {
		return err
	}
	switch opcode(code) {
	case 0x9d, 0xcf: // popf, iret
		after, err := getRegs(s.th.tid)
		s.d.leaks = after.EFlags&flagTF == 0
		return err
	case 0x9c: // pushf
		if regs.EFlags&flagTF == 0 || s.d.leaks {
			return s.hideTrapFlag()
		}
	}
	return nil
}

// departs begins a detour that ends in a SIGTRAP, if none has begun.
func (s *Stopped) departs() (err error) {
	if s.d != nil {
		return nil
	}
	if s.d, err = s.t.depart(s.th); err != nil {
		return err
	}
	return s.d.shield()
}

// hideTrapFlag takes the trap flag of a step out of the flags that it pushed.
func (s *Stopped) hideTrapFlag() error {
	regs, err := getRegs(s.th.tid)
	if err != nil {
		return err
	}
	var b [1]byte
	if _, err := s.ReadMemory(b[:], regs.RSP+1); err != nil {
		return err
	}
	b[0] &^= flagTF >> 8
	return s.WriteMemory(b[:], regs.RSP+1)
}

// Continue lets the thread go on until it executes an int3, at full speed. What it
// says is what Step says; RIP is behind the int3 then.
func (s *Stopped) Continue() error {
	regs, err := s.Regs()
	if err != nil {
		return err
	}
	if InSyscall(regs) {
		return ErrInSyscall
	}
	if err := s.departs(); err != nil {
		return err
	}
	if s.d.leaks {
		if err := setRegs(s.th.tid, regs); err != nil {
			return err
		}
		s.d.leaks = false
	}
	return s.d.run(unix.PTRACE_CONT, stepLimit)
}

// opcode is that of an instruction of one byte, behind at most one prefix.
func opcode(code [2]byte) byte {
	if op := code[0]; op != 0x66 && op&0xf0 != 0x40 {
		return op
	}
	return code[1]
}

// entersKernel reports whether an instruction is a system call: syscall,
// sysenter, int 0x80.
func entersKernel(code [2]byte) bool {
	return code == [2]byte{0x0f, 0x05} || code == [2]byte{0x0f, 0x34} || code == [2]byte{0xcd, 0x80}
}

// Syscall has this thread make a system call; see Process.Syscall.
func (s *Stopped) Syscall(nr uint64, args ...uint64) (uint64, error) {
	if err := s.stand(); err != nil {
		return 0, err
	}
	return s.t.syscall(s.th, nr, args...)
}

// Syscalls has this thread make a few system calls one after the other, until one fails: that
// error is returned. Process.Syscalls is for many.
func (s *Stopped) Syscalls(reqs []SyscallReq) error {
	if err := s.stand(); err != nil {
		return err
	}
	return s.t.syscalls(s.th, reqs)
}

// stand ends a detour that the thread is on.
func (s *Stopped) stand() error {
	d := s.d
	if d == nil {
		return nil
	}
	s.d = nil
	return d.end()
}

// InSyscall reports whether the thread is inside a system call with these
// registers: at its resumption the kernel goes on with it.
func InSyscall(r mem.Regs) bool { return int64(r.OrigRAX) >= 0 && interrupted(r.RAX) }

// ReadMemory implements mem.Memory: the thread's, also of a forked child.
func (s *Stopped) ReadMemory(buf []byte, addr uint64) (int, error) {
	return s.memory().ReadMemory(buf, addr)
}

// WriteMemory writes to the thread's memory, read-only pages included.
func (s *Stopped) WriteMemory(b []byte, addr uint64) error {
	return s.memory().write(s.th.tid, addr, b)
}

// Maps lists what is mapped, also of a forked child.
func (s *Stopped) Maps() ([]mem.Map, error) { return readMaps(s.th.tid) }

// OwnPages is Process.OwnPages, also of a forked child.
func (s *Stopped) OwnPages(lo, hi uint64) ([]uint64, error) { return ownPages(s.th.tid, lo, hi) }

func (s *Stopped) memory() *memory { return s.th.memory(s.t) }

func (th *thread) memory(t *tracer) *memory {
	if th.own != nil {
		return th.own
	}
	return &t.memory
}

// intercept tells the interceptor of a signal; false: it is not delivered.
func (t *tracer) intercept(th *thread, signal int, info Siginfo) bool {
	if t.interceptor == nil {
		return true
	}
	th.told.is = false // the interceptor may lead it elsewhere
	s := t.borrow(th)
	deliver := t.interceptor.OnSignal(s, syscall.Signal(signal), info)
	t.giveBack(s)
	return deliver
}

// tell calls a method of the interceptor, if there is one, for a stopped thread.
func (t *tracer) tell(th *thread, f func(i Interceptor, s *Stopped)) {
	if t.interceptor == nil {
		return
	}
	s := t.borrow(th)
	f(t.interceptor, s)
	t.giveBack(s)
}

// tellFork tells of a child process.
func (t *tracer) tellFork(c *child, pid int) {
	if t.interceptor != nil {
		t.interceptor.OnFork(c.parent, pid, c.shares)
	}
}

// tellEnd tells once that a thread has ended.
func (t *tracer) tellEnd(th *thread) {
	if t.interceptor == nil || th.toldEnd {
		return
	}
	th.toldEnd = true
	t.interceptor.OnThreadEnd(th.tid)
}

// child is a process that the program has made and that has not yet been told
// of: its first stop and its parent's report come in any order.
type child struct {
	stopped bool // its first stop is there
	made    bool // the parent has reported
	parent  int
	shares  bool
}

// onChild goes on with a child of which both is known.
func (t *tracer) onChild(pid int, c *child) {
	if !c.stopped || !c.made {
		return
	}
	delete(t.children, pid)
	th := &thread{tid: pid, shared: true, stopped: true}
	own := new(memory)
	// If it can not be opened it was killed; reads and writes say so.
	_ = own.open(pid)
	th.own = own
	if c.shares {
		t.shared[pid] = th
	}
	t.tell(th, func(i Interceptor, s *Stopped) { i.OnForked(s, c.parent, c.shares) })
	if c.shares {
		t.resume(th)
		return
	}
	own.set(nil)
	// ESRCH: it was killed meanwhile.
	_ = ptrace(unix.PTRACE_DETACH, pid, 0, 0)
}

// abandonChildren lets go of children whose parent can not report any more.
func (t *tracer) abandonChildren() {
	for pid, c := range t.children {
		if !c.made {
			c.made = true
			t.tellFork(c, pid)
		}
		t.onChild(pid, c)
	}
}

// handleShared decides how a child goes on that shares the program's memory.
func (t *tracer) handleShared(th *thread) {
	signal := int(th.status.StopSignal())
	switch event := int(th.status >> 16); event {
	case 0:
		info, err := th.siginfo()
		if err != nil {
			return // killed meanwhile
		}
		th.next.signal = signal
		info, handled := th.original(info)
		if !handled && unix.Signal(signal) == unix.SIGTRAP && t.stepped(info) {
			t.onStepped(th, info)
			return
		}
		if !handled && !t.intercept(th, signal, info) {
			th.next.signal = 0
		}
	case unix.PTRACE_EVENT_STOP:
		th.next.listen = isStopSignal(signal)
	case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		if msg, err := th.eventMessage(); err == nil {
			t.onFork(th, int(msg))
		}
	case unix.PTRACE_EVENT_EXEC:
		t.tellEnd(th)
		t.dropShared(th)
		_ = ptrace(unix.PTRACE_DETACH, th.tid, 0, 0) // ESRCH: it was killed
	case unix.PTRACE_EVENT_EXIT:
		th.exiting = true
		t.tellEnd(th)
	}
}

func (t *tracer) dropShared(th *thread) {
	delete(t.shared, th.tid)
	th.own.set(nil)
}

// onFork notes a child process; maker is stopped inside the call that made it.
func (t *tracer) onFork(maker *thread, pid int) {
	c := t.children[pid]
	if c == nil {
		c = new(child)
		t.children[pid] = c
	}
	c.made, c.parent, c.shares = true, maker.tid, t.sharesMemory(maker)
	t.tellFork(c, pid)
	t.onChild(pid, c)
}

// sharesMemory reports whether the system call that a thread is in makes a
// process with the same memory (CLONE_VM).
func (t *tracer) sharesMemory(maker *thread) bool {
	regs, err := getRegs(maker.tid)
	if err != nil {
		return false
	}
	switch regs.OrigRAX {
	case unix.SYS_VFORK:
		return true
	case unix.SYS_CLONE:
		return regs.RDI&unix.CLONE_VM != 0
	case unix.SYS_CLONE3: // struct clone_args begins with the flags
		flags, err := mem.ReadUint64(&t.memory, regs.RDI)
		return err == nil && flags&unix.CLONE_VM != 0
	}
	return false
}

// open opens the memory of a process, to write as well if that is permitted.
func (m *memory) open(pid int) error {
	name := fmt.Sprintf("/proc/%d/mem", pid)
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		file, err = os.Open(name)
	}
	m.set(file)
	if err != nil {
		return fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return nil
}
