package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// Process is a program that was launched, or attached to. It is stopped until Run or Resume.
// Its methods may be called from any goroutine.
type Process struct{ t *tracer }

// do runs f on the tracer's thread.
func (p *Process) do(f func()) error {
	if unix.Gettid() == p.t.thread {
		f() // an interceptor's call; the tracer's goroutine has its thread to itself
		return nil
	}
	done := make(chan struct{})
	if err := p.post(func() { defer close(done); f(); p.t.giveAllBack() }); err != nil {
		return err
	}
	<-done
	return nil
}

// post has f run on the tracer's thread, and does not wait for it.
func (p *Process) post(f func()) error {
	if unix.Gettid() == p.t.thread {
		f()
		return nil
	}
	select {
	case p.t.commands <- f:
		return nil
	case <-p.t.closed:
		return ErrExited
	}
}

// PID is the process's id: of the program that was followed, if one was.
func (p *Process) PID() int { return p.t.pid }

// Exe is the path of the program.
func (p *Process) Exe() (string, error) {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.t.pid))
	if err != nil {
		return "", fmt.Errorf("program of process %d: %w", p.t.pid, err)
	}
	return strings.TrimSuffix(exe, " (deleted)"), nil // what is mapped says that: mem.Map
}

// Run lets the program run until it has ended and everything that Launch
// started with it. ctx ends it before that (Handlers.OnHold), and so does
// SIGTERM or SIGHUP to this process, or an insistent Ctrl-C. The status is that
// of the program.
func (p *Process) Run(ctx context.Context, h Handlers) (ExitStatus, error) {
	var r *run
	var err error
	if e := p.do(func() { r, err = p.t.begin(ctx, h) }); e != nil {
		return ExitStatus{}, e
	}
	if err != nil {
		return ExitStatus{}, err
	}
	// Callbacks come to this goroutine while it goes on.
	if err := p.post(p.t.unhold); err != nil {
		return ExitStatus{}, err
	}
	for {
		select {
		case callback := <-p.t.callbacks:
			callback()
		case err := <-r.ended:
			if err != nil {
				return ExitStatus{}, err
			}
			status, _ := p.Status()
			return status, nil
		}
	}
}

// Status is how the process ended; false while it lives, and for ever when it
// was let go.
func (p *Process) Status() (status ExitStatus, ended bool) {
	get := func() {
		if p.t.status != nil && !p.t.detached {
			status, ended = *p.t.status, true
		}
	}
	if p.do(get) != nil {
		get() // closed: nobody else touches it any more
	}
	return status, ended
}

// Interrupt stops all threads, so that memory does not change, until Resume.
// With ErrBusy one of them could not be stopped.
func (p *Process) Interrupt() error {
	var err error
	return errors.Join(p.do(func() { err = p.t.hold() }), err)
}

// Resume lets the threads go on after Interrupt.
func (p *Process) Resume() error { return p.do(p.t.unhold) }

// Kill ends the process with SIGKILL; Run returns when it is dead.
func (p *Process) Kill() error { return p.do(p.t.kill) }

// Close kills the process, and the one that Launch started, if they live, and
// waits for their end. Nothing is left of them. One that was attached to is let
// go and lives on.
func (p *Process) Close() error {
	err := p.do(func() {
		switch {
		case p.t.attached:
			p.t.detach()
		case p.t.status == nil || p.t.rootStatus == nil:
			p.t.killAll()
		}
		if p.t.run != nil {
			p.t.run.finish(ErrExited)
		}
		p.t.close()
	})
	if errors.Is(err, ErrExited) {
		return nil // closed before
	}
	return err
}

// close ends the tracer.
func (t *tracer) close() {
	signal.Stop(t.sigchld)
	t.memory.set(nil)
	t.terminal.close()
	close(t.closed)
}

// Threads lists the ids of the threads, in ascending order.
func (p *Process) Threads() ([]int, error) {
	var tids []int
	err := p.do(func() {
		for _, th := range p.t.sorted() {
			tids = append(tids, th.tid)
		}
	})
	return tids, err
}

// Regs returns the registers of a stopped thread.
func (p *Process) Regs(tid int) (regs mem.Regs, err error) {
	e := p.do(func() {
		switch th := p.t.threads[tid]; {
		case th == nil:
			err = fmt.Errorf("%w: %d", ErrNoThread, tid)
		case !th.stopped:
			err = fmt.Errorf("%w: %d", ErrRunning, tid)
		default:
			regs, err = getRegs(tid)
		}
	})
	return regs, errors.Join(e, err)
}

// SetRegs sets the registers of a stopped thread.
func (p *Process) SetRegs(tid int, regs mem.Regs) (err error) {
	e := p.do(func() {
		switch th := p.t.threads[tid]; {
		case th == nil:
			err = fmt.Errorf("%w: %d", ErrNoThread, tid)
		case !th.stopped:
			err = fmt.Errorf("%w: %d", ErrRunning, tid)
		default:
			err = setRegs(tid, regs)
		}
	})
	return errors.Join(e, err)
}

// ReadMemory implements mem.Memory. It reads a running process, too; only
// where all threads are stopped do two reads see the same time.
func (p *Process) ReadMemory(buf []byte, addr uint64) (int, error) {
	return p.t.memory.ReadMemory(buf, addr)
}

// Maps lists what is mapped, in the order of addresses.
func (p *Process) Maps() ([]mem.Map, error) {
	b, err := p.proc("maps")
	if err != nil {
		return nil, err
	}
	return mem.ParseMaps(bytes.NewReader(b))
}

// Auxv returns the auxiliary vector.
func (p *Process) Auxv() (mem.Auxv, error) {
	b, err := p.proc("auxv")
	return mem.ParseAuxv(b), err
}

// proc reads a file of /proc that tells of the address space. The first thread may have
// ended before others: then the file is that of one that has not. The tracer is not
// asked, who may be waiting for the one who reads.
func (p *Process) proc(name string) ([]byte, error) {
	select {
	case <-p.t.closed:
		return nil, ErrExited
	default:
	}
	dir := fmt.Sprintf("/proc/%d/", p.t.pid)
	b, err := os.ReadFile(dir + name)
	if err == nil && len(b) > 0 {
		return b, nil
	}
	threads, _ := os.ReadDir(dir + "task") // none: it has ended
	for _, th := range threads {
		if b, err := os.ReadFile(dir + "task/" + th.Name() + "/" + name); err == nil && len(b) > 0 {
			return b, nil
		}
	}
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		err = ErrExited
	}
	return nil, fmt.Errorf("%s of process %d: %w", name, p.t.pid, err)
}

// live is a thread that still has the address space, the first if it may be.
func (t *tracer) live() int {
	if th := t.threads[t.pid]; th != nil && (!th.exiting || th.stopped) {
		return t.pid
	}
	for _, th := range t.sorted() {
		if !th.exiting || th.stopped {
			return th.tid
		}
	}
	return t.pid
}
