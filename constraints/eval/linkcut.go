package eval

// linkcut is a forest of rooted trees that answers in O(log n), amortised, to
// which root a node belongs, while trees are joined and parted: the link-cut
// trees of Sleator and Tarjan (Journal of Computer and System Sciences 26, 1983)
// over splay trees (JACM 32, 1985). Each preferred path is a splay tree in order
// of depth; its root's parent is the node above the path. Nodes are numbers from
// 1; 0 is none.
type linkcut struct {
	nodes []lcNode
}

type lcNode struct {
	parent int32    // in the splay tree; of its root: the node above the path
	child  [2]int32 // nearer to the tree's root, farther from it
}

func (f *linkcut) grow(n int32) {
	if more := int(n) + 1 - len(f.nodes); more > 0 {
		f.nodes = append(f.nodes, make([]lcNode, more+len(f.nodes)/2)...)
	}
}

// top reports whether n is the root of its splay tree.
func (f *linkcut) top(n int32) bool {
	p := f.nodes[n].parent
	return p == 0 || f.nodes[p].child[0] != n && f.nodes[p].child[1] != n
}

func (f *linkcut) rotate(n int32) {
	p := f.nodes[n].parent
	g := f.nodes[p].parent
	side := 0
	if f.nodes[p].child[1] == n {
		side = 1
	}
	if !f.top(p) {
		if f.nodes[g].child[0] == p {
			f.nodes[g].child[0] = n
		} else {
			f.nodes[g].child[1] = n
		}
	}
	c := f.nodes[n].child[1-side]
	f.nodes[p].child[side] = c
	if c != 0 {
		f.nodes[c].parent = p
	}
	f.nodes[n].child[1-side] = p
	f.nodes[p].parent = n
	f.nodes[n].parent = g
}

func (f *linkcut) splay(n int32) {
	for !f.top(n) {
		if p := f.nodes[n].parent; !f.top(p) {
			g := f.nodes[p].parent
			if (f.nodes[g].child[0] == p) == (f.nodes[p].child[0] == n) {
				f.rotate(p)
			} else {
				f.rotate(n)
			}
		}
		f.rotate(n)
	}
}

// access makes the way from the root to n a preferred path that ends with n, and
// n the root of its splay tree.
func (f *linkcut) access(n int32) {
	last := int32(0)
	for at := n; at != 0; at = f.nodes[at].parent {
		f.splay(at)
		f.nodes[at].child[1] = last
		last = at
	}
	f.splay(n)
}

// root returns the root of n's tree.
func (f *linkcut) root(n int32) int32 {
	f.access(n)
	for f.nodes[n].child[0] != 0 {
		n = f.nodes[n].child[0]
	}
	f.splay(n)
	return n
}

// link hangs n, the root of a tree, under p, a node of another.
func (f *linkcut) link(n, p int32) {
	f.access(n)
	f.nodes[n].parent = p
}

// cut takes n, with what hangs under it, from its parent.
func (f *linkcut) cut(n int32) {
	f.access(n)
	up := f.nodes[n].child[0]
	f.nodes[up].parent = 0
	f.nodes[n].child[0] = 0
}
