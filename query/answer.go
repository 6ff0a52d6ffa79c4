package query

import (
	"fmt"
	"iter"

	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
)

// Place is where a statement stands.
type Place struct {
	File     string         `json:"file,omitempty"`
	Path     string         `json:"path,omitempty"` // of the file, as debug information has it
	Line     int            `json:"line,omitempty"`
	Function string         `json:"function,omitempty"`
	Source   string         `json:"source,omitempty"` // the text of the line
	Address  string         `json:"address"`
	Inlined  []report.Place `json:"inlined_into,omitempty"`
}

// Run is what of a run puts answers into words.
type Run interface {
	Place(pc trace.Addr) Place
	// During names the call during which a change was made, "" if none is known.
	During(mgpp.Timestamp) string
}

// Answers turns what Names finds into what is printed.
type Answers struct {
	*Names
	Run Run
}

// ChangeAnswer is a change with its statement.
type ChangeAnswer struct {
	Change    uint64  `json:"change"`
	Kind      string  `json:"kind"` // "store", "bulk write", "allocation", "free", "resize", "move", "unreadable write"
	What      string  `json:"what"`
	Before    string  `json:"before,omitempty"`
	After     string  `json:"after,omitempty"`
	Same      bool    `json:"same_value,omitempty"`
	Writer    string  `json:"writer,omitempty"` // the function or allocator: memcpy
	Thread    uint32  `json:"thread"`
	Wall      *int64  `json:"wall_ns,omitempty"` // since recording began
	Call      string  `json:"call,omitempty"`
	Statement Place   `json:"statement"`
	Stack     []Place `json:"stack,omitempty"` // of an allocation, innermost first
}

var kinds = map[mgpp.OpKind]string{ // read-only
	mgpp.OpStore: "store", mgpp.OpBulk: "bulk write", mgpp.OpBirth: "allocation", mgpp.OpDeath: "free",
	mgpp.OpResize: "resize", mgpp.OpMove: "move", mgpp.OpUnread: "unreadable write", mgpp.OpEnter: "enter", mgpp.OpLeave: "leave",
}

func (a *Answers) change(c Change) ChangeAnswer {
	out := ChangeAnswer{
		Change: uint64(c.Op.Time), Kind: kinds[c.Op.Kind], What: c.What, Before: c.Before, After: c.After, Same: c.Same,
		Writer: c.Op.Name, Thread: uint32(c.Op.Thread), Call: a.Run.During(c.Op.Time), Statement: a.Run.Place(c.Op.PC),
	}
	if c.Op.Wall >= 0 {
		out.Wall = &c.Op.Wall
	}
	if c.Op.Kind == mgpp.OpBirth || c.Op.Kind == mgpp.OpMove {
		made := c.Op.Node
		if c.Op.Kind == mgpp.OpMove {
			made = c.Op.Other
		}
		for _, pc := range a.hist.Node(made).Stack {
			out.Stack = append(out.Stack, a.Run.Place(pc-1))
			if out.Stack[len(out.Stack)-1].Function == "main" {
				break // what starts the program is nobody's question
			}
		}
	}
	return out
}

// Who is the answer to: who wrote this?
type Who struct {
	Cell    string         `json:"cell"`
	Addr    string         `json:"address"`
	Size    uint64         `json:"size"`
	Type    string         `json:"type,omitempty"`
	Value   string         `json:"value,omitempty"`       // at the time
	Held    string         `json:"memory_held,omitempty"` // at the end, where no recorded change explains it
	Time    uint64         `json:"time"`
	Asked   string         `json:"asked"` // the time as it was asked for
	Now     uint64         `json:"changes_recorded"`
	Freed   bool           `json:"freed,omitempty"` // its block has died before
	Writers []ChangeAnswer `json:"writers"`
	Left    bool           `json:"older_ones_left,omitempty"`
}

// Who answers about a cell, with at most so many of its writers, 0: all.
func (a *Answers) Who(c Cell, t mgpp.Timestamp, asked string, most int) Who {
	w := Who{Cell: c.Name, Addr: hex(c.Addr), Size: c.Size, Time: uint64(t), Asked: asked, Now: uint64(a.hist.Now()), Freed: c.Dead, Writers: []ChangeAnswer{}}
	if c.Type != nil {
		w.Type = c.Type.String()
	}
	if c.as.BitSize > 0 {
		w.Type += fmt.Sprintf(":%d", c.as.BitSize)
	}
	switch {
	case c.Node == 0 || c.Dead:
	case c.as.Type != nil:
		f := c.field()
		a.read(a.hist.At(t), &f)
		w.Value = f.Value
	default:
		if f, ok := a.FieldAt(a.hist.At(t), c.Node, c.Addr); ok && f.Addr == c.Addr && f.Size >= c.Size {
			w.Value = f.Value
		}
	}
	next, stop := iter.Pull(a.Writers(c, t))
	defer stop()
	for {
		x, ok := next()
		if !ok {
			return w
		}
		if most > 0 && len(w.Writers) == most {
			w.Left = true
			return w
		}
		w.Writers = append(w.Writers, a.change(x))
	}
}

func hex(a trace.Addr) string { return fmt.Sprintf("%#x", uint64(a)) }

// NodeAnswer describes a node.
type NodeAnswer struct {
	Name   string        `json:"node"`
	Addr   string        `json:"address"`
	Size   uint64        `json:"size"`
	Type   string        `json:"type,omitempty"`
	Why    string        `json:"typed_by,omitempty"`
	Born   uint64        `json:"born"`
	Died   uint64        `json:"died,omitempty"`
	Fields []FieldAnswer `json:"fields,omitempty"`
}

// FieldAnswer is a field with its value.
type FieldAnswer struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	To    string `json:"to,omitempty"` // the node that it leads to
}

func (a *Answers) node(n mgpp.Node) NodeAnswer {
	t := a.Type(n.ID)
	out := NodeAnswer{Name: a.Name(n.ID), Addr: hex(n.Start), Size: n.Size, Why: t.Why, Born: uint64(n.Birth), Died: uint64(n.Death)}
	if t.Type != nil {
		out.Type = t.Type.String()
	}
	return out
}

func (a *Answers) state(s NodeState) NodeAnswer {
	out := a.node(s.Node)
	for _, f := range s.Fields {
		out.Fields = append(out.Fields, a.field(f))
	}
	return out
}

func (a *Answers) field(f Field) FieldAnswer {
	out := FieldAnswer{Name: f.Path, Value: f.Value}
	if f.Pointer && f.Target.State == mgpp.Points {
		out.To = a.Name(f.Target.Node)
	}
	return out
}

// LifeAnswer is what a node lived through.
type LifeAnswer struct {
	NodeAnswer
	Before  bool           `json:"there_before,omitempty"` // the history began
	Changes []ChangeAnswer `json:"changes"`
	Left    bool           `json:"older_ones_left,omitempty"`
}

// Life answers about a node.
func (a *Answers) Life(id mgpp.NodeID, until mgpp.Timestamp, most int) LifeAnswer {
	l := a.Names.Life(id, until, most)
	out := LifeAnswer{NodeAnswer: a.node(l.Node), Before: l.Node.Before || l.Node.Global != 0, Left: l.Left, Changes: []ChangeAnswer{}}
	for _, c := range l.Changes {
		out.Changes = append(out.Changes, a.change(c))
	}
	return out
}

// SnapshotAnswer is the memory graph at a time.
type SnapshotAnswer struct {
	Time  uint64       `json:"time"`
	Asked string       `json:"asked"`
	Live  int          `json:"live"`
	Nodes []NodeAnswer `json:"nodes"`

	Clusters []ClusterAnswer `json:"clusters,omitempty"`
}

// Snapshot answers what there was at a time.
func (a *Answers) Snapshot(s Snapshot, asked string) SnapshotAnswer {
	out := SnapshotAnswer{Time: uint64(s.Time), Asked: asked, Live: s.Live, Nodes: []NodeAnswer{}}
	for _, n := range s.Nodes {
		out.Nodes = append(out.Nodes, a.state(n))
	}
	out.Clusters = a.clusters(s.Clusters)
	return out
}

// DiffAnswer is what changed between two times.
type DiffAnswer struct {
	From    uint64       `json:"from"`
	To      uint64       `json:"to"`
	Born    []NodeAnswer `json:"born"`
	Died    []NodeAnswer `json:"died"`
	Changed []NodeChange `json:"changed"`
	Passing int          `json:"born_and_died"`
	In      DiffCounts   `json:"in_all"` // of which the lists may leave some out
	Left    int          `json:"left_out,omitempty"`

	Joined []ClusterAnswer `json:"joined,omitempty"`
	Parted []ClusterAnswer `json:"parted,omitempty"`
}

// NodeChange is a node that changed.
type NodeChange struct {
	Name   string        `json:"node"`
	Sizes  []uint64      `json:"sizes,omitempty"` // before and after, if they differ
	Fields []FieldChange `json:"fields"`
	Left   bool          `json:"more_fields,omitempty"`
}

// FieldChange is a field before and after.
type FieldChange struct {
	Name   string       `json:"name"`
	Before string       `json:"before"`
	After  string       `json:"after"`
	By     ChangeAnswer `json:"by"` // the last write to it
}

// Diff answers what changed.
func (a *Answers) Diff(d Diff) DiffAnswer {
	out := DiffAnswer{From: uint64(d.From), To: uint64(d.To), Passing: d.Passing, In: d.In, Left: d.Left(), Born: []NodeAnswer{}, Died: []NodeAnswer{}, Changed: []NodeChange{}}
	for _, n := range d.Born {
		out.Born = append(out.Born, a.state(n))
	}
	for _, n := range d.Died {
		out.Died = append(out.Died, a.node(n.Node))
	}
	for _, n := range d.Changed {
		c := NodeChange{Name: n.Name, Left: n.Left, Fields: []FieldChange{}}
		if x, y := n.Before.Node.Size, n.After.Node.Size; x != y {
			c.Sizes = []uint64{x, y}
		}
		for i, f := range n.After.Fields {
			fc := FieldChange{Name: f.Path, Before: n.Before.Fields[i].Value, After: f.Value}
			cell := Cell{Node: n.ID, Addr: f.Addr, Size: f.Size}
			for w := range a.Writers(cell, d.To) {
				fc.By = a.change(w)
				break
			}
			c.Fields = append(c.Fields, fc)
		}
		out.Changed = append(out.Changed, c)
	}
	out.Joined, out.Parted = a.clusters(d.Joined), a.clusters(d.Parted)
	return out
}
