package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/bench/real/debian"
	"mgtrace/report"
)

// onEngines runs a test under each engine.
func onEngines(t *testing.T, test func(t *testing.T, engine string)) {
	t.Run("inline", func(t *testing.T) { test(t, "inline") })
	t.Run("ebpf", func(t *testing.T) {
		needCapture(t)
		test(t, "ebpf")
	})
}

// workshop is where the programs of bench/real/debian are built.
func workshop(t *testing.T) *debian.Workshop {
	t.Helper()
	w, err := debian.Open("../../out/real", "../../testdata/real")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// buildReal builds a program, or skips the test if its source can not be had.
func buildReal(t *testing.T, w *debian.Workshop, p debian.Program, optimise string, f *debian.Fault) debian.Built {
	t.Helper()
	b, err := w.Build(p, optimise, f)
	if errors.Is(err, debian.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readyAll makes the source packages of all the programs ready. Errors are told by the tests
// that build them.
func readyAll(w *debian.Workshop) {
	for _, p := range debian.Programs {
		_, _ = w.Source(p.Package)
	}
}

// runReal runs it on its input in a directory of its own.
func runReal(t *testing.T, w *debian.Workshop, p debian.Program, binary string, flags ...string) result {
	t.Helper()
	args := append([]string{"run", "--spec", w.Spec(p)}, flags...)
	args = append(args, p.Flags...)
	args = append(args, binary, "--")
	return mgtraceWith(t, realInput(t, w, p), nil, "", append(args, w.Args(p)...)...)
}

func realInput(t *testing.T, w *debian.Workshop, p debian.Program) string {
	t.Helper()
	dir := t.TempDir()
	if err := w.MakeInput(p, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReal: programs from Debian's source packages print under watch what they print
// without, and nothing is found; and each of their faults is named. Every other one is built without optimisation as well
// (a package takes half a minute), and the kernel's probes record each at one level.
func TestReal(t *testing.T) {
	w := workshop(t)
	go readyAll(w)
	for i, p := range debian.Programs {
		faults, err := w.Faults(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(faults) < 2 {
			t.Errorf("%s has %d faults, want more", p.Name, len(faults))
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel() // with the others: its own builds are one after the other
			for k, optimise := range []string{"-O2", "-O0"}[:1+i%2] {
				t.Run("healthy"+optimise, func(t *testing.T) {
					onEngines(t, func(t *testing.T, engine string) {
						if engine == "inline" || i%2 == k {
							testRealHealthy(t, w, p, optimise, engine)
						}
					})
				})
			}
			for _, f := range faults {
				t.Run(f.Name, func(t *testing.T) { testRealFault(t, w, p, "-O2", &f) })
			}
		})
	}
}

func testRealHealthy(t *testing.T, w *debian.Workshop, p debian.Program, optimise, engine string) {
	b := buildReal(t, w, p, optimise, nil)
	native := exec.Command(b.Binary, w.Args(p)...)
	native.Dir = realInput(t, w, p)
	out, err := native.Output()
	if err != nil {
		t.Fatal(err)
	}
	r := runReal(t, w, p, b.Binary, "--engine", engine)
	if r.status != 0 || len(r.report.CPoints) != 0 || !r.report.Complete || len(r.report.Warnings) > 0 {
		t.Errorf("status %d, report %+v\n%s", r.status, r.report, r.stderr)
	}
	if n := r.report.Checked.CPoints; n < p.CPoints {
		t.Errorf("%d C-points checked, want %d or more", n, p.CPoints)
	}
	if a := r.report.Audit; a == nil || a.Unseen > 0 { // some free all their nodes
		t.Errorf("audit: %+v", a)
	}
	if d := cmp.Diff(string(out), r.stdout); d != "" {
		t.Errorf("output (-native +watched):\n%s", d)
	}
}

func testRealFault(t *testing.T, w *debian.Workshop, p debian.Program, optimise string, f *debian.Fault) {
	b := buildReal(t, w, p, optimise, f)
	// Some faults make it run for ever. A machine may be too busy to come to the others in a few seconds.
	var r result
	for _, limit := range []string{"5s", "25s", "120s"} {
		if r = runReal(t, w, p, b.Binary, "--timeout", limit); r.report.Exit == nil || r.report.Exit.Held == "" {
			break
		}
		if rank, err := b.Rank(&r.report); err != nil || rank > 0 {
			break
		}
	}
	named(t, "run", r, b)
}

// TestRealAway: a recording that is analysed where there is neither the program nor its
// source says what the run said.
func TestRealAway(t *testing.T) {
	w, p := workshop(t), debian.Programs[0]
	faults, err := w.Faults(p)
	if err != nil {
		t.Fatal(err)
	}
	b := buildReal(t, w, p, "-O2", &faults[len(faults)-1])
	text, err := os.ReadFile(b.Binary)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "faulty")
	if err := os.WriteFile(copied, text, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "real.mgt")
	r := runReal(t, w, p, copied, "-o", file)
	named(t, "run", r, b)

	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	hidden := b.Tree + ".away"
	if err := os.Rename(b.Tree, hidden); err != nil {
		t.Fatal(err)
	}
	offline := mgtrace(t, "", "locate", file, "--spec", w.Spec(p))
	if err := os.Rename(hidden, b.Tree); err != nil {
		t.Fatal(err)
	}
	named(t, "locate", offline, b)
	if d := cmp.Diff(r.report.CPoints, offline.report.CPoints); d != "" {
		t.Errorf("C-points (-run +locate):\n%s", d)
	}
}

// named: the first C-point's suspects name the fault, and show its source.
func named(t *testing.T, what string, r result, b debian.Built) {
	t.Helper()
	if r.status != 1 {
		t.Fatalf("%s: status %d, want 1\n%s", what, r.status, r.stderr)
	}
	rank, err := b.Rank(&r.report)
	if err != nil {
		t.Fatal(err)
	}
	suspects := r.report.CPoints[0].Suspects
	if rank == 0 {
		var got []string
		for _, s := range suspects {
			got = append(got, fmt.Sprintf("%d. %s:%d %s %s", s.Rank, s.File, s.Line, s.Kind, s.Source))
		}
		t.Fatalf("%s: the fault is not among the suspects:\n%s", what, strings.Join(got, "\n"))
	}
	if suspects[rank-1].Source == "" {
		t.Errorf("%s: suspect %d shows no source", what, rank)
	}
}

// strangers are programs of others, run without a specification: they must do
// what they do without us, and none may be accused of a memory fault.
var strangers = []struct {
	name string
	args []string
}{
	{"ls", []string{"-lR", "."}},
	{"sort", []string{"-n", "numbers"}},
	{"awk", []string{"{a[$1%7]+=$1} END {for (k in a) print k, a[k]}", "numbers"}},
	{"grep", []string{"-rn", "4", "."}},
	{"tar", []string{"cf", "-", "--sort=name", "--mtime=@0", "numbers"}},
	{"sed", []string{"-e", "s/1/one/g", "-e", "$!N;P;D", "numbers"}},
	{"bash", []string{"-c", "for i in 1 2 3; do x=$((i*2)); echo $x ${x#1}; done; a=(1 2); echo ${a[@]}; exit 3"}},
	{"gzip", []string{"-nc", "numbers"}},
	{"diff", []string{"numbers", "other"}},
	{"make", []string{"-n", "-f", "makefile"}},
	{"perl", []string{"-e", `my %h; $h{$_ % 5} .= $_ for 1..20; print join(",", map {"$_=$h{$_}"} sort keys %h), "\n"`}},
	{"git", []string{"--version"}},
	{"sqlite3", []string{":memory:", "create table t(a,b); insert into t values(1,2),(3,4); select sum(a) from t;"}},
}

func TestStrangers(t *testing.T) {
	t.Parallel()
	onEngines(t, testStrangers)
}

func testStrangers(t *testing.T, engine string) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"numbers":  numbers(50),
		"other":    numbers(40),
		"makefile": "all: a b\n\techo $^\na b:\n\techo $@\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range strangers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(s.name); err != nil {
				t.Skip(err)
			}
			var out, errs bytes.Buffer
			native := exec.Command(s.name, s.args...)
			native.Dir, native.Stdout, native.Stderr = dir, &out, &errs
			if err := native.Run(); native.ProcessState == nil {
				t.Fatal(err)
			}
			r := mgtraceWith(t, dir, nil, "", append([]string{"run", "--engine", engine, s.name, "--"}, s.args...)...)
			if r.status != 0 || len(r.report.CPoints) > 0 || !r.report.Complete || len(r.report.Warnings) > 0 {
				t.Errorf("status %d, complete %v, warnings %q:\n%+v", r.status, r.report.Complete, r.report.Warnings, r.report.CPoints)
			}
			// sed reads with getdelim, which stores the line's address and size
			// through pointers to a node: known not to be seen.
			if a := r.report.Audit; a == nil || a.Unseen > 0 && s.name != "sed" {
				t.Errorf("audit: %+v", a)
			}
			if d := cmp.Diff(out.String(), r.stdout); d != "" {
				t.Errorf("output (-native +watched):\n%s", d)
			}
			if d := cmp.Diff(errs.String(), r.stderr); d != "" {
				t.Errorf("standard error (-native +watched):\n%s", d)
			}
			if want := native.ProcessState.ExitCode(); exitStatusOf(r.report.Exit) != want {
				t.Errorf("exit %+v, want %d", r.report.Exit, want)
			}
		})
	}
}

// exitStatusOf is -1 where the report tells of no status.
func exitStatusOf(e *report.Exit) int {
	if e == nil || e.Status == nil {
		return -1
	}
	return *e.Status
}

func numbers(n int) string {
	var b strings.Builder
	for ; n > 0; n-- {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}
