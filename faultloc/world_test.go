package faultloc

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/constraints/syntax"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// world is a program that exists in the test only: its memory, and what is
// known of it. A statement is a line number, and that is its program counter.
type world struct {
	t testing.TB
	graphtest.Program
	spec    *check.Spec
	hist    *mgpp.History
	graph   *graph.Graph
	checker *eval.Checker
	blocks  map[string]*block
	types   map[mgpp.NodeID]*check.NodeType
	next    trace.Addr
	healthy mgpp.Timestamp // the last C-point
}

type block struct {
	addr trace.Addr
	typ  *check.NodeType
	size uint64
}

// newWorld checks a specification that declares its structs in C.
func newWorld(t testing.TB, text string) *world {
	t.Helper()
	file, errs := syntax.Parse("test.cons", text)
	w := &world{t: t, Program: graphtest.NewProgram(), hist: mgpp.New(mgpp.Options{}),
		blocks: map[string]*block{}, types: map[mgpp.NodeID]*check.NodeType{}, next: 0x7f0000001000}
	if _, bad := w.Decls.Parse(syntax.CSource(file)); len(bad) > 0 {
		t.Fatal(bad)
	}
	w.Decls.Link()
	spec, more := check.Check(file, w)
	for _, e := range append(errs, more...) {
		t.Fatal(e.Format(text))
	}
	w.spec = spec
	w.graph = graph.New(spec, w.hist, w, graph.Options{})
	w.checker = eval.NewChecker(spec, w.hist, w.graph, eval.Options{})
	for i, g := range spec.Globals {
		w.apply(&trace.Event{Kind: trace.KindGlobal, Addr: staticMemory, Size: uint64(g.Size), Data: make([]byte, g.Size), Aux: uint64(i + 1)})
	}
	return w
}

// The program that check asks.

// LookupGlobal: every "name" is a variable of type "struct name".
func (w *world) LookupGlobal(_, name string) []check.Variable {
	if x := w.Decls.Lookup(name); x != nil {
		return []check.Variable{{Name: name, Type: x, Addr: staticMemory, Size: x.Size}}
	}
	return nil
}

const staticMemory = 0x404000

// TypeOf implements graph.Typing.
func (w *world) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	return w.types[n.ID], 0, "by the test"
}

// run executes a program in words, a statement per line:
//
//	16: n1 = calloc qdtree [bytes]   or malloc
//	31: n1.child[0] = n2             or NULL, a number, n2+8
//	40: memcpy n1.key 1 2 3          8-byte words from that field on, in one operation
//	50: free n3
//	cpoint                           all was well here
//
// What stands behind # is a comment.
func (w *world) run(program string) {
	w.t.Helper()
	for _, line := range strings.Split(program, "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if f[0] == "cpoint" {
			w.healthy = w.hist.Now()
			if found := w.checker.Check(w.healthy, nil); len(found) > 0 {
				w.t.Fatalf("inconsistent at a C-point that should be healthy: %v", found)
			}
			continue
		}
		pc, err := strconv.ParseUint(strings.TrimSuffix(f[0], ":"), 10, 64)
		if err != nil {
			w.t.Fatalf("%q: no line number", line)
		}
		w.statement(trace.Addr(pc), f[1:])
	}
}

func (w *world) statement(pc trace.Addr, f []string) {
	w.t.Helper()
	switch {
	case f[0] == "free":
		b := w.block(f[1])
		w.apply(&trace.Event{Kind: trace.KindFree, PC: pc, Addr: b.addr, Name: "free"})
	case f[0] == "memcpy":
		at, _ := w.cell(f[1])
		var data []byte
		for _, v := range f[2:] {
			data = binary.LittleEndian.AppendUint64(data, w.value(v))
		}
		w.apply(&trace.Event{Kind: trace.KindBulk, PC: pc, Addr: at, Size: uint64(len(data)), Data: data, Base: at, Name: "memcpy"})
	case f[2] == "calloc" || f[2] == "malloc":
		bytes := 0
		if len(f) > 4 {
			bytes, _ = strconv.Atoi(f[4])
		}
		w.alloc(pc, f[0], f[3], bytes, f[2] == "calloc", 0)
	default:
		at, size := w.cell(f[0])
		w.store(pc, at, size, w.value(f[2]))
	}
}

func (w *world) apply(ev *trace.Event) {
	w.t.Helper()
	if _, err := w.hist.Apply(ev); err != nil {
		w.t.Fatal(err)
	}
}

// alloc makes a block; at 0: where nothing ever was.
func (w *world) alloc(pc trace.Addr, name, typ string, bytes int, zeroed bool, at trace.Addr) *block {
	w.t.Helper()
	i := slices.IndexFunc(w.spec.Types, func(n *check.NodeType) bool { return n.Name == typ })
	if i < 0 {
		w.t.Fatalf("no type %s", typ)
	}
	b := &block{addr: at, typ: w.spec.Types[i], size: uint64(bytes)}
	if bytes == 0 {
		b.size = uint64(b.typ.Layout.Size)
	}
	if at == 0 {
		b.addr = w.next
		w.next += trace.Addr(b.size+31) &^ 15
	}
	w.blocks[name] = b
	ev := trace.Event{Kind: trace.KindAlloc, PC: pc, Addr: b.addr, Size: b.size, Name: "malloc"}
	if zeroed {
		ev.Flags, ev.Name = trace.FlagZeroed, "calloc"
	}
	w.apply(&ev)
	if id, ok := w.hist.NodeAtTime(b.addr, w.hist.Now()); ok {
		w.types[id] = b.typ
	}
	return b
}

func (w *world) store(pc, at trace.Addr, size int, v uint64) {
	w.t.Helper()
	data := binary.LittleEndian.AppendUint64(nil, v)[:size]
	w.apply(&trace.Event{Kind: trace.KindStore, PC: pc, Addr: at, Size: uint64(size), Data: data, Base: at})
}

func (w *world) block(name string) *block {
	w.t.Helper()
	b := w.blocks[name]
	if b == nil {
		w.t.Fatalf("no block %s", name)
	}
	return b
}

// cell finds "n1.child[2]".
func (w *world) cell(place string) (trace.Addr, int) {
	w.t.Helper()
	name, path, _ := strings.Cut(place, ".")
	b := w.block(name)
	if b.typ.Array {
		i, err := strconv.Atoi(strings.Trim(path, "[]"))
		if err != nil {
			w.t.Fatal(err)
		}
		return b.addr + trace.Addr(int64(i)*b.typ.Elem.Size), int(b.typ.Elem.Size)
	}
	p, err := b.typ.Layout.Find(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return b.addr + trace.Addr(p.Offset), int(p.Type.Size)
}

func (w *world) value(s string) uint64 {
	w.t.Helper()
	if s == "NULL" {
		return 0
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(n)
	}
	name, off, _ := strings.Cut(s, "+")
	n, _ := strconv.Atoi(off)
	return uint64(w.block(name).addr) + uint64(n)
}

// input is the question what broke the structure now.
func (w *world) input() Input {
	now := w.hist.Now()
	return Input{
		Model: w.checker, History: w.hist, Cells: testCells{Graph: w.graph}, At: now,
		Found: w.checker.All(w.hist.At(now)), Healthy: w.healthy,
		Statement: func(pc trace.Addr) string { return strconv.Itoa(int(pc)) },
	}
}

// name writes an instance as "c3(qdtree#1, qdtree#2)".
func (w *world) name(i eval.Instance) string {
	var s []string
	for _, o := range append(i.Nodes[:], i.SCC) {
		if o != 0 {
			s = append(s, w.graph.Name(o))
		}
	}
	return w.checker.Label(i) + "(" + strings.Join(s, ", ") + ")"
}

func (w *world) names(list []eval.Instance) string {
	var s []string
	for _, i := range list {
		s = append(s, w.name(i))
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

// testCells is the typed graph as the package asks for it.
type testCells struct{ *graph.Graph }

func (c testCells) Cell(addr trace.Addr, v mgpp.View) (Cell, bool) {
	for _, o := range c.Graph.At(v, addr) {
		if f, ok := describe.FieldAt(c.Graph, v, o, addr); ok && f.Size <= 8 {
			return Cell{Obj: o, Path: f.Path, Addr: f.Addr, Size: int(f.Size), Pointer: f.Pointer, Tags: f.Coded.Tags}, true
		}
	}
	return Cell{}, false
}

func (c testCells) Fields(o graph.ObjID, v mgpp.View) []Cell {
	var out []Cell
	for _, f := range describe.Fields(c.Graph, v, o) {
		if f.Size <= 8 {
			out = append(out, Cell{Obj: o, Path: f.Path, Addr: f.Addr, Size: int(f.Size), Pointer: f.Pointer, Tags: f.Coded.Tags})
		}
	}
	return out
}

func (c testCells) At(addr trace.Addr, v mgpp.View) graph.ObjID {
	for _, o := range c.Graph.At(v, addr) {
		return o
	}
	return 0
}

func (c testCells) Near(o graph.ObjID, v mgpp.View, limit int) []graph.ObjID {
	return describe.Near(c.Graph, v, o, limit)
}
