package live

import (
	"fmt"
	"slices"

	"mgtrace/capture"
	"mgtrace/report"
	"mgtrace/session/contents"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// gate lets through the events of a window. Before it opens it follows what there
// is (blocks, their bytes, open calls), and tells that when it opens: the history
// begins with exactly what there was before the event that opened it.
type gate struct {
	Window
	in       *intake
	from, to []trace.FuncID
	table    *contents.Blocks
	contents *contents.Memory
	sites    *capture.SiteList
	state    gateState
	calls    uint64 // of from
	passed   uint64 // events before it opened
	ends     *ended // the call whose return closes it
}

type gateState uint8

const (
	gateWaits gateState = iota
	gateOpen
	gateOver
)

// ended is a call.
type ended struct {
	thread trace.ThreadID
	sp     trace.Addr
}

// limit has a part of the run recorded, if it is a part.
func (l *Program) limit() error {
	w := l.o.Capture.Window
	if l.full != nil {
		return l.limitFull()
	}
	if !w.set() {
		return nil
	}
	g := &gate{Window: w, in: (*intake)(l), sites: &l.sites, table: contents.NewBlocks(&l.Prog), contents: contents.New()}
	var err error
	if g.from, err = l.functions("--from", w.From); err != nil {
		return err
	}
	if g.to, err = l.functions("--to", w.To); err != nil {
		return err
	}
	l.gate = g
	return nil
}

// functions are the watched functions of a name.
func (l *Program) functions(flag, name string) (ids []trace.FuncID, err error) {
	if name == "" {
		return nil, nil
	}
	for _, im := range append(l.Symbols.Images, l.late...) {
		if im.Obj == nil || !im.Traced {
			continue
		}
		if in := im.Obj.Inlined(name); len(in) > 0 {
			return nil, fmt.Errorf("%s %s: the compiler has inlined it (into %s at %s:%d), so not all of its calls are seen: give it __attribute__((noinline)), or compile with -fno-inline",
				flag, name, in[0].In, symbol.Short(in[0].CallFile), in[0].CallLine)
		}
		for _, fn := range im.Obj.FuncsNamed(name) {
			for i := range l.Prog.Funcs {
				if id := trace.FuncID(i + 1); l.Prog.Funcs[i].Name == fn.Name && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s %s: the program has no such function", flag, name)
	}
	return ids, nil
}

func is(ids []trace.FuncID, ev *trace.Event) bool {
	return slices.Contains(ids, trace.FuncID(ev.Aux))
}

// event takes the next event of the run. It returns false if it is not for the
// sinks.
func (g *gate) event(ev *trace.Event) (pass bool, err error) {
	if g.state == gateWaits {
		if !g.opens(ev) {
			g.follow(ev)
			return aboutTheEnd(ev.Kind), nil
		}
		if err := g.open(ev.Wall); err != nil {
			return false, err
		}
	}
	if g.state == gateOver {
		return aboutTheEnd(ev.Kind), nil
	}
	if g.closes(ev) {
		if err := g.in.deliver(ev); err != nil {
			return false, err
		}
		return false, g.close(ev)
	}
	return true, nil
}

// aboutTheEnd: how the program ended is told also where the history is not.
func aboutTheEnd(k trace.Kind) bool {
	return k == trace.KindSignal || k == trace.KindExit || k == trace.KindExec || k == trace.KindLost
}

// stores takes a run likewise.
func (g *gate) stores(run *trace.Stores) (pass bool, err error) {
	if g.state == gateWaits && g.From == "" && run.Wall >= int64(g.After) {
		if err := g.open(run.Wall); err != nil {
			return false, err
		}
	}
	if g.state == gateWaits {
		g.passed += uint64(len(run.Recs))
		g.contents.Stores(run, g.sites.All())
	}
	return g.state == gateOpen, nil
}

// opens says whether the history begins with an event.
func (g *gate) opens(ev *trace.Event) bool {
	late := ev.Wall >= int64(g.After)
	if g.From == "" {
		return late
	}
	if ev.Kind != trace.KindCall || ev.Flags&trace.FlagBefore != 0 || !is(g.from, ev) || !late {
		return false
	}
	g.calls++
	return g.calls > g.Calls
}

// follow takes note of what was not recorded.
func (g *gate) follow(ev *trace.Event) {
	g.passed++
	old := uint64(0)
	if ev.Kind == trace.KindRealloc {
		old = g.table.Size(trace.Addr(ev.Aux))
	}
	g.contents.Event(ev, old)
	g.table.Event(ev)
}

// open tells what there is.
func (g *gate) open(wall int64) (err error) {
	g.state = gateOpen
	if g.passed == 0 {
		return nil // all of the run
	}
	tell := func(ev *trace.Event) bool {
		err = g.in.deliver(ev)
		return err == nil
	}
	g.table.EachCall(func(ev *trace.Event) bool {
		if g.ends == nil && ev.Kind == trace.KindCall && is(g.to, ev) {
			g.ends = &ended{ev.Thread, ev.SP}
		}
		return tell(ev)
	})
	if err == nil {
		g.table.EachBlock(func(ev *trace.Event) bool {
			if ev.Kind == trace.KindGlobal {
				ev.Data = nil // an image follows
			}
			return tell(ev)
		})
	}
	for _, a := range g.table.Sorted() {
		if err == nil {
			err = g.contents.Images(uint64(a), g.table.Size(a), g.in.deliver)
		}
	}
	if err == nil {
		tell(&trace.Event{Kind: trace.KindBegin, Wall: wall, Size: g.passed, Name: "by request: " + g.Window.String()})
	}
	g.table, g.contents = nil, nil
	return err
}

// closes says whether the history ends with an event.
func (g *gate) closes(ev *trace.Event) bool {
	switch {
	case len(g.to) == 0 || !is(g.to, ev):
	case ev.Kind == trace.KindCall && g.ends == nil:
		g.ends = &ended{ev.Thread, ev.SP}
		return g.in.Prog.Funcs[ev.Aux-1].NoReturn
	case ev.Kind == trace.KindReturn:
		return g.ends != nil && *g.ends == ended{ev.Thread, ev.SP}
	}
	return false
}

func (g *gate) close(ev *trace.Event) error {
	g.state = gateOver
	return g.in.cease(ev.Thread, ev.Wall, "by request: "+g.Window.String())
}

// unended says that the history has no end of its own, "" if it has one, or was to have none.
func (g *gate) unended() string {
	if g == nil || g.state != gateOpen || len(g.to) == 0 || g.ends != nil {
		return ""
	}
	return neverEnded(g.To)
}

// neverEnded says that the function was not called whose return was to end a part of the run.
func neverEnded(to string) string {
	return fmt.Sprintf("--to %s: it was not called after the beginning of what is recorded, which goes on to the end of the program", to)
}

// missed says why nothing was recorded, "" if something was.
func (g *gate) missed() string {
	switch {
	case g == nil || g.state != gateWaits:
		return ""
	case g.From == "":
		return fmt.Sprintf("nothing was recorded: the program ended before the time of %s", g.Window.String())
	}
	return fmt.Sprintf("nothing was recorded: %s was called %s (%s)", g.From, report.Plural(int(g.calls), "time", "times"), g.Window.String())
}
