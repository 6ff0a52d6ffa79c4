package analysis

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/trace"
)

// A compiler that sees all that is done with a block may keep one of its fields in a
// register, and store it late or never, and may leave out what nothing reads. What
// memory holds there is not what the program means.

// elisions is what is known of stores that the compiler has left out.
type elisions struct {
	written written
	points  points
	asked   map[elision]statement
	later   map[eval.Instance]wait // what was broken and left out, as it may be stored still
}

// wait says at which C-point something was left out first, and at which it is asked again, in C-points checked: each
// time after twice as many, so that it costs little where that is never stored.
type wait struct {
	first, next int
	why         string // "": there was no time to ask
}

// waits says whether an inconsistency was left out, and is not to be asked again yet: the node that it is about may have
// come to be led to meanwhile. At the end all are; a crash tells nothing of them.
func (e *elisions) waits(i eval.Instance, checked int, kind string) bool {
	w, ok := e.later[i]
	return ok && kind != "exit" && (kind == "crash" || checked < w.next)
}

// wait notes that an inconsistency was left out, and why.
func (e *elisions) wait(i eval.Instance, checked int, why string) {
	w, ok := e.later[i]
	if !ok {
		w.first = checked
	}
	w.next, w.why = checked+max(1, checked-w.first), why
	if e.later == nil {
		e.later = map[eval.Instance]wait{}
	}
	e.later[i] = w
}

// elision asks for a member in the machine function with this entry, or at this instruction of it.
type elision struct {
	pc trace.Addr
	symbol.Member
	how how
	since
}

// since is what is known of the way that control has come since a field was stored last, see symbol.Since.
type since struct {
	store   trace.Addr
	written bool
	passed  string // which points control has come past, see points.since
}

// points are the instructions at which inlined functions begin and end, each with the time when control last came there.
type points struct {
	number map[trace.Addr]int
	last   []mgpp.Timestamp
}

// pass notes that control has come to one.
func (p *points) pass(pc trace.Addr, now mgpp.Timestamp) {
	n, known := p.number[pc]
	if !known {
		if p.number == nil {
			p.number = map[trace.Addr]int{}
		}
		n = len(p.last)
		p.number[pc], p.last = n, append(p.last, 0)
	}
	p.last[n] = now
}

// since says of each point whether control has come there since a time, a byte for each.
func (p *points) since(t mgpp.Timestamp) string {
	b := make([]byte, len(p.last))
	for i, last := range p.last {
		if last >= t {
			b[i] = 1
		}
	}
	return string(b)
}

// passed says whether control may have come to an instruction, where it has come past these points.
func (p *points) passed(which string) func(pc trace.Addr) bool {
	return func(pc trace.Addr) bool {
		n, known := p.number[pc]
		return !known || n >= len(which) || which[n] == 1
	}
}

// since is what is known since a field was stored last, or its block was allocated.
func (a *Analysis) since(d eval.Dep, v mgpp.View) since {
	last := a.Hist.LastWrite(d.Addr, d.Size, v.Time())
	written := last != 0
	if !written {
		id, ok := v.NodeAt(d.Addr)
		if !ok {
			return since{passed: a.elisions.points.since(0)}
		}
		last = a.Hist.Node(id).Birth
	}
	_, pc := a.Hist.Statement(last)
	if len(a.Hist.Gaps()) > 0 {
		return since{store: pc, written: written} // what was passed is not known
	}
	return since{pc, written, a.elisions.points.since(last)}
}

// how a store is left out; see the methods of symbol.Table.
type how uint8

const (
	elided  how = iota // of all of a machine function
	pending            // so far, when control has come to an instruction
	overdue            // since an instruction has stored the member
)

// statement is a line; 0 where there is none.
type statement struct {
	file string
	line int
}

// elided is a statement that assigns a member by its text and not by its instructions.
func (a *Analysis) elided(k elision) statement {
	stored := a.stored()
	x, known := a.elisions.asked[k]
	if !known {
		ask := a.Symbols.Elided
		switch k.how {
		case pending:
			ask = a.Symbols.Pending
		case overdue:
			ask = a.Symbols.Overdue
		}
		x.file, x.line, _ = ask(k.pc, k.Member, stored, symbol.Since{Store: k.store, Written: k.written, Passed: a.elisions.points.passed(k.passed)})
		a.elisions.asked[k] = x
	}
	return x
}

// stored are the fields that instructions have stored by now. Where that tells more than before, what was asked of
// it is asked anew, and the statements of stores are found again that the line table has elsewhere.
func (a *Analysis) stored() map[trace.Addr][]string {
	w := &a.elisions.written
	if w.take(a) {
		a.Symbols.Assign(w.stores())
		clear(a.elisions.asked)
	}
	return w.fields
}

// unjudged says, once of each statement, of what was left out and never judged after that why it was.
func (e *elisions) unjudged(judged map[eval.Instance]bool) (out []string) {
	for i, w := range e.later {
		if w.why != "" && !judged[i] && !slices.Contains(out, w.why) {
			out = append(out, w.why)
		}
	}
	slices.Sort(out)
	return out
}

// timely leaves out of what a C-point has found broken what depends on a field that the machine
// function that pc is in may be about to store. A warning says so where that lasts.
func (a *Analysis) timely(p *point, v mgpp.View, pc trace.Addr) []eval.Inconsistency {
	again := a.allocatedAgain(p, pc)
	return a.without(p.found, v, func(_ eval.Instance, d eval.Dep) bool {
		c, ok := locatorCells{a.Graph}.Cell(d.Addr, v)
		if !ok {
			return false
		}
		m := a.memberOf(c)
		x := a.elided(elision{pc, m, pending, a.since(d, v)})
		if id, in := v.NodeAt(d.Addr); x.line == 0 || in && again(a.Hist.Node(id).Stack) {
			return false
		}
		if p.lasts > 1 {
			a.warnOnce(unjudgedMember(m, x))
		}
		return true
	})
}

// memberOf is the member that a cell is, as code assigns it.
func (a *Analysis) memberOf(c faultloc.Cell) symbol.Member {
	m := symbol.MemberOf(c.Path)
	if o := a.Graph.Object(c.Obj); o.Type != nil {
		m.Classes = symbol.Instances(o.Type.Layout, int64(c.Addr-o.Addr))
	}
	return m
}

// unjudgedMember says that what depends on the value of a statement is not judged.
func unjudgedMember(m symbol.Member, x statement) string {
	return fmt.Sprintf("the compiler has left out the store to %s that %s:%d means, or does it later: what depends on it is not judged; -O0 helps, or __attribute__((noinline)) on the functions of the structure",
		m.Name, symbol.Short(x.file), x.line)
}

func (a *Analysis) warnOnce(text string) {
	if !slices.Contains(a.warned, text) {
		a.warned = append(a.warned, text)
	}
}

// allocatedAgain tells of the stack with which a block was allocated whether the call out of the machine function
// that pc is in has allocated another one since a C-point, in its thread. Then a loop has come around in which the
// block's address is another one each time, and no register keeps a field of it for that long.
func (a *Analysis) allocatedAgain(p *point, pc trace.Addr) func(stack []trace.Addr) bool {
	var since map[trace.Addr]bool // return addresses; nil: not asked yet
	here, ok := a.Symbols.Begin(pc)
	own := func(stack []trace.Addr) (trace.Addr, bool) {
		for _, ret := range stack {
			if entry, in := a.Symbols.Begin(ret - 1); in && entry == here {
				return ret, true
			}
		}
		return 0, false
	}
	return func(stack []trace.Addr) bool {
		ret, in := own(stack)
		if !ok || !in {
			return false
		}
		if since == nil {
			since = map[trace.Addr]bool{}
			seen := map[*trace.Addr]bool{} // stacks are shared
			for id := mgpp.NodeID(a.Hist.NodeCount()); id > 0; id-- {
				n := a.Hist.Node(id)
				if n.ID == 0 {
					continue // forgotten
				}
				if n.Birth <= p.time {
					break
				}
				if len(n.Stack) == 0 || seen[&n.Stack[0]] || a.Hist.Op(n.Birth).Thread != p.Thread {
					continue
				}
				seen[&n.Stack[0]] = true
				if x, in := own(n.Stack); in {
					since[x] = true
				}
			}
		}
		return since[ret]
	}
}

// meant leaves inconsistencies of a C-point out that depend on a field that is not stored, or not any more:
// it was never written, or what writes to its block is one function that leads nobody to it.
// why says of those that were asked which statement it is.
func (a *Analysis) meant(p *point, v mgpp.View) (kept []eval.Inconsistency, why map[eval.Instance]string) {
	why = map[eval.Instance]string{}
	kept = a.without(p.found, v, func(i eval.Instance, d eval.Dep) bool {
		c, ok := locatorCells{a.Graph}.Cell(d.Addr, v)
		id, in := v.NodeAt(d.Addr)
		if !ok || !in {
			return false
		}
		last := a.Hist.LastWrite(d.Addr, d.Size, v.Time())
		never := last == 0
		led := len(a.Graph.In(v, c.Obj)) > 0
		if !never && led {
			return false
		}
		makers := a.makers(id)
		if !never && len(makers) > 1 {
			return false
		}
		if led && zeroed(d, v) {
			left := a.left(p, a.Hist.Node(id))
			makers = slices.DeleteFunc(makers, func(entry trace.Addr) bool { return slices.Contains(left, entry) })
		}
		m, way := a.memberOf(c), a.since(d, v)
		x := statement{}
		for k := 0; k < len(makers) && x.line == 0; k++ {
			x = a.elided(elision{makers[k], m, elided, way})
		}
		if x.line == 0 && !never {
			_, pc := a.Hist.Statement(last)
			x = a.elided(elision{pc, m, overdue, way})
		}
		if x.line == 0 {
			return false
		}
		why[i] = unjudgedMember(m, x)
		return true
	})
	return kept, why
}

// zeroed: nobody has written bytes that are known all the same, as those of calloc.
func zeroed(d eval.Dep, v mgpp.View) bool {
	b := mgpp.NewBytes(d.Size)
	return v.Read(d.Addr, &b) && !slices.Contains(b.Written, false)
}

// left are the machine functions, by their entries, that were called by that of a C-point, or are it, when they allocated a
// block, and have returned since. What one has left out of a zeroed block to which others lead, when it returned,
// it left out because the zeros are what it means.
func (a *Analysis) left(p *point, n mgpp.Node) []trace.Addr {
	if p.Kind != "entry" && p.Kind != "return" || p.Inlined || slices.ContainsFunc(a.spec.CPoints, func(c check.CPoint) bool { return c.Each }) {
		return nil
	}
	var entries []trace.Addr
	for _, ret := range n.Stack {
		entry, ok := a.Symbols.Begin(ret - 1)
		if !ok {
			return nil
		}
		entries = append(entries, entry)
		if f, _, _ := a.Symbols.Where(entry); f.Function == p.Function {
			return entries
		}
	}
	return nil
}

// shared are the statements of which the compiler made no store of their own, near a suspect's: they assign, by
// their text, the field that the repair would mend, or that the suspect wrote.
func (a *Analysis) shared(s *faultloc.Suspect) []report.Place {
	var out []report.Place
	ask := func(c faultloc.Cell) {
		_, static := a.Symbols.Image(c.Addr)
		for _, p := range PlacesOf(a.Symbols.Shared(s.PC, a.memberOf(c), static, a.stored())) {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	if s.Repair != nil {
		ask(s.Repair.Cell)
	}
	if op := a.Hist.Op(s.Operation); s.Operation > 0 && op.Kind == mgpp.OpStore {
		if c, ok := (locatorCells{a.Graph}).Cell(op.Addr, a.Hist.At(s.Operation)); ok && (s.Repair == nil || symbol.MemberOf(c.Path) != symbol.MemberOf(s.Repair.Cell.Path)) {
			ask(c)
		}
	}
	if len(out) > maxShared {
		return nil // any of many says nothing
	}
	return out
}

// maxShared bounds the statements without a store of their own that are shown of one suspect.
const maxShared = 3

// makers are the machine functions, by their entries, that made a block or wrote to it.
func (a *Analysis) makers(id mgpp.NodeID) (out []trace.Addr) {
	seen := map[trace.Addr]bool{}
	add := func(t mgpp.Timestamp) {
		_, pc := a.Hist.Statement(t)
		if seen[pc] {
			return
		}
		seen[pc] = true
		if entry, ok := a.Symbols.Begin(pc); ok && !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	n := a.Hist.Node(id)
	add(n.Birth)
	for t := range a.Hist.Versions(n.Start, n.Size, n.Birth) {
		add(t)
	}
	return out
}

// Of so many inconsistencies and dependencies it is asked what they depend on.
const (
	maxMeant  = 256
	maxLeaves = 1 << 16
)

// without leaves inconsistencies out that depend on certain bytes. Those that there is no time to
// ask are as the others of their constraint.
func (a *Analysis) without(found []eval.Inconsistency, v mgpp.View, bad func(eval.Instance, eval.Dep) bool) (out []eval.Inconsistency) {
	leaves := 0
	left, asked := map[int]bool{}, map[int]int{} // constraints of which some were left out, and of how many instances of each that was asked
	for _, inc := range found {
		k := inc.Instance.Constraint
		some := left[k]
		if n := asked[k]; n == 0 || n < maxMeant && leaves < maxLeaves {
			asked[k]++
			some = false
			eval.Leaves(a.Checker, a.Checker.Eval(inc.Instance, v).Deps, v, func(d eval.Dep) bool {
				leaves++
				some = d.Kind == eval.DepBytes && bad(inc.Instance, d)
				return !some && leaves < maxLeaves
			})
		}
		if some {
			left[k] = true
		} else {
			out = append(out, inc)
		}
	}
	return out
}

// counted leaves inconsistencies out that ask for nodes of which there was none yet, or for edges from where there
// was none: what compilers know to be made once they put into static memory or registers, and a node
// may be declared that lies on a stack. So it does with what would have to be read in such a node, where a pointer leads to what is
// no other: the program's own allocator gives them out. (Checker.Warnings tells of types never allocated.)
func (a *Analysis) counted(found []eval.Inconsistency) []eval.Inconsistency {
	return slices.DeleteFunc(slices.Clone(found), func(inc eval.Inconsistency) bool {
		k := inc.Instance.Constraint
		if k < 0 || k >= len(a.spec.Constraints) {
			return false
		}
		c := a.spec.Constraints[k]
		asks := inc.Wanted != nil && !a.everOf(inc.Wanted) && !a.inNode(inc.Block) ||
			slices.ContainsFunc(c.Vars[c.Universal:], func(v check.Var) bool { return !a.Graph.EverBorn(v.Type) })
		c.Walk(func(e check.Expr) {
			switch e := e.(type) {
			case *check.Degree:
				asks = asks || e.In && (slices.ContainsFunc(e.Fields, a.ownerless) || len(e.Fields) == 0 && a.fromOwnerless(inc))
			case *check.Aggregate:
				asks = asks || e.Type != nil && !a.Graph.EverBorn(e.Type)
			}
		})
		return asks
	})
}

// everOf: there was a node of a type, or of one that is one as well, as a class that derives from it.
func (a *Analysis) everOf(t *check.NodeType) bool {
	return slices.ContainsFunc(a.spec.Types, func(u *check.NodeType) bool { return u.Is(t) && a.Graph.Ever(u) })
}

// inNode: a block is a node; not 0, of which nothing is known.
func (a *Analysis) inNode(block mgpp.NodeID) bool {
	if block == 0 {
		return false
	}
	is, _, _ := a.Graph.TypeOf(a.Hist.Node(block))
	return is != nil
}

// ownerless: no node that has the field was ever there.
func (a *Analysis) ownerless(field check.Field) bool {
	return !slices.ContainsFunc(a.spec.Types, func(t *check.NodeType) bool {
		return a.Graph.Ever(t) && slices.ContainsFunc(t.Edges, func(c check.EdgeCell) bool { return field.Means(t, &c) })
	})
}

// fromOwnerless: a pointer that leads to one of an instance's nodes is declared of a type of which there was
// no node ever.
func (a *Analysis) fromOwnerless(inc eval.Inconsistency) bool {
	return slices.ContainsFunc(a.spec.Types, func(t *check.NodeType) bool {
		return !a.Graph.Ever(t) && slices.ContainsFunc(t.Edges[:t.Default], func(c check.EdgeCell) bool {
			return slices.ContainsFunc(inc.Instance.Nodes[:], func(id graph.ObjID) bool {
				to := a.Graph.Object(id).Type
				return id != 0 && to != nil && typing.SameType(c.Elem, to.Layout)
			})
		})
	})
}
