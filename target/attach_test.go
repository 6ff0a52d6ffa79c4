package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// running is a program that was started without a tracer.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, prog string, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(prog, args...)}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		r.cmd.Wait()
	})
	return r
}

func (r *running) pid() int { return r.cmd.Process.Pid }

// line waits for a line of output.
func (r *running) line() string {
	r.t.Helper()
	s, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

// end closes the input and returns what else was said.
func (r *running) end() string {
	r.t.Helper()
	r.in.Close()
	rest, err := io.ReadAll(r.out)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(rest))
}

func attach(t *testing.T, pid int) *Process {
	t.Helper()
	p, err := Attach(t.Context(), pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// Attached, injected into, detached many times: no wait of any kind ends early.
func TestAttachUnnoticed(t *testing.T) {
	r := start(t, build(t, "steady"))
	r.line()
	const rounds = 100
	for i := range rounds {
		p := attach(t, r.pid())
		if tids, err := p.Threads(); err != nil || len(tids) != 7 {
			t.Fatalf("threads %v, %v", tids, err)
		}
		if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != r.pid() {
			t.Fatalf("getpid is %d, %v", pid, err)
		}
		// Each thread in turn, in whatever wait it is.
		tids, _ := p.Threads()
		err := p.Do(func() {
			s, err := p.Thread(tids[i%len(tids)])
			if err != nil {
				t.Error(err)
				return
			}
			if tid, err := s.Syscall(unix.SYS_GETTID); err != nil || int(tid) != tids[i%len(tids)] {
				t.Errorf("gettid is %d, %v", tid, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			err = p.Detach()
		case 1:
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
			_, err = p.Run(ctx, Handlers{})
			cancel()
			if errors.Is(err, ErrDetached) {
				err = nil
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.in.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.end(), fmt.Sprintf("rounds %d", rounds); got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
	r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("status %d", code)
	}
}

// One that is met where the kernel tells of a child by vfork can be injected into as well.
func TestAttachVforking(t *testing.T) {
	r := start(t, build(t, "vforking"))
	r.line()
	for range 200 {
		p := attach(t, r.pid())
		if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != r.pid() {
			t.Fatalf("getpid is %d, %v", pid, err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.end(), "0 failed"; got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
}

// A process that is met with a signal in hand gets it as it was sent, also when it has made a detour and
// was let go before that arrived again; a fault of its own is none of the detour's.
func TestAttachSignalled(t *testing.T) {
	for _, by := range []string{"value", "fault"} {
		r := start(t, build(t, "signalled"), by)
		r.line()
		for range 100 {
			p := attach(t, r.pid())
			if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != r.pid() {
				t.Fatalf("%s: getpid is %d, %v", by, pid, err)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := r.end(), "0 failed"; got != want {
			t.Errorf("%s: the program says %q, want %q", by, got, want)
		}
	}
}

// A process that is met, or held, where it has just become another program is that one: it is told of, and injected into; and it
// is met with its libraries loaded.
func TestAttachExecing(t *testing.T) {
	r := start(t, build(t, "execing"))
	r.line()
	for range 100 {
		began := time.Now()
		p := attach(t, r.pid())
		waited := time.Since(began)
		ask := func() {
			if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != r.pid() {
				t.Fatalf("getpid is %d, %v", pid, err)
			}
		}
		ask()
		if p.loading() && waited < loadingLimit { // on a busy machine it may never be met with them in all that time
			t.Fatalf("its libraries are still being loaded after %v", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := p.Run(ctx, Handlers{OnHold: func(Hold) {
			if err := p.TellParked(); err != nil {
				t.Error(err)
			}
			ask()
		}})
		cancel()
		if !errors.Is(err, ErrDetached) {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := r.end(), "done"; got != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
}

// The exit status of an attached process, and memory at its end.
func TestAttachRun(t *testing.T) {
	r := start(t, build(t, "steady"))
	r.line()
	p := attach(t, r.pid())
	exited := false
	time.AfterFunc(20*time.Millisecond, func() { r.in.Close() })
	status, err := p.Run(t.Context(), Handlers{OnExit: func(Exit) { exited = true }})
	if err != nil || status.Code != 7 || !exited {
		t.Errorf("status %v, %v; OnExit %v", status, err, exited)
	}
}

// A stopped process stays stopped, also when something was injected.
func TestAttachStopped(t *testing.T) {
	r := start(t, build(t, "steady"))
	r.line()
	unix.Kill(r.pid(), unix.SIGSTOP)
	waitFor(t, "stopped", func() bool { return state(r.pid()) == "T" })
	for i := range 20 {
		p := attach(t, r.pid())
		if i%2 == 1 {
			if pid, err := p.Syscall(unix.SYS_GETPID); err != nil || int(pid) != r.pid() {
				t.Fatalf("getpid is %d, %v", pid, err)
			}
		}
		if i%3 == 2 { // let it go on in its stop for a while
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
			if _, err := p.Run(ctx, Handlers{}); !errors.Is(err, ErrDetached) {
				t.Fatal(err)
			}
			cancel()
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "stopped again", func() bool { return state(r.pid()) == "T" })
	}
	unix.Kill(r.pid(), unix.SIGCONT)
	got := r.end()
	// epoll_wait and sigwaitinfo end by a stop anyway (signal(7)).
	for line := range strings.Lines(got) {
		if !strings.HasPrefix(line, "epoll_wait") && !strings.HasPrefix(line, "sigwaitinfo") && !strings.HasPrefix(line, "rounds 0") {
			t.Errorf("the program says %q", line)
		}
	}
}

// An attached process outlives a tracer that is killed.
func TestAttachTracerKilled(t *testing.T) {
	for _, how := range []string{"attach", "attach-run"} {
		t.Run(how, func(t *testing.T) {
			r := start(t, build(t, "steady"))
			r.line()
			cmd := exec.Command(self(t), fmt.Sprint(r.pid()))
			cmd.Env = append(os.Environ(), "TARGET_TEST_TRACER="+how)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, _ := bufio.NewReader(out).ReadString('\n'); line != "attached\n" {
				t.Fatalf("the tracer says %q", line)
			}
			time.Sleep(20 * time.Millisecond)
			cmd.Process.Kill()
			cmd.Wait()
			if got := r.end(); got != "rounds 0" {
				t.Errorf("the program says %q", got)
			}
		})
	}
}

// Ctrl-C and SIGTERM to the tracer let the process go.
func TestAttachTracerInterrupted(t *testing.T) {
	for _, signal := range []unix.Signal{unix.SIGINT, unix.SIGTERM} {
		r := start(t, build(t, "steady"))
		r.line()
		cmd := exec.Command(self(t), fmt.Sprint(r.pid()))
		cmd.Env = append(os.Environ(), "TARGET_TEST_TRACER=attach-run")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		lines.ReadString('\n')
		time.Sleep(20 * time.Millisecond)
		cmd.Process.Signal(signal)
		rest, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil || !strings.Contains(string(rest), ErrDetached.Error()) {
			t.Errorf("%v: the tracer says %q and ends with %v", signal, rest, err)
		}
		if got := r.end(); got != "rounds 0" {
			t.Errorf("the program says %q", got)
		}
	}
}

// attachMain is this test binary as a tracer that attaches.
func attachMain(how string, args []string) int {
	var pid int
	fmt.Sscan(args[0], &pid)
	p, err := Attach(context.Background(), pid)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("attached")
	if how == "attach" {
		time.Sleep(time.Hour)
	}
	_, err = p.Run(context.Background(), Handlers{})
	fmt.Println(err)
	if err := p.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func TestAttachRefused(t *testing.T) {
	traced := launch(t, Command{Path: build(t, "behave"), Args: []string{"code", "0"}})
	r := start(t, build(t, "steady"))
	r.line()
	// Its parent is this thread: no tracer begun later may have it for its own.
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer zombie.Wait()
	waitFor(t, "a zombie", func() bool { return state(zombie.Process.Pid) == "Z" })
	other := 0
	for _, tid := range tasks(r.pid()) {
		if tid != r.pid() {
			other = tid
		}
	}
	for name, c := range map[string]struct {
		pid  int
		want error
		text string
	}{
		"none":   {1 << 29, ErrNoProcess, ""},
		"zero":   {0, ErrNoProcess, ""},
		"self":   {os.Getpid(), ErrDenied, "this process"},
		"zombie": {zombie.Process.Pid, ErrExited, "zombie"},
		"kernel": {2, ErrKernel, "kthreadd"},
		"traced": {traced.p.PID(), ErrTraced, fmt.Sprint(os.Getpid())},
		"thread": {other, ErrNoProcess, fmt.Sprint(r.pid())},
	} {
		if c.want == ErrKernel && procStatus("2")["Name"] != "kthreadd" {
			continue
		}
		p, err := Attach(t.Context(), c.pid)
		if err == nil {
			p.Close()
		}
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	traced.run(t.Context(), Handlers{})
}

// TestTracerName: who traces is told by the name of the process, whatever that of its thread:
// the keeper takes its name when it has threads already.
func TestTracerName(t *testing.T) {
	for _, tid := range tasks(os.Getpid()) {
		comm := fmt.Sprintf("/proc/self/task/%d/comm", tid)
		name, err := os.ReadFile(comm)
		if tid == os.Getpid() || err != nil {
			continue
		}
		if err := os.WriteFile(comm, []byte("exe"), 0); err != nil {
			continue // it has ended
		}
		defer os.WriteFile(comm, name, 0)
		want := fmt.Sprintf("%s (process %d)", procStatus("self")["Name"], os.Getpid())
		if got := (status{"TracerPid": strconv.Itoa(tid)}).tracer(); got != want {
			t.Errorf("thread %d is %s, want %s", tid, got, want)
		}
	}
}
