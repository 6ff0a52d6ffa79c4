package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mgtrace/capture"
	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// begins says where a history begins that is not there from the program's start.
type begins struct {
	wall  int64 // nanoseconds since recording began; -1: unknown
	event uint64
	why   string
	left  uint64 // blocks that were there and are not known
}

func beginOf(ev *trace.Event) *begins { return &begins{ev.Wall, ev.Size, ev.Name, ev.Aux} }

func (b *begins) String() string {
	at := ""
	if b.wall >= 0 {
		at = fmt.Sprintf("%s after the start, ", time.Duration(b.wall).Round(time.Millisecond))
	}
	return fmt.Sprintf("%sat event %s (%s)", at, report.Thousands(b.event), b.why)
}

// begin takes into account that the history begins with the next event.
func (a *Analysis) begin(ev *trace.Event) error {
	if err := beginsLate(a.spec); err != nil {
		return err
	}
	a.begins = beginOf(ev)
	a.graph.Advance()
	a.doubt = newDoubt(a)
	if a.begins.left > 0 {
		a.spec.MemoryFaults.NoBounds = true
		a.warned = append(a.warned, fmt.Sprintf("%s that were there when the history begins are not known: there was no room to tell them; no write is judged by what lies beside a block, and pointers to them lead nowhere",
			report.Plural(int(a.begins.left), "block", "blocks")))
	}
	return nil
}

// beginsLate refuses specifications whose nodes come to be by calls: those of
// before would be missing, and what leads to them would look broken.
func beginsLate(spec *check.Spec) error {
	if spec != nil && len(spec.Reaches) > 0 {
		return errors.New("this specification's nodes come to be by the pointers of an allocator, and what it held before the history begins is not known: record all of the run (without --last, --from and --after)")
	}
	if spec != nil && len(spec.Members) > 0 {
		return errors.New("this specification's nodes enter and leave by calls of functions, and those of before the history begins are not known: record all of the run (without --last, --from and --after)")
	}
	return nil
}

// reportBegin says where the history begins, and ends, if that is not with the
// program.
func (a *Analysis) reportBegin(r *report.Report) {
	if b := a.begins; b != nil {
		r.Complete = false
		r.Why = append(r.Why, "the history begins "+b.String()+"; what was before is not in it")
		r.Begins = &report.Begins{Event: b.event, Why: b.why}
		if b.wall >= 0 {
			s := time.Duration(b.wall).Seconds()
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
	o := a.graph.Object(s.Repair.Cell.Obj)
	n := a.hist.Node(o.Host)
	return a.doubt.old(n) && a.hist.LastWrite(s.Repair.Cell.Addr, uint64(s.Repair.Cell.Size), a.hist.Now()) == 0
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
}

// doubtful is an edge cell of an object.
type doubtful struct {
	addr trace.Addr
	node mgpp.NodeID
}

func newDoubt(a *Analysis) *doubt {
	d := &doubt{a: a, seen: map[eval.Instance]bool{}, typed: map[mgpp.NodeID]bool{}, hidden: a.begins.left > 0}
	d.model = doubtingModel{a.checker, d}
	now := a.hist.Now()
	view := a.hist.At(now)
	for i := 1; i <= a.graph.Objects(); i++ {
		o := a.graph.Object(graph.ObjID(i))
		if o.Type == nil {
			continue
		}
		d.typed[o.Host] = true
		for k := range o.Type.Edges {
			c := &o.Type.Edges[k]
			for e, end := int64(0), graph.Elems(c, a.graph.Size(graph.ObjID(i), now)); e < end; e++ {
				if at := a.graph.CellAddr(graph.ObjID(i), c, e); d.unknown(view, at, 8) {
					d.cells = append(d.cells, doubtful{at, o.Host})
				}
			}
		}
	}
	if a.prog.Before != nil && !d.hidden {
		for id := range a.hist.Live(now) {
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
	n := d.a.hist.Node(id)
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
	b := mgpp.Bytes{Data: make([]byte, size), Written: make([]bool, size)}
	return v.Read(addr, &b) && slices.Contains(b.Written, false)
}

// old: the block, or what it was before realloc moved it, was there.
func (d *doubt) old(n mgpp.Node) bool {
	for n.Moved != 0 {
		n = d.a.hist.Node(n.Moved)
	}
	return n.Before || n.Global != 0
}

// edges says whether an edge is unknown somewhere.
func (d *doubt) edges(v mgpp.View) bool {
	for i := len(d.cells) - 1; i >= 0; i-- {
		if d.unknown(v, d.cells[i].addr, 8) {
			return true
		}
		if v.Time() == d.a.hist.Now() { // it is known from now on, or gone
			d.cells = d.cells[:i]
		}
	}
	return false
}

// excuses says whether something that is not known may be all that is wrong. If
// there are hidden blocks, it may be that a pointer leads to one, or comes from one.
func (d *doubt) excuses(deps []eval.Dep, v mgpp.View) bool {
	others := false
	for _, x := range deps {
		switch x.Kind {
		case eval.DepBytes:
			if d.unknown(v, x.Addr, x.Size) || d.hidden && x.Size == 8 && d.leadsToHidden(v, x.Addr) {
				return true
			}
		case eval.DepIn:
			others = true
		case eval.DepPopulation:
			others = others || d.hidden
		}
	}
	return others && (d.hidden || d.edges(v))
}

func (d *doubt) leadsToHidden(v mgpp.View, addr trace.Addr) bool {
	to := v.Target(addr, 0)
	return to.State == mgpp.Wild || to.State == mgpp.Points && d.untold(v, to.Node)
}

// certain leaves out what depends on what is not known.
func (d *doubt) certain(found []eval.Inconsistency, v mgpp.View) []eval.Inconsistency {
	out := found[:0:0]
	for _, inc := range found {
		if d.excuses(d.a.checker.Eval(inc.Instance, v).Deps, v) {
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

// Eval implements eval.Model.
func (m doubtingModel) Eval(i eval.Instance, v mgpp.View) eval.Result {
	r := m.Model.Eval(i, v)
	if r.Verdict == eval.Broken && m.d.excuses(r.Deps, v) {
		r.Verdict = eval.NotApplicable
	}
	return r
}

// firstBytes finds out what bytes were when a history begins that does not say it:
// those that nobody has written since are what memory holds at the end.
//
// That is certain where the block lives from the beginning to the end, was never
// resized, no event was lost, no write to it could not be read, and what was written
// to it is what memory holds: nobody has written to it unseen.
type firstBytes struct {
	sites   []trace.StoreSite
	began   bool
	lost    bool
	blocks  []firstBlock // by address
	written *contents    // since the beginning
}

type firstBlock struct {
	lo, hi uint64
	bad    bool // its bytes are not certain
	images []trace.Event
}

var _ capture.Sink = (*firstBytes)(nil)

// Sites implements capture.Sink.
func (f *firstBytes) Sites(sites []trace.StoreSite) error { f.sites = sites; return nil }

// Stores implements capture.Sink.
func (f *firstBytes) Stores(run *trace.Stores) error {
	f.written.stores(run, f.sites)
	return nil
}

// Event implements capture.Sink.
func (f *firstBytes) Event(ev *trace.Event) error {
	addr := uint64(ev.Addr)
	switch ev.Kind {
	case trace.KindBegin:
		f.began = true
		slices.SortFunc(f.blocks, func(x, y firstBlock) int { return int(min(1, max(-1, int64(x.lo-y.lo)))) })
		return nil
	case trace.KindLost, trace.KindCease:
		f.lost = true
	case trace.KindMemory:
		if ev.Size > 0 {
			f.compare(addr, ev.Data)
		}
		return nil
	}
	if !f.began {
		if (ev.Kind == trace.KindAlloc || ev.Kind == trace.KindGlobal) && ev.Flags&trace.FlagBefore != 0 {
			f.blocks = append(f.blocks, firstBlock{lo: addr, hi: addr + ev.Size})
		}
		f.written.event(ev, 0)
		return nil
	}
	switch ev.Kind {
	case trace.KindFree:
		f.spoil(addr, 1)
	case trace.KindAlloc, trace.KindUnmap:
		f.spoil(addr, ev.Size)
	case trace.KindRealloc:
		f.spoil(ev.Aux, 1)
		f.spoil(addr, ev.Size)
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindImage:
		f.written.write(addr, ev.Data)
		if n := uint64(len(ev.Data)); n < ev.Size {
			f.spoil(addr+n, ev.Size-n)
		}
	case trace.KindUnread:
		f.spoil(addr, ev.Size)
	}
	return nil
}

// at is the index of the first block that ends behind an address.
func (f *firstBytes) at(addr uint64) int {
	i, _ := slices.BinarySearchFunc(f.blocks, addr, func(b firstBlock, a uint64) int {
		if b.hi <= a {
			return -1
		}
		return 1
	})
	return i
}

// spoil takes the blocks in a range as not certain.
func (f *firstBytes) spoil(addr, size uint64) {
	for i := f.at(addr); i < len(f.blocks) && f.blocks[i].lo < addr+max(size, 1); i++ {
		f.blocks[i].bad = true
	}
}

// compare takes what memory holds at the end.
func (f *firstBytes) compare(addr uint64, data []byte) {
	i := f.at(addr)
	if i == len(f.blocks) || addr < f.blocks[i].lo || f.blocks[i].bad {
		return
	}
	b := &f.blocks[i]
	data = data[:min(uint64(len(data)), b.hi-addr)]
	have, known := make([]byte, len(data)), make([]bool, len(data))
	f.written.read(addr, have, known)
	for j := 0; j < len(data); {
		k := j
		for k < len(data) && !known[k] {
			k++
		}
		if k > j {
			b.images = append(b.images, trace.Event{Kind: trace.KindImage, Addr: trace.Addr(addr + uint64(j)), Size: uint64(k - j), Data: slices.Clone(data[j:k]), Wall: -1})
		}
		for k < len(data) && known[k] {
			if have[k] != data[k] {
				b.bad, b.images = true, nil
				return
			}
			k++
		}
		j = k
	}
}

// give gives the bytes that are certain.
func (f *firstBytes) give(sink func(*trace.Event) error) error {
	for i := range f.blocks {
		if f.lost || f.blocks[i].bad {
			continue
		}
		for j := range f.blocks[i].images {
			if err := sink(&f.blocks[i].images[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstImages is a sink that is given what firstBytes knows where the history
// begins.
type firstImages struct {
	capture.Sink
	first *firstBytes
}

// Event implements capture.Sink.
func (s firstImages) Event(ev *trace.Event) error {
	if ev.Kind == trace.KindBegin {
		if err := s.first.give(s.Sink.Event); err != nil {
			return err
		}
	}
	return s.Sink.Event(ev)
}

// completed makes a sink that is told what the bytes were when the history begins,
// as far as the recording lets one know. It reads all of a recording whose
// beginning was dropped.
func (rec *recording) completed(ctx context.Context, sink capture.Sink) (capture.Sink, error) {
	if rec.prog.Last == nil {
		return sink, nil
	}
	f := &firstBytes{written: newContents()}
	if _, err := rec.feed(ctx, f); err != nil {
		return nil, err
	}
	if err := rec.r.Seek(0); err != nil {
		return nil, err
	}
	if !f.began {
		return sink, nil
	}
	return firstImages{sink, f}, nil
}
