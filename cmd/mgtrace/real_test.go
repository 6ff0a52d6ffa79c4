package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/report"
)

// coreutils builds ls from Debian's source, once, and returns where it is.
func coreutils(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../out/coreutils")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("../../scripts/coreutils", dir).CombinedOutput()
	if err != nil && regexp.MustCompile(`Could not resolve|Unable to connect|Failed to fetch|apt-get: not found|Temporary failure`).Match(out) {
		t.Skipf("coreutils can not be fetched: %s", out)
	}
	if err != nil {
		t.Fatalf("scripts/coreutils: %v\n%s", err, out)
	}
	return dir
}

// tree makes directories three levels deep with some files in each.
func tree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for i := range 3 {
		for j := range 3 {
			dir := filepath.Join(root, fmt.Sprintf("dir%d", i), fmt.Sprintf("sub%d", j), "deep")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for k := range j + 1 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d", k)), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return root
}

// onEngines runs a test under each engine.
func onEngines(t *testing.T, test func(t *testing.T, engine string)) {
	t.Run("inline", func(t *testing.T) { test(t, "inline") })
	t.Run("ebpf", func(t *testing.T) {
		needCapture(t)
		test(t, "ebpf")
	})
}

const lsSpec = "../../testdata/coreutils/ls.cons"

// TestLsHealthy: ls -R under watch prints what it prints without, and nothing
// is found.
func TestLsHealthy(t *testing.T) { onEngines(t, testLsHealthy) }

func testLsHealthy(t *testing.T, engine string) {
	dir, root := coreutils(t), tree(t)
	ls := filepath.Join(dir, "ls")
	native, err := exec.Command(ls, "-R", root).Output()
	if err != nil {
		t.Fatal(err)
	}
	r := mgtrace(t, "", "run", "--engine", engine, ls, "--spec", lsSpec, "--", "-R", root)
	if r.status != 0 || len(r.report.CPoints) != 0 || !r.report.Complete || len(r.report.Warnings) > 0 {
		t.Errorf("status %d, report %+v\n%s", r.status, r.report, r.stderr)
	}
	// Each directory is queued: the root, 3, 9 and 9.
	if n := r.report.Checked.CPoints; n < 2*22 {
		t.Errorf("%d C-points checked, want the entry and return of 22 calls", n)
	}
	if a := r.report.Audit; a == nil || a.Unseen > 0 || a.Nodes == 0 {
		t.Errorf("audit: %+v", a)
	}
	if d := cmp.Diff(string(native), r.stdout); d != "" {
		t.Errorf("output (-native +watched):\n%s", d)
	}
}

// TestLsFaulty: the fault that testdata/coreutils/ls-fault.patch puts in is
// named, by run, and by locate from the file in a place that has neither the
// program nor its source.
func TestLsFaulty(t *testing.T) { onEngines(t, testLsFaulty) }

func testLsFaulty(t *testing.T, engine string) {
	dir, root := coreutils(t), tree(t)
	truth := faults(t, filepath.Join(dir, "ls-faulty.c"))

	// A copy that can be taken away.
	away := t.TempDir()
	ls := filepath.Join(away, "ls-faulty")
	b, err := os.ReadFile(filepath.Join(dir, "ls-faulty"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ls, b, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ls.mgt")
	source := filepath.Join(dir, "src-faulty")
	r := mgtrace(t, "", "run", "--engine", engine, ls, "--spec", lsSpec, "-o", file, "--", "-R", root)
	named(t, "run", r, truth)

	if err := os.Remove(ls); err != nil {
		t.Fatal(err)
	}
	hidden := source + ".away"
	if err := os.Rename(source, hidden); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(hidden, source)
	offline := mgtrace(t, "", "locate", file, "--spec", lsSpec)
	named(t, "locate", offline, truth)
	if d := cmp.Diff(r.report.CPoints, offline.report.CPoints); d != "" {
		t.Errorf("C-points (-run +locate):\n%s", d)
	}
}

// named: the true line is the first suspect's or another's of the first C-point.
func named(t *testing.T, what string, r result, truth []int) {
	t.Helper()
	if r.status != 1 || len(r.report.CPoints) == 0 {
		t.Fatalf("%s: status %d, want 1\n%s", what, r.status, r.stderr)
	}
	for _, s := range r.report.CPoints[0].Suspects {
		if s.File == "ls.c" && s.Line == truth[0] {
			if s.Source == "" {
				t.Errorf("%s: suspect %d shows no source", what, s.Rank)
			}
			return
		}
	}
	t.Errorf("%s: line %v is not among the suspects: %+v", what, truth, r.report.CPoints[0].Suspects)
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

func TestStrangers(t *testing.T) { onEngines(t, testStrangers) }

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
	t.Chdir(dir)
	for _, s := range strangers {
		t.Run(s.name, func(t *testing.T) {
			if _, err := exec.LookPath(s.name); err != nil {
				t.Skip(err)
			}
			var out, errs bytes.Buffer
			native := exec.Command(s.name, s.args...)
			native.Stdout, native.Stderr = &out, &errs
			if err := native.Run(); native.ProcessState == nil {
				t.Fatal(err)
			}
			r := mgtrace(t, "", append([]string{"run", "--engine", engine, "--timeout", "60s", s.name, "--"}, s.args...)...)
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
