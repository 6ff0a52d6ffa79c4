package eval_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

const benchTree = `
struct tree { int key; int h; struct tree *left, *right; };
type tree;
tree.H; tree X; X.H = MAX((X.left).H, (X.right).H) + 1;
tree:    tree X; X.INDEGREE == 1 or X.INDEGREE == 0 and COUNT(tree Y: Y.ISROOT == TRUE) == 1;
acyclic: tree X, Y; X ->> Y => Y !->> X;
stored:  tree X; X.h == X.H;
order_l: tree X, Y; X.left == Y => Y.key <= X.key;
order_r: tree X, Y; X.right == Y => Y.key >= X.key;
`

// forest grows a search tree as a program would.
type forest struct {
	*world
	r    *rand.Rand
	key  map[trace.Addr]uint32
	kids map[trace.Addr][2]trace.Addr
	high map[trace.Addr]uint32
	root trace.Addr
}

func newForest(tb testing.TB, n int) *forest {
	f := &forest{world: newWorld(tb, benchTree), r: rand.New(rand.NewPCG(1, 2)), key: map[trace.Addr]uint32{}, kids: map[trace.Addr][2]trace.Addr{}, high: map[trace.Addr]uint32{}}
	for range n {
		f.insert()
	}
	return f
}

func (f *forest) insert() {
	a := f.alloc("tree", 24, true)
	f.key[a], f.high[a] = f.r.Uint32()>>2, 1
	f.put4(a, f.key[a])
	f.put4(a+4, 1)
	if f.root == 0 {
		f.root = a
		return
	}
	var way []trace.Addr
	for at := f.root; at != 0; {
		way = append(way, at)
		side := 0
		if f.key[a] > f.key[at] {
			side = 1
		}
		k := f.kids[at]
		if k[side] == 0 {
			k[side] = a
			f.kids[at] = k
			f.put8(at+8+trace.Addr(8*side), uint64(a))
			break
		}
		at = k[side]
	}
	for i := len(way) - 1; i >= 0; i-- {
		k := f.kids[way[i]]
		h := 1 + max(f.high[k[0]], f.high[k[1]])
		if h == f.high[way[i]] {
			break
		}
		f.high[way[i]] = h
		f.put4(way[i]+4, h)
	}
}

const benchRing = `
struct n { long v; struct n *next; };
struct head { struct n *first; };
global head;
type n; type head;
one: n X; X.INDEGREE(next) == 1 and X.OUTDEGREE == 1;
`

// ring is a circular list under a declared global.
type ring struct {
	*world
	r     *rand.Rand
	nodes []trace.Addr
	next  map[trace.Addr]trace.Addr
}

func newRing(tb testing.TB, spec string, n int) *ring {
	l := &ring{world: newWorld(tb, spec), r: rand.New(rand.NewPCG(1, 2)), next: map[trace.Addr]trace.Addr{}}
	l.global(1, "head", staticMemory, make([]byte, 8))
	for range n {
		l.insert()
	}
	return l
}

// insert puts a node behind a random one; the first one under the head.
func (l *ring) insert() {
	a := l.alloc("n", 16, true)
	l.nodes = append(l.nodes, a)
	if len(l.nodes) == 1 {
		l.put8(staticMemory, uint64(a))
		l.link(a, a)
		return
	}
	p := l.nodes[l.r.IntN(len(l.nodes)-1)]
	l.link(a, l.next[p])
	l.link(p, a)
}

func (l *ring) link(p, q trace.Addr) {
	l.next[p] = q
	l.put8(p+8, uint64(q))
}

const benchTable = `
struct n { long key; struct n *next; };
struct table { struct n *bucket[4096]; };
global table;
type n edges (next); type table;
`

// hash is a hash table of 4,096 chains in a declared global.
type hash struct {
	*world
	r     *rand.Rand
	first [4096]trace.Addr
}

func newHash(tb testing.TB, constraint string, n int) *hash {
	h := &hash{world: newWorld(tb, benchTable+constraint), r: rand.New(rand.NewPCG(1, 2))}
	h.global(1, "table", staticMemory, make([]byte, 8*len(h.first)))
	for range n {
		h.insert()
	}
	return h
}

// insert puts a node at the head of a random chain.
func (h *hash) insert() {
	a := h.alloc("n", 16, true)
	key := h.r.IntN(1 << 20)
	at := key % len(h.first)
	h.put4(a, uint32(key))
	h.put8(a+8, uint64(h.first[at]))
	h.first[at] = a
	h.put8(staticMemory+trace.Addr(8*at), uint64(a))
}

// structure is something that grows and is checked.
type structure interface {
	insert()
	check() []eval.Inconsistency // what changed
	all() []eval.Inconsistency   // from scratch
	lines([]eval.Inconsistency) []string
}

func (w *world) check() []eval.Inconsistency { return w.c.Check(w.h.Now(), nil) }

func BenchmarkCheck(b *testing.B) {
	for _, s := range []struct {
		name string
		make func(testing.TB, int) structure
	}{
		{"tree", func(tb testing.TB, n int) structure { return newForest(tb, n) }},
		{"reached", func(tb testing.TB, n int) structure { return newRing(tb, benchRing+"all: n X; ::head ->> X;", n) }},
		{"ranged", func(tb testing.TB, n int) structure {
			return newRing(tb, benchRing+"root n from ::head.first via next;", n)
		}},
		{"hashed", func(tb testing.TB, n int) structure { return newHash(tb, "all: n X; ::table ->> X;", n) }},
		{"chained", func(tb testing.TB, n int) structure {
			return newHash(tb, "one: n X; X.INDEGREE + (::table.bucket[X.key % 4096] == X ? 1 : 0) == 1;", n)
		}},
	} {
		for _, n := range []int{100, 1000, 10_000, 100_000, 1_000_000} {
			if n <= 100_000 {
				b.Run(fmt.Sprintf("%s/full/%d", s.name, n), func(b *testing.B) {
					x := s.make(b, n)
					for b.Loop() {
						if found := x.all(); found != nil {
							b.Fatal(x.lines(found[:1]))
						}
					}
				})
			}
			var x structure // one for all b.N: it may grow further
			b.Run(fmt.Sprintf("%s/insert/%d", s.name, n), func(b *testing.B) {
				if x == nil {
					x = s.make(b, n)
					x.check()
				}
				b.ResetTimer()
				for range b.N {
					b.StopTimer()
					x.insert()
					b.StartTimer()
					if found := x.check(); found != nil {
						b.Fatal(x.lines(found[:1]))
					}
				}
			})
		}
	}
}

func BenchmarkHypothetical(b *testing.B) {
	f := newForest(b, 10_000)
	f.all()
	v := f.h.At(f.h.Now())
	b.ResetTimer()
	for i := range b.N {
		f.c.All(mgpp.With(v, f.root+trace.Addr(8+8*(i%2)), make([]byte, 8)))
	}
}

// BenchmarkStaysBroken checks after each insertion where every node is inconsistent, as where all lead to a variable on
// a stack.
func BenchmarkStaysBroken(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := newRing(b, benchRing+"never: n X; X.v == 1;", n)
			l.check()
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				l.insert()
				b.StartTimer()
				if found := l.check(); len(found) < n {
					b.Fatal(len(found))
				}
			}
		})
	}
}
