package eval_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The forward check equals the check from scratch, at every C-point.
func TestCheckIsAll(t *testing.T) {
	each(t, 6, func(t *testing.T, s *script) {
		broken := 0
		for range 60 {
			for range 1 + s.r.IntN(6) {
				s.step()
			}
			now := s.h.Now()
			got := s.c.Check(now, nil)
			if s.r.IntN(3) > 0 {
				continue // from scratch everything is found anew, what is kept as well
			}
			want := s.all()
			broken += len(want)
			if d := cmp.Diff(s.lines(want), s.lines(got)); d != "" {
				t.Fatalf("at %d (-scratch +forward):\n%s", now, d)
			}
		}
		if broken == 0 {
			t.Error("nothing was ever broken: the test tests nothing")
		}
	})
}

// The check of any time equals the check from scratch, whichever was checked before: a
// later one or an earlier one, with hypothetical views between.
func TestThereAndBack(t *testing.T) {
	broken := 0
	each(t, 6, func(t *testing.T, s *script) {
		for range 80 {
			s.step()
		}
		now := s.h.Now()
		var at []mgpp.Timestamp
		var got [][]string
		for range 40 {
			to := mgpp.Timestamp(s.r.IntN(int(now) + 1))
			at, got = append(at, to), append(got, s.lines(s.c.Check(to, nil)))
			switch s.r.IntN(4) {
			case 0:
				if len(s.live) > 0 {
					s.c.All(s.hypothesis(now))
				}
			case 1:
				s.step()
			}
		}
		for i, to := range at {
			want := eval.Scratch(s.c, s.h.At(to))
			broken += len(want)
			if d := cmp.Diff(s.lines(want), got[i]); d != "" {
				t.Fatalf("%d. check, at %d (-scratch +moved):\n%s", i, to, d)
			}
		}
	})
	if broken == 0 {
		t.Error("nothing was ever broken: the test tests nothing")
	}
}

// What a COUNT's condition ties to what is bound is counted as it is where nothing ties it, and a result tells each change
// that makes it another one.
func TestTiedCount(t *testing.T) {
	const text = `struct dnode { int key; int n; struct dnode *next, *prev; }; type dnode;
list: dnode X; COUNT(dnode Y: X.next == Y or X.next ->>(next) Y) == COUNT(dnode Y: not (not (X.next == Y or X.next ->>(next) Y)));
in:   dnode X; COUNT(dnode Y: Y.next == X and Y.key > 0) == COUNT(dnode Y: not (not (Y.next == X and Y.key > 0)));
back: dnode X; COUNT(dnode Y: Y ->> X or Y ->(prev) X) == COUNT(dnode Y: not (not (Y ->> X or Y ->(prev) X)));
dnode X; COUNT(dnode Y: X.next == Y or X.next ->>(next) Y) >= 0;
dnode X; COUNT(dnode Y: Y.next == X and Y.key > 0) >= 0;
dnode X; COUNT(dnode Y: Y ->> X or Y ->(prev) X) >= 0;
`
	shapes := randomSpecs["list"].shapes
	counted := map[string]int{}
	for seed := range uint64(8) {
		s := &script{world: newWorld(t, text), r: rand.New(rand.NewPCG(seed, 1)), shapes: shapes, kind: map[trace.Addr]*shape{}, wild: 12}
		last := map[eval.Instance]eval.Result{}
		for range 60 {
			before := s.h.Now()
			s.step()
			now := s.h.Now()
			if broken := s.lines(s.c.Check(now, nil)); len(broken) > 0 {
				t.Fatalf("seed %d at %d: %s", seed, now, broken)
			}
			for k := 3; k < 6; k++ {
				for _, o := range s.g.Live(s.spec.Types[0], now, nil) {
					i := eval.Instance{Constraint: k}
					i.Nodes[0] = o
					r := s.c.Eval(i, s.h.At(now))
					if n := r.Args[0].Value; n != "0" {
						counted[n]++
					}
					if was, ok := last[i]; ok && was.Args[0] != r.Args[0] && eval.LastChange(s.c, was.Deps, now) <= before {
						t.Fatalf("seed %d at %d: constraint %d counts %s, and counted %s, and depended on nothing that has changed", seed, now, k, r.Args[0].Value, was.Args[0].Value)
					}
					last[i] = r
				}
			}
		}
	}
	if len(counted) < 3 {
		t.Errorf("counted: %v", counted)
	}
}

// A hypothetical view's check equals that of a history in which it is true.
func TestHypothetical(t *testing.T) {
	each(t, 4, func(t *testing.T, s *script) {
		for range 60 {
			s.step()
		}
		now := s.h.Now()
		var views []mgpp.View
		var got [][]string
		for range 20 { // one after the other: what is kept goes there and back
			v := s.hypothesis(now)
			views = append(views, v)
			got = append(got, s.lines(s.c.All(v)))
		}
		for i, v := range views {
			if d := cmp.Diff(s.lines(eval.Scratch(s.c, v)), got[i]); d != "" {
				t.Fatalf("(-scratch +incremental):\n%s", d)
			}
		}
	})
}

// What a hypothetical view cures and creates is what differs from the history's.
func TestCures(t *testing.T) {
	worth := 0
	each(t, 4, func(t *testing.T, s *script) {
		for range 60 {
			s.step()
		}
		now := s.h.Now()
		for range 20 {
			v, lead := s.hypothesis(now), s.r.IntN(5)-2
			broken := instances(eval.Scratch(s.c, s.h.At(now)))
			if s.r.IntN(4) == 0 {
				lead = len(broken) - s.r.IntN(2) // as where all are to be cured
			}
			cured, created, ok := s.c.Cures(v, lead)
			wantCured, wantCreated := eval.Differ(broken, instances(eval.Scratch(s.c, v)))
			if want := len(wantCured) > 0 && len(wantCured)-len(wantCreated) >= lead; ok != want {
				t.Fatalf("worth it: %t, want %t", ok, want)
			}
			if !ok {
				continue
			}
			worth++
			sort := cmpopts.SortSlices(func(a, b eval.Instance) bool { return a.Compare(b) < 0 })
			if d := cmp.Diff([][]eval.Instance{wantCured, wantCreated}, [][]eval.Instance{cured, created}, sort, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("(-scratch +incremental):\n%s", d)
			}
		}
	})
	if worth == 0 {
		t.Error("nothing was ever cured: the test tests nothing")
	}
}

func instances(list []eval.Inconsistency) (out []eval.Instance) {
	for _, inc := range list {
		out = append(out, inc.Instance)
	}
	return out
}

func (s *script) hypothesis(now mgpp.Timestamp) mgpp.View {
	v := s.h.At(now)
	if s.r.IntN(2) == 0 {
		return s.h.Without(v, 1+mgpp.Timestamp(s.r.IntN(int(now))))
	}
	a := s.live[s.r.IntN(len(s.live))]
	k := s.kind[a]
	if len(k.pointers) > 0 && s.r.IntN(3) > 0 {
		cell := a + trace.Addr(k.pointers[s.r.IntN(len(k.pointers))])
		return mgpp.With(v, cell, binary.LittleEndian.AppendUint64(nil, s.pointer(k, cell)))
	}
	if len(k.numbers) == 0 {
		return mgpp.With(v, a, []byte{0})
	}
	return mgpp.With(v, a+trace.Addr(k.numbers[s.r.IntN(len(k.numbers))]), []byte{byte(s.r.IntN(4)), 0, 0, 0})
}

// Touched has every inconsistency an argument of which an operation changed.
func TestTouched(t *testing.T) {
	each(t, 3, func(t *testing.T, s *script) {
		for range 80 {
			s.step()
		}
		for at := mgpp.Timestamp(1); at <= s.h.Now(); at++ {
			before, after := s.h.At(at-1), s.h.At(at)
			touched := s.c.Touched(at)
			for _, inc := range append(s.c.All(before), s.c.All(after)...) {
				x, y := s.c.Eval(inc.Instance, before), s.c.Eval(inc.Instance, after)
				same := (x.Verdict == eval.Absent) == (y.Verdict == eval.Absent) && slices.Equal(x.Args, y.Args)
				if !same && !slices.Contains(touched, inc.Instance) {
					t.Fatalf("at %d (%v) %s is not touched:\n%v\n%v", at, s.h.Op(at), s.lines([]eval.Inconsistency{inc}), x, y)
				}
			}
		}
	})
}

// Eval agrees with All, and what it depends on tells when to look again:
// between the last change of a dependency and now nothing differs.
func TestEvalAndDependencies(t *testing.T) {
	each(t, 3, func(t *testing.T, s *script) {
		for range 80 {
			s.step()
		}
		for at := s.h.Now(); at > 0; at -= min(at, 7) {
			v := s.h.At(at)
			for _, inc := range s.c.All(v) {
				r := s.c.Eval(inc.Instance, v)
				if r.Verdict != eval.Broken || r.Reason != inc.Reason || r.Through != inc.Through || r.Block != inc.Block {
					t.Fatalf("at %d: All says %v, Eval %v %q", at, s.lines([]eval.Inconsistency{inc}), r.Verdict, r.Reason)
				}
				next := mgpp.Timestamp(0)
				for _, d := range r.Deps {
					next = max(next, s.c.LastChange(d, at))
				}
				for u := at; u > next && u > at-min(at, 10); u-- {
					w := s.c.Eval(inc.Instance, s.h.At(u))
					if d := cmp.Diff(r.Args, w.Args); d != "" {
						t.Fatalf("%v at %d and %d, next change %d (%v):\n%s", s.lines([]eval.Inconsistency{inc}), at, u, next, r.Deps, d)
					}
				}
			}
		}
	})
}

func ExampleChecker() {
	w := newWorld(&testing.T{}, `
struct node { int value; struct node *next; };
type node;
acyclic: node X, Y; X ->> Y => Y !->> X;
`)
	a, b := w.alloc("node", 16, true), w.alloc("node", 16, true)
	w.put8(a+8, uint64(b))
	w.put8(b+8, uint64(a))
	for _, l := range w.lines(w.c.Check(w.h.Now(), nil)) {
		fmt.Println(l)
	}
	// Output: acyclic @node#1: a cycle of 2 nodes: node#1, node#2
}
