package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mgtrace/report"
)

const attachSpec = "testdata/attach.cons"

// eachEngine runs a test of attaching under each engine.
func eachEngine(t *testing.T, f func(t *testing.T, engine string)) {
	for _, engine := range []string{"inline", "ebpf"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "ebpf" {
				needCapture(t)
			}
			t.Parallel()
			f(t, engine)
		})
	}
}

// running is a program that runs by itself.
type running struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, path string, args ...string) *running {
	t.Helper()
	r := &running{Cmd: exec.Command(path, args...)}
	in, err := r.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out = in, bufio.NewReader(out)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	return r
}

// says waits for a line.
func (r *running) says(t *testing.T, want string) {
	t.Helper()
	line, err := r.out.ReadString('\n')
	if strings.TrimSpace(line) != want {
		t.Fatalf("the program says %q (%v), want %q; %v", line, err, want, r.Wait())
	}
}

// goesOn waits until the program has done once more what it does again and again.
func (r *running) goesOn(t *testing.T) {
	t.Helper()
	if err := r.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	r.says(t, "goes on")
}

// finishes ends the program, which must have the right result.
func (r *running) finishes(t *testing.T) {
	t.Helper()
	if err := r.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.says(t, "ok: 1")
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
}

// startList compiles attach.c and starts it.
func startList(t *testing.T, args ...string) *running {
	t.Helper()
	bin, err := builds.compile("gcc", "testdata/attach.c", "attach", []string{"-g", "-O1", "-pthread"})
	if err != nil {
		t.Skip(err)
	}
	r := start(t, bin, args...)
	r.says(t, "ready")
	return r
}

// attachment is an mgtrace attach that runs.
type attachment struct {
	cmd  *exec.Cmd
	file string

	mu     sync.Mutex
	errs   bytes.Buffer
	seized chan struct{} // the process is being recorded
	told   sync.Once
}

// Write takes what mgtrace says.
func (a *attachment) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errs.Write(b)
	if bytes.Contains(a.errs.Bytes(), []byte("attached to process")) {
		a.told.Do(func() { close(a.seized) })
	}
	return len(b), nil
}

func attach(t *testing.T, r *running, args ...string) *attachment {
	t.Helper()
	a := &attachment{file: filepath.Join(t.TempDir(), "report.json"), seized: make(chan struct{})}
	args = append([]string{"attach", "-v", "--json", "--report", a.file, strconv.Itoa(r.Process.Pid)}, args...)
	a.cmd = exec.Command(tool(t), args...)
	a.cmd.Stderr = a
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return a
}

// wait waits for its end.
func (a *attachment) wait(t *testing.T) result {
	t.Helper()
	_ = a.cmd.Wait() // the status tells
	r := result{status: a.cmd.ProcessState.ExitCode(), stderr: a.errs.String()}
	if b, err := os.ReadFile(a.file); err == nil {
		if err := json.Unmarshal(b, &r.report); err != nil {
			t.Fatalf("report: %v\n%s", err, b)
		}
	}
	return r
}

// recording waits until the process is being recorded.
func (a *attachment) recording(t *testing.T) {
	t.Helper()
	select {
	case <-a.seized:
	case <-time.After(patience):
		_ = a.cmd.Process.Kill()
		t.Fatalf("not attached: %s", a.errs.String())
	}
}

// ends asks mgtrace to let the process go.
func (a *attachment) ends(t *testing.T, s os.Signal) result {
	t.Helper()
	if err := a.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	return a.wait(t)
}

// suspects lists the lines under suspicion.
func suspects(r *report.Report) (lines []int) {
	for _, c := range r.CPoints {
		for _, s := range c.Suspects {
			lines = append(lines, s.Line)
		}
	}
	return lines
}

// bugLine is the line of a program that is marked.
func bugLine(t *testing.T, source string) int {
	t.Helper()
	b, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(b), "/* BUG */")
	if !ok {
		t.Fatal("no line is marked")
	}
	return strings.Count(before, "\n") + 1
}

// A fault that happens while mgtrace is attached is found, in a structure of which
// most was there before; the program goes on when it is let go.
func TestAttachFault(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		list := startList(t, "broken")
		trace := filepath.Join(t.TempDir(), "t.mgt")
		a := attach(t, list, "--engine", engine, "--spec", attachSpec, "-o", trace)
		a.recording(t)
		list.goesOn(t) // healthy C-points first
		if err := list.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		list.says(t, "turned")
		r := a.ends(t, syscall.SIGINT)
		list.finishes(t)
		want := bugLine(t, "testdata/attach.c")
		if got := suspects(&r.report); r.status != 1 || len(got) == 0 || got[0] != want {
			t.Errorf("status %d, suspects in lines %v, want %d first\n%s", r.status, got, want, r.stderr)
		}
		if n := r.report.Checked.Objects["node"]; n < 1000 {
			t.Errorf("%d nodes: those from before are missing", n)
		}
		if why := strings.Join(r.report.Why, "; "); r.report.Complete || !strings.Contains(why, "let the process go (interrupted)") {
			t.Errorf("complete: %v, %s", r.report.Complete, why)
		}
		if notes := strings.Join(r.report.Notes, "; "); !strings.Contains(notes, "recording began when the program was running already") {
			t.Errorf("notes: %s", notes)
		}
		located := mgtrace(t, "", "locate", trace, "--spec", attachSpec)
		if got := suspects(&located.report); len(got) == 0 || got[0] != want {
			t.Errorf("located: status %d, suspects in lines %v, want %d first\n%s", located.status, got, want, located.stderr)
		}
		if got, want := located.report.Checked, r.report.Checked; got.CPoints != want.CPoints || got.Objects["node"] != want.Objects["node"] {
			t.Errorf("located: %+v, attached: %+v", got, want)
		}
	})
}

// Of a part of what happens while mgtrace is attached a fault in it is found; healthy
// programs are silent. Most of the structure was there before.
func TestAttachParts(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		parts := [][]string{{"--last", "1200kB"}, {"--from", "append", "--after", "20"}, {"--after", "50ms"}}
		if engine == "ebpf" {
			parts = parts[:1]
		}
		for _, part := range parts {
			for _, how := range []string{"broken", "healthy"} {
				list := startList(t, how)
				a := attach(t, list, append([]string{"--engine", engine, "--spec", attachSpec}, part...)...)
				a.recording(t)
				switch part[0] { // until the part has begun
				case "--from":
					for range 25 {
						list.goesOn(t)
					}
				case "--after":
					list.goesOn(t) // its time begins before that
					time.Sleep(100 * time.Millisecond)
					list.goesOn(t)
				default:
					time.Sleep(2 * time.Second) // the beginning has been dropped; a busy machine may be too slow for that
				}
				if err := list.Process.Signal(syscall.SIGUSR1); err != nil {
					t.Fatal(err)
				}
				list.says(t, "turned")
				r := a.ends(t, syscall.SIGINT)
				list.finishes(t)
				if b := r.report.Begins; part[0] != "--last" && (b == nil || b.Event == 0) {
					t.Errorf("%v: begins: %+v\n%s", part, r.report.Begins, r.stderr)
				}
				got := suspects(&r.report)
				if how == "healthy" && (r.status != 0 || len(r.report.CPoints) > 0) {
					t.Errorf("%v: status %d, %+v\n%s", part, r.status, r.report.CPoints, r.stderr)
				}
				if want := bugLine(t, "testdata/attach.c"); how == "broken" && (r.status != 1 || len(got) == 0 || got[0] != want) {
					t.Errorf("%v: status %d, suspects in lines %v, want %d first\n%s", part, r.status, got, want, r.stderr)
				}
			}
		}
	})
}

// A healthy program is silent, whatever ends the recording.
func TestAttachTwin(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for why, end := range map[string]func(*attachment, *running) result{
			"interrupted":           func(a *attachment, _ *running) result { return a.ends(t, syscall.SIGINT) },
			"terminated by SIGTERM": func(a *attachment, _ *running) result { return a.ends(t, syscall.SIGTERM) },
			"timeout":               func(a *attachment, _ *running) result { return a.wait(t) },
			"": func(a *attachment, list *running) result { // the program ends
				list.finishes(t)
				return a.wait(t)
			},
		} {
			list := startList(t)
			args := []string{"--engine", engine, "--spec", attachSpec}
			if why == "timeout" {
				args = append(args, "--timeout", "5s")
			}
			a := attach(t, list, args...)
			a.recording(t)
			list.goesOn(t)
			r := end(a, list)
			if r.status != 0 || len(r.report.CPoints) > 0 || r.report.Checked.CPoints == 0 {
				t.Errorf("%s: status %d, %d C-points, found %+v\n%s", why, r.status, r.report.Checked.CPoints, r.report.CPoints, r.stderr)
			}
			if a := r.report.Audit; a == nil || a.Unseen > 0 || a.Nodes < 1000 {
				t.Errorf("%s: audit: %+v", why, a)
			}
			if why == "" {
				if e := r.report.Exit; !r.report.Complete || e == nil || e.Status == nil || *e.Status != 0 {
					t.Errorf("the program's end: complete %v (%v), %+v", r.report.Complete, r.report.Why, e)
				}
				continue
			}
			if got := strings.Join(r.report.Why, "; "); !strings.Contains(got, "let the process go ("+why+")") {
				t.Errorf("%s: %s", why, got)
			}
			list.finishes(t)
		}
	})
}

// Engines that must see a program from its start are refused, and the process goes on.
func TestAttachRefusesEngine(t *testing.T) {
	t.Parallel()
	list := startList(t)
	for _, engine := range []string{"step", "translate"} {
		r := attach(t, list, "--engine", engine).wait(t)
		if r.status != 2 || !strings.Contains(r.stderr, "--engine "+engine+" needs a program that mgtrace starts") {
			t.Errorf("%s: status %d\n%s", engine, r.status, r.stderr)
		}
	}
	list.finishes(t)
}

// A process that is blocked in read gets what it waits for: while mgtrace is
// attached, and after.
func TestAttachBlocked(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		cat := start(t, "/bin/cat")
		for i := range 4 {
			a := attach(t, cat, "--engine", engine)
			a.recording(t)
			if i%2 == 0 {
				fmt.Fprintf(cat.in, "line %d\n", i)
				cat.says(t, fmt.Sprintf("line %d", i))
			}
			if r := a.ends(t, syscall.SIGINT); r.status != 0 {
				t.Fatalf("status %d\n%s", r.status, r.stderr)
			}
			fmt.Fprintf(cat.in, "after %d\n", i)
			cat.says(t, fmt.Sprintf("after %d", i))
		}
		if err := cat.in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cat.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// Attaching again and again, ended at any moment, leaves a threaded program as it
// was.
func TestAttachAgain(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		times := 8 // bench/soak does so thousands of times
		if engine == "ebpf" {
			times = 5 // each waits seconds for the kernel where other programs fork
		}
		list := startList(t)
		maps := names(t, list)
		for i := range times {
			later := time.Duration(i*50/times) * time.Millisecond
			a := attach(t, list, "--engine", engine, "--spec", attachSpec)
			if i%4 > 0 {
				a.recording(t)
				time.Sleep(later)
			} else {
				time.Sleep(10 * later) // anywhere
			}
			r := a.ends(t, syscall.SIGINT)
			if r.status != 0 && (i%4 > 0 || len(r.report.CPoints) > 0) {
				t.Fatalf("%d: status %d\n%s", i, r.status, r.stderr)
			}
		}
		if now := names(t, list); !slices.Equal(now, maps) {
			t.Errorf("mapped before: %v, now: %v", maps, now)
		}
		list.finishes(t)
	})
}

// Killed at any moment by SIGKILL, mgtrace leaves a threaded program as it was; what
// it had recorded is reported.
func TestAttachKilled(t *testing.T) {
	t.Parallel()
	times := 6
	if testing.Short() {
		times = 4
	}
	eachEngine(t, func(t *testing.T, engine string) {
		list := startList(t)
		maps := names(t, list)
		for i := range times {
			a := attach(t, list, "--engine", engine, "--spec", attachSpec)
			recording := i%2 > 0
			if recording {
				a.recording(t)
			}
			time.Sleep(time.Duration(i) * 20 * time.Millisecond) // anywhere
			r := a.ends(t, syscall.SIGKILL)                      // until nobody holds its standard error any more
			if status := a.cmd.ProcessState.String(); status != "signal: killed" {
				t.Fatalf("%d: %s\n%s", i, status, r.stderr)
			}
			if why := strings.Join(r.report.Why, "; "); recording && !strings.Contains(why, "mgtrace was killed") {
				t.Errorf("%d: the report says %q\n%s", i, why, r.stderr)
			}
			if now := names(t, list); !slices.Equal(now, maps) {
				t.Fatalf("mapped before: %v, now: %v\n%s", maps, now, r.stderr)
			}
		}
		list.finishes(t)
	})
}

// When the process that records is killed, the one in front of it takes out of the
// program what it had put in.
func TestAttachKeeperKilled(t *testing.T) {
	t.Parallel()
	times := 4
	if testing.Short() {
		times = 1
	}
	eachEngine(t, func(t *testing.T, engine string) {
		list := startList(t)
		maps := names(t, list)
		for i := range times {
			a := attach(t, list, "--engine", engine, "--spec", attachSpec)
			a.recording(t)
			time.Sleep(time.Duration(i) * 50 * time.Millisecond)
			if err := syscall.Kill(child(t, a.cmd.Process.Pid), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if r := a.wait(t); r.status != 2 || !strings.Contains(r.stderr, "was let go and runs on") {
				t.Fatalf("%d: status %d\n%s", i, r.status, r.stderr)
			}
			if now := names(t, list); !slices.Equal(now, maps) {
				t.Fatalf("mapped before: %v, now: %v", maps, now)
			}
		}
		list.finishes(t)
	})
}

// child is the only child of a process.
func child(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, _ := os.ReadFile(task) // a thread that has ended
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			return n
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}

// names are what a process has mapped by name.
func names(t *testing.T, r *running) (list []string) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", r.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		// "[uprobes]" is the kernel's and stays.
		if f := strings.Fields(line); len(f) > 5 && f[5] != "[uprobes]" && !slices.Contains(list, f[5]) {
			list = append(list, f[5])
		}
	}
	return list
}

// What can not be attached to is refused with the reason.
func TestAttachRefused(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("gcc", "--version").CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	list := startList(t)
	held := attach(t, list)
	held.recording(t)
	for name, c := range map[string]struct{ pid, want string }{
		"no number":    {"prog", "not the number of a process"},
		"no process":   {"4194303", "no such process"},
		"a Go program": {strconv.Itoa(os.Getpid()), "is a Go program"},
		"traced":       {strconv.Itoa(list.Process.Pid), "another tracer is present"},
	} {
		r := mgtrace(t, "", "attach", "--engine", "inline", c.pid)
		if r.status != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: status %d: %s", name, r.status, r.stderr)
		}
	}
	if r := held.ends(t, syscall.SIGINT); r.status != 0 {
		t.Errorf("status %d\n%s", r.status, r.stderr)
	}
	list.finishes(t)
}
