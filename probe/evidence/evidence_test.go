package evidence

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/objfile/compilertest"
	"mgtrace/types"
)

// TestSites compiles programs in many ways, runs them, and compares what is
// found for the stack of every allocation with the comment on its source line.
// A type that is not found is counted, or fails where the comment says so; a wrong one fails.
func TestSites(t *testing.T) {
	recorder := filepath.Join(t.TempDir(), "recorder.so")
	compile(t, "gcc", "-O1", "-g0", "-shared", "-fPIC", "-o", recorder, "testdata/recorder.c", "-ldl")
	files := map[string]*objfile.File{}
	total, text := &score{}, &score{}
	for _, c := range []struct{ cc, src, flags string }{
		{"gcc", "sites.c", "-O0|-O2|-O3 -no-pie -fcf-protection=none|-O2 -fno-plt -fno-omit-frame-pointer"},
		{"clang", "sites.c", "-O1|-O2 -no-pie"},
		{"g++", "sites.cc", "-O0|-O2"},
		{"clang++", "sites.cc", "-O0|-O2 -fno-plt -fno-omit-frame-pointer"},
		{"clang++", "tables.cc", "-O2|-O3 -no-pie"},
	} {
		if c.cc = compilertest.Newest(c.cc); c.cc == "" {
			continue
		}
		for _, flags := range strings.Split(c.flags, "|") {
			t.Run(filepath.Base(c.cc)+" "+flags, func(t *testing.T) {
				exe := filepath.Join(t.TempDir(), "prog")
				compile(t, c.cc, append(strings.Fields(flags), "-w", "-g", "-o", exe, "testdata/"+c.src)...)
				r := record(t, recorder, exe, files)
				bare := r.judge(t, NewFinder(nil), false)
				withText := r.judge(t, NewFinder(readLine), true)
				t.Logf("of %d sites %d were found, %d with source text", bare.sites, bare.right, withText.right)
				total.add(bare)
				text.add(withText)
			})
		}
	}
	t.Logf("in all: %d sites, %d found (%.1f %%), %d with source text (%.1f %%); array or not was right in %d of %d",
		total.sites, total.right, 100*float64(total.right)/float64(total.sites), text.right, 100*float64(text.right)/float64(text.sites), total.arrays, total.right)
	if total.right*100 < total.sites*85 || text.right*100 < text.sites*95 {
		t.Error("too few sites are found")
	}
}

// TestTemporary: the text of a temporary string that lies in the place of a later variable is no object of that variable's,
// and what such a variable does hold still is. An object that std::make_unique makes is of its type, and not of its first
// member's, of which alone the inlined code tells.
func TestTemporary(t *testing.T) {
	recorder := filepath.Join(t.TempDir(), "recorder.so")
	compile(t, "gcc", "-O1", "-g0", "-shared", "-fPIC", "-o", recorder, "testdata/recorder.c", "-ldl")
	files := map[string]*objfile.File{}
	for _, how := range [][3]string{{"g++", "-O2", "-std=c++20"}, {"clang++", "-O2", "-std=c++20"}, {"g++", "-O0", "-std=c++17"}} { // before C++20 strings are the library's own code
		cc, level := compilertest.Newest(how[0]), how[1]
		if cc == "" {
			continue
		}
		exe := filepath.Join(t.TempDir(), "prog")
		compile(t, cc, how[2], level, "-w", "-g", "-o", exe, "testdata/temporary.cc")
		finder, texts, jobs, plugins, terms := NewFinder(readLine), 0, 0, 0, map[string]int{}
		for _, stack := range record(t, recorder, exe, files).stacks {
			text := stands(stack, "std::string::") || stands(stack, "void std::__cxx11::basic_string<char")
			switch e := finder.ForStack(stack); {
			case text && (e.Type == nil || !isByte(e.Type)):
				t.Errorf("%s %s: the text of a string is %v: %s", cc, level, e.Type, e.Why)
			case text:
				texts++
			case e.Type != nil && e.Type.Name == "Job":
				jobs++
			case e.Type != nil && e.Type.Name == "Plugin":
				plugins++
			case stands(stack, "build("):
				terms[e.Type.String()]++
			}
		}
		if texts == 0 || jobs == 0 || plugins != 1 {
			t.Errorf("%s %s: %d texts, %d jobs, %d plugins", cc, level, texts, jobs, plugins)
		}
		if len(terms) != 2 || terms["Pair"] == 0 || terms["Twin"] == 0 {
			t.Errorf("%s %s: terms are %v", cc, level, terms)
		}
	}
}

// stands: a call of a stack stands in a function whose name begins so.
func stands(stack []Frame, name string) bool {
	return slices.ContainsFunc(stack, func(fr Frame) bool {
		return fr.File != nil && slices.ContainsFunc(fr.File.Frames(fr.Addr-1), func(at objfile.Frame) bool { return strings.HasPrefix(at.Function, name) })
	})
}

type score struct{ sites, right, arrays int }

func (s *score) add(o score) {
	s.sites += o.sites
	s.right += o.right
	s.arrays += o.arrays
}

func compile(t *testing.T, cc string, args ...string) {
	t.Helper()
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", cc, args, err, out)
	}
}

func readLine(file string, line int) (string, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	lines := strings.Split(string(text), "\n")
	if line < 1 || line > len(lines) {
		return "", false
	}
	// The comments give the answers away.
	code, _, _ := strings.Cut(lines[line-1], "//")
	return code, true
}

type recording struct {
	stacks [][]Frame
	lines  map[string][]string
}

// record runs a program and returns the stacks of its allocations.
func record(t *testing.T, recorder, exe string, files map[string]*objfile.File) *recording {
	t.Helper()
	out := exe + ".out"
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+recorder, "EVIDENCE_OUT="+out)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var raw [][]uint64
	var maps [][]string
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(s.Text())
		switch {
		case w[0] == "map" && len(w) == 7 && strings.HasPrefix(w[6], "/"):
			maps = append(maps, w)
		case w[0] == "stack":
			var pcs []uint64
			for _, x := range w[2:] {
				pc, _ := strconv.ParseUint(x, 0, 64)
				pcs = append(pcs, pc)
			}
			raw = append(raw, pcs)
		}
	}
	r := &recording{lines: map[string][]string{}}
	for _, pcs := range raw {
		var stack []Frame
		for _, pc := range pcs {
			stack = append(stack, locate(t, maps, pc, files))
		}
		r.stacks = append(r.stacks, stack)
	}
	return r
}

func locate(t *testing.T, maps [][]string, pc uint64, files map[string]*objfile.File) Frame {
	for _, m := range maps {
		var lo, hi, off uint64
		fmt.Sscanf(m[1], "%x-%x", &lo, &hi)
		if pc < lo || pc >= hi {
			continue
		}
		off, _ = strconv.ParseUint(m[3], 16, 64)
		f := files[m[6]]
		if f == nil {
			var err error
			if f, err = objfile.Open(m[6], objfile.Options{}); err != nil {
				t.Fatal(err)
			}
			files[m[6]] = f
		}
		if v, ok := f.Vaddr(pc - lo + off); ok {
			return Frame{f, v}
		}
	}
	return Frame{}
}

var answer = regexp.MustCompile(`// =(.*)$`)

// expected returns the comment on the innermost line of the stack that has one.
func (r *recording) expected(stack []Frame) (want, where string) {
	for _, fr := range stack {
		if fr.File == nil {
			continue
		}
		for _, at := range fr.File.Frames(fr.Addr - 1) {
			if !strings.Contains(at.File, "testdata") {
				continue
			}
			if r.lines[at.File] == nil {
				text, _ := os.ReadFile(at.File)
				r.lines[at.File] = strings.Split(string(text), "\n")
			}
			if n := at.Line; n > 0 && n <= len(r.lines[at.File]) {
				if m := answer.FindStringSubmatch(r.lines[at.File][n-1]); m != nil {
					return m[1], fmt.Sprintf("%s:%d", at.File, n)
				}
			}
		}
	}
	return "", ""
}

func (r *recording) judge(t *testing.T, f *Finder, withText bool) (s score) {
	for _, stack := range r.stacks {
		want, where := r.expected(stack)
		if want == "" {
			continue
		}
		e := f.ForStack(stack)
		s.sites++
		want, byText := strings.CutSuffix(want, " for sure by its text")
		want, must := strings.CutSuffix(want, " for sure")
		must = must || byText && withText
		elem, isArray := strings.CutSuffix(want, "[]")
		switch {
		case e.Type == nil && must:
			t.Errorf("%s: %s was not found: %s", where, want, e.Why)
			continue
		case e.Type == nil:
			if testing.Verbose() {
				t.Logf("%s (text %v): %s not found: %s", where, withText, want, e.Why)
			}
			continue
		case !matches(e.Type, elem):
			t.Errorf("%s: %s was found (%s), want %s", where, e.Type, e.Why, want)
			continue
		}
		s.right++
		if e.Array == isArray {
			s.arrays++
		} else if testing.Verbose() {
			t.Logf("%s: array is %v", where, e.Array)
		}
	}
	return s
}

func matches(t *types.Type, want string) bool {
	got := cxxname.Normal(t.String())
	if strings.Contains(want, "<T>") {
		return slices.ContainsFunc([]string{"int", "double", "char"}, func(arg string) bool {
			return got == cxxname.Normal(strings.Replace(want, "<T>", "<"+arg+">", 1))
		})
	}
	for _, w := range strings.Split(want, "|") {
		if got == cxxname.Normal(w) {
			return true
		}
	}
	return false
}

// TestAccess compares what each access of a function tells with what its source says: of
// what type the object is, and where in it the access is.
func TestAccess(t *testing.T) {
	for _, opt := range []string{"-O0", "-O2"} {
		exe := filepath.Join(t.TempDir(), "prog")
		compile(t, "gcc", opt, "-g", "-o", exe, "testdata/accesses.c")
		f, err := objfile.Open(exe, objfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		found := map[string]bool{}
		finder := NewFinder(nil)
		for _, name := range []string{"link", "fill", "walk"} {
			for _, fn := range f.FuncsNamed(name) {
				for pc := fn.Addr; pc < fn.Ranges[0][1]; {
					in, ok := decode(f, pc)
					if !ok {
						break
					}
					if e := finder.ForAccess(f, pc); e.Type != nil {
						found[fmt.Sprintf("%s: %s+%d", name, e.Type, e.Offset)] = true
					}
					pc += uint64(in.Len)
				}
			}
		}
		want := map[string]bool{"link: node+0": true, "link: node+8": true, "link: node+16": true, "walk: node+8": true}
		if d := cmp.Diff(want, found); d != "" {
			t.Errorf("%s (-want +got):\n%s", opt, d)
		}
	}
}
