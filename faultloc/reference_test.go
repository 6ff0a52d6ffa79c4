package faultloc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// reference is algorithm 3 as printed (with the condition of its loop the
// right way round): one rollback at a time, all constraints checked at each.
// It returns, newest first, the operations that are output with the instances
// to which each contributed, and what remains when history begins. each, if
// not nil, is called with P at every point.
func reference(m eval.Model, at mgpp.Timestamp, found []eval.Instance, each func(mgpp.Timestamp, []eval.Instance)) (out []string, remaining []eval.Instance) {
	pending := map[eval.Instance]bool{}
	for _, e := range found {
		pending[e] = true
	}
	for t := at; t > 0 && len(pending) > 0; t-- {
		before, after := m.View(t-1), m.View(t)
		present := map[eval.Instance]bool{}
		for _, inc := range m.All(before) {
			present[inc.Instance] = true
		}
		var contributed []eval.Instance
		for e := range pending {
			if differs(m, e, before, after) {
				contributed = append(contributed, e)
			}
		}
		if len(contributed) > 0 {
			for e := range present {
				if differs(m, e, before, after) {
					pending[e] = true
				}
			}
			slices.SortFunc(contributed, eval.Instance.Compare)
			out = append(out, fmt.Sprintf("%d: %v", t, contributed))
		}
		for e := range pending {
			if !present[e] {
				delete(pending, e)
			}
		}
		if each != nil {
			each(t-1, keys(pending))
		}
	}
	return out, keys(pending)
}

func differs(m eval.Model, e eval.Instance, before, after mgpp.View) bool {
	return !sameArgs(m.Eval(e, before), m.Eval(e, after))
}

func keys(set map[eval.Instance]bool) []eval.Instance {
	var out []eval.Instance
	for e := range set {
		out = append(out, e)
	}
	slices.SortFunc(out, eval.Instance.Compare)
	return out
}

// outputs is what traceback found, in the reference's form.
func (tb *contributions) outputs() []string {
	var out []string
	for _, t := range tb.order {
		i := slices.Clone(tb.byOp[t].instances)
		slices.SortFunc(i, eval.Instance.Compare)
		out = append(out, fmt.Sprintf("%d: %v", t, i))
	}
	return out
}

// Specifications for random histories: no meaning, many forms.
const treeSpec = `
struct node { struct node *left, *right, *up; int key; int color; };
type node edges (left, right);
node.H DEFAULT 0;
node X; X.H = MAX((X.left).H, (X.right).H) + 1;
balanced: node X; (X.left).H - (X.right).H <= 1 and (X.left).H - (X.right).H >= -1;
acyclic: node X; node Y; X ->> Y => Y !->> X;
one: node X; X.ISROOT == FALSE => X.INDEGREE == 1;
up: node X; node Y; X.left == Y or X.right == Y => Y.up == X;
red: node X; node Y; X.color == 0 and X -> Y => Y.color != 0;
order: node X; X.left != NULL => (X.left).key <= X.key;
count: node X; X.ISROOT == TRUE and X.color == 2 => COUNT(node) == X.key;
`

const listSpec = `
struct cell { struct cell *next, *prev; long value; };
type cell edges (next);
back: cell X; X.next != NULL => X.next.prev == X;
alive: cell X; cell Y; X.next != NULL => X.next == Y;
sorted: cell X; cell Y; X -> Y => X.value <= Y.value;
reach: cell X; cell Y; X.value == 1 and Y.value == 2 => X ->> Y or Y ->> X;
any: forall cell X; exists cell Y; X.value == 3 => Y.value == 2;
full: cell X; cell Y; X -> Y => Y.INDEGREE == 1;
check dangling for cell;
`

const arraySpec = `
struct cell { struct cell *next; long value; };
type cell;
struct box { long n; long key[4]; struct cell *first[3]; };
type box;
cells box: first[0..n - 1];
sorted: box X; for I in 0 to X.n - 2, X.key[I] <= X.key[I + 1];
sum: box X; X.n > 0 => SUM(I in 0 to X.n - 1: X.key[I]) < 9;
held: cell X; X.INDEGREE >= 1;
heads: box X; for I in 0 to X.n - 1, (X.first[I]).EXISTS == TRUE;
deep: box X; cell Y; X -> Y => Y.value == X.n;
room: box X; X.n <= 3;
`

const rootSpec = `
struct cell { struct cell *next; struct cell *other; long value; };
type cell;
struct top { struct cell *head; long count; };
global top;
root cell from ::top.head via next;
alive: cell X; cell Y; X.next != NULL => X.next == Y;
linked: cell X; ::top.head == X or ::top.head ->> X;
some: cell X; exists cell Y; X.value == 2 => X.other == Y and Y.value > 0;
count: ::top.count == COUNT(cell);
sum: cell X; X.value == 1 => COUNT(cell Y: Y.value == 1) == 1;
ends: cell X; X.next == NULL => X.other == NULL or X.other.value == ::top.count;
`

// randomHistory makes blocks of the specification's types and writes pointers
// and small numbers into them; blocks die and others come where they were.
func randomHistory(w *world, rnd *rand.Rand, steps int) {
	var live []*block
	var spots []trace.Addr
	size := 0
	for _, t := range w.spec.Types {
		size = max(size, int(t.Layout.Size)+8)
	}
	for range 6 {
		spots = append(spots, w.next)
		w.next += trace.Addr(size+31) &^ 15
	}
	free := slices.Clone(spots)
	var static []*block
	for _, g := range w.spec.Globals {
		static = append(static, &block{addr: staticMemory, typ: &check.NodeType{Layout: g.Layout}, size: uint64(g.Size)})
	}
	for i := range steps {
		pc := trace.Addr(i + 1)
		switch r := rnd.IntN(20); {
		case len(free) > 0 && (len(live) < 2 || r == 0):
			k := rnd.IntN(len(free))
			typ := w.spec.Types[rnd.IntN(len(w.spec.Types))]
			live = append(live, w.alloc(pc, "", typ.Name, 0, rnd.IntN(4) > 0, free[k]))
			free = slices.Delete(free, k, k+1)
		case len(live) > 2 && r == 1:
			k := rnd.IntN(len(live))
			w.apply(&trace.Event{Kind: trace.KindFree, PC: pc, Addr: live[k].addr, Name: "free"})
			free = append(free, live[k].addr)
			live = slices.Delete(live, k, k+1)
		case r == 2: // several fields at once, sometimes beyond the end and into the neighbour
			b := live[rnd.IntN(len(live))]
			at := rnd.IntN(int(b.size)/8) * 8
			room := int(b.size) - at
			if rnd.IntN(4) == 0 {
				room += 64
			}
			data := make([]byte, (1+rnd.IntN(room/8))*8)
			for k := range data {
				if k%8 == 0 {
					data[k] = byte(rnd.IntN(3))
				}
			}
			w.apply(&trace.Event{Kind: trace.KindBulk, PC: pc, Addr: b.addr + trace.Addr(at), Size: uint64(len(data)), Data: data, Base: b.addr, Name: "memcpy"})
		case r == 3 && rnd.IntN(3) == 0: // nobody knows what was written
			b := live[rnd.IntN(len(live))]
			w.apply(&trace.Event{Kind: trace.KindUnread, PC: pc, Addr: b.addr + trace.Addr(rnd.IntN(int(b.size)/8)*8), Size: 8, Base: b.addr})
		case r == 4 && len(free) > 0 && rnd.IntN(3) == 0: // realloc that moves
			b, k := live[rnd.IntN(len(live))], rnd.IntN(len(free))
			w.apply(&trace.Event{Kind: trace.KindRealloc, PC: pc, Addr: free[k], Aux: uint64(b.addr), Size: b.size, Name: "realloc"})
			if id, ok := w.hist.NodeAtTime(free[k], w.hist.Now()); ok {
				w.types[id] = b.typ
			}
			b.addr, free[k] = free[k], b.addr
		case r == 5 && rnd.IntN(4) == 0: // and one that does not
			b := live[rnd.IntN(len(live))]
			size := b.size + 8*uint64(rnd.IntN(3)) - 8
			w.apply(&trace.Event{Kind: trace.KindRealloc, PC: pc, Addr: b.addr, Aux: uint64(b.addr), Size: size, Name: "realloc"})
		default:
			all := append(static[:len(static):len(static)], live...)
			randomStore(w, rnd, pc, all[rnd.IntN(len(all))], live, spots)
		}
	}
}

func randomStore(w *world, rnd *rand.Rand, pc trace.Addr, b *block, live []*block, spots []trace.Addr) {
	fields := b.typ.Layout.Scalars()
	f := fields[rnd.IntN(len(fields))]
	v := uint64(rnd.IntN(4))
	if f.Type.IsPointerTo() {
		switch rnd.IntN(8) {
		case 0, 1:
			v = 0
		case 2:
			v = uint64(spots[rnd.IntN(len(spots))])
		default:
			v = uint64(live[rnd.IntN(len(live))].addr)
		}
	}
	w.store(pc, b.addr+trace.Addr(f.Offset), int(f.Size), v)
}

// TestReference compares traceback with the reference on random histories.
func TestReference(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 40
	}
	for name, spec := range map[string]string{"tree": treeSpec, "list": listSpec, "array": arraySpec, "root": rootSpec} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range rounds {
				rnd := rand.New(rand.NewPCG(uint64(seed), 7))
				w := newWorld(t, spec)
				randomHistory(w, rnd, 10+rnd.IntN(40))
				if !compareAt(t, w, w.hist.Now()) || !compareAt(t, w, 1+mgpp.Timestamp(rnd.IntN(int(w.hist.Now())))) {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func compareAt(t *testing.T, w *world, at mgpp.Timestamp) bool {
	in := w.input()
	in.At, in.Found = at, w.checker.All(w.hist.At(at))
	var found []eval.Instance
	for _, inc := range in.Found {
		found = append(found, inc.Instance)
	}
	want, remaining := reference(w.checker, at, found, func(t0 mgpp.Timestamp, p []eval.Instance) {
		invariant(t, w, t0, p)
	})
	tb := traceback(in)
	got := tb.outputs()
	if !slices.Equal(got, want) {
		t.Errorf("at %d, traceback outputs\n%s\nthe reference\n%s", at, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(tb.remaining, remaining) {
		t.Errorf("at %d, remaining %v, want %v", at, tb.remaining, remaining)
	}
	return !t.Failed()
}

// invariant: P holds only inconsistencies of the graph at that point.
func invariant(t *testing.T, w *world, at mgpp.Timestamp, p []eval.Instance) {
	v := w.hist.At(at)
	for _, e := range p {
		if w.checker.Eval(e, v).Verdict != eval.Broken {
			t.Errorf("%s is pending at %d, where it is not broken", w.name(e), at)
		}
	}
}
