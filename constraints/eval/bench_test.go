package eval_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

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

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("full/%d", n), func(b *testing.B) {
			f := newForest(b, n)
			b.ResetTimer()
			for range b.N {
				if found := f.all(); found != nil {
					b.Fatal(f.lines(found))
				}
			}
		})
		b.Run(fmt.Sprintf("insert/%d", n), func(b *testing.B) {
			f := newForest(b, n)
			f.c.Check(f.h.Now(), nil)
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				f.insert()
				b.StartTimer()
				if found := f.c.Check(f.h.Now(), nil); found != nil {
					b.Fatal(f.lines(found))
				}
			}
		})
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
