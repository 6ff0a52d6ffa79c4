package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mgtrace/doctor"
	"mgtrace/report"
)

// asMain makes the test binary behave as mgtrace, so that the tests run the
// command itself, in a process of its own.
const asMain = "MGTRACE_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"mgtrace": main})
}

// needCapture skips a test on a machine that can not capture, with the reason.
func needCapture(t *testing.T) {
	t.Helper()
	for _, f := range doctor.Check() {
		if f.Required && !f.OK {
			t.Skipf("%s: %s", f.Name, f.Detail)
		}
	}
}

// result of one run of mgtrace.
type result struct {
	status         int
	report         report.Report
	stdout, stderr string
}

// mgtrace runs the command with --json --report added.
func mgtrace(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "report.json")
	args = append([]string{args[0], "--json", "--report", file}, args[1:]...)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	if stdin != "" {
		in, err := os.Open(stdin)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{status: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
	if b, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(b, &r.report); err != nil {
			t.Fatalf("report: %v\n%s", err, b)
		}
	}
	return r
}

// compile builds a program of testdata/programs; flags may hold -DFAULT.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	cc := "gcc"
	if strings.HasSuffix(source, ".cpp") {
		cc = "g++"
	}
	bin := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), filepath.Ext(source)))
	args := append([]string{"-g", "-pthread", "-o", bin, source}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", cc, strings.Join(args, " "), err, out)
	}
	return bin
}

// faults lists the lines of a source file that are marked FAULT.
func faults(t *testing.T, source string) []int {
	t.Helper()
	b, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for i, l := range strings.Split(string(b), "\n") {
		if strings.Contains(l, "/* FAULT */") || strings.Contains(l, "// FAULT") {
			lines = append(lines, i+1)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("%s marks no line FAULT", source)
	}
	return lines
}

// TestPrograms runs every program of testdata/programs twice: with its fault,
// which must be among the suspects, and as its correct twin, which must stay
// silent.
func TestPrograms(t *testing.T) {
	needCapture(t)
	specs, err := filepath.Glob("../../testdata/programs/*.cons")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, spec := range specs {
		base := strings.TrimSuffix(spec, ".cons")
		source := base + ".c"
		if _, err := os.Stat(source); err != nil {
			source = base + ".cpp"
		}
		stdin := ""
		if _, err := os.Stat(base + ".in"); err == nil {
			stdin = base + ".in"
		}
		for _, opt := range []string{"-O0", "-O2"} {
			t.Run(filepath.Base(base)+opt, func(t *testing.T) {
				t.Run("fault", func(t *testing.T) { testFault(t, source, spec, stdin, opt) })
				t.Run("twin", func(t *testing.T) { testTwin(t, source, spec, stdin, opt) })
			})
		}
	}
}

func testFault(t *testing.T, source, spec, stdin, opt string) {
	bin := compile(t, source, opt, "-DFAULT")
	r := mgtrace(t, stdin, "run", bin, "--spec", spec)
	if r.status != 1 {
		t.Fatalf("status %d, want 1\n%s", r.status, r.stderr)
	}
	truth := faults(t, source)
	var got []string
	for _, c := range r.report.CPoints {
		for _, s := range c.Suspects {
			if filepath.Base(s.File) == filepath.Base(source) && slices.Contains(truth, s.Line) {
				return
			}
			got = append(got, fmt.Sprintf("%d. %s:%d %s", s.Rank, s.File, s.Line, s.Source))
		}
	}
	t.Errorf("the true statement (line %v) is not among the suspects:\n%s", truth, strings.Join(got, "\n"))
}

func testTwin(t *testing.T, source, spec, stdin, opt string) {
	bin := compile(t, source, opt)
	r := mgtrace(t, stdin, "run", bin, "--spec", spec)
	if r.status != 0 || len(r.report.CPoints) != 0 {
		t.Errorf("status %d, %d inconsistent C-points, want none:\n%+v\n%s", r.status, len(r.report.CPoints), r.report.CPoints, r.stderr)
	}
	if r.report.Checked.CPoints == 0 {
		t.Error("nothing was checked")
	}
	if !r.report.Complete {
		t.Errorf("incomplete: %v", r.report.Why)
	}
	if a := r.report.Audit; a == nil || a.Unseen > 0 || a.Nodes == 0 && r.report.Exit == nil {
		t.Errorf("audit: %+v", a)
	}
	if len(r.report.Warnings) > 0 {
		t.Errorf("warnings: %q", r.report.Warnings)
	}
}
