package faultloc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

const quadSpec = `
struct pt { int x, y; };
struct qdtree { int posX, posY, width, height; struct pt *point; struct qdtree *child[4]; };
qdtree FIELD 9 EDGE 5;
c1: qdtree X; X.ISROOT == FALSE => X.INDEGREE == 1;
c2: qdtree X; qdtree Y; X ->> Y => Y !->> X;
c3: qdtree X; qdtree Y; X -> Y => X.OUTDEGREE == 4;
`

// quadTree is the run of figures 4.1 and 4.3: n1 is split, its child[0] is
// cleared by the faulty line 35, and n5 is split.
const quadTree = `
16: n1 = calloc qdtree
cpoint
30: n2 = calloc qdtree
32: n1.child[0] = n2
30: n3 = calloc qdtree
32: n1.child[1] = n3
30: n4 = calloc qdtree
32: n1.child[2] = n4
30: n5 = calloc qdtree
32: n1.child[3] = n5
30: n6 = calloc qdtree
32: n5.child[0] = n6
30: n7 = calloc qdtree
32: n5.child[1] = n7
30: n8 = calloc qdtree
32: n5.child[2] = n8
%s
30: n9 = calloc qdtree
32: n5.child[3] = n9
`

// TestQuadTree: figure 4.4. Only the faulty assignment is output, and P goes
// {e1, e2, e3} → {e1, e2, e3} → {}.
func TestQuadTree(t *testing.T) {
	w := newWorld(t, quadSpec)
	w.run(fmt.Sprintf(quadTree, "35: n1.child[0] = NULL"))
	in := w.input()
	const e = "c3(qdtree#1, qdtree#3) c3(qdtree#1, qdtree#4) c3(qdtree#1, qdtree#5)"
	var found []eval.Instance
	for _, inc := range in.Found {
		found = append(found, inc.Instance)
	}
	p := []string{w.names(found)}
	reference(w.checker, in.At, found, func(_ mgpp.Timestamp, pending []eval.Instance) { p = append(p, w.names(pending)) })
	if want := []string{e, e, e, ""}; !slices.Equal(p, want) {
		t.Errorf("P is %q, want %q", p, want)
	}

	r := Locate(in)
	if got := summary(r); got != "wrote 35" {
		t.Errorf("suspects: %s, want only line 35", got)
	}
	s := &r.Suspects[0]
	if w.names(s.Contributes) != e {
		t.Errorf("contributes to %s", w.names(s.Contributes))
	}
	if len(r.Remaining) != 0 || len(r.Others) != 0 || r.Examined != 1 {
		t.Errorf("remaining %v, others %v, examined %d", r.Remaining, r.Others, r.Examined)
	}
	want := []Evidence{{Kind: Counterfactual, Cured: 3, Of: 3}, {Kind: RepairCell, Cured: 3, Of: 3, Mends: s.Repair}, {Kind: Flip, Flips: 3}}
	if !slices.Equal(s.Evidence, want) {
		t.Errorf("evidence %+v, want %+v", s.Evidence, want)
	}
	if s.Repair.Cell.Path != "child[0]" || w.graph.Name(s.Repair.Target) != "qdtree#2" {
		t.Errorf("repair %+v", s.Repair)
	}
}

// summary is "wrote 35, omitted 41 | wrote 12": the suspects, and the others.
func summary(r Result) string {
	list := func(suspects []Suspect) string {
		var s []string
		for _, x := range suspects {
			s = append(s, fmt.Sprintf("%s %d", x.Kind, x.PC))
		}
		return strings.Join(s, ", ")
	}
	if len(r.Others) == 0 {
		return list(r.Suspects)
	}
	return list(r.Suspects) + " | " + list(r.Others)
}

const rbSpec = `
struct rb { struct rb *left, *right, *parent; long key; int color; };
type rb edges (left, right);
const RED = 0; const BLACK = 1;
rb.BH DEFAULT 1;
rb X; X.BH = (X.left).BH + (X.color == BLACK ? 1 : 0);
black: rb X; (X.left).BH == (X.right).BH;
red: rb X, Y; X.color == RED and X -> Y => Y.color != RED;
up: rb X, Y; X.left == Y or X.right == Y => Y.parent == X;
`

const rbTree = `
1: r = calloc rb
2: r.key = 50
3: r.color = 1
cpoint
1: a = calloc rb
2: a.key = 30
5: r.left = a
6: a.parent = r
cpoint
1: b = calloc rb
2: b.key = 70
5: r.right = b
6: b.parent = r
cpoint
1: c = calloc rb     # a red uncle: a and b become black
2: c.key = 20
5: a.left = c
6: c.parent = a
9: a.color = 1
9: b.color = 1
cpoint
1: d = calloc rb
2: d.key = 80
5: b.right = d
6: d.parent = b
cpoint
`

const listSpecDL = `
struct dnode { struct dnode *next, *prev; long key; };
type dnode edges (next);
back: dnode X, Y; X.next == Y => Y.prev == X;
order: dnode X, Y; X.next == Y => X.key <= Y.key;
one: dnode X; X.INDEGREE <= 1;
acyclic: dnode X, Y; X ->> Y => Y !->> X;
`

// insertions makes a doubly-linked list of n nodes, head first.
func insertions(n int) string {
	var b strings.Builder
	b.WriteString("20: n0 = calloc dnode\n21: n0.key = 100\ncpoint\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "30: n%d = malloc dnode\n31: n%d.key = %d\n32: n%d.prev = NULL\n", i, i, 100-i, i)
		fmt.Fprintf(&b, "40: n%d.next = n%d\n41: n%d.prev = n%d\ncpoint\n", i, i-1, i-1, i)
	}
	return b.String()
}

const bagSpec = `
struct bag { long n; long key[6]; };
type bag;
sorted: bag X; for I in 0 to X.n - 2, X.key[I] <= X.key[I + 1];
filled: bag X; for I in 0 to X.n - 1, X.key[I] > 0;
ended: bag X; X.n < 6 => X.key[X.n] == 0;
room: bag X; X.n <= 6;
`

const avlSpec = `
struct avl { struct avl *left, *right; long key; };
type avl edges (left, right);
avl.HEIGHT DEFAULT 0;
avl X; X.HEIGHT = MAX((X.left).HEIGHT, (X.right).HEIGHT) + 1;
balanced: avl X; (X.left).HEIGHT - (X.right).HEIGHT <= 1 and (X.left).HEIGHT - (X.right).HEIGHT >= -1;
tree: avl X; X.ISROOT == FALSE => X.INDEGREE == 1;
left: avl X; X.left != NULL => (X.left).key < X.key;
right: avl X; X.right != NULL => (X.right).key > X.key;
root: avl X; X.ISROOT == TRUE => COUNT(avl Y: Y.ISROOT == TRUE) == 1;
`

// An AVL tree 30(20(10)) with a lone 25, then an insertion that rotates.
const avlTree = `
1: r = calloc avl
2: r.key = 50
cpoint
1: a = calloc avl
2: a.key = 30
3: r.left = a
1: b = calloc avl
2: b.key = 70
4: r.right = b
1: c = calloc avl
2: c.key = 20
3: a.left = c
1: d = calloc avl
2: d.key = 40
4: a.right = d
cpoint
`

const setsSpec = `
struct sets { long n; long parent[6]; long size[6]; };
type sets;
sum: sets F; F.n == SUM(I in 0 to 5: F.parent[I] == I ? F.size[I] : 0);
`

// Disjoint sets {0, 1}, {2}, {3, 4, 5}.
const setsUnited = `
10: s = calloc sets
11: s.n = 6
12: s.parent[1] = 1
12: s.parent[2] = 2
12: s.parent[3] = 3
12: s.parent[4] = 4
12: s.parent[5] = 5
13: s.size[0] = 1
13: s.size[1] = 1
13: s.size[2] = 1
13: s.size[3] = 1
13: s.size[4] = 1
13: s.size[5] = 1
cpoint
50: s.parent[1] = 0
51: s.size[0] = 2
cpoint
50: s.parent[4] = 3
51: s.size[3] = 2
cpoint
50: s.parent[5] = 3
51: s.size[3] = 3
cpoint
`

type locateCase struct {
	name, spec, before, fault, correct string
	want                               string // of the faulty run
	second                             bool
	evidence                           EvidenceKind // that the first suspect has
}

// cases are runs with a fault each and its correct twin; the first suspect is
// the fault.
var cases = []locateCase{
	{
		name: "wrong child", spec: quadSpec, before: fmt.Sprintf(quadTree, "") + "cpoint",
		fault: "35: n5.child[2] = n3", correct: "35: n5.child[2] = n8",
		want: "wrote 35", evidence: Counterfactual,
	},
	{
		name: "wrong colour before the link", spec: rbSpec, before: rbTree,
		fault:   "1: e = malloc rb\n2: e.key = 60\n3: e.color = 1\n7: e.left = NULL\n7: e.right = NULL\n5: b.left = e\n6: e.parent = b",
		correct: "1: e = malloc rb\n2: e.key = 60\n3: e.color = 0\n7: e.left = NULL\n7: e.right = NULL\n5: b.left = e\n6: e.parent = b",
		want:    "wrote 3, wrote 5 | wrote 7", second: true, evidence: RepairCell,
	},
	{
		name: "missing recolouring", spec: rbSpec, before: rbTree, // a rotation to the right around a
		fault:   "1: e = calloc rb\n2: e.key = 10\n5: c.left = e\n6: e.parent = c\n14: a.left = NULL\n15: c.right = a\n16: a.parent = c\n17: r.left = c\n18: c.parent = r\n12: a.color = 0",
		correct: "1: e = calloc rb\n2: e.key = 10\n5: c.left = e\n6: e.parent = c\n14: a.left = NULL\n15: c.right = a\n16: a.parent = c\n17: r.left = c\n18: c.parent = r\n12: a.color = 0\n9: c.color = 1",
		want:    "omitted 9, wrote 15, wrote 12, wrote 17, wrote 5 | wrote 16", evidence: Missing,
	},
	{
		name: "dropped back pointer", spec: listSpecDL, before: insertions(8),
		fault:   "30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n8",
		correct: "30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = n8\n41: n8.prev = x",
		want:    "omitted 41, wrote 40", evidence: Habit,
	},
	{
		name: "wrong field", spec: rbSpec, before: rbTree,
		fault:   "1: e = calloc rb\n2: e.key = 60\n5: b.left = e\n6: e.left = b",
		correct: "1: e = calloc rb\n2: e.key = 60\n5: b.left = e\n6: e.parent = b",
		want:    "wrote 6, wrote 5", evidence: Counterfactual,
	},
	{
		name: "wrong each time", spec: listSpecDL, before: insertions(6),
		fault:   "50: n3.key = 500\n50: n5.key = 600",
		correct: "50: n3.key = 97\n50: n5.key = 95",
		want:    "wrote 50", evidence: Counterfactual,
	},
	{
		name: "wrong first value", spec: listSpecDL + "head: dnode X; X.INDEGREE == 0 => X.prev == NULL;", before: insertions(4), // others have theirs from line 32: it is not missing
		fault:   "30: x = malloc dnode\n31: x.key = 1\n33: x.prev = x\n40: x.next = n4\n41: n4.prev = x",
		correct: "30: x = malloc dnode\n31: x.key = 1\n33: x.prev = NULL\n40: x.next = n4\n41: n4.prev = x",
		want:    "wrote 33, wrote 30", evidence: RepairCell,
	},
	{
		name: "never written", spec: listSpecDL + "head: dnode X; X.INDEGREE == 0 => X.prev == NULL;", before: "", // and no other node to compare with
		fault:   "30: x = malloc dnode\n31: x.key = 1\n40: x.next = NULL",
		correct: "30: x = malloc dnode\n31: x.key = 1\n32: x.prev = NULL\n40: x.next = NULL",
		want:    "omitted 40, wrote 30", evidence: Beside,
	},
	{
		name: "wrong number in a sum", spec: setsSpec, before: setsUnited,
		fault:   "50: s.parent[3] = 0\n51: s.size[0] = 3",
		correct: "50: s.parent[3] = 0\n51: s.size[0] = 5",
		want:    "wrote 51, wrote 50", evidence: RepairCell,
	},
	{
		name: "wrong key", spec: listSpecDL, before: insertions(6),
		fault:   "50: n3.key = 500",
		correct: "50: n3.key = 97",
		want:    "wrote 50", evidence: RepairCell,
	},
	{
		name: "wild pointer", spec: listSpecDL + "alive: dnode X; X.next != NULL => (X.next).EXISTS == TRUE;", before: insertions(3),
		fault:   "60: n2.next = 0x1234",
		correct: "60: n2.next = n1",
		want:    "wrote 60", evidence: Counterfactual,
	},
	{
		name: "overrun", spec: listSpecDL, before: insertions(3) + "70: p = malloc dnode\n70: q = malloc dnode\n71: q.next = NULL\n71: p.next = NULL\n72: p.key = 4\n72: q.key = 5\n73: p.next = q\n74: q.prev = p\ncpoint",
		fault:   "75: memcpy p.prev 0 9 0 0 0 7 7 7", // 24 bytes of a node, 24 of slack
		correct: "75: memcpy p.prev 0 4",
		want:    "wrote 75", evidence: Counterfactual,
	},
	{
		name: "wrong count", spec: bagSpec, before: "1: g = calloc bag\n2: g.key[0] = 3\n3: g.n = 1\ncpoint\n2: g.key[1] = 5\n3: g.n = 2\ncpoint",
		fault:   "2: g.key[2] = 8\n3: g.n = 4",
		correct: "2: g.key[2] = 8\n3: g.n = 3",
		want:    "wrote 3, omitted 2, wrote 2", evidence: RepairCell,
	},
	{
		name: "wrong rotation", spec: avlSpec, before: avlTree,
		// r is rotated to the right: r.left must become d, not c.
		fault:   "1: e = calloc avl\n2: e.key = 10\n3: c.left = e\n11: r.left = c\n12: a.right = r",
		correct: "1: e = calloc avl\n2: e.key = 10\n3: c.left = e\n11: r.left = d\n12: a.right = r",
		want:    "wrote 11, wrote 12 | wrote 3, wrote 1", evidence: RepairCell,
	},
	{
		name: "noise", spec: listSpecDL, before: insertions(6),
		// later operations touch what line 50 broke; line 53 stores the wrong value again
		fault:   "50: n3.prev = n1\n51: n3.key = 96\n51: n3.key = 97\n52: n4.next = n3\n53: n3.prev = n1",
		correct: "51: n3.key = 97\n52: n4.next = n3",
		want:    "wrote 50, wrote 53",
	},
}

const ringSpec = `
struct cnode { struct cnode *next; long key; };
type cnode;
ring: cnode X; X.INDEGREE == 1;
`

// A ring of three.
const ring = `
20: a = calloc cnode
21: a.next = a
cpoint
20: b = calloc cnode
31: b.next = a
32: a.next = b
cpoint
20: c = calloc cnode
31: c.next = b
32: a.next = c
cpoint
`

const mirrorSpec = `
struct dnode { struct dnode *next, *prev; long key; };
type dnode edges (next);
forth: dnode X, Y; X.next == Y => Y.prev == X;
back: dnode X, Y; X.prev == Y => Y.next == X;
`

func init() {
	cases = append(cases, []locateCase{
		{
			name: "operands the wrong way round", spec: ringSpec, before: ring,
			fault:   "20: x = calloc cnode\n41: x.next = c\n42: x.next = a",
			correct: "20: x = calloc cnode\n41: x.next = c\n42: a.next = x",
			want:    "wrote 42, wrote 20 | wrote 41", evidence: Swapped,
		},
		{
			name: "the way back is missing", spec: mirrorSpec, before: insertions(6),
			fault:   "60: x = calloc dnode\n61: x.key = 97\n52: memcpy x.next n3 n4\n51: n3.prev = x",
			correct: "60: x = calloc dnode\n61: x.key = 97\n52: memcpy x.next n3 n4\n51: n3.prev = x\n53: n4.next = x",
			want:    "wrote 52, wrote 51", evidence: Outdated,
		},
		{
			name: "one field twice, another never", spec: rbSpec, before: rbTree,
			fault:   "1: e = malloc rb\n2: e.key = 60\n3: e.color = 0\n17: e.left = NULL\n18: e.left = NULL\n19: e.parent = NULL\n5: b.left = e\n6: e.parent = b",
			correct: "1: e = malloc rb\n2: e.key = 60\n3: e.color = 0\n17: e.left = NULL\n18: e.right = NULL\n19: e.parent = NULL\n5: b.left = e\n6: e.parent = b",
			want:    "wrote 18, wrote 1 | wrote 17", evidence: Idle,
		},
		{
			name: "one field again when all others are there", spec: rbSpec, before: rbTree,
			fault:   "1: e = malloc rb\n2: e.key = 60\n3: e.color = 0\n17: e.left = NULL\n19: e.parent = NULL\n20: e.left = NULL\n5: b.left = e\n6: e.parent = b",
			correct: "1: e = malloc rb\n2: e.key = 60\n3: e.color = 0\n17: e.left = NULL\n19: e.parent = NULL\n20: e.right = NULL\n5: b.left = e\n6: e.parent = b",
			want:    "wrote 20, wrote 1 | wrote 17", evidence: Idle,
		},
		{
			// what is counted up is the wrong field, of which no constraint says anything
			name: "another number of the node", spec: countedSpec, before: "20: l = calloc list\n23: l.spare = 7\ncpoint",
			fault:   "30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n42: l.lowest = 5\n40: l.first = x\n41: l.spare = 8",
			correct: "30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n42: l.lowest = 5\n40: l.first = x\n41: l.length = 1",
			want:    "wrote 41, wrote 30", evidence: Instead,
		},
		{
			// with g.n = 2 nothing would ask for the third key
			name: "wrong element", spec: bagSpec, before: "1: g = calloc bag\n2: g.key[0] = 3\n3: g.n = 1\ncpoint\n2: g.key[1] = 5\n3: g.n = 2\ncpoint",
			fault:   "2: g.key[2] = 4\n3: g.n = 3",
			correct: "2: g.key[2] = 8\n3: g.n = 3",
			want:    "wrote 2, wrote 3", evidence: RepairCell,
		},
		{
			name: "a count that nothing raises", spec: countedSpec, before: "20: l = calloc list\ncpoint",
			fault:   "30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n42: l.lowest = 5\n40: l.first = x",
			correct: "30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n42: l.lowest = 5\n40: l.first = x\n41: l.length = 1",
			want:    "wrote 40, wrote 30", evidence: Outdated,
		},
		{
			name: "right when it was stored", spec: countedSpec, before: "20: l = calloc list\ncpoint",
			fault:   "30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n40: l.first = x\n41: l.length = 1\n42: l.lowest = 5\n30: y = malloc item\n31: y.next = x\n33: y.key = 3\n41: l.length = 2\n50: l.first = y",
			correct: "30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n40: l.first = x\n41: l.length = 1\n42: l.lowest = 5\n30: y = malloc item\n31: y.next = x\n33: y.key = 3\n41: l.length = 2\n50: l.first = y\n42: l.lowest = 3",
			want:    "wrote 50, wrote 42, wrote 33", evidence: Outdated,
		},
		{
			// by accident the length is right when the first item is made
			name: "counted on", spec: countedSpec, before: "",
			fault:   "20: l = malloc list\n21: l.first = NULL\n22: l.lowest = 0\n23: l.length = 1\n30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n40: l.first = x\n42: l.lowest = 5\n41: l.length = 2",
			correct: "20: l = malloc list\n21: l.first = NULL\n22: l.lowest = 0\n23: l.length = 0\n30: x = malloc item\n31: x.next = NULL\n33: x.key = 5\n40: l.first = x\n42: l.lowest = 5\n41: l.length = 1",
			want:    "wrote 23, wrote 41", evidence: Basis,
		},
		{
			// a and b are married, and then a is not any more
			name: "right until another change", spec: matesSpec, before: "1: a = calloc person\n1: b = calloc person\n1: o = calloc office\n1: o.all[0] = a\n1: o.all[1] = b\ncpoint",
			fault:   "2: a.mate = b\n3: b.mate = a\n6: o.married = 1\n4: a.mate = NULL\n7: o.married = 0",
			correct: "2: a.mate = b\n3: b.mate = a\n6: o.married = 1\n4: a.mate = NULL\n5: b.mate = NULL\n7: o.married = 0",
			want:    "wrote 4, wrote 3, wrote 7", evidence: Outdated,
		},
		{
			// the buffer is full, and the end of its gap is not moved when it grows: that the gap
			// began one further on, as after each key, is not what is wrong
			name: "counted as always", spec: gapSpec, before: typed(8),
			fault:   "22: l.gapend = 8\n25: l.cap = 16\n30: l.gap = 9",
			correct: "22: l.gapend = 16\n25: l.cap = 16\n30: l.gap = 9",
			want:    "wrote 22, wrote 30", evidence: RepairCell,
		},
		{
			// a's part is exchanged for one, and then for another: only from then on is the
			// total that mends it the right one
			name: "right since a later change", spec: sumSpec, before: sums + "1: d = calloc part\n1: e = calloc part\n2: d.own = 9\n2: e.own = 5\n9: d.total = 9\n9: e.total = 5\ncpoint\n",
			fault:   "31: b.left = d\n32: b.left = e\n35: a.total = 11\n36: r.total = 12",
			correct: "31: b.left = d\n32: b.left = e\n34: b.total = 9\n35: a.total = 11\n36: r.total = 12",
			want:    "wrote 32, omitted 36, wrote 31", evidence: Outdated,
		},
		{
			// x is put behind n3, and its prev, which is NULL as it is in new nodes, is taken from the wrong one
			name: "stored again", spec: listSpecDL, before: insertions(4),
			fault:   "30: x = malloc dnode\n31: x.key = 96\n32: x.prev = NULL\n73: x.prev = NULL\n74: x.next = n3\n75: n4.next = x\n76: n3.prev = x",
			correct: "30: x = malloc dnode\n31: x.key = 96\n32: x.prev = NULL\n73: x.prev = n4\n74: x.next = n3\n75: n4.next = x\n76: n3.prev = x",
			want:    "wrote 73, wrote 75, wrote 32 | wrote 74", evidence: RepairCell, second: true,
		},
		{
			// nobody's part is NULL: to set it so mends what a freed part has broken, as it
			// always would
			name: "never NULL", spec: partSpec, before: expressions(10),
			fault:   "19: free v3\n25: e5.part = v3",
			correct: "25: e5.part = v3",
			want:    "wrote 19, wrote 25, omitted 25",
		},
	}...)
}

const matesSpec = `
struct person { struct person *mate; long age; };
struct office { struct person *all[2]; long married; };
type person;
type office;
mates: person X; X.mate == NULL or X.mate.mate == X;
count: office O; 2 * O.married == COUNT(person X: X.mate != NULL);
`

// gapSpec is a text with a gap.
const gapSpec = `
struct line { long cap, gap, gapend; };
type line;
gap: line L; L.gap <= L.gapend and L.gapend <= L.cap;
`

// typed is a text of so many keys.
func typed(n int) string {
	b := "1: l = calloc line\n2: l.cap = 8\n3: l.gapend = 8\ncpoint\n"
	for i := range n {
		b += fmt.Sprintf("30: l.gap = %d\ncpoint\n", i+1)
	}
	return b
}

// partSpec are expressions that each have a part.
const partSpec = `
struct val { long n; };
struct ex { struct val *part; };
type val;
type ex;
check dangling for ex;
`

// expressions are n, each with a part of its own.
func expressions(n int) (b string) {
	for i := range n {
		b += fmt.Sprintf("7: v%[1]d = malloc val\n8: e%[1]d = malloc ex\n9: e%[1]d.part = v%[1]d\ncpoint\n", i)
	}
	return b
}

// countedSpec is an ordered list that knows its length and its lowest key.
const countedSpec = `
struct item { struct item *next; long key; };
struct list { struct item *first; long length; long lowest; long spare; };
type item;
type list;
order: item X; X.next == NULL or X.key < X.next.key;
length: list L; L.length == COUNT(item);
lowest: list L; L.lowest == (L.first == NULL ? 0 : L.first.key);
`

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.spec)
			w.run(c.before)
			w.run(c.fault)
			in := w.input()
			if len(in.Found) == 0 {
				t.Fatal("the fault breaks nothing")
			}
			r := Locate(in)
			if got := summary(r); got != c.want {
				t.Errorf("%s: %s, want %s", w.found(in), got, c.want)
				w.show(r)
			}
			if len(r.Suspects) == 0 {
				return
			}
			first := r.Suspects[0]
			if c.evidence != "" && !slices.ContainsFunc(first.Evidence, func(e Evidence) bool { return e.Kind == c.evidence }) {
				t.Errorf("no %s among %+v", c.evidence, first.Evidence)
			}
			for _, e := range first.Evidence {
				if e.Kind == Missing && e.Beside <= in.Healthy {
					t.Errorf("it is missing beside %d, before the last healthy C-point", e.Beside)
				}
			}
			if first.Second != c.second {
				t.Errorf("second class: %t", first.Second)
			}
		})
		t.Run(c.name+", correct", func(t *testing.T) {
			w := newWorld(t, c.spec)
			w.run(c.before)
			w.run(c.correct)
			in := w.input()
			if r := Locate(in); len(in.Found) > 0 || len(r.Suspects)+len(r.Others)+len(r.Repairs) > 0 {
				t.Errorf("%s: %s", w.found(in), summary(r))
			}
		})
	}
}

// TestManyInconsistencies: where very many are found, some of each constraint are
// traced back, and the fault is named all the same.
func TestManyInconsistencies(t *testing.T) {
	w := newWorld(t, listSpecDL)
	w.run(insertions(4 * maxSeeds))
	for i := 1; i < 4*maxSeeds; i += 2 {
		w.run(fmt.Sprintf("50: n%d.prev = NULL", i))
	}
	in := w.input()
	if len(in.Found) <= maxSeeds {
		t.Fatalf("only %d inconsistencies", len(in.Found))
	}
	if r := Locate(in); len(r.Suspects) == 0 || r.Suspects[0].PC != 50 || r.Trials > maxTrials {
		t.Errorf("%s after %d trials", summary(r), r.Trials)
	}
}

func (w *world) found(in Input) string {
	var s []string
	for _, inc := range in.Found {
		s = append(s, w.name(inc.Instance)+": "+inc.Reason)
	}
	return strings.Join(s, "; ")
}

// show logs a result.
func (w *world) show(r Result) {
	for _, s := range append(slices.Clone(r.Suspects), r.Others...) {
		w.t.Logf("%s %d at %d of %v, worth %d, second %t: %+v", s.Kind, s.PC, s.Operation, s.Operations, s.worth(), s.Second, s.Evidence)
	}
	for _, m := range r.Repairs {
		w.t.Logf("repair: %s.%s = %#x cures %d, orphans %d", w.graph.Name(m.Cell.Obj), m.Cell.Path, m.Value, m.Cured, m.Orphans)
	}
}

// TestUnseen: an operation without a statement is followed, but no suspect.
func TestUnseen(t *testing.T) {
	w := newWorld(t, listSpecDL)
	w.run(insertions(4))
	at, _ := w.cell("n2.prev")
	w.apply(&trace.Event{Kind: trace.KindBulk, Addr: at, Size: 8, Data: make([]byte, 8), Name: trace.UnseenWrite, PC: 99})
	r := Locate(w.input())
	if summary(r) != "" || !slices.Equal(r.Unseen, []mgpp.Timestamp{w.hist.Now()}) {
		t.Errorf("suspects %s, unseen %v", summary(r), r.Unseen)
		w.show(r)
	}
}
