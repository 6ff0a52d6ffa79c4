package mgpp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestChains holds chains to lists of times: cells that are written often and
// seldom, alone and several at once.
func TestChains(t *testing.T) {
	var c chains
	const cells = 40
	var heads [cells]head
	var want [cells][]uint32
	rnd := rand.New(rand.NewPCG(3, 4))
	now := uint32(0)
	write := func(i int) {
		c.push(&heads[i], now)
		want[i] = append(want[i], now)
	}
	for range 60_000 {
		now += 1 + uint32(rnd.IntN(3))
		switch k := rnd.IntN(100); {
		case k < 60:
			write(rnd.IntN(4)) // hot
		case k < 95:
			write(4 + rnd.IntN(cells-4))
		default: // one operation that writes several
			for i := range cells / 3 {
				write(i * 3)
			}
		}
	}
	if c.longs.len() < 4 || c.extras == 0 {
		t.Fatalf("%d long chains and %d extra versions: nothing was tested", c.longs.len(), c.extras)
	}
	for range 50_000 {
		i, at := rnd.IntN(cells), uint32(rnd.IntN(int(now)+10))
		k, _ := slices.BinarySearch(want[i], at+1)
		var older, newer uint32
		if k > 0 {
			older = want[i][k-1]
		}
		if k < len(want[i]) {
			newer = want[i][k]
		}
		if a, b := c.find(heads[i], at), c.findNext(heads[i], at); a != older || b != newer {
			t.Fatalf("cell %d at %d: %d and %d, want %d and %d", i, at, a, b, older, newer)
		}
	}
}

// TestSharedVersions: cells with the same past share the version of what writes them all, and only those.
func TestSharedVersions(t *testing.T) {
	var c chains
	var heads [16]head
	write := func(at uint32, cells ...int) {
		for _, i := range cells {
			c.push(&heads[i], at)
		}
	}
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	write(1, all...)
	if c.extras != 0 {
		t.Errorf("a first write of all cells has %d extra versions", c.extras)
	}
	write(2, 3)
	write(3, 8, 9)
	write(4, all...)
	if c.extras != 2 {
		t.Errorf("a write of cells with three pasts has %d extra versions", c.extras)
	}
	for i, h := range heads {
		want := uint32(1)
		switch i {
		case 3:
			want = 2
		case 8, 9:
			want = 3
		}
		if now, before := c.find(h, 4), c.find(h, 3); now != 4 || before != want {
			t.Errorf("cell %d was written at %d, and at %d before; want 4 and %d", i, now, before, want)
		}
	}
}

// TestChainSteps: no question about a hot cell takes long, at any time.
func TestChainSteps(t *testing.T) {
	var c chains
	var h head
	const n = 1 << 20
	for at := uint32(1); at <= n; at++ {
		c.push(&h, at)
	}
	if h < longTag {
		t.Fatal("a chain of a million is not long")
	}
	l := c.longs.at(int(h &^ tagMask))
	if l.first > 1000 {
		t.Errorf("it became long at the %d-th", l.first)
	}
	for at := uint32(1000); at < n; at += 997 {
		steps := 0
		for v := l.from(&c, at); c.timeOf(v) > at; v = c.prev(v) {
			steps++
		}
		if steps > markEvery {
			t.Fatalf("%d steps to %d", steps, at)
		}
	}
}

// TestOwners holds chains of owners to lists, and their search to a logarithm.
func TestOwners(t *testing.T) {
	o := newOwners()
	const granules = 8
	var heads [granules]uint32
	var want [granules][]owner
	rnd := rand.New(rand.NewPCG(5, 6))
	for now := uint32(1); now < 20_000; now++ {
		lo := rnd.IntN(granules)
		for i := lo; i < min(granules, lo+1+rnd.IntN(3)); i++ {
			heads[i] = o.push(heads[i], NodeID(now/2), now)
			want[i] = append(want[i], owner{time: now, node: NodeID(now / 2)})
		}
	}
	for range 50_000 {
		i, at := rnd.IntN(granules), uint32(rnd.IntN(20_100))
		k, _ := slices.BinarySearchFunc(want[i], at+1, func(w owner, t uint32) int { return int(w.time) - int(t) })
		var w owner
		if k > 0 {
			w = want[i][k-1]
		}
		if got := o.at(o.find(heads[i], at)); got.time != w.time || got.node != w.node {
			t.Fatalf("granule %d at %d: node %d since %d, want %d since %d", i, at, got.node, got.time, w.node, w.time)
		}
	}
	steps := 0
	for i := heads[0]; o.at(i).time > 10; steps++ {
		if r := o.at(i); o.at(r.jump).time > 10 {
			i = r.jump
		} else {
			i = r.prev
		}
	}
	if n := len(want[0]); steps > 50 {
		t.Errorf("%d steps in a chain of %d", steps, n)
	}
}

// TestOwnersShare: blocks of one size at one place cost a record each, however
// many granules they have.
func TestOwnersShare(t *testing.T) {
	h := New(Options{})
	for range 1000 {
		feed(t, h, "alloc addr=0x10000 size=3000\nfree addr=0x10000")
	}
	if n := h.owners.all.len(); n > 1002 {
		t.Errorf("%d records", n)
	}
}
