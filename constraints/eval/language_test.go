package eval_test

import (
	"fmt"
	"testing"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"

	"github.com/google/go-cmp/cmp"
)

const dnode = `
struct dnode { int key; unsigned n; struct dnode *next, *prev; };
type dnode;
`

const rows = `ARRAY rows OF struct dnode; together dnode, rows;
`

// items that are in two lists, and an array of the heads of both.
const pairs = `struct item { int key; struct item *name, *rank; }; struct heads { struct item *name, *rank; };
type item; ARRAY pairs OF struct heads; together pairs, item;
`

// heads makes an array of two heads, and three items: the first array element leads to the first by name and to the second by
// rank, and that leads to the third.
func (w *world) heads() (array trace.Addr, items []trace.Addr) {
	array = w.alloc("pairs", 32, true)
	for i := range 3 {
		items = append(items, w.alloc("item", 24, true))
		w.put4(items[i], uint32(i+1))
	}
	w.put8(array, uint64(items[0]))
	w.put8(array+8, uint64(items[1]))
	w.put8(items[0]+16, uint64(items[2]))
	return array, items
}

// nodes in a ring that closes in a member of what holds it.
const queued = `struct qnode { struct qnode *next, *prev; long key; }; struct queue { long count, total; struct qnode head; };
type qnode; type queue; nil queue.head;
qnode.SUM; qnode X; X.SUM = X.key + (X.next).SUM;
back: qnode X; X.next != NULL => X.next.prev == X;
sum:  queue Q; Q.total == (Q.head.next).SUM;
`

// the same where the member is the first of what holds it, and a pointer to the one has the value of one to the other.
const fronted = `struct qnode { struct qnode *next, *prev; long key; }; struct ring { struct qnode head; long total; struct ring *other; };
type qnode; type ring; nil ring.head;
qnode.SUM; qnode X; X.SUM = X.key + (X.next).SUM;
sum:   ring R; R.total == (R.head.next).SUM;
other: ring R; R.other.total == R.total and R ->(other) R and R.INDEGREE == 1;
`

func (w *world) ring(n int) (r trace.Addr, nodes []trace.Addr) {
	r = w.alloc("ring", 40, true)
	last := r
	for i := range n {
		x := w.alloc("qnode", 24, true)
		w.put8(last, uint64(x))
		w.put8(x+8, uint64(last))
		w.put8(x+16, uint64(i+1))
		nodes, last = append(nodes, x), x
	}
	w.put8(last, uint64(r))
	w.put8(r+24, uint64(n*(n+1)/2))
	w.put8(r+32, uint64(r))
	return r, nodes
}

func (w *world) queue(n int) (q trace.Addr, nodes []trace.Addr) {
	q = w.alloc("queue", 40, true)
	last := q + 16
	for i := range n {
		x := w.alloc("qnode", 24, true)
		w.put8(last, uint64(x))
		w.put8(x+8, uint64(last))
		w.put8(x+16, uint64(i+1))
		w.put8(q+8, uint64((i+1)*(i+2)/2))
		nodes, last = append(nodes, x), x
	}
	w.put8(last, uint64(q)+16)
	w.put8(q+24, uint64(last))
	return q, nodes
}

// a list of nodes linked both ways; what lacks is NULL.
func (w *world) dlist(n int) []trace.Addr {
	var a []trace.Addr
	for i := range n {
		a = append(a, w.alloc("dnode", 24, true))
		if i > 0 {
			w.put8(a[i-1]+8, uint64(a[i]))
			w.put8(a[i]+16, uint64(a[i-1]))
		}
	}
	return a
}

func TestLanguage(t *testing.T) {
	tests := []struct {
		name  string
		spec  string
		build func(w *world)
		want  []string
	}{
		{"healthy", dnode + `dnode X, Y; X.next == Y => Y.prev == X;`, func(w *world) { w.dlist(4) }, nil},
		{"wrong back pointer", dnode + `dnode X, Y; X.next == Y => Y.prev == X;`, func(w *world) {
			a := w.dlist(3)
			w.put8(a[1]+16, 0)
		}, []string{"c1 X=dnode#1 Y=dnode#2: Y.prev is NULL"}},
		{"undefined body is inconsistent", dnode + `dnode X; X.key >= 0;`, func(w *world) {
			w.alloc("dnode", 24, false)
		}, []string{"c1 X=dnode#1: X.key is undefined: X.key was never written"}},
		{"undefined guard does not apply", dnode + `dnode X; X.key >= 0 => X.n == 1;`, func(w *world) {
			w.alloc("dnode", 24, false)
		}, nil},
		{"true or undefined is true", dnode + `dnode X; X.next == NULL or X.next.key == 0;`, func(w *world) { w.dlist(1) }, nil},
		{"through NULL", dnode + `dnode X; X.next.key == 0;`, func(w *world) { w.dlist(1) },
			[]string{"c1 X=dnode#1: X.next.key is undefined: X.next is NULL"}},
		{"dangling is not NULL", dnode + `dnode X; X.next == NULL; dnode X; X.next.key == 0;`, func(w *world) {
			a := w.dlist(2)
			w.release(a[1])
		}, []string{
			"c1 X=dnode#1: X.next is dangling 0x10030 (dnode#2 is freed)",
			"c2 X=dnode#1: X.next.key is undefined: X.next is dangling",
		}},
		{"a function", `type hook; struct hook { void (*run)(void); }; hook X; X.run == NULL;`, func(w *world) {
			w.put8(w.alloc("hook", 8, true), aFunction)
			w.put8(w.alloc("hook", 8, true), aFunction+1)
			w.alloc("hook", 8, true)
		}, []string{"c1 X=hook#1: X.run is 0x700 (function visit)", "c1 X=hook#2: X.run is 0x701 (points nowhere)"}},
		{"address reused", dnode + `dnode X, Y; X.key == 1 => X.next == Y;`, func(w *world) {
			a := w.dlist(2)
			w.put4(a[0], 1)
			w.release(a[1])
			w.alloc("dnode", 24, true)
		}, []string{"c1 X=dnode#1: there is no dnode Y with X.next == Y: X.next is dangling 0x10030 (dnode#2 is freed)"}},
		{"division by zero", dnode + `dnode X; 6 / X.key == 2;`, func(w *world) { w.dlist(1) },
			[]string{"c1 X=dnode#1: 6 / X.key == 2 is undefined: 6 / X.key: division by zero"}},
		{"the head in what holds a ring stands for NULL", queued, func(w *world) { w.queue(3) }, nil},
		{"a ring that goes past its head", queued, func(w *world) {
			q, nodes := w.queue(3)
			w.put8(nodes[1], uint64(q)) // the count lies there, and no node
		}, []string{
			"back X=qnode#2: X.next.prev is undefined: X.next does not lead to a node of that type",
			"sum Q=queue#1: (Q.head.next).SUM is undefined: X.next does not lead to a node of that type",
		}},
		{"a node that a ring has lost", queued, func(w *world) {
			q, nodes := w.queue(3)
			w.put8(nodes[1], uint64(q)+16)
		}, []string{"sum Q=queue#1: Q.total is 6, (Q.head.next).SUM is 3"}},
		{"the head at the front of what holds a ring stands for NULL, and what holds it does not", fronted, func(w *world) { w.ring(3) }, nil},
		{"a node that a ring with its head at the front has lost", fronted, func(w *world) {
			r, nodes := w.ring(3)
			w.put8(nodes[1], uint64(r))
		}, []string{"sum R=ring#1: R.total is 6, (R.head.next).SUM is 3"}},
		{"unsigned compare", dnode + `dnode X; X.n > 5;`, func(w *world) {
			a := w.dlist(1)
			w.put4(a[0]+4, 0xffffffff)
		}, nil},
		{"signed compare", dnode + `dnode X; X.key < 0;`, func(w *world) {
			a := w.dlist(1)
			w.put4(a[0], 0xffffffff)
		}, nil},
		{"no edge from NULL", dnode + `dnode X; X.next !->> X;`, func(w *world) { w.dlist(1) }, nil},
		{"cycle", dnode + `dnode X, Y; X ->>(next) Y => Y !->>(next) X;`, func(w *world) {
			a := w.dlist(3)
			w.put8(a[2]+8, uint64(a[0]))
		}, []string{"c1 @dnode#1: a cycle of 3 nodes: dnode#1, dnode#2, dnode#3"}},
		{"self edge counts in both degrees", dnode + `dnode X; X.INDEGREE(next) == 0; dnode X; X.OUTDEGREE(next) == 0;`, func(w *world) {
			a := w.dlist(1)
			w.put8(a[0]+8, uint64(a[0]))
		}, []string{"c1 X=dnode#1: X.INDEGREE(next) is 1", "c2 X=dnode#1: X.OUTDEGREE(next) is 1"}},
		{"two fields are two edges", dnode + `dnode X; X.INDEGREE <= 1;`, func(w *world) {
			a, b := w.alloc("dnode", 24, true), w.alloc("dnode", 24, true)
			w.put8(a+8, uint64(b))
			w.put8(a+16, uint64(b))
		}, []string{"c1 X=dnode#2: X.INDEGREE is 2"}},
		{"one past the end is no edge", dnode + `dnode X; X.INDEGREE == 0;`, func(w *world) {
			a, b := w.alloc("dnode", 24, true), w.alloc("dnode", 24, true)
			w.put8(a+8, uint64(b)+24)
		}, nil},
		{"into the middle is", dnode + `dnode X; X.INDEGREE == 0;`, func(w *world) {
			a, b := w.alloc("dnode", 24, true), w.alloc("dnode", 24, true)
			w.put8(a+8, uint64(b)+8)
		}, []string{"c1 X=dnode#2: X.INDEGREE is 1"}},
		{"pointers of one type are equal by address", `struct buf { char *cur, *end; int *at; void *any, *one; char own[8]; }; type buf;
			cur: buf X; X.cur != X.end; any: buf X; X.any == X.one; other: buf X; X.cur == X.at; void: buf X; X.at == X.one;`, func(w *world) {
			a := w.alloc("buf", 48, true)
			for i, at := range []uint64{40, 44, 44, 16, 24} { // all into itself
				w.put8(a+trace.Addr(8*i), uint64(a)+at)
			}
		}, nil},
		{"a pointer is equal to a member of its type by address", `struct link { struct link *next, *prev; }; struct item { struct link a, b[2]; long in; }; type item;
			one: item X; X.a.next.prev == X.a; two: item X; for I in 0 to 1, X.b[I].next.prev == X.b[I]; node: item X; X.a.next.prev == X;`, func(w *world) {
			x, y := w.alloc("item", 56, true), w.alloc("item", 56, true)
			for off := trace.Addr(0); off < 48; off += 16 { // three rings of both
				for _, n := range [2][2]trace.Addr{{x, y}, {y, x}} {
					w.put8(n[0]+off, uint64(n[1]+off))
					w.put8(n[0]+off+8, uint64(n[1]+off))
				}
			}
			w.put8(x+8, uint64(y+16))  // y.a.next.prev
			w.put8(y+40, uint64(x+16)) // x.b[1].next.prev
		}, []string{
			"one X=item#2: X.a.next.prev is item#2+16, X.a is item#2",
			"two X=item#1: X.b[I].next.prev is item#1+16, X.b[I] is item#1+32",
		}},
		{"exists", dnode + `dnode X; (X.next).EXISTS == TRUE;`, func(w *world) {
			a := w.dlist(2)
			w.put8(a[1]+8, 0x5000)
		}, []string{"c1 X=dnode#2: (X.next).EXISTS == TRUE is false"}},
		{"dangling count", dnode + `dnode X; X.DANGLING == 0;`, func(w *world) {
			a := w.dlist(3)
			w.release(a[1])
		}, []string{"c1 X=dnode#1: X.DANGLING is 1", "c1 X=dnode#3: X.DANGLING is 1"}},
		{"combined with its own address", dnode + `tag dnode.next ^ ADDRESS >> 12; dnode X; X.next == NULL or X.next.prev == X;`, func(w *world) {
			a := w.dlist(3)
			for i, x := range a {
				next := uint64(0)
				if i < 2 {
					next = uint64(a[i+1])
				}
				w.put8(x+8, next^uint64(x+8)>>12)
			}
		}, nil},
		{"stored as it is where it is to be combined", dnode + `tag dnode.next ^ ADDRESS >> 12; dnode X; X.next == NULL or X.next.prev == X;`, func(w *world) {
			a := w.dlist(2)
			w.put8(a[1]+8, uint64(a[1]+8)>>12)
		}, []string{"c1 X=dnode#1: X.next.prev is undefined: X.next does not lead to a node of that type"}},
		{"tag bits in what is combined", dnode + `tag dnode.next ^ ADDRESS >> 12; tag dnode.next & 7; dnode X; X.next.TAG == X.key and X.next == X;`, func(w *world) {
			for i, x := range w.dlist(2) {
				w.put8(x+8, (uint64(x)+5)^uint64(x+8)>>12)
				w.put4(x, uint32(5-i))
			}
		}, []string{"c1 X=dnode#2: X.next.TAG is 5, X.key is 4"}},
		{"attribute of NULL", dnode + `dnode.LEN DEFAULT 10; dnode X; X.LEN = (X.next).LEN + 1; dnode X; X.LEN == 11;`, func(w *world) { w.dlist(2) },
			[]string{"c1 X=dnode#1: X.LEN is 12"}},
		{"attribute cycle", dnode + `dnode.LEN; dnode X; X.LEN = (X.next).LEN + 1; dnode X; X.key == 0 => X.LEN >= 0;`, func(w *world) {
			a := w.dlist(3)
			w.put8(a[2]+8, uint64(a[1]))
		}, []string{
			"dnode.LEN @dnode#2: dnode.LEN depends on itself: dnode#2, dnode#3",
			"c1 X=dnode#1: X.LEN is undefined: it depends on itself",
			"c1 X=dnode#2: X.LEN is undefined: it depends on itself",
			"c1 X=dnode#3: X.LEN is undefined: it depends on itself",
		}},
		{"loop beyond the allocation", `ARRAY nums OF int; nums X; for I in 1 to 100, X[I] <= X[I + 1];`, func(w *world) {
			a := w.alloc("nums", 16, true)
			w.put4(a, 7)
		}, []string{"c1 X=nums#1: X[I] is 7, X[I + 1] is 0"}},
		{"behind an element of an array", dnode + `ARRAY refs OF struct dnode *; refs A; for I in 1 to A.COUNT, A[I].key == I;`, func(w *world) {
			a := w.dlist(2)
			r := w.alloc("refs", 16, true)
			w.put8(r, uint64(a[0]))
			w.put8(r+8, uint64(a[1]))
			w.put4(a[0], 1)
			w.put4(a[1], 3)
		}, []string{"c1 A=refs#1: A[I].key is 3"}},
		{"behind a field of an element, by a number", pairs + `pairs A; for I in 1 to 2 * A.COUNT, A[I] != NULL => A[I].key == I;`, func(w *world) {
			_, items := w.heads()
			w.put4(items[1], 5)
		}, []string{"c1 A=pairs#1: A[I].key is 5"}},
		{"an array's name means its elements alone", pairs + `pairs A; COUNT(item X: A ->>(pairs, name) X) == 2;
			pairs A; COUNT(item X: A ->>(pairs, name, rank) X) == 3;
			item X; X.INDEGREE(pairs) <= 1; item X; X.key == 3 => X.INDEGREE(pairs) == 1;`, func(w *world) {
			w.heads()
		}, []string{"c4 X=item#3: X.INDEGREE(pairs) is 0"}},
		{"a field of one type", pairs + `pairs A; COUNT(item X: A ->>(pairs.rank, item.rank) X) == 1;
			pairs A; COUNT(item X: A ->>(rank) X) == 1; pairs A; COUNT(item X: A ->>(pairs.name, item.rank) X) == 1;`, func(w *world) {
			w.heads()
		}, []string{"c3 A=pairs#1: COUNT(item X: A ->>(pairs.name, item.rank) X) is 2"}},
		{"an array of what nodes are, by an index", dnode + rows + `dnode X; X.next == NULL or X.next[0].key == 7; dnode X; X.next[1].n == 2; dnode X; X.next.COUNT == 3;`, func(w *world) {
			r := w.alloc("rows", 48, true)
			w.put4(r, 7)
			w.put4(r+28, 2)
			w.put8(w.alloc("dnode", 24, true)+8, uint64(r))
		}, []string{"c3 X=dnode#1: X.next.COUNT is 2"}},
		{"and a node without", dnode + rows + `dnode X; X.next == NULL or X.next.key == 7; dnode X; X.next == NULL or X.next[0].key == 7;`, func(w *world) {
			w.put4(w.dlist(2)[1], 7)
		}, []string{"c2 X=dnode#1: X.next[0].key is undefined: X.next does not lead to a node of that type"}},
		{"corrupt bound ends", `struct v { int n; int a[2]; }; type v; v X; for I in 0 to X.n - 1, X.a[I] == 0;`, func(w *world) {
			a := w.alloc("v", 12, true)
			w.put4(a, 3)
		}, []string{"c1 X=v#1: X.a[I] is undefined: X.a[I]: the index is outside the array"}},
		{"an array of one element at the end goes on to the end of the block", `struct hack { long n; struct hack *up[1]; }; type hack; cells hack: up[0..n - 1];
			hack X; for I in 0 to X.n - 1, X.up[I] != NULL; hack X; X.n == 3 => X.OUTDEGREE == 3; hack X; X.n == 3 => X.up[2].up[0] == X;`, func(w *world) {
			a, b, c := w.alloc("hack", 16, true), w.alloc("hack", 32, true), w.alloc("hack", 32, true)
			w.put8(a, 1)
			w.put8(a+8, uint64(b))
			for _, x := range []trace.Addr{b, c} {
				w.put8(x, 3)
				w.put8(x+8, uint64(x))
				w.put8(x+16, uint64(x))
			}
			w.put8(b+24, uint64(a))
		}, []string{"c1 X=hack#3: X.up[I] is NULL", "c2 X=hack#3: X.OUTDEGREE is 2", "c3 X=hack#3: X.up[2].up[0] is undefined: X.up[2] is NULL"}},
		{"one element with a flag of its own, and the other one as well", `struct th { struct th *link[2]; char thread[2]; long key; }; type th;
			cells th: link[0] if thread[0] == 0; cells th: link[1] if thread[1] == 0;
			th X; X.INDEGREE <= 1; th X; X.thread[0] == 0 => X.link[0].key < X.key; th X; X.thread[1] == 0 => X.link[1].key > X.key;`, func(w *world) {
			nodes := []trace.Addr{w.alloc("th", 32, true), w.alloc("th", 32, true), w.alloc("th", 32, true)} // the root between its children
			for i, x := range nodes {
				w.put8(x+24, uint64(i))
			}
			w.put8(nodes[1], uint64(nodes[0]))
			w.put8(nodes[1]+8, uint64(nodes[2]))
			for _, i := range []int{0, 2} { // threads lead back to the root
				w.put8(nodes[i], uint64(nodes[1]))
				w.put8(nodes[i]+8, uint64(nodes[1]))
				w.put4(nodes[i]+16, 0x101)
			}
			w.put4(nodes[2]+16, 1) // a thread that is said to be a child
		}, []string{"c3 X=th#3: X.link[1].key is 1, X.key is 2"}},
		{"the attribute of a pointer that is not in use", `struct term { struct term *left, *right; long kind; long size; }; type term; cells term: left if kind == 1; cells term: right if kind == 1;
			term.SZ; term X; X.SZ = (X.left).SZ + (X.right).SZ + 1; term X; X.size == X.SZ; term X; X.kind == 1 => X.left.size < X.size; term X; X.kind == 0 => (X.left).EXISTS == FALSE;`, func(w *world) {
			a, b, c := w.alloc("term", 32, true), w.alloc("term", 32, true), w.alloc("term", 32, true)
			for i, x := range []trace.Addr{a, b, c} {
				w.put8(x, uint64(a)) // of a leaf, what lies there is a number
				w.put8(x+8, 1)
				w.put8(x+16, 0)
				w.put8(x+24, uint64(1+i/2)) // c says 2
			}
			w.put8(a+16, 1)
			w.put8(a, uint64(b))
			w.put8(a+8, uint64(c))
			w.put8(a+24, 3)
		}, []string{"c1 X=term#3: X.size is 2, X.SZ is 1"}},
		{"a pointer for two kinds", `struct of { struct of *on; long kind; }; type of; cells of: on if kind == 2; cells of: on if kind == 3;
			of X; X.INDEGREE == (X.kind == 0 ? 1 : 0);`, func(w *world) {
			for kind := uint64(1); kind < 4; kind++ { // the first of each two leads to the other one
				to, from := w.alloc("of", 16, true), w.alloc("of", 16, true)
				w.put8(from, uint64(to))
				w.put8(from+8, kind)
			}
		}, []string{"c1 X=of#1: X.INDEGREE is 0, X.kind is 0"}},
		{"not elsewhere", `struct in { long n; struct in *up[1]; long key; }; type in; in X; for I in 0 to X.n - 1, X.up[I] == NULL;`, func(w *world) {
			w.put8(w.alloc("in", 24, true), 2)
		}, []string{"c1 X=in#1: X.up[I] is undefined: X.up[I]: the index is outside the array"}},
		{"an index beyond the block, in the next one", `struct tower { long key; struct { long span; struct tower *up; } level[]; }; type tower;
			tower X; for I in 0 to 7, X.level[I].span == 1;
			tower X; for I in 0 to 7, X.level[I].up != NULL => X.level[I].up == X;`, func(w *world) {
			a, b := w.alloc("tower", 24, true), w.alloc("tower", 24, true)
			w.put8(a+8, 1)
			w.put8(a+16, uint64(a))
			w.put8(b+8, 2)
			w.put8(b+16, uint64(a))
		}, []string{"c1 X=tower#2: X.level[I].span is 2", "c2 X=tower#2: X.level[I].up is tower#1"}},
		{"of an array", `ARRAY nums OF long; nums X; for I in 1 to 20, X[I] == 0;`, func(w *world) {
			w.alloc("nums", 16, true)
			w.put8(w.alloc("nums", 16, true)+8, 5)
		}, []string{"c1 X=nums#2: X[I] is 5"}},
		{"behind a pointer to what is no node", `struct v { long n; long *a; }; type v; v X; for I in 0 to 20, X.a[I] == 0;`, func(w *world) {
			v, a := w.alloc("v", 16, true), w.alloc("", 16, true)
			w.put8(v+8, uint64(a))
			w.put8(w.alloc("", 16, true)+8, 5)
		}, nil},
		{"a range too large is undefined", `struct v { int n; int a; }; type v; v X; for I in 1 to X.n, X.a == 0;`, func(w *world) {
			a := w.alloc("v", 8, true)
			w.put4(a, 1_000_000_000)
		}, []string{"c1 X=v#1: X.n is 1000000000: a range of so many indices (more than 4194304) is taken as undefined"}},
		{"so are ranges that nest", `struct v { int n; int a; }; type v; v X; for I in 0 to 1, for J in 1 to X.n, X.a == 0;`, func(w *world) {
			a := w.alloc("v", 8, true)
			w.put4(a, 3_000_000)
		}, []string{
			"c1 X=v#1: X.n is 3000000: a range of so many indices (more than 2097152) is taken as undefined",
			"c1 X=v#1: X.n is 3000000: a range of so many indices (more than 2097152) is taken as undefined",
		}},
		{"as far as a machine counts", `struct v { long n; long a; }; type v; v X; for I in 0 - X.n to X.n, X.a == 0;`, func(w *world) {
			a := w.alloc("v", 16, true)
			w.put8(a, 1<<63-1)
		}, []string{"c1 X=v#1: X.n is 9223372036854775807: a range of so many indices (more than 4194304) is taken as undefined"}},
		{"overflow", dnode + `dnode X; 9223372036854775807 + X.key > 0;`, func(w *world) {
			a := w.dlist(1)
			w.put4(a[0], 1)
		}, []string{"c1 X=dnode#1: 9223372036854775807 + X.key > 0 is undefined: 9223372036854775807 + X.key: overflow"}},
		{"pairs without a guard", dnode + `dnode X, Y; X.key <= Y.key or X.key > Y.key;`, func(w *world) { w.dlist(3) }, nil},
		{"existential", dnode + `dnode X; exists dnode Y; Y.key == X.n;`, func(w *world) {
			a := w.dlist(2)
			w.put4(a[1]+4, 3)
		}, []string{"c1 X=dnode#2: there is no dnode Y with Y.key == X.n: X.n is 3"}},
		{"check dangling", dnode + `check dangling for dnode;`, func(w *world) {
			a := w.dlist(2)
			w.release(a[1])
		}, []string{"dangling dnode: dnode#1.next is dangling 0x10030 (dnode#2 is freed)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, test.spec)
			test.build(w)
			if d := cmp.Diff(test.want, w.lines(w.all())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestFor: a constraint is a matter of the nodes that it is about, and of those that it counts.
func TestFor(t *testing.T) {
	w := newWorld(t, `
struct node { int key; };
struct other { int key; };
type node;
type other;
few: COUNT(node) == 0;
own: node X; X.key == 1;
alien: other X; X.key == 1;
`)
	w.alloc("node", 4, true)
	w.alloc("other", 4, true)
	for i, want := range [][]string{{"few: COUNT(node) is 1", "own X=node#1: X.key is 0"}, {"alien X=other#1: X.key is 0"}} {
		if d := cmp.Diff(want, w.lines(w.c.Check(w.h.Now(), w.spec.Types[i]))); d != "" {
			t.Errorf("for type %d (-want +got):\n%s", i, d)
		}
	}
}

const rooted = `
struct node { int key; struct node *next; };
global head;
type node;
root node from ::head via next;
some: node X; X.key == 1;
`

func TestRoots(t *testing.T) {
	w := newWorld(t, rooted)
	w.global(1, "head", 0x900, make([]byte, 8))
	a, b := w.alloc("node", 16, true), w.alloc("node", 16, true)
	w.put8(0x900, uint64(a))
	if d := cmp.Diff([]string{"some X=node#1: X.key is 0"}, w.lines(w.c.Check(w.h.Now(), nil))); d != "" {
		t.Errorf("b is not reached (-want +got):\n%s", d)
	}
	w.put8(a+8, uint64(b))
	w.put4(a, 1)
	want := []string{"some X=node#2: X.key is 0"}
	if d := cmp.Diff(want, w.lines(w.c.Check(w.h.Now(), nil))); d != "" {
		t.Errorf("now it is (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, w.lines(w.all())); d != "" {
		t.Errorf("from scratch (-want +got):\n%s", d)
	}
}

// A long list whose attribute runs down all of it needs no deep stack, and a
// ring of them is one cycle.
func TestDeepAttribute(t *testing.T) {
	const n = 50_000
	w := newWorld(t, dnode+`dnode.LEN; dnode X; X.LEN = (X.next).LEN + 1; len: dnode X; X.key == 1 => X.LEN < 10;`)
	a := w.dlist(n)
	w.put4(a[0], 1)
	if d := cmp.Diff([]string{fmt.Sprintf("len X=dnode#1: X.LEN is %d", n)}, w.lines(w.all())); d != "" {
		t.Error(d)
	}
	w.put8(a[n-1]+8, uint64(a[0]))
	found := w.all()
	if len(found) != 2 || found[0].Total != n {
		t.Errorf("a ring: %v", w.lines(found))
	}
}

const intrusive = `
struct item { int key; struct item *next; };
type item;
enter item at add(1);
leave item at del(1);
in: item X; X.INDEGREE <= 1;
key: item X, Y; X.next == Y => X.key <= Y.key;
`

// Intrusive nodes: in a pool of no declared type, and outside the heap.
func TestMembership(t *testing.T) {
	w := newWorld(t, intrusive)
	pool := w.alloc("", 160, true)
	at := func(i int) trace.Addr { return pool + trace.Addr(16*i) }
	enter := func(a trace.Addr) {
		if _, err := w.h.Enter(&trace.Event{Thread: 1}, a, 16, 0); err != nil {
			t.Fatal(err)
		}
	}
	leave := func(a trace.Addr) {
		if _, err := w.h.Leave(&trace.Event{Thread: 1}, a, 16, 1); err != nil {
			t.Fatal(err)
		}
	}
	step := func(want ...string) {
		t.Helper()
		got := w.lines(w.c.Check(w.h.Now(), nil))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if d := cmp.Diff(got, w.lines(w.all())); d != "" {
			t.Errorf("(-forward +scratch):\n%s", d)
		}
	}
	w.put4(at(0), 5)
	w.put8(at(0)+8, uint64(at(1))) // before either is a node
	step()
	enter(at(0))
	step()
	enter(at(1)) // now the pointer is an edge
	step("key X=item#1 Y=item#2: X.key is 5, Y.key is 0")
	leave(at(1))
	step()
	enter(at(1))
	step("key X=item#1 Y=item#3: X.key is 5, Y.key is 0")
	w.put8(at(2)+8, uint64(at(1))) // not a node: no edge
	step("key X=item#1 Y=item#3: X.key is 5, Y.key is 0")
	enter(at(2))
	step("in X=item#3: X.INDEGREE is 2", "key X=item#1 Y=item#3: X.key is 5, Y.key is 0")
	enter(0x7ffe1000) // outside the heap
	w.put4(0x7ffe1000, 9)
	w.put8(at(1)+8, 0x7ffe1000)
	w.put8(0x7ffe1008, uint64(at(2)))
	step("in X=item#3: X.INDEGREE is 2", "key X=item#1 Y=item#3: X.key is 5, Y.key is 0",
		"key X=item#5 Y=item#4: X.key is 9, Y.key is 0")
	w.release(pool)
	step()
	if n := w.g.Live(w.spec.Types[0], w.h.Now(), nil); len(n) != 1 {
		t.Errorf("after the free: %v", n)
	}
}

// In-edges of every object at every time equal what the cells of all objects say.
func TestInEdges(t *testing.T) {
	each(t, 5, func(t *testing.T, s *script) {
		for range 120 {
			s.step()
		}
		s.g.Advance()
		for at := mgpp.Timestamp(0); at <= s.h.Now(); at++ {
			v := s.h.At(at)
			want := map[graph.ObjID]int{}
			for o := graph.ObjID(1); int(o) <= s.g.Objects(); o++ {
				for _, e := range s.g.Out(v, o) {
					want[e.To]++
				}
			}
			for o := graph.ObjID(1); int(o) <= s.g.Objects(); o++ {
				if s.g.Alive(o, at) {
					if got := len(s.g.In(v, o)); got != want[o] {
						t.Fatalf("at %d %s has %d in-edges, want %d", at, s.g.Name(o), got, want[o])
					}
				}
			}
		}
	})
}
