package target

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

// meddler is an interceptor that steps every thread that it sees and counts.
type meddler struct {
	t                           *testing.T
	steps                       int
	signals, stepped, inSyscall int
	threads, ends               map[int]int
	forked, sharing, execs      int
	interrupted                 int
	orphans                     int
	onSignal                    func(th *Stopped, sig syscall.Signal, info Siginfo) bool
	onInterrupted               func(th *Stopped)
	onForked                    func(child *Stopped, parent int, shares bool)
}

func newMeddler(t *testing.T) *meddler {
	return &meddler{t: t, threads: make(map[int]int), ends: make(map[int]int)}
}

func (m *meddler) step(th *Stopped) {
	for range m.steps {
		err := th.Step()
		var fault *FaultError
		switch {
		case err == nil:
			m.stepped++
		case errors.Is(err, ErrInSyscall):
			m.inSyscall++
			return
		case errors.As(err, &fault), errors.Is(err, ErrExited):
			return
		default:
			m.t.Errorf("step: %v", err)
			return
		}
	}
}

func (m *meddler) OnSignal(th *Stopped, sig syscall.Signal, info Siginfo) bool {
	m.signals++
	if m.onSignal != nil {
		return m.onSignal(th, sig, info)
	}
	m.step(th)
	return true
}

func (m *meddler) OnThread(th *Stopped, from int) {
	m.threads[th.TID()]++
	if from == 0 {
		m.orphans++
	}
	regs, err := th.Regs()
	if err == nil {
		if s := th.th.given; from != 0 && regs.OrigRAX == unix.SYS_CLONE3 && (regs.RSP < s[0] || s[1] < regs.RSP || s[1]-regs.RSP > 256) {
			m.t.Errorf("thread %d begins at %#x, on the stack %#x that it was given", th.TID(), regs.RSP, s)
		}
		regs.GSBase = 0x1000 * uint64(th.TID())
		err = th.SetRegs(regs)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) { // killed meanwhile
		m.t.Error(err)
	}
	m.step(th)
}

func (m *meddler) OnFork(int, int, bool) {}

func (m *meddler) OnForked(child *Stopped, parent int, shares bool) {
	m.forked++
	if shares {
		m.sharing++
	}
	if parent == 0 {
		m.orphans++
	}
	if m.onForked != nil {
		m.onForked(child, parent, shares)
	}
}

func (m *meddler) OnThreadEnd(tid int) { m.ends[tid]++ }
func (m *meddler) OnExec(*Stopped)     { m.execs++ }
func (m *meddler) OnInterrupted(th *Stopped) {
	m.interrupted++
	if m.onInterrupted != nil {
		m.onInterrupted(th)
	}
}

func intercepted(t *testing.T, m *meddler, name string, args ...string) *session {
	t.Helper()
	s := launch(t, Command{Path: build(t, name), Args: args})
	if err := s.p.SetInterceptor(m); err != nil {
		t.Fatal(err)
	}
	return s
}

// Signals keep their values and order, and SIGTRAP its disposition, while every
// stop is stepped on from.
func TestInterceptSignals(t *testing.T) {
	for args, want := range map[string]string{
		"values 200":          "values 200\nbad 0 blocked 0 ignored 0 handler 0",
		"values-blocked 200":  "values 200\nbad 0 blocked 1 ignored 0 handler 0",
		"values-ignored 200":  "values 200\nbad 0 blocked 0 ignored 1 handler 0",
		"values-handler 200":  "values 200\nbad 0 blocked 0 ignored 0 handler 1",
		"faults 200":          "faults 200\nbad 0 blocked 0 ignored 0 handler 0",
		"faults-ignored 50":   "faults 50\nbad 0 blocked 0 ignored 1 handler 0",
		"handler-blocked 200": "bad 0 blocked 1 ignored 0 handler 1",
	} {
		t.Run(args, func(t *testing.T) {
			m := newMeddler(t)
			if !strings.HasPrefix(args, "faults") { // the faulting instruction would fault again
				m.steps = 5
			} else {
				m.onSignal = func(th *Stopped, sig syscall.Signal, info Siginfo) bool {
					var fault *FaultError
					if err := th.Step(); !errors.As(err, &fault) || fault.Info != info {
						t.Errorf("step of a faulting instruction: %v", err)
					}
					return true
				}
			}
			s := intercepted(t, m, "signals", strings.Fields(args)...)
			if got := s.run(t.Context(), Handlers{}).String(); got != "exit status 0" {
				t.Errorf("status %s", got)
			}
			if got := s.output(); got != want {
				t.Errorf("output %q, want %q", got, want)
			}
			if m.signals == 0 && !strings.HasPrefix(args, "handler") {
				t.Error("no signal was intercepted")
			}
			t.Logf("%d signals, %d steps, %d inside system calls", m.signals, m.stepped, m.inSyscall)
		})
	}
}

// All threads and children are told once, with who made them, and end once.
func TestInterceptThreads(t *testing.T) {
	const rounds = 25
	m := newMeddler(t)
	m.steps = 3
	m.onForked = func(child *Stopped, parent int, shares bool) {
		if m.threads[parent] != 1 || shares {
			t.Errorf("fork by %d, which is not a new thread; shares %v", parent, shares)
		}
		var b [1]byte
		regs, err := child.Regs()
		if err == nil {
			_, err = child.ReadMemory(b[:], regs.RSP)
		}
		if err == nil {
			err = child.WriteMemory(b[:], regs.RSP)
		}
		if err != nil {
			t.Error(err)
		}
	}
	s := intercepted(t, m, "signals", "threads", fmt.Sprint(rounds))
	s.run(t.Context(), Handlers{})
	if got := s.output(); got != "bad 0 blocked 0 ignored 0 handler 0" {
		t.Errorf("output %q", got)
	}
	if m.forked != 4*rounds || m.sharing != 0 || m.orphans != 0 {
		t.Errorf("%d forks, %d sharing, %d with unknown parent", m.forked, m.sharing, m.orphans)
	}
	total, ends := 0, 0
	for _, n := range m.threads {
		total += n
	}
	for _, n := range m.ends {
		ends += n
	}
	if total != 4*rounds || ends != 4*rounds+1 {
		t.Errorf("%d threads begun, %d ended", total, ends)
	}
}

// A program that is killed while it makes threads ends, whichever of a thread's end
// and the report of who made it were seen: of the latter SIGKILL may leave none.
func TestInterceptKilled(t *testing.T) {
	for i := range 40 {
		p, err := Launch(t.Context(), Command{Path: build(t, "signals"), Args: []string{"threads", "1000000"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetInterceptor(newMeddler(t)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(1+i)*time.Millisecond, func() {
			if i%2 == 0 {
				cancel()
			} else {
				unix.Kill(p.PID(), unix.SIGKILL)
			}
		})
		stuck := time.AfterFunc(patienceOfTests, func() {
			t.Errorf("killed after %d ms the program has not ended", 1+i)
			p.Close()
		})
		status, err := p.Run(ctx, Handlers{})
		stuck.Stop()
		cancel()
		if err != nil || status.Signal != unix.SIGKILL {
			t.Fatalf("status %v, %v", status, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Of a program that is held, each thread that is given can be stepped, while others
// begin and end.
func TestHeldThreads(t *testing.T) {
	m := newMeddler(t)
	s := intercepted(t, m, "signals", "threads", "1000000")
	done := make(chan ExitStatus, 1)
	go func() { done <- s.run(t.Context(), Handlers{}) }()
	stepped := 0
	for range 400 {
		release, err := s.p.Hold()
		if err != nil {
			t.Fatal(err)
		}
		tids, err := s.p.Threads()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.p.Do(func() {
			for _, tid := range tids {
				th, err := s.p.Thread(tid)
				if err != nil {
					continue
				}
				if err := th.Step(); err == nil {
					stepped++
				} else if !errors.Is(err, ErrInSyscall) {
					t.Errorf("step: %v", err)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	if stepped == 0 {
		t.Error("no thread was stepped")
	}
	if err := s.p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-done
}

// Children that share the memory are told, and let go at their exec or end.
func TestInterceptSpawn(t *testing.T) {
	const rounds = 20
	m := newMeddler(t)
	var open []int
	m.onForked = func(child *Stopped, parent int, shares bool) { open = append(open, child.TID()) }
	s := intercepted(t, m, "signals", "spawn", fmt.Sprint(rounds))
	s.run(t.Context(), Handlers{})
	if got := s.output(); got != "bad 0 blocked 0 ignored 0 handler 0" {
		t.Errorf("output %q", got)
	}
	if m.forked != 2*rounds || m.sharing != 2*rounds || m.orphans != 0 {
		t.Errorf("%d forks, %d sharing, %d with unknown parent", m.forked, m.sharing, m.orphans)
	}
	for _, pid := range open {
		if m.ends[pid] != 1 {
			t.Errorf("child %d has ended %d times", pid, m.ends[pid])
		}
	}
}

func TestInterceptExec(t *testing.T) {
	m := newMeddler(t)
	s := intercepted(t, m, "behave", "thread", "exec")
	if st := s.run(t.Context(), Handlers{}); st.Code != 0 || s.output() != "from a thread" {
		t.Errorf("status %v, output %q", st, s.output())
	}
	if m.execs != 1 || len(m.threads) != 1 {
		t.Errorf("%d execs, threads %v", m.execs, m.threads)
	}
}

// A signal that is not delivered does not kill; one whose registers are changed
// crashes with the changed ones.
func TestInterceptCrash(t *testing.T) {
	m := newMeddler(t)
	m.onSignal = func(th *Stopped, sig syscall.Signal, info Siginfo) bool {
		regs, err := th.Regs()
		if err != nil {
			t.Error(err)
		}
		regs.R15 = 0x123456789
		if err := errors.Join(th.SetRegs(regs), th.SetSiginfo(info.WithAddr(0xbeef))); err != nil {
			t.Error(err)
		}
		return true
	}
	s := intercepted(t, m, "behave", "segv")
	var crash Crash
	s.run(t.Context(), Handlers{OnCrash: func(c Crash) { crash = c }})
	if crash.Regs.R15 != 0x123456789 {
		t.Errorf("registers at the crash %#x", crash.Regs.R15)
	}

	m = newMeddler(t)
	m.onSignal = func(*Stopped, syscall.Signal, Siginfo) bool { return false }
	s = intercepted(t, m, "behave", "raise", "15")
	if st := s.run(t.Context(), Handlers{}); st.Signal != 0 || st.Code != 0 {
		t.Errorf("status %v of a signal that was not delivered", st)
	}
}

// Poke while threads spin and end; hold and resume in between.
func TestPoke(t *testing.T) {
	m := newMeddler(t)
	m.steps = 2
	got := make(chan int, 1000)
	m.onInterrupted = func(th *Stopped) { m.step(th); got <- th.TID() }
	s := intercepted(t, m, "behave", "spin")
	done := make(chan ExitStatus)
	go func() { done <- s.run(t.Context(), Handlers{}) }()
	waitFor(t, "four threads", func() bool { tids, _ := s.p.Threads(); return len(tids) == 4 })
	tids, err := s.p.Threads()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		tid := tids[i%len(tids)]
		if i%10 == 0 {
			if err := s.p.Interrupt(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.p.Poke(tid); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			if err := s.p.Resume(); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case answer := <-got:
			if answer != tid {
				t.Errorf("%d answered for %d", answer, tid)
			}
		case <-time.After(patienceOfTests / 4):
			t.Fatalf("no answer to the poke of %d, round %d", tid, i)
		}
	}
	if err := s.p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-done
	if m.stepped < 120 {
		t.Errorf("%d steps", m.stepped)
	}
}

// TestSlowSyscalls: calls that are made together may take long, if one after the other is made:
// on a machine with much to do a few hundred mappings take seconds.
func TestSlowSyscalls(t *testing.T) {
	s := launch(t, Command{Path: build(t, "loaded")})
	reqs := make([]SyscallReq, 3)
	for i := range reqs {
		reqs[i] = SyscallReq{Nr: unix.SYS_POLL, Args: [6]uint64{0, 0, uint64(syscallLimit.Milliseconds()) * 2 / 5}}
	}
	if err := s.p.Syscalls(reqs); err != nil {
		t.Fatal(err)
	}
	for i, r := range reqs {
		if r.Result != 0 || r.Err != nil {
			t.Errorf("call %d: %#x, %v", i, r.Result, r.Err)
		}
	}
	s.run(t.Context(), Handlers{})
}

func TestSyscalls(t *testing.T) {
	for kind, flags := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "loaded", flags...)})
			before, err := s.p.Regs(s.p.PID())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.p.Syscall(unix.SYS_CLOSE, 999); !errors.Is(err, unix.EBADF) {
				t.Errorf("close of no file: %v", err)
			}
			const n = 5000
			base := uint64(0x100000000000)
			reqs := make([]SyscallReq, n)
			for i := range reqs {
				reqs[i] = SyscallReq{Nr: unix.SYS_MMAP, Args: [6]uint64{base + uint64(i)*8192, 4096, unix.PROT_READ | unix.PROT_WRITE,
					unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0}}
			}
			reqs[7] = SyscallReq{Nr: unix.SYS_CLOSE, Args: [6]uint64{999}}
			// Where the kernel would have put memory of ours is free for them.
			next, err := s.p.Syscall(unix.SYS_MMAP, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.p.Syscall(unix.SYS_MUNMAP, next, 4096); err != nil {
				t.Fatal(err)
			}
			reqs[8].Args[0] = next
			started := time.Now()
			if err := s.p.Syscalls(reqs); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d calls in %v", n, time.Since(started))
			for i, r := range reqs {
				if i == 7 {
					if !errors.Is(r.Err, unix.EBADF) {
						t.Errorf("close of no file: %v", r.Err)
					}
					continue
				}
				if r.Err != nil || r.Result != r.Args[0] {
					t.Fatalf("call %d: %#x, %v", i, r.Result, r.Err)
				}
			}
			word := []byte("written by the tracer")
			if err := s.p.WriteMemory(word, base); err != nil || readString(t, s.p, base, len(word)) != string(word) {
				t.Errorf("write: %v", err)
			}
			if after, err := s.p.Regs(s.p.PID()); err != nil || after != before {
				t.Errorf("registers %+v, were %+v; %v", after, before, err)
			}
			if err := s.p.RunToLoaded(t.Context()); err != nil {
				t.Fatal(err)
			}
			if st := s.run(t.Context(), Handlers{}); st.Code != 3 || s.output() != "constructed 1" {
				t.Errorf("status %v, output %q", st, s.output())
			}
		})
	}
}

// Text is written although the program may not.
func TestWriteText(t *testing.T) {
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"code", "3"}})
	main := symbol(t, s.p, "main")
	code := []byte{0xb8, 60, 0, 0, 0, 0xbf, 44, 0, 0, 0, 0x0f, 0x05} // exit(44)
	if err := s.p.WriteMemory(code, main); err != nil {
		t.Fatal(err)
	}
	if st := s.run(t.Context(), Handlers{}); st.Code != 44 {
		t.Errorf("status %v", st)
	}
	if err := s.p.WriteMemory(code, 8); err == nil {
		t.Error("address 8 was written")
	}
}

// Children that are followed to are stopped inside their exec.
func TestSyscallFollowed(t *testing.T) {
	s := launch(t, Command{Path: "sh", Args: []string{"-c", build(t, "behave") + " code 3"}, Follow: "behave"})
	if pid, err := s.p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != s.p.PID() {
		t.Errorf("getpid is %d, %v", pid, err)
	}
	if st := s.run(t.Context(), Handlers{}); st.Code != 3 {
		t.Errorf("status %v", st)
	}
}

var _ mem.Memory = (*Stopped)(nil)

// A thread that is stepped within a group-stop is stopped again, and the stop
// ends when it is ended.
func TestPokeStopped(t *testing.T) {
	m := newMeddler(t)
	m.steps = 2
	got := make(chan int, 1000)
	m.onInterrupted = func(th *Stopped) { m.step(th); got <- th.TID() }
	s := intercepted(t, m, "behave", "spin")
	done := make(chan ExitStatus)
	go func() { done <- s.run(t.Context(), Handlers{}) }()
	waitFor(t, "four threads", func() bool { tids, _ := s.p.Threads(); return len(tids) == 4 })
	tids, err := s.p.Threads()
	if err != nil {
		t.Fatal(err)
	}
	counters := func() string { return readString(t, s.p, symbol(t, s.p, "secret")&^4095, 4096) }
	for range 5 {
		unix.Kill(s.p.PID(), unix.SIGSTOP)
		waitFor(t, "stopped", func() bool { a := counters(); time.Sleep(20 * time.Millisecond); return a == counters() })
		for _, tid := range tids {
			if err := s.p.Poke(tid); err != nil {
				t.Fatal(err)
			}
			if answer := <-got; answer != tid {
				t.Errorf("%d answered for %d", answer, tid)
			}
		}
		waitFor(t, "stopped again", func() bool { a := counters(); time.Sleep(50 * time.Millisecond); return a == counters() })
		unix.Kill(s.p.PID(), unix.SIGCONT)
		waitFor(t, "running", func() bool { a := counters(); time.Sleep(20 * time.Millisecond); return a != counters() })
	}
	if err := s.p.Kill(); err != nil {
		t.Fatal(err)
	}
	<-done
}

// Signals from outside with values keep them while their receiver is stepped all
// the time, stops among them.
func TestStepStorm(t *testing.T) {
	m := newMeddler(t)
	m.steps = 4
	m.onInterrupted = m.step
	s := intercepted(t, m, "signals", "values-handler", "5000")
	done := make(chan ExitStatus, 1)
	go func() { done <- s.run(t.Context(), Handlers{}) }()
	for i := 0; ; i++ {
		select {
		case st := <-done:
			if got, want := s.output(), "values 5000\nbad 0 blocked 0 ignored 0 handler 1"; st.Code != 0 || got != want {
				t.Errorf("status %v, output %q", st, got)
			}
			if m.interrupted == 0 {
				t.Error("never interrupted")
			}
			return
		case <-time.After(time.Millisecond):
			if s.p.Poke(s.p.PID()) == nil && i%4 == 0 {
				unix.Kill(s.p.PID(), unix.SIGSTOP)
				unix.Kill(s.p.PID(), unix.SIGCONT)
			}
		}
	}
}

// A step over an instruction that loads the flags leaves no trap flag behind.
func TestStepFlags(t *testing.T) {
	m := newMeddler(t)
	m.steps = 7
	m.onInterrupted = m.step
	s := intercepted(t, m, "flags")
	done := make(chan ExitStatus, 1)
	go func() { done <- s.run(t.Context(), Handlers{}) }()
	for {
		select {
		case st := <-done:
			if st != (ExitStatus{}) || s.output() != "went on" {
				t.Errorf("status %v, output %q", st, s.output())
			}
			if m.interrupted == 0 {
				t.Error("never interrupted")
			}
			return
		case <-time.After(time.Millisecond):
			_ = s.p.Poke(s.p.PID()) // it has ended
		}
	}
}
