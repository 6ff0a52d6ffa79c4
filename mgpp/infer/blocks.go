package infer

import (
	"cmp"
	"slices"

	"mgtrace/trace"
)

// Block is a node as it turned out to be, for who looks at the whole run: it has its
// extent from its birth on, and what was split out of another node was a block of its own
// since its memory was first met. A block that was merged into the one in front of it has
// ended then, and that one has grown.
type Block struct {
	Node  NodeID
	Start trace.Addr
	Size  uint64 // bytes, at its birth
	Born  Moment // the first access to it, or the return of the call that gave it out
	// Accesses are the first ones to its addresses, the earliest first; at most MaxAccesses.
	Accesses []Access
	Died     Moment // Instant 0: never
	Into     NodeID // the block that it was merged into when it died, as Block.Node; 0: none
	Given    bool   // an allocator returned it
	From     NodeID // the block that the allocator moved here, as Block.Node; 0: none
	Grown    []Growth

	born, died Timestamp
	head       bool
}

// MaxAccesses is how many accesses a block tells.
const MaxAccesses = 8

// Access is an access to an address.
type Access struct {
	Moment
	Addr trace.Addr
}

// Growth is what merging made of a block.
type Growth struct {
	At   Moment
	Size uint64

	time Timestamp
}

// piece is the time of an address in a block.
type piece struct {
	addr     trace.Addr
	size     uint64
	from, to Timestamp // to 0: the end
	first    uint32    // access, if size is not 0
	joined   bool      // it was another block's before
	into     NodeID    // whose it is afterwards
}

// Blocks returns the blocks in the order of their births. Of nodes that lie in one
// another, what no pointer ever led to is part of the other: a number that looked like
// an address, or an address whose origin was not seen (thesis 3.4).
func (g *Graph) Blocks() []Block {
	same := g.identities()
	pieces := map[NodeID][]piece{}
	for _, a := range g.addresses() {
		g.pieces(a, same, pieces)
	}
	out := make([]Block, 0, len(pieces))
	for id, list := range pieces {
		if b := g.block(id, list); b.Size > 0 {
			b.From = same[b.From]
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b Block) int { return cmp.Or(cmp.Compare(a.born, b.born), cmp.Compare(a.Start, b.Start)) })
	return apart(out)
}

func (g *Graph) addresses() []trace.Addr {
	out := make([]trace.Addr, 0, len(g.places))
	for a := range g.places {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// identities says by which node a node's block goes: a cluster is the block of the
// member that it begins with, and so is what is split out of it where a member began.
func (g *Graph) identities() []NodeID {
	head := make([]trace.Addr, len(g.nodes))
	for a, p := range g.places {
		for _, o := range p.owners {
			if head[o.node] == 0 || a < head[o.node] {
				head[o.node] = a
			}
		}
	}
	same := make([]NodeID, len(g.nodes))
	for i := range same {
		same[i] = NodeID(i)
	}
	unite := func(a, of NodeID) {
		for _, m := range g.nodes[of].Members {
			if head[m.Node] == head[a] {
				same[root(same, m.Node)] = root(same, a)
			}
		}
	}
	for i := range g.nodes {
		unite(NodeID(i), NodeID(i))
		unite(NodeID(i), g.nodes[i].Source)
	}
	for i := range same {
		same[i] = root(same, NodeID(i))
	}
	return same
}

func root(same []NodeID, id NodeID) NodeID {
	for same[id] != id {
		same[id] = same[same[id]]
		id = same[id]
	}
	return id
}

// pieces cuts the time of an address by whose it was in the end.
func (g *Graph) pieces(a trace.Addr, same []NodeID, out map[NodeID][]piece) {
	owners := g.places[a].owners
	for i := len(owners) - 1; i >= 0; i-- {
		last := &owners[i]
		if last.node == 0 {
			continue
		}
		id := same[last.node]
		x := piece{addr: a, size: last.size, first: last.first}
		if i+1 < len(owners) {
			x.to, x.into = owners[i+1].time, same[owners[i+1].node]
		}
		for i > 0 && !owners[i].begins && (same[owners[i-1].node] == id || g.nodes[owners[i].node].Source == owners[i-1].node) {
			i--
		}
		x.from, x.joined = owners[i].time, !owners[i].begins
		out[id] = append(out[id], x)
	}
}

// block makes a block of its pieces.
func (g *Graph) block(id NodeID, list []piece) Block {
	slices.SortFunc(list, func(a, b piece) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.addr, b.addr)) })
	n := &g.nodes[id]
	b := Block{Node: id, Start: list[0].addr, born: list[0].from, died: list[0].to, Given: n.Given, From: n.Moved, head: n.Head}
	for _, p := range list {
		b.Start = min(b.Start, p.addr)
		if p.to == 0 || b.died == 0 {
			b.died = 0
		} else if p.to >= b.died {
			b.died, b.Into = p.to, p.into
		}
	}
	for _, p := range list {
		end := uint64(p.addr-b.Start) + p.size
		switch k := len(b.Grown) - 1; {
		case !p.joined || p.from == b.born:
			b.Size = max(b.Size, end)
		case k >= 0 && b.Grown[k].time == p.from:
			b.Grown[k].Size = max(b.Grown[k].Size, end)
		case k < 0 && end > b.Size || k >= 0 && end > b.Grown[k].Size:
			b.Grown = append(b.Grown, Growth{g.changes[p.from], end, p.from})
		}
	}
	b.Accesses = g.accesses(list)
	switch {
	case b.Given:
		b.Born = g.changes[b.born]
	case b.Size > 0:
		b.Born = b.Accesses[0].Moment
	}
	if b.died != 0 {
		b.Died = g.changes[b.died]
	}
	return b
}

func (g *Graph) accesses(list []piece) (out []Access) {
	list = slices.DeleteFunc(slices.Clone(list), func(p piece) bool { return p.size == 0 })
	slices.SortFunc(list, func(a, b piece) int { return cmp.Compare(a.first, b.first) })
	for _, p := range list[:min(len(list), MaxAccesses)] {
		out = append(out, Access{g.firsts[p.first], p.addr})
	}
	return out
}

// apart makes blocks that do not overlap while they live. They are in order of birth.
func apart(all []Block) []Block {
	within := living{all: all}
	for i := range all {
		within.add(i, cutOrJoin)
	}
	all = slices.DeleteFunc(all, func(b Block) bool { return b.Size == 0 })
	// What took in another one is older than it seemed.
	slices.SortStableFunc(all, func(a, b Block) int { return cmp.Compare(a.born, b.born) })
	last := living{all: all}
	for i := range all {
		last.add(i, func(x, y *Block) { y.died, y.Died = x.born, x.Born })
	}
	slices.SortStableFunc(all, func(a, b Block) int { return cmp.Compare(a.Born.Instant, b.Born.Instant) })
	return all
}

// living is the blocks that live, by address. They do not overlap.
type living struct {
	all []Block
	at  []int
}

func (l *living) find(a trace.Addr) int {
	k, _ := slices.BinarySearchFunc(l.at, a, func(i int, a trace.Addr) int { return cmp.Compare(l.all[i].Start, a) })
	return k
}

// add adds block i. Of each that it overlaps decide shortens one, has one die, or makes
// one empty.
func (l *living) add(i int, decide func(x, y *Block)) {
	x := &l.all[i]
	for k := max(l.find(x.Start)-1, 0); k < len(l.at) && x.Size > 0; {
		y := &l.all[l.at[k]]
		if y.Start >= x.end() {
			break
		}
		over := y.Size > 0 && y.end() > x.Start
		if over && (y.died == 0 || y.died > x.born) {
			decide(x, y)
			over = y.Size == 0 || y.died != 0 && y.died <= x.born
		}
		if over { // it is dead or gone
			l.at = slices.Delete(l.at, k, k+1)
		} else {
			k++
		}
	}
	if x.Size > 0 {
		l.at = slices.Insert(l.at, l.find(x.Start), i)
	}
}

// cutOrJoin has a block end where one begins to which a pointer led; any other is part of
// the block that it lies in. x is the younger.
func cutOrJoin(x, y *Block) {
	switch {
	case y.Start == x.Start: // both can not have been
		y.died, y.Died = x.born, x.Born
	case y.Start < x.Start && x.head:
		y.cut(x.Start)
	case y.Start < x.Start:
		x.Size = 0
	case y.head:
		x.cut(y.Start)
	default:
		x.born, x.Born, x.Accesses, y.Size = y.born, y.Born, y.Accesses, 0
	}
}

func (b *Block) end() trace.Addr { return b.Start + trace.Addr(b.Size) }

// cut ends the block where another one begins.
func (b *Block) cut(at trace.Addr) {
	b.Size, b.Grown = min(b.Size, uint64(at-b.Start)), nil
}
