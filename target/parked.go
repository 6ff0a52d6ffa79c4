package target

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// TellParked tells the interceptor, while the process is held, of what it would
// be told when the process goes on: threads and children that were made, faults, and
// that the program was replaced. It is for one who takes out of the process what these depend on.
// Threads that can not be stopped (the parent in a vfork) have nothing to tell.
func (p *Process) TellParked() error {
	var err error
	if e := p.do(func() { err = p.t.tellParked() }); e != nil {
		return e
	}
	return err
}

// offspringLimit is how long a child's first stop may take.
const offspringLimit = 5 * time.Second

func (t *tracer) tellParked() error {
	faults := make(map[*thread]bool) // of those it was told already
	for end := time.Now().Add(offspringLimit); ; {
		if err := t.stopAll(); err != nil {
			return err
		}
		t.tellReplaced()
		told := false
		for _, th := range t.all() {
			if th.stopped && th.parked && !th.unborn {
				told = t.tellStop(th, faults) || told
			}
		}
		if !told && len(t.children) == 0 || time.Now().After(end) {
			return nil
		}
		if !told {
			// The deadline says when to give up: such a child was killed.
			_ = t.pump(context.Background(), stopGrace, func() bool { return len(t.children) == 0 })
		}
	}
}

// tellStop tells of one parked stop, and says whether there was anything to tell.
func (t *tracer) tellStop(th *thread, faults map[*thread]bool) (told bool) {
	if th.fresh {
		th.fresh, told = false, true
		t.tell(th, func(i Interceptor, s *Stopped) { i.OnThread(s, th.from) })
		if !th.stopped {
			return told // killed in there
		}
	}
	switch int(th.status >> 16) {
	case 0:
		if !faults[th] {
			faults[th] = true
			told = t.tellFault(th) || told
		}
		return told
	case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		return t.tellMade(th) || told
	}
	return told
}

// tellReplaced tells of a parked replacement of the program by another, if there is one: of the threads there are only one is left.
func (t *tracer) tellReplaced() {
	for _, th := range t.sorted() {
		if th.stopped && th.parked && int(th.status>>16) == unix.PTRACE_EVENT_EXEC {
			th.parked = false
			t.replaced(th)
			return
		}
	}
}

// tellFault tells of a fault. One that the program need not know of is gone then.
func (t *tracer) tellFault(th *thread) bool {
	signal := int(th.status.StopSignal())
	if !isFault(signal) {
		return false
	}
	info, err := th.siginfo()
	if err != nil {
		return false // killed meanwhile
	}
	info, handled := th.original(info)
	if handled || t.intercept(th, signal, info) {
		return false
	}
	th.parked, th.next = false, resumption{}
	return true
}

// tellMade tells of the thread or child that a thread has made.
func (t *tracer) tellMade(th *thread) bool {
	msg, err := th.eventMessage()
	if err != nil {
		return false // killed meanwhile
	}
	th.parked = false
	switch child := int(msg); {
	case th.shared:
		t.onFork(th, child)
	case t.early[child] || t.children[child] == nil && t.ours(child):
		t.onClone(th)
	case t.interceptor != nil:
		t.onFork(th, child)
	}
	return true
}

// EndSharing lets the processes that share the program's memory until they
// execute another (vfork, posix_spawn) go on until none does, while the program
// itself stays held: the threads that made them wait for that in the kernel, and
// can be stopped only then. An error says that some took longer than limit.
func (p *Process) EndSharing(limit time.Duration) error {
	var err error
	if e := p.do(func() { err = p.t.endSharing(limit) }); e != nil {
		return e
	}
	return err
}

func (t *tracer) endSharing(limit time.Duration) error {
	if len(t.shared) == 0 {
		return nil
	}
	t.draining = true
	for _, th := range t.all() {
		switch {
		case !th.shared && th.stopped && !th.parked && int(th.status>>16) == unix.PTRACE_EVENT_VFORK:
			// In the middle of the call: it stops again where that is over.
			if err := t.resumeTID(th.tid, resumption{}); err == nil {
				th.stopped = false
				_ = unix.PtraceInterrupt(th.tid) // ESRCH: killed meanwhile
			}
		case !th.shared:
		case th.parked:
			th.parked = false
			t.process(th)
		default:
			t.resume(th)
		}
	}
	err := t.pump(context.Background(), limit, func() bool { return len(t.shared) == 0 })
	t.draining = false
	return errors.Join(err, t.stopAll())
}
