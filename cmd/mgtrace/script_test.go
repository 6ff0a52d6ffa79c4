package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mgtrace/doctor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestScript runs the command line as a user does. Scripts that capture say so
// with [capture]; the others need no privileges.
func TestScript(t *testing.T) {
	programs, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TESTDATA", programs)
			e.Setenv("CHURN", filepath.Join(filepath.Dir(programs), "cmd", "mgtrace", "testdata"))
			e.Setenv("NO_COLOR", "1")
			e.Setenv("HOME", e.WorkDir)
			if dir, err := os.UserCacheDir(); err == nil { // where Graphviz is compiled already
				e.Setenv("XDG_CACHE_HOME", dir)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "capture" {
				return canCapture(), nil
			}
			return false, nil
		},
	})
}

// canCapture: this machine and user can run an engine.
func canCapture() bool {
	for _, f := range doctor.Check() {
		if f.Required && !f.OK && f.Engine == "" {
			return false
		}
	}
	return true
}
