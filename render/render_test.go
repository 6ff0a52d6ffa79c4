package render

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a drawing with testdata/name.dot, and lays it out.
func golden(t *testing.T, name string, g *Graph) {
	t.Helper()
	var b bytes.Buffer
	if err := DOT(&b, g); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name+".dot")
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
	layOut(t, g)
}

// layOut returns the SVG's text, and fails where it is not well-formed.
func layOut(t *testing.T, g *Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(context.Background(), &b, g); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if c, ok := tok.(xml.CharData); ok {
			text.Write(c)
			text.WriteByte('\n')
		}
	}
}

const tree = `
struct node { int key; struct node *left; struct node *right; };
type node;
`

// insert makes a node with children.
func insert(w *graphtest.World, at trace.Addr, key int, left, right trace.Addr) {
	w.Alloc("node", at, 24)
	w.Put(at, 4, uint64(key))
	w.Put(at+8, 8, uint64(left))
	w.Put(at+16, 8, uint64(right))
}

// small is a tree of three nodes; at the end its root has lost its left child.
func small(t *testing.T) (*graphtest.World, mgpp.Timestamp) {
	w := graphtest.New(t, tree)
	insert(w, 0x1000, 2, 0, 0)
	insert(w, 0x2000, 1, 0, 0)
	insert(w, 0x3000, 3, 0, 0)
	w.Put(0x1008, 8, 0x2000)
	w.Put(0x1010, 8, 0x3000)
	return w, w.Put(0x1008, 8, 0)
}

func TestSnapshot(t *testing.T) {
	w, _ := small(t)
	w.Free(0x3000)
	golden(t, "snapshot", Snapshot(w.G, w.Now(), Options{
		Title: "a tree", Notes: []string{"c1: X.left is NULL"}, Broken: []graph.ObjID{1}, Wrong: []trace.Addr{0x1008},
	}))
}

func TestPair(t *testing.T) {
	w, at := small(t)
	o := Options{Around: []graph.ObjID{1}, Changed: []trace.Addr{0x1008}}
	before, after := o, o
	before.Title, after.Title = "before", "after"
	b, a := Pair(w.G, w.H.At(at-1), w.H.At(at), before, after)
	golden(t, "before", b)
	golden(t, "after", a)
	aligned(t, b, a)
	if e := edgeTo(a, "n1", "n2"); e == nil || e.Mark != Hidden {
		t.Errorf("the lost edge after the change: %+v", e)
	}
	if e := edgeTo(b, "n1", "n2"); e == nil || e.Mark != Changed {
		t.Errorf("the edge before the change: %+v", e)
	}
}

func edgeTo(g *Graph, from, to string) *Edge {
	for i := range g.Edges {
		if g.Edges[i].From == from && g.Edges[i].To == to {
			return &g.Edges[i]
		}
	}
	return nil
}

// aligned: the drawings have the same nodes and edges in the same order.
func aligned(t *testing.T, frames ...*Graph) {
	t.Helper()
	shape := func(g *Graph) (s []string) {
		for _, n := range g.Nodes {
			s = append(s, n.ID)
		}
		for _, e := range g.Edges {
			s = append(s, e.From+":"+e.Port+"->"+e.To)
		}
		return s
	}
	for i, f := range frames {
		if d := cmp.Diff(shape(frames[0]), shape(f)); d != "" {
			t.Errorf("frame %d is not aligned (-first +it):\n%s", i, d)
		}
	}
}

// TestEvolution: nodes are in their places in every frame, before birth and
// after death too.
func TestEvolution(t *testing.T) {
	w, _ := small(t)
	w.Free(0x3000)
	var views []mgpp.View
	var options []Options
	for at := mgpp.Timestamp(1); at <= w.H.Now(); at++ {
		views = append(views, w.H.At(at))
		options = append(options, Options{Title: fmt.Sprintf("change %d%s", at, strings.Repeat(" and so on", int(at))), Changed: []trace.Addr{w.H.Op(at).Addr}})
	}
	frames := Evolution(w.G, views, options)
	aligned(t, frames...)
	shown := func(g *Graph) (n int) {
		for _, node := range g.Nodes {
			if node.Mark != Hidden {
				n++
			}
		}
		return n
	}
	if first, last := shown(frames[0]), shown(frames[len(frames)-1]); first != 1 || last != 2 {
		t.Errorf("the first frame shows %d nodes, the last %d", first, last)
	}
	last := places(t, frames[len(frames)-1])
	for i, f := range frames {
		for id, place := range places(t, f) {
			if want, ok := last[id]; ok && place != want {
				t.Errorf("frame %d: %s has moved from%s to%s", i, id, place, want)
			}
		}
	}
}

var svgNode = regexp.MustCompile(`(?s)<title>(n[0-9]+)</title>.*?<polygon[^>]* points="([^"]*)"`)

// places returns where the nodes are in the picture.
func places(t *testing.T, g *Graph) map[string]string {
	var b bytes.Buffer
	if err := SVG(context.Background(), &b, g); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range svgNode.FindAllStringSubmatch(b.String(), -1) {
		out[m[1]] = m[2]
	}
	if len(out) == 0 {
		t.Fatalf("no nodes in %s", b.String())
	}
	return out
}

// TestHistory draws the program of thesis figure 3.1 in spirit: a list of which
// an edge is written twice and a node dies.
func TestHistory(t *testing.T) {
	w := graphtest.New(t, "struct node { int key; struct node *next; };\ntype node;\n")
	line := func(n int) { w.PC = trace.Addr(n) }
	line(5)
	w.Alloc("node", 0x1000, 16)
	line(6)
	w.Put(0x1008, 8, 0)
	line(9)
	w.Alloc("node", 0x2000, 16)
	line(10)
	w.Put(0x2008, 8, 0x1000)
	line(12)
	w.Put(0x1008, 8, 0x2000)
	line(14)
	w.Put(0x2008, 8, 0)
	line(15)
	w.Free(0x1000)
	golden(t, "history", History(w.G, w.H, HistoryOptions{
		Title: "MG++", Statement: func(op mgpp.Op) string { return fmt.Sprint(uint64(op.PC)) },
	}))
}

// TestFolding: of ten thousand nodes, the picture has the fault's neighbourhood.
func TestFolding(t *testing.T) {
	const n = 10_000
	w := graphtest.New(t, "struct node { int key; struct node *next; struct node *prev; };\ntype node;\n")
	at := func(i int) trace.Addr { return trace.Addr(0x10000 + 32*i) }
	for i := range n {
		w.Alloc("node", at(i), 24)
		w.Put(at(i), 4, uint64(i))
		w.Put(at(i)+8, 8, 0)
		if i > 0 {
			w.Put(at(i)+16, 8, uint64(at(i-1)))
			w.Put(at(i-1)+8, 8, uint64(at(i)))
		}
	}
	g := Snapshot(w.G, w.Now(), Options{Around: []graph.ObjID{5000}, Broken: []graph.ObjID{5000}})
	if len(g.Nodes) < fewNodes || len(g.Nodes) > fewNodes+3 {
		t.Errorf("%d nodes are drawn", len(g.Nodes))
	}
	if edgeTo(g, "n5000", "n5001") == nil || edgeTo(g, "n5001", "n5000") == nil {
		t.Error("the neighbours' edges are missing")
	}
	text := layOut(t, g)
	if rest := fmt.Sprintf("%d more nodes", n-(len(g.Nodes)-1)); !strings.Contains(text, rest) {
		t.Errorf("it does not say %q: %s", rest, text)
	}
	if all := Snapshot(w.G, w.Now(), Options{}); len(all.Nodes) != defaultMax+1 {
		t.Errorf("without a fault, %d nodes are drawn", len(all.Nodes))
	}
	if more := Snapshot(w.G, w.Now(), Options{Max: 100, Around: []graph.ObjID{5000}}); len(more.Nodes) != 100+1 {
		t.Errorf("of the hundred nodes that were asked for, %d are drawn", len(more.Nodes))
	}
}

// TestManyFields: of an object with many fields, those that matter are drawn.
func TestManyFields(t *testing.T) {
	w := graphtest.New(t, "struct node { int key[100]; struct node *last; };\ntype node;\n")
	w.Alloc("node", 0x1000, 408)
	w.Put(0x1000+400, 8, 0x1000)
	g := Snapshot(w.G, w.Now(), Options{Changed: []trace.Addr{0x1000 + 4*50}})
	var names []string
	for _, f := range g.Nodes[0].Fields[maxFields:] {
		names = append(names, f.Name)
	}
	if d := cmp.Diff([]string{"key[50]", "last", "…"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestHostile: names and values come from the program; none breaks a picture.
func TestHostile(t *testing.T) {
	evil := []string{
		`"`, `\`, `\"`, "a\nb", `<b>&amp;</table>`, "]]>", "\x00\x01\x1b[31m", "\xff\xfe", "\ufffe\uffff", "\u202e\u009b", "{|}", "\\N\\G",
		"-->", "<!DOCTYPE x>", "std::map<int, char *>::operator<", strings.Repeat("long ", 100), "", "'", "#", "é→†",
	}
	g := &Graph{Title: strings.Join(evil, ""), Notes: evil}
	for i, s := range evil {
		mark := Mark(i % int(Hidden+1))
		id := fmt.Sprint(i, s)
		g.Nodes = append(g.Nodes, Node{ID: id, Title: s, Tip: s, Mark: mark, Fields: []Field{{Name: s, Value: s, Port: "f0", Mark: mark}}})
		g.Edges = append(g.Edges, Edge{From: id, Port: "f0", To: fmt.Sprint(0, evil[0]), Label: s, Mark: mark})
	}
	text := layOut(t, g)
	if strings.ContainsAny(text, "\u202e\u009b") {
		t.Error("the picture has what shows text in another order")
	}
	for _, want := range []string{"<b>&amp;</table>", "std::map<int, char *>::operator<", "é→†", "-->"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
}

func TestEmpty(t *testing.T) { layOut(t, &Graph{}) }

// TestUnknownNode: an edge to a node that is in no drawing is no crash.
func TestUnknownNode(t *testing.T) {
	layOut(t, &Graph{Nodes: []Node{{ID: "a", Title: "a"}}, Edges: []Edge{{From: "a", To: "b"}, {From: "a", Port: "none", To: "a"}}})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteError(t *testing.T) {
	g := &Graph{Nodes: []Node{{ID: "a"}}}
	if err := DOT(broken{}, g); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if err := SVG(context.Background(), broken{}, g); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// TestBox draws a cluster: two nodes in a box, and the merge edge that holds them.
func TestBox(t *testing.T) {
	golden(t, "box", &Graph{
		Nodes: []Node{{ID: "n1", Title: "chunk#1"}, {ID: "n2", Title: "chunk#2", Mark: Old}, {ID: "n3", Title: "chunk#3"}},
		Edges: []Edge{{From: "n1", To: "n2", Label: "(26)", Mark: Merged}, {From: "n3", To: "n1"}},
		Boxes: []Box{{Title: "cluster at 0x1060, \"64\" bytes", Nodes: []string{"n1", "n2"}}},
	})
}

// TestJoined: a cluster of a node that is drawn, one that has died and memory that is no node.
func TestJoined(t *testing.T) {
	w, _ := small(t)
	w.Free(0x3000)
	cluster := Joined{Title: "cluster", Parts: []JoinedPart{
		{Addr: 0x2000, Object: 2, Title: "node#2"}, {Addr: 0x3000, Object: 3, Title: "node#3", Merged: "(9)"}, {Addr: 0x3020, Title: "32 bytes"},
	}}
	elsewhere := Joined{Title: "elsewhere", Parts: []JoinedPart{{Addr: 0x8000, Title: "8 bytes"}, {Addr: 0x8008, Title: "8 bytes"}}}
	o := Options{Joined: []Joined{cluster, elsewhere}}
	g := Snapshot(w.G, w.Now(), o)
	if d := cmp.Diff([]Box{{"cluster", []string{"n2", "m3000", "m3020"}}}, g.Boxes); d != "" {
		t.Errorf("boxes (-want +got)\n%s", d)
	}
	marks := map[string]Mark{}
	for _, n := range g.Nodes {
		marks[n.ID] = n.Mark
	}
	if d := cmp.Diff(map[string]Mark{"n1": Plain, "n2": Plain, "m3000": Old, "m3020": Folded}, marks); d != "" {
		t.Errorf("nodes (-want +got)\n%s", d)
	}
	if e := edgeTo(g, "n2", "m3000"); e == nil || e.Mark != Merged || e.Label != "(9)" || edgeTo(g, "m3000", "m3020") != nil {
		t.Errorf("merge edge: %+v", e)
	}
	before, after := Pair(w.G, w.Now(), w.Now(), Options{}, o)
	aligned(t, before, after)
	if len(after.Boxes) != 0 || !slices.Equal(after.Notes, []string{"cluster"}) || edgeTo(before, "n2", "m3000").Mark != Hidden || edgeTo(after, "n2", "m3000").Mark != Merged {
		t.Errorf("in a sequence: boxes %v, notes %q", after.Boxes, after.Notes)
	}
}
