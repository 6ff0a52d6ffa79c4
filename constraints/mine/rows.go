package mine

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/trace"
)

// Nodes in arrays in static memory that lead to one another by index, as where a program has no pointers: a number is the place of another
// element, or one that stands for none.

// row is a type of nodes that are the elements of one array in static memory.
type row struct {
	*maker
	array string // "::pool"
	count int64
	at    trace.Addr // where it begins in the file
}

// rowsOf are those of a specification.
func rowsOf(spec *check.Spec, portraits []*portrait) (out []*row) {
	for _, p := range portraits {
		i := slices.IndexFunc(spec.Rows, func(r check.Row) bool { return r.Type == p.typ })
		if i < 0 || slices.ContainsFunc(spec.Rows[i+1:], func(r check.Row) bool { return r.Type == p.typ }) {
			continue
		}
		if r := spec.Rows[i]; len(r.Dims) == 1 && r.Names[1] == "" {
			out = append(out, &row{newMaker(p), r.Names[0], r.Dims[0].Count, trace.Addr(spec.Globals[r.Global].Addr) + trace.Addr(r.Offset)})
		}
	}
	return out
}

// of is the element that a number is the place of.
func (r *row) of(number string) string { return fmt.Sprintf("%s[%s]", r.array, number) }

// place is where a node lies.
func (r *row) place(node string) string { return fmt.Sprintf("%s - %s[0]", node, r.array) }

// indexes reports whether a field may be the place of an element of a row, or one number more that stands for none, all bits set, and that number.
func (f *field) indexes(r *row) (none int64, some, ok bool) {
	if !integer(f.typ) || f.many {
		return 0, false, false
	}
	within := 0
	for v := range f.values {
		switch {
		case v >= 0 && v < r.count:
			within++
		case some || v != -1 && v != int64(1)<<min(62, 8*f.size)-1: // as a program has it for none
			return 0, false, false
		default:
			none, some = v, true
		}
	}
	return none, some, within >= 2
}

// leads is the guard that a field of a node is the place of an element.
func leads(f *field, node string, r *row) string {
	if none, some, _ := f.indexes(r); some {
		return fmt.Sprintf("%s.%s != %d", node, f.name, none)
	}
	return fmt.Sprintf("0 <= %s.%s and %s.%s < %d", node, f.name, node, f.name, r.count)
}

// maxRowFields bounds the numbers of an element of which all pairs are tried.
const maxRowFields = 12

// lawsOfRows makes the candidates about indices in static memory.
func lawsOfRows(rows []*row) (out []*candidate) {
	for _, r := range rows {
		if len(r.fields) > maxRowFields {
			continue
		}
		for _, f := range r.fields {
			var nearest *row
			for _, to := range rows {
				if _, some, ok := f.indexes(to); ok && len(to.fields) <= maxRowFields {
					r.ways(f, to, rows)
					to.counts(f, r)
					if some {
						to.ends(f, r, rows)
					}
					if some && (nearest == nil || to.count < nearest.count) {
						nearest = to
					}
				}
			}
			if nearest != nil {
				r.places(f, nearest)
			}
			r.numbered(f)
		}
	}
	for _, r := range rows {
		out = append(out, r.out...)
	}
	return out
}

// minEnds is how many different first or last ones tell what they hang on.
const minEnds = 4

// kinds are the guards under which a law may hold of elements in one state alone: what is in a list of free ones has its links for that.
func (r *row) kinds(rows []*row) (out []string) {
	index := func(f *field) bool {
		return slices.ContainsFunc(rows, func(to *row) bool { _, some, ok := f.indexes(to); return some && ok })
	}
	for _, f := range r.fields {
		if !f.mayTag() || len(f.values) > maxStates || index(f) {
			continue
		}
		for _, v := range f.sorted() {
			out = append(out, fmt.Sprintf("X.%s == %s", f.name, f.text(v)))
		}
	}
	return out
}

// maxStates is how many states elements have whose laws are tried for each by itself.
const maxStates = 8

// always makes a candidate of all elements, and of those in each state.
func (r *row) always(need int, key, words, guard, body string, rows []*row) {
	all := r.add(key, words, guard+" => "+body)
	all.need = need
	for _, kind := range r.kinds(rows) {
		state := strings.TrimPrefix(kind, "X.")
		of := r.add(key+" "+state, words+" where "+state, kind+" and "+guard+" => "+body)
		of.need = need
		all.because(key + " " + state)
	}
}

// many elements show a law: of a small array nearly all.
func (r *row) many() int { return min(8, max(3, int(r.count)-1)) }

// ways: the element that a number leads to leads back by another one, or to the same element by that as well.
func (r *row) ways(f *field, to *row, rows []*row) {
	for _, g := range to.fields {
		if _, _, ok := g.indexes(r); !ok || f == g {
			continue
		}
		r.always(r.many(), fmt.Sprintf("back %s %s %s", f.name, to.name, g.name), fmt.Sprintf("%s of the %s at %s leads back", g.name, to.name, f.name), leads(f, "X", to),
			fmt.Sprintf("%s.%s == %s", to.of("X."+f.name), g.name, r.place("X")), rows)
	}
}

// places: the number is a place or none.
func (r *row) places(f *field, to *row) {
	none, _, _ := f.indexes(to)
	c := r.add("index "+f.name+" "+to.name, fmt.Sprintf("%s is the place of a %s, or %d", f.name, to.name, none), fmt.Sprintf("0 <= X.%s and X.%s < %d or X.%s == %d", f.name, f.name, to.count, f.name, none))
	c.need = r.many()
	c.because("lower "+f.name, "upper "+f.name)
}

// numbered: each element has its own place as a number, and nothing leads to it by that.
func (r *row) numbered(f *field) {
	if _, _, ok := f.indexes(r); !ok {
		return
	}
	c := r.compare("numbered "+f.name, f.name+" is the place of the node itself", "", "X."+f.name, "==", r.place("X"), 0)
	c.need = r.many()
	for _, o := range r.out {
		if words := strings.Fields(o.key); o != c && slices.Contains(words[2:], f.name) {
			c.implies = append(c.implies, o.key)
		}
	}
}

// counts: numbers of an element count those that lead to it by a number, or sum up one of theirs.
func (r *row) counts(f *field, of *row) {
	mine := fmt.Sprintf("Y.%s == %s", f.name, r.place("X"))
	for _, n := range r.fields {
		if !n.counts() || n.max < 2 {
			continue
		}
		c := r.compare(fmt.Sprintf("led %s %s %s", n.name, of.name, f.name), fmt.Sprintf("%s is the number of %s with %s of this one", n.name, of.name, f.name), "", "X."+n.name, "==",
			fmt.Sprintf("COUNT(%s Y: %s)", of.name, mine), 0)
		c.because("lower " + n.name)
		for _, g := range of.fields {
			if g != f && integer(g.typ) && len(g.values) > 2 && g.max <= n.max {
				r.compare(fmt.Sprintf("sum %s %s %s %s", n.name, of.name, f.name, g.name), fmt.Sprintf("%s is the sum of %s of the %s with %s of this one", n.name, g.name, of.name, f.name), "", "X."+n.name, "==",
					fmt.Sprintf("SUM(%s Y: %s ? Y.%s : 0)", of.name, mine, g.name), 0).because("lower " + n.name)
			}
		}
	}
}

// ends: what leads to an element by a number, and has none before or behind it in its list, is the first or the last there.
func (r *row) ends(f *field, of *row, rows []*row) {
	for _, head := range r.fields {
		if _, _, ok := head.indexes(of); !ok || r == of {
			continue
		}
		for _, back := range of.fields {
			none, some, ok := back.indexes(of)
			if !ok || !some {
				continue
			}
			of.always(minEnds, fmt.Sprintf("end %s %s %s %s", f.name, r.name, head.name, back.name), fmt.Sprintf("what has %s and no %s is the %s there", f.name, back.name, head.name),
				fmt.Sprintf("%s and X.%s == %d", leads(f, "X", r), back.name, none), fmt.Sprintf("%s.%s == %s", r.of("X."+f.name), head.name, of.place("X")), rows)
		}
	}
}
