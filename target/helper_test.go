package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func shell(script string) error { return exec.Command("sh", "-c", script).Run() }

// tracerMain is this test binary as a tracer in a process of its own: it
// launches the program in args and tells on descriptor 3 what happens.
func tracerMain(args []string) int {
	tell := os.NewFile(3, "events")
	unix.CloseOnExec(3)
	say := func(format string, a ...any) { fmt.Fprintf(tell, format+"\n", a...) }
	p, err := Launch(context.Background(), Command{Path: args[0], Args: args[1:]})
	if err != nil {
		say("error %v", err)
		return 1
	}
	defer p.Close()
	say("pid %d", p.PID())
	status, err := p.Run(context.Background(), Handlers{
		OnCrash: func(c Crash) { say("crash %s", unix.SignalName(c.Signal)) },
		OnHold:  func(h Hold) { say("hold %v", h) },
		OnExit:  func(e Exit) { say("exit %v", e.Status) },
	})
	if err != nil {
		say("error %v", err)
		return 1
	}
	say("status %v", status)
	return 0
}

// job is a tracer that runs in its own session on a terminal of ours.
type job struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	cmd    *exec.Cmd
	events *bufio.Scanner
	seen   []string
	pid    int          // of the program
	before unix.Termios // modes of the terminal, when nothing had been started
	screen chan string
	text   strings.Builder
}

// openPTY makes a terminal (pts(4)).
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// startJob starts the tracer on a new terminal, as its session's leader or, with
// jobControl, as a job of an interactive shell.
func startJob(t *testing.T, prog string, args ...string) *job {
	t.Helper()
	j := &job{t: t, screen: make(chan string, 1000)}
	j.master, j.slave = openPTY(t)
	j.before = j.modes()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	j.cmd = exec.Command(prog, args...)
	j.cmd.Env = append(os.Environ(), "TARGET_TEST_TRACER=1", "PS1=prompt-", "HISTFILE=")
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = j.slave, j.slave, j.slave
	j.cmd.ExtraFiles = []*os.File{w}
	j.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := j.cmd.Start(); err != nil {
		t.Skip(err)
	}
	w.Close()
	j.events = bufio.NewScanner(r)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := j.master.Read(buf)
			if err != nil {
				return
			}
			j.screen <- string(buf[:n])
		}
	}()
	t.Cleanup(func() {
		j.cmd.Process.Kill()
		j.cmd.Wait()
		r.Close()
		if j.pid != 0 {
			waitFor(t, "rid of the program", func() bool { st := state(j.pid); return st == "" || st == "Z" })
		}
	})
	return j
}

// expect waits until the screen shows text, after what was expected before.
func (j *job) expect(text string) {
	j.t.Helper()
	deadline := time.After(patienceOfTests / 3)
	for !strings.Contains(j.text.String(), text) {
		select {
		case s := <-j.screen:
			j.text.WriteString(s)
		case <-deadline:
			j.t.Fatalf("the screen shows %q, not %q", j.text.String(), text)
		}
	}
	_, rest, _ := strings.Cut(j.text.String(), text)
	j.text.Reset()
	j.text.WriteString(rest)
}

func (j *job) keys(s string) {
	j.t.Helper()
	if _, err := j.master.WriteString(s); err != nil {
		j.t.Fatal(err)
	}
}

// event waits for what the tracer tells next.
func (j *job) event(prefix string) {
	j.t.Helper()
	if !j.events.Scan() {
		j.t.Fatalf("the tracer is gone, not %q; it said %q", prefix, j.seen)
	}
	line := j.events.Text()
	j.seen = append(j.seen, line)
	if !strings.HasPrefix(line, prefix) {
		j.t.Fatalf("the tracer says %q, not %q", line, prefix)
	}
	fmt.Sscanf(line, "pid %d", &j.pid)
}

func (j *job) modes() unix.Termios {
	j.t.Helper()
	m, err := unix.IoctlGetTermios(int(j.slave.Fd()), unix.TCGETS)
	if err != nil {
		j.t.Fatal(err)
	}
	return *m
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// Ctrl-C is the program's: it dies of it, or handles it.
func TestCtrlC(t *testing.T) {
	for how, want := range map[string][]string{
		"default": {"crash SIGINT", "exit SIGINT", "status SIGINT"},
		"handle":  {"exit exit status 7", "status exit status 7"},
		"ignore":  {"hold interrupted", "exit SIGKILL", "status SIGKILL"},
	} {
		t.Run(how, func(t *testing.T) {
			j := startJob(t, self(t), build(t, "behave"), "ready", how)
			j.event("pid")
			j.expect("ready")
			j.keys("\x03")
			for _, event := range want {
				j.event(event)
			}
			if err := j.cmd.Wait(); err != nil {
				t.Errorf("the tracer ended with %v", err)
			}
		})
	}
}

// A second Ctrl-C, a while after the first, holds a program that handles it and
// goes on; its terminal modes are put back.
func TestSecondCtrlC(t *testing.T) {
	var j *job
	for quick := false; !quick; {
		j = startJob(t, self(t), build(t, "screen"))
		j.event("pid")
		j.expect("ready")
		if j.modes() == j.before {
			t.Fatal("the program did not change the terminal")
		}
		began := time.Now()
		j.keys("\x03")
		j.expect("handled 1")
		j.keys("\x03")
		quick = time.Since(began) < patience/4 // else this machine is too busy just now for a second one that comes soon
	}
	j.expect("handled 2")
	time.Sleep(patience)
	j.keys("\x03")
	for _, event := range []string{"hold interrupted", "exit SIGKILL", "status SIGKILL"} {
		j.event(event)
	}
	if err := j.cmd.Wait(); err != nil {
		t.Errorf("the tracer ended with %v", err)
	}
	if j.modes() != j.before {
		t.Error("the terminal is not as it was")
	}
}

// SIGTERM, SIGHUP, and a SIGINT that the terminal did not send are the tracer's.
func TestSignalsToTracer(t *testing.T) {
	for sig, hold := range map[unix.Signal]string{
		unix.SIGTERM: "hold terminated by SIGTERM",
		unix.SIGHUP:  "hold terminated by SIGHUP",
		unix.SIGINT:  "hold interrupted",
	} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("it is ignored here, as under nohup, and so the tracer ignores it")
			}
			j := startJob(t, self(t), build(t, "behave"), "ready", "default")
			j.event("pid")
			j.expect("ready")
			unix.Kill(j.cmd.Process.Pid, sig)
			for _, event := range []string{hold, "exit SIGKILL", "status SIGKILL"} {
				j.event(event)
			}
		})
	}
}

// A signal that comes right behind the one that asked the tracer to end, as timeout(1) sends it, is no second request.
func TestSameRequest(t *testing.T) {
	if signal.Ignored(unix.SIGTERM) {
		t.Skip("it is ignored here, and so the tracer ignores it")
	}
	var j *job
	for quick := false; !quick; {
		j = startJob(t, self(t), build(t, "behave"), "ready", "default")
		j.event("pid")
		j.expect("ready")
		began := time.Now()
		unix.Kill(j.cmd.Process.Pid, unix.SIGTERM)
		j.event("hold terminated by SIGTERM")
		unix.Kill(j.cmd.Process.Pid, unix.SIGTERM)
		quick = time.Since(began) < sameRequest/2 // else this machine is too busy just now for one that comes soon
	}
	for _, event := range []string{"exit SIGKILL", "status SIGKILL"} {
		j.event(event)
	}
	if err := j.cmd.Wait(); err != nil {
		t.Errorf("the tracer ended with %v", err)
	}
}

// The program does not outlive a tracer that is killed.
func TestTracerKilled(t *testing.T) {
	j := startJob(t, self(t), build(t, "behave"), "spin")
	j.event("pid")
	j.cmd.Process.Kill()
	j.cmd.Wait()
	waitFor(t, "rid of the program", func() bool { st := state(j.pid); return st == "" || st == "Z" })
}

// Ctrl-Z stops the job as the shell sees it, and fg lets it go on.
func TestCtrlZ(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	for _, prog := range []string{"behave", "screen"} {
		t.Run(prog, func(t *testing.T) {
			j := startJob(t, "bash", "--norc", "--noprofile", "--noediting", "-i")
			j.expect("prompt-")
			j.keys(fmt.Sprintf("%s %s ready handle\n", self(t), build(t, prog)))
			j.event("pid")
			j.expect("ready\r\n")
			running := j.modes()
			for range 3 {
				j.keys("\x1a")
				j.expect("Stopped")
				j.expect("prompt-")
				waitFor(t, "stopped", func() bool { return strings.EqualFold(state(j.pid), "T") })
				j.keys("fg\n")
				waitFor(t, "running", func() bool { return !strings.EqualFold(state(j.pid), "T") && j.modes() == running })
			}
			j.keys("\x03")
			if prog == "screen" {
				j.expect("handled 1")
				j.keys("\x1c")
				for _, event := range []string{"crash SIGQUIT", "exit SIGQUIT", "status SIGQUIT"} {
					j.event(event)
				}
			} else {
				j.event("exit exit status 7")
				j.event("status exit status 7")
			}
			j.keys("exit\n")
		})
	}
}

// Under another tracer, and without permission, the reason is told.
func TestOtherTracer(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strace, "-f", "-o", os.DevNull, self(t), build(t, "behave"))
	cmd.Env = append(os.Environ(), "TARGET_TEST_TRACER=1")
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	w.Close()
	defer cmd.Wait()
	lines := bufio.NewScanner(r)
	if !lines.Scan() || !strings.Contains(lines.Text(), ErrTraced.Error()) || !strings.Contains(lines.Text(), "strace") {
		t.Errorf("the tracer says %q", lines.Text())
	}
	if lines.Err() != nil && !errors.Is(lines.Err(), os.ErrClosed) {
		t.Error(lines.Err())
	}
}
