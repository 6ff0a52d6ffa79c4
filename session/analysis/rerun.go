package analysis

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"mgtrace/constraints/describe"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/replay"
	"mgtrace/session/rerun"
	"mgtrace/session/typing"
	"mgtrace/trace"
	"mgtrace/types"
)

// experiments is a call that can be executed once more, for the fault locator.
type experiments struct {
	a    *Analysis
	call *rerun.Rerun
	// left: the call is one before, at whose end nothing was broken. That nothing would be then with another decision, value or text tells
	// nothing: these are not tried. Where its values came from is known all the same.
	left bool
	well []*rerun.Rerun // the newest calls before it, which ended well, as far as they were asked for
	// The call of the log that is executed next for that, and how many were, of so many instructions.
	next, tried, steps int
}

// experiments returns the call that p is the end of, or else the one during which operation t was done.
func (a *Analysis) experiments(p *point, t mgpp.Timestamp) faultloc.Rerun {
	a.again, a.refused = nil, nil
	r, err := a.rerun(p.time, p)
	if err != nil {
		a.refused = err
		r, err = a.rerun(t, p)
	}
	if err != nil {
		if errors.Is(a.refused, errNoCall) {
			a.refused = err
		}
		return nil
	}
	left := a.refused != nil && r.Whole()
	if a.again = r; !left {
		a.refused = nil
	}
	return &experiments{a: a, call: r, left: left, next: a.calls.log.len() - 1}
}

// Why there is no call to execute again.
var (
	errNoCall = errors.New("it was not in a call of a watched function")
	errNoArgs = errors.New("its arguments are not known, as of one that was inlined")
)

// untriedNote says that no experiments were made, where these might have told more, and why.
func (a *Analysis) untriedNote(r *faultloc.Result) (out []string) {
	if a.refused == nil || errors.Is(a.refused, errNoCall) || r.Settled() {
		return nil
	}
	return []string{fmt.Sprintf("conditions and values were not tried, since the call could not be executed again: %v", a.refused)}
}

// stackAgain is the stack of calls from which an operation was done, if it is one of the call that was executed again last.
func (a *Analysis) stackAgain(t mgpp.Timestamp) []trace.Addr {
	if a.again == nil {
		return nil
	}
	e, ok := a.again.Effect(t)
	if !ok || e.Kind != replay.Store {
		return nil
	}
	return append([]trace.Addr{a.Hist.Op(t).PC + 1}, addrsOf(e.Stack)...)
}

// Decisions implements faultloc.Rerun.
func (x *experiments) Decisions(few bool) (out []faultloc.Experiment) {
	if x.left {
		return nil
	}
	for _, s := range x.call.Switched(few) {
		pc, calls := x.a.beyondHeaders(s.At(), s.Calls)
		out = append(out, faultloc.Experiment{
			PC: x.a.condition(pc), Calls: calls, After: x.call.Time(s.Effects), Times: s.Times, Alike: s.Alike, Idle: s.Idle, Less: s.Less, More: s.More, Hides: s.Hides, Went: func() bool { return x.wentBefore(rerun.Way{PC: s.PC, Taken: s.Taken}) }, Differs: s.Differs, Words: s.Words,
		})
	}
	return out
}

// Of calls that ended well so many of the newest are executed again, and so many instructions of them.
const (
	maxWell      = 12
	maxWellSteps = 20_000
)

// earlier is the n-th newest, from 0, of the calls before this one that ended well; nil: there is none, or it is not asked. They are
// executed again when they are asked for.
func (x *experiments) earlier(n int) *rerun.Rerun {
	log, from := &x.a.calls.log, x.call.From()
	for ; n >= len(x.well) && x.next >= 0 && x.tried < maxWell && x.steps < maxWellSteps; x.next-- {
		k := log.at(x.next)
		if k.to == 0 || k.to > from {
			continue
		}
		x.tried++
		if r, err := x.a.execute(&k, from, nil, 0, replay.Moment{}, x.call); err == nil {
			x.well = append(x.well, r)
			x.steps += r.Steps()
		}
	}
	if n >= len(x.well) {
		return nil
	}
	return x.well[n]
}

// wentBefore: in one of the newest calls before this one a decision went that way.
func (x *experiments) wentBefore(way rerun.Way) bool {
	for n := 0; ; n++ {
		if r := x.earlier(n); r == nil || r.Went(way) {
			return r != nil
		}
	}
}

// Values implements faultloc.Rerun.
func (x *experiments) Values() (out []faultloc.Experiment) {
	if x.left {
		return nil
	}
	for _, s := range x.call.Altered() {
		pc, calls := x.a.beyondHeaders(trace.Addr(s.PC), s.Calls)
		out = append(out, faultloc.Experiment{
			PC: pc, Calls: calls, After: x.call.Time(s.Effects), Was: s.Value.Value, Instead: s.Instead, Alike: s.Alike, Idle: s.Idle, Hides: s.Hides, Differs: s.Differs, Words: s.Words,
		})
	}
	return out
}

// Edits implements faultloc.Rerun.
func (x *experiments) Edits(worth func(trace.Addr) int, suspected bool) (out []faultloc.Experiment) {
	if x.left {
		return nil
	}
	for _, s := range x.call.Edited(worth, suspected) {
		pc, calls := x.a.beyondHeaders(trace.Addr(s.PC), s.Site.Calls)
		out = append(out, faultloc.Experiment{
			PC: pc, Calls: calls, After: x.call.Time(s.Site.Effects), Times: s.Site.Times, Alike: s.Alike, Idle: s.Idle, Less: s.Less, Hides: s.Hides, Differs: s.Differs, Words: s.Words,
			Edit: x.a.edit(&s, x.call.Time(s.Site.Effects)), Before: func() (int, bool) { return x.before(s.Edit) },
		})
	}
	return out
}

// before asks the earlier calls of an edit: in how many it would have mattered, and all would have held, and whether in one of them
// not all would have.
func (x *experiments) before(e replay.Edit) (held int, refuted bool) {
	for n := 0; ; n++ {
		r := x.earlier(n)
		if r == nil {
			return held, false
		}
		ok, matters := r.Holds(e)
		if !ok {
			return held, true
		}
		if matters {
			held++
		}
	}
}

// beyondHeaders is where the program's own code calls what is executed in a library's header: that is its statement. calls are the
// return addresses of the calls around it, innermost first.
func (a *Analysis) beyondHeaders(pc trace.Addr, calls []uint64) (trace.Addr, []trace.Addr) {
	for a.Symbols.Library(pc) && len(calls) > 0 {
		pc, calls = trace.Addr(calls[0]-1), calls[1:]
	}
	return pc, addrsOf(calls)
}

// edit is an edit in words.
func (a *Analysis) edit(s *rerun.Edited, at mgpp.Timestamp) string {
	switch s.Kind {
	case replay.Place:
		if from, to := a.path(s.Was, at), a.path(s.Is, at); from != "" && to != "" {
			return "with " + to + " in place of " + from
		}
		if from, to := a.local(s.Site, s.Was), a.local(s.Site, s.Is); from != "" && to != "" {
			return "with " + to + " in place of " + from
		}
		return "with another variable in place of one that it reads"
	case replay.Number:
		if s.Was != 0 {
			return "with " + a.part(s.Is, at) + " in place of " + a.part(s.Was, at)
		}
		if by := int64(s.By); by < 0 {
			return fmt.Sprintf("with a number that is less by %d", -by)
		}
		return fmt.Sprintf("with a number that is more by %d", s.By)
	case replay.Constant:
		return fmt.Sprintf("with %g in place of %g", replay.Float(s.By, s.Site.Float), replay.Float(s.Site.Value, s.Site.Float))
	case replay.Zero:
		return "with NULL in place of what it stored"
	case replay.Skip:
		if s.Site.Call {
			return "without this call"
		}
		return "without this store"
	case replay.Equal:
		return "had this condition gone the other way where both sides are equal"
	case replay.Negate:
		return "had this condition been the other way round"
	case replay.Swap:
		return "with its operands the other way round"
	}
	return "with " + a.numberAt(s.Is, at) + " in place of " + a.numberAt(s.Was, at)
}

// local is the variable that lies at an address of the stack where an instruction was executed, "" if none is known to.
func (a *Analysis) local(at *replay.Site, addr uint64) string {
	f, bias, ok := a.Symbols.File(at.PC)
	if !ok {
		return ""
	}
	for _, v := range f.Variables(at.PC - bias) { // of the innermost scope first
		if held, ok := at.Held(v.Loc.Reg); ok && v.Loc.Kind == objfile.LocRegOffset && held+uint64(v.Loc.Offset) == addr {
			return v.Name
		}
	}
	return ""
}

// path is the field at an address at a time, "" if there is none.
func (a *Analysis) path(addr uint64, at mgpp.Timestamp) string {
	c, ok := locatorCells{a.Graph}.Cell(trace.Addr(addr), a.Hist.At(at))
	if !ok {
		return ""
	}
	return describe.Join(a.Graph.Name(c.Obj), c.Path)
}

// part is the structure in a node that begins at an address, of several of its type.
func (a *Analysis) part(addr uint64, at mgpp.Timestamp) string {
	c, ok := locatorCells{a.Graph}.Cell(trace.Addr(addr), a.Hist.At(at))
	if !ok {
		return a.numberAt(addr, at)
	}
	obj := a.Graph.Object(c.Obj)
	p, _ := obj.Type.Layout.Siblings(int64(trace.Addr(addr) - obj.Addr))
	return describe.Join(a.Graph.Name(c.Obj), p.Path)
}

// field is what lies at an address in a node, and what may be meant instead.
func (a *Analysis) field(addr trace.Addr, at mgpp.Timestamp) (f rerun.Field, ok bool) {
	cells, v := locatorCells{a.Graph}, a.Hist.At(at)
	c, ok := cells.Cell(addr, v)
	if !ok {
		return f, false
	}
	o := c.Obj
	f = rerun.Field{Size: c.Size, Pointer: c.Pointer}
	if t := a.Graph.Object(o).Type; t != nil {
		f.Node = t
	}
	for _, other := range cells.Fields(o, v) {
		if other.Addr == c.Addr || other.Size != c.Size || other.Pointer != c.Pointer {
			continue
		}
		if far := max(other.Addr, c.Addr) - min(other.Addr, c.Addr); faultloc.General(other.Path) == faultloc.General(c.Path) && far > trace.Addr(c.Size) {
			continue // of an array the neighbours
		}
		f.Like = append(f.Like, uint64(other.Addr)+uint64(addr-c.Addr))
	}
	for _, at := range a.variablesLike(o) {
		f.Like = append(f.Like, uint64(at)+uint64(addr-c.Addr))
	}
	if obj := a.Graph.Object(o); obj.Type != nil && obj.Type.Layout != nil {
		_, heads := obj.Type.Layout.Siblings(int64(addr - obj.Addr))
		for _, h := range heads {
			f.Heads = append(f.Heads, uint64(obj.Addr)+uint64(h.Offset))
		}
	}
	return f, true
}

// variablesLike are the other declared variables in static memory of the type of one of these that is no structure: a list's tail beside its
// head, say.
func (a *Analysis) variablesLike(o graph.ObjID) (out []trace.Addr) {
	obj, globals := a.Graph.Object(o), a.Graph.Spec().Globals
	if obj.Global == 0 || globals[obj.Global-1].Layout == nil || globals[obj.Global-1].Layout.HasMembers() {
		return nil
	}
	for i := range globals {
		other := a.Graph.Global(i)
		if other != 0 && other != o && globals[i].Layout != nil && typing.SameType(globals[i].Layout, globals[obj.Global-1].Layout) {
			out = append(out, a.Graph.Object(other).Addr)
		}
	}
	return out
}

// Passed implements faultloc.Rerun.
func (x *experiments) Passed(t mgpp.Timestamp) (p faultloc.Passing, ok bool) {
	e, ok := x.call.Effect(t)
	if !ok || e.Origin == nil || e.Origin.Given {
		return p, false
	}
	if back := len(e.Origin.Calls) - len(e.Stack); back > 0 {
		pc, calls := x.a.beyondHeaders(trace.Addr(e.Origin.PC), e.Origin.Calls)
		ok = slices.Equal(e.Origin.Calls[back:], e.Stack) && len(calls) > len(e.Stack) && x.call.Changed(e.Origin.Calls)
		return faultloc.Passing{PC: pc, Calls: calls, Returned: true}, ok
	}
	if len(e.Origin.Calls) < len(e.Stack) {
		pc, calls := x.a.beyondHeaders(trace.Addr(e.Stack[0]-1), e.Stack[1:])
		return faultloc.Passing{PC: pc, Calls: calls}, true
	}
	from, _ := x.a.Symbols.Begin(trace.Addr(e.Origin.PC)) // a call that is a jump leaves no return address
	to, _ := x.a.Symbols.Begin(trace.Addr(e.PC))
	return faultloc.Passing{PC: trace.Addr(e.Origin.PC), Calls: addrsOf(e.Origin.Calls)}, from != to
}

// Stored implements faultloc.Rerun.
func (x *experiments) Stored(instead map[mgpp.Timestamp][]byte) (well, ok bool) {
	return x.call.Stored(instead)
}

// Outlived implements faultloc.Rerun.
func (x *experiments) Outlived() (out []faultloc.OutlivedPointer) {
	for _, p := range x.call.Outlived() {
		out = append(out, faultloc.OutlivedPointer(p))
	}
	return out
}

// Unset implements faultloc.Rerun.
func (x *experiments) Unset() (out []faultloc.Unset) {
	for _, u := range x.call.Unset() {
		out = append(out, faultloc.Unset{PC: trace.Addr(u.PC), Addr: trace.Addr(u.Addr), Size: u.Size, Before: x.call.Time(u.Effects)})
	}
	return out
}

// Followed implements faultloc.Rerun.
func (x *experiments) Followed() []faultloc.Read {
	return x.a.reads(x.call.Followed(), func(r *replay.Read) mgpp.Timestamp { return x.call.Time(r.Effects) })
}

// reads are such, each after an operation. Where a pointer led to one that was stored when another block was there, that block was freed.
func (a *Analysis) reads(list []replay.Read, before func(r *replay.Read) mgpp.Timestamp) (out []faultloc.Read) {
	for i := range list {
		out = append(out, a.readAt(&list[i], before(&list[i])))
	}
	for _, p := range out {
		if p.Of < 0 || p.Size != 8 || out[p.Of].Left != 0 {
			continue
		}
		if to, known := mgpp.Number(a.Hist.At(p.Before), p.Addr, 8); known {
			a.outlived(&out[p.Of], p.Addr, trace.Addr(to), p.Before)
		}
	}
	for i := range out {
		if x := &out[i]; x.Of < 0 && x.Addr != 0 && x.Left == 0 {
			a.stale(x)
		}
	}
	return out
}

// readAt is a read after the operation before it.
func (a *Analysis) readAt(r *replay.Read, before mgpp.Timestamp) faultloc.Read {
	f := faultloc.Read{PC: trace.Addr(r.PC), Addr: trace.Addr(r.Addr), Size: r.Size, Depth: r.Depth, Before: before, Of: r.Of, Given: trace.Addr(r.Given)}
	if f.Addr == 0 {
		return f
	}
	if id, ok := a.Hist.FormerAt(f.Addr, f.Before); ok {
		if n := a.Hist.Node(id); n.Death != 0 && n.Death <= f.Before {
			f.Freed = n.Death
		} else {
			f.Born = n.Birth
		}
	}
	return f
}

// Before implements faultloc.Rerun.
func (x *experiments) Before(t mgpp.Timestamp) (well, ok bool) { return x.call.Before(t) }

// Given implements faultloc.Rerun.
func (x *experiments) Given(t mgpp.Timestamp) bool {
	e, ok := x.call.Effect(t)
	return ok && e.Origin != nil && e.Origin.Given
}

// rerun executes the call once more during which operation t was done. One in which the program died is not over.
func (a *Analysis) rerun(t mgpp.Timestamp, p *point) (*rerun.Rerun, error) {
	k, ok := a.calls.during(t)
	if p.sole() {
		k, ok = a.died.during, true
	}
	if !ok || a.Typing == nil {
		return nil, errNoCall
	}
	if p.Kind == "crash" && k.to == p.time {
		k.to = 0
	}
	var died trace.Addr
	if p.sole() {
		died = a.died.pc
	}
	a.tried = k
	r, err := a.execute(&k, p.time, p.found, died, a.momentOf(p, &k), nil)
	if k := p.inner; err != nil && len(k.args) > 0 && k.from < t && !p.sole() {
		if r, err := a.execute(&k, p.time, p.found, 0, replay.Moment{}, nil); err == nil {
			a.tried = k
			return r, nil
		}
	}
	return r, err
}

// momentOf is where a C-point lies in a call of its thread.
func (a *Analysis) momentOf(p *point, k *call) replay.Moment {
	boundary := p.Kind == "entry" || p.Kind == "return"
	switch {
	case k.Thread != p.Thread:
	case p.Kind == "line", boundary && p.Inlined:
		return replay.Moment{PC: uint64(p.pc)}
	case boundary:
		entry, _ := a.Symbols.Entry(p.Function)
		return replay.Moment{PC: uint64(entry), Back: p.Kind == "return"}
	}
	return replay.Moment{}
}

// execute executes a call once more, until that moment if it was not over now; like: another one, of which the code is known.
func (a *Analysis) execute(k *call, now mgpp.Timestamp, found []eval.Inconsistency, died trace.Addr, until replay.Moment, like *rerun.Rerun) (r *rerun.Rerun, err error) {
	err = errNoArgs
	for _, call := range a.callsOf(k, now) {
		if call.Over && call.To == now {
			call.Broken = eval.Instances(found, nil)
		}
		if !call.Over && died == 0 {
			call.Until = until
		}
		if call.Died = died; died != 0 || !call.Over && a.died.during.from == k.from && a.died.during.Thread == k.Thread {
			call.Last, call.Fault = a.died.pc, a.died.fault
		}
		if r, err = rerun.New(a.program(like), call); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// callsOf are the ways in which a call can be executed again, until now, the best first: one that is inlined where it stands, or by the
// function's own copy, if there is one.
func (a *Analysis) callsOf(k *call, now mgpp.Timestamp) (out []rerun.Call) {
	c := rerun.Call{Args: k.args, Thread: k.Thread, From: k.from, To: k.to, Over: k.to != 0 && k.to <= now}
	if !c.Over {
		c.To = now
	}
	var told []uint64
	c.Passed, c.Floats, told = a.calls.passed.objects(k.passed)
	var given map[string]uint64
	if len(k.args) == 0 {
		in := c
		if in.Begun, in.Entry = a.inlinedAt(k, told); in.Begun != nil {
			given = a.given(k, in.Entry, in.Begun)
			in.Args = slices.Sorted(maps.Values(given))
			in.Passed = append(slices.Clip(in.Passed), rerun.Object{Addr: in.Begun.Regs[objfile.RegSP], Words: in.Begun.Frame})
			out = append(out, in)
		}
	}
	entry, ok := a.entryOf(k)
	if c.Entry = entry; ok && len(k.args) == 0 {
		c.Unknown, ok = a.parameters(entry, k.from, given)
	}
	if ok {
		out = append(out, c)
	}
	return out
}

// parameters are those of a function, where all are passed in registers, and what they may be at a time; given: what they were by their
// names, as far as that is known.
func (a *Analysis) parameters(entry trace.Addr, at mgpp.Timestamp, given map[string]uint64) ([]rerun.Parameter, bool) {
	im, ok := a.Symbols.Image(entry)
	if !ok || im.Obj == nil {
		return nil, false
	}
	out := []rerun.Parameter{}
	for _, v := range im.Obj.Params(uint64(entry - im.Bias)) {
		switch t := v.Type; {
		case t == nil || v.Loc.Kind != objfile.LocReg || len(out) == len(objfile.ArgRegs) || v.Loc.Reg != objfile.ArgRegs[len(out)]:
			return nil, false
		case t.Kind == types.Pointer:
			out = append(out, rerun.Parameter{Pointers: a.nodesOf(t, at), Likely: given[v.Name]})
		case t.Kind == types.Int, t.Kind == types.Uint, t.Kind == types.Bool, t.Kind == types.Enum:
			likely := given[v.Name] & (1<<(8*min(t.Size, 8)) - 1) // the rest of its register is of nobody
			out = append(out, rerun.Parameter{Size: int(t.Size), Likely: likely})
		default:
			return nil, false
		}
	}
	return out, true
}

// program is what a call is executed again on.
func (a *Analysis) program(like *rerun.Rerun) rerun.Program {
	return rerun.Program{Spec: a.spec, History: a.Hist, Model: a.model(), Typing: a.Typing, Symbols: a.Symbols, Bias: a.Bias(), Pointers: a.pointers, Flags: a.flags, Variable: a.writable, Field: a.field, Node: a.addressOf, Callee: a.callee, Like: like}
}

// ended is the call in which the program died, to be executed up to there.
func (a *Analysis) ended(p *point) faultloc.Rerun {
	if a.died.pc == 0 || a.died.during.Function == "" || a.Typing == nil {
		return nil
	}
	r, err := a.execute(&a.died.during, p.time, p.found, a.died.pc, replay.Moment{}, nil)
	if err != nil {
		return nil
	}
	return &experiments{a: a, call: r}
}

// readFreed is a block that the call freed during which operation t was done, by p, and went on to use.
func (a *Analysis) readFreed(p *point, t mgpp.Timestamp) (out faultloc.ReadFreed, ok bool) {
	k, ok := a.calls.during(t)
	if !ok || a.Typing == nil {
		return out, false
	}
	calls := a.callsOf(&k, p.time)
	if len(calls) == 0 || calls[0].Unknown != nil {
		return out, false
	}
	x, ok := rerun.FindReadFreed(a.program(nil), calls[0])
	if !ok {
		return out, false
	}
	out.Free = x.Free
	out.By, out.Calls = a.beyondHeaders(x.PC, x.Calls)
	return out, true
}

func addrsOf(in []uint64) []trace.Addr {
	out := make([]trace.Addr, len(in))
	for i, x := range in {
		out[i] = trace.Addr(x)
	}
	return out
}

// pointers are the nodes to which a pointer in static memory, a variable or an element of an array, may lead at a time, by its type.
func (a *Analysis) pointers(addr trace.Addr, at mgpp.Timestamp) (out []uint64) {
	pointer, off := a.static(addr)
	for pointer != nil && pointer.Kind == types.Array && pointer.Elem != nil && pointer.Elem.Size > 0 {
		pointer, off = pointer.Elem, off%pointer.Elem.Size
	}
	if off != 0 {
		return nil
	}
	return a.nodesOf(pointer, at)
}

// nodesOf are those to which a pointer of a type may lead at a time.
func (a *Analysis) nodesOf(pointer *types.Type, at mgpp.Timestamp) (out []uint64) {
	if pointer == nil || pointer.Kind != types.Pointer || pointer.Elem == nil || pointer.Elem.Name == "" {
		return nil
	}
	for _, t := range a.spec.Types {
		if t.Layout != nil && t.Layout.Name == pointer.Elem.Name && t.Layout.Size == pointer.Elem.Size {
			for _, o := range a.Graph.Live(t, at, nil) {
				out = append(out, uint64(a.Graph.Object(o).Addr))
			}
		}
	}
	slices.Sort(out)
	return out
}

// flags is the size of an integer variable of the program that begins at an address, 0 if none does.
func (a *Analysis) flags(addr trace.Addr) int {
	t := a.variable(addr)
	if t == nil || t.Kind != types.Int && t.Kind != types.Uint && t.Kind != types.Bool || t.Size < 1 || t.Size > 8 {
		return 0
	}
	return int(t.Size)
}

// writable is the name of the program's variable in static memory at an address to which it may write, "" if there is none.
func (a *Analysis) writable(addr trace.Addr) string {
	im, ok := a.Symbols.Image(addr)
	if !ok || im.Obj == nil || !im.Traced {
		return ""
	}
	at := uint64(addr - im.Bias)
	v, ok := im.Obj.GlobalAt(at)
	if !ok || !slices.ContainsFunc(im.Obj.WritableSegments(), func(w [2]uint64) bool { return w[0] <= at && at < w[1] }) {
		return ""
	}
	return v.Name
}

// variable is the type of the program's variable in static memory that begins at an address, nil if none does.
func (a *Analysis) variable(addr trace.Addr) *types.Type {
	t, off := a.static(addr)
	if off != 0 {
		return nil
	}
	return t
}

// static is the type of the program's variable in static memory at an address, and how far that is from its beginning; nil: there
// is none.
func (a *Analysis) static(addr trace.Addr) (t *types.Type, off int64) {
	im, ok := a.Symbols.Image(addr)
	if !ok || im.Obj == nil || !im.Traced {
		return nil, 0
	}
	v, ok := im.Obj.GlobalAt(uint64(addr - im.Bias))
	if !ok {
		return nil, 0
	}
	return v.Type, int64(addr - im.Bias - trace.Addr(v.Loc.Offset))
}

// conditional finds text that decides something.
var conditional = regexp.MustCompile(`\b(if|while|for|switch|case)\b|\?|&&|\|\||[<>=!]=|\b(assert|return)\b`)

// maxAbove is how far above the line of a decision its condition is looked for.
const maxAbove = 6

// condition is an instruction of the line with the condition of a decision. Compilers give a move that depends on one
// the line of the statement that it carries out, below it.
func (a *Analysis) condition(pc trace.Addr) trace.Addr {
	f, _, text := a.Symbols.Where(pc)
	im, ok := a.Symbols.Image(pc)
	if f.File == "" || !ok || conditional.MatchString(text) {
		return pc
	}
	for line := f.Line - 1; line > max(f.Declared, f.Line-maxAbove); line-- {
		if text, ok := a.Symbols.Sources.Line(f.File, line); !ok || !conditional.MatchString(text) {
			continue
		}
		begin, _ := a.Symbols.Begin(pc)
		for _, code := range im.Obj.LineCode(f.File, line) {
			at := im.Bias + trace.Addr(code[0])
			if b, ok := a.Symbols.Begin(at); ok && b == begin && code[0] < code[1] {
				return at
			}
		}
		return pc
	}
	return pc
}
