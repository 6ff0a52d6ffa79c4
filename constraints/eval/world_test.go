package eval_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/constraints/syntax"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// world is a small machine: a history that a test writes, and a checker of it.
type world struct {
	tb   testing.TB
	spec *check.Spec
	h    *mgpp.History
	g    *graph.Graph
	c    *eval.Checker
	next trace.Addr
	free map[uint64][]trace.Addr
	size map[trace.Addr]uint64
	// eager: the graph follows each write, and passes by those that concern nothing.
	eager bool
}

func parse(tb testing.TB, text string) *check.Spec {
	tb.Helper()
	tree, errs := syntax.Parse("test.cons", text)
	for _, e := range errs {
		tb.Fatal(e)
	}
	p := &program{graphtest.NewProgram()}
	if _, bad := p.Decls.Parse(syntax.CSource(tree)); len(bad) > 0 {
		tb.Fatal(bad)
	}
	p.Decls.Link()
	spec, errs := check.Check(tree, p)
	for _, e := range errs {
		if !e.Warning {
			tb.Fatal(e)
		}
	}
	return spec
}

// program is what check asks: of any name there is a variable. If there is a
// struct of that name it is its type.
type program struct{ graphtest.Program }

func (p *program) LookupGlobal(_, name string) []check.Variable {
	if x := p.Decls.Lookup(name); x != nil {
		return []check.Variable{{Name: name, Type: x, Addr: staticMemory, Size: x.Size}}
	}
	return []check.Variable{{Name: name, Addr: staticMemory, Size: 16}}
}

const staticMemory = 0x900

const aFunction = 0x700 // visit begins there

func newWorld(tb testing.TB, text string) *world {
	tb.Helper()
	spec := parse(tb, text)
	w := &world{tb: tb, spec: spec, h: mgpp.New(mgpp.Options{Arenas: len(spec.Reaches) > 0}), next: 0x10000, free: map[uint64][]trace.Addr{}, size: map[trace.Addr]uint64{}}
	w.g = graph.New(w.spec, w.h, w, graph.Options{Entry: func(addr trace.Addr) string { return map[trace.Addr]string{aFunction: "visit"}[addr] }})
	w.c = eval.NewChecker(w.spec, w.h, w.g, eval.Options{})
	return w
}

// TypeOf: the allocator's name is "malloc" for no type, else "malloc TYPE".
func (w *world) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	_, name, _ := strings.Cut(n.Alloc, " ")
	for _, t := range w.spec.Types {
		if t.Name == name {
			return t, 0, "test"
		}
	}
	return nil, 0, ""
}

func (w *world) apply(ev trace.Event) mgpp.Timestamp {
	w.tb.Helper()
	var obj graph.ObjID
	sure, before := false, w.h.Now()
	if w.eager && (ev.Kind == trace.KindStore || ev.Kind == trace.KindBulk) {
		w.g.Trail()
		obj, sure = w.g.Concerned(ev.Addr, max(ev.Size, uint64(len(ev.Data))))
	}
	t, err := w.h.Apply(&ev)
	if err != nil {
		w.tb.Fatal(err)
	}
	switch {
	case sure && obj != 0 && t == before+1:
		var op mgpp.Brief
		w.h.Brief(t, &op)
		w.g.Wrote(obj, t, &op)
	case sure && obj == 0:
		w.g.Passed()
	}
	return t
}

// alloc allocates a node of a type ("" for none); zeroed like calloc.
func (w *world) alloc(typ string, size uint64, zeroed bool) trace.Addr {
	w.tb.Helper()
	addr := w.next
	if f := w.free[size]; len(f) > 0 { // reuse, as allocators do
		addr = f[len(f)-1]
		w.free[size] = f[:len(f)-1]
	} else {
		w.next += trace.Addr(size+15+16) &^ 15
	}
	name := "malloc"
	if typ != "" {
		name += " " + typ
	}
	ev := trace.Event{Kind: trace.KindAlloc, Addr: addr, Size: size, Name: name, Thread: 1}
	if zeroed {
		ev.Flags = trace.FlagZeroed
	}
	w.size[addr] = size
	w.apply(ev)
	return addr
}

func (w *world) release(addr trace.Addr) {
	w.apply(trace.Event{Kind: trace.KindFree, Addr: addr, Thread: 1})
	size := w.size[addr]
	w.free[size] = append(w.free[size], addr)
}

func (w *world) put8(addr trace.Addr, v uint64) mgpp.Timestamp {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return w.apply(trace.Event{Kind: trace.KindStore, Addr: addr, Size: 8, Data: b[:], Thread: 1})
}

func (w *world) put4(addr trace.Addr, v uint32) mgpp.Timestamp {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return w.apply(trace.Event{Kind: trace.KindStore, Addr: addr, Size: 4, Data: b[:], Thread: 1})
}

func (w *world) global(i int, name string, addr trace.Addr, data []byte) {
	w.apply(trace.Event{Kind: trace.KindGlobal, Aux: uint64(i), Addr: addr, Size: uint64(len(data)), Data: data, Name: name})
}

func (w *world) all() []eval.Inconsistency { return eval.Scratch(w.c, w.h.At(w.h.Now())) }

// lines describes inconsistencies: "label X=node#1 Y=node#2: reason".
func (w *world) lines(found []eval.Inconsistency) []string {
	var out []string
	for _, f := range found {
		s := w.c.Label(f.Instance)
		if f.Instance.SCC != 0 {
			s += " @" + w.g.Name(f.Instance.SCC)
		}
		if i := f.Instance.Constraint; i >= 0 && i < len(w.spec.Constraints) && f.Instance.SCC == 0 {
			for n, v := range w.spec.Constraints[i].Vars[:w.spec.Constraints[i].Universal] {
				s += " " + v.Name + "=" + w.g.Name(f.Instance.Nodes[n])
			}
		}
		out = append(out, s+": "+f.Reason)
	}
	return out
}
