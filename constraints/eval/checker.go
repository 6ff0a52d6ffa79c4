package eval

import (
	"cmp"
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// Options of a Checker.
type Options struct {
	// Granted says that the program uses what its allocator grants it beyond what it asked for:
	// a write behind a block is a memory fault only if it reaches another one.
	Granted bool
}

// Checker evaluates a specification on a history: at any time, and on hypothetical
// views, by what differs from what it has evaluated before. It is not safe for
// concurrent use.
type Checker struct {
	options Options
	spec    *check.Spec
	hist    graph.History
	g       *graph.Graph
	infos   []info         // by constraint
	rules   [][]surelyRule // by attribute

	slots, indices int // largest frame
	fieldNils      bool
	counts         []count
	closed         map[*check.Aggregate]bool // those of counts
	uses           map[check.Expr]uses
	rooted         []bool // by type: variables range over what roots reach
	strays         bool   // something may read memory that is no object
	apparent       bool   // an attribute's value tells what it was computed from: see readsOf

	sites     [][]site // by constraint
	attrSites [][]site // by attribute

	reach    *reach
	recent   [4]*env // of real views, newest use first
	guess    *env    // of the last hypothetical view
	passed   *env    // of the last view of the history's own that nothing but verdicts was asked of
	spare    *env    // that nobody uses, see nextEnv
	step     *delta  // of the last step from one state to the next, see stepDelta
	state    *state  // of the view of the history's own that was checked last
	aside    *state  // and of the one before that, which was far from it; nil: there is none
	filling  *env    // of inUse.Used
	changes  graph.Changes
	visits   visits
	cost     uint64
	records  uint64  // recorders there were
	depRoom  *depSet // see record
	readRoom *depSet // the same of env.reads

	work  uint64      // steps of all evaluations
	stop  func() bool // nil: nobody stops an evaluation
	ended bool        // it was stopped

	faults    []MemoryFault
	anomalies int    // of the history, looked at
	doubtful  int    // writes of the history, looked at
	held      []bool // by constraint: its guard held at least once
}

// info is what is known of a constraint before anything is evaluated.
type info struct {
	*check.Constraint
	guard, body uses
	acyclic     bool          // X ->> Y => Y !->> X, or X !->> X
	fields      []check.Field // of its paths
	types       []*check.NodeType
	surely      *surely // nil: it is not compiled
	attrs       bool    // it reads attributes
}

// NewChecker returns a checker of a history. The graph is the history's, and
// is advanced by the checker.
func NewChecker(spec *check.Spec, hist graph.History, g *graph.Graph, o Options) *Checker {
	c := &Checker{
		options: o, spec: spec, hist: hist, g: g, slots: 1, indices: 1,
		closed: map[*check.Aggregate]bool{},
		uses:   map[check.Expr]uses{},
		rooted: make([]bool, len(spec.Types)),
		held:   make([]bool, len(spec.Constraints)),
	}
	for i := range spec.Nils {
		c.fieldNils = c.fieldNils || spec.Nils[i].Type != nil && spec.Nils[i].Place != nil
	}
	for i := range spec.Roots {
		c.rooted[spec.Roots[i].Type.Index] = true
	}
	for _, k := range spec.Constraints {
		c.infos = append(c.infos, c.study(k))
	}
	for _, a := range spec.Attributes {
		for i := range a.Rules {
			r := &a.Rules[i]
			c.slots, c.indices = max(c.slots, r.Slots), max(c.indices, r.IndexSlots)
			c.note(r.Guard, r.Value, r.Else)
		}
		c.attrSites = append(c.attrSites, rulesSites(a))
	}
	c.compileAll()
	c.reach = newReach(c)
	c.eachSite(func(s *site) { c.strays = c.strays || s.stray })
	c.apparent = apparent(spec)
	g.SetReads(c.reads(), pathFields(spec))
	g.SetUses(inUse{c})
	return c
}

// study looks at a constraint once.
func (c *Checker) study(k *check.Constraint) info {
	c.slots = max(c.slots, k.Slots, len(k.Vars))
	c.indices = max(c.indices, k.IndexSlots, len(k.Loops))
	c.note(k.Guard, k.Body)
	for i := range k.Loops {
		c.note(k.Loops[i].Lo, k.Loops[i].Hi, k.Loops[i].Guard)
	}
	var sites []site
	for i := range k.Loops {
		for _, x := range [3]check.Expr{k.Loops[i].Guard, k.Loops[i].Lo, k.Loops[i].Hi} {
			sites = sitesOf(x, 0, c.countSite, sites)
		}
	}
	c.sites = append(c.sites, sitesOf(k.Body, 0, c.countSite, sitesOf(k.Guard, 0, c.countSite, sites)))
	in := info{Constraint: k, guard: usesOf(k.Guard), body: usesOf(k.Body)}
	k.Walk(func(x check.Expr) {
		_, attr := x.(*check.Attr)
		in.attrs = in.attrs || attr
	})
	in.recognise()
	return in
}

// note remembers what expressions use.
func (c *Checker) note(xs ...check.Expr) {
	for _, x := range xs {
		walk(x, func(y check.Expr) {
			c.uses[y] = usesOf(y)
		})
	}
}

// recognise finds out whether the constraint says that there are no cycles.
func (in *info) recognise() {
	k := in.Constraint
	body, ok := k.Body.(*check.Relation)
	if !ok || !body.Path || !body.Not || len(k.Loops) > 0 || k.Universal != len(k.Vars) {
		return
	}
	from, ok1 := body.From.(*check.Node)
	to, ok2 := body.To.(*check.Node)
	if !ok1 || !ok2 {
		return
	}
	switch g := k.Guard.(type) {
	case nil:
		in.acyclic = from.Slot == to.Slot
	case *check.Relation:
		x, ok1 := g.From.(*check.Node)
		y, ok2 := g.To.(*check.Node)
		in.acyclic = ok1 && ok2 && g.Path && !g.Not && x.Slot == to.Slot && y.Slot == from.Slot && slices.Equal(g.Fields, body.Fields) && (g.Fields == nil) == (body.Fields == nil)
	}
	if in.acyclic {
		in.fields = body.Fields
		for _, v := range k.Vars {
			if !slices.Contains(in.types, v.Type) {
				in.types = append(in.types, v.Type)
			}
		}
	}
}

// Graph returns the typed graph, advanced to the history's present.
func (c *Checker) Graph() *graph.Graph {
	c.g.Advance()
	return c.g
}

// View returns the memory graph at t.
func (c *Checker) View(t mgpp.Timestamp) mgpp.View { return c.hist.At(t) }

// PathCost returns how many nodes path searches have visited so far.
func (c *Checker) PathCost() uint64 { return c.cost }

// GuardHeld reports whether the guard of a constraint held for any binding
// that was ever evaluated; a constraint without variables or guard holds it
// from the start.
func (c *Checker) GuardHeld(constraint int) bool { return c.held[constraint] }

// All returns every inconsistency of the view, in order of constraint and
// binding. It evaluates what differs: of a view of the history's own from the time that
// was checked before, of a hypothetical one from the history's at its time.
func (c *Checker) All(v mgpp.View) (list []Inconsistency) {
	defer c.halted()
	c.begin()
	return slices.Clone(c.on(v).list())
}

// Broken returns the instances that All lists, in no order: for callers that do not
// ask why.
func (c *Checker) Broken(v mgpp.View) (list []Instance) {
	defer c.halted()
	c.begin()
	return c.on(v).instances()
}

// on returns what is known of a view.
func (c *Checker) on(v mgpp.View) *state {
	c.g.Advance()
	if changed := graph.Changed(v); changed != nil {
		return c.over(v, changed)
	}
	return c.at(v.Time())
}

// allOf appends the inconsistencies of one constraint that is no acyclicity.
func (c *Checker) allOf(e *env, i int, out []Inconsistency) []Inconsistency {
	k := &c.infos[i]
	e.clearFrame()
	e.bind(k, k.Guard, k.Universal, func() {
		out = e.check(k, out)
	})
	return out
}

// everyAttr computes all attributes of all nodes.
func (e *env) everyAttr() *attributes {
	for _, a := range e.c.spec.Attributes {
		for _, o := range e.population(a.Type) {
			e.attr(attrKey{int32(a.Index), o})
		}
	}
	return &e.attrs
}

// attributeCycles appends one inconsistency per cycle of attributes.
func (e *env) attributeCycles(a *attributes, out []Inconsistency) []Inconsistency {
	a.eachLoop(func(l *loop) {
		first := l.first()
		out = append(out, Inconsistency{Instance: Instance{Constraint: -1 - int(first.attr), SCC: first.obj}, Reason: e.loopReason(l), Total: len(l.keys)})
	})
	return out
}

// first returns the smallest member: what names the cycle.
func (l *loop) first() attrKey {
	return slices.MinFunc(l.keys, func(a, b attrKey) int {
		return cmp.Or(cmp.Compare(a.obj, b.obj), cmp.Compare(a.attr, b.attr))
	})
}

func (e *env) loopReason(l *loop) string {
	var nodes []graph.ObjID
	for _, k := range l.keys {
		if !slices.Contains(nodes[max(0, len(nodes)-8):], k.obj) {
			nodes = append(nodes, k.obj)
		}
	}
	a := e.c.spec.Attributes[l.first().attr]
	return fmt.Sprintf("%s.%s depends on itself: %s", a.Type.Name, a.Name, e.names(nodes))
}

// maxNames is how many nodes a reason lists.
const maxNames = 12

// names lists nodes, the smallest first.
func (e *env) names(nodes []graph.ObjID) string {
	nodes = slices.Clone(nodes)
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	s := ""
	for i, o := range nodes {
		if i == maxNames {
			return fmt.Sprintf("%s and %d more", s, len(nodes)-i)
		}
		if i > 0 {
			s += ", "
		}
		s += e.g.Name(o)
	}
	return s
}

// danglings appends what "check dangling for T;" finds: the instance's
// constraint is the number of constraints plus the type's index.
func (e *env) danglings(out []Inconsistency) []Inconsistency {
	for _, t := range e.c.spec.Types {
		if !t.DanglingAtCPoints {
			continue
		}
		for _, o := range e.population(t) {
			if inc, broken := e.danglingAt(t, o); broken {
				out = append(out, inc)
			}
		}
	}
	return out
}

func (e *env) danglingAt(t *check.NodeType, o graph.ObjID) (Inconsistency, bool) {
	n := e.dangling(o)
	if n == 0 {
		return Inconsistency{}, false
	}
	i := Instance{Constraint: len(e.c.spec.Constraints) + t.Index}
	i.Nodes[0] = o
	return Inconsistency{Instance: i, Reason: e.danglingReason(o), Total: 1}, true
}

func sortInconsistencies(s []Inconsistency) {
	slices.SortFunc(s, func(a, b Inconsistency) int { return a.Instance.Compare(b.Instance) })
}

// Compare orders instances.
func (i Instance) Compare(j Instance) int {
	if i.Constraint != j.Constraint {
		return cmp.Compare(i.Constraint, j.Constraint)
	}
	if i.Nodes != j.Nodes {
		return slices.Compare(i.Nodes[:], j.Nodes[:])
	}
	return cmp.Or(slices.Compare(i.Index[:], j.Index[:]), cmp.Compare(i.SCC, j.SCC))
}

// Label names what an instance is an instance of: the constraint's label,
// "rb.BH" for a cycle in an attribute, "dangling rb" for the check of pointers.
func (c *Checker) Label(i Instance) string {
	switch n := len(c.spec.Constraints); {
	case i.Constraint < 0 && -1-i.Constraint < len(c.spec.Attributes):
		a := c.spec.Attributes[-1-i.Constraint]
		return a.Type.Name + "." + a.Name
	case i.Constraint >= 0 && i.Constraint < n:
		return c.spec.Constraints[i.Constraint].Label
	case i.Constraint >= n && i.Constraint-n < len(c.spec.Types):
		return "dangling " + c.spec.Types[i.Constraint-n].Name
	}
	return ""
}

// For reports whether an instance is a matter of nodes of type t, one of which it is about or
// which it counts: what a C-point "… for T" checks. Nil is everything.
func (c *Checker) For(i Instance, t *check.NodeType) bool {
	switch n := len(c.spec.Constraints); {
	case t == nil:
		return true
	case i.Constraint < 0:
		return c.spec.Attributes[-1-i.Constraint].Type == t
	case i.Constraint >= n:
		return c.spec.Types[i.Constraint-n] == t
	default:
		k := c.spec.Constraints[i.Constraint]
		of := slices.ContainsFunc(k.Vars, func(v check.Var) bool { return v.Type == t })
		k.Walk(func(e check.Expr) {
			a, ok := e.(*check.Aggregate)
			of = of || ok && a.Type == t
		})
		return of
	}
}
