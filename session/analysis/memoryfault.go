package analysis

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"mgtrace/constraints/describe"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/replay"
	"mgtrace/report"
	"mgtrace/session/rerun"
	"mgtrace/trace"
)

// blame reports a memory fault: the statement that did it is the suspect.
func (a *Analysis) blame(c *report.CPoint, f *eval.MemoryFault) {
	var stack []trace.Addr
	if op := a.Hist.Op(f.Time); op.PC == f.PC {
		stack = op.Stack
	}
	if stack == nil && a.Symbols.Library(f.PC) {
		stack = a.ledTo(f.Thread, f.Time, f.PC)
	}
	s := a.Statement(a.asked(f.PC, stack), stack)
	s.Rank, s.Kind, s.Operations = 1, "wrote", 1
	s.Timestamp, s.Thread = uint64(f.Time), uint32(f.Thread)
	s.Change = f.Reason
	s.When = a.when(f.Time)
	s.Contributes = []string{f.Kind}
	s.Also = a.blockLife(f)
	s.Evidence = append([]string{faultEvidence(f)}, s.Also...)
	s.Why = report.Sentence(s.Evidence[0])
	c.File, c.Path, c.Line, c.Function = s.File, s.Path, s.Line, s.Function
	c.Inconsistencies = []report.Inconsistency{{Constraint: f.Kind, Reason: f.Reason, Total: 1}}
	if f.Node != 0 {
		c.Inconsistencies[0].Nodes = map[string]string{"X": describe.Node(a.Graph, f.Node)}
	}
	c.Suspects = []report.Suspect{s}
	other, first, ok := a.freedBy(f)
	if !ok {
		other, first, ok = a.allocatedBy(f)
	}
	if !ok {
		other, first, ok = a.tooSmall(f)
	}
	if !ok {
		other, ok = a.gaveFreed(f)
	}
	if ok {
		other.Contributes = s.Contributes
		c.Suspects = append(c.Suspects, other)
		if first {
			slices.Reverse(c.Suspects)
		}
	}
	if copied, ok := a.sharedBy(f); ok {
		copied.Contributes = s.Contributes
		at := len(c.Suspects)
		if other.Path == s.Path && other.Line == s.Line {
			at = 0 // a destructor, as of two objects: what it does is right
		}
		c.Suspects = slices.Insert(c.Suspects, at, copied)
	}
	if before, ok := a.freedEarlier(f); ok {
		before.Contributes = s.Contributes
		c.Suspects = slices.DeleteFunc(c.Suspects, func(o report.Suspect) bool { return o.Path == before.Path && o.Line == before.Line && o.Line > 0 })
		c.Suspects = slices.Insert(c.Suspects, 0, before)
	}
	for i := range c.Suspects {
		c.Suspects[i].Rank = i + 1
	}
}

// freedEarlier is who freed a block that lay there before the one that was written to, if a pointer has led there since then that is the
// one's by which the program wrote: most likely it knew nothing of the newer block, to which no pointer leads that is known.
func (a *Analysis) freedEarlier(f *eval.MemoryFault) (report.Suspect, bool) {
	n, op, v := a.Hist.Node(f.Node), a.Hist.Op(f.Time), a.Hist.At(f.Time)
	if f.Kind != "use after free" || op.Kind != mgpp.OpStore || !inBlock(&n, op.Base) || f.Obj != 0 && len(a.Graph.Left(v, f.Obj)) > 0 {
		return report.Suspect{}, false
	}
	for since, i := n.Birth, 0; i < maxEarlier; i++ {
		id, ok := a.Hist.FormerAt(op.Base, since-1)
		if !ok {
			break
		}
		was := a.Hist.Node(id)
		since = was.Birth
		for _, r := range a.Graph.AppendRefs(v, graph.Changed(v), a.Graph.Former(id), nil) { // of a union whatever member led there
			to := v.Target(r.Addr, r.Cell.Coded)
			field, ok := describe.FieldAt(a.Graph, v, r.From, r.Addr)
			if !ok || to.Value != uint64(op.Base) || !a.Graph.Alive(r.From, f.Time) {
				continue
			}
			left := fmt.Sprintf("%s, stored at %s", describe.Join(a.Graph.Name(r.From), field.Path), a.Symbols.Place(a.Hist.Op(to.Since).PC))
			s := a.accomplice(was.Death, "it freed the block that lay there before, and a pointer to that was left, by which the program may have written")
			s.Why = report.Sentence(s.Evidence[0])
			s.Also = []string{"what was left: " + left}
			s.Evidence = append(s.Evidence, s.Also...)
			return s, true
		}
	}
	return report.Suspect{}, false
}

// maxEarlier bounds the blocks that lay at an address one after the other, of which it is asked whether a pointer to them is left.
const maxEarlier = 64

// linked puts right behind the free who had linked the block in the call that freed it, unless that is a suspect before it.
func (a *Analysis) linked(c *report.CPoint, f *eval.MemoryFault) {
	death := uint64(a.Hist.Node(f.Node).Death)
	free := slices.IndexFunc(c.Suspects, func(o report.Suspect) bool { return o.Timestamp == death })
	s, ok := a.linkedBy(f)
	if !ok || free < 0 {
		return
	}
	s.Contributes = []string{f.Kind}
	if k := slices.IndexFunc(c.Suspects, func(o report.Suspect) bool { return o.Path == s.Path && o.Line == s.Line }); k > free {
		s = c.Suspects[k] // what is known of it says more
		c.Suspects = slices.Delete(c.Suspects, k, k+1)
	} else if k >= 0 {
		return
	}
	c.Suspects = slices.Insert(c.Suspects, free+1, s)
	for i := range c.Suspects {
		c.Suspects[i].Rank = i + 1
	}
}

// linkedBy is the newest store of a pointer to a block in the call that went on to free it, if it led there still when the block was
// freed: who is about to free a block links it nowhere.
func (a *Analysis) linkedBy(f *eval.MemoryFault) (report.Suspect, bool) {
	death := a.Hist.Node(f.Node).Death
	if f.Kind != "use after free" || f.Obj == 0 || death == 0 || death > f.Time {
		return report.Suspect{}, false
	}
	k, ok := a.calls.ofThread(a.Hist.Op(death).Thread, death)
	if !ok {
		return report.Suspect{}, false
	}
	v, link, cell := a.Hist.At(death), k.from, graph.Ref{}
	for _, r := range a.Graph.Left(v, f.Obj) {
		if since := v.Target(r.Addr, r.Cell.Coded).Since; since > link && since < death && a.Hist.Op(since).PC != 0 {
			link, cell = since, r
		}
	}
	if cell.From == 0 {
		return report.Suspect{}, false
	}
	field, ok := describe.FieldAt(a.Graph, v, cell.From, cell.Addr)
	if !ok {
		return report.Suspect{}, false
	}
	s := a.accomplice(link, fmt.Sprintf("it stored a pointer to the block into %s, and the same call went on to free the block", describe.Join(a.Graph.Name(cell.From), field.Path)))
	s.Why = report.Sentence(s.Evidence[0])
	return s, true
}

// freedBy is the free before a use or another free of the block: it may be the one
// that is wrong. It goes before a use that follows at once, by the block's own address, if
// something still led to the block when it was freed, or was made to lead to it after that.
func (a *Analysis) freedBy(f *eval.MemoryFault) (s report.Suspect, first, ok bool) {
	n := a.Hist.Node(f.Node)
	death := n.Death
	if f.Kind != "use after free" && f.Kind != "double free" || death == 0 || death > f.Time {
		return s, false, false
	}
	s = a.accomplice(death, "it freed the block before that")
	i := sort.Search(a.checkedAt.len(), func(i int) bool { return a.checkedAt.at(i) >= f.Time })
	since := i == 0 || a.checkedAt.at(i-1) <= death
	base := a.Hist.Op(f.Time).Base
	meant := base == 0 || inBlock(&n, base)
	if left := a.stillLeading(f, &n); f.Obj == 0 && meant && len(left) > 0 {
		var by []string
		for _, t := range left {
			if at := a.Symbols.Place(a.Hist.Op(t).PC); !slices.Contains(by, at) && len(by) < maxLeft {
				by = append(by, at)
			}
		}
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s still led to it then, and when it was written to", report.Plural(len(left), "pointer", "pointers")))
		s.Why = report.Sentence(fmt.Sprintf("it freed the block while %s still led to it, stored at %s, and it was written to after that", report.Plural(len(left), "pointer", "pointers"), strings.Join(by, ", ")))
		return s, true, true
	}
	if f.Kind != "use after free" || f.Obj == 0 || !since || !meant || f.Time-death > maxSinceFree {
		return s, false, true
	}
	if led := len(a.Graph.Into(f.Obj, a.Hist.At(death-1), maxInto)); led > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s still led to it then", report.Plural(led, "pointer", "pointers")))
		s.Why = report.Sentence(fmt.Sprintf("it freed the block while %s still led to it, and it was written to after that", report.Plural(led, "pointer", "pointers")))
		if left := a.leadTo(f.Obj, death); left != "" {
			s.Also = append(s.Also, "what still led to it then: "+left)
			s.Evidence = append(s.Evidence, s.Also...)
		}
		return s, true, true
	}
	if by := a.linkedAgain(&n, f.Time); by != 0 {
		place := a.Symbols.Place(a.Hist.Op(by).PC)
		s.Evidence = append(s.Evidence, "a pointer to it was stored after that at "+place)
		s.Why = report.Sentence("it freed the block, to which a pointer was stored after that at " + place)
		return s, true, true
	}
	return s, false, true
}

// brokenBefore adds to the suspects of a memory fault who had broken the structure before it: an index, or a
// pointer, that leads out of a block often comes of that. These go first where the structure was broken already
// when the call began in which the fault is.
func (a *Analysis) brokenBefore(c *report.CPoint, p *point) {
	q := *p
	q.time = p.fault.Time - 1
	if p.healthy >= q.time || a.o.All {
		return
	}
	if q.found = a.brokenAt(&q); len(q.found) == 0 {
		return
	}
	in := a.question(&q)
	began := p.healthy
	k, within := a.calls.ofThread(p.fault.Thread, p.fault.Time)
	if within {
		began = k.from
	}
	before := began > p.healthy && in.Broken != nil && in.Broken(began) > 0
	if before {
		then := q
		then.time = began
		before = len(a.brokenAt(&then)) > 0
	}
	res := a.measured(&q, in)
	var more []report.Suspect
	for i := range res.Suspects {
		s := a.suspect(0, &res.Suspects[i], q.time)
		same := func(o report.Suspect) bool { return o.Path == s.Path && o.Line == s.Line }
		if len(more) < maxBefore && !slices.ContainsFunc(c.Suspects, same) && !slices.ContainsFunc(more, same) {
			more = append(more, s)
		}
	}
	if before {
		c.Suspects = append(more, c.Suspects...)
	} else {
		c.Suspects = append(c.Suspects, more...)
	}
	for i := range c.Suspects {
		c.Suspects[i].Rank = i + 1
	}
	if len(more) > 0 {
		note, also := "the structure was broken already right before the memory fault", ""
		switch {
		case before:
			note = "the structure was broken already when the call began in which the memory fault is"
		case within && (began <= p.healthy || in.Broken != nil):
			also = fmt.Sprintf("; it may just have been on its way, since nothing was broken when %s began", a.calls.at(p.fault.Time))
			if began < p.healthy {
				also = fmt.Sprintf("; it may just have been on its way, since nothing was broken earlier in %s", a.calls.at(p.fault.Time))
			}
		}
		c.Notes = append(c.Notes, fmt.Sprintf("%s (%s of %s): who broke it is among the suspects%s", note, report.Plural(len(q.found), "constraint instance", "constraint instances"), strings.Join(a.labels(q.found), ", "), also))
	}
}

// brokenAt is what is broken at a time in front of a memory fault, but for what depends on fields that the
// compiler keeps elsewhere.
func (a *Analysis) brokenAt(p *point) []eval.Inconsistency {
	p.found = a.Checker.All(a.Checker.View(p.time))
	if len(p.found) > 0 {
		p.found = a.timely(p, a.Hist.At(p.time), p.fault.PC)
	}
	if len(p.found) > 0 {
		p.found, _ = a.meant(p, a.Hist.At(p.time))
	}
	return p.found
}

// maxBefore bounds the suspects that are added to those of a memory fault.
const maxBefore = 4

func inBlock(n *mgpp.Node, addr trace.Addr) bool {
	return addr >= n.Start && addr < n.Start+trace.Addr(n.Size)
}

// sharedBy is the store of a second pointer to a block that was freed twice, where two led to it, and no more, when it was freed first, from the
// same place in two blocks of one size: as of an object and a copy of it that does not copy what the object owns.
func (a *Analysis) sharedBy(f *eval.MemoryFault) (s report.Suspect, ok bool) {
	n := a.Hist.Node(f.Node)
	if f.Kind != "double free" || n.Death == 0 || n.Death > f.Time {
		return s, false
	}
	type pointer struct {
		stored mgpp.Timestamp
		in     mgpp.Node
		offset trace.Addr
	}
	v := a.Hist.At(n.Death - 1)
	var to []pointer
	var op mgpp.Brief
	for t := n.Death - 1; t > n.Birth && n.Death-t < maxScanned && len(to) <= 2; t-- {
		if a.Hist.Brief(t, &op); op.Kind != mgpp.OpStore || op.Size != 8 || !op.Valued || op.Value != uint64(n.Start) {
			continue
		}
		if id, live := v.NodeAt(op.Addr); live && a.Hist.LastWrite(op.Addr, 8, n.Death-1) == t {
			in := a.Hist.Node(id)
			to = append(to, pointer{t, in, op.Addr - in.Start})
		}
	}
	if len(to) != 2 || to[0].in.Start == to[1].in.Start || to[0].in.Size != to[1].in.Size || to[0].offset != to[1].offset || a.Hist.Op(to[0].stored).PC == 0 {
		return s, false
	}
	what := "it stored a second pointer to the block, which was freed twice"
	s = a.accomplice(to[0].stored, what)
	s.Also = []string{"the other pointer was stored at " + a.Symbols.Place(a.Hist.Op(to[1].stored).PC)}
	s.Evidence = append(s.Evidence, s.Also...)
	s.Why = report.Sentence(what)
	return s, true
}

// linkedAgain is the first operation soon after a time that stored, elsewhere, a pointer to a
// block that is freed: the program was not through with it. 0: there is none before another
// block has the memory.
func (a *Analysis) linkedAgain(n *mgpp.Node, since mgpp.Timestamp) mgpp.Timestamp {
	for t := since + 1; t <= a.Hist.Now() && t-since <= maxSinceFree; t++ {
		op := a.Hist.Op(t)
		if op.Kind == mgpp.OpBirth && inBlock(n, op.Addr) {
			return 0
		}
		if op.Kind != mgpp.OpStore || op.Size != 8 || inBlock(n, op.Addr) {
			continue
		}
		if a.leads(op.Addr, n, t) {
			return t
		}
	}
	return 0
}

// stillLeading are the stores, the newest first, of pointers elsewhere that led to a block of no declared type when it was freed, and
// when it was used after that.
func (a *Analysis) stillLeading(f *eval.MemoryFault, n *mgpp.Node) (out []mgpp.Timestamp) {
	if f.Kind != "use after free" || f.Obj != 0 {
		return nil
	}
	used := a.Hist.At(f.Time - 1)
	var op mgpp.Brief
	for t := n.Death; t > n.Birth && n.Death-t < maxScanned && len(out) < maxInto; t-- {
		if a.Hist.Brief(t, &op); op.Kind != mgpp.OpStore || op.Size != 8 || !op.Valued || !inBlock(n, trace.Addr(op.Value)) || inBlock(n, op.Addr) {
			continue
		}
		if _, live := used.NodeAt(op.Addr); live && a.Hist.LastWrite(op.Addr, 8, f.Time-1) == t {
			out = append(out, t)
		}
	}
	return out
}

// leads: at a time, a pointer at an address led into a block.
func (a *Analysis) leads(addr trace.Addr, n *mgpp.Node, t mgpp.Timestamp) bool {
	to := a.Hist.At(t).Target(addr, coded.Plain)
	return to.State != mgpp.Unwritten && inBlock(n, trace.Addr(to.Value))
}

const (
	maxInto      = 8   // pointers to a freed block that are counted
	maxSinceFree = 256 // changes between a free and a use that follows at once
)

// allocatedBy is the allocation of a block that is smaller than its type.
func (a *Analysis) allocatedBy(f *eval.MemoryFault) (s report.Suspect, first, ok bool) {
	n, o := a.Hist.Node(f.Node), a.Graph.Object(f.Obj)
	if f.Kind != "bounds" || o.Type == nil || o.Type.Layout == nil || uint64(o.Type.Layout.Size) <= n.Size || a.Hist.Op(n.Birth).PC == 0 {
		return s, false, false
	}
	s = a.accomplice(n.Birth, fmt.Sprintf("it allocated %s, where %s takes %d", report.Plural(int(n.Size), "byte", "bytes"), o.Type.Name, o.Type.Layout.Size))
	s.Why = report.Sentence(s.Evidence[0])
	return s, true, true
}

// mayRefuse reports a free of what lies in a file or on the stack, with which the C library has ended the program, if that was not recorded:
// with a specification frees are not of what can be no node.
func (a *Analysis) mayRefuse(thread trace.ThreadID) {
	addr, by, _, ok := a.freeing()
	if !ok {
		return
	}
	_, file := a.Symbols.Image(addr)
	if off := uint64(addr) - a.died.stack.Base; !file && off >= uint64(len(a.died.stack.Stack)) {
		return // what is on the heap may be a block that nobody has told of
	}
	op := mgpp.Op{Time: a.Hist.Now(), Thread: thread, PC: a.died.at}
	if strings.Contains(by, "realloc") {
		op.Name = "realloc"
	}
	a.Checker.Refused(op, addr)
}

// freeing is what the program freed, and by which function of a library, when that ended it, and the memory where it had that from, if
// its registers and its code tell.
func (a *Analysis) freeing() (addr trace.Addr, by string, from []replay.Read, ok bool) {
	calls, by := a.died.calledIn(a.Symbols)
	if by == "" || !eval.StandardFree(by) || len(calls) == 0 || !a.died.aborted {
		return 0, "", nil, false
	}
	value, ok, from := rerun.Argument(a.program(nil), a.Hist.Now(), calls)
	return trace.Addr(value), by, from, ok
}

// gaveFreed is who stored the pointer to what no allocator has given out, and was freed. Where it is not known which pointer that was, it
// is who was the last to store one that leads there.
func (a *Analysis) gaveFreed(f *eval.MemoryFault) (s report.Suspect, ok bool) {
	if f.Kind != "invalid free" || f.PC != a.died.at {
		return s, false
	}
	addr, _, from, ok := a.freeing()
	if !ok {
		return s, false
	}
	t, what := mgpp.Timestamp(0), "it stored the pointer that was freed"
	if len(from) > 0 && from[0].Depth == 0 {
		at := trace.Addr(from[0].Addr)
		if is, known := mgpp.Number(a.Hist.At(f.Time), at, 8); known && is == uint64(addr) {
			t = a.Hist.LastWrite(at, 8, f.Time)
		}
	} else {
		t, what = a.lastStored(uint64(addr), f.Time), "it stored a pointer to what was freed"
	}
	if op := a.Hist.Op(t); op.PC == 0 || op.Kind == mgpp.OpBirth {
		return s, false
	}
	s = a.accomplice(t, what)
	s.Why = report.Sentence(what)
	return s, true
}

// lastStored is the last store of a value up to a time, 0 if there is none.
func (a *Analysis) lastStored(value uint64, t mgpp.Timestamp) mgpp.Timestamp {
	var op mgpp.Brief
	for end := t; t > 0 && end-t < maxScanned; t-- {
		if a.Hist.Brief(t, &op); op.Kind == mgpp.OpStore && op.Size == 8 && op.Valued && op.Value == value {
			return t
		}
	}
	return 0
}

// accomplice is the statement of another operation that has its part in what a suspect did.
func (a *Analysis) accomplice(t mgpp.Timestamp, evidence string) report.Suspect {
	op := a.Hist.Op(t)
	s := a.Statement(op.PC, op.Stack)
	s.Kind, s.Operations = "wrote", 1
	s.Timestamp, s.Thread, s.When = uint64(t), uint32(op.Thread), a.when(t)
	s.Change = a.change(t)
	s.Evidence = []string{evidence}
	return s
}

// faultEvidence says why a memory fault needs no search: its statement did it.
func faultEvidence(f *eval.MemoryFault) string {
	switch f.Kind {
	case "bounds":
		return "this statement itself wrote outside its block"
	case "use after free":
		return "this statement itself wrote to freed memory"
	}
	return "this statement itself freed what it must not free"
}

// blockLife says where the block of a memory fault came from and went.
func (a *Analysis) blockLife(f *eval.MemoryFault) []string {
	n := a.Hist.Node(f.Node)
	var out []string
	say := func(verb string, t mgpp.Timestamp) {
		if op := a.Hist.Op(t); t != 0 && t <= f.Time && op.PC != 0 {
			out = append(out, fmt.Sprintf("the block was %s at %s (%s)", verb, a.Symbols.Place(op.PC), a.when(t)))
		}
	}
	say("allocated", n.Birth)
	say("freed", n.Death)
	return out
}
