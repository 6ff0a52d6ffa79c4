package mine

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
	"mgtrace/types"
)

// portrait is what was seen of the fields of a type: it says which candidates are
// worth making.
type portrait struct {
	typ     *check.NodeType
	links   []*link
	fields  []*field
	lengths []*field // of containers of the C++ library
	arrays  []*array
	spans   []*span
	alone   bool // one node was all that was ever seen, as an owner of all is
	met     int  // nodes at the times that were looked at, one that was there at several as often
}

// link is a pointer field, or an array of them.
type link struct {
	name  string
	count int64 // elements; 1: a plain pointer; -1: to the end of the block
	array bool
	edge  bool           // one of the type's edges
	typed bool           // it is declared to lead to the type itself, or a class that derives from it, so that fields can be named through it
	union bool           // other members of a union may lie there: that it is NULL says nothing
	when  string         // it is in use, if only then; "": always, or nobody can say
	elem  *types.Type    // what it is declared to lead to; nil: unknown
	to    map[string]int // pointers to nodes, by type
	set   int            // not NULL
	null  int
	lost  int // to no node that is alive
	self  int // to its own node, as a ring of one does
	// shared: several nodes led to one at a time, as children to their parent. into holds who was the last to lead there, and when.
	shared bool
	into   map[graph.ObjID]arrival
}

// arrival is that a node leads to another one at a time.
type arrival struct {
	from graph.ObjID
	at   mgpp.Timestamp
}

// leadsTo reports whether the link was seen to lead to a type, and to no other.
func (l *link) leadsTo(t string) bool { return l.to[t] > 0 && len(l.to) == 1 }

// on says that the pointer leads on to another node: that of a ring of one leads to its own, with which all is the same.
func (l *link) on() string {
	if l.self > 0 {
		return fmt.Sprintf("X.%s != NULL and X.%s != X", l.name, l.name)
	}
	return fmt.Sprintf("X.%s != NULL", l.name)
}

// field is a number in a node.
type field struct {
	name     string
	typ      *types.Type
	size     int64
	offset   int64
	bits     [2]int        // offset and size; size 0: no bit-field
	values   map[int64]int // different nodes that had it
	met      map[sighting]bool
	many     bool    // more different values than are counted
	shared   bool    // two nodes had one value at a time: it is no key
	all      []whole // by time
	min, max int64
	n        int
}

// sighting is a value in a node: that it stays there is no further evidence.
type sighting struct {
	node  graph.ObjID
	value int64
}

// array is an array of numbers in a node.
type array struct {
	name  string
	count int64
	typ   *types.Type
}

const maxValues = 4096 // different values of a field that are counted

// portray looks at all nodes of a type at some times.
func portray(of *trial, t *check.NodeType, times []mgpp.Timestamp) *portrait {
	r, g := of.run, of.graph
	p := &portrait{typ: t}
	if t.Layout == nil {
		return p
	}
	for i := range t.Edges {
		c := &t.Edges[i]
		p.links = append(p.links, &link{name: c.Name, count: c.Count, array: c.Count != 1, edge: true, typed: sameStruct(c.Elem, t.Layout) || c.Elem != nil && derives(c.Elem, t.Layout), union: c.InUnion && len(c.Used) == 0, when: whenUsed(c), elem: c.Elem, to: map[string]int{}, into: map[graph.ObjID]arrival{}})
	}
	for _, s := range t.Layout.Scalars() {
		if s.Type == nil || s.VTable || strings.Contains(s.Path, "[") || internal(s.Path) && !containerSize(s.Path) || inPart(of.spec, t, s.Path) {
			continue
		}
		switch s.Type.Kind {
		case types.Int, types.Uint, types.Bool, types.Enum:
			into := &p.fields
			if containerSize(s.Path) {
				into = &p.lengths
			}
			*into = append(*into, newField(s))
		case types.Pointer:
			if !slices.ContainsFunc(p.links, func(l *link) bool { return l.name == s.Path }) && s.Type.Elem != nil && s.Type.Elem.Kind != types.Func {
				p.links = append(p.links, &link{name: s.Path, count: 1, to: map[string]int{}})
			}
		}
	}
	for _, s := range unshared(t.Layout, "", 0, 0) {
		p.fields = append(p.fields, newField(s))
	}
	p.listArrays(t.Layout, "", 0)
	g.Advance()
	var nodes []graph.ObjID
	seen := map[graph.ObjID]bool{}
	for _, at := range times {
		v := r.History.At(at)
		nodes = g.Live(t, at, nodes[:0])
		p.met += len(nodes)
		for _, o := range nodes {
			seen[o] = true
			for i := range t.Edges {
				p.links[i].note(of, v, o, &t.Edges[i])
			}
		}
		for _, f := range slices.Concat(p.fields, p.lengths) {
			now, all := map[int64]bool{}, whole{known: true}
			for _, o := range nodes {
				x, ok := f.note(v, o, g.Object(o).Addr)
				if ok {
					f.shared = f.shared || now[x]
					now[x] = true
				}
				all.sum, all.known = all.sum+x, all.known && ok
			}
			f.all = append(f.all, all)
		}
	}
	p.alone = len(seen) == 1
	p.links = withoutCounts(p.links)
	p.notePayload(r, g, times)
	p.listSpans(r, g, times)
	return p
}

// inPart reports whether a path of a node leads into a part that is a node of its own, of which everything is said.
func inPart(spec *check.Spec, t *check.NodeType, path string) bool {
	return slices.ContainsFunc(spec.Embeds, func(e check.Embed) bool { return e.Host == t && strings.HasPrefix(path, e.Member+".") })
}

// newField is a number of a node of which no value has been seen.
func newField(s types.Scalar) *field {
	return &field{name: s.Path, typ: s.Type, size: s.Size, offset: s.Offset, bits: [2]int{s.BitOffset, s.BitSize}, values: map[int64]int{}, met: map[sighting]bool{}}
}

// withoutCounts leaves out pointers that lie in what reads as a pointer itself: of a smart pointer that to its counts, which
// may lie in one block with the node.
func withoutCounts(links []*link) []*link {
	return slices.DeleteFunc(slices.Clone(links), func(l *link) bool {
		return slices.ContainsFunc(links, func(of *link) bool { return strings.HasPrefix(l.name, of.name+".") })
	})
}

// internal reports whether a path leads into an object of the standard library, whose
// members have names that the language reserves for it: X.lock.__data, X.kids._M_impl.
// An object that is the library's own has its facts all the same.
func internal(path string) bool {
	parts := strings.Split(path, ".")
	return !reserved(parts[0]) && slices.ContainsFunc(parts[1:], reserved)
}

// deep reports whether a path leads to what an object of the standard library keeps in a part of its own, as a list its first node: an
// iterator's pointer, which is all that it has, is not deep.
func deep(path string) bool {
	parts := strings.Split(path, ".")
	own := len(parts)
	for own > 0 && reserved(parts[own-1]) {
		own--
	}
	return own > 0 && len(parts)-own > 1
}

// reserved reports whether the language reserves a name for the implementation.
func reserved(name string) bool {
	return strings.HasPrefix(name, "__") || len(name) > 1 && name[0] == '_' && 'A' <= name[1] && name[1] <= 'Z'
}

// maxNesting bounds structures within structures.
const maxNesting = 4

func (p *portrait) listArrays(t *types.Type, path string, depth int) {
	for _, m := range t.Members {
		if m.Base && m.Type != nil && depth < maxNesting {
			p.listArrays(m.Type, path, depth+1)
			continue
		}
		if m.Type == nil || m.Name == "" || internal(path+m.Name) {
			continue
		}
		switch m.Type.Kind {
		case types.Array:
			if e := m.Type.Elem; e != nil && m.Type.Count > 1 && integer(e) && e.Size > 1 {
				p.arrays = append(p.arrays, &array{path + m.Name, m.Type.Count, e})
			}
		case types.Struct:
			if depth < maxNesting {
				p.listArrays(m.Type, path+m.Name+".", depth+1)
			}
		}
	}
}

func (l *link) note(of *trial, v mgpp.View, o graph.ObjID, c *check.EdgeCell) {
	g := of.graph
	for i := range graph.Elems(c, g.Size(o, v.Time())) {
		if !of.checker.InUse(v, o, c, i) {
			continue
		}
		tgt := v.Target(g.CellAddr(o, c, i), c.Coded)
		if tgt.State == mgpp.Null || tgt.State == mgpp.Unwritten || of.checker.StandsForNull(tgt, c.Elem, v) {
			l.null++
			continue
		}
		l.set++
		if to := g.Resolve(v.Time(), tgt, c.Elem, g.Object(o).Type); to != 0 && g.Object(to).Type != nil {
			l.to[g.Object(to).Type.Name]++
			if to == o {
				l.self++
			}
			was, ok := l.into[to]
			l.shared = l.shared || ok && was.at == v.Time() && was.from != o
			l.into[to] = arrival{o, v.Time()}
		} else {
			l.lost++
		}
	}
}

// notePayload looks at the pointers that are no edges: whether they are NULL.
func (p *portrait) notePayload(r *Run, g *graph.Graph, times []mgpp.Timestamp) {
	var nodes []graph.ObjID
	for _, l := range p.links {
		place, err := p.typ.Layout.Find(l.name)
		if l.edge || err != nil {
			continue
		}
		for _, at := range times {
			v := r.History.At(at)
			nodes = g.Live(p.typ, at, nodes[:0])
			for _, o := range nodes {
				switch v.Target(g.Object(o).Addr+trace.Addr(place.Offset), coded.Plain).State {
				case mgpp.Null:
					l.null++
				case mgpp.Unwritten:
				default:
					l.set++
				}
			}
		}
	}
}

// read reads the field of what lies at an address. Not ok: it was never written.
func (f *field) read(v mgpp.View, addr trace.Addr) (x int64, ok bool) {
	var data [8]byte
	var written [8]bool
	if f.size < 1 || f.size > 8 {
		return 0, false
	}
	b := mgpp.Bytes{Data: data[:f.size], Written: written[:f.size]}
	if !v.Read(addr+trace.Addr(f.offset), &b) || slices.Contains(b.Written, false) {
		return 0, false
	}
	return f.value(binary.LittleEndian.Uint64(data[:])), true
}

// note takes in the value of a node. Not ok: it has none.
func (f *field) note(v mgpp.View, o graph.ObjID, addr trace.Addr) (x int64, ok bool) {
	x, ok = f.read(v, addr)
	if !ok {
		return 0, false
	}
	if f.met[sighting{o, x}] {
		return x, true
	}
	f.met[sighting{o, x}] = true
	if f.n == 0 || x < f.min {
		f.min = x
	}
	if f.n == 0 || x > f.max {
		f.max = x
	}
	f.n++
	if len(f.values) < maxValues || f.values[x] > 0 {
		f.values[x]++
	} else {
		f.many = true
	}
	return x, true
}

// alike is the share of pairs of nodes that have one value, as far as any had at a time: of a key, 0.
func (f *field) alike() float64 {
	if !f.shared || f.n < 2 {
		return 0
	}
	pairs := 0.0
	for _, n := range f.values {
		pairs += float64(n) * float64(n-1)
	}
	return pairs / (float64(f.n) * float64(f.n-1))
}

// value cuts the field out of its bytes and extends its sign.
func (f *field) value(raw uint64) int64 {
	width := int(f.size) * 8
	if f.bits[1] > 0 {
		raw >>= f.bits[0]
		width = f.bits[1]
	}
	raw <<= 64 - width
	if f.typ.Kind == types.Int || f.typ.Kind == types.Enum && f.typ.Signed {
		return int64(raw) >> (64 - width)
	}
	if v := raw >> (64 - width); v <= math.MaxInt64 {
		return int64(v)
	}
	return math.MaxInt64
}

// serial reports whether the number was greater in each node than in those that were made before, and stayed what it was.
func (f *field) serial() bool {
	met := slices.SortedFunc(maps.Keys(f.met), func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.value, b.value))
	})
	for i := 1; i < len(met); i++ {
		if met[i].node == met[i-1].node || met[i].value <= met[i-1].value {
			return false
		}
	}
	return len(met) > 1
}

// serials are the values of a number that is serial, in order; nil: it is none.
func (p *portrait) serials(name string) []int64 {
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.fields, func(f *field) bool { return f.name == name })
	if i < 0 || !p.fields[i].serial() {
		return nil
	}
	return p.fields[i].sorted()
}

// sorted returns the values seen, the smallest first.
func (f *field) sorted() []int64 {
	var out []int64
	for v := range f.values {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// own returns the links that were seen to lead to nodes of the type itself, those
// last whose names say that they lead back.
func (p *portrait) own() []*link {
	var out []*link
	for _, l := range p.links {
		if l.edge && l.leadsTo(p.typ.Name) {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b *link) int { return btoi(a.leadsBack()) - btoi(b.leadsBack()) })
	return out
}

// leadsBack: by its name.
func (l *link) leadsBack() bool {
	name := strings.ToLower(l.name[strings.LastIndex(l.name, ".")+1:])
	return slices.ContainsFunc([]string{"prev", "pred", "parent", "back", "last", "owner"}, func(s string) bool { return strings.Contains(name, s) })
}

// integer: what is of the type is a whole number.
func integer(t *types.Type) bool { return t.Kind == types.Int || t.Kind == types.Uint }
