package mine

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Comparison says what one specification sees of what breaks another.
type Comparison struct {
	Corruptions int // of one field each, that were tried
	Breaking    int // those that break a constraint of the reference
	Caught      int // those of them that break the other specification too
	Constraints []Coverage
	Others      []Extra
}

// Coverage is how much of what breaks a constraint of the reference the other
// specification reports.
type Coverage struct {
	Label          string
	Broken, Caught int
}

// Extra is how often a constraint of the other specification is broken, and how often
// while the reference is satisfied: then it says more, or too much.
type Extra struct {
	Label         string
	Broken, Alone int
}

// Side is a specification with its checker over a history.
type Side struct {
	Spec    *check.Spec
	Checker *eval.Checker
}

// broken returns which constraints a view breaks, cycles of attributes last.
func (s *Side) broken(v mgpp.View) (of []bool, any bool) {
	of = make([]bool, len(s.Spec.Constraints)+1)
	for _, inc := range s.Checker.All(v) {
		k := inc.Instance.Constraint
		if k < 0 || k >= len(s.Spec.Constraints) {
			k = len(s.Spec.Constraints)
		}
		of[k], any = true, true
	}
	return of, any
}

func (s *Side) label(k int) string {
	if k < len(s.Spec.Constraints) {
		return s.Spec.Constraints[k].Label
	}
	return "cycles of attributes"
}

// Compare corrupts one field of one node after the other, at times at which both
// specifications hold, and asks both. each is the number of corruptions per time.
func Compare(ctx context.Context, h *mgpp.History, reference, other Side, times []mgpp.Timestamp, each int, seed uint64) (*Comparison, error) {
	c := &Comparison{}
	for k := range len(reference.Spec.Constraints) + 1 {
		c.Constraints = append(c.Constraints, Coverage{Label: reference.label(k)})
	}
	for k := range len(other.Spec.Constraints) + 1 {
		c.Others = append(c.Others, Extra{Label: other.label(k)})
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	g := reference.Checker.Graph()
	for _, at := range times {
		v := h.At(at)
		if _, bad := reference.broken(v); bad {
			continue
		}
		if _, bad := other.broken(v); bad {
			continue
		}
		cells := corruptible(g, reference.Spec, at)
		for range each {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if len(cells) == 0 {
				break
			}
			addr, data, ok := corrupt(rnd, g, v, cells)
			if !ok {
				continue
			}
			c.note(&reference, &other, mgpp.With(v, addr, data))
		}
	}
	return c, nil
}

func (c *Comparison) note(reference, other *Side, v mgpp.View) {
	c.Corruptions++
	ref, breaks := reference.broken(v)
	oth, caught := other.broken(v)
	if breaks {
		c.Breaking++
		if caught {
			c.Caught++
		}
	}
	for k, b := range ref {
		if b {
			c.Constraints[k].Broken++
			if caught {
				c.Constraints[k].Caught++
			}
		}
	}
	for k, b := range oth {
		if b {
			c.Others[k].Broken++
			if !breaks {
				c.Others[k].Alone++
			}
		}
	}
}

// cellOf is a field of a node.
type cellOf struct {
	obj   graph.ObjID
	field types.Scalar
}

// shareOfGlobals: one corruption in so many is of an object in static memory.
const shareOfGlobals = 20

// corruptible lists the fields of all nodes, and of declared objects in static memory
// so often that they get their share.
func corruptible(g *graph.Graph, spec *check.Spec, at mgpp.Timestamp) []cellOf {
	var out, static []cellOf
	add := func(to *[]cellOf, o graph.ObjID, t *types.Type) {
		for _, s := range t.Scalars() {
			if s.BitSize == 0 && s.Size >= 1 && s.Size <= 8 && s.Type != nil && s.Type.Kind != types.Union {
				*to = append(*to, cellOf{o, s})
			}
		}
	}
	for _, t := range spec.Types {
		if t.Layout != nil {
			for _, o := range g.Live(t, at, nil) {
				add(&out, o, t.Layout)
			}
		}
	}
	for i := range spec.Globals {
		if o := g.Global(i); o != 0 && spec.Globals[i].Layout != nil {
			add(&static, o, spec.Globals[i].Layout)
		}
	}
	for n := len(out); len(static) > 0 && len(out) < n+n/shareOfGlobals; {
		out = append(out, static...)
	}
	return out
}

// corrupt chooses a field and another value: of a pointer NULL, the node itself, or
// another node; of a number one more or less, 0, or what another node has.
func corrupt(rnd *rand.Rand, g *graph.Graph, v mgpp.View, cells []cellOf) (trace.Addr, []byte, bool) {
	c := cells[rnd.IntN(len(cells))]
	addr := g.Object(c.obj).Addr + trace.Addr(c.field.Offset)
	old, ok := word(v, addr, c.field.Size)
	if !ok {
		return 0, nil, false
	}
	twin := cells[rnd.IntN(len(cells))]
	for twin.field.Type.Kind != c.field.Type.Kind {
		twin = cells[rnd.IntN(len(cells))]
	}
	now := old
	switch pointer := c.field.Type.Kind == types.Pointer; rnd.IntN(4) {
	case 0:
		now = 0
	case 1:
		now, ok = word(v, g.Object(twin.obj).Addr+trace.Addr(twin.field.Offset), twin.field.Size)
	case 2:
		if now = old + 1; pointer {
			now = uint64(g.Object(c.obj).Addr)
		}
	case 3:
		if now = old - 1; pointer {
			now = uint64(g.Object(twin.obj).Addr)
		}
	}
	data := binary.LittleEndian.AppendUint64(nil, now)[:c.field.Size]
	same := string(data) == string(binary.LittleEndian.AppendUint64(nil, old)[:c.field.Size])
	return addr, data, ok && !same
}

func word(v mgpp.View, addr trace.Addr, size int64) (uint64, bool) {
	b := mgpp.NewBytes(size)
	if !v.Read(addr, &b) {
		return 0, false
	}
	var full [8]byte
	copy(full[:], b.Data)
	for _, w := range b.Written {
		if !w {
			return 0, false
		}
	}
	return binary.LittleEndian.Uint64(full[:]), true
}
