package analysis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// Finish locates the faults and makes the report.
func (a *Analysis) Finish(ctx context.Context, r *report.Report) error {
	if a.done && len(a.points) > 0 && !slices.ContainsFunc(a.points, func(p *point) bool { return p.time > a.Graph.Now() }) {
		a.Graph.Coast() // nobody asks for what comes behind
	}
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
			a.linked(&c, p.fault)
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
	if c, ok := a.circle(); ok {
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
	p.suspects, c.Suspects = a.inWords(res.Suspects, p.time)
	if len(res.Suspects) > 0 {
		out, ok := a.takenOut(&res.Suspects[0], p.time)
		if ok && !slices.ContainsFunc(c.Suspects, func(s report.Suspect) bool { return s.Path == out.Path && s.Line == out.Line }) {
			out.Rank, out.Contributes = len(c.Suspects)+1, c.Suspects[0].Contributes
			c.Suspects = append(c.Suspects, out)
		}
	}
	c.Notes = slices.Concat(c.Notes, a.locationNotes(&res), a.leftoverNote(p), a.untriedNote(&res), a.racedNote(&res), a.outsideNote(p), a.apartNote(p))
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
	in.Ended = func() faultloc.Rerun { return a.ended(p) }
	in.Led = func() []faultloc.Read { return a.led(p.time) }
	in.Recursed = sync.OnceValue(func() []faultloc.Read { return a.recursed(p.time) })
	in.Holding = func() []faultloc.Read { return a.holding(p.time) }
	in.Beneath = a.beneath
	in.ReadFreed = func(t mgpp.Timestamp) (faultloc.ReadFreed, bool) { return a.readFreed(p, t) }
	if in.Cut && (!a.died.aborted || p.sole()) { // who finds something broken, and says so, has not broken it
		in.Died, in.Fault, in.Divides, in.Ends = a.died.at, a.died.fault, a.died.divides, a.died.aborted
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
	unseen := slices.DeleteFunc(slices.Clone(r.Unseen), a.unrecordedWrite)
	if n := len(unseen); n > 0 {
		out = append(out, fmt.Sprintf("%s that nobody is accused of contributed: an audit found memory changed by something that mgtrace did not see, before change %s",
			report.Plural(n, "write", "writes"), report.Thousands(uint64(unseen[0]))))
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
	r.Checked.Partly = a.busy
	r.Checked.Objects = map[string]int{}
	for i := 1; i <= a.Graph.Objects(); i++ {
		if o := a.Graph.Object(graph.ObjID(i)); o.Type != nil {
			r.Checked.Objects[o.Type.Name]++
		}
	}
	r.Exit, r.Audit = a.Exit, a.audit
	if a.Exit != nil && a.Exit == a.signal {
		a.registers(r.Exit)
	}
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
	a.reportUnprobed(r)
	a.reportHanded(r)
	a.reportSizes(r)
	a.reportUnread(r)
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
	r.Warnings = append(r.Warnings, a.resources()...)
	r.Warnings = append(r.Warnings, a.inFiles()...)
	r.Warnings = append(r.Warnings, a.unembedded()...)
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
