package probe

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/objfile"
	"mgtrace/objfile/compilertest"
	"mgtrace/trace"
	"mgtrace/x86"
)

func TestInlined(t *testing.T) {
	for _, o := range levels {
		t.Run(o, func(t *testing.T) {
			im := compile(t, "shapes.c", "-g", o)
			p := build(t, Request{Watch: []string{"push"}}, Options{}, im)
			entries, exits := 0, 0
			for i, q := range p.Points {
				if int(q.ID) != i+1 || q.Point.Func != 1 || q.Point.Function != "push" {
					t.Errorf("point %d: %+v", i, q)
				}
				switch q.Point.Kind {
				case "inline-entry":
					entries++
				case "inline-exit":
					exits++
				}
				fn, _ := im.File.FuncAt(q.Addr)
				if fn.Base != "inliner" {
					t.Errorf("point in %s: %+v", fn.Base, q)
				}
			}
			if entries != 1 || exits == 0 {
				t.Errorf("%d entries, %d exits: %+v; %v", entries, exits, p.Points, p.Warnings)
			}
			if len(p.Watched) != 1 || p.Watched[0].Name != "push" {
				t.Errorf("watched: %+v", p.Watched)
			}
		})
	}
}

// Two instances whose last store gcc has made one are left behind that store.
func TestSharedTail(t *testing.T) {
	im := compile(t, "tail.c", "-g", "-O2")
	v, ok := im.File.Global("root", "")
	if !ok {
		t.Fatal("root is not found")
	}
	root := Global{Name: "root", Type: "struct node *", Addr: uint64(v.Loc.Offset), Size: 8}
	p := build(t, Request{Watch: []string{"insert", "delete"}, Globals: []Global{root}}, Options{}, im)
	behind := map[uint64]bool{}
	for _, s := range p.Stores {
		if fn, _ := im.File.FuncAt(s.Addr); fn.Base == "main" {
			in, err := x86.Decode(im.File.Code(s.Addr, x86.MaxLen), s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			behind[s.Addr+uint64(in.Len)] = true
		}
	}
	if len(behind) != 1 {
		t.Fatalf("%d stores: gcc has not merged them", len(behind))
	}
	for _, w := range p.Watched {
		if want := map[string]int{"insert": 24, "delete": 29}[w.Name]; w.Line != want || filepath.Base(w.File) != "tail.c" {
			t.Errorf("%s is at %s:%d, want line %d", w.Name, w.File, w.Line, want)
		}
	}
	left := map[string]int{}
	for _, q := range p.Points {
		if q.Point.Kind == "inline-exit" {
			left[q.Point.Function]++
			if !behind[q.Addr] {
				t.Errorf("%s is left at %#x, not behind the store", q.Point.Function, q.Addr)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"insert": 1, "delete": 1}, left); diff != "" {
		t.Error(diff)
	}
}

// Control that runs from one part of an instance through a few instructions of the
// caller into another stays inside; from what its loop comes back to into its entry, it leaves
// and comes again.
func TestLoopAround(t *testing.T) {
	im := compile(t, "tail.c", "-g", "-O0")
	s := newSweep(im.File, func(uint64, *x86.Inst) bool { return false })
	var at []uint64 // the body of the loop, up to a jump and behind it
	var back uint64 // behind the jump that goes back to it
	loop := im.File.FuncsNamed("main")[0].Ranges[0]
	s.each(coderange{lo: loop[0], hi: loop[1]}, func(pc uint64, in *x86.Inst) {
		if in.Kind == x86.KindJcc && in.Target < pc {
			back = pc + uint64(in.Len)
			for pc := in.Target; len(at) < 3; {
				at = append(at, pc)
				in, _ := s.inst(pc)
				pc += uint64(in.Len)
			}
		}
	})
	if back == 0 {
		t.Fatal("main has no loop")
	}
	jump, _ := s.inst(at[2])
	if jump.Kind != x86.KindJcc || jump.Target < at[2] {
		t.Fatalf("the loop does not begin with a condition: %+v", jump)
	}
	for _, test := range []struct {
		name  string
		parts [][2]uint64
		entry uint64
		exits []uint64
	}{
		{"in the middle", [][2]uint64{{at[0], at[1]}, {at[2], back}}, at[0], []uint64{back}},
		{"before the entry", [][2]uint64{{at[0], at[1]}, {at[2], at[2] + uint64(jump.Len)}}, at[2], []uint64{at[2] + uint64(jump.Len), jump.Target}},
		{"around", [][2]uint64{{at[0], at[1]}, {at[2], back}}, at[2], []uint64{at[1], back}},
	} {
		exits, certain := s.inlineExits(objfile.Inlined{Name: "f", Ranges: test.parts, Entry: test.entry}, []uint64{test.entry})
		if !certain || !slices.Equal(exits, test.exits) {
			t.Errorf("%s: entered at %#x: left at %#x, want %#x", test.name, test.entry, exits, test.exits)
		}
	}
}

// What gcc has split off a function and inlined into it again is no call of it.
func TestSplit(t *testing.T) {
	im := compile(t, "split.c", "-g", "-O2")
	inner := 0
	for _, in := range im.File.Inlined("del_min") {
		if in.Inner {
			inner++
		}
	}
	if inner == 0 {
		t.Skip("gcc has not split it")
	}
	p := build(t, Request{Watch: []string{"del_min"}}, Options{InProcess: true}, im)
	entries := 0
	for _, q := range p.Points {
		if q.Point.Kind == "inline-entry" {
			entries++
			if fn, _ := im.File.FuncAt(q.Addr); fn.Base != "main" {
				t.Errorf("it is entered in %s: %+v", fn.Name, q)
			}
		}
	}
	if entries != 1 {
		t.Errorf("%d entries, want that of the call in main: %+v", entries, p.Points)
	}
}

// Ahead of main's loop gcc computes what the call that is inlined there needs. A store of main
// that lies among that is nothing that the call does: it is entered in the loop.
func TestHoisted(t *testing.T) {
	im := compile(t, "hoisted.c", "-g", "-O2")
	p := build(t, Request{Watch: []string{"insert"}}, Options{InProcess: true}, im)
	var store uint64 // of main, ahead of the loop
	for _, st := range p.Stores {
		if fn, _ := im.File.FuncAt(st.Addr); fn.Base == "main" && len(im.File.Frames(st.Addr)) == 1 && store == 0 {
			store = st.Addr
		}
	}
	early := false
	for _, in := range im.File.Inlined("insert") {
		early = early || slices.ContainsFunc(in.Ranges, func(r [2]uint64) bool { return r[0] < store })
	}
	if !early {
		t.Skip("gcc computes nothing ahead of the store")
	}
	for _, q := range p.Points {
		if q.Point.Kind == "inline-entry" && q.Addr < store {
			t.Errorf("it is entered at %#x, ahead of main's store at %#x", q.Addr, store)
		}
	}
}

// What gcc computes ahead of main's loop for a call that is inlined there has no tail in common with the constructor
// behind it: nothing else leads there. The call is entered in the loop, and each turn is one.
func TestAhead(t *testing.T) {
	im := compile(t, "constructed.cc", "-g", "-O2")
	var made uint64 // where main calls operator new for the map
	for _, r := range im.File.FuncsNamed("main")[0].Ranges {
		for pc := r[0]; pc < r[1] && made == 0; {
			in, err := x86.Decode(im.File.Code(pc, x86.MaxLen), pc)
			if err != nil {
				t.Fatal(err)
			}
			if frames := im.File.Frames(pc); in.Kind == x86.KindCall && len(frames) > 0 && frames[0].Function == "main" {
				made = pc
			}
			pc += uint64(in.Len)
		}
	}
	p := build(t, Request{Watch: []string{"Map<int, int>::insert"}}, Options{InProcess: true}, im)
	entries := 0
	for _, q := range p.Points {
		if q.Point.Kind == "inline-entry" {
			entries++
			if q.Addr < made {
				t.Errorf("it is entered at %#x, before main makes the map at %#x", q.Addr, made)
			}
		}
	}
	if made == 0 || entries == 0 {
		t.Skipf("the map is made at %#x, %d entries: %+v", made, entries, p.Points)
	}
}

// Turns of a loop that are unrolled one behind the other are told of.
func TestUnrolled(t *testing.T) {
	for flag, want := range map[string]bool{"-UUNROLL": false, "-DUNROLL": true} {
		im := compile(t, "unrolled.c", "-g", "-O2", flag)
		p := build(t, Request{Watch: []string{"put"}}, Options{InProcess: true}, im)
		got := slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "several times in a row") })
		if got != want {
			t.Errorf("%s: %q, %+v", flag, p.Warnings, p.Points)
		}
	}
}

// TestPeeled: of a loop whose first turn lies ahead of the others, without anything between, only that turn is known for
// a call that is inlined there. It is told; where each turn is met nothing is.
func TestPeeled(t *testing.T) {
	clang := compilertest.Newest("clang")
	if clang == "" {
		t.Skip("no clang")
	}
	for level, want := range map[string]bool{"-O2": true, "-O1": false} {
		out := filepath.Join(t.TempDir(), "prog")
		if msg, err := exec.Command(clang, "-g", level, "-o", out, "testdata/peeled.c").CombinedOutput(); err != nil {
			t.Skipf("%v\n%s", err, msg)
		}
		f, err := objfile.Open(out, objfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		s := newSweep(f, func(uint64, *x86.Inst) bool { return false })
		found := f.Inlined("push")
		if level == "-O2" && (len(found) != 1 || len(s.inlineEntries(found[0])) != 1) {
			t.Skip("the loop is not one of the kind")
		}
		for _, at := range found {
			if got := s.comesBack(at, s.inlineEntries(at)); got != want {
				t.Errorf("%s: %v, want %v: %+v", level, got, want, at)
			}
		}
	}
}

// An instance whose entry lies before its instructions, as gcc says of one in a loop, is
// told of if control gets there without the entry: only the first of its calls may be seen.
func TestEntryOutside(t *testing.T) {
	im := compile(t, "tail.c", "-g", "-O0")
	code := newSweep(im.File, func(uint64, *x86.Inst) bool { return false })
	put, loop := im.File.FuncsNamed("put")[0].Ranges[0], im.File.FuncsNamed("main")[0].Ranges[0]
	first, err := x86.Decode(im.File.Code(put[0], x86.MaxLen), put[0])
	if err != nil {
		t.Fatal(err)
	}
	behind := [2]uint64{put[0] + uint64(first.Len), put[1]}
	var jump x86.Inst // over the body of the loop, to its condition
	for pc := loop[0]; jump.Kind != x86.KindJmp && pc < loop[1]; pc += uint64(jump.Len) {
		if jump, err = x86.Decode(im.File.Code(pc, x86.MaxLen), pc); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		own   [2]uint64
		entry uint64
		want  bool
	}{
		{"entered in them", behind, behind[0], false},
		{"entered right before them", behind, put[0], false},
		{"and jumped to", [2]uint64{jump.Target, jump.Target + 1}, loop[0], true},
	} {
		b := &builder{plan: Plan{Images: []*Image{im}, Inlined: map[trace.FuncID][]Instance{}}, ids: map[watchKey]trace.FuncID{}, sweeps: []*sweep{code}}
		b.watchInlined(instance{0, objfile.Inlined{Name: "f", In: "put", Ranges: [][2]uint64{c.own}, Entry: c.entry}})
		if got := slices.ContainsFunc(b.plan.Warnings, func(w string) bool { return strings.Contains(w, "calls of it may be missed") }); got != c.want {
			t.Errorf("%s: %q", c.name, b.plan.Warnings)
		}
	}
}
