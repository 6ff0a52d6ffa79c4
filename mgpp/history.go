package mgpp

import (
	"cmp"
	"iter"
	"slices"

	"mgtrace/trace"
)

// Options adjust a History. The zero value is the default.
type Options struct {
	// Slack is how many bytes beside a node a write may lie, if nothing else
	// connects them, to be kept as an overflow of that node. 0: 64 bytes.
	Slack uint64
	// NodesOnly keeps nodes, and which memory was theirs when, and numbers
	// operations as any history does, but keeps no operation and no byte: what is
	// asked about these has no meaning. See Number and Forget.
	NodesOnly bool
	// StacksStay says that the stacks of events are never changed, as those of a
	// trace.Reader: then one that lies where another did is that one, and is not copied.
	StacksStay bool
	// Arenas makes what the program maps (brk, mmap) nodes of their own where no
	// block is: what an allocator writes into its own memory is kept, and can be
	// read. A block in an arena hides it as long as it lives.
	Arenas bool
}

// History is the whole evolution of a heap. One goroutine may Apply; any
// number may ask while none applies.
type History struct {
	options   Options
	mem       memory
	ops       ops
	nodes     nodes
	owners    owners
	anomalies []Anomaly
	gaps      []Gap
	mapped    mappings
	dropped   uint64

	stacks   []stackOf // of writes, ascending
	doubtful []uint32  // operations that may have written beyond a live node; see Doubtful

	recent [recentNodes]NodeID // the builder's last hits, by granule
	late   [latePages]*page    // the pages that stores hit last
	usual  []uint32            // by site of a run: that of its last store here
	freed  start               // what Freeable was asked last
	// unmapped are the operations by which each thread's last unmap ended nodes.
	unmapped map[trace.ThreadID]span
	hits     []NodeID // the builder's scratch
	died     []NodeID // see Died

	lastArena NodeID // the newest, which brk lets grow
}

// recentNodes is how many hits the builder remembers; a power of two.
const recentNodes = 1 << 14

// stackOf is the stack of a write, as nodes.intern numbers it.
type stackOf struct {
	time   uint32
	origin uint32
}

// span is the operations (after, to].
type span struct{ after, to uint32 }

// New returns an empty history.
func New(o Options) *History {
	if o.Slack == 0 {
		o.Slack = 64
	}
	o.Slack = min(o.Slack, pageSize)
	h := &History{
		options: o,
		mem:     memory{pageIndex: newPageIndex()},
		ops:     newOps(o.NodesOnly),
		nodes:   newNodes(o.StacksStay),
		owners:  newOwners(),

		unmapped: map[trace.ThreadID]span{},
		mapped:   mappings{small: map[uint64][]mapping{}},
	}
	return h
}

// Now returns the timestamp of the newest operation.
func (h *History) Now() Timestamp { return Timestamp(h.ops.n) }

// clip makes a timestamp internal; the future is now.
func (h *History) clip(t Timestamp) uint32 { return uint32(min(t, Timestamp(h.ops.n))) }

// Op returns the operation at t; its Kind is OpNone if there is none.
func (h *History) Op(t Timestamp) Op {
	if t == 0 || t > Timestamp(h.ops.n) {
		return Op{}
	}
	u := uint32(t)
	s := h.ops.site(u)
	op := Op{
		Time: t, Kind: s.kind, Thread: s.thread, PC: trace.Addr(s.pc), Wall: h.ops.walls.get(u), Instant: trace.Instant(max(h.ops.instants.get(u), 0)),
		Flags: s.flags, Name: h.ops.names[s.name],
	}
	switch s.kind {
	case OpStore, OpBulk, OpUnread:
		h.fillWrite(&op, s, u)
		if i, ok := slices.BinarySearchFunc(h.stacks, u, func(x stackOf, t uint32) int { return cmp.Compare(x.time, t) }); ok {
			op.Stack = h.nodes.origins[h.stacks[i].origin].stack
		}
	case OpEnter, OpLeave:
		w := h.ops.wides.at(int(h.ops.value(u)))
		op.Addr, op.Size, op.Mark, op.Node = trace.Addr(w.addr), w.size, w.mark, h.maker(u)
	default:
		op.Node = h.maker(u)
		if s.kind == OpBirth || s.kind == OpDeath {
			op.Stack = h.nodes.origins[s.high].stack
		}
		n := h.nodes.at(h.maker(u))
		if s.kind == OpMove {
			op.Other, op.Node = op.Node, h.ops.moves[h.ops.value(u)].old
			op.Stack = h.nodes.origins[n.origin].stack
		}
		op.Addr, op.Size = trace.Addr(n.start), h.nodes.sizeAt(h.maker(u), u)
	}
	return op
}

func (h *History) fillWrite(op *Op, s *site, t uint32) {
	addr, size := h.extent(t)
	op.Addr, op.Size = trace.Addr(addr), size
	op.Base = trace.Addr(h.base(t, s, addr))
	if s.stray {
		op.Other = h.strayOf(addr, size, uint64(op.Base), t)
		return
	}
	op.Node = h.liveAt(addr, t)
	if op.Node == 0 {
		var buf [8]NodeID
		if ids := h.overlapping(buf[:0], addr, size, t); len(ids) > 0 {
			op.Node = nearest(h, ids, addr)
		}
	}
}

// strayOf returns the node against which a stray write is judged.
func (h *History) strayOf(addr, size, base uint64, t uint32) NodeID {
	for _, a := range [2]uint64{addr, base} {
		if id := h.startingAt(a, t); a != 0 && id != 0 && h.nodes.sizeAt(id, t) == 0 {
			return id // of a node without a byte, who has the memory now
		}
	}
	for _, a := range [2]uint64{addr, addr + size - 1} {
		if id := h.freedAt(a, t); id != 0 {
			return id
		}
	}
	if base != 0 {
		if id := h.liveAt(base, t); id != 0 {
			return id
		}
	}
	return h.neighbour(addr, size, t)
}

// extent returns the memory that the operation wrote.
func (h *History) extent(t uint32) (addr, size uint64) {
	s := h.ops.site(t)
	switch s.shape {
	case shapeInline, shapeWords, shapeZeros:
		w := h.ops.word(t)
		number := h.mem.pages.at(int(w >> wordBits)).number
		return number<<pageBits | uint64(w&(pageWords-1))<<3 | h.ops.low3(t), uint64(s.size)
	case shapeWide:
		w := h.ops.wides.at(int(h.ops.word(t)))
		return w.addr, w.size
	case shapeMove:
		return h.nodes.at(h.maker(t)).start, h.ops.moves[h.ops.value(t)].size
	}
	return 0, 0
}

// fetch copies into b, from index i on, the n bytes that the operation t wrote
// at addr, which lie within its extent.
func (h *History) fetch(t uint32, addr uint64, b *Bytes, i, n int) {
	start, _ := h.extent(t)
	off := addr - start
	dst, ok := b.Data[i:i+n], b.Written[i:i+n]
	switch s := h.ops.site(t); s.shape {
	case shapeInline:
		v := (uint64(s.high)<<32 | uint64(h.ops.value(t))) >> (8 * off)
		for k := range dst {
			dst[k], ok[k] = byte(v), true
			v >>= 8
		}
	case shapeWords:
		h.ops.words.copy(dst, h.ops.value(t), off)
		setAll(ok, true)
	case shapeZeros:
		clear(dst)
		setAll(ok, true)
	case shapeWide:
		w := h.ops.wides.at(int(h.ops.word(t)))
		k := 0
		if w.fill {
			for b := h.ops.arena.get(w.data, 1)[0]; k < n; k++ {
				dst[k] = b
			}
		} else if off < w.known {
			k = copy(dst, h.ops.arena.get(w.data, w.known)[off:])
		}
		setAll(ok[:k], true)
		setAll(ok[k:], false)
		clear(dst[k:])
	case shapeMove:
		m := &h.ops.moves[h.ops.value(t)]
		if m.behind > 0 {
			h.readNode(m.old, off, &Bytes{Data: dst, Written: ok}, h.nodes.at(m.old).death-1, nil, nil)
			return
		}
		h.carried(m, off, dst, ok)
	}
}

func setAll(b []bool, v bool) {
	for i := range b {
		b[i] = v
	}
}

// origins changes the versions of the bytes at addr, which lie in one node, to when each
// was stored before any move.
func (h *History) origins(times []uint32, addr uint64) {
	for len(times) > 0 {
		k := sameAsFirst(times)
		h.origin(times[:k], addr)
		times, addr = times[k:], addr+uint64(k)
	}
}

// origin is origins of bytes of one version.
func (h *History) origin(times []uint32, addr uint64) {
	t := times[0]
	if t == 0 || h.ops.site(t).kind != OpMove {
		return
	}
	m := &h.ops.moves[h.ops.value(t)]
	off := addr - h.nodes.at(h.maker(t)).start
	if off >= m.size {
		return
	}
	times = times[:min(uint64(len(times)), m.size-off)]
	if m.behind > 0 {
		old := h.nodes.at(m.old)
		h.versions(m.old, off, times, old.death-1)
		h.origins(times, old.start+off)
		return
	}
	r := m.runAt(off)
	for i := range times {
		if r+1 < len(m.runs) && m.runs[r+1].off() <= off+uint64(i) {
			r++
		}
		times[i] = m.runs[r].origin()
	}
}

// sameAsFirst is how many equal ones the versions begin with.
func sameAsFirst(times []uint32) int {
	k := 1
	for k < len(times) && times[k] == times[0] {
		k++
	}
	return k
}

// Ops returns the operations in [from, to].
func (h *History) Ops(from, to Timestamp) iter.Seq[Op] {
	return func(yield func(Op) bool) {
		for t := max(from, 1); t <= min(to, h.Now()); t++ {
			if !yield(h.Op(t)) {
				return
			}
		}
	}
}

// NodeCount returns the number of nodes that ever were: IDs are 1 to NodeCount.
func (h *History) NodeCount() int { return h.nodes.all.len() - 1 }

func (h *History) has(id NodeID) bool {
	return id != 0 && int(id) <= h.NodeCount() && h.nodes.at(id) != nil
}

// Node returns the node with its last size; the zero Node if there is none.
func (h *History) Node(id NodeID) Node {
	return h.nodeAt(id, h.ops.n)
}

func (h *History) nodeAt(id NodeID, t uint32) (v Node) {
	if !h.has(id) {
		return v
	}
	n := h.nodes.at(id)
	from := &h.nodes.origins[n.origin]
	v.ID, v.Start, v.Size = id, trace.Addr(n.start), h.nodes.sizeAt(id, t)
	v.Birth, v.Death = Timestamp(n.birth), Timestamp(n.death)
	v.Tracked, v.Arena, v.Before = n.is(nodeTracked), n.is(nodeArena), n.is(nodeBefore)
	v.Alloc, v.Stack = h.ops.names[from.alloc], from.stack
	if n.is(nodeRare) {
		r := h.nodes.rare[id]
		v.Global, v.Moved = r.global, r.moved
	}
	return v
}

// NodeThen returns a node as it was at t; it is not ok if it did not live then.
func (h *History) NodeThen(id NodeID, t Timestamp) (n Node, ok bool) {
	u := h.clip(t)
	if !h.has(id) || !h.nodes.at(id).alive(u) {
		return Node{}, false
	}
	return h.nodeAt(id, u), true
}

// Origin is the number of where a node comes from: those of one allocator and one stack
// have the same; 0: it is not known.
func (h *History) Origin(id NodeID) int {
	if !h.has(id) {
		return 0
	}
	return int(h.nodes.at(id).origin)
}

// NodeSize returns the node's size in bytes at t.
func (h *History) NodeSize(id NodeID, t Timestamp) uint64 {
	if !h.has(id) {
		return 0
	}
	return h.nodes.sizeAt(id, h.clip(t))
}

// Nodes returns all nodes, dead ones too, in order of birth, but those that are
// forgotten.
func (h *History) Nodes() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for id := NodeID(1); int(id) <= h.NodeCount(); id++ {
			if h.has(id) && !yield(h.Node(id)) {
				return
			}
		}
	}
}

// Live returns the nodes alive at t, in order of birth.
func (h *History) Live(t Timestamp) iter.Seq[NodeID] {
	u := h.clip(t)
	return func(yield func(NodeID) bool) {
		h.nodes.each(u, uint32(h.NodeCount())>>groupBits, func(group uint32) bool {
			for id := NodeID(max(group<<groupBits, 1)); id < NodeID(group+1)<<groupBits && h.has(id); id++ {
				n := h.nodes.at(id)
				if n.birth > u {
					return false
				}
				if n.alive(u) && !yield(id) {
					return false
				}
			}
			return true
		})
	}
}

// LiveCount is how many nodes are alive at t.
func (h *History) LiveCount(t Timestamp) (n int) {
	for range h.Live(t) {
		n++
	}
	return n
}

// NodeAtTime returns the node that contains addr at t.
func (h *History) NodeAtTime(addr trace.Addr, t Timestamp) (NodeID, bool) {
	id := h.liveAt(uint64(addr), h.clip(t))
	return id, id != 0
}

// FormerAt returns the node that contained addr last, at or before t, alive or
// dead.
func (h *History) FormerAt(addr trace.Addr, t Timestamp) (NodeID, bool) {
	id := h.formerAt(uint64(addr), h.clip(t))
	return id, id != 0
}

// LastWrite returns the newest operation at or before t that wrote a byte of
// [addr, addr+size), a realloc that carried bytes there included; 0 if none.
// Births, which make calloc's zeros, are not writes.
func (h *History) LastWrite(addr trace.Addr, size uint64, t Timestamp) Timestamp {
	return Timestamp(h.mem.last(uint64(addr), h.span(addr, size), h.clip(t)))
}

// NextWrite returns the oldest operation after t that wrote a byte of [addr,
// addr+size); 0 if none.
func (h *History) NextWrite(addr trace.Addr, size uint64, t Timestamp) Timestamp {
	return Timestamp(h.mem.following(uint64(addr), h.span(addr, size), h.clip(t)))
}

// span clips a size so that the range is one of plausible addresses.
func (h *History) span(addr trace.Addr, size uint64) uint64 {
	if addr >= maxAddr {
		return 0
	}
	return min(size, maxExtent, maxAddr-uint64(addr))
}

// Versions returns the operations after t that wrote a byte of [addr, addr+size), in
// order of time. It costs as many steps as there are, and a search of each word; NextWrite is
// for the first of them.
func (h *History) Versions(addr trace.Addr, size uint64, t Timestamp) iter.Seq[Timestamp] {
	return func(yield func(Timestamp) bool) {
		for _, v := range h.mem.versions(uint64(addr), h.span(addr, size), h.clip(t)) {
			if !yield(Timestamp(v)) {
				return
			}
		}
	}
}

// Enter records that the event (a call, for its statement, thread and clock)
// made [addr, addr+size) a member. The range is tracked from then on, wherever it lies:
// if no live node contains it, it is one by this operation, so that writes to it are kept and it
// can be read; what was written there before is unknown.
func (h *History) Enter(ev *trace.Event, addr trace.Addr, size uint64, mark int) (Timestamp, error) {
	return h.member(OpEnter, ev, addr, size, mark)
}

// Leave records that the range ceased to be a member. Its memory stays tracked.
func (h *History) Leave(ev *trace.Event, addr trace.Addr, size uint64, mark int) (Timestamp, error) {
	return h.member(OpLeave, ev, addr, size, mark)
}

func (h *History) member(k OpKind, ev *trace.Event, addr trace.Addr, size uint64, mark int) (Timestamp, error) {
	if err := h.room(ev); err != nil {
		return 0, err
	}
	h.ops.instant = ev.Instant
	var id NodeID
	if k == OpEnter {
		id = h.track(uint64(addr), size)
	} else {
		id = h.liveAt(uint64(addr), h.ops.n)
	}
	w := h.ops.wides.add(wide{addr: uint64(addr), size: size, mark: mark})
	var s site
	h.lifeSite(&s, ev, k)
	return Timestamp(h.ops.addAt(&s, 0, uint32(id), uint32(w), ev.Wall)), nil
}

// track returns the node that contains a range, and makes one that begins with the next operation
// if there is none; 0 if the range is impossible.
func (h *History) track(addr, size uint64) NodeID {
	if addr == 0 || size == 0 || size > maxExtent || addr > maxAddr-size {
		return 0
	}
	if id := h.liveAt(addr, h.ops.n); id != 0 && h.holds(id, addr+size-1, h.ops.n) {
		return id
	}
	id := h.fix(addr, size)
	n := h.nodes.at(id)
	n.flags |= nodeTracked
	n.birth++
	return id
}
