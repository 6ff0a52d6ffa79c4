package mine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

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
	openTags  []string // of which kinds it is not known what they use of a union
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
	several := m.manifold(base)
	if len(several) == len(m.head.types) {
		several = nil
	}
	if len(several) > 0 {
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
	m.said = append(m.openTags, base.checker.CutOff()...)
	for _, name := range several {
		m.said = append(m.said, fmt.Sprintf("Each block of %s holds several: they are the elements of an array, and no nodes", name))
	}
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
	m.head.globals = nil // of an earlier look: those that are declared without these are the user's
	bare, err := compile(r, &m.head, nil)
	if err != nil {
		return nil, err
	}
	m.globals = slices.DeleteFunc(leading(r.Globals, bare.spec.Types), func(g global) bool { return m.embeds(g.name) })
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
	counters := m.run.countersOf(m.globals, times(m.looks))
	rows := rowsOf(base.spec, m.portraits)
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
		m.lawsOfPlaces(mk, p.typ.Layout, rows, base.owners(p.typ))
		if len(m.portraits) > 1 {
			mk.countsOf(m.portraits, m.found)
			mk.sumsOf(m.portraits, m.found)
		}
		mk.led(m.portraits)
		mk.tallies(m.portraits)
		mk.lengthsOf(m.portraits)
		mk.references(m.portraits, m.globals)
		mk.sumsOfAll(m.portraits, counters)
		mk.mostlySum = func(o *portrait, l *link, f, g *field) bool { return m.mostlySum(base, p, o, l, f, g) }
		mk.sumsOfThose(m.portraits)
		out = append(out, mk.out...)
		m.said = append(m.said, mk.long...)
	}
	for _, r := range rows {
		m.chains(r)
	}
	out = append(out, lawsOfRows(rows)...)
	for _, f := range familiesOf(m.portraits) {
		out = append(out, f.laws(m.portraits)...)
	}
	return different(append(out, m.lawsOfFiles(base, rows, out)...))
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
