package mgpp

// lifetimes finds the nodes that are alive at a time without looking at the
// others. NodeIDs ascend with birth and deaths come in order of time, so it is
// enough to know of each group of 32 nodes how many live now and when the last
// of the others died; and the same of each group of 32 groups, and so on.
//
// A group that was born by t and has a member that lives now or died after t
// holds a node that is alive at t: every group that is opened gives one, but
// for the one at the edge of t.
type lifetimes struct {
	levels [][]group // levels[0][i]: nodes 32·i to 32·i+31
}

type group struct {
	live uint32 // members that live now; of groups, that have any
	last uint32 // when it fell to 0; 0: never
}

const groupBits = 5

// born takes in a node: the newest of all.
func (l *lifetimes) born(id NodeID) {
	i := uint32(id)
	for level := 0; ; level++ {
		i >>= groupBits
		if level == len(l.levels) {
			l.levels = append(l.levels, nil)
			// What lies below began with group 0, which this one contains.
			if level > 0 {
				g := group{}
				for _, m := range l.levels[level-1][:min(len(l.levels[level-1]), 1<<groupBits)] {
					if m.live > 0 {
						g.live++
					}
					g.last = max(g.last, m.last)
				}
				l.levels[level] = append(l.levels[level], g)
				if i == 0 {
					return
				}
			}
		}
		for int(i) >= len(l.levels[level]) {
			l.levels[level] = append(l.levels[level], group{})
		}
		g := &l.levels[level][i]
		g.live++
		if g.live > 1 || i == 0 && level+1 == len(l.levels) {
			return
		}
	}
}

// died records the death of a node at t, the newest death.
func (l *lifetimes) died(id NodeID, t uint32) {
	i := uint32(id)
	for level := range l.levels {
		i >>= groupBits
		g := &l.levels[level][i]
		if g.live--; g.live > 0 {
			return
		}
		g.last = t
	}
}

func (l *lifetimes) bytes() uint64 {
	n := uint64(0)
	for _, g := range l.levels {
		n += uint64(cap(g)) * 8
	}
	return n
}

// each calls f with the groups of 32 nodes, by their number, that may hold a
// node alive at t and are not above the limit, until it returns false.
func (l *lifetimes) each(t uint32, limit uint32, f func(uint32) bool) {
	top := len(l.levels) - 1
	if top < 0 {
		return
	}
	for i := range l.levels[top] {
		if !l.descend(top, uint32(i), t, limit, f) {
			return
		}
	}
}

func (l *lifetimes) descend(level int, i, t, limit uint32, f func(uint32) bool) bool {
	if i<<(groupBits*level) > limit {
		return false
	}
	if g := l.levels[level][i]; g.live == 0 && g.last <= t {
		return true
	}
	if level == 0 {
		return f(i)
	}
	for k := i << groupBits; k < min((i+1)<<groupBits, uint32(len(l.levels[level-1]))); k++ {
		if !l.descend(level-1, k, t, limit, f) {
			return false
		}
	}
	return true
}
