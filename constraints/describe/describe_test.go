package describe_test

import (
	"fmt"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/describe"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

const kinds = `
enum colour { RED, BLACK };
struct pair { int a; int b; };
struct node {
	char tag;
	short s;
	enum colour colour;
	struct pair pair;
	double weight;
	struct node *next;
	unsigned flags : 3;
	unsigned more : 5;
	char name[4];
};
struct flex { int n; struct pair item[]; };
type node;
type flex;
ARRAY table OF struct node *;
`

// layout of node, bytes
const (
	tagAt, shortAt, colourAt, pairAt, weightAt, nextAt, flagsAt, nameAt, nodeSize = 0, 2, 4, 8, 16, 24, 32, 33, 40
)

func texts(w *graphtest.World, v mgpp.View, o graph.ObjID) []string {
	var out []string
	for _, f := range describe.Fields(w.G, v, o) {
		out = append(out, f.Path+" "+f.Text)
	}
	return out
}

func TestFields(t *testing.T) {
	w := graphtest.New(t, kinds)
	born := w.Alloc("node", 0x1000, nodeSize)
	w.Put(0x1000+tagAt, 1, 'x')
	w.Put(0x1000+shortAt, 1, 1) // half of it
	w.Put(0x1000+colourAt, 4, 1)
	w.Put(0x1000+pairAt, 4, 7)
	w.Put(0x1000+pairAt+4, 4, 0xfffffffe)
	w.Put(0x1000+weightAt, 8, 0x3ff8000000000000)
	w.Put(0x1000+nextAt, 8, 0x1000)
	w.Put(0x1000+flagsAt, 1, 0b01010_101)
	want := []string{
		"tag 120 'x'", "s partly written", "colour BLACK", "pair.a 7", "pair.b -2", "weight 1.5", "next node#1", "flags 5", "more 10",
		"name[0] never written", "name[1] never written", "name[2] never written", "name[3] never written",
	}
	if d := cmp.Diff(want, texts(w, w.Now(), 1)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, f := range describe.Fields(w.G, w.H.At(born), 1) {
		if f.Text != "never written" || f.Known || f.Target != 0 {
			t.Errorf("at birth: %+v", f)
		}
	}
}

func TestFlexibleArrayAndTable(t *testing.T) {
	w := graphtest.New(t, kinds)
	w.Alloc("flex", 0x1000, 4+2*8+3) // two elements, and a rest that is none
	w.Put(0x1000, 4, 2)
	w.Put(0x100c, 4, 9)
	want := []string{"n 2", "item[0].a never written", "item[0].b never written", "item[1].a 9", "item[1].b never written"}
	if d := cmp.Diff(want, texts(w, w.Now(), 1)); d != "" {
		t.Errorf("flexible (-want +got):\n%s", d)
	}
	w.Alloc("table", 0x2000, 24)
	w.Alloc("node", 0x3000, nodeSize)
	w.Put(0x2008, 8, 0x3000)
	w.Put(0x2010, 8, 0)
	want = []string{"[0] never written", "[1] node#1", "[2] NULL"}
	if d := cmp.Diff(want, texts(w, w.Now(), 2)); d != "" {
		t.Errorf("array (-want +got):\n%s", d)
	}
}

// TestBlockTooSmall: fields beyond a block's end are not there, and nothing is
// read of them.
func TestBlockTooSmall(t *testing.T) {
	w := graphtest.New(t, kinds)
	w.Alloc("node", 0x1000, pairAt+4)
	want := []string{"tag never written", "s never written", "colour never written", "pair.a never written"}
	if d := cmp.Diff(want, texts(w, w.Now(), 1)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPointers(t *testing.T) {
	w := graphtest.New(t, kinds)
	w.Alloc("node", 0x1000, nodeSize)
	w.Alloc("node", 0x2000, nodeSize)
	next := func() describe.Field {
		f, ok := describe.FieldAt(w.G, w.Now(), 1, 0x1000+nextAt+3)
		if !ok || f.Path != "next" || f.Addr != 0x1000+nextAt || f.Size != 8 || !f.Pointer {
			t.Fatalf("%+v %v", f, ok)
		}
		return f
	}
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { w.Put(0x1000+nextAt, 8, 0) }, "NULL"},
		{func() { w.Put(0x1000+nextAt, 8, 0x2000) }, "node#2"},
		{func() { w.Put(0x1000+nextAt, 8, 0x2008) }, "node#2+8"},
		{func() { w.Put(0x1000+nextAt, 8, 0x999000) }, "0x999000 (no node)"},
		{func() { w.Put(0x1000+nextAt, 8, uint64(graphtest.Visit)) }, "0x5550001000 (function visit)"},
		{func() { w.Put(0x1000+nextAt, 8, uint64(graphtest.Visit)+1) }, "0x5550001001 (no node)"},
		{func() { w.Put(0x1000+nextAt, 8, 0x2000); w.Free(0x2000) }, "0x2000 (freed node#2)"},
		{func() { w.Alloc("node", 0x2000, nodeSize) }, "0x2000 (freed node#2; the address is in use again)"},
	} {
		c.do()
		if got := next().Text; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if _, ok := describe.FieldAt(w.G, w.Now(), 1, 0x1001); ok {
		t.Error("padding is a field")
	}
}

func TestChange(t *testing.T) {
	w := graphtest.New(t, kinds)
	name := func(at mgpp.Timestamp) string { return describe.Change(w.G, w.H, at) }
	for _, c := range []struct {
		at   mgpp.Timestamp
		want string
	}{
		{w.Alloc("node", 0x1000, nodeSize), "node#1 was allocated (40 bytes)"},
		{w.Alloc("", 0x5000, 16), "a block at 0x5000 was allocated (16 bytes)"},
		{w.Put(0x1000+colourAt, 4, 1), "node#1.colour: never written → BLACK"},
		{w.Put(0x1000+colourAt, 4, 0), "node#1.colour: BLACK → RED"},
		{w.Put(0x1000+nextAt, 8, 0), "node#1.next: never written → NULL"},
		{w.Put(0x1000+nextAt, 8, 0x1000), "node#1.next: NULL → node#1"},
		{w.Put(0x5008, 8, 1), "8 bytes at 0x5008"},
		{w.Put(0x5010, 1, 1), "1 byte at 0x5010"},
		{w.Copy("memset", 0x1000+pairAt, make([]byte, 8)), "memset of 8 bytes: node#1.pair.a: never written → 0, node#1.pair.b: never written → 0"},
		{w.Copy("memset", 0x1000, make([]byte, nodeSize)), "memset of 40 bytes: node#1.tag: never written → 0, node#1.s: never written → 0," +
			" node#1.weight: never written → 0, node#1.next: node#1 → NULL, and 6 more fields"},
		{w.Put(0x1000+flagsAt, 1, 0b00001_000), "node#1.more: 0 → 1"},
		{w.Apply(trace.Event{Kind: trace.KindRealloc, Addr: 0x1000, Aux: 0x1000, Size: 48, Name: "realloc"}), "node#1 was resized to 48 bytes"},
		{w.Free(0x1000), "node#1 was freed"},
		{w.Free(0x5000), "a block at 0x5000 was freed"},
	} {
		if got := name(c.at); got != c.want {
			t.Errorf("change %d:\n got %s\nwant %s", c.at, got, c.want)
		}
	}
}

// shared are nodes behind a count of their owners.
type shared struct{ spec *check.Spec }

func (s shared) TypeOf(mgpp.Node) (*check.NodeType, int64, string) {
	return s.spec.Types[0], 16, "test"
}
func (s shared) Owners(mgpp.Node) int64 { return 8 }

// The write that ends a node before its block is told as what it does.
func TestDestroyed(t *testing.T) {
	w := graphtest.New(t, kinds)
	g := graph.New(w.G.Spec(), w.H, shared{w.G.Spec()}, graph.Options{})
	w.Alloc("node", 0x1000, 16+nodeSize)
	owners := uint64(3)
	for _, want := range []string{"4 bytes at 0x1008", "4 bytes at 0x1008", "node#1 was destroyed: its last owner gave it up"} {
		owners--
		at := w.Put(0x1008, 4, owners)
		g.Advance()
		if got := describe.Change(g, w.H, at); got != want {
			t.Errorf("%d owners: %s", owners, got)
		}
	}
}

// A pointer to what has ended in a block that lives on says what that was.
func TestDestroyedTarget(t *testing.T) {
	w := graphtest.New(t, kinds)
	g := graph.New(w.G.Spec(), w.H, shared{w.G.Spec()}, graph.Options{})
	w.Alloc("node", 0x1000, 16+nodeSize)
	w.Alloc("node", 0x2000, 16+nodeSize)
	w.Put(0x1008, 4, 1)
	w.Put(0x2008, 4, 1)
	w.Put(0x1010+nextAt, 8, 0x2010)
	w.Put(0x2008, 4, 0)
	g.Advance()
	next := func(at mgpp.Timestamp) string {
		for _, f := range describe.Fields(g, w.H.At(at), 1) {
			if f.Path == "next" {
				return f.Text
			}
		}
		return "none"
	}
	if before, after := next(w.H.Now()-1), next(w.H.Now()); before != "node#2" || after != "0x2010 (destroyed node#2)" {
		t.Errorf("%s, and then %s", before, after)
	}
}

// TestLargeArray: a table of a million entries is described by its first ones.
func TestLargeArray(t *testing.T) {
	w := graphtest.New(t, kinds)
	w.Alloc("table", 0x100000, 8<<20)
	f := describe.Fields(w.G, w.Now(), 1)
	if len(f) == 0 || len(f) > 1000 {
		t.Fatalf("%d fields", len(f))
	}
	for i, f := range f {
		if want := fmt.Sprintf("[%d]", i); f.Path != want {
			t.Fatalf("field %d: %s", i, f.Path)
		}
	}
	if got, want := describe.Change(w.G, w.H, w.Copy("memset", 0x100000, make([]byte, 8<<20))), "memset of 8388608 bytes: table#1[0]: never written → NULL,"; !strings.HasPrefix(got, want) {
		t.Errorf("%.200s", got)
	}
	last, ok := describe.FieldAt(w.G, w.Now(), 1, 0x100000+8<<20-1)
	if !ok || last.Path != "[1048575]" {
		t.Errorf("the last: %+v %v", last, ok)
	}
}

// TestUnion: a union is shown word by word: a pointer to a node by its member's name, what
// else there is as a number, with the bytes that were never written; where only one member reaches, by its fields.
func TestUnion(t *testing.T) {
	w := graphtest.New(t, `
struct v { int kind; union { long num; char *text; struct v *arg; struct { struct v *left; char op; struct v *right; } two; } u; };
type v;
`)
	w.Alloc("v", 0x1000, 32)
	w.Alloc("v", 0x2000, 32)
	w.Put(0x1008, 8, 0x2000)
	w.Put(0x1010, 1, '+')
	w.Put(0x1018, 8, 0)
	last := w.Put(0x2008, 8, 42)
	for o, want := range map[graph.ObjID]string{
		1: "kind never written; u.arg v#2; u.two.op 43 '+'; u.two.right NULL",
		2: "kind never written; u 0x2a; u.two.op never written; u.two.right never written",
	} {
		if got := strings.Join(texts(w, w.Now(), o), "; "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if got, want := describe.Change(w.G, w.H, last), "v#2.u: never written → 0x2a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAnonymousUnion: a field where only one member of an anonymous union reaches has the name that C gives it; where
// two do, or an array does, there are words.
func TestAnonymousUnion(t *testing.T) {
	w := graphtest.New(t, `
struct v { union { long num; struct { struct v *left; short op; }; }; union { struct { long a; short b; } p; struct { long c; int d; } q; } u; union { long n; char raw[16]; } r; struct { union { char one; struct { long x, y; }; }; } s; };
type v;
`)
	w.Alloc("v", 0x1000, 64)
	w.Put(0x1008, 2, '+')
	w.Put(0x1018, 4, 7)
	want := "num never written; op 43; u never written; u+8 0x????????00000007; r never written; r+8 never written; s.one never written; s.y never written"
	if got := strings.Join(texts(w, w.Now(), 1), "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestUnionOfPointers: a word of a union that holds a pointer in each member is one whatever it holds, so that the locator
// tries others in it; where one member has a number there it is none.
func TestUnionOfPointers(t *testing.T) {
	w := graphtest.New(t, `
struct n { int k; };
struct v { union { struct n *leaf[3]; struct { struct v *down, *up; long more; } in; } u; };
type v; type n;
`)
	w.Alloc("v", 0x1000, 24)
	w.Alloc("v", 0x2000, 24)
	w.Put(0x1000, 8, 0)
	w.Put(0x1008, 8, 0x2000)
	w.Put(0x1010, 8, 0)
	want := "u NULL; u.leaf[1] v#2; u+16 0x0"
	if got := strings.Join(texts(w, w.Now(), 1), "; "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var pointers []bool
	for _, f := range describe.BareFields(w.G, w.Now(), 1) {
		pointers = append(pointers, f.Pointer)
	}
	if diff := cmp.Diff([]bool{true, true, false}, pointers); diff != "" {
		t.Errorf("pointers (-want +got):\n%s", diff)
	}
}

// TestTag: a word with flags in its low bits is a pointer, and these are told beside it.
func TestTag(t *testing.T) {
	w := graphtest.New(t, `
struct rb { unsigned long parent; struct rb *left; };
type rb edges (left);
tag rb.parent & 3;
`)
	w.Alloc("rb", 0x1000, 16)
	w.Alloc("rb", 0x2000, 16)
	w.Put(0x1000, 8, 1)
	w.Put(0x2000, 8, 0x1003)
	for o, want := range map[graph.ObjID]string{1: "parent NULL tag 1; left never written", 2: "parent rb#1 tag 3; left never written"} {
		if got := strings.Join(texts(w, w.Now(), o), "; "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
