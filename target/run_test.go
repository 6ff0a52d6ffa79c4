package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

func TestEnds(t *testing.T) {
	prog := build(t, "behave")
	for _, c := range []struct {
		args   string
		status string
		events string
		output string
	}{
		{"code 0", "exit status 0", "exit exit status 0", ""},
		{"code 3", "exit status 3", "exit exit status 3", ""},
		{"code 255", "exit status 255", "exit exit status 255", ""},
		{"segv", "SIGSEGV", "crash segmentation fault, exit SIGSEGV", ""},
		{"wild", "SIGSEGV", "crash segmentation fault, exit SIGSEGV", ""},
		{"abort", "SIGABRT", "crash aborted, exit SIGABRT", ""},
		{"raise 15", "SIGTERM", "crash terminated, exit SIGTERM", ""},
		{"raise 64", "", "crash signal 64, exit ", ""},
		{"raise 9", "SIGKILL", "exit SIGKILL", ""},
		{"handled", "exit status 0", "exit exit status 0", "handled 100"},
		{"signals", "exit status 0", "exit exit status 0", "handled 101"},
		{"thread return", "exit status 0", "thread, exit exit status 0", ""},
		{"thread exit", "exit status 5", "thread, exit exit status 5", ""},
		{"thread crash", "SIGSEGV", "thread, crash segmentation fault, exit SIGSEGV", ""},
		{"thread last", "exit status 6", "thread, exit exit status 6", ""},
		{"thread exec", "exit status 0", "thread, exec echo, exit exit status 0", "from a thread"},
		{"exec", "exit status 0", "exec echo, exit exit status 0", "another program"},
		{"fork", "exit status 0", "fork, exit exit status 0", "child stopped 1\nchild ended 42"},
		{"vfork", "exit status 0", "fork, exit exit status 0", "child ended 9"},
	} {
		t.Run(c.args, func(t *testing.T) {
			s := launch(t, Command{Path: prog, Args: strings.Fields(c.args)})
			if got := s.run(t.Context(), Handlers{}).String(); got != c.status {
				t.Errorf("status %q, want %q", got, c.status)
			}
			if got := s.trace(); got != c.events {
				t.Errorf("events %q, want %q", got, c.events)
			}
			if got := s.output(); got != c.output {
				t.Errorf("output %q, want %q", got, c.output)
			}
		})
	}
}

func TestManyThreads(t *testing.T) {
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"threads"}})
	s.run(t.Context(), Handlers{})
	if got := strings.Count(s.trace(), "thread"); got != 400 {
		t.Errorf("%d threads reported, want 400", got)
	}
	if got := s.output(); got != "joined" {
		t.Errorf("output %q", got)
	}
}

// symbol is the address of a symbol of the running program.
func symbol(t *testing.T, p *Process, name string) uint64 {
	t.Helper()
	exe, err := p.Exe()
	if err != nil {
		t.Fatal(err)
	}
	value, entry := fileSymbol(t, exe, name)
	auxv, err := p.Auxv()
	if err != nil {
		t.Fatal(err)
	}
	return value + auxv[mem.AuxEntry] - entry
}

func readString(t *testing.T, p *Process, addr uint64, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := p.ReadMemory(b, addr); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Memory must be there at each kind of end.
func TestMemoryAtTheEnd(t *testing.T) {
	const want = "on the heap"
	for _, args := range []string{"code 3", "segv", "thread exit", "thread last", "raise 9", "abort"} {
		t.Run(args, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "behave"), Args: strings.Fields(args)})
			addr, seen := symbol(t, s.p, "heap"), 0
			check := func() {
				seen++
				block, err := mem.ReadUint64(s.p, addr)
				if err != nil {
					t.Fatal(err)
				}
				if got := readString(t, s.p, block, len(want)); got != want {
					t.Errorf("memory holds %q", got)
				}
				if maps, err := s.p.Maps(); err != nil {
					t.Error(err)
				} else if m, ok := mem.FindMap(maps, block); !ok || m.Path != "[heap]" {
					t.Errorf("block %#x is in %+v", block, m)
				}
			}
			s.run(t.Context(), Handlers{OnExit: func(Exit) { check() }, OnCrash: func(Crash) { check() }})
			if seen == 0 {
				t.Error("no handler was called")
			}
			var b [1]byte
			if _, err := s.p.ReadMemory(b[:], addr); !errors.Is(err, mem.ErrUnreadable) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// The end is told once and with the memory there, also where the kernel kills threads that
// have just stopped to be told of.
func TestExitWhileThreadsBegin(t *testing.T) {
	const want = "written before the end"
	path := build(t, "behave")
	for range 100 {
		s, ends := launch(t, Command{Path: path, Args: []string{"burst"}}), 0
		addr := symbol(t, s.p, "secret")
		s.run(t.Context(), Handlers{OnExit: func(e Exit) {
			ends++
			if e.Status.Code != 3 {
				t.Errorf("ends with %v", e.Status)
			}
			if got := readString(t, s.p, addr, len(want)); got != want {
				t.Errorf("memory holds %q", got)
			}
		}})
		if ends != 1 {
			t.Fatalf("told of %d ends", ends)
		}
	}
}

// What is mapped can be asked while the tracer waits for the one who asks, also where
// the first thread has ended.
func TestMapsWhileTheTracerWaits(t *testing.T) {
	for _, args := range []string{"code 3", "thread last"} {
		t.Run(args, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "behave"), Args: strings.Fields(args)})
			asked := false
			s.run(t.Context(), Handlers{OnExit: func(Exit) {
				asked = true
				maps, err := []mem.Map(nil), error(nil)
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					maps, err = s.p.Maps()
				}()
				if e := s.p.Do(func() {
					select {
					case <-answered:
					case <-time.After(patienceOfTests / 4):
						t.Error("no answer while the tracer waits")
					}
				}); e != nil {
					t.Error(e)
				}
				<-answered
				if err != nil || len(maps) == 0 {
					t.Errorf("%d mappings, %v", len(maps), err)
				}
			}})
			if !asked {
				t.Error("no end was told")
			}
			if maps, err := s.p.Maps(); !errors.Is(err, ErrExited) {
				t.Errorf("after the end: %d mappings, %v", len(maps), err)
			}
		})
	}
}

// Who is at work on the end of the process hears that the run is to be over.
func TestUrgedAtTheEnd(t *testing.T) {
	for _, haste := range []bool{false, true} {
		s := launch(t, Command{Path: build(t, "behave"), Args: []string{"code", "3"}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		urged := make(chan struct{})
		st := s.run(ctx, Handlers{
			OnUrge: func() { close(urged) },
			OnExit: func(Exit) {
				if !haste {
					return
				}
				cancel()
				select {
				case <-urged:
				case <-time.After(patienceOfTests / 4):
					t.Error("not urged")
				}
			},
			OnHold: func(h Hold) { t.Errorf("held at its end: %v", h) },
		})
		if st.Code != 3 {
			t.Errorf("in haste %v: ended with %v", haste, st)
		}
		select {
		case <-urged:
			if !haste {
				t.Error("urged by nobody")
			}
		default:
		}
	}
}

func TestCrashDetails(t *testing.T) {
	for _, c := range []struct {
		args  string
		fault bool
		addr  uint64
	}{{"segv", true, 0xdead0}, {"wild", false, 0}, {"abort", false, 0}} {
		t.Run(c.args, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "behave"), Args: []string{c.args}})
			var crash Crash
			s.run(t.Context(), Handlers{OnCrash: func(x Crash) {
				crash = x
				if regs, err := s.p.Regs(x.TID); err != nil || regs != x.Regs {
					t.Errorf("Regs: %v; same: %v", err, regs == x.Regs)
				}
			}})
			if crash.Fault != c.fault || crash.Addr != c.addr {
				t.Errorf("fault %v at %#x, want %v %#x", crash.Fault, crash.Addr, c.fault, c.addr)
			}
			if crash.Regs.RIP == 0 || crash.Regs.RSP == 0 {
				t.Error("no registers")
			}
			if c.args == "abort" && crash.Sender != s.p.PID() {
				t.Errorf("sent by %d, want %d", crash.Sender, s.p.PID())
			}
		})
	}
}

func TestKilledFromOutside(t *testing.T) {
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"spin"}})
	time.AfterFunc(50*time.Millisecond, func() { unix.Kill(s.p.PID(), unix.SIGKILL) })
	if st := s.run(t.Context(), Handlers{}); st.Signal != unix.SIGKILL {
		t.Errorf("status %v", st)
	}
}

// A program that is killed while it is being started is an error of Launch, or ends.
func TestKilledAtLaunch(t *testing.T) {
	path := build(t, "behave")
	for i := range 100 {
		stop, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			for {
				lists, _ := filepath.Glob("/proc/self/task/*/children")
				for _, l := range lists {
					b, _ := os.ReadFile(l)
					if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
						time.Sleep(time.Duration(i) * 10 * time.Microsecond)
						unix.Kill(pid, unix.SIGKILL)
						return
					}
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		p, err := Launch(t.Context(), Command{Path: path, Args: []string{"spin"}})
		close(stop)
		<-over
		if err != nil {
			continue
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	noChildren(t)
}

func TestTimeoutHolds(t *testing.T) {
	for _, how := range []string{"spin", "forever"} {
		t.Run(how, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "behave"), Args: []string{how}})
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			st := s.run(ctx, Handlers{OnHold: func(h Hold) {
				if h.Reason != HoldTimeout {
					t.Errorf("reason %v", h)
				}
				if how == "spin" {
					checkStill(t, s)
				}
			}})
			if st.Signal != unix.SIGKILL {
				t.Errorf("status %v", st)
			}
			if got := s.trace(); !strings.HasSuffix(got, "hold timeout, exit SIGKILL") {
				t.Errorf("events %q", got)
			}
		})
	}
}

// checkStill reads the counters that four threads increment: they must stand.
func checkStill(t *testing.T, s *session) {
	t.Helper()
	tids, err := s.p.Threads()
	if err != nil || len(tids) == 0 { // how many of the four have begun by now is the scheduler's affair
		t.Errorf("threads %v, %v", tids, err)
	}
	for _, tid := range tids {
		if _, err := s.p.Regs(tid); err != nil {
			t.Error(err)
		}
	}
	var counters [2][32]byte
	addr := symbol(t, s.p, "secret")
	maps, err := s.p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	m, _ := mem.FindMap(maps, addr)
	data := make([][]byte, 2)
	for i := range counters {
		data[i] = make([]byte, m.Size())
		if _, err := s.p.ReadMemory(data[i], m.Lo); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if string(data[0]) != string(data[1]) {
		t.Error("memory changes while the process is held")
	}
}

func TestInterruptAndResume(t *testing.T) {
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"spin"}})
	done := make(chan ExitStatus)
	go func() { done <- s.run(t.Context(), Handlers{}) }()
	// One that makes a thread may sleep where nothing interrupts it, and counts as stopped.
	waitFor(t, "with all threads", func() bool { tids, err := s.p.Threads(); return err == nil && len(tids) == 4 })
	for range 50 {
		time.Sleep(2 * time.Millisecond)
		if err := s.p.Interrupt(); err != nil {
			t.Fatal(err)
		}
		tids, err := s.p.Threads()
		if err != nil {
			t.Fatal(err)
		}
		for _, tid := range tids {
			if _, err := s.p.Regs(tid); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.p.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.p.Regs(s.p.PID()); !errors.Is(err, ErrRunning) {
		t.Errorf("registers of a running thread: %v", err)
	}
	if err := s.p.Kill(); err != nil {
		t.Fatal(err)
	}
	if st := <-done; st.Signal != unix.SIGKILL {
		t.Errorf("status %v", st)
	}
	if err := s.p.Interrupt(); !errors.Is(err, ErrExited) {
		t.Errorf("after the end: %v", err)
	}
}

// A stop by the engine's back-pressure is let through and ends with SIGCONT;
// a handler of the program for SIGCONT does not see ours.
func TestGroupStop(t *testing.T) {
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"ready", "cont"}})
	done := make(chan ExitStatus)
	go func() { done <- s.run(t.Context(), Handlers{}) }()
	waitFor(t, "ready", func() bool { return s.output() == "ready" })
	for range 20 {
		unix.Kill(s.p.PID(), unix.SIGSTOP)
		waitFor(t, "stopped", func() bool { return state(s.p.PID()) == "t" })
		unix.Kill(s.p.PID(), unix.SIGCONT)
		// Until it has been delivered, a second SIGCONT would be merged with it
		// (signal(7): standard signals do not queue).
		waitFor(t, "running", func() bool { return state(s.p.PID()) == "S" && !pending(s.p.PID(), unix.SIGCONT) })
	}
	if got := s.output(); got != "ready" {
		t.Errorf("the program has seen our SIGCONT: %q", got)
	}
	// One that another process sends is the program's.
	if err := shell(fmt.Sprintf("kill -CONT %d", s.p.PID())); err != nil {
		t.Fatal(err)
	}
	if st := <-done; st.Code != 7 {
		t.Errorf("status %v", st)
	}
}

func state(pid int) string {
	s, _, _ := strings.Cut(procStatus(strconv.Itoa(pid))["State"], " ")
	return s
}

// pending says that a signal to the process waits to be delivered.
func pending(pid int, signal unix.Signal) bool {
	mask, err := strconv.ParseUint(procStatus(strconv.Itoa(pid))["ShdPnd"], 16, 64)
	return err != nil || mask>>(signal-1)&1 == 1
}

func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patienceOfTests / 4); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not %s", what)
		}
	}
}

// A program that has met a SIGINT, or just meets it, is not held for that, however late
// the tracer looks; one that has not is.
func TestLateLookAtInterrupt(t *testing.T) {
	for _, met := range []bool{true, false} {
		s := launch(t, Command{Path: build(t, "behave"), Args: []string{"ready", "handle"}})
		over := make(chan struct{})
		go func() {
			defer close(over)
			s.run(t.Context(), Handlers{})
		}()
		waitFor(t, "ready", func() bool { return s.output() == "ready" })
		err := s.p.Do(func() { // the tracer takes no report meanwhile
			if met {
				unix.Kill(s.p.PID(), unix.SIGINT)
				for end := time.Now().Add(patienceOfTests / 4); RunState(s.p.PID()) != 't'; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Error("the signal is not being delivered")
						return
					}
				}
			}
			s.p.t.run.onTimer()
		})
		<-over
		if want := map[bool]string{true: "exit exit status 7", false: "hold interrupted, exit SIGKILL"}[met]; err != nil || s.trace() != want {
			t.Errorf("met %v: events %q, want %q; %v", met, s.trace(), want, err)
		}
	}
}

func TestStandardInput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"cat"}, Stdin: r})
	r.Close()
	go func() {
		fmt.Fprint(w, strings.Repeat("through a pipe\n", 10000))
		w.Close()
	}()
	s.run(t.Context(), Handlers{})
	if got := s.output(); len(got) != 150000-1 {
		t.Errorf("%d bytes came through", len(got))
	}
}

func TestEnvironmentAndDirectory(t *testing.T) {
	dir := t.TempDir()
	s := launch(t, Command{Path: "sh", Args: []string{"-c", `echo "$0 $X $(pwd)"`, "zero"},
		Env: []string{"X=y", "PATH=/bin:/usr/bin"}, Dir: dir})
	s.run(t.Context(), Handlers{})
	if got, want := s.output(), "zero y "+dir; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The program has the files open that it would have without us, none of ours, and lives
// on when its parent ends.
func TestFilesOpen(t *testing.T) {
	prog := build(t, "behave")
	native, err := exec.Command(prog, "fds").Output()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second while the first one's process is held
		s := launch(t, Command{Path: prog, Args: []string{"fds"}})
		defer func() {
			s.run(t.Context(), Handlers{})
			if got, want := s.output(), strings.TrimSpace(string(native)); got != want {
				t.Errorf("open are %q, natively %q", got, want)
			}
		}()
	}
}

func TestCloseWithoutRun(t *testing.T) {
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"forever"}})
	if err := s.p.Close(); err != nil {
		t.Fatal(err)
	}
	if st, ended := s.p.Status(); !ended || st.Signal != unix.SIGKILL {
		t.Errorf("status %v %v", st, ended)
	}
	if _, err := s.p.Run(t.Context(), Handlers{}); !errors.Is(err, ErrExited) {
		t.Errorf("Run after Close: %v", err)
	}
}

func TestExitStatusEncoding(t *testing.T) {
	for _, w := range []syscall.WaitStatus{0, 3 << 8, 255 << 8, 9, 11 | 0x80} {
		if got := exitStatus(unix.WaitStatus(w)).Wait(); got != uint64(w) {
			t.Errorf("%#x became %#x", w, got)
		}
	}
}
