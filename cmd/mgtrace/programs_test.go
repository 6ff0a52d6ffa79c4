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
	"strconv"
	"strings"
	"testing"
	"time"

	"mgtrace/doctor"
	"mgtrace/report"
)

func TestMain(m *testing.M) {
	status := m.Run()
	builds.remove() // what the tests compiled
	os.Exit(status)
}

// needCapture skips a test on a machine that can not run all engines, with the reason.
func needCapture(t *testing.T) {
	t.Helper()
	for _, f := range doctor.Check() {
		if f.Required && !f.OK {
			t.Skipf("%s: %s", f.Name, f.Detail)
		}
	}
}

// needTracing skips a test that needs an engine, but not the kernel's probes.
func needTracing(t *testing.T) {
	t.Helper()
	if !canCapture("") {
		t.Skip("this machine or user can not capture; see mgtrace doctor")
	}
}

// patience bounds what may hang: a test that needs it fails. It is far more than anything takes on a busy machine.
const patience = 10 * time.Minute

// result of one run of mgtrace.
type result struct {
	status         int
	report         report.Report
	stdout, stderr string
}

// mgtrace runs the command with --json --report added.
func mgtrace(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return mgtraceWith(t, "", nil, stdin, args...)
}

// mgtraceWith does so in a directory, and with variables added to its environment.
func mgtraceWith(t *testing.T, dir string, env []string, stdin string, args ...string) result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	r := execute(t, dir, env, stdin, append([]string{args[0], "--json", "--report", file}, args[1:]...)...)
	if b, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(b, &r.report); err != nil {
			t.Fatalf("report: %v\n%s", err, b)
		}
	}
	return r
}

// mgtraceIn runs the command with a file, if one is named, as its standard input.
func mgtraceIn(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return execute(t, "", nil, stdin, args...)
}

func execute(t *testing.T, dir string, env []string, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool(t), args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
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
	return result{status: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
}

// A program is a source file of testdata/programs. Its first lines may hold
//
//	spec: ../specs/x.cons    the specification, if it is not its own x.cons
//	build: clang-14 -no-pie  the compiler and its flags; else gcc or g++
//	run: --module LIB        further flags of mgtrace run
//	engine: inline           the kernel's probes can not record it
//
// Without either specification it is run without one, for its memory faults.
type program struct {
	source string
	spec   string
	stdin  string
	build  []string
	flags  []string
	engine string   // of inline and ebpf the only one that can record it; "": both can
	env    []string // for mgtrace, and so for it
}

// name is that of the binary: the source's, without its ending.
func (p program) name() string {
	return strings.TrimSuffix(filepath.Base(p.source), filepath.Ext(p.source))
}

// programs reads the directives of all programs.
func programs(t *testing.T) []program {
	t.Helper()
	return programsIn(t, "../../testdata/programs")
}

func programsIn(t *testing.T, dir string) []program {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []program
	for _, e := range entries {
		p := program{source: filepath.Join(dir, e.Name()), build: []string{"gcc"}}
		switch filepath.Ext(p.source) {
		case ".c":
		case ".cpp":
			p.build[0] = "g++"
		default:
			continue
		}
		base := filepath.Join(dir, p.name())
		if _, err := os.Stat(base + ".cons"); err == nil {
			p.spec = base + ".cons"
		}
		if _, err := os.Stat(base + ".in"); err == nil {
			p.stdin = base + ".in"
		}
		p.directives(t, dir)
		all = append(all, p)
	}
	return all
}

// directives reads the comments of one line with which the source begins.
func (p *program) directives(t *testing.T, dir string) {
	t.Helper()
	src, err := os.ReadFile(p.source)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(src)) {
		text := strings.TrimSpace(line)
		text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "/*"), "//"), "*/")
		key, value, ok := strings.Cut(strings.TrimSpace(text), ": ")
		switch {
		case !ok:
			return
		case key == "spec":
			p.spec = filepath.Join(dir, value)
		case key == "build":
			p.build = strings.Fields(value)
		case key == "run":
			p.flags = strings.Fields(value)
		case key == "engine":
			p.engine = value
		}
	}
}

// compile builds the program into a directory of its own, which other tests that want
// the same see too.
func (p program) compile(t *testing.T, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(p.build[0]); err != nil {
		t.Skip(err)
	}
	bin, err := builds.compile(p.build[0], p.source, p.name(), slices.Concat([]string{"-g"}, p.build[1:], flags))
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// run runs the binary with the program's specification and input.
func (p program) run(t *testing.T, engine, bin string) result {
	t.Helper()
	args := append([]string{"run", "--engine", engine, bin}, p.flags...)
	if p.spec != "" {
		args = append(args, "--spec", p.spec)
	}
	return mgtraceWith(t, "", p.env, p.stdin, args...)
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

// TestPrograms runs every program of testdata/programs twice: with its fault, which must be
// among the suspects, and as its correct twin, which must stay silent, each at one level of
// optimisation by turns. What the kernel's probes report is the same (TestEngines), and to
// load, put in and take out takes longer than most of the runs: under them a quarter of the programs
// are run once, at one of the levels, in one of the forms, by turns; one that only they can record, in all.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for i, p := range programs(t) {
		for k, opt := range []string{"-O0", "-O2"} {
			for _, engine := range []string{"inline", "ebpf"} {
				turns := engine == "ebpf" && p.engine == ""
				if turns && (i%2 != k || i%16 >= 4) { // four of sixteen: each level in each form
					continue
				}
				t.Run(p.name()+opt+"/"+engine, func(t *testing.T) {
					if p.engine != "" && engine != p.engine {
						t.Skipf("only the engine %s records what this specification needs", p.engine)
					}
					if engine == "ebpf" {
						needCapture(t)
					}
					t.Parallel()
					fault, twin := i%2 != k || p.engine != "", i%2 == k || p.engine != ""
					if turns {
						fault, twin = i/2%2 == 0, i/2%2 == 1
					}
					if fault {
						t.Run("fault", func(t *testing.T) { testFault(t, p, engine, opt) })
					}
					if twin {
						t.Run("twin", func(t *testing.T) { testTwin(t, p, engine, opt) })
					}
				})
			}
		}
	}
}

func testFault(t *testing.T, p program, engine, opt string) {
	bin := p.compile(t, opt, "-DFAULT")
	r := p.run(t, engine, bin)
	if r.status != 1 {
		t.Fatalf("status %d, want 1\n%s", r.status, r.stderr)
	}
	truth := faults(t, p.source)
	lineOf := func(s report.Suspect) (string, int) { return s.File, s.Line }
	if slices.Contains(p.build, "-g0") {
		// Without debug information the report names addresses. Code does not
		// change with -g, so that a second build knows their lines.
		twin := p.compile(t, opt, "-DFAULT", "-g")
		lineOf = func(s report.Suspect) (string, int) { return lineAt(t, twin, s) }
	}
	var got []string
	for _, c := range r.report.CPoints {
		for _, s := range c.Suspects {
			file, line := lineOf(s)
			if filepath.Base(file) == filepath.Base(p.source) && slices.Contains(truth, line) {
				return
			}
			got = append(got, fmt.Sprintf("%d. %s:%d %s", s.Rank, file, line, s.Source))
		}
	}
	t.Errorf("the true statement (line %v) is not among the suspects:\n%s", truth, strings.Join(got, "\n"))
}

// What compilers do with functions and blocks of which they see all is no fault: a count that
// stays in a register over all of main, a store that nothing reads, a block in static memory, a
// copy of a function for some of its calls, which is passed less, recursion that begins in
// an inlined instance whose entry is not known, and a pointer in static memory that is gone. A field of
// blocks that a loop makes anew is judged, whichever of its stores were left out.
func TestOptimised(t *testing.T) {
	t.Parallel()
	all := slices.Concat(programsIn(t, "../../testdata/optimised"), programs(t))
	for _, c := range []struct {
		name, compiler, flags string
		judged                bool // the fault is found: it is in what memory holds
	}{
		{"vertex-heap", "gcc", "-O2", true},
		{"vertex-heap", "clang-14", "-O2", false},
		{"page-cache", "gcc", "-O2", true},
		{"expressions", "clang-14", "-O2", true},
		{"avl-recursive", "gcc", "-O3", true},
		{"parented-treap", "clang-14", "-O2", true},
		{"pairing-heap", "g++", "-O2", true},
		{"arena-table", "gcc", "-O3 -fno-inline", true},
		{"static-arena", "gcc", "-O3 -fwhole-program", true},
		{"arc-twins", "clang-14", "-O3", true},
		{"interval-tree", "g++", "-O2", true},
		{"scope-table", "clang-14", "-O2", false}, // the table is gone, and what leads from it to the scopes
		{"unique-list", "clang++-14", "-O2", true},
		{"vector-erase", "clang++-14", "-O2", true},
		{"point-trie", "gcc", "-O2", true}, // a zeroed field of which the store of 0 is left out
		{"point-trie", "clang-14", "-O2", true},
		{"leaf-chain", "gcc", "-O2", true},
		{"leaf-chain", "clang-14", "-O2", true}, // the tree is gone, and what leads from it to the leaves
		{"two-ways", "gcc", "-O2", true},        // one store of two, at the line of one of them
		{"two-ways", "clang-14", "-O2", true},
		{"two-queues", "gcc", "-O2", true},
		{"two-queues", "clang-14", "-O2", true}, // what was left out, or merged, and is not executed again
		{"job-vector", "g++", "-O2", true},      // the same of a library's header
		{"left-nothing", "gcc", "-O2", true},
		{"left-nothing", "clang-14", "-O2", true},
		{"index-pool", "gcc", "-O2", true},
		{"index-pool", "clang-14", "-O2", true},
		{"vector-tree", "g++", "-O2 -D_GLIBCXX_DEBUG", true}, // the debug mode of the library has containers of its own
		{"list-elements", "g++", "-O0 -D_GLIBCXX_DEBUG", true},
	} {
		t.Run(c.name+"/"+c.compiler, func(t *testing.T) {
			t.Parallel()
			p := all[slices.IndexFunc(all, func(p program) bool { return p.name() == c.name })]
			p.build = []string{c.compiler}
			flags := strings.Fields(c.flags)
			if twin := p.run(t, "inline", p.compile(t, flags...)); twin.status != 0 {
				t.Errorf("the twin: status %d\n%s", twin.status, twin.stdout)
			}
			want := 0
			if c.judged {
				want = 1
			}
			if r := p.run(t, "inline", p.compile(t, append(flags, "-DFAULT")...)); r.status != want {
				t.Errorf("with its fault: status %d, want %d\n%s", r.status, want, r.stderr)
			}
		})
	}
}

// An index that leads out of an array is not what a statement should have stored, and is told as the type has it.
func TestIndexLeadsOut(t *testing.T) {
	t.Parallel()
	needTracing(t)
	all := programs(t)
	p := all[slices.IndexFunc(all, func(p program) bool { return p.name() == "index-list" })]
	r := p.run(t, "inline", p.compile(t, "-O0", "-DFAULT"))
	if r.status != 1 {
		t.Fatalf("status %d\n%s", r.status, r.stderr)
	}
	s := r.report.CPoints[0].Suspects[0]
	if why := strings.Join(s.Evidence, "; "); !strings.Contains(s.Why, "pool#1.tail = 1") || !strings.Contains(why, "slots#1[1].next = 65534 would mend the inconsistency, but only because a constraint would look at less") {
		t.Errorf("%s\n%s", s.Why, why)
	}
}

// What a compiler keeps in registers is not broken before a memory fault: its statement is the first suspect.
func TestKeptInRegisters(t *testing.T) {
	t.Parallel()
	needTracing(t)
	all := programsIn(t, "../../testdata/optimised")
	p := all[slices.IndexFunc(all, func(p program) bool { return p.name() == "index-pool" })]
	for _, flags := range []string{"-O1", "-O2", "-O3"} {
		p.build = []string{"clang-14"}
		r := p.run(t, "inline", p.compile(t, flags, "-DFAULT"))
		if r.status != 1 || !slices.Contains(faults(t, p.source), r.report.CPoints[0].Suspects[0].Line) {
			t.Errorf("%s: status %d\n%s%s", flags, r.status, r.stdout, r.stderr)
		}
	}
}

// A function of which the compiler leaves nothing is no C-point, and that is said; a name that the sources do not define
// is an error.
func TestLeftNothing(t *testing.T) {
	t.Parallel()
	needTracing(t)
	all := programsIn(t, "../../testdata/optimised")
	p := all[slices.IndexFunc(all, func(p program) bool { return p.name() == "left-nothing" })]
	for _, compiler := range []string{"gcc", "clang-14"} {
		p.build = []string{compiler}
		for flags, want := range map[string]bool{"-O0": false, "-O2": true, "-O2 -DVERIFY": false} {
			r := p.run(t, "inline", p.compile(t, strings.Fields(flags)...))
			if got := slices.ContainsFunc(r.report.Warnings, func(w string) bool { return strings.Contains(w, "left no code of `verify`") }); r.status != 0 || got != want {
				t.Errorf("%s %s: status %d, %q", compiler, flags, r.status, r.report.Warnings)
			}
		}
	}
}

// The correct twins stay silent at what clang makes of them too, at -O2 and -O3 by turns: each costs a second. Of those in C
// that are no matter of optimisation it is every other two.
func TestTwinsOfClang(t *testing.T) {
	t.Parallel()
	needTracing(t)
	gone := []string{"called-seats", "static-list", "vector-tree"} // what the specification declares may have no place in memory any more: that is said
	for i, p := range slices.Concat(programsIn(t, "../../testdata/optimised"), programs(t)) {
		if p.engine == "ebpf" || i%4 > 1 && !strings.Contains(p.source, "optimised") {
			continue
		}
		level := []string{"-O2", "-O3"}[i%2]
		p.build = slices.Clone(p.build)
		switch p.build[0] {
		case "gcc":
			p.build[0] = "clang-14"
		case "g++":
			p.build[0] = "clang++-14"
		}
		t.Run(p.name()+level, func(t *testing.T) {
			t.Parallel()
			if r := p.run(t, "inline", p.compile(t, level)); r.status != 0 && !(r.status == 2 && slices.Contains(gone, p.name())) {
				t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
			}
		})
	}
}

// Calls are the same in number wherever the compiler has inlined them: into loops, with what is
// around in between, with parts of them elsewhere.
func TestInlinedCalls(t *testing.T) {
	t.Parallel()
	needTracing(t)
	all := slices.Concat(programsIn(t, "../../testdata/optimised"), programs(t))
	for name, builds := range map[string][]string{
		"parented-treap": {"gcc -O2", "clang-14 -O2"},
		"pairing-heap":   {"g++ -O2", "clang++-14 -O2"},
		"vertex-heap":    {"gcc -O3", "clang-14 -O1"}, // a turn of a loop in the instance begins in the caller's code
		"avl":            {"gcc -O2", "clang-14 -O2"}, // a load was taken out of the loop that has the call
		"bipartite":      {"gcc -O2", "clang-14 -O1"},
	} {
		i := slices.IndexFunc(all, func(p program) bool { return p.name() == name })
		p := all[i]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := p.run(t, "inline", p.compile(t, "-O0")).report.Checked.CPoints
			for _, build := range builds {
				compiler, level, _ := strings.Cut(build, " ")
				p.build = []string{compiler}
				r := p.run(t, "inline", p.compile(t, level))
				if r.status != 0 || r.report.Checked.CPoints != want {
					t.Errorf("%s: status %d, %d C-points, want %d\n%s", build, r.status, r.report.Checked.CPoints, want, r.stderr)
				}
			}
		})
	}
}

// A program with a sanitizer, which claims much of the address space, is recorded like any
// other: it finds its fault, and is silent without.
func TestSanitizers(t *testing.T) {
	t.Parallel()
	needCapture(t) // ThreadSanitizer leaves only the kernel's probes
	for flag, inline := range map[string]bool{"-fsanitize=address": true, "-fsanitize=thread": false, "-fsanitize=undefined": true} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			p := program{source: "../../testdata/programs/avl.c", spec: "../../testdata/programs/avl.cons", build: []string{"gcc", flag},
				env: []string{"ASAN_OPTIONS=detect_leaks=0"}}
			testFault(t, p, "auto", "-O1")
			testTwin(t, p, "auto", "-O1")
			if r := p.run(t, "inline", p.compile(t, "-O1")); (r.status == 0) != inline || !inline && !strings.Contains(r.stderr, "use --engine ebpf") {
				t.Errorf("in the process: status %d\n%s", r.status, r.stderr)
			}
		})
	}
}

// lineAt asks binutils for the line of a suspect that the report gives by its
// address only.
func lineAt(t *testing.T, bin string, s report.Suspect) (file string, line int) {
	t.Helper()
	if s.File != "" || s.Line != 0 || s.Address == "" {
		t.Errorf("suspect of a program without lines: %s:%d at %q", s.File, s.Line, s.Address)
	}
	out, err := exec.Command("addr2line", "-e", bin, s.Address).Output()
	if err != nil {
		t.Fatal(err)
	}
	file, number, _ := strings.Cut(strings.Fields(string(out))[0], ":")
	if line, err = strconv.Atoi(number); err != nil {
		t.Logf("addr2line: %s", out)
	}
	return file, line
}

func testTwin(t *testing.T, p program, engine, opt string) {
	bin := p.compile(t, opt)
	r := p.run(t, engine, bin)
	if r.status != 0 || len(r.report.CPoints) != 0 {
		t.Errorf("status %d, %d inconsistent C-points, want none:\n%+v\n%s", r.status, len(r.report.CPoints), r.report.CPoints, r.stderr)
	}
	if r.report.Checked.CPoints == 0 && p.spec != "" {
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
