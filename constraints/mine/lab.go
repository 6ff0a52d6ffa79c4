package mine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/syntax"
	"mgtrace/cxxname"
)

// candidate is a constraint that may hold, with what was seen of it.
type candidate struct {
	Fact
	key  string // names what it says: two candidates of one key are not both needed
	attr []attribute
	// A comparison of two numbers: its operands as written, and what must hold of
	// their values. It is judged by how likely the same values, paired at random,
	// would satisfy it. nil: by the number of different instances alone.
	left, right string
	holds       func(a, b float64) bool
	modulo      *modulus // nil: the operands are compared as they are
	apart       bool     // operands that are alike anyhow say nothing of what they are modulo a number
	other       string   // a third operand, which join takes together with the right one; "": there is none
	join        func(b, other float64) float64
	steps       bool     // the operands are neighbours in an array: alike ones say nothing of the order, and each step counts once
	made        []int64  // all numbers that nodes were given one after the other: neighbours between which none is say nothing of the order. nil: not asked
	distance    string   // of an order of two pointers: their difference as written. It is judged by how many different ones were seen
	alike       float64  // of an order without equal numbers: the share of pairs of nodes that have one number; 0: none had
	share       float64  // of all nodes that satisfy its body, guard or not; 0: it is not judged by that
	need        int      // different instances that make it more than an accident; 0: enough
	states      int      // in so many states it must have been seen
	crowd       int      // a state counts only with so many instances; 0: with any
	placed      bool     // only instances with an index above 0 count
	implies     []string // keys of candidates that need not be said beside it
	arrays      []string // ARRAY types that it needs
	family      string   // of those of one family one is enough; "": it has none
	whole       bool     // it is about all elements of a block
	joined      bool     // it needs the types to make one structure
	edges       string   // the fields that stand in it because they do
	number      bool     // it says what a number of one node may be
	halves      []string // keys of which each is the other half of what it says
	alone       string   // its words if none of these held; "": they are the same
	serial      bool     // it is no law if none of these held: nodes hang on older ones, and it is about numbers that say how old they are
	weak        bool     // an observation rather than a law: stated in a comment only
	tight       bool     // it is weak, unless its operands are mostly equal

	dead  bool
	pairs map[pair]bool
	odds  float64 // that values paired at random satisfy the comparison
	seen  map[eval.Instance]bool
	fails map[int]int // by place: moments at which it was broken
	since map[int]int // by place: those of them before the first moment at which it held
}

// attribute is a user attribute that a candidate needs.
type attribute struct {
	name string // "HEIGHT"
	text string // its declaration and rules
}

// header is what stands before the constraints of a specification.
type header struct {
	given      string // declarations of the user's
	types      []typeDecl
	globals    []string
	locals     []check.Local // variables of functions that are nodes
	directives []string      // cells, nil
	together   []string      // types that make one structure
}

// clone is a header of its own.
func (h *header) clone() header {
	c := *h
	c.types, c.globals, c.locals = slices.Clone(h.types), slices.Clone(h.globals), slices.Clone(h.locals)
	c.directives, c.together = slices.Clone(h.directives), slices.Clone(h.together)
	return c
}

type typeDecl struct {
	name   string
	source string   // the program's name of it, where that is none of the language; else ""
	elem   string   // of the elements: it is an ARRAY type; else ""
	edges  []string // nil: all
	given  bool     // the user's file declares it
}

// is is the program's name of it.
func (d typeDecl) is() string { return cmp.Or(d.source, d.name) }

// declare names a type of the program: one with a scope or arguments by the last part of
// its name, with a number where others have that already.
func (h *header) declare(source string) {
	name := cxxname.WithoutArgs(source)
	name = name[strings.LastIndexByte(name, ':')+1:]
	if syntax.Begins(name) {
		name += "_node"
	}
	if name == source {
		source = ""
	}
	taken := func(n string) bool {
		return slices.ContainsFunc(h.types, func(t typeDecl) bool { return t.name == n })
	}
	unique := name
	for i := 2; taken(unique); i++ {
		unique = fmt.Sprintf("%s%d", name, i)
	}
	h.types = append(h.types, typeDecl{name: unique, source: source})
}

// names are those of the types.
func (h *header) names() []string {
	var out []string
	for i := range h.types {
		out = append(out, h.types[i].name)
	}
	return out
}

func (h *header) text() string {
	var b strings.Builder
	b.WriteString(h.given)
	for _, t := range h.types {
		if !t.given && t.elem == "" {
			b.WriteString(t.text() + "\n")
		}
	}
	b.WriteString(h.arrayText())
	if len(h.locals) > 0 {
		b.WriteString("# Variables of functions that it hangs on.\n")
	}
	for _, l := range h.locals {
		fmt.Fprintf(&b, "local %s in %s;\n", l.Name, l.Func)
	}
	for _, g := range h.globals {
		fmt.Fprintf(&b, "global %s;\n", g)
	}
	for _, d := range h.directives {
		b.WriteString(d + "\n")
	}
	return b.String()
}

// arrayText declares the arrays, and what makes one structure with them.
func (h *header) arrayText() string {
	var b strings.Builder
	for _, t := range h.types {
		if t.elem != "" {
			b.WriteString(t.text() + "\n")
		}
	}
	if len(h.together) > 0 {
		fmt.Fprintf(&b, "together %s;\n", strings.Join(h.together, ", "))
	}
	return b.String()
}

func (t *typeDecl) text() string {
	if t.elem != "" {
		return fmt.Sprintf("ARRAY %s OF %s;", t.name, t.elem)
	}
	name := t.name
	if t.source != "" {
		name = fmt.Sprintf("%s = %q", t.name, t.source)
	}
	if t.edges == nil {
		return "type " + name + ";"
	}
	return fmt.Sprintf("type %s edges (%s);", name, strings.Join(t.edges, ", "))
}

// trial is a set of candidates compiled into one specification.
type trial struct {
	run     *Run
	spec    *check.Spec
	graph   *graph.Graph
	checker *eval.Checker
	cands   []*candidate // by constraint
}

// compile makes a specification of a header and candidates. Candidates that the
// language refuses are dead: a field of the program may have the name of an attribute,
// say.
func compile(r *Run, h *header, cands []*candidate) (*trial, error) {
	cands = slices.DeleteFunc(slices.Clone(cands), func(c *candidate) bool { return c.dead })
	for {
		var b strings.Builder
		b.WriteString(h.text())
		head := strings.Count(b.String(), "\n") + 1 // the line of the first attribute
		attrs := attributesOf(cands)
		for _, a := range attrs {
			b.WriteString(a.text + "\n")
		}
		first := strings.Count(b.String(), "\n") + 1 // the line of the first candidate
		for _, c := range cands {
			b.WriteString(c.Text + "\n")
		}
		spec, errs := load(b.String(), r.Program)
		refused := false
		for _, e := range errs {
			refused = true
			switch line := e.Pos.Line; {
			case line >= first && line < first+len(cands):
				cands[line-first].dead = true
			case line >= head && line < first:
				for _, c := range cands {
					c.dead = c.dead || slices.ContainsFunc(c.attr, func(a attribute) bool { return a.text == attrs[line-head].text })
				}
			default:
				return nil, fmt.Errorf("the beginning of a specification was refused: %s", e.Format(b.String()))
			}
		}
		if !refused {
			t := &trial{run: r, spec: spec, cands: cands}
			t.graph = graph.New(spec, r.History, r.Typing(spec), graph.Options{Bias: r.Bias})
			t.checker = eval.NewChecker(spec, r.History, t.graph, eval.Options{})
			return t, nil
		}
		cands = slices.DeleteFunc(cands, func(c *candidate) bool { return c.dead })
	}
}

// load parses and checks a text; the errors are without warnings.
func load(text string, p check.Program) (*check.Spec, []syntax.Error) {
	tree, errs := syntax.Parse("", text)
	var spec *check.Spec
	if len(errs) == 0 {
		spec, errs = check.Check(tree, p)
	}
	return spec, slices.DeleteFunc(errs, func(e syntax.Error) bool { return e.Warning })
}

// attributesOf lists the attributes that candidates need, each once.
func attributesOf(cands []*candidate) []attribute {
	var out []attribute
	for _, c := range cands {
		for _, a := range c.attr {
			if !slices.ContainsFunc(out, func(b attribute) bool { return b.text == a.text }) {
				out = append(out, a)
			}
		}
	}
	return out
}

// maxSamples is how many instances of a candidate are kept, with their operands.
const maxSamples = 256

// look counts the instances of all candidates at some moments, and keeps operands of
// some of them as evidence: of each moment its part, for at the first ones a table may hold nothing but what is empty.
func (t *trial) look(ctx context.Context, moments []moment) error {
	total := make([]int, len(t.cands)) // instances at the last time, for the stride
	for i, m := range moments {
		if err := ctx.Err(); err != nil {
			return err
		}
		upTo := maxSamples * (i + 1) / len(moments)
		perView := 1 + maxSamples/len(moments)
		want := func(k, n int) bool {
			c := t.cands[k]
			return (n+i)%(1+total[k]/perView) == 0 && len(c.seen) < upTo
		}
		for k, x := range t.checker.Tallies(t.run.History.At(m.at), m.stack.holds, want, func(i eval.Instance, args []eval.Arg) { t.cands[i.Constraint].sample(i, args) }) {
			c := t.cands[k]
			total[k] = x.Held + x.Broken
			c.Held += x.Held
			c.Broken += x.Broken
			if n := x.Held + x.Broken; n == 0 || n < c.crowd {
				continue
			}
			c.Views++
			if x.Broken > 0 {
				c.BrokenViews++
			}
		}
	}
	return nil
}

// sweep checks all candidates forward at moments, which are in order of time, and
// counts for each place the moments at which they were broken. What would have to be read on the stack to know is not
// broken, as it is none in a run with the specification.
func (t *trial) sweep(ctx context.Context, moments []moment) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, c := range t.cands {
		c.fails, c.since = map[int]int{}, map[int]int{}
	}
	before := map[int]int{} // by place: moments
	var broken []bool
	var last moment
	for i, m := range moments {
		if broken == nil || m.at != last.at || m.stack != last.stack && t.run.onStack {
			if i%64 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			if last = m; t.run.onStack {
				broken = t.checker.BrokenBut(m.at, m.stack.holds)
			} else {
				broken = t.checker.BrokenAt(m.at)
			}
		}
		for k, b := range broken {
			if !b {
				continue
			}
			c := t.cands[k]
			if c.fails[m.place] == before[m.place] {
				c.since[m.place]++
			}
			c.fails[m.place]++
		}
		before[m.place]++
	}
	return nil
}
