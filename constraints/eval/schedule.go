package eval

import (
	"cmp"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// CPoint is a moment at which the constraints should hold.
type CPoint struct {
	Kind     string // "entry", "return", "line", "crash", "exit"
	Function string
	File     string
	Line     int
	Call     int // of entry and return: which call of Function it is, from 1
	Thread   trace.ThreadID
	For      *check.NodeType // only what concerns this type; nil: everything
	Inlined  bool            // the boundary of an inlined instance: stores may have been moved across it
	// Open are the C-point functions that have not returned yet, in the order
	// in which they were called; the one concerned is not among them.
	Open []Activation
	// Busy are the other threads that have written since their own last C-point: each may be half-way in what it does,
	// unless it is inside of C-point functions of other types only. In no order.
	Busy []Busy
	Wall int64 // of crash: when it was, as trace.Event.Wall
}

// Busy is a thread that has written since its own last C-point.
type Busy struct {
	Thread trace.ThreadID
	Inside bool           // it is inside of a C-point function
	Since  mgpp.Timestamp // the last operation before that C-point; 0: there was none. Where it is inside, it is that at which it came there
	Writes uint64         // how often it has written so far
}

// Activation is a call of a C-point function that has not returned.
type Activation struct {
	Function string
	Thread   trace.ThreadID
	Since    mgpp.Timestamp // the last operation before it
	Call     int
	Wall     int64 // when it began, as trace.Event.Wall
	fn       trace.FuncID
	sp       trace.Addr
	at       place
	order    uint64
	inner    bool // it was called by an inlined instance of the function, whose entry may not have been seen
}

// Order numbers activations in the order in which they began.
func (a *Activation) Order() uint64 { return a.order }

// place tells inlined instances of a function apart: where it was inlined.
type place struct {
	file string
	line int
}

// Schedule turns a run's events into C-points (language.md, "C-points").
//
// A function is checked at its outermost activation in each thread, unless the
// specification says ":each". A C-point names the other threads that have written anything since their last one: one
// that only reads, or waits for a lock, does not keep the structure from being whole. A
// function that an exception or longjmp left has no C-point there.
type Schedule struct {
	spec    *check.Spec
	prog    *trace.Program
	funcs   [][]int // C-points of the specification, by function
	points  map[trace.PointID]pointRule
	threads trace.Threads[scheduled]
	ending  []Activation // of threads that have ended, as long as no other has done anything since: all may be ending
	counts  []int        // of calls, by function
	reached []bool
	order   uint64
	faults  trace.Faults
	crashed bool
	leaves  bool           // exit was called
	now     mgpp.Timestamp // at the event that is being taken
	out     []CPoint       // those of it
	ended   bool
}

// scheduled is what is known of a thread.
type scheduled struct {
	stack  []Activation   // open, outermost first: changed by push and cut alone
	open   []int          // how many of them, by function: a recursion without end has more than can be looked through
	points int            // how many are of C-point functions
	writes uint64         // how often it has written
	since  mgpp.Timestamp // the last operation before its last C-point outside of all others
	before uint64         // writes at that time
}

// pointRule is what a watched line or mark is a C-point for.
type pointRule struct {
	points []int
	mark   bool
	typ    *check.NodeType
}

// NewSchedule returns the schedule of a specification for a program as it was
// recorded.
func NewSchedule(spec *check.Spec, prog *trace.Program) *Schedule {
	s := &Schedule{
		spec: spec, prog: prog, faults: trace.Faults{Program: prog},
		points:  map[trace.PointID]pointRule{},
		reached: make([]bool, len(spec.CPoints)),
	}
	names := functionNames(prog)
	s.funcs, s.counts = make([][]int, len(names)+1), make([]int, len(names)+1)
	for i, p := range spec.CPoints {
		if p.Func == "" {
			continue
		}
		for _, f := range cxxname.Find(p.Func, names) {
			s.funcs[f+1] = append(s.funcs[f+1], i)
		}
	}
	for i := range prog.Points {
		if r, ok := s.ruleOf(&prog.Points[i]); ok {
			s.points[trace.PointID(i+1)] = r
		}
	}
	return s
}

func (s *Schedule) ruleOf(p *trace.Point) (pointRule, bool) {
	switch p.Kind {
	case "mark":
		r := pointRule{mark: true}
		for _, t := range s.spec.Types {
			if t.Name == p.For {
				r.typ = t
			}
		}
		return r, true
	case "line":
		var r pointRule
		for i, c := range s.spec.CPoints {
			if c.Func == "" && c.Line == p.Line && sameFile(c.File, p.File) {
				r.points = append(r.points, i)
			}
		}
		return r, len(r.points) > 0
	}
	return pointRule{}, false
}

// pointsOf returns the C-points of a function.
func (s *Schedule) pointsOf(fn trace.FuncID) []int {
	if int(fn) >= len(s.funcs) {
		return nil
	}
	return s.funcs[fn]
}

// Open returns the activations of C-point functions that have not returned, in
// the order in which they were called.
func (s *Schedule) Open() []Activation {
	var out []Activation
	for _, t := range s.threads.All() {
		out = s.appendOpen(out, t)
	}
	slices.SortFunc(out, func(a, b Activation) int { return cmp.Compare(a.order, b.order) })
	return out
}

// openBeside is Open for the C-point of a thread, which most often is the only one.
func (s *Schedule) openBeside(thread trace.ThreadID) []Activation {
	if t := s.threads.Find(thread); t != nil && s.threads.Len() == 1 {
		return s.appendOpen(nil, t)
	}
	return s.Open()
}

// appendOpen appends the open activations of a thread.
func (s *Schedule) appendOpen(out []Activation, t *scheduled) []Activation {
	for i := range t.stack {
		if len(s.pointsOf(t.stack[i].fn)) > 0 {
			out = append(out, t.stack[i])
		}
	}
	return out
}

// Outermost returns the outermost activation of a watched function that a thread is in, to be read
// until the next event; nil if it is in none.
func (s *Schedule) Outermost(thread trace.ThreadID) *Activation {
	t := s.threads.Find(thread) // none is made for one that has ended
	if t == nil || len(t.stack) == 0 {
		return nil
	}
	return &t.stack[0]
}

// Innermost is Outermost for the innermost of these activations.
func (s *Schedule) Innermost(thread trace.ThreadID) *Activation {
	t := s.threads.Find(thread)
	if t == nil || len(t.stack) == 0 {
		return nil
	}
	return &t.stack[len(t.stack)-1]
}

// Event takes the next event, after which the history is at time now, and
// returns the C-points that it is, to be read until the next call.
func (s *Schedule) Event(ev *trace.Event, now mgpp.Timestamp) []CPoint {
	s.out, s.now = s.out[:0], now
	if ev.Flags&trace.FlagBefore != 0 { // it was open already: no C-point
		if s.prog.Exits(ev) {
			s.leaves = true
			return nil
		}
		s.event(ev)
		t := s.threads.Of(ev.Thread)
		t.since, t.before = 0, 0
		t.writes++ // as far as is known
		return nil
	}
	return s.event(ev)
}

// event is Event for one that may be a C-point.
func (s *Schedule) event(ev *trace.Event) []CPoint {
	if s.prog.Exits(ev) {
		return s.leaving(ev)
	}
	if s.faults.Event(ev) {
		return s.crash(ev)
	}
	switch ev.Kind {
	case trace.KindThreadExit, trace.KindMemory, trace.KindExit:
	default:
		s.ending = s.ending[:0]
	}
	switch ev.Kind {
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread:
		if IsWrite(ev) {
			s.Writes(ev.Thread, 1)
		}
	case trace.KindCall:
		return s.entered(ev, trace.FuncID(ev.Aux), place{})
	case trace.KindReturn:
		return s.returned(ev, trace.FuncID(ev.Aux), place{}, ev.Flags&trace.FlagUnwound == 0)
	case trace.KindLine:
		return s.line(ev, trace.PointID(ev.Aux))
	case trace.KindThreadStart:
		s.started()
	case trace.KindThreadExit:
		s.ending = append(s.ending, s.threads.Of(ev.Thread).stack...)
		s.threads.Delete(ev.Thread)
	case trace.KindExit, trace.KindExec:
		return s.end(ev)
	case trace.KindTruncated:
		return s.crash(ev)
	}
	return nil
}

// IsWrite says whether a thread changes by an event what a structure may be made of, its memory or its blocks: to
// wait for a lock does not.
func IsWrite(ev *trace.Event) bool {
	switch ev.Kind {
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread:
		return !trace.Locks(ev.Name)
	case trace.KindAlloc, trace.KindFree, trace.KindRealloc:
		return true
	}
	return false
}

func (s *Schedule) crash(ev *trace.Event) []CPoint {
	if s.crashed || s.ended {
		return nil
	}
	s.crashed = true
	for _, a := range s.ending {
		t := s.threads.Of(a.Thread)
		*s.push(t, a.fn) = a
	}
	return []CPoint{{Kind: "crash", Thread: ev.Thread, Open: s.Open(), Wall: ev.Wall}}
}

// GoesOn notes that a thread executes the program's instructions.
func (s *Schedule) GoesOn(id trace.ThreadID) {
	s.ending = s.ending[:0]
	s.faults.GoesOn(id)
}

// Writes notes that a thread changes memory n times, by stores or through an allocator.
func (s *Schedule) Writes(id trace.ThreadID, n int) { s.threads.Of(id).writes += uint64(n) }

// atRest notes that a thread has done what it was at.
func (s *Schedule) atRest(t *scheduled) { t.since, t.before = s.now, t.writes }

// started is the beginning of a thread. If there is only one other it has started it, when it had done what it did alone.
func (s *Schedule) started() {
	if s.threads.Len() != 1 {
		return
	}
	for _, t := range s.threads.All() {
		if t.points == 0 {
			s.atRest(t)
		}
	}
}

// Caught reports whether the program has handled a fault, and not gone on since.
func (s *Schedule) Caught() bool { return s.faults.Handling() }

// leaving is the normal end of a program that calls exit or returns from main:
// what destructors of static objects tear down after it is no inconsistency.
func (s *Schedule) leaving(ev *trace.Event) []CPoint {
	if s.leaves {
		return nil
	}
	if s.faults.Handling() {
		return s.crash(ev)
	}
	points := s.end(ev)
	s.leaves, s.ended = true, false // it may still crash
	return points
}

// end is the normal end.
func (s *Schedule) end(ev *trace.Event) []CPoint {
	if s.leaves {
		s.ended = true
	}
	if s.ended || s.crashed || s.spec.NoEnd {
		return nil
	}
	s.ended = true
	return []CPoint{{Kind: "exit", Thread: ev.Thread, Open: s.Open()}}
}

// entered begins an activation.
func (s *Schedule) entered(ev *trace.Event, fn trace.FuncID, at place) []CPoint {
	t := s.threads.Of(ev.Thread)
	s.unwind(t, ev.SP)
	inner := ev.Kind == trace.KindCall && ev.Flags&trace.FlagInline != 0
	outermost := !t.inside(fn)
	call := s.count(fn, outermost)
	outermost = outermost && !inner
	out := s.emit(ev.Thread, fn, at, "entry", call, outermost)
	s.order++
	a := s.push(t, fn)
	a.Function, a.Thread, a.Since, a.Call, a.Wall = s.name(fn), ev.Thread, s.now, call, ev.Wall
	a.sp, a.at, a.order, a.inner = ev.SP, at, s.order, inner
	return out
}

// push opens an activation of a function, which the caller fills in.
func (s *Schedule) push(t *scheduled, fn trace.FuncID) *Activation {
	for int(fn) >= len(t.open) {
		t.open = append(t.open, 0)
	}
	t.open[fn]++
	if len(s.pointsOf(fn)) > 0 {
		t.points++
	}
	t.stack = append(t.stack, Activation{})
	a := &t.stack[len(t.stack)-1] // and no literal: it would be made elsewhere and copied
	a.fn = fn
	return a
}

// cut ends all activations but the outermost n.
func (s *Schedule) cut(t *scheduled, n int) {
	for i := n; i < len(t.stack); i++ {
		fn := t.stack[i].fn
		t.open[fn]--
		if len(s.pointsOf(fn)) > 0 {
			t.points--
		}
	}
	t.stack = t.stack[:n]
}

// count is which call of a function it is; begins: it is a new one.
func (s *Schedule) count(fn trace.FuncID, begins bool) int {
	for int(fn) >= len(s.counts) { // a function that the program has not got
		s.counts = append(s.counts, 0)
	}
	if begins {
		s.counts[fn]++
	}
	return s.counts[fn]
}

// returned ends an activation and those above it.
func (s *Schedule) returned(ev *trace.Event, fn trace.FuncID, at place, whole bool) []CPoint {
	t := s.threads.Of(ev.Thread)
	stack := t.stack
	i := len(stack) - 1
	for i >= 0 && (stack[i].fn != fn || stack[i].sp != ev.SP || stack[i].at != at) {
		if at == (place{}) && stack[i].sp > ev.SP {
			i = -1 // its call was not seen
			break
		}
		i--
	}
	if i < 0 {
		return nil
	}
	call, inner := stack[i].Call, stack[i].inner
	s.cut(t, i)
	if !whole {
		return nil
	}
	return s.emit(ev.Thread, fn, at, "return", call, !inner && !t.inside(fn))
}

// unwind drops the inlined activations whose frame is gone: a frame lies above
// the stack pointer of what it calls. (Calls have a return of their own.)
func (s *Schedule) unwind(t *scheduled, sp trace.Addr) {
	n := len(t.stack)
	for n > 0 && t.stack[n-1].at != (place{}) && sp != 0 && t.stack[n-1].sp < sp {
		n--
	}
	s.cut(t, n)
}

// line is a watched line, a mark, or the boundary of an inlined instance.
func (s *Schedule) line(ev *trace.Event, id trace.PointID) []CPoint {
	if id == 0 || int(id) > len(s.prog.Points) {
		return nil
	}
	p := &s.prog.Points[id-1]
	at := place{p.File, p.Line}
	switch p.Kind {
	case "inline-entry":
		return s.inlineEntered(ev, p.Func, at)
	case "inline-exit":
		s.unwind(s.threads.Of(ev.Thread), ev.SP)
		return s.returned(ev, p.Func, at, true)
	}
	r, ok := s.points[id]
	if !ok {
		return nil
	}
	var types []*check.NodeType
	if r.mark {
		types = append(types, r.typ)
		for i, c := range s.spec.CPoints {
			s.reached[i] = s.reached[i] || c.Mark
		}
	}
	for _, i := range r.points {
		s.reached[i] = true
		types = append(types, s.spec.CPoints[i].For)
	}
	out := s.each(ev.Thread, types)
	for i := range out {
		c := &out[i]
		c.Kind, c.Function, c.File, c.Line = "line", p.Function, p.File, p.Line
	}
	return out
}

// inlineEntered begins an inlined instance. Its first instruction may be the
// head of a loop in it, so that it is met again before the exit; or the first
// instruction outside another instance, whose exit is met at the same address.
func (s *Schedule) inlineEntered(ev *trace.Event, fn trace.FuncID, at place) []CPoint {
	t := s.threads.Of(ev.Thread)
	s.unwind(t, ev.SP)
	stack := t.stack
	if n := len(stack); n > 0 && stack[n-1].fn == fn && stack[n-1].sp == ev.SP && stack[n-1].at != (place{}) {
		if stack[n-1].at == at {
			return nil
		}
		s.returned(ev, fn, stack[n-1].at, true)
	}
	s.entered(ev, fn, at)
	return s.out
}

// inside reports whether a thread is inside a function.
func (t *scheduled) inside(fn trace.FuncID) bool {
	return int(fn) < len(t.open) && t.open[fn] > 0
}

func (s *Schedule) name(fn trace.FuncID) string {
	if fn == 0 || int(fn) > len(s.prog.Funcs) {
		return ""
	}
	return s.prog.Funcs[fn-1].Name
}

// emit makes the C-points of a function's entry or return.
func (s *Schedule) emit(thread trace.ThreadID, fn trace.FuncID, at place, kind string, call int, outermost bool) []CPoint {
	var few [4]*check.NodeType
	types := few[:0]
	for _, i := range s.pointsOf(fn) {
		p := &s.spec.CPoints[i]
		if (outermost || p.Each) && (kind == "entry" && p.Entry || kind == "return" && p.Exit) {
			s.reached[i] = true
			types = append(types, p.For)
		}
	}
	if len(types) == 0 {
		return nil
	}
	f := &s.prog.Funcs[fn-1]
	out := s.each(thread, types)
	for i := range out {
		c := &out[i]
		c.Kind, c.Function, c.File, c.Line, c.Call, c.Inlined = kind, f.Name, f.File, f.Line, call, at != place{}
	}
	return out
}

// each makes one C-point of a thread per type.
// A C-point for everything makes the others superfluous. The rest of them is the caller's
// to fill where they lie: there may be millions.
func (s *Schedule) each(thread trace.ThreadID, types []*check.NodeType) []CPoint {
	if slices.Contains(types, nil) {
		types = append(types[:0], nil)
	}
	first := len(s.out)
	for i, t := range types {
		if slices.Contains(types[:i], t) {
			continue
		}
		s.out = append(s.out, CPoint{})
		c := &s.out[len(s.out)-1]
		c.Thread, c.For, c.Open, c.Busy = thread, t, s.openBeside(thread), s.busy(thread, t)
	}
	if t := s.threads.Of(thread); t.points == 0 {
		s.atRest(t)
	}
	return s.out[first:]
}

// busy returns the other threads that have written since their last C-point, but for those that are
// at work on other types than t; nil is all types.
func (s *Schedule) busy(thread trace.ThreadID, t *check.NodeType) (out []Busy) {
	if s.threads.Len() == 1 {
		return nil
	}
	for other, x := range s.threads.All() {
		if other != thread && x.writes > x.before && (x.points == 0 || s.worksOn(x, t)) {
			out = append(out, Busy{Thread: other, Inside: x.points > 0, Since: x.since, Writes: x.writes})
		}
	}
	return out
}

// worksOn: a thread is inside a C-point function for nodes of type t.
func (s *Schedule) worksOn(x *scheduled, t *check.NodeType) bool {
	for i := range x.stack {
		for _, p := range s.pointsOf(x.stack[i].fn) {
			if f := s.spec.CPoints[p].For; f == nil || t == nil || f == t {
				return true
			}
		}
	}
	return false
}
