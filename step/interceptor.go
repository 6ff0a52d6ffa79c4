package step

import (
	gosyscall "syscall"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/flow"
	"mgtrace/target"
	"mgtrace/trace"
)

// interceptor is the engine as the tracer's goroutine tells it of single threads.
type interceptor Engine

// OnSignal implements target.Interceptor.
func (i *interceptor) OnSignal(th *target.Stopped, sig gosyscall.Signal, info target.Siginfo) (deliver bool) {
	e := (*Engine)(i)
	if e.over {
		return true
	}
	regs, err := th.Regs()
	if err != nil {
		return true // killed meanwhile
	}
	t := e.thread(th.TID())
	t.signal = int(sig)
	if t.pending {
		switch in := t.inst(); {
		case regs.RIP == t.before.RIP:
			e.cancel(t, &regs)
		case in != nil && in.kind == syscall && target.InSyscall(regs):
			// It depends on whether there is a handler.
		default:
			e.executed(th, t, &regs)
		}
	}
	handled, ends := th.Action(sig)
	if h, told := capture.SignalHit(int(sig), info.Code, info.Addr, handled, ends); told {
		h.Thread = t.id
		observe.Interrupted(&h, &regs, th)
		e.tell(h)
	}
	if ends {
		rec := flow.Record{Kind: flow.Signal, Thread: t.id, Number: uint64(sig), PC: trace.Addr(regs.RIP)}
		if sig == gosyscall.SIGFPE && info.Code > 0 {
			rec.Mem = flow.Ranges(observe.Reads(th, &regs))
		}
		e.fail(e.flow.other(&rec))
	}
	return true
}

// OnThread implements target.Interceptor.
func (i *interceptor) OnThread(th *target.Stopped, from int) {
	(*Engine)(i).begin(th, from)
}

// begin takes in a new thread, or a process that shares the memory.
func (e *Engine) begin(th *target.Stopped, from int) {
	regs, err := th.Regs()
	if e.over || err != nil {
		return
	}
	t := e.thread(th.TID())
	e.Observer.Thread(t.id, e.proc.NewStack(th, &regs))
	e.tell(capture.Hit{Op: capture.Thread, Thread: t.id})
	e.fail(e.flow.begin(t.id, from))
}

// OnFork implements target.Interceptor.
func (i *interceptor) OnFork(parent, child int, shares bool) {
	if e := (*Engine)(i); !e.over {
		e.tell(capture.Hit{Op: capture.Fork, Thread: trace.ThreadID(parent), Index: child, Flags: capture.Sharing(shares)})
	}
}

// OnForked implements target.Interceptor. A child with memory of its own runs on as if
// there were no mgtrace.
func (i *interceptor) OnForked(child *target.Stopped, parent int, shares bool) {
	if shares {
		(*Engine)(i).begin(child, parent)
	}
}

// OnThreadEnd implements target.Interceptor.
func (i *interceptor) OnThreadEnd(tid int) {
	e := (*Engine)(i)
	t := e.threads[tid]
	if t == nil || e.over {
		return
	}
	if t.pending {
		if in := t.inst(); in != nil && in.kind == syscall && endsThread(t.before.RAX) {
			e.flow.executed(t.id, t.piece, t.index, nil)
			e.fail(e.flow.other(&flow.Record{Kind: flow.Define, Cause: flow.BySyscall, Thread: t.id, Number: t.before.RAX}))
		}
		t.pending = false
	}
	delete(e.threads, tid)
	e.tell(capture.Hit{Op: capture.ThreadExit, Thread: t.id})
	e.Observer.Ended(t.id)
	e.fail(e.flow.other(&flow.Record{Kind: flow.End, Thread: t.id}))
}

// OnExec implements target.Interceptor: the history ends here.
func (i *interceptor) OnExec(th *target.Stopped) {
	e := (*Engine)(i)
	if e.over {
		return
	}
	t := e.thread(th.TID())
	if t.pending {
		e.flow.executed(t.id, t.piece, t.index, t.mems)
	}
	e.tell(capture.Hit{Op: capture.Exec, Thread: t.id})
	e.fail(e.flow.gap(0, "the program replaced itself"))
	e.flow.settle()
	e.stop()
	e.Finish(e.flow.err)
}

// OnInterrupted implements target.Interceptor: nobody pokes.
func (*interceptor) OnInterrupted(*target.Stopped) {}
