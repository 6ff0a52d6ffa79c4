package mine

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Variables of functions: the head of a structure often is one.

// activation is when a variable was a node, or a call ran: half-open [enter, leave).
type activation struct{ enter, leave mgpp.Timestamp }

// exploreLocals explores with all variables that were recorded, and then with those that are heads: that are there, with
// nodes in them or behind them, where others' operations begin and end. What an operation has for itself, as an
// iterator, is none.
func (m *mining) exploreLocals(ctx context.Context) (*trial, error) {
	given, activations := slices.Clone(m.head.types), m.activations()
	for _, l := range m.run.Locals {
		if m.head.given == "" && l.Why() == "" && len(activations[l.Frames[0].Label()]) > 0 {
			m.local(l)
		}
	}
	base, err := m.explore(ctx)
	if err != nil || len(m.head.locals) == 0 {
		return base, err
	}
	all := m.head.locals
	kept := slices.DeleteFunc(slices.Clone(all), func(l check.Local) bool {
		return m.outlasted(l.Func, activations[l.Frames[0].Label()]) < enoughOutlasted
	})
	if len(kept) < len(all) {
		m.head.types, m.head.locals = given, nil
		for _, l := range kept {
			m.local(l)
		}
		base, err = m.explore(ctx)
	}
	return base, err
}

// enoughOutlasted is in how many states a head must be seen at others' calls.
const enoughOutlasted = 2

// local declares a variable, with its type.
func (m *mining) local(l check.Local) {
	if t := l.Frames[0].Type; !m.declares(t) {
		m.head.declare(cxxname.Normal(t.Name))
	}
	m.head.locals = append(m.head.locals, l)
}

// declares: one of the types is this one, by whatever name: the user may have named a typedef.
func (m *mining) declares(t *types.Type) bool {
	return slices.ContainsFunc(m.head.types, func(d typeDecl) bool {
		name := d.is()
		return d.elem == "" && (cxxname.Normal(name) == cxxname.Normal(t.Name) ||
			slices.ContainsFunc(m.run.Program.LookupType(cxxname.Normal(name)), func(o *types.Type) bool { return sameStruct(o, t) }))
	})
}

// activations lists when the variables that were recorded were there, by their labels.
func (m *mining) activations() map[string][]activation {
	out := map[string][]activation{}
	for n := range m.run.History.Nodes() {
		if label, ok := trace.Local(n.Alloc); ok {
			a := activation{n.Birth, n.Death}
			if n.Death == 0 {
				a.leave = m.run.History.Now() + 1
			}
			out[label] = append(out[label], a)
		}
	}
	return out
}

// outlasted counts the states that quiet moments of other functions show while a function's activations last, which are in
// order.
func (m *mining) outlasted(fn string, all []activation) int {
	states := map[int]bool{}
	for _, q := range m.quiet {
		i := sort.Search(len(all), func(i int) bool { return all[i].enter > q.at })
		for i--; i >= 0 && m.land.places[q.place].fn != "" && m.land.places[q.place].fn != fn; i-- {
			if q.at < all[i].leave {
				states[q.state] = true
				break
			}
		}
	}
	return len(states)
}

// maxUnfollowed is how many variables are named that can not be followed.
const maxUnfollowed = 4

// unfollowed says of variables that may be heads, and can not be followed, why: where none is followed.
func (m *mining) unfollowed() (out []string) {
	if len(m.head.locals) > 0 || m.land == nil {
		return nil
	}
	for _, l := range m.run.Locals {
		why := l.Why()
		own := slices.ContainsFunc(m.cpoints, func(c CPoint) bool { return c.Chosen && c.Func == l.Func }) // an operation's
		if why == "" || own || len(out) == maxUnfollowed {
			continue
		}
		var calls []activation
		for _, c := range m.run.Calls {
			if c.Func == l.Func {
				calls = append(calls, activation{c.Enter, c.Leave})
			}
		}
		if m.outlasted(l.Func, calls) >= enoughOutlasted {
			out = append(out, fmt.Sprintf("%s of %s is not followed: %s", l.Name, l.Func, why))
		}
	}
	return out
}
