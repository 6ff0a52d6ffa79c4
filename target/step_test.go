package target

import (
	"context"
	"debug/elf"
	"errors"
	"syscall"
	"testing"

	"mgtrace/target/mem"
)

// counter is a Stepper that looks where a process is.
type counter struct {
	at      map[uint64]int // how often an instruction was executed
	before  map[int]uint64 // by thread: the instruction that it stands before
	handled int
	signals map[syscall.Signal]int
	threads int
	ended   int
}

func (c *counter) OnStep(th *Stopped, r *mem.Regs) Ahead {
	if pc, ok := c.before[th.TID()]; ok {
		c.at[pc]++
	}
	c.before[th.TID()] = r.RIP
	var code [2]byte
	_, err := th.ReadMemory(code[:], r.RIP)
	return Ahead{Enters: err == nil && entersKernel(code), Next: c.at[r.RIP]&1 == 1, CPUID: isCPUID(code)}
}

func (c *counter) OnHandler(th *Stopped, _ *mem.Regs) {
	delete(c.before, th.TID())
	c.handled++
}

func (c *counter) OnSignal(th *Stopped, sig syscall.Signal, _ Siginfo) bool {
	delete(c.before, th.TID()) // not executed, but for a call that was interrupted
	c.signals[sig]++
	return true
}
func (c *counter) OnThread(*Stopped, int)       { c.threads++ }
func (c *counter) OnFork(int, int, bool)        {}
func (c *counter) OnForked(*Stopped, int, bool) {}
func (c *counter) OnThreadEnd(tid int)          { c.ended++; delete(c.before, tid) }
func (c *counter) OnExec(*Stopped)              {}
func (c *counter) OnInterrupted(*Stopped)       {}

// TestStep executes a program step by step: every instruction once, calls that wait while
// other threads run, handlers, and the tracer's own stops in between.
func TestStep(t *testing.T) {
	bin := build(t, "steps", "-static", "-no-pie")
	ctx, cancel := context.WithTimeout(t.Context(), patienceOfTests)
	defer cancel()
	p, err := Launch(ctx, Command{Path: bin})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := &counter{at: map[uint64]int{}, before: map[int]uint64{}, signals: map[syscall.Signal]int{}}
	if err := errors.Join(p.SetInterceptor(c), p.SetStepper(c)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // holds the process now and then: no instruction may get lost, or be told twice
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			if p.Interrupt() != nil || p.Resume() != nil {
				return
			}
		}
	}()
	status, err := p.Run(ctx, Handlers{})
	close(done)
	if err != nil {
		t.Fatal(err)
	}
	if status.String() != "exit status 7" {
		t.Errorf("it ended with %v", status)
	}
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		for name, want := range map[string]int{"tick": 123, "main": 1, "_start": 1, "work": 3, "mend": 1, "behind": 256} {
			if s.Name == name && c.at[s.Value] != want {
				t.Errorf("%s was entered %d times instead of %d", name, c.at[s.Value], want)
			}
		}
	}
	if c.handled != 3 || c.signals[syscall.SIGUSR1] != 2 || c.signals[syscall.SIGSEGV] != 1 {
		t.Errorf("%d handlers, signals %v", c.handled, c.signals)
	}
	if c.threads != 3 || c.ended != 4 {
		t.Errorf("%d threads began, %d ended", c.threads, c.ended)
	}
}
