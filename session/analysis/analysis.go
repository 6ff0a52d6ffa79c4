package analysis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/session/callers"
	"mgtrace/session/rerun"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/trace"
)

// Analysis follows the events of a run, checks the specification at C-points,
// and reports. It serves a program that still runs and a recorded trace alike.
type Analysis struct {
	Hist         *mgpp.History
	Graph        *graph.Graph
	Checker      *eval.Checker
	Schedule     *eval.Schedule
	Symbols      *symbol.Table
	Typing       *typing.Blocks    // nil: Options.Typing
	Relevance    *typing.Relevance // nil: all stores are recorded
	Exit         *report.Exit      // how the program ended; nil: not seen yet
	TrailerAudit *trace.Audit      // what a recording's trailer is to say of the audit
	Own          *trace.Own        // of the trailer, before Finish

	o         Options
	ctx       context.Context        // of the whole analysis
	last      func() context.Context // of what is judged last; nil: that has no time of its own
	spec      *check.Spec
	prog      *trace.Program
	event     trace.Event // of a call, being taken
	members   *eval.Members
	calls     *calls
	stores    []trace.StoreSite // of runs
	piece     trace.Stores      // of a run, being taken
	concerned []concerned       // scratch

	points     []*point
	around     map[trace.ThreadID]around // what the next write of a thread is part of
	callers    *callers.Graph            // nil: not asked for yet
	again      *rerun.Rerun              // the call in which the fault was located last; nil: none
	refused    error                     // why it was not executed again
	unsure     []*point                  // at inlined boundaries, see settle
	elisions   elisions                  // stores that the compiler has left out
	tails      map[tail]trace.Addr       // what jumped returned
	lastTails  [recentTails]jumpOf       // and lately
	owns       [recentStacks]ownOf
	known      map[eval.Instance]bool // with All: reported at an earlier C-point already
	healthy    mgpp.Timestamp         // the last C-point at which nothing was broken
	whole      mgpp.Timestamp         // the same, but for the crash
	sound      eval.CPoint            // that C-point, if its Kind is set
	checked    int
	checkedAt  times        // of the C-points
	checking   *stopwatch   // runs while a C-point is checked; nil: nobody asks
	done       bool         // an inconsistent C-point was found, and All is not set
	faults     int          // memory faults seen so far
	signal     *report.Exit // the last fault or fatal signal
	died       death        // how the program died, as far as that is its own doing
	tried      call         // that experiments were made with last
	audit      *report.Audit
	begins     *Begin // nil: with the program
	stacks     *stacks
	foretold   *foretold
	undeclared undeclared
	pools      map[graph.ObjID]bool   // blocks that were taken for nodes, and are likely to be pools
	unsized    map[eval.Instance]bool // not judged, see unrounded
	strange    map[eval.Instance]bool // not judged, see unentered
	doubt      *doubt                 // nil: the history begins with the program
	ceased     string                 // why the history ends before the program; "": it does not
	unended    *unended               // a call that seems to have no end; nil: there was none
	auditing   *auditor               // between the KindMemory events of a recording
	began      bool                   // the history has an event
	moment     bool                   // it is of one moment: a core file
	forks      int
	apart      bool           // one of the children had memory of its own
	forked     mgpp.Timestamp // the last operation before the last of these
	warned     []string
	unchecked  int  // C-points that were left out since the analysis was to end
	judgedLast bool // what came after them was checked

	barren     *barren // nil: no block is closed
	unrecorded int     // nodes of whose fields it is not known who wrote them before they entered
}

// point is a C-point at which something is inconsistent.
type point struct {
	eval.CPoint
	time     mgpp.Timestamp
	healthy  mgpp.Timestamp // the last healthy C-point before it
	sound    eval.CPoint    // that C-point, if its Kind is set
	found    []eval.Inconsistency
	lasts    int               // at an inlined boundary: at so many later ones it was broken still
	fault    *eval.MemoryFault // a memory fault instead
	suspects []faultloc.Suspect
}

// Options say what to check and how to show it.
type Options struct {
	Spec      string            // the specification's file
	All       bool              // go on after the first inconsistent C-point
	Pictures  string            // directory for pictures; "": none
	Steps     bool              // list what happened since the last healthy C-point
	Film      bool              // and draw it
	NoLocate  bool              // check only: name no suspects
	NoCheck   bool              // follow the history only
	CutsShort bool              // a call that seems to have no end is not followed to the end
	Observe   func(eval.CPoint) // takes the C-points instead of a check; nil: they are checked
	Typing    graph.Typing      // of blocks; nil: by their allocation sites
	Locating  *Locating         // watches the fault locator; nil: nobody does
}

// New begins one.
func New(spec *check.Spec, prog *trace.Program, symbols *symbol.Table, o Options) *Analysis {
	a := &Analysis{
		o: o, spec: spec, prog: prog, Symbols: symbols,
		Hist:  mgpp.New(mgpp.Options{Arenas: len(spec.Reaches) > 0, StacksStay: true}),
		calls: newCalls(),
		known: map[eval.Instance]bool{}, elisions: elisions{asked: map[elision]statement{}}, tails: map[tail]trace.Addr{}, stacks: newStacks(prog), foretold: newForetold(), pools: map[graph.ObjID]bool{}, unsized: map[eval.Instance]bool{}, strange: map[eval.Instance]bool{}, done: o.NoCheck,
	}
	types := o.Typing
	if types == nil {
		a.Typing = typing.New(spec, symbols)
		types = a.Typing
		a.begunLater()
		if prog.Inferred != nil { // sizes and deaths are guessed
			spec.MemoryFaults = check.MemoryFaults{NoBounds: true, NoUseAfterFree: true, NoDoubleFree: true}
		}
	}
	a.ctx = context.Background()
	a.Graph = graph.New(spec, a.Hist, types, graph.Options{Bias: a.Bias()})
	a.Checker = eval.NewChecker(spec, a.Hist, a.Graph, eval.Options{Granted: prog.Granted != ""})
	if a.eager() {
		a.Graph.Defer(fewAtOnce)
	}
	a.Schedule = eval.NewSchedule(spec, prog)
	a.members = eval.NewMembers(spec, prog, a.Hist)
	return a
}

// begunLater takes into account that the program ran before recording began.
func (a *Analysis) begunLater() {
	b := a.prog.Before
	if b == nil {
		return
	}
	a.Typing.StartWith(a.Hist, b.Roots)
	if b.Unknown != "" {
		a.spec.MemoryFaults.NoBounds = true
	}
}

// Heed makes the analysis end when the context does.
func (a *Analysis) Heed(ctx context.Context) {
	a.ctx = ctx
	a.Checker.Heed(func() bool { return ctx.Err() != nil })
}

// JudgeLast gives the state in which the program crashed or ended a time of its own: it is judged also
// where the context of Heed ended the checks before. last makes the context in which that is done.
func (a *Analysis) JudgeLast(last func() context.Context) { a.last = last }

// TimeChecks has the time taken that C-points take, and returns what tells how much that was so far, to any goroutine.
func (a *Analysis) TimeChecks() (checking func() time.Duration) {
	a.checking = &stopwatch{}
	return a.checking.read
}

// Resume lets what was found be located although the checks have been stopped; Heed says how long.
func (a *Analysis) Resume() { a.Checker.Resume() }

// resume lets the last state be judged although the checks have been stopped.
func (a *Analysis) resume(kind string) {
	if a.last == nil || a.ctx.Err() == nil || kind != "crash" && kind != "exit" {
		return
	}
	a.Resume()
	a.Heed(a.last())
}

// Interrupted: the analysis has ended with its context.
func (a *Analysis) Interrupted() bool { return a.Checker.Stopped() }

// FoundAny: something is inconsistent.
func (a *Analysis) FoundAny() bool { return len(a.points) > 0 }

// BrokenMidway: what was found last is no C-point at which the program has ended.
func (a *Analysis) BrokenMidway() bool {
	if len(a.points) == 0 {
		return false
	}
	kind := a.points[len(a.points)-1].Kind
	return kind != "crash" && kind != "end"
}

// Warn adds to what the report warns of.
func (a *Analysis) Warn(warnings ...string) { a.warned = append(a.warned, warnings...) }

// Bias is where the program itself is mapped.
func (a *Analysis) Bias() trace.Addr {
	for _, m := range a.prog.Modules {
		if m.Path == a.prog.Path {
			return m.Bias
		}
	}
	return 0
}

// Event takes one event of the run.
func (a *Analysis) Event(ev *trace.Event) error {
	a.began = true
	a.foretold.seen(ev.Thread)
	if a.unended != nil {
		return a.beyond(ev)
	}
	if ofCall(ev.Kind) || len(a.around) > 0 { // the event itself stays as it came: other sinks record it
		a.event = *ev
		ev = &a.event
	}
	ret := ev.PC
	CallSite(ev)
	if ofCall(ev.Kind) && len(ev.Stack) > 0 {
		ev.PC, ret = a.own(ev.Stack), ev.Stack[0]
	}
	switch ev.Kind {
	case trace.KindAlloc, trace.KindFree, trace.KindRealloc:
		ev.PC = a.jumped(ev.PC, ret, ev.Name)
	}
	if len(a.unsure) > 0 && settles(ev.Kind) {
		a.settle(ev)
	}
	if eval.IsWrite(ev) {
		if err := a.members.Writes(ev.Thread); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case trace.KindMemory:
		return a.recorded(ev)
	case trace.KindBegin:
		return a.begin(ev)
	case trace.KindAround:
		a.takeAround(ev)
		return nil
	case trace.KindImage:
		return a.image(ev)
	case trace.KindPassed:
		a.calls.passes(ev)
		return nil
	case trace.KindStore, trace.KindBulk:
		a.attribute(ev)
	case trace.KindCease:
		a.memoryFaults()
		a.ceased, a.done = ev.Name, true
		return nil
	case trace.KindQuiet:
		a.calls.quiet = a.Hist.Now()
		return nil
	case trace.KindFree:
		a.Schedule.Writes(ev.Thread)
		if !a.Hist.Freeable(ev.Addr) && a.cacheFlush(ev) {
			return nil
		}
		_, err := a.Hist.Apply(ev)
		return err // nothing but the history depends on blocks alone
	case trace.KindAlloc, trace.KindRealloc:
		a.Schedule.Writes(ev.Thread)
		return a.allocated(ev)
	}
	if err := a.members.Before(ev); err != nil {
		return err
	}
	if err := a.apply(ev); err != nil {
		return err
	}
	switch ev.Kind {
	case trace.KindFork:
		a.forks++
		if ev.Flags&trace.FlagShares == 0 { // else its maker waits for it, or it is a thread of another kind
			a.apart, a.forked = true, a.Hist.Now()
		}
	case trace.KindSignal:
		a.Signalled(ev)
	case trace.KindExit:
		a.Ended(ev)
	}
	a.stacks.note(ev)
	a.foretold.note(ev, a.Hist.Now())
	if ev.Kind == trace.KindLine {
		a.elisions.points.pass(ev.PC, a.Hist.Now())
	}
	points := a.Schedule.Event(ev, a.Hist.Now())
	for i := range points { // there may be millions: they are not copied
		if a.o.Observe != nil {
			a.o.Observe(points[i])
		} else {
			a.checkAt(&points[i], ev.PC)
		}
	}
	switch ev.Kind {
	case trace.KindCall, trace.KindReturn, trace.KindLine, trace.KindThreadExit:
		a.calls.note(ev.Thread, a.Schedule.Outermost(ev.Thread), ev.Args, a.Hist.Now())
	}
	return a.members.After(ev)
}

// Sites implements capture.Sink.
func (a *Analysis) Sites(sites []trace.StoreSite) error {
	a.stores = sites
	return nil
}

// Stores implements capture.Sink: what Event does with each of them. C-points and members of
// structures depend on no more than that the thread writes.
func (a *Analysis) Stores(run *trace.Stores) error {
	a.began = true
	a.foretold.seen(run.Thread)
	a.Schedule.GoesOn(run.Thread)
	a.Schedule.Writes(run.Thread)
	if a.unended != nil {
		a.unended.left += uint64(len(run.Recs))
		return nil
	}
	if err := a.members.Writes(run.Thread); err != nil {
		return err
	}
	if _, ok := a.around[run.Thread]; ok && len(run.Recs) > 0 {
		run.Event(0, a.stores, &a.event)
		a.attribute(&a.event)
		if _, err := a.Hist.Apply(&a.event); err != nil {
			return err
		}
		rest := *run
		rest.Recs, rest.Instants = rest.Recs[1:], rest.Instants[min(1, len(rest.Instants)):]
		run = &rest
	}
	if err := a.take(run); err != nil {
		return err
	}
	a.sample(run)
	a.unending()
	return nil
}

// CallSite makes PC an address inside the instruction that did it: events of
// calls carry the return address, which may belong to the next line.
func CallSite(ev *trace.Event) {
	if ofCall(ev.Kind) && ev.PC > 0 {
		ev.PC--
	}
}

// ownOf is what Own says of a stack.
type ownOf struct {
	first *trace.Addr // of the stack, which never changes
	depth int
	pc    trace.Addr
}

// recentStacks is how many stacks are remembered. A program may allocate by one call of malloc, and by
// hundreds of calls of the function around it.
const recentStacks = 1 << 10

// own is the user's own statement on a stack: a program allocates by the same stacks again and again.
func (a *Analysis) own(stack []trace.Addr) trace.Addr {
	last := &a.owns[trace.MixStack(stack, 8)%recentStacks]
	if last.first != &stack[0] || last.depth != len(stack) {
		*last = ownOf{&stack[0], len(stack), a.Symbols.Own(stack)}
	}
	return last.pc
}

// jumped is the statement of a call that returns to ret: of the jump that stood in its place, where
// pc is not that of the call itself.
func (a *Analysis) jumped(pc, ret trace.Addr, callee string) trace.Addr {
	if pc != ret-1 {
		return pc
	}
	k := tail{ret, callee}
	last := &a.lastTails[uint64(ret)*0x9e3779b97f4a7c15>>32%recentTails]
	if last.of == k && ret != 0 {
		return last.at
	}
	at, known := a.tails[k]
	if !known {
		at = pc
		if jump, ok := a.Symbols.Tail(ret, callee); ok {
			at = jump
		}
		a.tails[k] = at
	}
	*last = jumpOf{k, at}
	return at
}

// recentTails is how many answers of jumped are at hand: to look one up among all takes longer than the rest of
// what is done for a call of free.
const recentTails = 1 << 8

// jumpOf is an answer of jumped.
type jumpOf struct {
	of tail
	at trace.Addr
}

// tail asks by which jump a call has come to another function, see symbol.Table.Tail.
type tail struct {
	ret    trace.Addr
	callee string
}

func ofCall(k trace.Kind) bool {
	switch k {
	case trace.KindBulk, trace.KindSyscall, trace.KindAlloc, trace.KindFree, trace.KindRealloc, trace.KindRefused:
		return true
	}
	return false
}

// cacheFlush reports whether the C library frees again, for itself, a block that
// the program has freed: a thread that ends gives the blocks in its cache back by
// calling free (glibc, malloc/malloc.c, tcache_thread_shutdown). No code of the
// program is on the stack then; in a static program the function has its name.
func (a *Analysis) cacheFlush(ev *trace.Event) bool {
	now := a.Hist.Now()
	if id, ok := a.Hist.NodeAtTime(ev.Addr, now); ok && a.Hist.Node(id).Start == ev.Addr {
		return false
	}
	if im, ok := a.Symbols.Image(ev.PC); ok && im.Traced {
		for _, f := range a.Symbols.Frames(ev.PC) {
			if f.Function == "tcache_thread_shutdown" || f.Function == "__malloc_arena_thread_freeres" {
				return true
			}
		}
		return false
	}
	for _, pc := range ev.Stack {
		if im, ok := a.Symbols.Image(pc - 1); ok && im.Traced {
			return false
		}
	}
	return true
}

// checkAt checks the specification at a C-point.
func (a *Analysis) checkAt(c *eval.CPoint, pc trace.Addr) {
	if a.done {
		return
	}
	now := a.Hist.Now()
	a.memoryFaults()
	if a.done {
		return
	}
	a.resume(c.Kind)
	a.checking.begin()
	found := a.Checker.Check(now, c.For)
	a.checking.end()
	if a.Checker.Stopped() {
		a.unchecked++ // whoever feeds the analysis may see too that its context is over
		return
	}
	a.checked++
	a.checkedAt.add(now)
	if a.doubt != nil && len(found) > 0 {
		found = a.doubt.certain(found, a.Checker.View(now))
	}
	a.judgedLast = a.unchecked > 0
	if len(found) > 0 {
		found = a.inOrder(a.offStack(a.unentered(a.unrounded(a.counted(a.unpooled(found, now)), now), now), *c), now)
	}
	if a.Checker.Stopped() { // meanwhile: what excuses them may not have been seen
		a.checked--
		a.unchecked++
		return
	}
	if len(found) == 0 {
		if c.Kind != "crash" {
			a.whole = now
		}
		a.healthy, a.sound = now, *c
		if !c.Inlined || len(a.unsure) == 0 {
			return // of most C-points nothing remains
		}
	}
	p := &point{CPoint: *c, time: now, healthy: a.healthy, sound: a.sound, found: found}
	if c.Inlined {
		a.suspend(p, pc)
		return
	}
	a.found(p)
}

// found takes the inconsistencies of a C-point that are new.
func (a *Analysis) found(p *point) {
	var fresh []eval.Inconsistency
	for _, inc := range p.found {
		if !a.known[inc.Instance] && !a.elisions.waits(inc.Instance, a.checked, p.Kind) {
			fresh = append(fresh, inc)
		}
	}
	p.found = fresh
	var why map[eval.Instance]string
	if p.Kind != "crash" && len(fresh) > 0 {
		p.found, why = a.meant(p, a.Hist.At(a.Hist.Now())) // what was unsure is still broken
	}
	for _, inc := range p.found {
		a.known[inc.Instance] = true
	}
	for _, inc := range fresh {
		if !a.known[inc.Instance] {
			a.elisions.wait(inc.Instance, a.checked, why[inc.Instance])
		}
	}
	if len(p.found) == 0 {
		return
	}
	a.points = append(a.points, p)
	a.done = !a.o.All
}

// memoryFaults takes over the memory faults that are new.
func (a *Analysis) memoryFaults() {
	faults := a.Checker.MemoryFaults()
	for ; a.faults < len(faults) && !a.done; a.faults++ {
		f := faults[a.faults]
		a.points = append(a.points, &point{CPoint: eval.CPoint{Kind: "line", Thread: f.Thread}, time: f.Time, healthy: a.healthy, fault: &f})
		a.done = !a.o.All
	}
}

// Finish locates the faults and makes the report.
func (a *Analysis) Finish(ctx context.Context, r *report.Report) error {
	a.Graph.Advance()
	if !a.done {
		a.memoryFaults()
	}
	if len(a.points) > 0 {
		a.Graph.Exact()
	}
	for i, p := range a.points {
		c := a.cpoint(p)
		if p.fault != nil {
			a.blame(&c, p.fault)
			if !a.o.NoLocate {
				a.brokenBefore(&c, p)
			}
		} else if !a.o.NoLocate {
			a.locate(&c, p)
		}
		if a.midway(p) {
			a.Warn(a.unjudged(p))
			continue
		}
		if a.Checker.Stopped() {
			if err := a.stopped(&c); err != nil {
				return err
			}
			r.CPoints = append(r.CPoints, c)
			break
		}
		if (a.o.Steps || a.o.Film) && i < maxFilmed {
			if err := a.tell(ctx, i, &c, p); err != nil {
				return err
			}
		}
		if a.o.Pictures != "" {
			if err := a.draw(ctx, i, &c, p, p.suspects); err != nil { // what was found is not lost with a file
				a.Warn(err.Error())
				a.o.Pictures = ""
			}
		}
		r.CPoints = append(r.CPoints, c)
	}
	if c, ok := a.crashed(); ok {
		r.CPoints = append(r.CPoints, c)
	}
	a.summarise(r)
	if a.o.Film {
		r.Sources = a.sourcesOf(r)
	}
	return nil
}

// stopped says that there was no time to locate all: asked to end at once, there is
// no report at all.
func (a *Analysis) stopped(c *report.CPoint) error {
	if err := context.Cause(a.ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("locating the fault: %w", err)
	}
	c.Notes = append(c.Notes, "the time was over while the fault was being located: suspects may be missing, and in another order; allow more with --timeout")
	return nil
}

// cpoint describes a C-point and what is inconsistent there.
func (a *Analysis) cpoint(p *point) report.CPoint {
	c := report.CPoint{
		Kind: p.Kind, Function: p.Function, File: symbol.Short(p.File), Path: p.File, Line: p.Line,
		Timestamp: uint64(p.time), Call: p.Call,
	}
	if p.fault != nil {
		c.Fault = p.fault.Kind
		return c
	}
	c.Core = a.prog.Engine == "core"
	c.Inconsistencies = a.inconsistencies(p.found, a.Hist.At(p.time))
	if p.Kind == "crash" && a.signal != nil {
		c.File, c.Path, c.Line = a.signal.File, a.signal.Path, a.signal.Line
	}
	if p.Kind == "crash" && len(p.Open) > 0 {
		c.Temporary = a.temporary(p)
	}
	return c
}

func (a *Analysis) locate(c *report.CPoint, p *point) {
	in := a.question(p)
	res := a.measured(p, in)
	if a.begins != nil {
		res.Suspects = slices.DeleteFunc(res.Suspects, func(s faultloc.Suspect) bool { return a.older(&s) })
	}
	p.suspects = res.Suspects
	for i := range res.Suspects {
		c.Suspects = append(c.Suspects, a.suspect(i+1, &res.Suspects[i], p.time))
	}
	if len(res.Suspects) > 0 {
		out, ok := a.takenOut(&res.Suspects[0], p.time)
		if ok && !slices.ContainsFunc(c.Suspects, func(s report.Suspect) bool { return s.Path == out.Path && s.Line == out.Line }) {
			out.Rank, out.Contributes = len(c.Suspects)+1, c.Suspects[0].Contributes
			c.Suspects = append(c.Suspects, out)
		}
	}
	c.Notes = slices.Concat(c.Notes, a.locationNotes(&res), a.untriedNote(&res), a.racedNote(&res), a.outsideNote(p), a.apartNote(p))
	if len(p.Open) > 0 && p.Kind == "crash" {
		c.Temporary = a.temporary(p)
	}
}

// question is what the fault locator is asked about a C-point.
func (a *Analysis) question(p *point) faultloc.Input {
	a.stored()
	in := faultloc.Input{
		Model: a.model(), History: a.Hist, Cells: locatorCells{a.Graph},
		At: p.time, Found: p.found, Healthy: p.healthy, Statement: a.Symbols.Statement, Function: a.Symbols.Function, Library: a.Symbols.Library,
		Elsewhere: a.elsewhere,
		Points:    a.checkedAt.all(), Moments: a.calls.between(), Quiet: a.calls.quiet, Within: a.calls.function, Args: a.calls.argsOf, Cut: p.Kind == "crash", Stopped: a.Checker.Stopped,
	}
	if a.doubt == nil {
		in.Broken, in.BrokenOf, in.Stray = a.Checker.CountBroken, a.Checker.BrokenAt, a.Checker.Stray
	}
	in.Rerun = func(t mgpp.Timestamp) faultloc.Rerun { return a.experiments(p, t) }
	in.ReadFreed = func() (faultloc.ReadFreed, bool) { return a.readFreed(p) }
	if in.Cut && (!a.died.aborted || p.sole()) { // who finds something broken, and says so, has not broken it
		in.Died = a.died.at
	}
	if a.Relevance.Forgets() { // what is nowhere may be in such a block
		in.Elsewhere = func(addr trace.Addr) bool { return addr < trace.UserEnd || a.elsewhere(addr) }
	}
	return in
}

// model is what verdicts at any time are asked of.
func (a *Analysis) model() eval.Model {
	if a.doubt != nil {
		return a.doubt.model
	}
	return a.Checker
}

// leftOut says which C-points were not checked.
func (a *Analysis) leftOut() string {
	if a.judgedLast {
		return fmt.Sprintf("%s not checked, since mgtrace was to end: what broke first there and was whole again later is not known; the last state was checked", report.Plural(a.unchecked, "C-point was", "C-points were"))
	}
	return fmt.Sprintf("mgtrace was to end before it had checked the last %s", report.Plural(a.unchecked, "C-point", "C-points"))
}

// implausible warns of blocks whose size can not be: an allocator was declared
// with the wrong argument.
func (a *Analysis) implausible() []string {
	n := 0
	var first mgpp.Anomaly
	for _, x := range a.Hist.Anomalies() {
		if x.Kind == mgpp.Implausible && x.Name != "" {
			if n++; n == 1 {
				first = x
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s ignored whose size can not be, the first %s bytes from %s at %s: is its size argument the right one? --alloc '%s(size=N)'",
		report.Plural(n, "block was", "blocks were"), report.Thousands(first.Size), first.Name, a.Symbols.Place(first.PC), first.Name)}
}

// locationNotes says what the search found besides suspects, and what it did not do.
func (a *Analysis) locationNotes(r *faultloc.Result) []string {
	var out []string
	if n := len(r.Remaining); n > 0 {
		if a.begins == nil {
			out = append(out, fmt.Sprintf("%s present when recording began", report.Plural(n, "inconsistency was", "inconsistencies were")))
		} else {
			out = append(out, fmt.Sprintf("%s there already when the history begins, %s: what broke it is older, and can not be named", report.Plural(n, "inconsistency was", "inconsistencies were"), a.begins))
		}
	}
	if n := len(r.Unseen); n > 0 {
		out = append(out, fmt.Sprintf("%s that nobody is accused of contributed: an audit found memory changed by something that mgtrace did not see, before change %s",
			report.Plural(n, "write", "writes"), report.Thousands(uint64(r.Unseen[0]))))
	}
	if n := len(r.Others); n > 0 {
		var at []string
		for i := range r.Others[:min(n, 5)] {
			at = append(at, a.Symbols.Place(r.Others[i].PC))
		}
		out = append(out, fmt.Sprintf("%s touched what is broken, and the first suspect accounts for all without them: %s", report.Plural(n, "other statement", "other statements"), strings.Join(at, ", ")))
	}
	if r.Exhausted {
		out = append(out, "the search for a single field that would mend everything was cut short")
	}
	if n := r.Narrowed; n != nil {
		note := "the structure was whole for the last time at change " + report.Thousands(uint64(n.Broke-1))
		if n.Never {
			note = "the structure was whole at no moment between calls"
		}
		note += fmt.Sprintf("; the suspects are those of change %s, where %s", report.Thousands(uint64(n.To)), report.Plural(n.Found, "constraint instance was broken", "constraint instances were broken"))
		if n.Added > 0 {
			note += fmt.Sprintf(", and %s of all of the run: what broke nothing for a while may lie before that", report.Thousands(uint64(n.Added)))
		}
		out = append(out, note)
	}
	if r.Seeds < r.Of && !r.Stopped {
		out = append(out, fmt.Sprintf("%s of %s inconsistencies were traced back", report.Thousands(uint64(r.Seeds)), report.Thousands(uint64(r.Of))))
	}
	if r.Bounded {
		out = append(out, fmt.Sprintf("the search was cut short after %s: suspects may be missing", report.Plural(r.Examined, "operation", "operations")))
	}
	return out
}

// undescribed says where debug information is missing, if the layout of a declared type is.
func (a *Analysis) undescribed() (out []string) {
	if !slices.ContainsFunc(a.spec.Types, func(t *check.NodeType) bool { return t.Layout == nil && !t.Array }) {
		return nil
	}
	for _, im := range a.Symbols.Images {
		if !im.Traced || im.Obj == nil {
			continue
		}
		name := filepath.Base(im.Path)
		if !im.Obj.HasDWARF() && im.Path == a.prog.Path { // a library of the system has none
			out = append(out, fmt.Sprintf("%s has no debug information: compile it with -g, or name with --debug-dir where its debug file is", name))
		}
		for _, w := range im.Obj.Warnings() {
			out = append(out, fmt.Sprintf("%s: %s", name, w))
		}
	}
	return out
}

// summarise fills in what the report says beside its findings.
func (a *Analysis) summarise(r *report.Report) {
	r.Events.Changes = uint64(a.Hist.Now())
	r.Checked.CPoints, r.Checked.Spec = a.checked, a.o.Spec
	r.Checked.Skipped = a.Schedule.Skipped()
	r.Checked.Objects = map[string]int{}
	for i := 1; i <= a.Graph.Objects(); i++ {
		if o := a.Graph.Object(graph.ObjID(i)); o.Type != nil {
			r.Checked.Objects[o.Type.Name]++
		}
	}
	r.Exit, r.Audit = a.Exit, a.audit
	switch u := a.unended; {
	case u == nil:
	case u.late:
		r.Notes = append(r.Notes, u.String())
	default:
		r.Complete = false
		r.Why = append(r.Why, u.String())
	}
	if a.unchecked > 0 {
		r.Complete = false
		r.Why = append(r.Why, a.leftOut())
	}
	a.reportBegin(r)
	a.reportStacks(r)
	a.reportForetold(r)
	a.reportUnentered(r)
	a.reportSizes(r)
	r.Warnings = append(r.Warnings, a.prog.Warnings...)
	r.Notes = append(r.Notes, a.prog.Notes...)
	r.Notes = append(r.Notes, a.unrecordedNote()...)
	points := a.Schedule
	if a.moment {
		points = nil // none could be reached
	}
	for _, w := range a.spec.Warnings {
		r.Warnings = append(r.Warnings, w.Error())
	}
	if a.began || a.moment { // of a recording that was cut off before its first event nothing is known
		r.Warnings = append(r.Warnings, a.Checker.Warnings(points)...)
	}
	r.Warnings = append(r.Warnings, a.undeclared.warnings()...)
	r.Warnings = append(r.Warnings, a.resources(r.Checked.Objects)...)
	r.Warnings = append(r.Warnings, a.undescribed()...)
	if a.Typing != nil {
		r.Warnings = append(r.Warnings, a.Typing.Warnings(a.divided)...)
	}
	for _, text := range a.elisions.unjudged(a.known) {
		a.warnOnce(text)
	}
	r.Warnings = append(r.Warnings, a.warned...)
	r.Warnings = append(r.Warnings, a.implausible()...)
	switch {
	case a.apart && a.forked == a.Hist.Now() && a.Exit != nil: // one that was let go had no time to
		r.Warnings = append(r.Warnings, "the program forked, and changed nothing that is recorded after that: if it went on in the child process, as a daemon does, that was not seen; have it stay in the foreground, or use mgtrace attach on the child")
	case a.forks > 0:
		r.Notes = append(r.Notes, "the program forked; "+report.Plural(a.forks, "child process", "child processes")+" ran on untraced")
	}
	for _, g := range a.Hist.Gaps() {
		r.Complete = false
		r.Why = append(r.Why, fmt.Sprintf("%s missing after change %d %s", report.Plural(int(g.Events), "event is", "events are"), g.Time, g.Why))
	}
}
