package eval_test

import (
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"

	"github.com/google/go-cmp/cmp"
)

// What is surely healthy is so: a check from scratch that is sure of nothing finds the same, and guards
// that hold in it hold in the other.
func TestSurely(t *testing.T) {
	sure, led := map[string]int{}, map[string]int{}
	each(t, 6, func(t *testing.T, s *script) {
		slow := eval.NewChecker(s.spec, s.h, s.g, eval.Options{})
		eval.Unsure(slow)
		for range 60 {
			for range 1 + s.r.IntN(6) {
				s.step()
			}
			now := s.h.Now()
			s.c.Check(now, nil) // step by step, and now and then from scratch
			if s.r.IntN(2) > 0 {
				if d := cmp.Diff(s.lines(eval.Scratch(slow, s.h.At(now))), s.lines(s.all())); d != "" {
					t.Fatalf("at %d (-unsure +sure):\n%s", now, d)
				}
			}
			for _, at := range [2]mgpp.Timestamp{now, mgpp.Timestamp(s.r.Uint64N(uint64(now) + 1))} {
				n, wrong := eval.Sure(s.c, at)
				if sure[t.Name()] += n; wrong != "" {
					t.Fatalf("at %d of %d: %s", at, now, wrong)
				}
				led[t.Name()] += s.leads(t, at)
			}
		}
		for i := range s.spec.Constraints {
			if slow.GuardHeld(i) && !s.c.GuardHeld(i) {
				t.Fatalf("the guard of %s held, and it is not known", s.spec.Constraints[i].Label)
			}
		}
	})
	for _, name := range []string{"list", "tree", "entered", "apart", "embed", "ways", "cells", "arrays"} {
		if sure["TestSurely/"+name] == 0 {
			t.Errorf("%s: nothing was ever sure: the test tests nothing", name)
		}
		if led["TestSurely/"+name] == 0 {
			t.Errorf("%s: nothing ever led anywhere: the test tests nothing", name)
		}
	}
}

// leads holds what the graph says without a look at the history, where pointers lead at a time and how many edges lead to a node, to
// what the history says. It returns of how many it says something.
func (s *script) leads(t *testing.T, at mgpp.Timestamp) (known int) {
	v := s.h.At(at)
	for o := graph.ObjID(1); int(o) <= s.g.Objects(); o++ {
		typ := s.g.Object(o).Type
		if typ == nil || !s.g.Alive(o, at) {
			continue
		}
		for i := range typ.Edges {
			c := &typ.Edges[i]
			for k, n := int64(0), graph.Elems(c, s.g.Size(o, at)); k < n && c.Coded == coded.Plain; k++ {
				addr := s.g.CellAddr(o, c, k)
				to, word, ok := s.g.Leads(o, addr, at)
				if !ok {
					continue
				}
				known++
				tgt := v.Target(addr, c.Coded)
				want := s.g.Resolve(at, tgt, c.Elem, typ)
				if tgt.State == mgpp.Unwritten || to != want || word != tgt.Value {
					t.Fatalf("at %d of %d: %s at %#x leads to %s by %#x, want %s by %#x", at, s.h.Now(), s.g.Name(o), addr, s.g.Name(to), word, s.g.Name(want), tgt.Value)
				}
			}
		}
		n, ok := s.g.Edges(o, nil, at)
		if !ok {
			continue
		}
		want := int64(0)
		for _, e := range s.g.In(v, o) {
			if s.g.Object(e.From).Type.Group == typ.Group {
				want++
			}
		}
		if known++; n != want {
			t.Fatalf("at %d of %d: %d edges lead to %s, want %d", at, s.h.Now(), n, s.g.Name(o), want)
		}
	}
	return known
}
