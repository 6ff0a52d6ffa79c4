package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mgtrace/doctor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestScript runs the command line as a user does. Scripts that capture say so
// with [capture], or [ebpf] if the kernel's probes must serve, [mount] if they need a namespace with a file system of their
// own; the others need no privileges.
func TestScript(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			bin, err := builds.command()
			if err != nil {
				return err
			}
			e.Setenv("PATH", filepath.Dir(bin)+string(filepath.ListSeparator)+e.Getenv("PATH"))
			e.Setenv("TESTDATA", programs)
			e.Setenv("CHURN", filepath.Join(filepath.Dir(programs), "cmd", "mgtrace", "testdata"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("HOME", e.WorkDir)
			if dir, err := os.UserCacheDir(); err == nil { // where Graphviz is compiled already
				e.Setenv("XDG_CACHE_HOME", dir)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"damage": damage},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "capture":
				return canCapture(""), nil
			case "ebpf":
				return canCapture("") && canCapture("ebpf"), nil
			case "mount":
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).Run() == nil, nil
			}
			return false, nil
		},
	})
}

// damage changes a byte of a file, so many tenths of its length from its beginning.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: damage FILE TENTHS")
	}
	tenths, err := strconv.Atoi(args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[len(b)*tenths/10] ^= 0xff
	ts.Check(os.WriteFile(path, b, 0o600))
}

// canCapture: this machine and user have what all engines need, or what one needs beside.
func canCapture(engine string) bool {
	for _, f := range doctor.Check() {
		if f.Required && !f.OK && f.Engine == engine {
			return false
		}
	}
	return true
}
