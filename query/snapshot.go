package query

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

// Snapshot is the memory graph at a time, or a part of it.
type Snapshot struct {
	Time  mgpp.Timestamp
	Nodes []NodeState
	Live  int // nodes that live then, those that are not listed among them

	Clusters []Cluster // see Names.Join
}

// NodeState is a node at a time.
type NodeState struct {
	ID     mgpp.NodeID
	Name   string
	Node   mgpp.Node
	Type   Typed
	Fields []Field
}

// Choice says which nodes a snapshot lists.
type Choice struct {
	Around []mgpp.NodeID // these and what they lead to, nearest first; nil: all
	Type   string        // those of this name only
	Max    int           // at most so many; 0: all
}

// Snapshot returns the graph at t. Where not all are wanted, declared globals and what
// they lead to come first, then nodes of known type, in order of birth.
func (n *Names) Snapshot(t mgpp.Timestamp, c Choice) Snapshot {
	s := Snapshot{Time: t, Live: n.hist.LiveCount(t)}
	p := picked{n: n, v: n.hist.At(t), most: c.Max, at: map[mgpp.NodeID]int{}}
	if p.most <= 0 {
		p.most = n.hist.NodeCount() + 1
	}
	if c.Around != nil {
		for _, id := range c.Around {
			p.take(id)
		}
		p.spread()
		s.Nodes = p.nodes
		return s
	}
	if c.Type == "" {
		for id := range n.declared() {
			p.take(id)
		}
		p.spread()
	}
	var others []mgpp.NodeID
	for id := range n.hist.Live(t) {
		if len(p.nodes) >= p.most {
			break
		}
		switch typed := n.Type(id); {
		case c.Type != "" && typed.Name != c.Type:
		case typed.Name != "":
			p.take(id)
		case len(others) < p.most:
			others = append(others, id)
		}
	}
	for _, id := range others {
		p.take(id)
	}
	s.Nodes = p.nodes
	if c.Max <= 0 || s.Live <= c.Max {
		slices.SortFunc(s.Nodes, func(a, b NodeState) int { return int(a.ID) - int(b.ID) })
	}
	return s
}

// picked is the nodes of a snapshot so far.
type picked struct {
	n     *Names
	v     mgpp.View
	most  int
	nodes []NodeState
	at    map[mgpp.NodeID]int
}

func (p *picked) take(id mgpp.NodeID) {
	if _, ok := p.at[id]; ok || id == 0 || len(p.nodes) >= p.most {
		return
	}
	node, alive := p.v.Node(id)
	if !alive {
		return
	}
	p.at[id] = len(p.nodes)
	p.nodes = append(p.nodes, p.n.state(p.v, node))
}

func (n *Names) state(v mgpp.View, node mgpp.Node) NodeState {
	return NodeState{ID: node.ID, Name: n.Name(node.ID), Node: node, Type: n.Type(node.ID), Fields: n.Fields(v, node.ID)}
}

// spread takes what the nodes lead to, breadth first.
func (p *picked) spread() {
	for i := 0; i < len(p.nodes) && len(p.nodes) < p.most; i++ {
		for _, f := range p.nodes[i].Fields {
			if f.Pointer && f.Target.State == mgpp.Points {
				p.take(f.Target.Node)
			}
		}
	}
}

// Diff is what changed between two times.
type Diff struct {
	From, To mgpp.Timestamp
	Born     []NodeState // as they are at To
	Died     []NodeState // as they were at From
	Changed  []NodeDiff  // alive at both
	Passing  int         // nodes that were born and died in between
	In       DiffCounts  // how many nodes belong in the lists

	// Clusters at To that were none at From, and the other way round; see Names.JoinDiff.
	Joined, Parted []Cluster
}

// DiffCounts is how many nodes were born, died and changed between two times.
type DiffCounts struct {
	Born    int `json:"born"`
	Died    int `json:"died"`
	Changed int `json:"changed"`
}

// Left is how many nodes the lists leave out.
func (d *Diff) Left() int {
	return d.In.Born + d.In.Died + d.In.Changed - len(d.Born) - len(d.Died) - len(d.Changed)
}

// NodeDiff is the fields of a node that differ.
type NodeDiff struct {
	ID            mgpp.NodeID
	Name          string
	Before, After NodeState // with these fields only
	Left          bool      // there are more
}

// Diff compares the graph at two times; of more nodes than most it tells the first,
// 0: of all.
func (n *Names) Diff(from, to mgpp.Timestamp, most int) Diff {
	d := Diff{From: from, To: to}
	before, after := n.hist.At(from), n.hist.At(to)
	x := comparison{n: n, before: before, after: after}
	listed := 0
	// room counts a node, and reports whether it is listed.
	room := func(of *int) bool {
		*of++
		if most > 0 && listed >= most {
			return false
		}
		listed++
		return true
	}
	for _, touch := range n.hist.Touched(from, to) {
		was, had := before.Node(touch.Node)
		is, has := after.Node(touch.Node)
		switch {
		case !had && !has:
			d.Passing++
		case !had:
			if room(&d.In.Born) {
				d.Born = append(d.Born, n.state(after, is))
			}
		case !has:
			if room(&d.In.Died) {
				d.Died = append(d.Died, n.state(before, was))
			}
		default:
			x.was, x.is, x.touch = was, is, touch
			if x.differs() && room(&d.In.Changed) {
				d.Changed = append(d.Changed, x.tell())
			}
		}
	}
	return d
}

// compared is how many bytes of a node are compared together: one may have gigabytes.
const compared = 64 << 10

// comparison is of a node at two times, in the part that was touched. It is used for one node
// after another.
type comparison struct {
	n             *Names
	before, after mgpp.View
	was, is       mgpp.Node
	touch         mgpp.Touch
	x, y          mgpp.Bytes // room for what it reads
}

// each gives the fields of which a byte differs, without values, until f returns false.
// It is in one of the two only where the node had another size.
func (c *comparison) each(f func(a, b Field, had, has bool) bool) {
	end := min(c.touch.Hi, max(c.was.Size, c.is.Size))
	both := min(c.was.Size, c.is.Size, end)
	x, y := &c.x, &c.y
	lo, hi := uint64(0), uint64(0) // what of both they are
	for i := c.touch.Lo; i < end; {
		if i < both && i >= hi {
			lo, hi = i, min(i+compared, both)
			part(c.before, c.was, lo, hi, x)
			part(c.after, c.is, lo, hi, y)
		}
		if k := i - lo; i < both && x.Data[k] == y.Data[k] && x.Written[k] == y.Written[k] {
			i++
			continue
		}
		addr := c.is.Start + trace.Addr(i)
		a, had := c.n.covering(c.before, c.was.ID, addr)
		b, has := c.n.covering(c.after, c.is.ID, addr)
		switch {
		case !had && !has: // padding
			i++
			continue
		case !f(a, b, had, has):
			return
		case !has:
			b = a
		}
		i = max(i+1, uint64(b.Addr-c.is.Start)+b.Size)
	}
}

// differs reports whether there is anything to tell.
func (c *comparison) differs() bool {
	differs := c.was.Size != c.is.Size
	if !differs {
		c.each(func(Field, Field, bool, bool) bool {
			differs = true
			return false
		})
	}
	return differs
}

// tell lists the fields that differ.
func (c *comparison) tell() NodeDiff {
	d := NodeDiff{ID: c.is.ID, Name: c.n.Name(c.is.ID)}
	d.Before = NodeState{ID: c.was.ID, Name: d.Name, Node: c.was, Type: c.n.Type(c.was.ID)}
	d.After = NodeState{ID: c.is.ID, Name: d.Name, Node: c.is, Type: d.Before.Type}
	c.each(func(a, b Field, had, has bool) bool {
		if len(d.After.Fields) == maxFields {
			d.Left = true
			return false
		}
		if had {
			c.n.read(c.before, &a)
		}
		if has {
			c.n.read(c.after, &b)
		}
		switch {
		case !had:
			a = Field{Path: b.Path, Addr: b.Addr, Size: b.Size, Value: "beyond its end"}
		case !has:
			b = Field{Path: a.Path, Addr: a.Addr, Size: a.Size, Value: "beyond its end"}
		}
		d.Before.Fields, d.After.Fields = append(d.Before.Fields, a), append(d.After.Fields, b)
		return true
	})
	return d
}

// part reads the bytes [lo, hi) of a node, by offset, into the room of others.
func part(v mgpp.View, n mgpp.Node, lo, hi uint64, b *mgpp.Bytes) {
	b.Data = append(b.Data[:0], make([]byte, hi-lo)...)
	b.Written = append(b.Written[:0], make([]bool, hi-lo)...)
	v.Read(n.Start+trace.Addr(lo), b)
}
