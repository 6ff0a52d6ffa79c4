package target

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patienceOfTests bounds every run: a test that needs it fails. It is far more than anything takes on a busy machine.
const patienceOfTests = 8 * time.Minute

// builds compiles each program once for all tests.
type builds struct {
	mu   sync.Mutex
	dir  string
	made map[string]string
}

var programs = builds{made: make(map[string]string)}

func TestMain(m *testing.M) {
	if helper := os.Getenv("TARGET_TEST_TRACER"); helper != "" {
		switch helper {
		case "1":
			os.Exit(tracerMain(os.Args[1:]))
		case "detours":
			if err := detoursMain(os.Args[1:]); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			os.Exit(0)
		}
		os.Exit(attachMain(helper, os.Args[1:]))
	}
	dir, err := os.MkdirTemp("", "target")
	if err != nil {
		panic(err)
	}
	programs.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build compiles testdata/NAME.c.
func build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	key := name + strings.Join(flags, "")
	if path, ok := programs.made[key]; ok {
		return path
	}
	path := filepath.Join(programs.dir, key)
	args := append([]string{"-g", "-O1", "-pthread", "-o", path, filepath.Join("testdata", name+".c")}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Skipf("gcc %v: %v\n%s", args, err, out)
	}
	programs.made[key] = path
	return path
}

// session is one launched program and what happened to it.
type session struct {
	t      *testing.T
	p      *Process
	out    *os.File
	events []string
}

func launch(t *testing.T, c Command) *session {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Stdin == nil {
		if c.Stdin, err = os.Open(os.DevNull); err != nil {
			t.Fatal(err)
		}
		defer c.Stdin.Close()
	}
	if c.Stdout == nil {
		c.Stdout = out
	}
	if c.Stderr == nil {
		c.Stderr = out
	}
	p, err := Launch(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, p: p, out: out}
	t.Cleanup(func() {
		pid := p.PID()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		// One that was followed is its own parent's to bury.
		if st := state(pid); st != "" && st != "Z" && st != "X" {
			t.Errorf("process %d is still there, in state %s", pid, st)
		}
		noChildren(t)
		out.Close()
	})
	return s
}

func (s *session) log(format string, args ...any) {
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

// run lets the program run with handlers that log.
func (s *session) run(ctx context.Context, h Handlers) ExitStatus {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patienceOfTests)
	defer cancel()
	wrap := Handlers{
		OnCrash: func(c Crash) {
			s.log("crash %v", c.Signal)
			if h.OnCrash != nil {
				h.OnCrash(c)
			}
		},
		OnExit: func(e Exit) {
			s.log("exit %v", e.Status)
			if h.OnExit != nil {
				h.OnExit(e)
			}
		},
		OnUrge: h.OnUrge,
		OnHold: func(x Hold) {
			s.log("hold %v", x)
			if h.OnHold != nil {
				h.OnHold(x)
			}
		},
		OnExec: func(exe string) {
			s.log("exec %s", filepath.Base(exe))
			if h.OnExec != nil {
				h.OnExec(exe)
			}
		},
		OnFork:   func(pid int) { s.log("fork") },
		OnThread: func(tid int) { s.log("thread") },
	}
	status, err := s.p.Run(ctx, wrap)
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

func (s *session) output() string {
	s.t.Helper()
	b, err := os.ReadFile(s.out.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(bytes.TrimSpace(b))
}

func (s *session) trace() string { return strings.Join(s.events, ", ") }
