package live

import (
	"context"
	"errors"
	"syscall"

	"mgtrace/bpf"
	"mgtrace/capture"
	"mgtrace/target"
	"mgtrace/target/undo"
)

// kernelProbes are the engine of package bpf, to which stores are events as all
// others.
type kernelProbes struct {
	*bpf.Engine
	detached context.Context
	detach   context.CancelFunc
	undo     *undo.Writer
	heldBack uint64 // entry in undo
}

// attachKernel puts the kernel's probes in, which go with this process. The program may
// be held back then, and that is noted.
func (l *Program) attachKernel(o bpf.Options) (engine, error) {
	k := &kernelProbes{undo: l.o.Capture.Undo}
	var err error
	if k.heldBack, err = noteHeldBack(k.undo, l.proc.PID()); err != nil {
		return nil, err
	}
	if k.Engine, err = bpf.Attach(l.plan, l.proc.PID(), o); err != nil {
		return nil, errors.Join(err, k.undo.Drop(k.heldBack))
	}
	l.warnings = k.Warnings
	k.detached, k.detach = context.WithCancel(context.Background())
	if l.before == nil { // of a process that outlives us no child is traced longer than it takes to let it go
		if err := l.proc.SetInterceptor(&disowner{k.Engine, l.o.Capture.log}); err != nil {
			return nil, errors.Join(err, k.Close())
		}
	}
	return k, nil
}

// stripped ends the history: the kernel has taken probes out.
func (l *Program) stripped() {
	l.Cease("its first thread has ended, and so the kernel took probes out of it when another program's recording ended; --engine inline records such a program")
}

func (k *kernelProbes) Run(ctx context.Context, sink capture.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(k.detached, cancel)()
	err := k.Engine.Run(ctx, sink.Event)
	if k.detached.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	if err == nil { // the process has ended, or executes another program, which would meet the probes of what it shares with this one
		err = k.Engine.Close()
	}
	return err
}

// Detach ends Run; the probes go when the engine is closed.
func (k *kernelProbes) Detach() error {
	k.detach()
	return nil
}

// Close removes the probes.
func (k *kernelProbes) Close() error {
	return errors.Join(k.Engine.Close(), k.undo.Drop(k.heldBack))
}

// Ended does nothing: the kernel tells how the process ends.
func (*kernelProbes) Ended(uint64) {}

// disowner takes the kernel's breakpoints out of forked children: nothing else is intercepted.
type disowner struct {
	engine *bpf.Engine
	log    func(format string, a ...any)
}

// OnForked implements target.Interceptor.
func (d *disowner) OnForked(child *target.Stopped, _ int, shares bool) {
	if shares {
		return // they are the program's own
	}
	if err := d.engine.Disown(child); err != nil {
		d.log("it meets the program's breakpoints: %v", err)
	}
}

// OnSignal implements target.Interceptor.
func (*disowner) OnSignal(*target.Stopped, syscall.Signal, target.Siginfo) (deliver bool) {
	return true
}

// OnThread implements target.Interceptor.
func (*disowner) OnThread(*target.Stopped, int) {}

// OnFork implements target.Interceptor.
func (*disowner) OnFork(int, int, bool) {}

// OnThreadEnd implements target.Interceptor.
func (*disowner) OnThreadEnd(int) {}

// OnExec implements target.Interceptor.
func (*disowner) OnExec(*target.Stopped) {}

// OnInterrupted implements target.Interceptor.
func (*disowner) OnInterrupted(*target.Stopped) {}
