package analysis

import (
	"context"
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
	Shared       []trace.Shared    // of the trailer, before Finish

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
	known      map[eval.Instance]bool       // with All: reported at an earlier C-point already
	healthy    mgpp.Timestamp               // the last C-point at which nothing was broken
	whole      mgpp.Timestamp               // the same, but for the crash
	sound      eval.CPoint                  // that C-point, if its Kind is set
	partly     checkpoint                   // the last at which nothing was found, but what other threads may have been in the middle of
	ailing     map[eval.Instance]checkpoint // what these were at it, and the C-point before it became so
	hands      hands
	unprobed   unprobed
	handed     handed
	waited     map[mgpp.Timestamp]uint64 // changes that may be half of something, and how often their threads had written when they were seen
	checked    int
	busy       int          // and of those so many where something was not judged, as another thread was at work on it
	checkedAt  times        // of the C-points
	checking   *stopwatch   // runs while a C-point is checked; nil: nobody asks
	done       bool         // an inconsistent C-point was found, and All is not set
	faults     int          // memory faults seen so far
	signal     *report.Exit // the last fault or fatal signal, or where mgtrace ended the program
	running    bool         // a thread that mgtrace ended was in the program's own code
	died       death        // how the program died, as far as that is its own doing
	grasped    []inHand     // what threads held when the program was ended
	wild       wild         // the words of memory by which it may have come there
	tried      call         // that experiments were made with last
	audit      *report.Audit
	begins     *Begin // nil: with the program
	stacks     *stacks
	foretold   *foretold
	undeclared undeclared
	unread     unread
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
	pc       trace.Addr // of the event that it is; 0: not known
	time     mgpp.Timestamp
	healthy  mgpp.Timestamp // the last healthy C-point before it
	sound    eval.CPoint    // that C-point, if its Kind is set
	found    []eval.Inconsistency
	inner    call              // the call whose return it is, in another one; without arguments: it is none, or they are not known
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
		known: map[eval.Instance]bool{}, elisions: elisions{asked: map[elision]statement{}}, tails: map[tail]trace.Addr{}, stacks: newStacks(prog), foretold: newForetold(), pools: map[graph.ObjID]bool{}, unsized: map[eval.Instance]bool{}, handed: handed{unjudged: map[eval.Instance]bool{}}, strange: map[eval.Instance]bool{}, done: o.NoCheck,
	}
	if len(spec.Locals) > 0 {
		symbols.Frame = func(path string, entry uint64) bool {
			if path == prog.Path {
				path = ""
			}
			return spec.HasLocals(path, entry)
		}
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
	a.Graph = graph.New(spec, a.Hist, types, graph.Options{Bias: a.Bias(), Entry: symbols.EntryName})
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
	var left []eval.Instance
	found, left = a.untouched(a.probed(found, now), c, now)
	if len(found) > 0 {
		found = a.inOrder(a.offStack(a.unentered(a.unrounded(a.unhanded(a.counted(a.unpooled(found, now)), now), now)), *c), now)
	}
	if a.Checker.Stopped() { // meanwhile: what excuses them may not have been seen
		a.checked--
		a.unchecked++
		return
	}
	if len(left) > 0 {
		a.busy++
	}
	if len(found) == 0 {
		a.sane(c, now, left)
		if !c.Inlined || len(a.unsure) == 0 {
			return // of most C-points nothing remains
		}
	}
	before := a.saneFor(found)
	p := &point{CPoint: *c, pc: pc, time: now, healthy: before.time, sound: before.CPoint, found: found}
	p.inner = a.calls.inner.returning(c, a.Schedule.Innermost(c.Thread), now)
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
		if a.settleBefore(&f); a.done {
			return
		}
		a.points = append(a.points, &point{CPoint: eval.CPoint{Kind: "line", Thread: f.Thread}, time: f.Time, healthy: a.healthy, fault: &f})
		a.done = !a.o.All
	}
}
