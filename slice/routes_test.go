package slice

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// What leads out of a step is as far as by the nearest of the ops that use it, and is reached by
// such a one, whatever ways lead past others.
func TestRoutes(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 1 + r.IntN(maxStepOps)
		p := &routes{uses: make([]uint64, n)}
		for op := range n {
			for range r.IntN(4) {
				if op > 0 {
					p.uses[op] |= 1 << r.IntN(op)
				}
			}
		}
		p.mask = 1 << r.IntN(n)
		for range r.IntN(8) {
			p.mask |= 1 << r.IntN(n)
		}
		p.all = p.mask
		for op := n - 1; op >= 0; op-- {
			if p.all&(1<<op) != 0 {
				p.all |= p.uses[op]
			}
		}
		for ref := range uint8(r.IntN(12)) {
			e := edgeUses{by: uint32(len(p.users)), n: uint8(1 + r.IntN(2)), ref: ref}
			for kind := range EdgeKind(e.n) {
				ops := r.Uint64() & r.Uint64() & p.all
				if ops == 0 {
					ops = p.all
				}
				p.users = append(p.users, kindUse{ops, kind})
			}
			p.edges = append(p.edges, e)
		}
		p.work()

		var far [maxStepOps]reached // by routes
		var dist [maxStepOps]uint32 // from op to op
		for op := range dist {
			dist[op] = 1 << 30
			far[op] = reached(r.Uint64() >> 1) // left over from other steps
		}
		for _, op := range p.wanted {
			dist[op] = uint32(r.IntN(40))
			far[op] = reached(dist[op]) << 32
		}
		for op := n - 1; op >= 0; op-- {
			for use := range bitsOf(p.uses[op]) {
				dist[use] = min(dist[use], dist[op]+1)
			}
		}
		p.relax(&far)
		if len(p.out) != len(p.edges) {
			t.Fatalf("seed %d: %d ways out, want %d", seed, len(p.out), len(p.edges))
		}
		for i := range p.out {
			want := uint32(1 << 31)
			e := &p.edges[i]
			for _, u := range p.users[e.by:][:e.n] {
				for op := range bitsOf(u.ops) {
					want = min(want, dist[op]+1)
				}
			}
			got := p.by(&p.out[i], &far)
			by, kind, local := got.local()
			if got.dist() != want || !local || dist[by]+1 != want || p.out[i].ref != e.ref {
				t.Fatalf("seed %d: reference %d is reached by op %d, %d dependences away; want %d", seed, i, by, got.dist(), want)
			}
			if u := p.users[e.by:][:e.n]; int(kind) >= len(u) || u[kind].ops&(1<<by) == 0 {
				t.Fatalf("seed %d: reference %d is not used by op %d as %v", seed, i, by, kind)
			}
		}
		if len(p.wanted) != bits.OnesCount64(p.mask) || len(p.least) != len(p.wanted) {
			t.Fatalf("seed %d: %d ops are wanted", seed, len(p.wanted))
		}
	}
}

// Of what is pending again and again, the nearest is kept of each op, and each edge once; and a
// bucket does not grow beyond that.
func TestBuckets(t *testing.T) {
	const different = 100
	far := &measurer{}
	near := buckets[pending]{of: make([][]pending, 1), once: far.nearest}
	mark := &marker{}
	edges := buckets[uint64]{of: make([][]uint64, 1), once: mark.once}
	r := rand.New(rand.NewPCG(1, 2))
	least := map[uint16]uint32{}
	for i := range uint32(20 * bucketLen) {
		p := pending{op: uint16(r.IntN(different)) * 160, dist: r.Uint32(), way: way(i)}
		if d, ok := least[p.op]; !ok || p.dist < d {
			least[p.op] = p.dist
		}
		near.add(0, p)
		edges.add(0, uint64(p.op)<<32|uint64(i%3))
	}
	if n := cap(near.of[0]); n > 2*bucketLen {
		t.Errorf("a bucket for %d", n)
	}
	got := map[uint16]uint32{}
	for _, p := range far.nearest(near.of[0]) {
		if _, again := got[p.op]; again {
			t.Errorf("op %d is there twice", p.op)
		}
		got[p.op] = p.dist
	}
	if len(got) != different {
		t.Errorf("%d ops, want %d", len(got), different)
	}
	for op, d := range least {
		if got[op] != d {
			t.Errorf("op %d is %d away, want %d", op, got[op], d)
		}
	}
	all := mark.once(edges.of[0])
	slices.Sort(all)
	if len(all) != 3*different || len(slices.Compact(all)) != 3*different {
		t.Errorf("%d edges, want %d", len(all), 3*different)
	}
}
