package slice

// ranges is a set of memory: a balanced tree (a treap) of disjoint ranges, none of
// which touches another: neighbours are coalesced.
type ranges struct {
	nodes []rangeNode // 0 is no node
	root  uint32
	free  []uint32
	seed  uint32
	n     int
}

type rangeNode struct {
	lo, hi      uint64 // [lo, hi)
	left, right uint32
	weight      uint32
}

// meets says that some byte of [lo, hi) is in the set.
func (r *ranges) meets(lo, hi uint64) bool {
	at := r.root
	for at != 0 {
		n := &r.nodes[at]
		switch {
		case hi <= n.lo:
			at = n.left
		case lo >= n.hi:
			at = n.right
		default:
			return true
		}
	}
	return false
}

// add puts [lo, hi) in.
func (r *ranges) add(lo, hi uint64) {
	if lo >= hi || r.covers(lo, hi) {
		return
	}
	// What it meets or touches becomes one with it.
	a, b, c := r.cut(lo, hi, true)
	for at := b; at != 0; at = r.nodes[at].right {
		hi = max(hi, r.nodes[at].hi)
	}
	for at := b; at != 0; at = r.nodes[at].left {
		lo = min(lo, r.nodes[at].lo)
	}
	r.drop(b)
	r.root = r.join(r.join(a, r.node(lo, hi)), c)
}

// remove takes [lo, hi) out.
func (r *ranges) remove(lo, hi uint64) {
	if lo >= hi || !r.meets(lo, hi) {
		return
	}
	a, b, c := r.cut(lo, hi, false)
	first, last := b, b
	for r.nodes[first].left != 0 {
		first = r.nodes[first].left
	}
	for r.nodes[last].right != 0 {
		last = r.nodes[last].right
	}
	from, to := r.nodes[first].lo, r.nodes[last].hi
	r.drop(b)
	if from < lo {
		a = r.join(a, r.node(from, lo))
	}
	if to > hi {
		c = r.join(r.node(hi, to), c)
	}
	r.root = r.join(a, c)
}

// each calls yield with the ranges, ascending.
func (r *ranges) each(yield func(span)) { r.from(r.root, yield) }

func (r *ranges) from(at uint32, yield func(span)) {
	if at != 0 {
		n := r.nodes[at]
		r.from(n.left, yield)
		yield(span{n.lo, n.hi})
		r.from(n.right, yield)
	}
}

func (r *ranges) covers(lo, hi uint64) bool {
	at := r.root
	for at != 0 {
		n := &r.nodes[at]
		switch {
		case hi <= n.lo:
			at = n.left
		case lo >= n.hi:
			at = n.right
		default:
			return n.lo <= lo && hi <= n.hi
		}
	}
	return false
}

// cut parts the tree into what lies before [lo, hi), what meets it (or, if touching,
// ends or begins where it does), and what lies behind.
func (r *ranges) cut(lo, hi uint64, touching bool) (a, b, c uint32) {
	a, b = r.split(r.root, func(n *rangeNode) bool { return n.hi < lo || !touching && n.hi == lo })
	b, c = r.split(b, func(n *rangeNode) bool { return n.lo < hi || touching && n.lo == hi })
	return a, b, c
}

// split parts a tree into the nodes for which before holds, and the others.
func (r *ranges) split(at uint32, before func(*rangeNode) bool) (a, b uint32) {
	if at == 0 {
		return 0, 0
	}
	if before(&r.nodes[at]) {
		x, y := r.split(r.nodes[at].right, before)
		r.nodes[at].right = x
		return at, y
	}
	x, y := r.split(r.nodes[at].left, before)
	r.nodes[at].left = y
	return x, at
}

// join makes one tree of two, the first of which lies before the second.
func (r *ranges) join(a, b uint32) uint32 {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	case r.nodes[a].weight > r.nodes[b].weight:
		r.nodes[a].right = r.join(r.nodes[a].right, b)
		return a
	}
	r.nodes[b].left = r.join(a, r.nodes[b].left)
	return b
}

func (r *ranges) node(lo, hi uint64) uint32 {
	// xorshift (Marsaglia 2003): the weights need only be spread.
	r.seed ^= r.seed<<13 | 1
	r.seed ^= r.seed >> 17
	r.seed ^= r.seed << 5
	r.n++
	n := rangeNode{lo: lo, hi: hi, weight: r.seed}
	if k := len(r.free); k > 0 {
		at := r.free[k-1]
		r.free = r.free[:k-1]
		r.nodes[at] = n
		return at
	}
	if len(r.nodes) == 0 {
		r.nodes = append(r.nodes, rangeNode{})
	}
	r.nodes = append(r.nodes, n)
	return uint32(len(r.nodes) - 1)
}

func (r *ranges) drop(at uint32) {
	if at == 0 {
		return
	}
	r.drop(r.nodes[at].left)
	r.drop(r.nodes[at].right)
	r.free = append(r.free, at)
	r.n--
}
