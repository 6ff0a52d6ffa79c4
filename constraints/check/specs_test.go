package check_test

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/constraints/syntax"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// TestDetects runs the specifications of testdata/specs on small structures
// made by hand: silent on the healthy one, not silent on each damaged one.
func TestDetects(t *testing.T) {
	for _, c := range cases {
		t.Run(c.spec, func(t *testing.T) {
			if found := c.run(t, ""); len(found) > 0 {
				t.Errorf("healthy, but: %s", strings.Join(found, "; "))
			}
			for _, damage := range c.damages {
				label, change, _ := strings.Cut(damage, ": ")
				found := c.run(t, change)
				if !strings.Contains(" "+strings.Join(found, " "), " "+label+" ") {
					t.Errorf("%s: `%s` does not report it, only %q", change, label, found)
				}
			}
		})
	}
}

// scene is a structure in words. Each line of nodes is "name type path=value …"
// with numbers and names of nodes (name+offset) for values; "name/bytes" gives
// a size of its own; "::name path=value …" is an object in static memory.
// Damages are "label: name path=value …" or "label: free name", the label of a
// constraint that must report it, lines apart by " | ".
type scene struct {
	spec    string
	c       string            // C declarations of the program, beside those of the specification
	globals map[string]string // object → C type
	nodes   string
	damages []string
}

var cases = []scene{
	{spec: "figure-2.4",
		nodes:   "r btree count=1 key[0]=5 child[0]=a child[1]=b\na btree count=1 key[0]=3\nb btree count=1 key[0]=7",
		damages: []string{"c1: r child[1]=a", "c2: a child[0]=r", "c3: r child[1]=0", "c5: r count=2"}},
	{spec: "figure-4.2", c: qdtree, nodes: quad,
		damages: []string{"c3: r child[0]=0", "c1: r child[1]=a", "c2: a child[0]=r"}},
	{spec: "quad-tree", nodes: quad,
		damages: []string{"c3: r child[0]=0", "c1: r child[1]=a", "c2: a child[0]=r"}},
	{spec: "example-3",
		nodes:   "r avltree val=5 left=a right=b\na avltree val=3\nb avltree val=7 right=c\nc avltree val=9",
		damages: []string{"c1: r left=0", "avltree.HEIGHT: c left=b"}},
	{spec: "example-4",
		nodes:   "s/64 shard [0]=1 [4]=2 [8]=5 [12]=9",
		damages: []string{"c1: s [8]=1", "c1: s [12]=5"}},
	{spec: "example-5",
		nodes:   "a node next=b\nb node value=1",
		damages: []string{"c1: free b", "c1: b next=4096"}},
	{spec: "circular-list", c: "typedef struct cnode *cnodep;", globals: map[string]string{"head": "cnodep"},
		nodes:   "::head =a\na cnode next=b\nb cnode next=c\nc cnode next=a",
		damages: []string{"ring: c next=b", "ring: b next=a", "one: a next=a | b next=c | c next=b", "ring: b next=0", "one: ::head =0", "ring: free b"}},
	{spec: "doubly-linked-list",
		nodes:   "a dnode next=b\nb dnode next=c prev=a\nc dnode prev=b",
		damages: []string{"c1: c prev=a", "c1: b next=77", "c1: free c", "c1: a next=0", "c1: b prev=0"}},
	{spec: "binary-tree",
		nodes:   "r bnode left=a right=b\na bnode left=c\nb bnode key=1\nc bnode key=2",
		damages: []string{"tree: r right=a", "tree: r right=0", "acyclic: c left=r", "tree: free c", "tree: b left=12"}},
	{spec: "binary-heap",
		nodes:   "h heap size=5 cap=8 item=i\ni/32 items [0]=1 [1]=3 [2]=2 [3]=7 [4]=5",
		damages: []string{"order: i [1]=0", "room: h size=9", "room: h cap=20", "order: i [4]=2", "room: h size=-1", "room: free i"}},
	{spec: "b-tree",
		nodes: "r btree count=1 key[0]=5 child[0]=a child[1]=b\na btree count=2 key[0]=1 key[1]=3\nb btree count=1 key[0]=7",
		damages: []string{"keys: r count=3", "keys: a key[1]=0", "children: r count=2", "level: a child[0]=x | x btree count=1 | y btree count=1 | a child[1]=y",
			"tree: r child[1]=a", "level: free b", "btree.HEIGHT: a child[0]=r", "keys: r count=0"}},
	{spec: "avl-tree", nodes: avl,
		damages: []string{"shape: r right=0", "order: c val=4", "order: a val=6", "shape: b height=1", "avltree.HEIGHT: c left=r", "shape: r left=a | free a", "order: r left=b",
			"shape: x avltree height=1 val=50"}},
	{spec: "avl-recursive", nodes: avl,
		damages: []string{"tree: r left=b", "acyclic: c left=r", "balanced: r left=0", "stored: b height=1", "order_l: a val=6", "order_r: c val=4"}},
	{spec: "red-black-tree", nodes: rbtree,
		damages: []string{"black: c color=1", "red: a color=0 | b color=0 | r color=0", "order: c key=4", "tree: b right=0", "root: r color=0", "order: a left=c",
			"rbtree.LOW: a left=r", "black: free c"}},
	{spec: "leftist-heap",
		nodes: "r lheap key=1 rank=2 left=a right=b\na lheap key=2 rank=1\nb lheap key=3 rank=1 left=c\nc lheap key=4 rank=1",
		damages: []string{"leftist: b rank=2", "leftist: b left=0 right=c", "order: c key=0", "tree: r right=0 rank=1", "lheap.RANK: c left=r", "tree: r right=a",
			"order: free c"}},
	{spec: "k-ary-tree",
		nodes:   "r knode child[0]=a child[1]=b child[2]=c\na knode key=1\nb knode key=2\nc knode key=3",
		damages: []string{"full: r child[1]=0", "tree: r child[1]=a", "acyclic: a child[0]=r", "tree: free b"}},
	{spec: "rb-sentinel", globals: map[string]string{"rb_nil": "rb"},
		nodes: strings.NewReplacer("rbtree ", "rb left=::rb_nil right=::rb_nil parent=::rb_nil ").Replace(rbtree) + "\na parent=r\nb parent=r\nc parent=b",
		damages: []string{"black: c color=1", "red: b color=0", "order: c key=4", "up: c parent=a", "down: c parent=a", "tree: b right=::rb_nil", "down: b right=::rb_nil",
			"up: a parent=::rb_nil", "tree: r color=0"}},
	{spec: "intrusive-list", globals: map[string]string{"tasks": "list_head"},
		nodes: "::tasks next=a+8 prev=b+8\na task link.next=b+8 link.prev=::tasks\nb task link.next=::tasks link.prev=a+8",
		damages: []string{"prev: a link.next=::tasks", "next: b link.prev=::tasks", "head: ::tasks next=b+8", "next: a link.next=0", "next: b link.next=4096",
			"on: leave b"}},
	{spec: "static-list", c: "struct list { struct node *head; int count; };", globals: map[string]string{"list": "list"},
		nodes: "::list head=a count=2\na node next=b\nb node value=3",
		damages: []string{"alive: free b", "linked: a next=0", "linked: ::list head=0", "acyclic: b next=a", "count: ::list count=3",
			"alive: b next=8", "linked: x node"}},
	{spec: "tagged-parent",
		nodes: "r rbn key=5 parent=1 left=a right=b\na rbn key=3 parent=r+1\nb rbn key=7 parent=r+1 right=c\nc rbn key=9 parent=b",
		damages: []string{"black: c parent=b+1", "red: b parent=r | a parent=r | r parent=0", "up: c parent=r", "root: r parent=0", "order: c key=6",
			"down: b right=0", "black: b parent=r"}},
	{spec: "intrusive-tree", globals: map[string]string{"entries": "rb_tree"},
		nodes: "::entries root=r+8\nr entry key=5 links.child[0]=a+8 links.child[1]=b+8\na entry key=3 links.info=r+8\n" +
			"b entry key=7 links.info=r+10 links.child[1]=c+8\nc entry key=9 links.info=b+11",
		damages: []string{"black: c links.info=b+10", "red: b links.info=r+11", "right: c links.info=r+11", "up: c links.info=a+11", "right: b links.info=r+8",
			"left: a links.info=b+8", "up: b links.child[1]=0", "root: r links.info=1", "order: a key=6", "right: c links.info=0"}},
	{spec: "bitfield-colour",
		nodes:   "r bfnode key=5 visits=9 left=a right=b\na bfnode key=3\nb bfnode key=7 right=c\nc bfnode key=9 red=1",
		damages: []string{"black: c red=0", "red: b red=1 | a red=1", "root: r red=1", "tree: r left=b", "order: c key=1", "tree: b right=0"}},
	{spec: "btree-order",
		nodes: "r btnode n=1 key[0]=5 child[0]=a child[1]=b child[3]=99\na btnode leaf=1 n=2 key[0]=1 key[1]=3 child[0]=77\nb btnode leaf=1 n=3 key[0]=7 key[1]=8 key[2]=9",
		damages: []string{"keys: a n=1", "keys: b n=6", "sorted: b key[1]=10", "below: a key[1]=6", "above: b key[0]=4", "full: r child[1]=4096",
			"level: a leaf=0", "tree: r child[1]=a", "level: r child[1]=0"}},
	{spec: "hash-table",
		nodes: "t table nbuckets=4 count=3 bucket=v\nv/32 buckets [1]=a [3]=c\na entry hash=5 next=b\nb entry hash=1\nc entry hash=7",
		damages: []string{"first: c hash=6", "chain: b hash=2", "count: t count=2", "held: v [2]=a", "acyclic: b next=a", "size: t nbuckets=8", "held: a next=0",
			"chain: free b"}},
	{spec: "skip-list",
		nodes:   "h/24 skipnode key=-1 level=2 next[0]=a next[1]=b\na/16 skipnode key=1 level=1 next[0]=b\nb/24 skipnode key=2 level=2",
		damages: []string{"order: a key=3", "room: a level=2", "steps: h next[0]=b next[1]=a", "held: h next[0]=b", "order: free b", "room: b level=0"}},
	{spec: "locked-list", c: "struct queue { long lock[5]; struct lnode *head; int count; };", globals: map[string]string{"list": "queue"},
		nodes:   "::list head=a count=2\na lnode next=b\nb lnode value=3",
		damages: []string{"alive: free b", "held: a next=0", "held: ::list head=b", "acyclic: b next=a", "count: ::list count=1"}},
}

const (
	qdtree = "struct pt; struct qdtree { int posX, posY, width, height; struct pt *point; struct qdtree *child[4]; };"
	quad   = "r qdtree child[0]=a child[1]=b child[2]=c child[3]=d\na qdtree posX=1\nb qdtree posX=2\nc qdtree posX=3\nd qdtree posX=4"
	avl    = "r avltree val=5 height=3 left=a right=b\na avltree val=3 height=1\nb avltree val=7 height=2 right=c\nc avltree val=9 height=1"
	rbtree = "r rbtree key=5 color=1 left=a right=b\na rbtree key=3 color=1\nb rbtree key=7 color=1 right=c\nc rbtree key=9 color=0"
)

// run builds the structure with a change and returns "label reason" of every
// inconsistency.
func (c *scene) run(t *testing.T, change string) []string {
	t.Helper()
	src, err := os.ReadFile("../../testdata/specs/" + c.spec + ".cons")
	if err != nil {
		t.Fatal(err)
	}
	file, errs := syntax.Parse(c.spec, string(src))
	w := newWorld(t, c, file)
	spec, more := check.Check(file, w)
	for _, e := range append(errs, more...) {
		t.Fatal(e.Format(string(src)))
	}
	w.spec = spec
	w.build(c.nodes)
	w.build(strings.ReplaceAll(change, " | ", "\n"))
	w.apply()
	g := graph.New(spec, w.history, w, graph.Options{})
	checker := eval.NewChecker(spec, w.history, g, eval.Options{})
	var found []string
	for _, i := range checker.All(w.history.At(w.history.Now())) {
		found = append(found, checker.Label(i.Instance)+" "+i.Reason)
	}
	return found
}

// world is the memory of a program that exists in the test only.
type world struct {
	t *testing.T
	graphtest.Program
	vars    map[string]check.Variable
	spec    *check.Spec
	history *mgpp.History
	blocks  []*block
	last    []string // "free x" and "leave x"
	types   map[trace.Addr]*check.NodeType
}

type block struct {
	name   string
	addr   uint64
	layout *types.Type // nil: [n] is the n-th element of elem
	elem   *types.Type
	node   *check.NodeType
	data   []byte
	refs   []string // "path=value" that name other blocks
}

const heap, static = 0x7f0000001000, 0x404000

func newWorld(t *testing.T, c *scene, file *syntax.File) *world {
	w := &world{t: t, Program: graphtest.NewProgram(), vars: map[string]check.Variable{},
		history: mgpp.New(mgpp.Options{}), types: map[trace.Addr]*check.NodeType{}}
	for _, text := range []string{syntax.CSource(file), c.c} {
		if _, errs := w.Decls.Parse(text); len(errs) > 0 {
			t.Fatal(c.spec, errs)
		}
	}
	w.Decls.Link()
	addr := uint64(static)
	for name, typ := range c.globals {
		x := w.Decls.Lookup(typ)
		if x == nil {
			t.Fatalf("no C type %s", typ)
		}
		w.vars[name] = check.Variable{Name: name, Type: x, Addr: addr, Size: x.Size}
		w.blocks = append(w.blocks, &block{name: "::" + name, addr: addr, layout: x, data: make([]byte, x.Size)})
		addr += 0x100
	}
	return w
}

// The program that check asks.

func (w *world) TypeNames() []string { return []string{"scene"} }

func (w *world) LookupGlobal(_, name string) []check.Variable {
	if v, ok := w.vars[name]; ok {
		return []check.Variable{v}
	}
	return nil
}

// TypeOf implements graph.Typing.
func (w *world) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	return w.types[n.Start], 0, "by hand"
}

func (w *world) find(name string) *block {
	for _, b := range w.blocks {
		if b.name == name {
			return b
		}
	}
	return nil
}

// build takes lines of a scene.
func (w *world) build(text string) {
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[0] == "free" || words[0] == "leave" {
			w.last = append(w.last, line)
			continue
		}
		name, size, _ := strings.Cut(words[0], "/")
		b := w.find(name)
		fields := words[1:]
		if b == nil {
			b = w.newBlock(name, words[1], size)
			fields = words[2:]
		}
		b.refs = append(b.refs, fields...)
	}
}

func (w *world) newBlock(name, typ, size string) *block {
	b := &block{name: name, addr: heap + uint64(len(w.blocks))*0x400}
	for _, n := range w.spec.Types {
		if n.Name == typ {
			b.node, b.layout, b.elem = n, n.Layout, n.Elem
		}
	}
	if b.node == nil {
		w.t.Fatalf("no type %s", typ)
	}
	bytes, _ := strconv.Atoi(size)
	if size == "" {
		bytes = int(b.layout.Size)
	}
	b.data = make([]byte, bytes)
	w.blocks = append(w.blocks, b)
	return b
}

// apply writes the blocks and makes events of them.
func (w *world) apply() {
	for _, b := range w.blocks {
		for _, ref := range b.refs {
			path, value, _ := strings.Cut(ref, "=")
			w.put(b, path, w.value(value))
		}
	}
	for _, b := range w.blocks {
		w.begin(b)
	}
	for _, b := range w.blocks {
		w.event(&trace.Event{Kind: trace.KindBulk, Addr: trace.Addr(b.addr), Size: uint64(len(b.data)), Data: b.data, Base: trace.Addr(b.addr)})
	}
	for _, line := range w.last {
		verb, name, _ := strings.Cut(line, " ")
		b := w.find(name)
		if verb == "leave" {
			w.member(b, true)
		} else {
			w.event(&trace.Event{Kind: trace.KindFree, Addr: trace.Addr(b.addr), Name: "free"})
		}
	}
}

// begin makes a block known before anything is written.
func (w *world) begin(b *block) {
	a, size := trace.Addr(b.addr), uint64(len(b.data))
	if b.node == nil {
		for i, g := range w.spec.Globals {
			if "::"+g.Name == b.name {
				w.event(&trace.Event{Kind: trace.KindGlobal, Addr: a, Size: size, Data: make([]byte, size), Aux: uint64(i + 1)})
			}
		}
		return
	}
	w.event(&trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagZeroed, Addr: a, Size: size, Name: "calloc"})
	if b.node.Intrusive {
		w.member(b, false)
	} else {
		w.types[a] = b.node
	}
}

func (w *world) event(e *trace.Event) {
	if _, err := w.history.Apply(e); err != nil {
		w.t.Fatal(err)
	}
}

// member makes an intrusive node enter or leave.
func (w *world) member(b *block, leave bool) {
	for i, m := range w.spec.Members {
		if m.Type != b.node || m.Leave != leave {
			continue
		}
		move := w.history.Enter
		if leave {
			move = w.history.Leave
		}
		if _, err := move(&trace.Event{Kind: trace.KindCall}, trace.Addr(b.addr), uint64(b.layout.Size), i); err != nil {
			w.t.Fatal(err)
		}
	}
}

// value is a number, a block, or a block and an offset.
func (w *world) value(s string) uint64 {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(n)
	}
	name, off, _ := strings.Cut(s, "+")
	n, _ := strconv.Atoi(off)
	b := w.find(name)
	if b == nil {
		w.t.Fatalf("no block %s", name)
	}
	return b.addr + uint64(n)
}

// put writes a value at a C path of a block.
func (w *world) put(b *block, path string, v uint64) {
	at, size, bit, bits := int64(0), int64(0), 0, 0
	if b.layout == nil { // an array
		i, err := strconv.Atoi(strings.Trim(path, "[]"))
		if err != nil {
			w.t.Fatalf("%s: no element %s", b.name, path)
		}
		size = b.elem.Size
		at = int64(i) * size
	} else if path == "" {
		size = b.layout.Size
	} else {
		p, err := b.layout.Find(path)
		if err != nil {
			w.t.Fatal(err)
		}
		at, size, bit, bits = p.Offset, p.Type.Size, p.BitOffset, p.BitSize
	}
	if bits > 0 {
		size = int64(bit+bits+7) / 8
	}
	var word [8]byte
	copy(word[:size], b.data[at:])
	if bits > 0 {
		mask := uint64(1)<<bits - 1
		v = binary.LittleEndian.Uint64(word[:])&^(mask<<bit) | v&mask<<bit
	}
	binary.LittleEndian.PutUint64(word[:], v)
	copy(b.data[at:at+size], word[:])
}
