package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/report"
)

// shape is one way to leave a block: a source of testdata/overflow with its settings.
type shape struct {
	source string
	flags  []string
	fault  string // of the report
}

func (s shape) name() string {
	return s.source + strings.ReplaceAll(strings.Join(s.flags, ""), "-D", ".")
}

// shapes are those of the RIPE testbed (thesis, table 3.5), and blocks after their life.
func shapes() (all []shape) {
	for i, how := range strings.Fields("MEMCPY STRCPY STRNCPY STRCAT STRNCAT SPRINTF SNPRINTF SSCANF READ LOOP POINTER") {
		add := func(target, fault string, flags ...string) {
			all = append(all, shape{source: "shapes", flags: append(flags, "-DTARGET="+target, "-DHOW="+how), fault: fault})
		}
		add("FUNCTION", "overflow", "-O0")
		add("MEMBER", "field overflow", "-O2", "-DINDIRECT")
		add("STRUCT", "field overflow", "-O0")
		add("STRUCT", "field overflow", "-O0", "-DSET")
		add("STRUCT", "field overflow", "-O1", "-DINDIRECT")
		if i%5 == 1 { // the target decides on nothing that is measured
			add("JUMP", "overflow", "-O2")
			add("RETURN", "overflow", "-O2", "-DINDIRECT")
			add("FRAME", "overflow", "-O0", "-DINDIRECT")
		}
	}
	for how, fault := range map[string]string{"READ": "use after free", "WRITE": "use after free", "MOVED": "use after free",
		"TWICE": "double free", "MIDDLE": "invalid free", "LATER": "use after free"} {
		all = append(all, shape{source: "lives", flags: []string{"-O0", "-DHOW=" + how}, fault: fault})
	}
	for _, how := range []string{"POSIX", "ALIGNED", "MEMALIGN"} {
		all = append(all, shape{source: "aligned", flags: []string{"-O0", "-DHOW=" + how}, fault: "overflow"})
	}
	slices.SortFunc(all, func(a, b shape) int { return strings.Compare(a.name(), b.name()) })
	return all
}

func (s shape) compile(t *testing.T, flags ...string) string {
	t.Helper()
	return compileOverflow(t, "../../testdata/overflow/"+s.source+".c", append(slices.Clone(s.flags), flags...)...)
}

func compileOverflow(t *testing.T, source string, flags ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "prog")
	if out, err := exec.Command("gcc", append([]string{"-g", "-w", "-o", bin, source}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return bin
}

// twin is the correct program of a shape, which is that of all that differ in how they copy: it copies in all ways.
func (s shape) twin() shape {
	if s.source == "shapes" {
		s.flags = slices.DeleteFunc(slices.Clone(s.flags), func(f string) bool { return strings.HasPrefix(f, "-DHOW=") })
	}
	return s
}

// TestOverflow finds the shapes at their statements, and nothing in their healthy twins. Of the eleven
// ways to copy each target has every fourth one, by turns.
func TestOverflow(t *testing.T) {
	t.Parallel()
	twins := map[string]bool{}
	for i, s := range shapes() {
		if s.source == "shapes" && i%4 > 0 || testing.Short() && i%7 != 0 {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			s.testFault(t)
		})
		if twin := s.twin(); !twins[twin.name()] {
			twins[twin.name()] = true
			t.Run(twin.name()+"/twin", func(t *testing.T) {
				t.Parallel()
				r := mgtrace(t, "", "overflow", twin.compile(t))
				if r.status != 0 || len(r.report.CPoints) != 0 || !r.report.Complete {
					t.Errorf("status %d, complete %v %v\n%+v\n%s", r.status, r.report.Complete, r.report.Why, r.report.CPoints, r.stderr)
				}
				if f := r.report.Followed; f == nil || f.Instructions == 0 || f.Blocks == 0 {
					t.Errorf("nothing was followed: %+v", f)
				}
			})
		}
	}
}

func (s shape) testFault(t *testing.T) {
	r := mgtrace(t, "", "overflow", s.compile(t, "-DFAULT"))
	if r.status != 1 || len(r.report.CPoints) != 1 {
		t.Fatalf("status %d, %d faults, want 1 and 1\n%s", r.status, len(r.report.CPoints), r.stderr)
	}
	c := r.report.CPoints[0]
	truth := faults(t, "../../testdata/overflow/"+s.source+".c")
	if c.Fault != s.fault {
		t.Errorf("%s, want %s", c.Fault, s.fault)
	}
	lines := []int{c.Line}
	for _, p := range c.Suspects[0].Callers {
		lines = append(lines, p.Line)
	}
	for _, p := range c.Suspects[0].Inlined {
		lines = append(lines, p.Line)
	}
	if !slices.ContainsFunc(lines, func(l int) bool { return slices.Contains(truth, l) }) {
		t.Errorf("at lines %v, want one of %v\n%s", lines, truth, r.stderr)
	}
	a := c.Access
	if a == nil || a.Through.Size == 0 || a.Through.Allocated.Line == 0 {
		t.Fatalf("access %+v", a)
	}
	switch s.fault {
	case "overflow":
		// 28 bytes too many by one call, of shapes.c into the next block; a loop is told by its first.
		if (a.Distance != 28 || a.Hit == nil && s.source == "shapes") && (a.Distance != 1 || a.Times != 28) {
			t.Errorf("%+v", a)
		}
	case "field overflow":
		if a.Field != "buffer" || a.FieldSize != 64 {
			t.Errorf("%+v", a)
		}
	case "use after free":
		if a.Through.Freed == nil || len(c.Suspects) != 2 {
			t.Errorf("%+v", a)
		}
	}
}

// The origin of a block that grew is the realloc that gave it its size.
func TestOverflowResized(t *testing.T) {
	t.Parallel()
	s := shape{source: "resized", flags: []string{"-O0"}}
	if r := mgtrace(t, "", "overflow", s.compile(t)); r.status != 0 {
		t.Errorf("correct: status %d: %s", r.status, describeFaults(r.report))
	}
	src, err := os.ReadFile("../../testdata/overflow/resized.c")
	if err != nil {
		t.Fatal(err)
	}
	lineOf := func(mark string) int { return strings.Count(strings.Split(string(src), mark)[0], "\n") + 1 }
	r := mgtrace(t, "", "overflow", s.compile(t, "-DFAULT"))
	for i, want := range []struct {
		mark, resized, allocated string
		size                     uint64
	}{{"/* FIRST", "", "char *last", 40}, {"/* SECOND", "/* GROWN", "char *last", 56}, {"/* THIRD", "", "/* MOVED", 2000}} {
		if i >= len(r.report.CPoints) {
			t.Fatalf("%d faults: %s", i, describeFaults(r.report))
		}
		c := r.report.CPoints[i]
		b := c.Access.Through
		if c.Line != lineOf(want.mark) || b.Size != want.size || b.Allocated.Line != lineOf(want.allocated) ||
			(b.Resized != nil) != (want.resized != "") || b.Resized != nil && b.Resized.Line != lineOf(want.resized) {
			t.Errorf("%s: line %d, %+v, resized %+v", want.mark, c.Line, b, b.Resized)
		}
	}
}

// A program or a library that asks what the allocator granted it may use that, but not what lies
// behind.
// TestOverflowAppended: text that is appended is one byte too long, wherever the block lies that
// it is appended to.
func TestOverflowAppended(t *testing.T) {
	t.Parallel()
	source := "../../testdata/overflow/appended.c"
	for _, at := range []string{"-DAT=0", "-DAT=1"} {
		if r := mgtrace(t, "", "overflow", compileOverflow(t, source, at)); r.status != 0 || len(r.report.CPoints) != 0 {
			t.Errorf("%s, the twin: status %d\n%+v\n%s", at, r.status, r.report.CPoints, r.stderr)
		}
		r := mgtrace(t, "", "overflow", compileOverflow(t, source, at, "-DFAULT"))
		if r.status != 1 || len(r.report.CPoints) != 1 {
			t.Errorf("%s: status %d, %d faults\n%s", at, r.status, len(r.report.CPoints), r.stderr)
			continue
		}
		if c := r.report.CPoints[0]; c.Fault != "overflow" || c.Access == nil || c.Access.Distance != 1 || !slices.Contains(faults(t, source), c.Line) {
			t.Errorf("%s: %s at line %d, %+v", at, c.Fault, c.Line, c.Access)
		}
	}
}

func TestOverflowGranted(t *testing.T) {
	t.Parallel()
	const source = "testdata/granted.c"
	library := compileOverflow(t, source, "-DLIBRARY", "-shared", "-fPIC")
	for _, bin := range []string{compileOverflow(t, source), compileOverflow(t, source, "-DMAIN", library)} {
		r := mgtrace(t, "", "overflow", bin)
		if r.status != 0 || !slices.ContainsFunc(r.report.Notes, func(n string) bool { return strings.Contains(n, "malloc_usable_size") }) {
			t.Errorf("correct: status %d: %s, notes %q", r.status, describeFaults(r.report), r.report.Notes)
		}
	}
	r := mgtrace(t, "", "overflow", compileOverflow(t, source, "-DFAULT"))
	if r.status != 1 || len(r.report.CPoints) != 1 {
		t.Fatalf("status %d: %s", r.status, describeFaults(r.report))
	}
	if c := r.report.CPoints[0]; c.Line != faults(t, source)[0] || c.Access.Distance != 28 || c.Access.Hit == nil {
		t.Errorf("line %d, %+v", c.Line, c.Access)
	}
}

// Arrays of numbers that are reached by an index, whatever the compiler adds to what.
func TestOverflowNumbers(t *testing.T) {
	t.Parallel()
	const source = "testdata/numbers.c"
	want := faults(t, source)
	for _, optimised := range []string{"-O0", "-O1", "-O2"} {
		t.Run(optimised, func(t *testing.T) {
			t.Parallel()
			if r := mgtrace(t, "", "overflow", compileOverflow(t, source, optimised)); r.status != 0 {
				t.Errorf("correct: status %d: %s", r.status, describeFaults(r.report))
			}
			var got []int
			r := mgtrace(t, "", "overflow", compileOverflow(t, source, optimised, "-DFAULT"))
			for _, c := range r.report.CPoints {
				got = append(got, c.Line)
			}
			if !slices.Equal(got, want) {
				t.Errorf("lines %v, want %v: %s", got, want, describeFaults(r.report))
			}
		})
	}
}

// A recording serves as well as the program, a recording without instructions does not.
func TestOverflowOfRecording(t *testing.T) {
	t.Parallel()
	s := shape{source: "shapes", flags: []string{"-O0", "-DTARGET=FUNCTION", "-DHOW=STRCPY"}}
	bin, dir := s.compile(t, "-DFAULT"), t.TempDir()
	file := filepath.Join(dir, "t.mgt")
	live := mgtraceIn(t, "", "overflow", "-o", file, bin)
	again := mgtraceIn(t, "", "overflow", file)
	if live.status != 1 || live.stderr != again.stdout {
		t.Errorf("status %d\nlive: %s\nrecorded: %s", live.status, live.stderr, again.stdout)
	}
	sarif := filepath.Join(dir, "r.sarif")
	if r := mgtraceIn(t, "", "overflow", "--sarif", sarif, file); r.status != 1 {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if b, err := os.ReadFile(sarif); err != nil || !strings.Contains(string(b), "strcpy writes 28 bytes") {
		t.Errorf("%v\n%s", err, b)
	}
	short := filepath.Join(dir, "short.mgt")
	mgtraceIn(t, "", "record", "-o", short, bin)
	if r := mgtraceIn(t, "", "overflow", short); r.status != 2 || !strings.Contains(r.stderr, "record again with --full") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}

// Programs that are used every day do none of this.
func TestOverflowSilence(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{
		{"ls", "-la", "/etc"},
		{"sort", "/etc/passwd"},
		{"sqlite3", ":memory:", "create table t(a,b); insert into t values(1,2),(3,4); select sum(a), b from t group by b;"},
		{"perl", "-e", `my %h; $h{$_} = "x" x $_ for 1 .. 50; print join(",", sort keys %h), "\n"`},
		{"bash", "-c", `a=(1 2 3); for i in "${a[@]}"; do echo $((i * 2)); done`},
	} {
		t.Run(c[0], func(t *testing.T) {
			bin, err := exec.LookPath(c[0])
			if err != nil {
				t.Skip(err)
			}
			if testing.Short() {
				t.Skip("millions of instructions")
			}
			t.Parallel()
			r := mgtrace(t, "", append([]string{"overflow", bin, "--"}, c[1:]...)...)
			if r.status != 0 || r.report.Followed == nil {
				t.Errorf("status %d: %s", r.status, describeFaults(r.report))
			}
		})
	}
}

// Nor do programs that do what is hard to tell from a fault.
func TestOverflowHealthy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ compiler, source, flag string }{
		{"gcc", "healthy.c", "-O0"}, {"gcc", "healthy.c", "-O2"}, {"g++", "healthy.cpp", "-O2"},
	} {
		t.Run(c.source+c.flag, func(t *testing.T) {
			if testing.Short() && c.flag == "-O2" {
				t.Skip("-O0 will do")
			}
			t.Parallel()
			bin := filepath.Join(t.TempDir(), "healthy")
			if out, err := exec.Command(c.compiler, "-g", "-w", c.flag, "-pthread", "-o", bin, "../../testdata/overflow/"+c.source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r := mgtrace(t, "", "overflow", bin)
			if r.status != 0 || r.report.Followed == nil || r.report.Exit == nil || r.report.Exit.Status == nil {
				t.Errorf("status %d: %s\n%s", r.status, describeFaults(r.report), r.stderr)
			}
		})
	}
}

func describeFaults(r report.Report) string {
	var b strings.Builder
	for _, c := range r.CPoints {
		fmt.Fprintf(&b, "%s:%d %s: %s\n", c.File, c.Line, c.Fault, c.Inconsistencies[0].Reason)
	}
	return b.String()
}
