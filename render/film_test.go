package render

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/constraints/graph"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// film shoots a history from a time on, a frame for each change.
func film(t *testing.T, w *graphtest.World, from mgpp.Timestamp, edit func(i int, s *Shot)) *Film {
	t.Helper()
	var shots []Shot
	for at := from; at <= w.H.Now(); at++ {
		s := Shot{View: w.H.At(at)}
		if at > from {
			op := w.H.Op(at)
			s.Before = w.H.At(at - 1)
			if s.Anew = op.Kind != mgpp.OpStore; !s.Anew {
				s.Lo, s.Hi = op.Addr, op.Addr+trace.Addr(op.Size)
			}
		}
		edit(len(shots), &s)
		shots = append(shots, s)
	}
	var objects []graph.ObjID
	for id := graph.ObjID(1); int(id) <= w.G.Objects(); id++ {
		objects = append(objects, id)
	}
	f, err := NewFilm(context.Background(), w.G, shots, FilmOptions{Objects: objects, Main: objects})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// scene is a frame in words.
type scene struct {
	Nodes string
	Edges []string // "node#1.left>node#2 state"
	Marks []string // "node#1.left state"
}

func scenes(f *Film) (out []scene) {
	name := map[int]string{}
	for _, b := range f.boxes {
		for _, r := range b.rows {
			name[r.cell] = b.title + "." + r.path
		}
	}
	for i := range f.Frames {
		fr := &f.Frames[i]
		s := scene{Nodes: fr.Nodes}
		for _, e := range f.sorted() {
			if a := &f.arrows[e]; fr.Edges[e:e+1] != StateHidden {
				s.Edges = append(s.Edges, name[f.boxes[a.from].rows[a.row].cell]+">"+f.boxes[a.to].title+" "+fr.Edges[e:e+1])
			}
		}
		for _, m := range fr.Marks {
			s.Marks = append(s.Marks, name[m.Cell]+" "+m.Text)
		}
		out = append(out, s)
	}
	return out
}

// TestFilm: the small tree loses its left child, which is freed, and a new node
// is linked in its place.
func TestFilm(t *testing.T) {
	w, lost := small(t)
	w.Put(0x1010, 8, 0x2000) // node#1.right: node#3 → node#2
	w.Free(0x2000)
	w.Alloc("node", 0x4000, 24)
	w.Put(0x1008, 8, 0x4000)
	f := film(t, w, lost-1, func(i int, s *Shot) {
		if i == 1 {
			s.Broken, s.Wrong = []graph.ObjID{1}, []trace.Addr{0x1010}
			s.Repair = []Repair{{Cell: 0x1008, From: 1, To: 2}}
		}
	})
	want := []scene{
		{Nodes: "ppp.", Edges: []string{"node#1.left>node#2 p", "node#1.right>node#3 p"}},
		{Nodes: "bpp.", Edges: []string{"node#1.left>node#2 g", "node#1.left>node#2 r", "node#1.right>node#3 b"}, Marks: []string{"node#1.left c", "node#1.right b"}},
		{Nodes: "ppp.", Edges: []string{"node#1.right>node#2 n", "node#1.right>node#3 g"}, Marks: []string{"node#1.right c"}},
		{Nodes: "pgp.", Edges: []string{"node#1.right>node#2 b"}},
		{Nodes: "pgpn", Edges: []string{"node#1.right>node#2 b"}},
		{Nodes: "pgpp", Edges: []string{"node#1.left>node#4 n", "node#1.right>node#2 b"}, Marks: []string{"node#1.left c"}},
	}
	got := scenes(f)
	for i := range got {
		slices.Sort(got[i].Edges)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if f.Frames[1].Values[0].Text != "NULL" || len(f.Frames[1].Values) != 1 {
		t.Errorf("a frame tells what differs from the one before: %v", f.Frames[1].Values)
	}
}

var boxAt = regexp.MustCompile(`class="frame" x="([0-9.]+)" y="([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)"`)

// TestFilmStays: nothing moves from frame to frame, no two boxes overlap, and the
// pictures are well-formed.
func TestFilmStays(t *testing.T) {
	w, _ := small(t)
	for i := range trace.Addr(8) { // a chain below the right child
		insert(w, 0x5000+i*0x100, int(i), 0, 0x5000+(i-1)*0x100)
	}
	w.Put(0x3010, 8, 0x5700)
	f := film(t, w, 1, func(int, *Shot) {})
	places := map[string]string{}
	for i := range f.Frames {
		svg := f.SVG(i, "", "frame")
		wellFormed(t, svg)
		for _, g := range strings.Split(svg, `<g class="box`)[1:] {
			name, at := g[strings.Index(g, `class="name"`):], boxAt.FindString(g)
			name = name[strings.Index(name, ">")+1 : strings.Index(name, "<")]
			if have := places[name]; have != "" && have != at {
				t.Errorf("frame %d: %s has moved from %s to %s", i, name, have, at)
			}
			places[name] = at
		}
	}
	if len(places) != 11 {
		t.Errorf("%d boxes were ever shown, want 11", len(places))
	}
	all := f.SVG(All, `p"<-`, `a "label" <b>`)
	wellFormed(t, all)
	var boxes [][4]float64
	for _, m := range boxAt.FindAllStringSubmatch(all, -1) {
		var b [4]float64
		for i := range b {
			b[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		boxes = append(boxes, b)
	}
	for i, a := range boxes {
		for _, b := range boxes[:i] {
			if a[0] < b[0]+b[2] && b[0] < a[0]+a[2] && a[1] < b[1]+b[3] && b[1] < a[1]+a[3] {
				t.Errorf("boxes overlap: %v and %v", a, b)
			}
		}
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
	}
}

// TestFilmOfOne: a film of a single frame and object.
func TestFilmOfOne(t *testing.T) {
	w := graphtest.New(t, tree)
	w.Alloc("node", 0x1000, 24)
	f := film(t, w, 1, func(int, *Shot) {})
	wellFormed(t, f.SVG(0, "", ""))
	if f.Frames[0].Nodes != "p" || f.Width <= 0 || f.Height <= 0 {
		t.Errorf("%+v, %g by %g", f.Frames[0], f.Width, f.Height)
	}
}

// TestAside: an edge that does not count by the specification is drawn apart and
// does not say what is above what: the parent pointers of a tree.
func TestAside(t *testing.T) {
	w := graphtest.New(t, `
struct node { struct node *parent; struct node *left; struct node *right; };
type node edges (left, right);
`)
	for i := range trace.Addr(3) {
		w.Alloc("node", 0x1000*(i+1), 24)
	}
	w.Put(0x2000, 8, 0x1000)
	w.Put(0x3000, 8, 0x1000)
	w.Put(0x1008, 8, 0x2000)
	w.Put(0x1010, 8, 0x3000)
	f := film(t, w, w.H.Now(), func(int, *Shot) {})
	if n := strings.Count(f.SVG(0, "", ""), `class="edge aside is-p"`); n != 2 {
		t.Errorf("%d edges are aside, want 2", n)
	}
	root, left, right := f.boxes[0], f.boxes[1], f.boxes[2]
	if root.y >= left.y || root.y >= right.y || left.x >= right.x {
		t.Errorf("the root lies at %g,%g, its children at %g,%g and %g,%g", root.x, root.y, left.x, left.y, right.x, right.y)
	}
}
