package analysis

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/callers"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// How much a report shows.
const (
	maxShown   = 2 // nodes of one constraint at a C-point that are shown one by one; the rest is a count
	contextful = 2 // lines of source before and after a suspect
)

// inconsistencies groups what is broken at a C-point by constraint: one entry
// for each, with its first binding and a total. A cycle of a thousand nodes, or
// a hundred children of one bad node, is one finding.
func (a *Analysis) inconsistencies(found []eval.Inconsistency, v mgpp.View) []report.Inconsistency {
	var out []report.Inconsistency
	for _, group := range groupByCause(found) {
		first := group[0]
		total := 0
		for _, inc := range group {
			total += max(1, inc.Total)
		}
		out = append(out, a.inconsistency(first, total, v))
	}
	return out
}

// groupByCause puts inconsistencies together that are of one constraint and
// share their first node: they have one cause.
func groupByCause(found []eval.Inconsistency) [][]eval.Inconsistency {
	type key struct {
		constraint int
		node       graph.ObjID
	}
	var order []key
	groups := map[key][]eval.Inconsistency{}
	perConstraint := map[int]int{}
	for _, inc := range found {
		k := key{inc.Instance.Constraint, inc.Instance.Nodes[0]}
		if _, ok := groups[k]; !ok {
			// Beyond a few nodes, the rest of a constraint is one group.
			if perConstraint[k.constraint]++; perConstraint[k.constraint] > maxShown {
				k.node = ^graph.ObjID(0)
			}
			if _, ok := groups[k]; !ok {
				order = append(order, k)
			}
		}
		groups[k] = append(groups[k], inc)
	}
	out := make([][]eval.Inconsistency, 0, len(order))
	for _, k := range order {
		out = append(out, groups[k])
	}
	return out
}

func (a *Analysis) inconsistency(inc eval.Inconsistency, total int, v mgpp.View) report.Inconsistency {
	r := report.Inconsistency{Constraint: a.Checker.Label(inc.Instance), Nodes: map[string]string{}, Reason: inc.Reason, Total: total}
	var nodes []graph.ObjID
	if c := a.constraint(inc.Instance); c != nil {
		r.Source = c.Source
		for i, variable := range c.Vars[:c.Universal] {
			o := inc.Instance.Nodes[i]
			if o == 0 {
				continue
			}
			r.Nodes[variable.Name] = a.Graph.Name(o)
			nodes = append(nodes, o)
		}
		for i, l := range c.Loops {
			if at := inc.Instance.Index[i]; at != eval.NoIndex {
				r.Nodes[l.Name] = fmt.Sprint(at)
				r.Reason += fmt.Sprintf(", %s is %d", l.Name, at)
			}
		}
	} else if o := inc.Instance.Nodes[0]; o != 0 {
		r.Nodes["X"] = a.Graph.Name(o)
		nodes = append(nodes, o)
	}
	if o := inc.Instance.SCC; o != 0 {
		r.Nodes["X"] = a.Graph.Name(o)
		nodes = []graph.ObjID{o}
	}
	r.Reason += a.unheard(inc.Reason)
	for _, s := range a.Checker.Sources(inc.Instance, v) {
		r.Sources = append(r.Sources, report.Field{Name: s.Text, Value: s.Value})
	}
	switch res := a.Checker.Eval(inc.Instance, v); {
	case res.Block != 0:
		r.Reason += a.notANode(a.Hist.Node(res.Block))
	case res.Through != 0 && a.Relevance.OnlyRuled():
		r.Reason += "; a block that no `alloc` rule names is not recorded: --everything tells whether it leads into one, and where that was allocated"
	}
	slices.Sort(nodes)
	for _, o := range slices.Compact(nodes) {
		r.Values = append(r.Values, a.values(o, v))
		a.overruled(o)
	}
	return r
}

// overruled warns of a node that is broken, and that a rule has made a node of another type than the program's code takes it for.
func (a *Analysis) overruled(o graph.ObjID) {
	host := a.Graph.Object(o).Host
	if a.Typing == nil || host == 0 {
		return
	}
	n := a.Hist.Node(host)
	rule, of := a.Typing.Overruled(n)
	if of == nil {
		return
	}
	if from := a.allocatedAt(n); from != "" {
		a.warnOnce(fmt.Sprintf("alloc %s: it takes blocks that the code uses as %s, allocated at %s; name a function, or a line, that allocates no others",
			rule, of.Name, from))
	}
}

// maxLibraries bounds the libraries that are named, and the fields that these may have written.
const maxLibraries = 3

// unheard says where a cell that nothing is known to have written may have been written all the same: in a library that is not recorded, as
// one to which the program hands the node. "": there is no such library, the C and C++ implementations' apart.
func (a *Analysis) unheard(reason string) string {
	libraries := slices.DeleteFunc(a.Symbols.Uncaptured(), symbol.IsLibCXX)
	if !strings.Contains(reason, "was never written") || len(libraries) == 0 {
		return ""
	}
	names := strings.Join(libraries[:min(len(libraries), maxLibraries)], ", ")
	if n := len(libraries) - maxLibraries; n > 0 {
		names += fmt.Sprintf(" or one of %d others", n)
	}
	return fmt.Sprintf("; what %s writes there is not recorded: --module %s", names, libraries[0])
}

// notANode says of the block in which a constraint expected a node whence it comes, and why it is
// of no declared type: its allocation may be missing in the specification. "": that is not known.
func (a *Analysis) notANode(n mgpp.Node) string {
	if a.Typing == nil || len(n.Stack) == 0 {
		return ""
	}
	if is, _, _ := a.Graph.TypeOf(n); is != nil {
		return "" // a node, but of another type
	}
	from := a.allocatedAt(n)
	if from == "" {
		return ""
	}
	text := fmt.Sprintf(", but into a block of %d bytes that is no node: allocated at %s", n.Size, from)
	if nt := a.Typing.Unruled(n); nt != nil {
		text += fmt.Sprintf(", which no `alloc %s at …;` names", nt.Name)
	}
	return text
}

// allocatedAt is where a block was allocated, and by whose call; "": that is not known.
func (a *Analysis) allocatedAt(n mgpp.Node) string {
	s := a.Statement(n.Stack[0]-1, n.Stack)
	if s.File == "" {
		return ""
	}
	places := append([]report.Place{{File: s.File, Line: s.Line, Function: s.Function}}, slices.Concat(s.Inlined, s.Callers)...)
	var from []string
	for _, p := range places[:min(len(places), 2)] {
		from = append(from, fmt.Sprintf("%s:%d in %s", p.File, p.Line, p.Function))
	}
	return strings.Join(from, ", called from ")
}

func (a *Analysis) constraint(i eval.Instance) *check.Constraint {
	if i.Constraint < 0 || i.Constraint >= len(a.spec.Constraints) {
		return nil
	}
	return a.spec.Constraints[i.Constraint]
}

func (a *Analysis) values(o graph.ObjID, v mgpp.View) report.NodeValues {
	n := report.NodeValues{Node: a.Graph.Name(o), Addr: fmt.Sprintf("%#x", uint64(a.Graph.Object(o).Addr)), Fields: []report.Field{}}
	for _, f := range describe.Fields(a.Graph, v, o) {
		n.Fields = append(n.Fields, report.Field{Name: f.Path, Value: f.Text})
	}
	return n
}

// inWords turns suspects of the fault locator into words. A statement that a library did several things for is named once, for the first.
func (a *Analysis) inWords(suspects []faultloc.Suspect, at mgpp.Timestamp) (kept []faultloc.Suspect, words []report.Suspect) {
	type statement struct {
		path    string
		line    int
		changes bool // or passes on what a change stored
	}
	asked := map[statement]bool{} // whether a library has done it
	for i := range suspects {
		s := a.suspect(len(kept)+1, &suspects[i], at)
		best := suspects[i].Best()
		is := statement{s.Path, s.Line, suspects[i].Kind == faultloc.Wrote || best != nil && best.Kind == faultloc.Passed}
		f, _, _ := a.Symbols.Where(suspects[i].PC)
		moved := f.File != s.Path || f.Line != s.Line
		if before, named := asked[is]; named && (before || moved) {
			continue
		}
		asked[is] = asked[is] || moved
		kept, words = append(kept, suspects[i]), append(words, s)
	}
	return kept, words
}

// suspect turns a suspect of the fault locator into words, for what is broken at a time.
func (a *Analysis) suspect(rank int, s *faultloc.Suspect, at mgpp.Timestamp) report.Suspect {
	if s.Inner != nil {
		at = s.Inner.At
	}
	var stack []trace.Addr
	if s.Operation > 0 && s.Kind == faultloc.Wrote {
		stack = a.stackOf(s.Operation, s.PC)
	}
	if s.Kind == faultloc.Decided {
		stack = append([]trace.Addr{s.PC + 1}, s.Calls...)
	}
	if s.Kind == faultloc.Died {
		if len(a.died.calls) > 0 {
			calls := a.died.calls
			if e := s.Best(); e == nil || !e.Sole { // else the way there is all that there is to tell
				calls = a.calledIn(a.died.during.Function, s.PC, calls)
			}
			stack = append([]trace.Addr{s.PC + 1}, calls...)
		} else {
			stack = a.ledTo(a.died.thread, a.Hist.Now(), s.PC)
		}
	}
	own := a.asked(s.PC, stack)
	out := a.Statement(own, stack)
	if f, _, _ := a.Symbols.Where(s.PC); own != s.PC && f.File == "" {
		out.Within = append([]report.Place{{File: a.Symbols.Address(s.PC), Function: f.Function}}, out.Within...)
	}
	out.Rank, out.Kind, out.Operations = rank, string(s.Kind), len(s.Operations)
	if s.Operation > 0 && s.Kind != faultloc.Decided {
		out.Timestamp = uint64(s.Operation)
		if s.Kind == faultloc.Wrote {
			op := a.Hist.Op(s.Operation)
			out.Change = a.change(s.Operation)
			out.When = a.when(s.Operation)
			out.Thread = uint32(op.Thread)
		}
	}
	if s.Kind == faultloc.Omitted && s.Repair != nil {
		out.Change = "missing: " + a.repair(s.Repair)
		out.Timestamp = 0
		out.Omission.Instead = uint64(a.Hist.LastWrite(s.Repair.Cell.Addr, uint64(s.Repair.Cell.Size), at))
		if beside := a.lastOf(s.PC, s.Operation, at); beside != 0 {
			out.Omission.Elsewhere, out.Omission.Beside = uint64(s.Operation), uint64(beside)
		}
	}
	if s.Kind == faultloc.Omitted && a.Hist.Op(s.Operation).Kind == mgpp.OpDeath {
		out.Change = report.FreeMissing
	}
	if best := s.Best(); best != nil && best.Kind == faultloc.Uncalled {
		out.Change = report.CallMissing
	}
	for i := range s.Evidence {
		if e := &s.Evidence[i]; (e.Kind == faultloc.Habit || e.Kind == faultloc.Missing || e.Kind == faultloc.Outdated || e.Kind == faultloc.Beside) && e.Beside != 0 {
			near := a.besidePlace(e)
			out.Near = &near
			if s.Kind == faultloc.Omitted {
				out.Omission.Elsewhere, out.Omission.Beside = uint64(s.Operation), uint64(e.Beside)
			}
		}
	}
	after := a.afterReturn(s, &out, at)
	if after != 0 {
		near := a.placeOf(after)
		out.Near = &near
	}
	for _, i := range s.Contributes {
		if l := a.Checker.Label(i); !slices.Contains(out.Contributes, l) {
			out.Contributes = append(out.Contributes, l)
		}
	}
	out.Shared = slices.DeleteFunc(a.shared(s), func(p report.Place) bool {
		return p.Line == out.Line && p.File == out.File || slices.Contains(out.Merged, p)
	})
	a.reasons(s, &out, at)
	if a.lineBefore(s.PC) > 0 {
		out.Also = append(out.Also, "the compiler has given this instruction no line: the one shown is of the code before it")
		out.Evidence = append(out.Evidence, out.Also[len(out.Also)-1])
	}
	if out.File == "" && s.Kind == faultloc.Wrote {
		if from := a.askedBy(a.Hist.Op(s.Operation).Thread, s.Operation, s.PC); from != "" {
			out.Also = append(out.Also, from)
			out.Evidence = append(out.Evidence, from)
		}
	}
	if after != 0 {
		out.Also = append(out.Also, fmt.Sprintf("its function returned then: the store may also be missing where %s went on, next to line %d", out.Near.Function, out.Near.Line))
		out.Evidence = append(out.Evidence, out.Also[len(out.Also)-1])
	}
	return out
}

// asked is the user's own statement that had a library do what it did at pc, if that is in a library and the stack of calls tells it.
func (a *Analysis) asked(pc trace.Addr, stack []trace.Addr) trace.Addr {
	if len(stack) == 0 || !a.Symbols.Library(pc) {
		return pc
	}
	if own := a.Symbols.Own(stack); !a.Symbols.Library(own) {
		return own
	}
	return pc
}

// besidePlace is the statement that is named beside a suspect: where a call of its function is meant, that call, if it is known which one
// led there.
func (a *Analysis) besidePlace(e *faultloc.Evidence) report.Place {
	near := e.Beside
	if e.Inside != 0 {
		near = e.Inside
	}
	is := a.placeOf(near)
	if !e.Called {
		return is
	}
	own, pc := a.placeOf(e.At), a.Hist.Op(near).PC
	s := a.Statement(pc, a.stackOf(near, pc))
	for _, p := range slices.Concat(s.Inlined, s.Callers) {
		if p.Function == own.Function && p.File == own.File {
			return p
		}
	}
	return is
}

// placeOf is the statement of an operation.
func (a *Analysis) placeOf(t mgpp.Timestamp) report.Place {
	f, _, _ := a.Symbols.Where(a.Hist.Op(t).PC)
	return report.Place{File: symbol.Short(f.File), Line: f.Line, Function: f.Function}
}

// stackOf is the stack of calls in which an operation was done by an instruction, as far as that is known.
func (a *Analysis) stackOf(t mgpp.Timestamp, pc trace.Addr) []trace.Addr {
	if stack := a.Hist.Op(t).Stack; stack != nil {
		return stack
	}
	if stack := a.stackAgain(t); stack != nil {
		return stack
	}
	return a.ledTo(a.Hist.Op(t).Thread, t, pc)
}

// afterReturn is where the function that called a statement's went on: what is missing beside a change may be missing
// there, if the change was the last that its own function did about it. 0: it is not known, or there is nothing.
func (a *Analysis) afterReturn(s *faultloc.Suspect, out *report.Suspect, to mgpp.Timestamp) mgpp.Timestamp {
	around := slices.Concat(out.Inlined, out.Callers)
	if s.Kind != faultloc.Wrote || len(around) == 0 || out.Near != nil || s.Best() == nil || s.Best().Kind != faultloc.Outdated {
		return 0
	}
	thread := a.Hist.Op(s.Operation).Thread
	for t := s.Operation + 1; t <= to && t-s.Operation < maxAmong; t++ {
		op := a.Hist.Op(t)
		if op.Thread != thread || op.PC == 0 {
			continue
		}
		f, _, _ := a.Symbols.Where(op.PC)
		if f.Function == around[0].Function && f.Line > around[0].Line && symbol.Short(f.File) == around[0].File {
			return t
		}
	}
	return 0
}

// ledTo returns the stack of calls from which a thread came to an instruction at a time, as far as
// that is certain: those that the watched function that was open can have made. Where one on the way is not, some may be missing.
func (a *Analysis) ledTo(thread trace.ThreadID, t mgpp.Timestamp, pc trace.Addr) []trace.Addr {
	k, entry, ok := a.openAt(thread, t)
	switch {
	case pc == 0:
		return nil
	case !ok && a.Symbols.Library(pc): // else its line is known
		return append([]trace.Addr{pc + 1}, a.callGraph().FromMain(pc)...)
	case !ok:
		return nil
	}
	stack := []trace.Addr{pc + 1}
	asked := a.callers.Asked(entry, pc)
	at, among := a.ranAmong(k, t, entry, pc, asked)
	switch {
	case len(asked) == 1:
		at = asked[0]
	case at == 0:
		at = pc
	}
	if at != pc {
		stack = append(stack, at+1)
	}
	calls := a.callers.Between(entry, at)
	if len(among) > len(calls) {
		calls = among
	}
	return slices.Concat(stack, calls, a.callers.Around(entry, at, calls))
}

// openAt is the call of a watched function that was open in a thread, and the function's entry.
func (a *Analysis) openAt(thread trace.ThreadID, t mgpp.Timestamp) (k call, entry trace.Addr, ok bool) {
	if k, ok = a.calls.ofThread(thread, t); !ok {
		return k, 0, false
	}
	a.callGraph()
	entry, ok = a.Symbols.Entry(k.Function)
	return k, entry, ok
}

// callGraph has the calls of the program.
func (a *Analysis) callGraph() *callers.Graph {
	if a.callers == nil {
		a.callers = callers.New(a.Symbols)
	}
	return a.callers
}

// maxAsked bounds the lines that askedBy names: of more none tells anything.
const maxAsked = 3

// askedBy says in words which lines of the program may have led to a statement of a library whose
// source is not known, "" if that can not be told.
func (a *Analysis) askedBy(thread trace.ThreadID, t mgpp.Timestamp, pc trace.Addr) string {
	k, entry, ok := a.openAt(thread, t)
	if !ok {
		return ""
	}
	var places []string
	for _, at := range a.callers.Into(entry, pc) {
		f, _, source := a.Symbols.Where(at)
		place := fmt.Sprintf("%s in %s (%s)", a.Symbols.Place(at), f.Function, source)
		if f.File != "" && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	switch {
	case len(places) == 0 || len(places) > maxAsked:
		return ""
	case len(places) == 1:
		return fmt.Sprintf("it is a library's, without source: of what %s runs, only %s leads there by direct calls", k.Function, places[0])
	}
	return fmt.Sprintf("it is a library's, without source: of what %s runs, these lead there by direct calls: %s", k.Function, strings.Join(places, "; "))
}

// ranAmong is what else the thread did in a call tells of how it came to the statement of an operation, or,
// behind the last of all, to another one: which of the calls it was by which a library was asked for that, and those that led there.
func (a *Analysis) ranAmong(k call, t mgpp.Timestamp, entry, pc trace.Addr, asked []trace.Addr) (trace.Addr, []trace.Addr) {
	to := k.to
	if to == 0 {
		to = a.Hist.Now()
	}
	var ran [][]trace.Addr
	at, start := -1, callers.Start{Begins: t-min(t, maxAmong) <= k.from}
	for u := max(k.from, t-min(t, maxAmong)) + 1; u <= min(to, t+maxAmong); u++ {
		op := a.Hist.Op(u)
		if op.Thread != k.Thread || op.PC == 0 {
			continue
		}
		if at < 0 && u < t && len(op.Stack) > 0 { // nothing before it tells more
			start, ran = callers.Start{Stack: op.Stack}, nil
			continue
		}
		own := a.callers.Asked(entry, op.PC)
		if known := a.callers.Known(op.Stack); len(known) > 0 { // PC may be what a statement of a header is shown at
			own = []trace.Addr{known[0] - 1}
		}
		if len(own) == 0 {
			continue // something of a library's
		}
		inside := len(own) > 1 || own[0] != op.PC
		if n := len(ran); !inside || n == 0 || !slices.Equal(ran[n-1], own) { // one call of a library stores several times
			ran = append(ran, own)
		}
		if u == t && a.Symbols.Statement(op.PC) == a.Symbols.Statement(pc) {
			at = len(ran) - 1
		}
	}
	switch {
	case len(asked) == 0:
		return 0, nil
	case at >= 0:
	case t == a.Hist.Now():
		at, ran = len(ran), append(ran, asked)
	default:
		return 0, nil
	}
	return a.callers.Among(entry, start, ran, at)
}

// maxAmong bounds the operations on either side of one that tell how the thread came to it.
const maxAmong = 64

// maxLastOf bounds how far back lastOf looks, in changes.
const maxLastOf = 1000

// lastOf is the last change of the function of a statement, behind one change and up to
// another: where the statement ran no more, but its function did. 0: there is none near.
func (a *Analysis) lastOf(pc trace.Addr, behind, to mgpp.Timestamp) mgpp.Timestamp {
	f, _, _ := a.Symbols.Where(pc)
	if behind == 0 || f.Function == "" {
		return 0
	}
	for t := to; t > behind && to-t < maxLastOf; t-- {
		if g, _, _ := a.Symbols.Where(a.Hist.Op(t).PC); g.Function == f.Function && g.File == f.File {
			return t
		}
	}
	return 0
}

// Statement resolves a program counter with the stack of calls that it is part of, if
// it is known.
func (a *Analysis) Statement(pc trace.Addr, stack []trace.Addr) report.Suspect {
	f, outer, source := a.Symbols.Where(pc)
	if line := a.lineBefore(pc); line > 0 {
		f.Line = line
		source, _ = a.Symbols.Sources.Line(f.File, line)
		source = strings.TrimSpace(source)
	}
	s := report.Suspect{File: symbol.Short(f.File), Path: f.File, Line: f.Line, Column: f.Column, Function: f.Function, Source: source, Address: a.Symbols.Address(pc)}
	within, around := a.Symbols.Within(pc, stack)
	s.Within, s.Inlined, s.Callers, s.Merged = PlacesOf(within), PlacesOf(outer), a.calledFrom(around), PlacesOf(a.Symbols.Merged(pc))
	if first, lines := a.Symbols.Sources.Around(f.File, f.Line, contextful); lines != nil {
		for i, l := range lines {
			s.Context = append(s.Context, report.Line{Line: first + i, Text: l})
		}
	}
	return s
}

// lineBefore is the line that is shown of an instruction which has a file and no line: that of the code before it.
// 0: it has one, or nothing is near.
func (a *Analysis) lineBefore(pc trace.Addr) int {
	f, _, _ := a.Symbols.Where(pc)
	if f.File == "" || f.Line > 0 {
		return 0
	}
	file, line := a.Symbols.LineBefore(pc)
	if file != f.File {
		return 0
	}
	return line
}

// maxCallers bounds the calls that are shown of those that led to an allocation or a
// free: what matters is mostly who called the program's own xmalloc, or destructor.
const maxCallers = 3

// PlacesOf names frames whose source is known.
func PlacesOf(frames []objfile.Frame) []report.Place {
	var out []report.Place
	for _, f := range frames {
		if f.File != "" {
			out = append(out, report.Place{File: symbol.Short(f.File), Line: f.Line, Function: f.Function})
		}
	}
	return out
}

// calledFrom names the calls of a stack, as far as they are the program's own and their
// source is known.
func (a *Analysis) calledFrom(stack []trace.Addr) []report.Place {
	var frames []objfile.Frame
	for _, ret := range stack {
		if im, ok := a.Symbols.Image(ret - 1); !ok || !im.Traced {
			break
		}
		calls := a.Symbols.Frames(ret - 1)
		i := slices.IndexFunc(calls, func(f objfile.Frame) bool { return f.File == "" })
		if i >= 0 {
			frames = append(frames, calls[:i]...)
			break
		}
		frames = append(frames, calls...)
	}
	return ownCalls(frames)
}

// ownCalls are the calls that are shown of those that led to a statement, innermost first. Where the program's own allocator or
// destructor is called by a container of a library, as many frames lie in the library's headers, which nobody asks for.
func ownCalls(frames []objfile.Frame) []report.Place {
	own := slices.DeleteFunc(slices.Clone(frames), func(f objfile.Frame) bool { return objfile.SystemHeader(f.File) })
	if len(own) == 0 {
		own = frames
	}
	return PlacesOf(own[:min(len(own), maxCallers)])
}

// when tells the time of a change: "change 48,112, in call 511 of insert".
func (a *Analysis) when(t mgpp.Timestamp) string {
	s := "change " + report.Thousands(uint64(t))
	if in := a.calls.at(t); in != "" {
		s += ", in " + in
	}
	return s
}
