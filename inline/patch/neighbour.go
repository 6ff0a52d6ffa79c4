package patch

import "mgtrace/x86"

// neighbour is T3. The site becomes a short jump to a jump that lies in bytes
// that are dead already, or in the tail of a victim, which is evicted by another
// jump at its beginning. Victims whose eviction costs the program least come first.
func (p *planner) neighbour(x *target) (Tactic, error) {
	h := x.off + x.skip
	if x.skip >= x.room || h+2 > len(p.new) {
		return Refused, nil
	}
	n := neighbourhood{planner: p, x: x, lo: h + 2 - 128, hi: h + 2 + 127}
	if x.room < x.skip+2 { // the distance is a pun itself
		n.lo = h + 2 + int(int8(p.new[h+1]))
		n.hi = n.lo
	}
	if done, err := n.deadBytes(); done || err != nil {
		return T3, err
	}
	for rank := range maxRank {
		if done, err := n.victims(rank); done || err != nil {
			return T3, err
		}
	}
	return Refused, nil
}

// neighbourhood is where the short jump of x can go: offsets [lo, hi].
type neighbourhood struct {
	*planner
	x      *target
	lo, hi int
}

// The ranks of victims.
const (
	rankNop   = iota // executing it elsewhere costs a jump
	rankPlain        // two jumps
	rankCall         // and a return that is predicted wrongly
	maxRank
)

func rank(in *x86.Inst) int {
	switch {
	case in.IsNop():
		return rankNop
	case in.Kind == x86.KindCall:
		return rankCall
	}
	return rankPlain
}

// short writes the short jump of the site to offset q.
func (n *neighbourhood) short(q int) {
	x := n.x
	for i := range x.skip {
		n.new[x.off+i] = pads[0]
	}
	h := x.off + x.skip
	n.new[h] = opShort
	if x.room >= x.skip+2 {
		n.new[h+1] = byte(q - (h + 2))
	}
	n.lock(x.off, x.skip+2)
	n.kill(h+2, x.off+x.len)
}

// deadBytes looks for a place for the jump where nothing is evicted.
func (n *neighbourhood) deadBytes() (bool, error) {
	x := n.x
	for q := max(n.lo, 0); q <= n.hi && q < len(n.state); q++ {
		if n.state[q] != dead {
			continue
		}
		end := q + 1
		for end < len(n.state) && end < q+5 && n.state[end] == dead {
			end++
		}
		if !n.tailFree(q+5, end) || n.overlaps(q, q+5) {
			continue
		}
		r, ok := n.puns(q, 0, end)
		if !ok {
			continue
		}
		s, ok := n.seekAny(&r, x, nil)
		if !ok {
			continue
		}
		if err := n.place(x, s); err != nil {
			return false, err
		}
		n.write(q, 0, end, s.at, 0)
		n.short(q)
		return true, nil
	}
	return false, nil
}

// tailFree says that the bytes of a jump that ends at end, from `from` on, are
// none of a site whose turn has not come.
func (n *neighbourhood) tailFree(end, from int) bool {
	return end <= from || end <= len(n.state) && n.clear(from, end-from, pending)
}

// overlaps says that [a, b) has bytes that the short jump needs.
func (n *neighbourhood) overlaps(a, b int) bool {
	return a < n.x.off+max(n.x.len, n.x.skip+2) && n.x.off < b
}

// victims tries the instructions of a rank around the site.
func (n *neighbourhood) victims(want int) (bool, error) {
	for v := max(n.lo-x86.MaxLen, 0); v <= n.hi && v < len(n.state); v++ {
		if n.state[v]&lenMask < 2 {
			continue
		}
		y, ok := n.evictable(v)
		if !ok || rank(y.in) != want || n.overlaps(v, v+y.len) {
			continue
		}
		if done, err := n.victim(y); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// victim tries every form of the two jumps within y.
func (n *neighbourhood) victim(y *target) (bool, error) {
	end := y.off + y.len
	for q := max(y.off+1, n.lo); q < end && q <= n.hi; q++ {
		for upperPads := 0; q+upperPads < end; upperPads++ {
			last := q + upperPads + 5
			if !n.tailFree(last, end) || n.overlaps(y.off, last) {
				break
			}
			for lowerPads := 0; y.off+lowerPads < q; lowerPads++ {
				last := y.off + lowerPads + 5
				if !n.tailFree(last, end) || n.overlaps(y.off, last) {
					break
				}
				j := joint{lower: y, upper: n.x, lowerPads: lowerPads, upperPads: upperPads, at: q, end: end}
				done, err := n.joint(&j)
				if err != nil {
					return false, err
				}
				if done {
					n.kill(y.off+lowerPads+5, q)
					n.kill(q+upperPads+5, end)
					n.short(q)
					return true, nil
				}
			}
		}
	}
	return false, nil
}
