package probe

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/objfile"
	"mgtrace/x86"

	"github.com/google/go-cmp/cmp"
)

// compile builds a source of testdata with gcc.
func compile(t *testing.T, source string, flags ...string) *Image {
	t.Helper()
	gcc := "gcc"
	if strings.HasSuffix(source, ".cc") {
		gcc = "g++"
	}
	if _, err := exec.LookPath(gcc); err != nil {
		t.Skip("no compiler: " + gcc)
	}
	out := filepath.Join(t.TempDir(), "prog")
	args := append([]string{"-o", out, filepath.Join("testdata", source)}, flags...)
	if msg, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v\n%s", gcc, args, err, msg)
	}
	f, err := objfile.Open(out, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &Image{Path: out, File: f}
}

func build(t *testing.T, req Request, o Options, images ...*Image) *Plan {
	t.Helper()
	p, err := Build(req, images, o)
	if err != nil {
		t.Fatal(err)
	}
	checkSites(t, p)
	return p
}

// storesIn lists the text of the stores planned in a function.
func storesIn(t *testing.T, p *Plan, name string) (list []string) {
	t.Helper()
	f := p.Images[0].File
	for _, s := range p.Stores {
		if fn, ok := f.FuncAt(s.Addr); ok && s.Image == 0 && fn.Base == name {
			list = append(list, x86.Text(f.Code(s.Addr, x86.MaxLen), s.Addr))
		}
	}
	return list
}

func funcNamed(p *Plan, name string, role Role) *Func {
	for i := range p.Funcs {
		if p.Funcs[i].Name == name && p.Funcs[i].Role == role {
			return &p.Funcs[i]
		}
	}
	return nil
}

var levels = []string{"-O0", "-O1", "-O2", "-O3", "-Os"}

func TestStores(t *testing.T) {
	for _, o := range levels {
		for _, pie := range []string{"-pie", "-no-pie"} {
			t.Run(o+pie, func(t *testing.T) {
				im := compile(t, "shapes.c", "-g", o, pie)
				p := build(t, Request{}, Options{}, im)
				if got := storesIn(t, p, "plain"); len(got) != 1 {
					t.Errorf("plain: %q, want one store", got)
				}
				if got := storesIn(t, p, "local"); len(got) != 0 {
					t.Errorf("local: %q, want none: all are to the stack", got)
				}
				if got := storesIn(t, p, "global"); len(got) != 0 {
					t.Errorf("global: %q, want none: static data", got)
				}
				if got := storesIn(t, p, "locked"); len(got) != 1 || !strings.HasPrefix(got[0], "lock") {
					t.Errorf("locked: %q, want one locked store", got)
				}
				for _, s := range p.Stores {
					if s.Effect.Lock != s.AfterOnly || s.AfterOnly && s.After.Addr != s.Addr+uint64(s.Effect.Len) {
						t.Errorf("%#x: %+v", s.Addr, s)
					}
				}
				if len(p.Unprobed) != 0 {
					t.Errorf("unprobed: %+v", p.Unprobed)
				}
			})
		}
	}
}

func TestGlobals(t *testing.T) {
	im := compile(t, "shapes.c", "-g", "-O2")
	v, ok := im.File.Global("head", "")
	if !ok {
		t.Fatal("head is not found")
	}
	g := Global{Name: "head", Type: "struct node *", Addr: uint64(v.Loc.Offset), Size: 8}
	p := build(t, Request{Globals: []Global{g}}, Options{}, im)
	if got := storesIn(t, p, "global"); len(got) != 1 {
		t.Errorf("global: %q, want the store to head and not that to other", got)
	}
	if diff := cmp.Diff([]Global{g}, p.Globals); diff != "" {
		t.Error(diff)
	}
}

func TestWatch(t *testing.T) {
	for _, o := range levels {
		t.Run(o, func(t *testing.T) {
			im := compile(t, "shapes.c", "-g", o)
			watch := []string{"two_exits", "tail", "sw", "die", "plain", "plain"}
			p := build(t, Request{Watch: watch}, Options{}, im)
			if len(p.Watched) != 5 {
				t.Errorf("%d watched functions, want 5: %+v", len(p.Watched), p.Watched)
			}
			for _, name := range watch {
				f := funcNamed(p, name, RoleWatch)
				if f == nil {
					t.Fatalf("%s is not planned", name)
				}
				w := p.Watched[f.ID-1]
				if w.Name != name || w.Line == 0 || filepath.Base(w.File) != "shapes.c" {
					t.Errorf("%s: %+v", name, w)
				}
				if w.NoReturn != (name == "die") || (len(f.Returns) == 0) != (name == "die") {
					t.Errorf("%s: %d exits, NoReturn %v", name, len(f.Returns), w.NoReturn)
				}
				checkExits(t, im, f)
			}
			if o != "-O0" && o != "-O1" {
				f := funcNamed(p, "tail", RoleWatch)
				if kinds := exitKinds(t, im, f); !cmp.Equal(kinds, []x86.Kind{x86.KindRet, x86.KindJmp}) {
					t.Errorf("tail: exits of kinds %v, want its jump, and the return of where that leads", kinds)
				}
			}
		})
	}
}

// TestPassed: how many words of what its arguments lead to are told of a watched function.
func TestPassed(t *testing.T) {
	for _, o := range levels {
		im := compile(t, "passed.cc", "-g", o, "-shared", "-fPIC")
		p := build(t, Request{Watch: []string{"List::push", "fill", "searched", "plain"}}, Options{}, im)
		for name, want := range map[string][6]uint8{
			"List::push(Node*)": {2, 1},
			"fill(Big&, int, char const*, void (*)(), Node**)": {maxPassed / 8, 0, unsized / 8, 0, 1},
			"plain(int, double)": {},
			"searched(Text&, void const*, unsigned char*, long*, Node**)": {2, unsized / 8, unsized / 8, 1, 1},
		} {
			f := funcNamed(p, name, RoleWatch)
			if f == nil {
				t.Fatalf("%s: %s is not planned", o, name)
			}
			if f.Floats != (name == "plain(int, double)") {
				t.Errorf("%s: %s: floats %v", o, name, f.Floats)
			}
			if f.Passed != want {
				t.Errorf("%s: %s: %v, want %v", o, name, f.Passed, want)
			}
			var texts [6]uint8
			switch {
			case strings.HasPrefix(name, "fill"):
				texts[2] = TextHere
			case strings.HasPrefix(name, "searched"):
				texts = [6]uint8{2, TextHere, TextHere}
			}
			if f.Texts != texts {
				t.Errorf("%s: %s: texts %v, want %v", o, name, f.Texts, texts)
			}
		}
	}
}

// checkExits: all RET instructions of the function are exits, and every exit
// is a RET or a jump that leaves it.
func checkExits(t *testing.T, im *Image, f *Func) {
	t.Helper()
	fn, _ := im.File.FuncAt(f.Entry.Addr)
	exits := map[uint64]bool{}
	for _, r := range f.Returns {
		exits[r.Addr] = true
	}
	for _, r := range fn.Ranges {
		for pc := r[0]; pc < r[1]; {
			in, err := x86.Decode(im.File.Code(pc, x86.MaxLen), pc)
			if err != nil {
				t.Fatal(err)
			}
			leaves := in.Kind == x86.KindRet || in.Direct && in.Kind != x86.KindCall && !fn.Contains(in.Target)
			if exits[pc] != leaves {
				t.Errorf("%s: exit at %#x: %v, want %v: %s", f.Name, pc, exits[pc], leaves, x86.Text(im.File.Code(pc, 15), pc))
			}
			pc += uint64(in.Len)
		}
	}
}

func exitKinds(t *testing.T, im *Image, f *Func) (kinds []x86.Kind) {
	t.Helper()
	for _, r := range f.Returns {
		in, err := x86.Decode(im.File.Code(r.Addr, x86.MaxLen), r.Addr)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, in.Kind)
	}
	return kinds
}

func TestLinesAndMarks(t *testing.T) {
	im := compile(t, "shapes.c", "-g", "-O0")
	text, err := os.ReadFile("testdata/shapes.c")
	if err != nil {
		t.Fatal(err)
	}
	line := 1 + bytes.Count(text[:bytes.Index(text, []byte("n->key++"))], []byte("\n"))
	source := func(path string) ([]byte, error) {
		if filepath.Base(path) != "shapes.c" {
			return nil, errors.New("not here")
		}
		return text, nil
	}
	req := Request{Marks: true, Lines: []Line{{"shapes.c", line + 1}}}
	p := build(t, req, Options{Source: source}, im)
	if len(p.Points) != 2 {
		t.Fatalf("points: %+v; %v", p.Points, p.Warnings)
	}
	for i, want := range []struct {
		kind, typ string
		line      int
	}{{"mark", "node", line}, {"line", "", line + 1}} {
		q := p.Points[i].Point
		if q.Kind != want.kind || q.For != want.typ || q.Line != want.line || q.Function != "inliner" {
			t.Errorf("point %d: %+v, want %+v", i, q, want)
		}
	}
}

func TestAllocators(t *testing.T) {
	im := compile(t, "shapes.c", "-g", "-O2")
	resolved := 0
	resolve := func(im *Image, resolver uint64) (uint64, error) {
		resolved++
		return resolver, nil // as good as any code
	}
	p := build(t, Request{Allocators: []Allocator{{Func: "pool_get", Size: 2, Free: "pool_put", FreeArg: 1}}},
		Options{Resolve: resolve}, im, open(t, libc))
	if f := funcNamed(p, "pool_get", RoleMalloc); f == nil || !f.Declared || f.Size != 2 || len(f.Returns) == 0 || f.Line == 0 {
		t.Errorf("pool_get: %+v", f)
	}
	if f := funcNamed(p, "pool_put", RoleFree); f == nil || !f.Declared || f.Ptr != 1 {
		t.Errorf("pool_put: %+v", f)
	}
	carve := funcNamed(build(t, Request{Allocators: []Allocator{{Func: "pool_carve", Size: 1}}}, Options{Resolve: resolve}, im), "pool_carve", RoleMalloc)
	if carve == nil || !slices.ContainsFunc(carve.Returns, func(s Site) bool {
		in, err := x86.Decode(im.File.Code(s.Addr, x86.MaxLen), s.Addr)
		return err == nil && in.Kind == x86.KindRet
	}) {
		t.Errorf("pool_carve, which ends in a jump, never returns: %+v", carve)
	}
	tests := []struct {
		name string
		want Func
	}{
		{"malloc", Func{Role: RoleMalloc, Size: 1, Uretprobe: true}},
		{"calloc", Func{Role: RoleCalloc, Count: 1, Size: 2, Uretprobe: true}},
		{"realloc", Func{Role: RoleRealloc, Ptr: 1, Size: 2, Uretprobe: true}},
		{"posix_memalign", Func{Role: RolePosix, Ptr: 1, Size: 3, Uretprobe: true}},
		{"free", Func{Role: RoleFree, Ptr: 1, Uretprobe: true}},
		{"strcpy", Func{Role: RoleWriter, Dst: 1, Extent: ExtentString, Uretprobe: true}},
	}
	for _, tt := range tests {
		f := funcNamed(p, tt.name, tt.want.Role)
		if f == nil {
			t.Errorf("%s is not planned", tt.name)
			continue
		}
		got := *f
		got.Entry, got.Name = Site{}, ""
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if resolved == 0 {
		t.Error("no IFUNC was resolved")
	}
	if f := funcNamed(p, "qsort", RoleWriter); f == nil || f.Uretprobe || len(f.Returns) == 0 {
		t.Errorf("qsort: %+v", f)
	}
}

// TestStatic: in a static program the C library's own stores are not the
// program's.
func TestStatic(t *testing.T) {
	im := compile(t, "shapes.c", "-g", "-O2", "-static")
	p := build(t, Request{}, Options{Resolve: func(_ *Image, a uint64) (uint64, error) { return a, nil }}, im)
	if p.Library == 0 {
		t.Error("no store was attributed to the C library")
	}
	for _, name := range []string{"_int_malloc", "malloc", "_int_free"} {
		if got := storesIn(t, p, name); len(got) != 0 {
			t.Errorf("%s: %d stores planned", name, len(got))
		}
	}
	if got := storesIn(t, p, "plain"); len(got) != 1 {
		t.Errorf("plain: %q", got)
	}
	for _, name := range []string{"malloc", "free", "calloc"} {
		if f := funcNamed(p, name, RoleMalloc); name == "malloc" && f == nil {
			t.Errorf("%s is not planned", name)
		}
	}
}

func TestCPlusPlus(t *testing.T) {
	im := compile(t, "lists.cc", "-g", "-O2")
	p := build(t, Request{Watch: []string{"List<*>::push"}}, Options{}, im, open(t, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"))
	var names []string
	for _, w := range p.Watched {
		names = append(names, w.Name)
	}
	if len(names) != 2 || names[0] == names[1] {
		t.Errorf("watched: %q, want both instances of the template", names)
	}
	f := funcNamed(p, "operator new(unsigned long)", RoleMalloc)
	if f == nil || f.Uretprobe || len(f.Returns) == 0 || f.Size != 1 {
		t.Errorf("operator new throws, so its exits are probed: %+v", f)
	}
	if f := funcNamed(p, "operator delete(void*)", RoleFree); f == nil || f.Ptr != 1 {
		t.Errorf("operator delete: %+v", f)
	}
	if share := float64(len(p.Unprobed)) / float64(len(p.Stores)); share > 0.1 {
		t.Errorf("%d of %d unprobed: %+v", len(p.Unprobed), len(p.Stores), p.Unprobed)
	}
}

// TestStackBytes: containers whose functions were not inlined are a dozen calls away from the operators; nothing else is.
func TestStackBytes(t *testing.T) {
	for _, test := range []struct {
		source, flag string
		want         int
	}{{"lists.cc", "-O0", 1024}, {"lists.cc", "-O2", 512}, {"shapes.c", "-O0", 512}} {
		p := build(t, Request{}, Options{}, compile(t, test.source, "-g", test.flag))
		if got := p.StackBytes(); got != test.want {
			t.Errorf("%s %s: %d bytes, want %d", test.source, test.flag, got, test.want)
		}
	}
}

// TestPlain: the C++ library's operators keep no books, those that a program has of its
// own may, and so may all in a program that malloc is a part of.
func TestPlain(t *testing.T) {
	library := open(t, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
	library.Traced = true
	for _, c := range []struct {
		name   string
		plain  bool
		at     int // image
		images []*Image
	}{
		{"library", true, 1, []*Image{compile(t, "lists.cc", "-O2"), library}},
		{"own", false, 0, []*Image{compile(t, "operators.cc", "-O2"), library}},
		{"static", false, 0, []*Image{compile(t, "lists.cc", "-O2", "-static")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Build(Request{}, c.images, Options{InProcess: true, Resolve: func(_ *Image, a uint64) (uint64, error) { return a, nil }})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"operator new(unsigned long)", "operator delete(void*)", "operator delete(void*, unsigned long)"} {
				i := slices.IndexFunc(p.Funcs, func(f Func) bool { return f.Name == name && f.Entry.Image == c.at })
				if i < 0 {
					t.Fatalf("%s is not planned", name)
				}
				if plain := p.Funcs[i].Plain; plain != c.plain {
					t.Errorf("%s: plain %v", name, plain)
				}
			}
		})
	}
}

// TestSanitizer: the program's calls reach the interceptors.
func TestSanitizer(t *testing.T) {
	for _, static := range []string{"-shared-libasan", "-static-libasan"} {
		flags := []string{"-g", "-O1", "-fsanitize=address"}
		if static == "-static-libasan" {
			flags = append(flags, static)
		}
		im := compile(t, "shapes.c", flags...)
		images := []*Image{im}
		if static == "-shared-libasan" {
			out, err := exec.Command("gcc", "-print-file-name=libasan.so").Output()
			if err != nil {
				t.Skip(err)
			}
			images = append(images, open(t, strings.TrimSpace(string(out))))
		}
		p := build(t, Request{Watch: []string{"two_exits"}}, Options{}, images...)
		for name, role := range map[string]Role{"malloc": RoleMalloc, "free": RoleFree, "memset": RoleWriter} {
			if funcNamed(p, name, role) == nil {
				t.Errorf("%s: %s is not planned", static, name)
			}
		}
		if got := storesIn(t, p, "plain"); len(got) == 0 {
			t.Errorf("%s: plain: no store", static)
		}
	}
}

// TestStripped: functions by address.
func TestStripped(t *testing.T) {
	im := compile(t, "shapes.c", "-O2", "-no-pie")
	var addr, get string
	for _, fn := range im.File.Funcs() {
		switch fn.Name {
		case "two_exits":
			addr = hex(fn.Addr)
		case "pool_get":
			get = hex(fn.Addr)
		}
	}
	named := build(t, Request{Watch: []string{"two_exits"}}, Options{}, im)
	stripped := filepath.Join(t.TempDir(), "stripped")
	if err := exec.Command("strip", "-o", stripped, im.Path).Run(); err != nil {
		t.Skip(err)
	}
	s := open(t, stripped)
	p := build(t, Request{
		Watch:      []string{addr},
		Allocators: []Allocator{{Func: get, Like: "calloc"}},
	}, Options{}, s)
	var got *Func
	for i := range p.Funcs {
		if p.Funcs[i].Role == RoleWatch {
			got = &p.Funcs[i]
		}
	}
	if got == nil {
		t.Fatalf("%s is not planned: %v", addr, p.Funcs)
	}
	if diff := cmp.Diff(funcNamed(named, "two_exits", RoleWatch).Returns, got.Returns); diff != "" {
		t.Error(diff)
	}
	if f := funcNamed(p, "calloc", RoleCalloc); f == nil || hex(f.Entry.Addr) != get || f.Declared {
		t.Errorf("calloc by address: %+v", f)
	}
	var a, b []uint64
	for _, st := range named.Stores {
		a = append(a, st.Addr)
	}
	for _, st := range p.Stores {
		b = append(b, st.Addr)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("stripping changed the stores: %s", diff)
	}
}

func hex(n uint64) string { return fmt.Sprintf("%#x", n) }

func TestErrors(t *testing.T) {
	im := compile(t, "shapes.c", "-g", "-O2")
	tests := []struct {
		req  Request
		want string
	}{
		{Request{Watch: []string{"two_exist"}}, `there is no function "two_exist" in PROG; there is two_exits`},
		{Request{Watch: []string{"zzzzzzzz"}}, `there is no function "zzzzzzzz" in PROG`},
		{Request{Watch: []string{"0x10"}}, `there is no code at 0x10 in PROG`},
		{Request{Modules: []string{"libfoo"}}, `the program does not load a module "libfoo"; it loads none`},
		{Request{Lines: []Line{{"shapes.c", 2}}}, `shapes.c:2 has no code; the next line that has is 10`},
		{Request{Lines: []Line{{"shapes.c", 9999}}}, `shapes.c:9999 has no code, and nothing follows it in that file`},
		{Request{Lines: []Line{{"nope.c", 3}}}, `nope.c:3: the program was built from no such file`},
		{Request{Allocators: []Allocator{{Func: "pool_gte", Size: 1}}}, `there is no function "pool_gte" in PROG; there is pool_get`},
		{Request{Allocators: []Allocator{{Func: "carve", Size: 1}}}, `there is no function "carve" in PROG; there is carved, pool_carve`},
		{Request{Allocators: []Allocator{{Func: "pool_get", Like: "memcpy"}}}, `there is no standard allocator "memcpy"`},
		{Request{Watch: []string{"inlner", "tial"}}, "there is no function \"inlner\" in PROG; there is inliner\n" +
			`there is no function "tial" in PROG; there is tail`},
	}
	for _, tt := range tests {
		_, err := Build(tt.req, []*Image{im}, Options{})
		if err == nil {
			t.Errorf("%+v: no error", tt.req)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), im.Path, "PROG"); got != tt.want {
			t.Errorf("%+v:\n got %s\nwant %s", tt.req, got, tt.want)
		}
	}
}

// TestDeterministic: the same files give the same plan.
func TestDeterministic(t *testing.T) {
	im := compile(t, "shapes.c", "-g", "-O2")
	req := Request{Watch: []string{"two_exits", "push", "sw"}}
	var texts [2]bytes.Buffer
	for i := range texts {
		if err := build(t, req, Options{}, im, open(t, libc)).Describe(&texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(texts[0].String(), texts[1].String()); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"stores probed in prog", "allocator malloc at libc.so.6+0x", "watched   two_exits", "inline-exit"} {
		if !strings.Contains(texts[0].String(), want) {
			t.Errorf("Describe does not say %q:\n%s", want, texts[0].String())
		}
	}
}
