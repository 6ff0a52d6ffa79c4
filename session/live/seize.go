package live

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/probe"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/target"
	"mgtrace/trace"
)

// Seize becomes the tracer of a process, notes what it has, plans, and attaches
// an engine. The process is stopped when it returns.
func Seize(ctx context.Context, pid int, o Options) (l *Program, err error) {
	l = &Program{o: o}
	l.faults.Program = &l.Prog
	if _, err := enginesFor(&o.Capture); err != nil {
		return nil, err
	}
	if e := o.Capture.Engine; e == trace.EngineStep || e == trace.EngineTranslate {
		return nil, fmt.Errorf("--engine %s needs a program that mgtrace starts: attach with another engine", e)
	}
	notes, denote, err := noteDetours(o.Capture.Undo)
	if err != nil {
		return nil, err
	}
	if l.proc, err = target.AttachNoted(ctx, pid, notes); err != nil {
		denote()
		return nil, err
	}
	l.denote = denote
	held := time.Now()
	started := l // a return of an error sets l to nil
	defer func() {
		if err == nil {
			return
		}
		if left := started.close(); left != nil && !errors.Is(left, target.ErrExited) {
			err = fmt.Errorf("%w; what was put into process %d could not all be taken out: %w", err, pid, left)
		}
	}()
	if err := refuseGo(pid); err != nil {
		return nil, err
	}
	if err := l.load(); err != nil {
		return nil, err
	}
	l.Prog.Args = arguments(pid)
	if l.before, err = l.find(); err != nil {
		return nil, err
	}
	if ctx.Err() == nil { // else the next thing is to let it go
		err = l.capture()
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("process %d was let go before recording began: %w", pid, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	l.unlisted()
	b := l.Prog.Before
	l.Prog.Notes = append(l.Prog.Notes, fmt.Sprintf("recording began when the program was running already: %s (%s bytes) were there before, made by operations that nobody saw",
		report.Plural(b.Blocks, "block", "blocks"), report.Thousands(b.Bytes)))
	if err := l.limit(); err != nil {
		return nil, err
	}
	l.o.Capture.log("attached to process %d, which was held for %s", pid, time.Since(held).Round(time.Millisecond))
	return l, nil
}

// arguments are those that a process was started with.
func arguments(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil // it has overwritten them, or is ending
	}
	args := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	return args[1:]
}

// refuseGo refuses what the Go compiler made: no allocator is called there, and
// stacks move.
func refuseGo(pid int) error {
	f, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil // others say what is wrong with it
	}
	defer f.Close()
	s := f.Section(".note.go.buildid")
	if s == nil {
		return nil
	}
	if b, err := s.Data(); err != nil || !bytes.Contains(b, []byte("Go\x00")) {
		return nil
	}
	return fmt.Errorf("process %d is a Go program: its memory is that of a garbage collector, whose allocations are not calls that could be seen; mgtrace is for C and C++", pid)
}

// leave lets the process go on as it was. It is held, and what it did is brought
// in first. done is closed when the engine's Run has returned.
func (l *Program) leave(h target.Hold, done <-chan struct{}) error {
	var i interrupted
	if errors.As(h.Err, &i) {
		h = i.Hold // the same signal, which came the other way
	}
	l.left = h.String()
	l.stopped()
	if err := l.eng.Detach(); err != nil {
		return fmt.Errorf("take the engine out of process %d: %w", l.proc.PID(), err)
	}
	<-done
	return l.eng.Close()
}

// unlisted says why there may be blocks that are not known, if there may be.
func (l *Program) unlisted() {
	b := l.Prog.Before
	for i := range l.plan.Funcs {
		f := &l.plan.Funcs[i]
		im := l.plan.Images[f.Entry.Image].Path
		switch {
		case f.Declared && f.Role != probe.RoleFree:
			b.Unknown = fmt.Sprintf("the blocks that %s gave out before can not be listed", f.Name)
		case f.Name == "malloc" && !symbol.IsLibC(im) && im != l.Prog.Path:
			b.Unknown = fmt.Sprintf("malloc is that of %s, whose blocks can not be listed", im)
		}
	}
	if b.Unknown != "" {
		l.warn("%s: writes to those are not told from others, and no write is judged by what lies beside a block", b.Unknown)
	}
}

// blocksBefore gives the blocks that were there to everybody who wants them: all
// of them first, then their bytes, so that pointers lead to what is there.
func (l *Program) blocksBefore() error {
	if l.before == nil {
		return nil
	}
	for _, b := range l.before.blocks {
		ev := trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagBefore, Addr: trace.Addr(b.Addr), Size: b.Size, Name: "malloc"}
		if err := (*intake)(l).Event(&ev); err != nil {
			return err
		}
	}
	if err := l.bytesBefore(); err != nil {
		return err
	}
	for _, c := range l.plan.Open {
		ev := trace.Event{Kind: trace.KindCall, Flags: trace.FlagBefore, Thread: c.Thread, PC: trace.Addr(c.Ret), SP: trace.Addr(c.SP), Aux: uint64(l.plan.Funcs[c.Func].ID)}
		if c.Point != 0 {
			ev.Kind, ev.Flags, ev.Aux = trace.KindLine, trace.FlagBefore|trace.FlagInline, uint64(c.Point)
		}
		if err := (*intake)(l).Event(&ev); err != nil {
			return err
		}
	}
	return nil
}

// imageChunk is how many bytes of a block one event holds, and of the heap one
// read brings.
const imageChunk = 1 << 20

func (l *Program) bytesBefore() error {
	buf := make([]byte, imageChunk)
	var lo, n uint64 // what buf holds
	for _, b := range l.before.blocks {
		for at := b.Addr; at < b.Addr+b.Size; {
			if at < lo || at >= lo+n {
				k, _ := l.proc.ReadMemory(buf, at) // k tells
				lo, n = at, uint64(k)
				if n == 0 {
					break // not readable: its bytes stay unknown
				}
			}
			data := buf[at-lo : min(n, b.Addr+b.Size-lo)]
			ev := trace.Event{Kind: trace.KindImage, Addr: trace.Addr(at), Size: uint64(len(data)), Data: data}
			if err := (*intake)(l).Event(&ev); err != nil {
				return err
			}
			at += uint64(len(data))
		}
	}
	return nil
}

// interrupted is the end of a context by a signal.
type interrupted struct{ target.Hold }

func (i interrupted) Error() string { return i.String() }

// Interruptible gives a context that the signals end which ask mgtrace to end:
// one that ended mgtrace itself would leave a process patched in part. done gives
// them back their effect.
func Interruptible(parent context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := target.Asked()
	go func() {
		select {
		case s := <-signals:
			h := target.Hold{Reason: target.HoldTerminate, Signal: s.(syscall.Signal)}
			if s == unix.SIGINT {
				h.Reason = target.HoldInterrupt
			}
			cancel(interrupted{h})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}
