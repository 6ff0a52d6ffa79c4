package mine

import (
	"fmt"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Arrays of the places of nodes: a heap, a stack of free ones or an order that keeps nodes of an array in static memory by their index, as where a
// program has no pointers: static struct timer timers[60]; static uint8_t heap[60]; static uint8_t n;.

// IsPlaces reports whether an object in static memory is of a type that may be an array of places, or count its elements. A plain char is a character.
func IsPlaces(t *types.Type) bool {
	if t != nil && t.Kind == types.Array && t.Count > 1 {
		t = t.Elem
	}
	return t != nil && integer(t) && t.Name != "char"
}

// numberArrays lists the arrays of numbers that may be places in a structure.
func numberArrays(t *types.Type, path string, offset int64, depth int) (out []types.Scalar) {
	for _, m := range t.Members {
		if m.Type == nil || m.Name == "" || internal(path+m.Name) || m.Offset < 0 {
			continue
		}
		switch name, at := path+m.Name, offset+m.Offset; m.Type.Kind {
		case types.Array:
			if IsPlaces(m.Type) {
				out = append(out, types.Scalar{Path: name, Offset: at, Size: m.Type.Size, Type: m.Type})
			}
		case types.Struct:
			if depth < maxNesting {
				out = append(out, numberArrays(m.Type, name+".", at, depth+1)...)
			}
		}
	}
	return out
}

// placesIn lists those that a variable in static memory is, or has.
func placesIn(v check.Variable) []types.Scalar {
	return numberArrays(&types.Type{Kind: types.Struct, Members: []types.Member{{Name: v.Name, Type: v.Type}}}, "", 0, 0)
}

// lawsOfPlaces makes the candidates about arrays of places in what is of one layout and lies at some addresses. Where the first ones are none, those that are in use may
// begin at another number, and go on at the front behind the last.
func (m *mining) lawsOfPlaces(mk *maker, of *types.Type, rows []*row, owners func(moment) []trace.Addr) {
	for _, s := range numberArrays(of, "", 0, 0) {
		a := &table{name: s.Path, elem: s.Type.Elem, count: s.Type.Count}
		used, most := m.mostPlaces(mk, s, a, nil, rows, owners)
		for _, first := range mk.fields {
			if most == 0 && first.min == 0 && first.max >= leastPlaces && first.max < a.count {
				used, most = m.mostPlaces(mk, s, a, first, rows, owners)
			}
		}
		if most > 0 {
			mk.elementsAre(a, used, rows)
		}
	}
}

// mostPlaces is the number that says how many elements of an array are places, from a first one on, of several that of which it was most, and how many these were in all; what they are
// places in is noted with the array.
func (m *mining) mostPlaces(mk *maker, s types.Scalar, a *table, first *field, rows []*row, owners func(moment) []trace.Addr) (used size, most int64) {
	for _, n := range mk.sizes(a) {
		for _, r := range rows {
			if n.field == nil || n.field == first || n.mask || a.most(n) > maxElements {
				continue
			}
			sum := m.placesAmong(s, first, n.field, r, owners)
			if sum > most || sum > 0 && sum == most && r.count < a.row.count { // what is a place among few is one among more
				used, most, a.row, a.first = n, sum, r, first
			}
		}
	}
	return used, most
}

// leastPlaces are so many at a time: of fewer, any numbers are different places.
const leastPlaces = 4

// placesAmong is how many numbers there were, n from a first one on whenever they were looked at, if they always were places of different elements of a row; else 0.
func (m *mining) placesAmong(s types.Scalar, first, n *field, r *row, owners func(moment) []trace.Addr) (sum int64) {
	e := newField(types.Scalar{Type: s.Type.Elem, Size: s.Type.Elem.Size})
	most := int64(0)
	for _, look := range m.looks {
		v := m.run.History.At(look.at)
		for _, owner := range owners(look) {
			count, ok := n.read(v, owner)
			from := int64(0)
			if ok && first != nil {
				from, ok = first.read(v, owner)
			}
			if !ok {
				continue
			}
			if count < 0 || count > min(r.count, s.Type.Count) || !e.different(v, owner+trace.Addr(s.Offset), from, count, s.Type.Count, r.count) {
				return 0
			}
			sum, most = sum+count, max(most, count)
		}
	}
	if most < leastPlaces {
		return 0
	}
	return sum
}

// different: n numbers of an array of so many at an address, from a first one on and around, are different ones from 0 on, and less than a limit.
func (f *field) different(v mgpp.View, at trace.Addr, first, n, count, limit int64) bool {
	seen := make([]bool, limit)
	for i := range n {
		x, ok := f.read(v, at+trace.Addr((first+i)%count*f.size))
		if !ok || x < 0 || x >= limit || seen[x] {
			return false
		}
		seen[x] = true
	}
	return true
}

// elementsAre: the elements that are in use are places of different nodes, which may know theirs, be in order or a heap, and be those of one state.
func (m *maker) elementsAre(a *table, n size, rows []*row) {
	r, at := a.row, a.element("I")
	c := m.say(fmt.Sprintf("places %s %s %s", a.name, r.name, n.name), fmt.Sprintf("%s are places of %s", n.of(a.name), r.name),
		fmt.Sprintf("%s X;  for I in 0 to %s, 0 <= %s and %s < %d;", m.name, n.last(), at, at, r.count))
	c.need = r.many()
	for _, f := range numbersIn(r.typ.Layout) {
		m.ordered(a, n, f, r.portrait)
		if a.first == nil {
			m.placed(a, n, f)
		}
	}
	if a.most(n)*r.count > maxScans {
		return
	}
	among := fmt.Sprintf("SUM(I in 0 to %s: %s == %s ? 1 : 0)", n.last(), at, r.place("Y"))
	say := func(key, words, guard, rest string) *candidate {
		c := m.say(fmt.Sprintf("%s %s %s", key, a.name, n.name), words, fmt.Sprintf("%s X;  forall %s Y; %s%s%s;", m.name, r.name, guard, among, rest))
		c.need = r.many()
		return c
	}
	of := n.of(a.name)
	say("twice", fmt.Sprintf("no %s is twice among %s", r.name, of), "", " <= 1")
	for _, kind := range r.kinds(rows) {
		state := kind[len("X."):]
		only := say("only "+state, fmt.Sprintf("a %s is among %s, once, if %s", r.name, of, state), "", fmt.Sprintf(" == (Y.%s ? 1 : 0)", state))
		in := say("in "+state, fmt.Sprintf("each %s is once among %s where %s", r.name, of, state), "Y."+state+" => ", " == 1")
		in.need = leastPlaces
		only.because(fmt.Sprintf("in %s %s %s", state, a.name, n.name), fmt.Sprintf("twice %s %s", a.name, n.name))
	}
}

// element is that of an array at an index, from the first one that is in use.
func (a *table) element(index string) string {
	if a.first != nil {
		index = fmt.Sprintf("(X.%s + %s) %% %d", a.first.name, index, a.count)
	}
	return fmt.Sprintf("X.%s[%s]", a.name, index)
}

// at is the element of an array at an index, or what that is the place of.
func (a *table) at(index string) string {
	if a.row == nil {
		return a.element(index)
	}
	return a.row.of(a.element(index))
}

// what names a number of what an array leads to.
func (a *table) what(f string) string {
	if a.row != nil {
		return a.name + " " + a.row.name + f
	}
	return strings.TrimSpace(a.name + " " + strings.TrimPrefix(f, "."))
}
