package eval_test

import (
	"cmp"
	"slices"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A graph that puts off what happens between checks gives the same verdicts as one that does
// not, at every check; and when somebody asks for other times, the same answers.
func TestPutOff(t *testing.T) {
	put, checks, broken, led, wide, overlooked := map[string]bool{}, 0, 0, 0, 0, 0
	each(t, 7, func(t *testing.T, s *script) {
		own := graph.New(s.spec, s.h, s.world, graph.Options{})
		at := eval.NewChecker(s.spec, s.h, own, eval.Options{})
		if !s.g.Defer(s.r.IntN(3) * s.r.IntN(3)) {
			return
		}
		put[s.spec.Types[0].Name] = true
		for i := range 14 {
			steps := 1 + s.r.IntN(4)*s.r.IntN(12)
			if i == 0 && s.r.IntN(2) == 0 { // so many that writes are not looked at any more
				steps = 200
			}
			for range steps {
				s.step()
				if i == 0 {
					s.g.Trail()
				}
			}
			if s.g.Overlooks() {
				overlooked++
			}
			now := s.h.Now()
			if s.r.IntN(8) == 0 {
				s.g.Advance() // nobody checks
			}
			want, got := at.Broken(s.h.At(now)), s.c.Broken(s.h.At(now))
			checks++
			broken += len(want)
			if d := gocmp.Diff(want, got, sorted, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("at %d (-at once +put off):\n%s", now, d)
			}
			sameNow(t, s, own)
			led += sameLeads(t, s)
			if s.r.IntN(40) == 0 {
				break
			}
		}
		if s.g.Wide() {
			wide++
		}
		switch s.r.IntN(3) { // what is asked first must not matter
		case 0:
			sameTouched(t, s, at)
		case 1:
			now := s.h.At(s.h.Now())
			if d := gocmp.Diff(s.lines(at.All(now)), s.lines(s.c.All(now))); d != "" {
				t.Fatalf("in words (-at once +put off):\n%s", d)
			}
		}
		sameGraphs(t, s, own)
		sameTouched(t, s, at)
	})
	if len(put) < 6 || checks < 800 || broken < 800 || led < 10_000 || wide < 5 || overlooked < 10 {
		t.Errorf("put off with %d specifications, %d checks, %d times something broken, %d pointers, %d graphs with all pointers, %d times writes not looked at: the test tests little",
			len(put), checks, broken, led, wide, overlooked)
	}
}

var sorted = cmpopts.SortSlices(func(a, b eval.Instance) bool { return a.Compare(b) < 0 })

// sameNow compares what leads where now, in any order. To what has ended a pointer that was
// stored since the last check is not known to lead.
func sameNow(t *testing.T, s *script, want *graph.Graph) {
	t.Helper()
	if s.g.Wide() != want.Wide() {
		return // what made the one so was gone again when the other one looked
	}
	v := s.h.At(s.h.Now())
	byAddr := func(a, b graph.Ref) int { return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.From, b.From)) }
	for o := graph.ObjID(1); int(o) <= want.Objects(); o++ {
		a, b := want.AppendRefs(v, nil, o, nil), s.g.AppendRefs(v, nil, o, nil)
		slices.SortFunc(a, byAddr)
		slices.SortFunc(b, byAddr)
		if !s.g.Alive(o, v.Time()) {
			if s.enters > 0 { // cells that a node is entered for are looked at again, and not the same ones
				continue
			}
			a = slices.DeleteFunc(a, func(r graph.Ref) bool {
				return !slices.ContainsFunc(b, func(x graph.Ref) bool { return x.Addr == r.Addr && x.From == r.From })
			})
		}
		if !slices.EqualFunc(a, b, sameRef) {
			t.Fatalf("now, %d, to %s:\n%v, want\n%v", v.Time(), s.g.Name(o), b, a)
		}
	}
}

// sameGraphs compares what leads where, in which order, and when that changed, at all times.
func sameGraphs(t *testing.T, s *script, want *graph.Graph) {
	t.Helper()
	if s.g.Wide() != want.Wide() {
		return
	}
	if want.Objects() != s.g.Objects() {
		t.Fatalf("%d objects, want %d", s.g.Objects(), want.Objects())
	}
	for o := graph.ObjID(1); int(o) <= want.Objects(); o++ {
		if a, b := *want.Object(o), *s.g.Object(o); a != b {
			t.Fatalf("object %+v, want %+v", b, a)
		}
		for at := mgpp.Timestamp(0); at <= s.h.Now(); at += 2 {
			v := s.h.At(at)
			if a, b := want.AppendRefs(v, nil, o, nil), s.g.AppendRefs(v, nil, o, nil); !slices.EqualFunc(a, b, sameRef) {
				t.Fatalf("at %d %s:\n%v, want\n%v", at, s.g.Name(o), b, a)
			}
			if a, b := want.InChange(o, at), s.g.InChange(o, at); a != b {
				t.Fatalf("at %d %s: edges changed at %d, want %d", at, s.g.Name(o), b, a)
			}
		}
	}
}

// sameLeads compares what the graph knows of where pointers lead now with the history. It returns how
// many it knows.
func sameLeads(t *testing.T, s *script) (known int) {
	t.Helper()
	now := s.h.Now()
	v := s.h.At(now)
	for o := graph.ObjID(1); int(o) <= s.g.Objects(); o++ {
		if !s.g.Alive(o, now) {
			continue
		}
		in := s.g.Object(o)
		for at := in.Addr; at+8 <= in.Addr+trace.Addr(in.Size); at += 8 {
			to, word, ok := s.g.Leads(o, at, now)
			if !ok {
				continue
			}
			known++
			tgt := v.Target(at, coded.Plain)
			if to == 0 && tgt.State == mgpp.Null {
				continue
			}
			if want := s.g.ObjectOf(now, tgt, nil); tgt.State != mgpp.Points || tgt.Value != word || tgt.Node != s.g.Object(to).Host || want != to {
				t.Fatalf("at %d %s+%d: %s by %#x, want %s by %+v", now, s.g.Name(o), at-in.Addr, s.g.Name(to), word, s.g.Name(want), tgt)
			}
		}
	}
	return known
}

// sameRef: pointers that are no edges are cells that each graph has made for itself.
func sameRef(a, b graph.Ref) bool {
	return a.From == b.From && a.Cell.Name == b.Cell.Name && a.Edge == b.Edge && a.Elem == b.Elem && a.Addr == b.Addr && a.Off == b.Off
}

func sameTouched(t *testing.T, s *script, want *eval.Checker) {
	t.Helper()
	for at := mgpp.Timestamp(1); at <= s.h.Now(); at += 11 {
		if d := gocmp.Diff(want.Touched(at), s.c.Touched(at), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("touched at %d (-at once +put off):\n%s", at, d)
		}
	}
}
