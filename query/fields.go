package query

import (
	"fmt"

	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// Field is a scalar of a node at a time.
type Field struct {
	Path    string // "child[2]"; "+16" in a node of unknown type
	Addr    trace.Addr
	Size    uint64 // bytes
	Value   string // in words
	Known   bool   // every byte is
	Pointer bool
	Target  mgpp.Target // of a pointer
	scalar  types.Scalar
}

// maxFields bounds the fields that are listed of one node.
const maxFields = 256

// Fields lists the fields of a node, in order, of a large array the first. A node
// of unknown type has words.
func (n *Names) Fields(v mgpp.View, id mgpp.NodeID) []Field {
	var out []Field
	_, size := n.extent(v, id)
	n.each(v, id, 0, size, func(f Field) bool {
		out = append(out, f)
		return len(out) < maxFields
	})
	for i := range out {
		n.read(v, &out[i])
	}
	return out
}

// extent is where a node lies, dead or alive, and its size.
func (n *Names) extent(v mgpp.View, id mgpp.NodeID) (start trace.Addr, size uint64) {
	if node, ok := v.Node(id); ok {
		return node.Start, node.Size
	}
	return n.hist.Node(id).Start, n.hist.NodeSize(id, v.Time())
}

// NameAt names what lies at an address: "qdtree#17.child[0]"; "" where no node is.
func (n *Names) NameAt(v mgpp.View, addr trace.Addr) string {
	id, ok := v.NodeAt(addr)
	if !ok {
		return ""
	}
	f, _ := n.FieldAt(v, id, addr)
	return join(n.Name(id), f.Path)
}

// FieldAt returns the field that covers an address of a node.
func (n *Names) FieldAt(v mgpp.View, id mgpp.NodeID, addr trace.Addr) (Field, bool) {
	f, ok := n.covering(v, id, addr)
	if ok {
		n.read(v, &f)
	}
	return f, ok
}

// covering is FieldAt without the value.
func (n *Names) covering(v mgpp.View, id mgpp.NodeID, addr trace.Addr) (f Field, ok bool) {
	start, _ := n.extent(v, id)
	off := uint64(addr - start)
	n.each(v, id, off, off+1, func(x Field) bool {
		f, ok = x, true
		return false
	})
	return f, ok
}

// each gives the fields of a node that overlap [lo, hi), offsets in it, without
// their values.
func (n *Names) each(v mgpp.View, id mgpp.NodeID, lo, hi uint64, f func(Field) bool) {
	t := n.Type(id)
	start, size := n.extent(v, id)
	give := func(s types.Scalar, at int64, path string) bool {
		if s.Size <= 0 || at < 0 || uint64(at+s.Size) > size {
			return false
		}
		if uint64(at) >= hi || uint64(at+s.Size) <= lo {
			return true
		}
		return f(Field{Path: path, Addr: start + trace.Addr(at), Size: uint64(s.Size), scalar: s})
	}
	if t.Type == nil || t.Type.Size <= 0 || t.Offset < 0 {
		for at := lo &^ 7; at < min(hi, size); at += 8 {
			s := types.Scalar{Size: int64(min(8, size-at))}
			if !give(s, int64(at), fmt.Sprintf("+%d", at)) {
				return
			}
		}
		return
	}
	if !t.Array {
		if scalars(t.Type, t.Offset, "", give) {
			flexible(t.Type, t.Offset, lo, hi, size, give)
		}
		return
	}
	elements(t.Type, t.Offset, lo, hi, size, "", give)
}

// scalars gives those of one layout; of a union its words, since which member is meant is
// not known.
func scalars(t *types.Type, base int64, prefix string, give func(types.Scalar, int64, string) bool) bool {
	for _, s := range t.Scalars() {
		if s.Type != nil && s.Type.Kind == types.Union {
			for at := int64(0); at < s.Size; at += 8 {
				path := join(prefix, s.Path)
				if at > 0 {
					path += fmt.Sprintf("+%d", at)
				}
				if !give(types.Scalar{Size: min(8, s.Size-at)}, base+s.Offset+at, path) {
					return false
				}
			}
			continue
		}
		if !give(s, base+s.Offset, join(prefix, s.Path)) {
			return false
		}
	}
	return true
}

// flexible gives the elements of a flexible array at the end of a layout.
func flexible(t *types.Type, base int64, lo, hi, size uint64, give func(types.Scalar, int64, string) bool) {
	if a, m, first := t.Tail(); a != nil {
		elements(a.Elem, base+m.Offset, max(lo, uint64(base+m.Offset+first*a.Elem.Size)), hi, size, m.Name, give)
	}
}

// elements gives those that may overlap [lo, hi) of an array that goes on to the end of the
// node.
func elements(t *types.Type, base int64, lo, hi, size uint64, name string, give func(types.Scalar, int64, string) bool) {
	if t.Size <= 0 {
		return
	}
	for i := max(0, int64(lo)-base) / t.Size; base+(i+1)*t.Size <= int64(size) && uint64(base+i*t.Size) < hi; i++ {
		if !scalars(t, base+i*t.Size, fmt.Sprintf("%s[%d]", name, i), give) {
			return
		}
	}
}

// join puts a field behind what it belongs to: "qdtree#1.child[0]".
func join(prefix, path string) string {
	if prefix == "" || path == "" || path[0] == '[' || path[0] == '+' {
		return prefix + path
	}
	return prefix + "." + path
}

// read fills in the field's value. A value that is unknown says why.
func (n *Names) read(v mgpp.View, f *Field) {
	var data [16]byte
	var written [16]bool
	size := min(f.Size, 16)
	b := mgpp.Bytes{Data: data[:size], Written: written[:size]}
	if !v.Read(f.Addr, &b) {
		f.Value = "in no node"
		return
	}
	known := 0
	for _, w := range b.Written {
		if w {
			known++
		}
	}
	switch f.Known = known == len(b.Written); {
	case known == 0:
		f.Value = n.unwritten(v, f)
		return
	case !f.Known:
		f.Value = "partly written"
		return
	}
	t := f.scalar.Type
	f.Pointer = size == 8 && (t == nil || t.Kind == types.Pointer)
	if f.Pointer {
		f.Target = v.Target(f.Addr, coded.Plain)
		if t != nil || f.Target.State == mgpp.Points || f.Target.State == mgpp.Dangling && plausible(f.Target.Value) {
			f.Value = n.target(f.Target)
			return
		}
		f.Pointer = false
	}
	if t == nil {
		f.Value = fmt.Sprintf("%#x", little(b.Data))
		return
	}
	f.Value = types.Read(f.scalar, b.Data).String()
}

// neverWritten is the value of bytes that nothing was stored to.
const neverWritten = "never written"

// unwritten says of bytes that hold no known value whether nothing was stored or
// what was stored is not known.
func (n *Names) unwritten(v mgpp.View, f *Field) string {
	id, _ := v.NodeAt(f.Addr)
	node, _ := v.Node(id)
	since := n.since(&node, v.Time())(f.Addr)
	if t := n.hist.LastWrite(f.Addr, f.Size, v.Time()); t > since || since == node.Birth && (node.Before || node.Global != 0) {
		return "unknown"
	}
	return neverWritten
}

// plausible: a word of unknown type is taken for a pointer only if it can be one.
func plausible(v uint64) bool { return v >= 1<<16 }

func little(b []byte) (v uint64) {
	for i, x := range b[:min(len(b), 8)] {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// target puts what a pointer leads to into words.
func (n *Names) target(t mgpp.Target) string {
	addr := fmt.Sprintf("%#x", t.Value)
	switch t.State {
	case mgpp.Null:
		return "NULL"
	case mgpp.Points:
		if t.Offset != 0 {
			return fmt.Sprintf("%s+%d", n.Name(t.Node), t.Offset)
		}
		return n.Name(t.Node)
	case mgpp.Dangling:
		if t.Reused != 0 {
			return fmt.Sprintf("%s (freed %s; now %s is there)", addr, n.Name(t.Node), n.Name(t.Reused))
		}
		return fmt.Sprintf("%s (freed %s)", addr, n.Name(t.Node))
	case mgpp.Wild:
		if n.Entry != nil {
			if f := n.Entry(trace.Addr(t.Value)); f != "" {
				return addr + " (function " + f + ")"
			}
		}
		return addr + " (no node)"
	}
	return neverWritten
}
