package analysis

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// TestUnprobed: what depends on a field that a store may have written which could not be probed is not judged, and that is
// said; what depends on others is, and all is where memory was compared.
func TestUnprobed(t *testing.T) {
	for _, c := range []struct {
		text    string
		audited bool
		want    int
	}{
		{"atomic_fetch_add(&p->a, 1);", false, 0},
		{"atomic_fetch_add(&p->abc, 1);", false, 1},
		{"p->a += x;", false, 0},
		{"--p->pairs[3].a;", false, 0},
		{"total.fetch_add(p->a);", false, 1},
		{"a.fetch_add(1);", false, 0},
		{"if (p->a == 3) p->c = p->a;", false, 1},
		{"atomic_fetch_add(&p->a, 1);", true, 1},
	} {
		spec := graphtest.Spec(t, "struct pair { long a, b; }; type pair; pair P; P.a == P.b;", graphtest.NewProgram())
		a := New(spec, &trace.Program{Unprobed: []trace.Unprobed{{PC: 7}}}, symbol.New(nil, &symbol.Sources{}), Options{Typing: allOne{spec.Types[0]}})
		a.unprobed = unprobed{lines: []string{c.text}, read: true, fields: map[string]bool{}, unjudged: map[eval.Instance]bool{}}
		if c.audited {
			a.audit = &report.Audit{}
		}
		for _, ev := range []trace.Event{
			{Kind: trace.KindAlloc, Thread: 1, Addr: 0x1000, Size: 16, Name: "calloc", Flags: trace.FlagZeroed},
			{Kind: trace.KindStore, Thread: 1, Addr: 0x1000, Size: 8, Data: []byte{1, 0, 0, 0, 0, 0, 0, 0}},
			{Kind: trace.KindExit, Thread: 1},
		} {
			if err := a.Event(&ev); err != nil {
				t.Fatal(err)
			}
		}
		r := &report.Report{}
		a.reportUnprobed(r)
		if len(a.points) != c.want || len(r.Warnings) != 1-c.want {
			t.Errorf("%s, audited %t: %d points, warnings %q", c.text, c.audited, len(a.points), r.Warnings)
		}
	}
}

// TestWithout: of each constraint it is asked, however many inconsistencies of another there are; those that there is no time to ask are as
// the others of theirs.
func TestWithout(t *testing.T) {
	spec := graphtest.Spec(t, "struct pair { long a, b; }; type pair; pair P; P.a == 1; pair P; P.b == 1;", graphtest.NewProgram())
	for _, which := range []trace.Addr{0, 8} { // what bad bytes are
		a := New(spec, &trace.Program{}, symbol.New(nil, &symbol.Sources{}), Options{Typing: allOne{spec.Types[0]}})
		for i := range trace.Addr(2 * maxMeant) {
			if err := a.Event(&trace.Event{Kind: trace.KindAlloc, Thread: 1, Addr: 0x1000 + 32*i, Size: 16, Name: "malloc"}); err != nil {
				t.Fatal(err)
			}
		}
		now := a.Hist.Now()
		left := a.without(a.Checker.Check(now, nil), a.Hist.At(now), func(_ eval.Instance, d eval.Dep) bool { return d.Addr%32 == which })
		for _, inc := range left {
			if inc.Instance.Constraint == int(which/8) {
				t.Fatalf("%d: an inconsistency that depends on it is still there", which)
			}
		}
		if len(left) != 2*maxMeant {
			t.Errorf("%d: %d are left, want those of the other constraint", which, len(left))
		}
	}
}
