package graph_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

type typing struct{ spec *check.Spec }

// TypeOf: "malloc TYPE", with "@8" for an object behind a header.
func (y typing) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	_, name, _ := strings.Cut(n.Alloc, " ")
	name, header := strings.CutSuffix(name, "@8")
	for _, t := range y.spec.Types {
		if t.Name == name {
			if header {
				return t, 8, "test"
			}
			return t, 0, "test"
		}
	}
	return nil, 0, ""
}

// Owners: the second half of that header counts them.
func (y typing) Owners(n mgpp.Node) int64 {
	if strings.HasSuffix(n.Alloc, "@8") {
		return 4
	}
	return 0
}

func setup(t *testing.T, text string) (*mgpp.History, *graph.Graph) {
	t.Helper()
	spec := graphtest.Spec(t, text, nil)
	h := mgpp.New(mgpp.Options{})
	return h, graph.New(spec, h, typing{spec}, graph.Options{})
}

func apply(t *testing.T, h *mgpp.History, ev trace.Event) {
	t.Helper()
	if _, err := h.Apply(&ev); err != nil {
		t.Fatal(err)
	}
}

func alloc(t *testing.T, h *mgpp.History, typ string, at trace.Addr, size uint64) {
	t.Helper()
	apply(t, h, trace.Event{Kind: trace.KindAlloc, Addr: at, Size: size, Name: "malloc " + typ, Flags: trace.FlagZeroed})
}

func put(t *testing.T, h *mgpp.History, at, v trace.Addr) {
	t.Helper()
	var b [8]byte
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
	apply(t, h, trace.Event{Kind: trace.KindStore, Addr: at, Size: 8, Data: b[:]})
}

// edges lists the default edges at a time.
func edges(g *graph.Graph, v mgpp.View) []string {
	var out []string
	for o := graph.ObjID(1); int(o) <= g.Objects(); o++ {
		for _, e := range g.In(v, o) {
			name := g.Name(e.From) + "." + e.Cell.Name
			if e.Cell.Count != 1 {
				name += "[" + string(rune('0'+e.Index)) + "]"
			}
			out = append(out, name+" -> "+g.Name(e.To))
		}
	}
	slices.Sort(out)
	return out
}

func expect(t *testing.T, g *graph.Graph, v mgpp.View, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, edges(g, v)); d != "" {
		t.Errorf("at %d (-want +got):\n%s", v.Time(), d)
	}
}

const nodes = `
struct node { int key; int n; struct node *child[2]; };
type node;
ARRAY table OF struct node *;
together node, table;
`

// Blocks that were there before recording began have their bytes from the start: an edge leads to
// one that the history tells later, too.
func TestBefore(t *testing.T) {
	h, g := setup(t, nodes)
	for _, at := range []trace.Addr{0x1000, 0x2000, 0x3000} {
		apply(t, h, trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagBefore, Addr: at, Size: 24, Name: "malloc node"})
	}
	for at, to := range map[trace.Addr]trace.Addr{0x1000: 0x2000, 0x2000: 0x3000, 0x3000: 0x1000} {
		child := make([]byte, 24)
		binary.LittleEndian.PutUint64(child[8:], uint64(to))
		apply(t, h, trace.Event{Kind: trace.KindImage, Flags: trace.FlagBefore, Addr: at, Size: 24, Data: child})
	}
	g.Advance()
	expect(t, g, h.At(h.Now()), "node#1.child[0] -> node#2", "node#2.child[0] -> node#3", "node#3.child[0] -> node#1")
	put(t, h, 0x1008, 0x3000)
	g.Advance()
	expect(t, g, h.At(h.Now()), "node#1.child[0] -> node#3", "node#2.child[0] -> node#3", "node#3.child[0] -> node#1")
}

const entering = `
struct node { long key; struct node *next, *prev; };
type node edges (next, prev);
enter node at push(1);
leave node at pop(1);
`

func enter(t *testing.T, h *mgpp.History, at trace.Addr) {
	t.Helper()
	if _, err := h.Enter(&trace.Event{Kind: trace.KindCall, PC: 1}, at, 24, 0); err != nil {
		t.Fatal(err)
	}
}

// A node that begins over another one: what leads to where both are leads to the one whose head is nearer, whichever
// began first.
func TestEnteredOver(t *testing.T) {
	for _, first := range []trace.Addr{0x1010, 0x1000} {
		h, g := setup(t, entering)
		alloc(t, h, "bytes", 0x1000, 96)
		enter(t, h, 0x1030)
		enter(t, h, first)
		put(t, h, 0x1038, 0x1010)
		g.Advance()
		before := h.Now()
		enter(t, h, 0x1010^0x1000^first)
		g.Advance()
		over := [2]string{"node#1.next -> node#2", "node#1.next -> node#3"}
		if first == 0x1010 {
			over[1] = over[0]
		}
		expect(t, g, h.At(before), over[0])
		expect(t, g, h.At(h.Now()), over[1])
	}
}

// Where a range is tracked anew, what another node has there is unknown from then on.
func TestTrackedOver(t *testing.T) {
	h, g := setup(t, entering)
	alloc(t, h, "bytes", 0x1000, 16)
	enter(t, h, 0x1000)
	put(t, h, 0x1010, 0x1000) // behind the block
	g.Advance()
	before := h.Now()
	enter(t, h, 0x1008)
	g.Advance()
	expect(t, g, h.At(before), "node#1.prev -> node#1")
	expect(t, g, h.At(h.Now()))
	if v := h.At(h.Now()); len(g.Out(v, 1)) > 0 {
		t.Error("the pointer is known")
	}
}

func TestObjectsAndEdges(t *testing.T) {
	h, g := setup(t, nodes)
	alloc(t, h, "node", 0x1000, 24)
	alloc(t, h, "node@8", 0x2000, 32)
	put(t, h, 0x1008, 0x2008)
	put(t, h, 0x1010, 0x1000)
	linked := h.Now()
	apply(t, h, trace.Event{Kind: trace.KindFree, Addr: 0x2000})
	freed := h.Now()
	alloc(t, h, "node", 0x2008, 24) // the address is used again: no edge
	put(t, h, 0x1010, 0)
	g.Advance()
	expect(t, g, h.At(linked), "node#1.child[0] -> node#2", "node#1.child[1] -> node#1")
	expect(t, g, h.At(freed), "node#1.child[1] -> node#1")
	expect(t, g, h.At(h.Now()))
	expect(t, g, mgpp.With(h.At(h.Now()), 0x1008, []byte{8, 0x20, 0, 0, 0, 0, 0, 0}), "node#1.child[0] -> node#3")
	expect(t, g, h.Without(h.At(linked), linked), "node#1.child[0] -> node#2")
	if got := g.Live(g.Spec().Types[0], freed, nil); len(got) != 1 {
		t.Errorf("live after the free: %v", got)
	}
	if t1, want := g.InChange(2, h.Now()), freed; t1 != want {
		t.Errorf("in-edges of node#2 changed at %d, want %d", t1, want)
	}
}

// An object with a count of its owners ends when that is 0, before its block does: it has
// no edges then, and is dead once.
func TestOwners(t *testing.T) {
	const two, one = 2 << 32, 1 << 32
	h, g := setup(t, nodes)
	alloc(t, h, "node", 0x1000, 24)
	alloc(t, h, "node@8", 0x2000, 32)
	put(t, h, 0x2000, two)
	put(t, h, 0x2010, 0x1000)
	put(t, h, 0x1008, 0x2008)
	put(t, h, 0x2000, one)
	owned := h.Now()
	g.Advance()
	g.Follow()
	put(t, h, 0x2000, 0)
	disowned := h.Now()
	g.Advance()
	var c graph.Changes
	c.Reset()
	g.Between(owned, disowned, &c)
	put(t, h, 0x2010, 0) // its destructor
	apply(t, h, trace.Event{Kind: trace.KindFree, Addr: 0x2000})
	g.Advance()
	expect(t, g, h.At(owned), "node#1.child[0] -> node#2", "node#2.child[0] -> node#1")
	expect(t, g, h.At(disowned))
	if o := g.Object(2); o.Death != disowned || g.Alive(2, disowned) || !g.Alive(2, owned) {
		t.Errorf("it died at %d, want %d", o.Death, disowned)
	}
	if d := c.Find(2); d == nil || !d.Life {
		t.Error("nobody is told that it died")
	}
	if d := c.Find(1); d == nil || d.Mask == 0 || !d.In {
		t.Errorf("what it had edges with: %+v", d)
	}
}

// What is as it was between two checks did not change, and a node that lived only in between
// is nobody's concern. A pointer to another node at the same address is another one.
func TestChangedBack(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		h, g := setup(t, nodes)
		alloc(t, h, "node", 0x1000, 24)
		alloc(t, h, "node", 0x2000, 24)
		put(t, h, 0x1008, 0x2000)
		put(t, h, 0x1010, 0)
		before := h.Now()
		g.Advance()
		g.Follow()
		alloc(t, h, "node", 0x3000, 24)
		put(t, h, 0x1008, 0x3000)
		put(t, h, 0x1010, 1)
		put(t, h, 0x3008, 0x2000)
		if replaced {
			apply(t, h, trace.Event{Kind: trace.KindFree, Addr: 0x2000})
			alloc(t, h, "node", 0x2000, 24)
		}
		put(t, h, 0x1008, 0x2000)
		put(t, h, 0x1010, 0)
		apply(t, h, trace.Event{Kind: trace.KindFree, Addr: 0x3000})
		g.Advance()
		var c graph.Changes
		c.Reset()
		g.Between(before, h.Now(), &c)
		if d := c.Find(3); d != nil {
			t.Errorf("replaced: %v: what lived in between is told: %+v", replaced, d)
		}
		if d := c.Find(1); (d != nil && d.Mask != 0) != replaced {
			t.Errorf("replaced: %v: the pointer's node: %+v", replaced, d)
		}
		if d := c.Find(2); d == nil || !d.In || d.Life != replaced {
			t.Errorf("replaced: %v: what it leads to: %+v", replaced, d)
		}
		want := "node#1.child[0] -> node#2"
		if replaced {
			want = "node#1.child[0] -> node#4"
		}
		expect(t, g, h.At(h.Now()), want)
	}
}

func TestReallocatedTable(t *testing.T) {
	h, g := setup(t, nodes)
	alloc(t, h, "node", 0x1000, 24)
	alloc(t, h, "table", 0x3000, 16)
	put(t, h, 0x3000, 0x1000)
	put(t, h, 0x3008, 0x1000)
	apply(t, h, trace.Event{Kind: trace.KindRealloc, Aux: 0x3000, Addr: 0x3000, Size: 8, Name: "realloc table"})
	shrunk := h.Now()
	apply(t, h, trace.Event{Kind: trace.KindRealloc, Aux: 0x3000, Addr: 0x4000, Size: 32, Name: "realloc table"})
	moved := h.Now()
	put(t, h, 0x4018, 0x1000)
	g.Advance()
	// An ARRAY's one cell has no name.
	expect(t, g, h.At(shrunk-1), "table#1.[0] -> node#1", "table#1.[1] -> node#1")
	expect(t, g, h.At(shrunk), "table#1.[0] -> node#1")
	expect(t, g, h.At(moved), "table#2.[0] -> node#1")
	expect(t, g, h.At(h.Now()), "table#2.[0] -> node#1", "table#2.[3] -> node#1")
	if got := g.Size(2, shrunk-1); got != 16 {
		t.Errorf("size before it shrank: %d", got)
	}
}

// TestMoved: what realloc has moved to where nothing tells its type is what it was; what was of no type stays so, and what is told goes first.
func TestMoved(t *testing.T) {
	w := graphtest.New(t, "struct node { struct node *next; long key; };\nstruct other { long a, b; };\ntype node;\ntype other;\n")
	w.Alloc("node", 0x1000, 16)
	w.Alloc("nothing", 0x1100, 16)
	w.Alloc("node", 0x1200, 16)
	w.Put(0x1200, 8, 0x1000)
	for i, to := range []string{"", "", " other"} {
		w.Apply(trace.Event{Kind: trace.KindRealloc, Aux: uint64(0x1000 + 0x100*i), Addr: trace.Addr(0x2000 + 0x100*i), Size: 32, Name: "realloc" + to})
	}
	w.Apply(trace.Event{Kind: trace.KindRealloc, Aux: 0x2000, Addr: 0x3000, Size: 64, Name: "realloc"})
	for at, want := range map[trace.Addr]string{0x3000: "node", 0x2100: "", 0x2200: "other"} {
		got := ""
		for _, o := range w.G.At(w.Now(), at) {
			got = w.G.Object(o).Type.Name
		}
		if got != want {
			t.Errorf("at %#x: %q, want %q", at, got, want)
		}
	}
}

// TestPartlyRead: of a long write the first bytes alone are known. What the others were nothing leads from any more.
func TestPartlyRead(t *testing.T) {
	h, g := setup(t, nodes)
	alloc(t, h, "node", 0x1000, 24)
	alloc(t, h, "table", 0x3000, 32)
	for at := trace.Addr(0x3000); at < 0x3020; at += 8 {
		put(t, h, at, 0x1000)
	}
	g.Advance()
	apply(t, h, trace.Event{Kind: trace.KindBulk, Name: "memcpy", Addr: 0x3000, Size: 24, Data: []byte{0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0}})
	g.Advance()
	expect(t, g, h.At(h.Now()-1), "table#1.[0] -> node#1", "table#1.[1] -> node#1", "table#1.[2] -> node#1", "table#1.[3] -> node#1")
	expect(t, g, h.At(h.Now()), "table#1.[0] -> node#1", "table#1.[3] -> node#1")
}

func TestEmbeddedAndGlobal(t *testing.T) {
	h, g := setup(t, `
struct link { struct link *next; };
struct doc { int id; struct link root; struct doc *other; };
type link; type doc;
global head;
embed link in doc at root;
`)
	apply(t, h, trace.Event{Kind: trace.KindGlobal, Aux: 1, Addr: 0x900, Size: 8, Data: make([]byte, 8)})
	alloc(t, h, "doc", 0x1000, 24)
	alloc(t, h, "doc", 0x2000, 24)
	put(t, h, 0x1008, 0x2008)
	put(t, h, 0x1010, 0x2000)
	put(t, h, 0x900, 0x1000)
	g.Advance()
	expect(t, g, h.At(h.Now()), "doc#1.other -> doc#2", "link#1.next -> link#2")
	if got := g.At(h.At(h.Now()), 0x2008); len(got) != 2 || g.Name(got[0]) != "doc#2" || g.Name(got[1]) != "link#2" {
		t.Errorf("at the member: %v", got)
	}
	if got := g.Name(g.Global(0)); got != "::head" {
		t.Errorf("the global is %s", got)
	}
}

// TestRecordedWithOthers: a history is of a run that recorded other objects in static memory than the specification declares, or in another
// order. An object is the one of its name, whatever its number was; one that is not declared is none.
func TestRecordedWithOthers(t *testing.T) {
	h, g := setup(t, `
struct node { struct node *next; };
type node;
global free, head;
`)
	for i, name := range []string{"other", "head", "third", "free"} {
		apply(t, h, trace.Event{Kind: trace.KindGlobal, Name: name, Aux: uint64(i + 1), Addr: trace.Addr(0x900 + 0x10*i), Size: 8, Data: make([]byte, 8)})
	}
	g.Advance()
	for i, want := range []trace.Addr{0x930, 0x910} {
		if o := g.Object(g.Global(i)); o.Addr != want || o.Global != int32(i+1) {
			t.Errorf("::%s is at %#x, not %#x", g.Spec().Globals[i].Name, o.Addr, want)
		}
	}
	if n := g.Objects(); n != 2 {
		t.Errorf("%d objects, of two that are declared", n)
	}
}

// TestEmbeddedArray has nodes in an array of structures, which point to each other.
func TestEmbeddedArray(t *testing.T) {
	h, g := setup(t, `
struct link { struct link *next; };
struct shard { long used; struct link head; };
struct cache { struct shard shards[3]; struct link *all; };
type link; type cache;
embed link in cache at shards.head;
`)
	alloc(t, h, "cache", 0x1000, 56)
	put(t, h, 0x1008, 0x1028) // shards[0].head.next = &shards[2].head
	put(t, h, 0x1030, 0x1018) // all = &shards[1].head
	put(t, h, 0x1010, 0x1008) // shards[1].used is a number, whatever it is
	g.Advance()
	expect(t, g, h.At(h.Now()), "cache#1.all -> link#2", "link#1.next -> link#3")
}

// Elements of an array in static memory are nodes from the first write to them on, those that hold something from the start. What
// leads to one that is none yet leads there as soon as it is one.
func TestRows(t *testing.T) {
	spec := graphtest.Spec(t, "struct node { long key; struct node *next, *prev; };\ntype node;\nglobal pool;\n", nil)
	const pool = trace.Addr(0x1008)
	spec.Rows = []check.Row{{Type: spec.Types[0], Offset: 8, Dims: []check.Dim{{Count: 6, Stride: 24}}, Names: []string{"::pool", ""}}}
	h := mgpp.New(mgpp.Options{})
	g := graph.New(spec, h, typing{spec}, graph.Options{})
	image := make([]byte, 8+6*24)
	image[8+4*24] = 1
	apply(t, h, trace.Event{Kind: trace.KindGlobal, Aux: 1, Addr: pool - 8, Size: uint64(len(image)), Data: image})
	at := func(i, off int) trace.Addr { return pool + trace.Addr(24*i+off) }
	names := func(want ...string) {
		t.Helper()
		g.Advance()
		var got []string
		for _, o := range g.Live(spec.Types[0], h.Now(), nil) {
			got = append(got, g.Name(o))
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("at %d (-want +got):\n%s", h.Now(), d)
		}
	}
	names("::pool[4]")
	put(t, h, pool-8, 1) // beside them
	apply(t, h, trace.Event{Kind: trace.KindBulk, Name: "memset", Addr: pool, Size: 6 * 24, Data: make([]byte, 6*24)})
	names("::pool[4]")
	put(t, h, at(1, 8), at(2, 0))
	names("::pool[1]", "::pool[4]")
	expect(t, g, h.At(h.Now()))
	led := h.Now()
	put(t, h, at(2, 16), 0)
	names("::pool[1]", "::pool[2]", "::pool[4]")
	expect(t, g, h.At(h.Now()), "::pool[1].next -> ::pool[2]")
	expect(t, g, h.At(led))
	some := make([]byte, 4*24) // from the middle of one on, beyond the last
	some[12+16] = 1
	apply(t, h, trace.Event{Kind: trace.KindBulk, Name: "memcpy", Addr: at(4, 12), Size: uint64(len(some)), Data: some})
	names("::pool[1]", "::pool[2]", "::pool[4]", "::pool[5]")
	if o := g.At(h.At(h.Now()), at(0, 0)); len(o) != 0 {
		t.Errorf("where no node is yet: %v", o)
	}
	if o := g.At(h.At(h.Now()), pool-8); len(o) != 1 || g.Name(o[0]) != "::pool" {
		t.Errorf("beside them: %v", o)
	}
}

// An object in static memory that is a node as a whole is one, and not the object beside it.
func TestRowAlone(t *testing.T) {
	spec := graphtest.Spec(t, "struct node { long key; struct node *next, *prev; };\ntype node;\nglobal lone;\n", nil)
	node := spec.Types[0]
	spec.Globals[0].Layout = node.Layout
	spec.Rows = []check.Row{{Type: node, Names: []string{"::lone"}}}
	h := mgpp.New(mgpp.Options{})
	g := graph.New(spec, h, typing{spec}, graph.Options{})
	apply(t, h, trace.Event{Kind: trace.KindGlobal, Aux: 1, Addr: 0x1008, Size: 24, Data: make([]byte, 24)})
	g.Advance()
	if n := g.Live(node, h.Now(), nil); len(n) != 0 {
		t.Errorf("before it was written to: %v", n)
	}
	put(t, h, 0x1010, 0x1008)
	g.Advance()
	if n := g.Live(node, h.Now(), nil); len(n) != 1 || g.Name(n[0]) != "::lone" {
		t.Errorf("after: %v", n)
	}
	expect(t, g, h.At(h.Now()), "::lone.next -> ::lone")
}

func TestParts(t *testing.T) {
	for _, test := range []struct {
		lo, hi int64
		size   uint64
		want   uint64
	}{
		{0, 8, 64, 1}, {4, 12, 64, 3}, {8, 8, 64, 0}, {0, 512, 512, ^uint64(0)},
		{0, 1, 4096, 1}, {4095, 4096, 4096, 1 << 63}, {0, 9000, 64, ^uint64(0)},
	} {
		if got := graph.Parts(test.lo, test.hi, test.size); got != test.want {
			t.Errorf("Parts(%d, %d, %d) = %x, want %x", test.lo, test.hi, test.size, got, test.want)
		}
	}
}

// An allocator's free list: nodes are made by the pointers that lead to them, in
// memory where no block is, and end with the last of these.
func TestReached(t *testing.T) {
	spec := graphtest.Spec(t, `
struct chunk { long size; struct chunk *fd, *bk, *other; };
struct bins { long n; struct chunk *bin[2]; struct chunk *top; };
type chunk (fd, bk);
type bins;
global arena;
enter chunk from ::arena;
`, nil)
	const arena, heap = trace.Addr(0x1000), trace.Addr(0x10000)
	bin, top := arena+8, arena+24
	spec.Globals[0].Layout = spec.Types[1].Layout
	spec.Reaches[0].Lo, spec.Reaches[0].Hi = 8, 24 // the bins, not the top
	h := mgpp.New(mgpp.Options{Arenas: true})
	g := graph.New(spec, h, typing{spec}, graph.Options{})
	apply(t, h, trace.Event{Kind: trace.KindGlobal, Addr: arena, Size: 32, Aux: 1, Data: make([]byte, 32)})
	apply(t, h, trace.Event{Kind: trace.KindMap, Addr: heap, Size: 0x1000})
	live := func(want ...trace.Addr) {
		t.Helper()
		g.Advance()
		var got []trace.Addr
		for _, o := range g.Live(spec.Types[0], h.Now(), nil) {
			got = append(got, g.Object(o).Addr)
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("at %d (-want +got):\n%s", h.Now(), d)
		}
	}
	a, b := heap+0x100, heap+0x200
	put(t, h, a+8, bin-8) // fd and bk, before it is linked
	put(t, h, a+16, bin-8)
	put(t, h, a+24, a) // its own pointers do not keep it
	put(t, h, top, b)  // no list
	live()
	put(t, h, bin, a)
	live(a)
	put(t, h, b+8, a)
	put(t, h, a+16, b) // through the edge of a
	live(a, b)
	put(t, h, bin, b)
	live(a, b) // b.fd leads to a
	put(t, h, b+8, bin-8)
	live(b)
	put(t, h, bin, 0x99990) // to no memory at all
	live()
	before := h.Now()
	put(t, h, bin, a)
	live(a, b) // a.bk leads to b
	if n := len(g.Live(spec.Types[0], before, nil)); n != 0 {
		t.Errorf("%d nodes before", n)
	}
}

// A cache that is itself only found by an untyped pointer to it, and holds lists whose
// links are combined with their own addresses.
func TestReachedFromNodes(t *testing.T) {
	spec := graphtest.Spec(t, `
struct entry { struct entry *next; long key; };
struct cache { long n; struct entry *list[2]; struct entry *other; };
struct state { char *start; };
type cache;
type entry;
type state;
global heap;
tag entry.next ^ ADDRESS >> 12;
enter cache from ::heap;
enter entry from cache.list;
`, nil)
	const global, heap = trace.Addr(0x1000), trace.Addr(0x10000)
	spec.Globals[0].Layout = spec.Types[2].Layout
	spec.Reaches[0].Lo, spec.Reaches[0].Hi, spec.Reaches[0].Any = 0, 8, true
	h := mgpp.New(mgpp.Options{Arenas: true})
	g := graph.New(spec, h, typing{spec}, graph.Options{})
	apply(t, h, trace.Event{Kind: trace.KindGlobal, Addr: global, Size: 8, Aux: 1, Data: make([]byte, 8)})
	apply(t, h, trace.Event{Kind: trace.KindMap, Addr: heap, Size: 0x1000})
	link := func(cell, to trace.Addr) { put(t, h, cell, to^cell>>12) }
	a, b := heap+0x100, heap+0x200
	put(t, h, heap+8, a) // before it is known that it is a cache
	link(a, b)
	link(b, 0)
	expect(t, g, h.At(h.Now()))
	put(t, h, global, heap)
	g.Advance()
	expect(t, g, h.At(h.Now()), "cache#1.list[0] -> entry#1", "entry#1.next -> entry#2")
	put(t, h, heap+24, heap+0x300) // no list
	link(a, 0)
	g.Advance()
	expect(t, g, h.At(h.Now()), "cache#1.list[0] -> entry#1")
	put(t, h, a, b) // as it is: it leads to b ^ a>>12
	g.Advance()
	expect(t, g, h.At(h.Now()), "cache#1.list[0] -> entry#1", "entry#1.next -> entry#3")
	put(t, h, global, 0)
	g.Advance()
	if n := len(g.Live(spec.Types[0], h.Now(), nil)) + len(g.Live(spec.Types[1], h.Now(), nil)); n != 0 {
		t.Errorf("%d nodes, and nothing leads to the cache", n)
	}
}

// What a specification reads is told by the byte: a count beside a flag is not the flag.
func TestReadsBytes(t *testing.T) {
	h, g := setup(t, "struct node { char flag; int count; struct node *next; long wide[20]; }; type node;")
	g.SetReads([]graph.Reads{{Spans: [][2]int64{{0, 1}, {16, 24}, {100, 176}}}}, nil)
	alloc(t, h, "node", 0x1000, 176)
	for _, c := range []struct {
		at    trace.Addr
		size  int
		dirty bool
	}{
		{0, 1, true}, {4, 4, false}, {1, 7, false}, {0, 8, true}, {8, 8, true}, // next is an edge
		{16, 4, true}, {15, 1, true}, {24, 8, false}, {60, 8, false}, {64, 36, false}, {64, 37, true}, {32, 144, true}, {99, 1, false}, {175, 1, true},
	} {
		g.Advance()
		g.Follow()
		from := h.Now()
		apply(t, h, trace.Event{Kind: trace.KindStore, Addr: 0x1000 + c.at, Size: uint64(c.size), Data: slices.Repeat([]byte{byte(from)}, c.size)})
		g.Advance()
		var ch graph.Changes
		ch.Reset()
		g.Between(from, h.Now(), &ch)
		if got := len(ch.Dirt) > 0; got != c.dirty {
			t.Errorf("%d bytes at %d: dirty %v", c.size, c.at, got)
		}
	}
}

// A block of a wrong size, larger than all memory, has slots for a part of it, and what it holds there is known.
func TestHuge(t *testing.T) {
	h, g := setup(t, nodes)
	const at = 1 << 40
	alloc(t, h, "node", 0x1000, 24)
	apply(t, h, trace.Event{Kind: trace.KindAlloc, Addr: at, Size: 12 << 30, Name: "malloc table"})
	put(t, h, at+16, 0x1000)
	put(t, h, at+8<<30, 0x1000)
	g.Advance()
	expect(t, g, h.At(h.Now()), "table#1.[2] -> node#1")
}

// Pointers lead to where they lead in an object of any size, now and then, and are found there whatever ends.
func TestFarInside(t *testing.T) {
	const large, of = 5 << 30, trace.Addr(1 << 40)
	offsets := []uint64{8, 1<<16 - 2, 1<<16 - 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 + 8, 1 << 31, 0}
	for _, deferred := range []bool{false, true} {
		h, g := setup(t, nodes)
		if deferred && !g.Defer(0) {
			t.Fatal("nothing can be put off")
		}
		alloc(t, h, "node", 0x1000, 24)
		alloc(t, h, "node", 0x2000, 24)
		alloc(t, h, "node", of, large)
		g.Advance()
		var times []mgpp.Timestamp
		for _, off := range offsets {
			put(t, h, 0x1008, of+trace.Addr(off))
			put(t, h, 0x2010, of+trace.Addr(off))
			g.Advance()
			times = append(times, h.Now())
			if to, v, known := g.Leads(1, 0x1008, h.Now()); known && (to != 3 || v != uint64(of)+off) {
				t.Errorf("%#x: leads to %d, %#x", off, to, v)
			}
			into(t, g, h.Now(), off, 2)
		}
		g.Exact()
		for i, at := range times {
			into(t, g, at, offsets[i], 2)
		}
		put(t, h, 0x1008, of+1<<31)
		apply(t, h, trace.Event{Kind: trace.KindFree, Addr: 0x2000, Name: "free"})
		g.Advance()
		into(t, g, h.Now(), 1<<31, 1)
	}
}

// into holds the edges that lead to the third object to how many there are, and where in it they lead.
func into(t *testing.T, g *graph.Graph, at mgpp.Timestamp, off uint64, n int) {
	t.Helper()
	in := g.In(g.History().At(at), 3)
	if len(in) != n {
		t.Errorf("at %d: %d edges, want %d", at, len(in), n)
	}
	for _, e := range in {
		if e.Offset != off {
			t.Errorf("at %d: into %#x, want %#x", at, e.Offset, off)
		}
	}
}

// A pointer far into an object that has ended is as well known as others, when what held it has ended too.
func TestFarInsideEnded(t *testing.T) {
	for _, off := range []trace.Addr{8, 1 << 16, 1 << 31} {
		h, g := setup(t, nodes)
		if !g.Defer(0) {
			t.Fatal("nothing can be put off")
		}
		g.Follow()
		alloc(t, h, "node", 0x1000, 24)
		alloc(t, h, "node", 0x100000000, 5<<30)
		put(t, h, 0x1008, 0x100000000+off)
		g.Advance()
		g.Follow()
		before := h.Now()
		apply(t, h, trace.Event{Kind: trace.KindFree, Addr: 0x100000000, Name: "free"})
		apply(t, h, trace.Event{Kind: trace.KindFree, Addr: 0x1000, Name: "free"})
		g.Advance()
		refs := g.AppendRefs(h.At(before), nil, 2, nil)
		if len(refs) != 1 || refs[0].Off != uint64(off) {
			t.Errorf("%#x: %v led there", off, refs)
		}
	}
}
