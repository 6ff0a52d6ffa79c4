package mine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Result is what was found.
type Result struct {
	Types   []Type   `json:"types"`
	Facts   []Fact   `json:"facts"`
	CPoints []CPoint `json:"cpoints"`
	// Moments is how many C-points were checked, States in how many different states
	// of the structure, Looks how many of them were looked at whole to count.
	Moments int `json:"moments"`
	States  int `json:"states"`
	Looks   int `json:"looks"`
	// Skipped moments were left out because there were so many.
	Skipped int `json:"skipped"`
	// Threads is how many threads changed the structure.
	Threads int `json:"threads"`
	// End: the facts held at the normal end of the program too.
	End bool `json:"end"`
	// Partial: it was interrupted; what was not done is not known.
	Partial bool `json:"partial"`

	header header
	astray []string // variables that may be heads and are not followed, and why
	said   []string // what its user should know of it
	base   *base
	stated []*candidate
	maybe  []*candidate
}

// Type is a type of nodes, with what its pointers make.
type Type struct {
	Name  string   `json:"name"`
	Shape string   `json:"shape"`
	Edges []string `json:"edges,omitempty"`
	Born  int      `json:"allocated"`
	Most  int      `json:"alive_at_most"`
}

func (k kind) String() string {
	return [...]string{"no structure", "tree or list", "rings", "graph without cycles", "graph"}[k]
}

// NoNodesError: the run allocated no block of the type.
type NoNodesError struct{ Of *check.NodeType }

func (e *NoNodesError) Error() string { return e.Of.Name + ": none was allocated" }

// ErrNoMoments: nothing is known of where the structure could be whole.
var ErrNoMoments = errors.New("no function whose calls were seen changed it")

// Mine finds what held of the structure in a healthy run. If ctx ends before it is
// through, the result is what is known by then, and says so; an error if nothing can be.
func Mine(ctx context.Context, r *Run) (*Result, error) {
	m := &mining{run: r}
	err := m.prepare(ctx)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{m.shapes, m.laws, m.points} {
		err = step(ctx)
		if errors.Is(err, context.Canceled) {
			m.partial = true
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return m.result(), nil
}

// mining is the state of one.
type mining struct {
	run       *Run
	head      header
	base      *base
	land      *terrain
	quiet     []moment
	places    map[int]bool // that quiet moments are of, as far as they are not given up
	looks     []moment
	skipped   int
	said      []string // what the result says of the run
	portraits []*portrait
	found     []shape
	globals   []global
	cands     []*candidate // laws
	cpoints   []CPoint
	end       bool
	final     []moment
	tried     bool // the laws have been tried at the quiet moments, if not more
	partial   bool
}

// prepare finds the moments, and looks at the fields.
func (m *mining) prepare(ctx context.Context) error {
	r := m.run
	m.head.directives = slices.Clone(r.Directives)
	if err := m.given(); err != nil {
		return err
	}
	for _, t := range r.Types {
		if !slices.ContainsFunc(m.head.types, func(d typeDecl) bool { return d.given && (d.name == t || d.source == t) }) {
			m.head.declare(t)
		}
	}
	base, err := m.exploreStatics(ctx)
	if err != nil {
		return err
	}
	if several := m.manifold(base); len(several) > 0 && len(several) < len(m.head.types) {
		m.head.types = slices.DeleteFunc(m.head.types, func(d typeDecl) bool { return d.elem != "" || slices.Contains(several, d.name) })
		if base, err = m.explore(ctx); err != nil {
			return err
		}
	}
	if nils := m.sentinels(base); len(nils) > 0 {
		m.head.directives = append(m.head.directives, nils...)
		if base, err = compile(r, &m.head, nil); err != nil {
			return err
		}
	}
	m.portray(base)
	if tags := append(m.tagged(base), m.unions(base)...); len(tags) > 0 {
		m.head.directives = append(m.head.directives, tags...)
		if base, err = m.explore(ctx); err != nil {
			return err
		}
		m.portray(base)
	}
	if heads := m.embedded(base); len(heads) > 0 {
		for _, h := range heads {
			m.head.directives = append(m.head.directives, h.embed())
		}
		if base, err = m.explore(ctx); err != nil {
			return err
		}
		m.portray(base)
		for _, h := range heads {
			if base, err = m.insteadOfNull(ctx, base, h); err != nil {
				return err
			}
		}
	}
	m.head.directives = append(m.head.directives, m.ledTo(base)...)
	m.said = base.checker.CutOff()
	if r.LeftOut != nil {
		m.said = append(m.said, r.LeftOut()...)
	}
	if n := len(m.land.changes); m.land.limited {
		m.said = append(m.said, fmt.Sprintf("Of %d changes of the structure the first %d were looked at, and its end", n, int(maxSettled)))
	}
	return nil
}

// explore finds what leads to the nodes, and the moments at which to look at them.
func (m *mining) explore(ctx context.Context) (*trial, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := m.run
	bare, err := compile(r, &m.head, nil)
	if err != nil {
		return nil, err
	}
	m.globals = slices.DeleteFunc(leading(r.Globals, bare.spec.Types), func(g global) bool { return m.embeds(g.name) })
	m.head.globals = nil
	for _, g := range m.globals {
		if !slices.ContainsFunc(bare.spec.Globals, func(d check.Global) bool { return d.Name == g.name }) {
			m.head.globals = append(m.head.globals, g.name)
		}
	}
	if m.head.given == "" {
		m.blocks(bare.spec)
	}
	base, err := compile(r, &m.head, nil)
	if err != nil {
		return nil, err
	}
	r.progress("looking for changes")
	m.land = survey(r, base.graph)
	m.land.limit(maxSettled)
	if m.withoutBlocks(base.graph) {
		if base, err = compile(r, &m.head, nil); err != nil {
			return nil, err
		}
	}
	for i, t := range base.spec.Types {
		if m.land.births[t.Name] == 0 && !m.head.types[i].given && !t.Array && !m.hasDerived(t, base.spec.Types) {
			return nil, &NoNodesError{Of: t}
		}
	}
	object := func(g check.Global) bool { return g.Layout != nil && g.Layout.HasMembers() }
	if i := slices.IndexFunc(base.spec.Types, func(t *check.NodeType) bool { return !t.Array }); i >= 0 && len(m.land.births) == 0 && !slices.ContainsFunc(base.spec.Globals, object) {
		return nil, &NoNodesError{Of: base.spec.Types[i]} // nor of any other, all of which a file for --merge declares
	}
	if len(m.land.moments) == 0 {
		return nil, ErrNoMoments
	}
	m.quiet, _ = thin(m.land.early(m.land.quiet(), maxExplored, false), maxMoments)
	m.looks = m.land.looks(m.quiet)
	m.places = map[int]bool{}
	for _, q := range m.quiet {
		m.places[q.place] = true
	}
	return base, nil
}

// given takes over the types that the user's file declares.
func (m *mining) given() error {
	m.base = readBase(m.run.Base)
	m.head.given = m.base.declarations
	t, err := compile(m.run, &m.head, nil)
	if err != nil {
		return err
	}
	for _, nt := range t.spec.Types {
		m.head.types = append(m.head.types, typeDecl{name: nt.Name, source: nt.Source, given: true})
	}
	return nil
}

func (m *mining) portray(t *trial) {
	m.portraits = nil
	for _, nt := range t.spec.Types {
		m.portraits = append(m.portraits, portray(t, nt, times(m.looks)))
	}
}

// trust compiles candidates, drops those that fail at more than three in four moments at
// which the structure should be whole, comparisons of numbers at more than half of them, and checks the others at all quiet moments.
func (m *mining) trust(ctx context.Context, cands []*candidate) error {
	t, err := compile(m.run, &m.head, cands)
	if err != nil {
		return err
	}
	if err := t.look(ctx, m.looks); err != nil {
		return err
	}
	for _, c := range t.cands {
		c.dead = c.dead || c.untrue()
	}
	if t, err = compile(m.run, &m.head, cands); err != nil {
		return err
	}
	return t.sweep(ctx, m.quiet)
}

// shapes finds out what the pointers of each type make.
func (m *mining) shapes(ctx context.Context) error {
	m.run.progress("trying shapes")
	for i, p := range m.portraits {
		s, err := m.shapeOf(ctx, p)
		if err != nil {
			return err
		}
		if s.kind != tree && !m.head.types[i].given {
			d, t, err := m.conditional(ctx, p)
			if err != nil {
				return err
			}
			if d != "" {
				m.head.directives = append(m.head.directives, d)
				s = t
			}
		}
		m.found = append(m.found, s)
		if !m.head.types[i].given {
			m.head.types[i].edges = newMaker(p).edgeList(s)
		}
	}
	return nil
}

func (m *mining) shapeOf(ctx context.Context, p *portrait) (shape, error) {
	mk := newMaker(p)
	mk.shapes()
	if err := m.trust(ctx, mk.out); err != nil {
		return shape{}, err
	}
	mk.steady(m.exits)
	held := map[string]bool{}
	for _, c := range agree(mk.out, m.places, m.ends()) {
		held[c.key] = true
	}
	return mk.recognise(func(key string) bool { return held[key] }), nil
}

// exits counts the functions at whose ends a candidate failed.
func (m *mining) exits(c *candidate) (n int) {
	for p := range c.fails {
		if m.land.places[p].exit {
			n++
		}
	}
	return n
}

// conditional looks for a field that says which elements of an array of pointers are
// in use, if that makes a tree of what is none otherwise: the one that leaves most of
// them.
func (m *mining) conditional(ctx context.Context, p *portrait) (best string, found shape, err error) {
	most := 0
	for _, l := range p.links {
		if !l.array || l.count < 2 || l.to[p.name()] == 0 {
			continue
		}
		for _, d := range conditions(p, l) {
			s, edges, err := m.suppose(ctx, p, l, d)
			if err != nil {
				return "", shape{}, err
			}
			if s.kind == tree && edges > most {
				best, found, most = d, s, edges
			}
		}
	}
	return best, found, nil
}

// suppose finds the shape that a type has with one more directive, and how many
// edges of l there are then.
func (m *mining) suppose(ctx context.Context, p *portrait, l *link, directive string) (shape, int, error) {
	head, places := m.head, m.places
	defer func() { m.head, m.places = head, places }()
	m.head.directives = append(slices.Clone(head.directives), directive)
	m.places = clone(places)
	edges := &candidate{key: "edges"}
	edges.Text = fmt.Sprintf("%s X, Y;  X ->(%s) Y => X.OUTDEGREE(%s) > 0;", p.name(), l.name, l.name)
	t, err := compile(m.run, &m.head, []*candidate{edges})
	if err != nil {
		return shape{}, 0, nil // the language refuses it
	}
	if err := t.look(ctx, m.looks); err != nil {
		return shape{}, 0, err
	}
	s, err := m.shapeOf(ctx, p)
	if !slices.ContainsFunc(s.links, func(x *link) bool { return x.name == l.name }) {
		return shape{}, 0, err
	}
	return s, edges.Held, err
}

func clone(s map[int]bool) map[int]bool {
	out := map[int]bool{}
	for k := range s {
		out[k] = true
	}
	return out
}

// conditions are the "cells" directives to try for an array of pointers.
func conditions(p *portrait, l *link) []string {
	var flags []string
	for _, f := range p.fields {
		if v := f.sorted(); len(v) == 2 && !f.many {
			for _, x := range v {
				flags = append(flags, fmt.Sprintf(" if %s == %s", f.name, f.text(x)))
			}
		}
	}
	var out []string
	for _, n := range p.fields {
		if !n.counts() || n.min < 0 || n.max < 2 || n.max > l.count {
			continue
		}
		for _, last := range []string{n.name, n.name + " - 1"} {
			out = append(out, fmt.Sprintf("cells %s: %s[0..%s];", p.name(), l.name, last))
			for _, f := range flags {
				if !strings.Contains(f, " "+n.name+" ") {
					out = append(out, fmt.Sprintf("cells %s: %s[0..%s]%s;", p.name(), l.name, last, f))
				}
			}
		}
	}
	for _, f := range flags {
		out = append(out, fmt.Sprintf("cells %s: %s%s;", p.name(), l.name, f))
	}
	return out
}

// laws looks for what holds on top of the shapes.
func (m *mining) laws(ctx context.Context) error {
	m.run.progress("trying laws")
	m.join()
	base, err := compile(m.run, &m.head, nil)
	if err != nil {
		return err
	}
	m.cands = m.candidates(base)
	if err := m.trust(ctx, m.cands); err != nil {
		return err
	}
	for _, c := range m.cands {
		c.weigh()
		c.dead = c.dead || c.unequal()
	}
	m.tried = true
	m.final = m.quiet
	return nil
}

// candidates makes those that are worth trying, by what is seen where the run is looked at.
func (m *mining) candidates(base *trial) (out []*candidate) {
	m.portray(base)
	counters := m.run.countersOf(m.globals, m.run.Globals, times(m.looks))
	for i, p := range m.portraits {
		if p.typ.Array {
			continue
		}
		mk := newMaker(p)
		s := m.found[i]
		s.links, s.backs = mk.same(s.links), mk.same(s.backs)
		if slices.Contains(m.head.together, mk.name) {
			mk.edgesAre(s)
		}
		mk.toEnds = func(h *portrait, l *link, last bool) bool { return m.leadsToEnds(base, h.typ, l.name, p.typ, last) }
		mk.laws(s, m.globals, m.portraits)
		for i := range m.globals {
			for _, path := range m.globals[i].pathsTo(mk.name) {
				if m.several(&m.globals[i], path) {
					mk.aliveStatic(path)
				}
			}
		}
		tables := tablesOf(p.typ, base.spec.Types)
		for _, a := range tables {
			m.measure(p.typ.Layout, a, base.owners(p.typ))
		}
		tables = slices.DeleteFunc(tables, (*table).unseen)
		mk.arraysOf(tables, m.portraits)
		if len(m.portraits) > 1 {
			mk.countsOf(m.portraits, m.found)
			mk.sumsOf(m.portraits, m.found)
		}
		mk.led(m.portraits)
		mk.tallies(m.portraits)
		mk.lengthsOf(m.portraits)
		mk.references(m.portraits, m.globals)
		mk.sumsOfAll(m.portraits, counters)
		out = append(out, mk.out...)
		m.said = append(m.said, mk.long...)
	}
	out = append(out, lawsOfRows(rowsOf(base.spec, m.portraits))...)
	for _, f := range familiesOf(m.portraits) {
		out = append(out, f.laws(m.portraits)...)
	}
	return different(append(out, m.lawsOfFiles(base, out)...))
}

// leadsToEnds reports whether a pointer of one type led to nodes of another without edges into them, or out of them, whenever the run was looked at.
func (m *mining) leadsToEnds(t *trial, owner *check.NodeType, field string, node *check.NodeType, last bool) bool {
	i := slices.IndexFunc(owner.Edges, func(c check.EdgeCell) bool { return c.Name == field })
	if i < 0 {
		return true
	}
	t.graph.Advance()
	among := func(e graph.Edge) bool {
		return t.graph.Object(e.From).Type == node && t.graph.Object(e.To).Type == node
	}
	for _, at := range times(m.looks) {
		v := m.run.History.At(at)
		for _, o := range t.graph.Live(owner, at, nil) {
			to := v.Target(t.graph.CellAddr(o, &owner.Edges[i], 0), owner.Edges[i].Coded)
			if to.State != mgpp.Points {
				continue
			}
			for _, x := range t.graph.At(v, trace.Addr(to.Value)) {
				beside := t.graph.In(v, x)
				if last {
					beside = t.graph.Out(v, x)
				}
				if t.graph.Object(x).Type == node && slices.ContainsFunc(beside, among) {
					return false
				}
			}
		}
	}
	return true
}

// different leaves of candidates that two templates make in the same words the first.
func different(cands []*candidate) []*candidate {
	seen := map[string]bool{}
	return slices.DeleteFunc(cands, func(c *candidate) bool {
		was := seen[c.Text]
		seen[c.Text] = true
		return was
	})
}

// same returns the links of this portrait with the names of others.
func (m *maker) same(links []*link) []*link {
	var out []*link
	for _, l := range m.links {
		if slices.ContainsFunc(links, func(x *link) bool { return x.name == l.name }) {
			out = append(out, l)
		}
	}
	return out
}

// points chooses C-points, and checks all candidates there.
func (m *mining) points(ctx context.Context) error {
	m.run.progress("choosing C-points")
	known := make([]map[int]int, len(m.cands))
	for i, c := range m.cands {
		known[i] = c.fails
	}
	err := m.settle(ctx)
	if err != nil { // what the quiet moments told stands
		m.cpoints, m.final = nil, m.quiet
		for i, c := range m.cands {
			c.fails = known[i]
		}
	}
	return err
}

// settle is points, for which the candidates are swept anew.
func (m *mining) settle(ctx context.Context) error {
	facts, err := m.agreed(ctx)
	if err != nil {
		return err
	}
	var sure []*candidate
	for _, c := range facts {
		if ok, _ := c.justified(); ok && !c.weak {
			sure = append(sure, c)
		}
	}
	t, err := compile(m.run, &m.head, sure)
	if err != nil {
		return err
	}
	all := append(thinPlaces(m.land.moments, maxOfPlace), thinPlaces(m.land.idle, maxOfPlace)...)
	inTime(all)
	if err := t.sweep(ctx, all); err != nil {
		return err
	}
	sure = m.land.meant(sure)
	m.cpoints = m.land.choose(sure)
	m.end = m.run.Ended
	for id, p := range m.land.places {
		if p.fn == "" && slices.ContainsFunc(sure, func(c *candidate) bool { return c.fails[id] > 0 }) {
			m.end = false
		}
	}
	m.run.progress("checking at the C-points")
	picked := m.land.picked(m.cpoints, m.end)
	m.final = nil
	for _, q := range m.land.moments {
		if picked[q.place] {
			m.final = append(m.final, q)
		}
	}
	m.final, m.skipped = thin(m.final, maxMoments)
	idle, skipped := thin(m.land.beside(m.final, func(p int) bool { return picked[p] }), maxMoments)
	m.skipped += skipped
	m.final = append(m.final, idle...)
	inTime(m.final)
	if t, err = compile(m.run, &m.head, m.cands); err != nil {
		return err
	}
	return t.sweep(ctx, m.final)
}

// agreed are the facts on which all places agree. A fact that fails at a place which is none then, and for which the other places alone are no
// evidence, as where a queue is empty at all of them, speaks against no place: it is dropped, and the rest is decided anew.
func (m *mining) agreed(ctx context.Context) ([]*candidate, error) {
	places := clone(m.places)
	facts := agree(m.cands, places, m.ends())
	gone := func(p int) bool { return !places[p] }
	var doubtful []*candidate
	for _, c := range facts {
		if slices.ContainsFunc(slices.Collect(maps.Keys(c.fails)), gone) {
			doubtful = append(doubtful, c)
		}
	}
	if len(doubtful) == 0 {
		return facts, nil
	}
	shown, err := m.shownBy(ctx, doubtful, slices.DeleteFunc(slices.Clone(m.quiet), func(q moment) bool { return gone(q.place) }))
	if err != nil {
		return nil, err
	}
	vain := false
	for _, c := range doubtful {
		c.dead = c.dead || !shown[c.key]
		vain = vain || c.dead
	}
	if !vain {
		return facts, nil
	}
	return agree(m.cands, clone(m.places), m.ends()), nil
}

// shownBy tells by their keys for which facts some moments alone are evidence, as if the run had no others.
func (m *mining) shownBy(ctx context.Context, facts []*candidate, moments []moment) (map[string]bool, error) {
	was := *m
	defer func() { m.looks, m.portraits, m.said = was.looks, was.portraits, was.said }()
	m.looks = m.land.looks(moments)
	base, err := compile(m.run, &m.head, nil)
	if err != nil {
		return nil, err
	}
	again := slices.DeleteFunc(m.candidates(base), func(c *candidate) bool {
		return !slices.ContainsFunc(facts, func(f *candidate) bool { return f.key == c.key })
	})
	t, err := compile(m.run, &m.head, again)
	if err != nil {
		return nil, err
	}
	if err := t.look(ctx, m.looks); err != nil {
		return nil, err
	}
	shown := map[string]bool{}
	for _, c := range t.cands {
		c.weigh()
		ok, _ := c.justified()
		shown[c.key] = ok
	}
	return shown, nil
}

// uninformative: values paired at random satisfy the comparison nearly always.
const uninformative = 0.9

// almost is the share of C-points at which a fact may fail that is still shown.
const almost = 0.02

// result judges the candidates.
func (m *mining) result() *Result {
	r := &Result{CPoints: m.cpoints, Moments: len(m.final), Looks: len(m.looks), Skipped: m.skipped, End: m.end, Partial: m.partial, header: m.head, base: m.base, Threads: len(m.land.by), astray: m.unfollowed(), said: m.said}
	states := map[int]bool{}
	met := false // a C-point meets a node: where none does, everything holds
	for _, q := range m.final {
		states[q.state] = true
		met = met || m.land.aliveAt(q) > 0
	}
	r.States = len(states)
	for i, p := range m.portraits {
		if p.typ.Array {
			continue
		}
		t := Type{Name: p.name(), Born: m.land.births[p.name()], Most: slices.Max(m.land.alive)}
		if i < len(m.found) {
			t.Shape, t.Edges = m.found[i].kind.String(), m.head.types[i].edges
		}
		r.Types = append(r.Types, t)
	}
	if !m.tried {
		return r
	}
	var held []*candidate
	for _, c := range m.cands {
		if c.dead {
			continue
		}
		c.CPoints = len(m.final)
		for _, n := range c.fails {
			c.CPointsBroken += n
		}
		ok, why := c.justified()
		switch {
		case c.Broken > 0 && !met:
			continue
		case c.CPointsBroken > 0 && (!ok || c.weak || float64(c.CPointsBroken) > almost*float64(c.CPoints)):
			continue
		case c.CPointsBroken > 0:
			c.Why = fmt.Sprintf("failed at %d of %d C-points", c.CPointsBroken, c.CPoints)
		case c.odds > uninformative && (c.holds != nil || !ok):
			continue
		case !ok:
			c.Why = why
		case c.weak:
			c.Why = "may be an accident of the run"
		default:
			c.Stated = true
		}
		held = append(held, c)
	}
	m.prune(held, r)
	return r
}

// prune leaves out what the others say already, and gives labels.
func (m *mining) prune(held []*candidate, r *Result) {
	implied := map[string]bool{}
	for _, c := range held {
		if c.Stated {
			for _, k := range c.implies {
				implied[k] = true
			}
		}
	}
	for _, c := range held {
		if c.CPointsBroken == 0 {
			for _, k := range c.implies {
				if c.Stated || !stated(held, k) {
					implied[k] = true
				}
			}
		}
	}
	held = slices.DeleteFunc(held, func(c *candidate) bool {
		return implied[c.key] || m.base.states(c) || slices.ContainsFunc(held, c.equalAnyhow)
	})
	held = families(held)
	single := func(c *candidate) bool {
		return c.alone != "" && !slices.ContainsFunc(held, func(o *candidate) bool { return slices.Contains(c.halves, o.key) })
	}
	held = slices.DeleteFunc(slices.Clone(held), func(c *candidate) bool { return c.serial && single(c) })
	for _, c := range held {
		if single(c) {
			c.Words = c.alone
		}
	}
	labels(held)
	for _, c := range held {
		m.base.apart(c)
	}
	if !slices.ContainsFunc(held, func(c *candidate) bool { return c.joined }) {
		for _, c := range held {
			c.unqualify()
		}
	}
	for _, c := range held {
		for i, f := range r.CPoints {
			for j, k := range f.Broken {
				if k == c.key {
					r.CPoints[i].Broken[j] = c.Label
				}
			}
		}
		r.Facts = append(r.Facts, c.Fact)
		if c.Stated {
			r.stated = append(r.stated, c)
		} else {
			r.maybe = append(r.maybe, c)
		}
	}
	for i := range r.CPoints {
		r.CPoints[i].Broken = slices.DeleteFunc(r.CPoints[i].Broken, func(s string) bool { return strings.Contains(s, " ") })
	}
}

// equalAnyhow: another one says that the numbers are equal of which this says that their remainders are.
func (c *candidate) equalAnyhow(o *candidate) bool {
	return c.modulo != nil && o.Stated && o.modulo == nil && o.holds != nil && o.holds(1, 1) && !o.holds(1, 2) && !o.holds(2, 1) &&
		(o.left == c.left && o.right == c.right || o.left == c.right && o.right == c.left)
}

func stated(held []*candidate, key string) bool {
	return slices.ContainsFunc(held, func(c *candidate) bool { return c.Stated && c.key == key })
}

// labels gives names to facts after their keys: of "T root root" it is "root", of
// "T height h 0" it is "height_h". Names that two types share have the type in them.
func labels(cands []*candidate) {
	plain := map[string]int{}
	for _, c := range cands {
		plain[label(c.key)]++
	}
	used := map[string]int{}
	for _, c := range cands {
		if c.Label = label(c.key); plain[c.Label] > 1 {
			c.Label += "_of_" + c.Type
		}
		if used[c.Label]++; used[c.Label] > 1 {
			c.Label = fmt.Sprintf("%s_%d", c.Label, used[c.Label])
		}
	}
}

func label(key string) string {
	_, key, _ = strings.Cut(key, " ")
	words := strings.FieldsFunc(key, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, "0123456789") == "" })
	return strings.Join(slices.Compact(words), "_")
}
