package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// longBytes is how much a write has at least that is not taken down word by word: what
// memset or read wrote is as one row whatever its length.
const longBytes = 1 << 18

// Builder makes the index of a trace from its events, in order, as the reader gives them.
// It keeps the nodes in memory that live or were the last at their addresses, and a bounded
// amount of the rest.
type Builder struct {
	path   string
	mode   os.FileMode
	file   *os.File
	out    *output
	hist   *mgpp.History
	of     uint64
	trace  []byte // its directory
	names  func() []string
	chunks []trace.Chunk
	sites  []trace.StoreSite

	event uint64 // number of the next
	chunk int    // that it is in
	kinds []uint64

	run     row // of events alike
	inRun   bool
	cells   *cells
	perSite []uint64
	used    []uint32
	perPC   map[trace.Addr]uint64
	recent  [recentPCs]atPC     // of events, by the low bits of the statement: not in perPC yet
	images  map[uint64]struct{} // pages

	found            found
	chunkList        []chunk
	long             uint64 // longBytes; tests have other ones
	longRows         []row
	keptRows, deaths *sorter
	cellRows, pcRows *sorter
	crash            *mgpp.Timestamp
	faults           trace.Faults
	err              error
}

// NewBuilder begins the index of a trace, to be put in path when it is finished. Who may
// read the trace may read the index, which has what memory held: mode is that of its file.
func NewBuilder(path string, mode os.FileMode, r *trace.Reader) (*Builder, error) {
	dir := dirOf(path)
	f, err := os.CreateTemp(dir, "mgtrace-index-*")
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	prog := r.Program()
	b := &Builder{
		path: path, mode: mode.Perm(), file: f, out: newOutput(f), of: r.Fingerprint(), trace: r.Directory(), names: r.Names, chunks: r.Chunks(),
		hist:  mgpp.New(mgpp.Options{NodesOnly: true, StacksStay: true}),
		kinds: make([]uint64, trace.NumKinds), cells: newCells(), perPC: map[trace.Addr]uint64{}, images: map[uint64]struct{}{},
		cellRows: newSorter(5, dir), pcRows: newSorter(3, dir), keptRows: newSorter(3, dir), deaths: newSorter(2, dir),
		found: newFound(dir), chunk: -1, long: longBytes, faults: trace.Faults{Program: &prog},
	}
	b.err = b.out.head()
	return b, nil
}

// Temporary is the file that has what is written, until Finish puts it in its place.
func (b *Builder) Temporary() string { return b.file.Name() }

// Abandon removes what has been written.
func (b *Builder) Abandon() {
	if b.file != nil {
		_ = b.file.Close() // it is removed
		_ = os.Remove(b.file.Name())
		b.file = nil
	}
	for _, s := range []*sorter{b.cellRows, b.pcRows, b.keptRows, b.deaths} {
		s.close()
	}
	for _, s := range b.found.sorters() {
		s.close()
	}
}

// Nodes is the history as far as it has come, of nodes only.
func (b *Builder) Nodes() *mgpp.History { return b.hist }

// Sites says what the stores of runs are, whenever that changes: another segment's count
// from 0 again.
func (b *Builder) Sites(sites []trace.StoreSite) error {
	b.endSites()
	b.sites = sites
	for len(b.perSite) < len(sites) {
		b.perSite = append(b.perSite, 0)
	}
	return nil
}

// begin begins the chunks up to that of the next event.
func (b *Builder) begin() {
	for b.chunk+1 < len(b.chunks) && b.event >= b.chunks[b.chunk+1].First {
		if b.chunk >= 0 {
			b.endChunk()
		}
		b.chunk++
		b.chunkList = append(b.chunkList, chunk{uint64(b.hist.Now()), b.chunks[b.chunk].First})
	}
}

// endCells takes down what the chunk left in memory.
func (b *Builder) endCells() {
	for i := range b.cells.list {
		s := &b.cells.list[i]
		r := b.cellRows.next()
		r[0], r[1], r[2], r[3], r[4] = s.word, uint64(b.chunk), uint64(s.time)-b.chunkList[b.chunk].ops, s.value, packMasks(s)
	}
	b.cells.clear()
}

func (b *Builder) endChunk() {
	b.endCells()
	b.endRun()
	b.endSites()
	for i := range b.recent {
		b.endPC(&b.recent[i])
	}
	for pc, n := range b.perPC {
		b.pcRows.add(uint64(pc), uint64(b.chunk), n)
	}
	clear(b.perPC)
}

// atPC is how many operations of events a statement made.
type atPC struct {
	pc  trace.Addr
	ops uint64
}

const recentPCs = 64

func (b *Builder) endPC(p *atPC) {
	if p.ops > 0 {
		b.perPC[p.pc] += p.ops
		p.ops = 0
	}
}

func (b *Builder) endSites() {
	for _, s := range b.used {
		b.perPC[b.sites[s].PC] += b.perSite[s]
		b.perSite[s] = 0
	}
	b.used = b.used[:0]
}

// took notes that n events, which are next, became so many operations each, the first of
// them behind so many before.
func (b *Builder) took(n, each, before uint64) {
	if n > 0 && (!b.inRun || b.run[2] != each) {
		b.endRun()
		b.run, b.inRun = row{b.event, before, each}, true
	}
	b.event += n
}

func (b *Builder) endRun() {
	if b.inRun {
		b.keptRows.add(b.run[:b.keptRows.cols]...)
		b.inRun = false
	}
}

// Stores takes a run of stores.
func (b *Builder) Stores(run *trace.Stores) error {
	b.begin()
	b.kinds[trace.KindStore] += uint64(len(run.Recs))
	b.faults.Stores(run)
	if err := b.hist.Room(len(run.Recs)); err != nil {
		return err
	}
	// Of the stores that were looked at last, so many became so many operations each,
	// behind those before.
	alike, each, before := uint64(0), uint64(0), uint64(b.hist.Now())
	for i := range run.Recs {
		r := &run.Recs[i]
		if int(r.Site) >= len(b.sites) {
			return fmt.Errorf("index: no site %d in %d", r.Site, len(b.sites))
		}
		s := &b.sites[r.Site]
		t := b.hist.Number(trace.Addr(r.Addr), s.BaseOf(r), uint64(s.Width))
		if kept := uint64(min(t, 1)); kept != each {
			b.took(alike, each, before)
			before += alike * each
			alike, each = 0, kept
		}
		alike++
		if t == 0 {
			continue
		}
		if s.Width <= 8 {
			b.cells.store(r.Addr, r.Value, s.Width, t)
		} else {
			b.cells.write(r.Addr, uint64(s.Width), run.Wide[r.Value:][:s.Width], t)
		}
		if b.perSite[r.Site] == 0 {
			b.used = append(b.used, r.Site)
		}
		b.perSite[r.Site]++
	}
	b.took(alike, each, before)
	return b.err
}

// Event takes an event.
func (b *Builder) Event(ev *trace.Event) error {
	b.begin()
	if int(ev.Kind) < len(b.kinds) {
		b.kinds[ev.Kind]++
	}
	before, nodes := b.hist.Now(), b.hist.NodeCount()
	old := b.resizing(ev)
	if _, err := b.hist.Apply(ev); err != nil {
		return err
	}
	now := b.hist.Now()
	b.took(1, uint64(now-before), uint64(before))
	if now > before {
		p := &b.recent[ev.PC%recentPCs]
		if p.pc != ev.PC {
			b.endPC(p)
			p.pc = ev.PC
		}
		p.ops += uint64(now - before)
	}
	switch ev.Kind {
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread:
		if now > before {
			b.write(ev, uint32(now))
		}
	case trace.KindImage, trace.KindGlobal:
		for a := uint64(ev.Addr) >> 12; a<<12 < uint64(ev.Addr)+uint64(len(ev.Data)); a++ {
			b.images[a] = struct{}{}
		}
	}
	if b.faults.Event(ev) && b.crash == nil {
		b.crash = new(now)
	}
	for id := nodes + 1; id <= b.hist.NodeCount(); id++ {
		n := b.hist.Node(mgpp.NodeID(id))
		b.cells.disown(uint64(n.Start), uint64(n.Start)+n.Size)
	}
	b.afterResize(old)
	if died := b.hist.Died(); len(died) > 0 && (now-before > 1 || ev.Kind == trace.KindUnmap) {
		for _, id := range died {
			b.deaths.add(uint64(b.hist.Node(id).Death), uint64(id))
		}
	}
	b.forget()
	return b.err
}

// write takes an event that wrote at t. Of a long one the words that the chunk has already
// get what it wrote, so that their rows have what the chunk left there.
func (b *Builder) write(ev *trace.Event, t uint32) {
	addr, size, data := extent(ev)
	_, fill := ev.Fill()
	lo, hi := cut(addr, size, data, fill, b.long, func(addr, size uint64, data []byte) { b.cells.write(addr, size, data, t) })
	if lo < hi {
		b.cells.overwrite(lo, hi, data[min(lo-addr, uint64(len(data))):], fill, t)
		b.longRows = append(b.longRows, row{uint64(t), lo, hi})
	}
}

// extent is the memory that a write wrote, and what is known of it.
func extent(ev *trace.Event) (addr, size uint64, data []byte) {
	size = ev.Size
	if ev.Kind != trace.KindUnread && ev.Flags&trace.FlagPartial == 0 {
		size = max(size, uint64(len(ev.Data)))
	}
	if ev.Kind == trace.KindUnread {
		return uint64(ev.Addr), size, nil
	}
	return uint64(ev.Addr), size, ev.Data[:min(uint64(len(ev.Data)), size)]
}

// resizing is the block that an event may resize in place, as it was.
func (b *Builder) resizing(ev *trace.Event) mgpp.Node {
	if ev.Kind != trace.KindRealloc || ev.Aux == 0 || uint64(ev.Addr) != ev.Aux {
		return mgpp.Node{}
	}
	id, ok := b.hist.NodeAtTime(ev.Addr, b.hist.Now())
	if !ok { // of no bytes, perhaps
		return mgpp.Node{}
	}
	return b.hist.Node(id)
}

// afterResize disowns what a block has grown into.
func (b *Builder) afterResize(old mgpp.Node) {
	if old.ID == 0 {
		return
	}
	if n := b.hist.Node(old.ID); n.Death == 0 && n.Size > old.Size {
		b.cells.disown(uint64(n.Start)+old.Size, uint64(n.Start)+n.Size)
	}
}

// Notes are what the builder does not know, and the index keeps.
type Notes struct {
	// Group puts the nodes of an allocator and a call stack into one of Groups groups,
	// from 1: those that have a name in common, for Rank. Nil: one for each.
	Group func(alloc string, stack []trace.Addr) int
	Calls [][]Call // outermost calls of each watched function, by FuncID-1
	Any   any      // as JSON, when all nodes are in their groups
}

// Call is an outermost call of a function: its changes are in (From, To].
type Call struct {
	From, To mgpp.Timestamp
	Thread   trace.ThreadID
	Open     bool // it never returned
}

// Finish writes the index and puts it in its place.
func (b *Builder) Finish(n Notes) (err error) {
	defer b.Abandon()
	b.begin()
	if b.chunk >= 0 {
		b.endChunk()
	}
	for _, c := range b.chunks[b.chunk+1:] { // behind what could be read of a trace that is damaged
		b.chunkList = append(b.chunkList, chunk{uint64(b.hist.Now()), c.First})
	}
	d := &description{
		Version: version, Of: b.of, Now: b.hist.Now(), Events: b.event, Nodes: b.hist.NodeCount(),
		Kinds: b.kinds, Crash: b.crash, Tables: map[string]tableMeta{}, Long: b.long,
	}
	for _, step := range []func(*description) error{b.writeCells, func(d *description) error { return b.writeNodes(d, n.Group) }, b.writeSmall, func(d *description) error { return b.writeCalls(d, n.Calls) }} {
		if b.err == nil {
			b.err = step(d)
		}
	}
	if b.err == nil {
		d.Chunks, b.err = b.out.blob(encodeChunks(b.chunkList))
	}
	var trace blob
	if b.err == nil {
		trace, b.err = b.out.blob(b.trace)
	}
	if b.err == nil {
		var list []byte
		for _, s := range b.names() {
			list = append(binary.AppendUvarint(list, uint64(len(s))), s...)
		}
		d.Names, b.err = b.out.blob(list)
	}
	if b.err == nil && n.Any != nil {
		d.Notes, b.err = json.Marshal(n.Any)
	}
	if b.err == nil {
		b.err = b.out.end(d, trace)
	}
	if b.err == nil {
		b.err = errors.Join(b.file.Chmod(b.mode), b.file.Close())
	}
	if b.err == nil {
		b.err = os.Rename(b.file.Name(), b.path)
	}
	if b.err != nil {
		return fmt.Errorf("index: %w", b.err)
	}
	b.file = nil
	return nil
}

// sorted writes a table of what a sorter has.
func (b *Builder) sorted(d *description, name string, s *sorter) error {
	t := newTable(b.out, s.cols)
	if err := s.finish(t.add); err != nil {
		return err
	}
	var err error
	d.Tables[name], err = t.finish()
	return err
}

func (b *Builder) table(d *description, name string, cols int, rows []row) error {
	t := newTable(b.out, cols)
	for i := range rows {
		t.add(rows[i][:])
	}
	var err error
	d.Tables[name], err = t.finish()
	return err
}

func (b *Builder) writeCells(d *description) error {
	if err := b.sorted(d, tabCells, b.cellRows); err != nil {
		return err
	}
	s := newSorter(4, dirOf(b.path))
	defer s.close()
	for page := range b.images {
		var data, one [4096]byte
		var written [4096]bool
		x := mgpp.Bytes{Data: data[:], Written: written[:]}
		b.hist.Image(trace.Addr(page<<12), &x)
		for w := range 512 {
			known := uint64(0)
			for k := range 8 {
				if one[w] = 0; written[8*w+k] {
					known |= 1 << k
				}
			}
			if known != 0 {
				s.add(page<<9+uint64(w), 0, binary.LittleEndian.Uint64(data[8*w:]), known)
			}
		}
	}
	return b.sorted(d, tabImages, s)
}

func (b *Builder) writeSmall(d *description) error {
	return errors.Join(
		b.table(d, tabLongs, 3, b.longRows),
		b.sorted(d, tabKept, b.keptRows),
		b.sorted(d, tabDeaths, b.deaths),
		b.writePCs(d),
	)
}

// writePCs writes how many operations each statement made, by chunk and in all.
func (b *Builder) writePCs(d *description) error {
	var totals []row
	t := newTable(b.out, b.pcRows.cols)
	err := b.pcRows.finish(func(r []uint64) {
		t.add(r)
		if n := len(totals); n == 0 || totals[n-1][0] != r[0] {
			totals = append(totals, row{r[0]})
		}
		totals[len(totals)-1][2] += r[2]
	})
	if err != nil {
		return err
	}
	if d.Tables[tabPCs], err = t.finish(); err != nil {
		return err
	}
	return b.table(d, tabTotals, 3, totals)
}

func (b *Builder) writeCalls(d *description, calls [][]Call) error {
	t := newTable(b.out, 5)
	for fn, list := range calls {
		d.CallsOf = append(d.CallsOf, len(list))
		for i, c := range list {
			to := uint64(c.To) + 1
			if c.Open {
				to = 0
			}
			t.add([]uint64{uint64(fn), uint64(i), uint64(c.From), to, uint64(c.Thread)})
		}
	}
	var err error
	d.Tables[tabCalls], err = t.finish()
	return err
}
