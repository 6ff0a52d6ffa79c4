package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// proposals makes a specification from a program of testdata, which is silent on that program.
func proposals(t *testing.T, compiler, source string, types ...string) (spec, text string) {
	t.Helper()
	needTracing(t)
	bin := filepath.Join(t.TempDir(), "healthy")
	compileTo(t, bin, compiler, source)
	spec = filepath.Join(t.TempDir(), "init.cons")
	if r := mgtraceIn(t, "", append([]string{"spec", "init", bin, "-o", spec}, types...)...); r.status != 0 {
		t.Fatalf("spec init: status %d\n%s", r.status, r.stderr)
	}
	text = read(t, spec)
	if r := mgtraceIn(t, "", "run", "--spec", spec, bin); r.status != 0 {
		t.Fatalf("its own run: status %d\n%s\n%s", r.status, r.stderr, text)
	}
	return spec, text
}

func compileTo(t *testing.T, bin, compiler, source string, flags ...string) {
	t.Helper()
	if out, err := exec.Command(compiler, append(flags, "-g", "-o", bin, source)...).CombinedOutput(); err != nil {
		if _, missing := exec.LookPath(compiler); missing != nil {
			t.Skip(missing)
		}
		t.Fatalf("%v: %s", err, out)
	}
}

// TestSpecInitVector: a vector knows how many elements it has. Another number of the node is
// not taken for that, and so does not speak against the functions that fill the vector.
func TestSpecInitVector(t *testing.T) {
	t.Parallel()
	_, text := proposals(t, "g++", "testdata/steps.cpp", "--type", "Step")
	if strings.Contains(text, "X.id - 1") {
		t.Errorf("a number of the step is taken for the length of a vector:\n%s", text)
	}
	for _, want := range []string{"for I in 0 to X.needs.COUNT - 1, X.needs[I] != NULL", "\ncpoint need(Step*, Step*);"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
}

// TestSpecInitWayBack: the specification of a queue of sys/queue.h, whose way back is a
// pointer to a pointer, is understood, and finds one that is not kept.
func TestSpecInitWayBack(t *testing.T) {
	t.Parallel()
	const source = "testdata/jobs.c"
	spec, text := proposals(t, "gcc", source)
	if !strings.Contains(text, "job X;  X.link.tqe_prev[0] == X;") && !strings.Contains(text, "X.link.tqe_next.link.tqe_prev[0] == X.link.tqe_next") {
		t.Errorf("no way back:\n%s", text)
	}
	faulty := filepath.Join(t.TempDir(), "faulty")
	compileTo(t, faulty, "gcc", source, "-DFAULT")
	r := mgtrace(t, "", "run", "--spec", spec, faulty)
	if r.status != 1 || len(r.report.CPoints[0].Suspects) == 0 {
		t.Fatalf("status %d\n%s", r.status, r.stderr)
	}
	if s := r.report.CPoints[0].Suspects[0]; s.Source != "*after->link.tqe_prev = j;" && s.Source != "j->link.tqe_next = after;" {
		t.Errorf("suspect %s", s.Source)
	}
}

// TestSpecInitOwnStructure: the structure that the program allocates is meant, not what the C library
// does for fopen, nor what std::make_shared puts around it; and a lambda in the program is no hindrance.
func TestSpecInitOwnStructure(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"g++", "clang++-14"} {
		_, text := proposals(t, compiler, "testdata/plans.cpp")
		if !strings.Contains(text, "\ntype Plan;") || !strings.Contains(text, "\ncpoint add(std::shared_ptr<Plan>&, int);") {
			t.Errorf("%s:\n%s", compiler, text)
		}
	}
}

// TestUnknownFunctionOfTemplates: for a name that nothing has, the program's own functions are listed.
func TestUnknownFunctionOfTemplates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin, spec := filepath.Join(dir, "plans"), filepath.Join(dir, "plans.cons")
	compileTo(t, bin, "g++", "testdata/plans.cpp")
	if err := os.WriteFile(spec, []byte("type Plan;\ncpoint nothing_like_it;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := mgtraceIn(t, "", "spec", "check", spec, bin)
	if r.status != 2 || !strings.Contains(r.stderr, "add(std::shared_ptr<Plan>&, int)") || strings.Contains(r.stderr, "_init") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
