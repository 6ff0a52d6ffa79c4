package analysis

import (
	"fmt"
	"slices"
	"time"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/report"
	"mgtrace/session/specfile"
	"mgtrace/trace"
)

// Begin says where a history begins that is not there from the program's start.
type Begin struct {
	Wall  int64 // nanoseconds since recording began; -1: unknown
	Event uint64
	Why   string
	Left  uint64 // blocks that were there and are not known
}

// BeginOf is what a KindBegin event says.
func BeginOf(ev *trace.Event) *Begin { return &Begin{ev.Wall, ev.Size, ev.Name, ev.Aux} }

func (b *Begin) String() string {
	at := ""
	if b.Wall >= 0 {
		at = fmt.Sprintf("%s after the start, ", time.Duration(b.Wall).Round(time.Millisecond))
	}
	return fmt.Sprintf("%sat event %s (%s)", at, report.Thousands(b.Event), b.Why)
}

// begin takes into account that the history begins with the next event.
func (a *Analysis) begin(ev *trace.Event) error {
	if err := specfile.MayBeginLate(a.spec); err != nil {
		return err
	}
	a.begins = BeginOf(ev)
	a.Graph.Advance()
	a.doubt = newDoubt(a)
	if a.begins.Left > 0 {
		a.spec.MemoryFaults.NoBounds = true
		a.warned = append(a.warned, fmt.Sprintf("%s that were there when the history begins are not known: there was no room to tell them; no write is judged by what lies beside a block, and pointers to them lead nowhere",
			report.Plural(int(a.begins.Left), "block", "blocks")))
	}
	return nil
}

// reportBegin says where the history begins, and ends, if that is not with the
// program.
func (a *Analysis) reportBegin(r *report.Report) {
	if b := a.begins; b != nil {
		r.Complete = false
		r.Why = append(r.Why, "the history begins "+b.String()+"; what was before is not in it")
		r.Begins = &report.Begins{Event: b.Event, Why: b.Why}
		if b.Wall >= 0 {
			s := time.Duration(b.Wall).Seconds()
			r.Begins.Seconds = &s
		}
		if n := a.doubt.dropped; n > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s not judged, because fields that were written before the history begins are not known", report.Plural(n, "constraint instance was", "constraint instances were")))
		}
	}
	if a.ceased != "" {
		r.Complete = false
		r.Why = append(r.Why, "the history ends before the program does ("+a.ceased+")")
	}
}

// older says whether what a suspect is said to have omitted belongs to a time before
// the history begins: the field's node was there already, so it may well have been
// done then, and undone.
func (a *Analysis) older(s *faultloc.Suspect) bool {
	if s.Kind != faultloc.Omitted || s.Repair == nil {
		return false
	}
	o := a.Graph.Object(s.Repair.Cell.Obj)
	n := a.Hist.Node(o.Host)
	return a.doubt.old(n) && a.Hist.LastWrite(s.Repair.Cell.Addr, uint64(s.Repair.Cell.Size), a.Hist.Now()) == 0
}

// doubt knows what is not known: bytes of blocks that were there when the history
// began and that nobody has written since, and blocks that there was no room to tell.
// An inconsistency that depends on one is none.
type doubt struct {
	a       *Analysis
	cells   []doubtful           // edge cells that were unknown at the beginning
	hidden  bool                 // there are blocks that are not known, or of which nothing tells the type
	typed   map[mgpp.NodeID]bool // of the blocks that were there
	dropped int
	seen    map[eval.Instance]bool // counted in dropped
	model   doubtingModel
	base    *certainly
}

// certainly is what is broken for certain at a time.
type certainly struct {
	at     mgpp.Timestamp
	broken []eval.Instance
}

// doubtful is an edge cell of an object.
type doubtful struct {
	addr trace.Addr
	node mgpp.NodeID
}

func newDoubt(a *Analysis) *doubt {
	d := &doubt{a: a, seen: map[eval.Instance]bool{}, typed: map[mgpp.NodeID]bool{}, hidden: a.begins.Left > 0}
	d.model = doubtingModel{a.Checker, d}
	now := a.Hist.Now()
	view := a.Hist.At(now)
	for i := 1; i <= a.Graph.Objects(); i++ {
		o := a.Graph.Object(graph.ObjID(i))
		if o.Type == nil {
			continue
		}
		d.typed[o.Host] = true
		for k := range o.Type.Edges {
			c := &o.Type.Edges[k]
			for e, end := int64(0), graph.Elems(c, a.Graph.Size(graph.ObjID(i), now)); e < end; e++ {
				if at := a.Graph.CellAddr(graph.ObjID(i), c, e); d.unknown(view, at, 8) {
					d.cells = append(d.cells, doubtful{at, o.Host})
				}
			}
		}
	}
	if a.prog.Before != nil && !d.hidden {
		for id := range a.Hist.Live(now) {
			if d.untold(view, id) {
				d.hidden = true
				break
			}
		}
	}
	return d
}

// untold: the block was there when mgtrace attached, and what it held, which would
// tell the types of others and its own, is not known.
func (d *doubt) untold(v mgpp.View, id mgpp.NodeID) bool {
	n := d.a.Hist.Node(id)
	return d.a.prog.Before != nil && n.Before && len(n.Stack) == 0 && !d.typed[id] && d.unknown(v, n.Start, n.Size)
}

// unknown says whether one of the bytes is not known because it was written before
// the history began.
func (d *doubt) unknown(v mgpp.View, addr trace.Addr, size uint64) bool {
	id, ok := v.NodeAt(addr)
	if !ok {
		return false
	}
	n, _ := v.Node(id)
	if !d.old(n) {
		return false
	}
	size = min(size, uint64(n.Start)+n.Size-uint64(addr))
	b := mgpp.NewBytes(size)
	return v.Read(addr, &b) && slices.Contains(b.Written, false)
}

// old: the block, or what it was before realloc moved it, was there.
func (d *doubt) old(n mgpp.Node) bool {
	for n.Moved != 0 {
		n = d.a.Hist.Node(n.Moved)
	}
	return n.Before || n.Global != 0
}

// edges says whether an edge is unknown somewhere.
func (d *doubt) edges(v mgpp.View) bool {
	for i := len(d.cells) - 1; i >= 0; i-- {
		if d.unknown(v, d.cells[i].addr, 8) {
			return true
		}
		if v.Time() == d.a.Hist.Now() { // it is known from now on, or gone
			d.cells = d.cells[:i]
		}
	}
	return false
}

// excuses says whether something that is not known may be all that is wrong. If
// there are hidden blocks, it may be that a pointer leads to one, or comes from one.
func (d *doubt) excuses(deps []eval.Dep, v mgpp.View) bool {
	bytes, others := false, false
	eval.Leaves(d.a.Checker, deps, v, func(x eval.Dep) bool {
		switch x.Kind {
		case eval.DepBytes:
			bytes = d.unknown(v, x.Addr, x.Size) || d.hidden && x.Size == 8 && d.leadsToHidden(v, x.Addr)
		case eval.DepIn:
			others = true
		case eval.DepPopulation:
			others = others || d.hidden
		}
		return !bytes
	})
	return bytes || others && (d.hidden || d.edges(v))
}

func (d *doubt) leadsToHidden(v mgpp.View, addr trace.Addr) bool {
	to := v.Target(addr, coded.Plain)
	return to.State == mgpp.Wild || to.State == mgpp.Points && d.untold(v, to.Node)
}

// certain leaves out what depends on what is not known.
func (d *doubt) certain(found []eval.Inconsistency, v mgpp.View) []eval.Inconsistency {
	out := found[:0:0]
	for _, inc := range found {
		if d.excuses(d.a.Checker.Eval(inc.Instance, v).Deps, v) {
			if !d.seen[inc.Instance] {
				d.seen[inc.Instance] = true
				d.dropped++
			}
			continue
		}
		out = append(out, inc)
	}
	return out
}

// doubtingModel is the checker as fault location asks it, without what is in doubt.
type doubtingModel struct {
	eval.Model
	d *doubt
}

// All implements eval.Model.
func (m doubtingModel) All(v mgpp.View) []eval.Inconsistency { return m.d.certain(m.Model.All(v), v) }

// Broken implements eval.Model.
func (m doubtingModel) Broken(v mgpp.View) []eval.Instance { return eval.Instances(m.All(v), nil) }

// Cures implements eval.Model.
func (m doubtingModel) Cures(v mgpp.View, lead int) (cured, created []eval.Instance, ok bool) {
	if t := v.Time(); m.d.base == nil || m.d.base.at != t { // all trials of a location are at one time
		m.d.base = &certainly{t, m.Broken(m.View(t))}
	}
	cured, created = eval.Differ(m.d.base.broken, m.Broken(v))
	return cured, created, eval.Worth(cured, created, lead)
}

// Verdict implements eval.Model.
func (m doubtingModel) Verdict(i eval.Instance, v mgpp.View) eval.Verdict {
	return m.Eval(i, v).Verdict
}

// Eval implements eval.Model.
func (m doubtingModel) Eval(i eval.Instance, v mgpp.View) eval.Result {
	r := m.Model.Eval(i, v)
	if r.Verdict == eval.Broken && m.d.excuses(r.Deps, v) {
		r.Verdict = eval.NotApplicable
	}
	return r
}
