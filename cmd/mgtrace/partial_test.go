package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mgtrace/trace"
)

// churn is a program that runs for long and forgets nearly all it made.
func churn(t *testing.T) (bin, spec string) {
	t.Helper()
	needCapture(t)
	bin, err := builds.compile("gcc", "testdata/churn.c", "churn", []string{"-g", "-O0"})
	if err != nil {
		t.Skip(err)
	}
	spec, err = filepath.Abs("testdata/churn.cons")
	if err != nil {
		t.Fatal(err)
	}
	return bin, spec
}

// nodesFor is how many nodes an engine lets pass in a few seconds.
func nodesFor(engine string) string {
	if engine == "inline" {
		return "120000"
	}
	return "25000"
}

// TestLast: of a fault in the newest part of the history its statement is named; of
// one before it, that it is older; a healthy program is healthy.
func TestLast(t *testing.T) {
	t.Parallel()
	bin, spec := churn(t)
	for _, engine := range []string{"inline", "ebpf"} {
		n := nodesFor(engine)
		for _, c := range []struct {
			name, bad    string
			status       int
			suspect, why string
		}{
			{"healthy", "0", 0, "", ""},
			{"late", n[:len(n)-3] + "000", 1, "n->prev = n; /* FAULT */", ""}, // the last but none
			{"early", "-7", 1, "", "what broke it is older, and can not be named"},
			{"forgotten", "500", 0, "", ""},
		} {
			if engine == "ebpf" && c.name != "healthy" && c.name != "late" {
				continue // what is dropped does not depend on the engine, and each takes it many seconds
			}
			t.Run(engine+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				r := mgtrace(t, "", "run", "--engine", engine, "--last", "1.2MiB", bin, "--spec", spec, "--", n, c.bad)
				if r.status != c.status {
					t.Fatalf("status %d: %s", r.status, r.stderr)
				}
				if b := r.report.Begins; b == nil || b.Event == 0 || r.report.Complete || !strings.Contains(strings.Join(r.report.Why, ";"), "the history begins") {
					t.Errorf("the report does not say where the history begins: %+v, %q", b, r.report.Why)
				}
				if r.report.Audit == nil || r.report.Audit.Unseen != 0 {
					t.Errorf("audit: %+v", r.report.Audit)
				}
				if c.status == 0 {
					return
				}
				p := r.report.CPoints[0]
				var suspects []string
				for _, s := range p.Suspects {
					suspects = append(suspects, s.Source)
				}
				if c.suspect == "" && len(suspects) > 0 || c.suspect != "" && (len(suspects) == 0 || !strings.Contains(suspects[0], c.suspect)) {
					t.Errorf("suspects: %q", suspects)
				}
				if !strings.Contains(strings.Join(p.Notes, ";"), c.why) {
					t.Errorf("notes: %q", p.Notes)
				}
			})
		}
	}
}

// diskUse is what a trace takes with its segments, of which none came or went while they
// were looked at: else the sum would have what never was there together.
func diskUse(t *testing.T, file string) (bytes int64, files int) {
	t.Helper()
	list := func() []string {
		l, err := filepath.Glob(file + "*")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for now, then := list(), []string(nil); !slices.Equal(now, then); {
		bytes, files = 0, 0
		for _, f := range now {
			if info, err := os.Stat(f); err == nil {
				bytes, files = bytes+info.Size(), files+1
			}
		}
		now, then = list(), now
	}
	return bytes, files
}

// untilWritten waits until the recorder of a program that does nothing any more has written all: a writer writes what it has
// within a second. Only looks count at which no thread of the recorder wants a processor: on a busy machine it may be that none
// has had one for long.
func untilWritten(t *testing.T, file string, recorder int) {
	t.Helper()
	idle := func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", recorder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range threads {
			stat, _ := os.ReadFile(f) // one that has ended is idle
			if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "R") || strings.HasPrefix(state, "D") {
				return false
			}
		}
		return true
	}
	state := func() (s string) {
		files, err := filepath.Glob(file + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				s += fmt.Sprintln(f, info.Size(), info.ModTime())
			}
		}
		return s
	}
	for now, same := state(), 0; same < 30; time.Sleep(100 * time.Millisecond) {
		if s := state(); s != now {
			now, same = s, 0
		} else if idle() {
			same++
		}
	}
}

// TestLastOnDisk records a program whose whole trace would take seven times the
// limit. At no time the files take more; a recorder that is killed leaves what it
// had, which can be analysed.
func TestLastOnDisk(t *testing.T) {
	t.Parallel()
	bin, spec := churn(t)
	const limit = 1_300_000
	for _, kill := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "t.mgt")
		nodes := "200000" // about 45 bytes in the trace each
		if kill {
			nodes = "100000"
		}
		args := []string{"record", "--engine", "inline", "--last", fmt.Sprint(limit), "-o", file, bin, "--spec", spec, "--", nodes, nodes}
		if kill {
			args = append(args, fmt.Sprint(patience.Seconds()))
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, tool(t), args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.WaitDelay = time.Second // the program outlives its recorder, and keeps the pipe
		var out lineWaiter
		out.seen = make(chan struct{})
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // the program, if it is there still
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		most, running := int64(0), true
		for running {
			bytes, _ := diskUse(t, file)
			most = max(most, bytes)
			select {
			case err := <-ended:
				if running = false; err != nil && !kill {
					t.Fatal(err)
				}
			case <-out.seen:
				if out.seen = nil; kill {
					untilWritten(t, file, cmd.Process.Pid)
					if err := cmd.Process.Kill(); err != nil {
						t.Fatal(err)
					}
				}
			case <-time.After(2 * time.Millisecond):
			}
		}
		bytes, files := diskUse(t, file)
		if most = max(most, bytes); most > limit {
			t.Errorf("%d bytes on disk, the limit is %d", most, limit)
		}
		if kill != (files > 1) {
			t.Errorf("killed: %v, and %d files are left", kill, files)
		}
		r, err := trace.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		var ev trace.Event
		for ev.Kind != trace.KindBegin {
			if err := r.Next(&ev); err != nil {
				t.Fatal(err)
			}
		}
		dropped := ev.Size
		_ = r.Close()
		res := mgtrace(t, "", "locate", file, "--spec", spec)
		if res.status != 1 || len(res.report.CPoints[0].Suspects) == 0 || !strings.Contains(res.report.CPoints[0].Suspects[0].Source, "/* FAULT */") {
			t.Errorf("killed: %v: status %d, %s", kill, res.status, res.stderr)
		}
		// What the first queue's nodes held is known from memory at the end only; what those
		// held that pass through, only if the tracer came to read them before they were freed.
		if doubted := strings.Contains(strings.Join(res.report.Notes, ";"), "not judged"); kill && !doubted {
			t.Errorf("killed: %v, notes: %q", kill, res.report.Notes)
		}
		t.Logf("killed: %v: at most %d bytes on disk, %d events dropped", kill, most, dropped)
	}
}

// lineWaiter tells when something is written to it.
type lineWaiter struct{ seen chan struct{} }

func (w *lineWaiter) Write(p []byte) (int, error) {
	if w.seen != nil {
		close(w.seen)
		w.seen = nil
	}
	return len(p), nil
}

// TestLastUnknownFields: half of the nodes are older than the history, however well it
// is packed, and there is no room to keep what memory holds of all of them. What depends
// on their fields is not judged; the rest is.
func TestLastUnknownFields(t *testing.T) {
	t.Parallel()
	bin, spec := churn(t)
	for _, c := range []struct{ bad, suspect string }{{"0", ""}, {"99500", "/* FAULT */"}} {
		r := mgtrace(t, "", "run", "--engine", "inline", "--last", "1300kB", bin, "--spec", spec, "--", "100000", c.bad, "0", "40000")
		if !slices.ContainsFunc(r.report.Notes, func(s string) bool { return strings.Contains(s, "not judged") }) {
			t.Errorf("notes: %q", r.report.Notes)
		}
		switch {
		case c.suspect == "" && r.status != 0:
			t.Errorf("a healthy program: %s", r.stderr)
		case c.suspect != "" && (r.status != 1 || len(r.report.CPoints[0].Suspects) == 0 || !strings.Contains(r.report.CPoints[0].Suspects[0].Source, c.suspect)):
			t.Errorf("status %d: %s", r.status, r.stderr)
		}
	}
}

// TestWindow: the history begins and ends where it is told to, with what there was.
func TestWindow(t *testing.T) {
	t.Parallel()
	bin, spec := churn(t)
	for _, engine := range []string{"inline", "ebpf"} {
		for _, c := range []struct {
			name, bad string
			flags     []string
			status    int
			suspect   string
			note      string
			cpoints   int
		}{
			{"healthy", "0", []string{"--from", "check"}, 0, "", "", 0},
			{"inside", "4990", []string{"--from", "check"}, 1, "/* FAULT */", "", 0},
			{"before", "-7", []string{"--from", "check"}, 1, "", "what broke it is older", 0},
			{"one call", "4990", []string{"--from", "check", "--after", "2", "--to", "check"}, 0, "", "", 2},
			{"one push", "2990", []string{"--from", "push", "--after", "3038", "--to", "check"}, 1, "/* FAULT */", "", 0},
			{"behind", "2990", []string{"--from", "push", "--after", "3041", "--to", "check"}, 1, "", "what broke it is older", 0},
		} {
			if engine == "ebpf" && (c.name == "healthy" || strings.Contains(c.name, "push") || c.name == "behind") {
				continue // as the others, and slow
			}
			t.Run(engine+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				args := append([]string{"run", "--engine", engine, bin, "--spec", spec}, c.flags...)
				r := mgtrace(t, "", append(args, "--", "5000", c.bad)...)
				if r.status != c.status || r.report.Complete || r.report.Begins == nil {
					t.Fatalf("status %d: %+v, %s", r.status, r.report, r.stderr)
				}
				if c.cpoints > 0 && r.report.Checked.CPoints != c.cpoints {
					t.Errorf("%d C-points", r.report.Checked.CPoints)
				}
				if c.status == 0 {
					return
				}
				p := r.report.CPoints[0]
				if c.suspect == "" && len(p.Suspects) > 0 || c.suspect != "" && (len(p.Suspects) == 0 || !strings.Contains(p.Suspects[0].Source, c.suspect)) {
					t.Errorf("suspects: %+v", p.Suspects)
				}
				if !slices.ContainsFunc(p.Notes, func(s string) bool { return strings.Contains(s, c.note) }) && c.note != "" {
					t.Errorf("notes: %q", p.Notes)
				}
			})
		}
	}
}
