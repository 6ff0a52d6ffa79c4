package patch

import "mgtrace/x86"

// neighbour is T3. The site becomes a short jump to a jump that lies in bytes
// that are dead already, or in the tail of a victim, which is evicted by another
// jump at its beginning. Victims whose eviction costs the program least come first.
//
// Of a site with one byte the short jump is a pun too: its distance is the first
// byte of the successor, or the first byte of the jump that evicts that.
func (p *planner) neighbour(x *target) (Tactic, error) {
	h := x.off + x.skip
	if x.skip >= x.room || h+2 > len(p.new) {
		return Refused, nil
	}
	n := neighbourhood{planner: p, x: x, lo: h + 2 - 128, hi: h + 2 + 127}
	if x.room >= x.skip+2 {
		return n.short()
	}
	n.fix()
	if t, err := n.short(); t != Refused || err != nil || x.room < x.len {
		return t, err
	}
	next, ok := p.evictable(x.off + x.len)
	if !ok {
		return Refused, nil
	}
	kept := *next
	y := &kept
	if t, err := n.behind(y, opJmp, 0); t != Refused || err != nil {
		return t, err
	}
	for _, pad := range pads {
		for k := 1; k < y.len; k++ {
			if t, err := n.behind(y, pad, k); t != Refused || err != nil {
				return t, err
			}
		}
	}
	return Refused, nil
}

// fix takes the distance of the short jump from the byte that is there.
func (n *neighbourhood) fix() {
	h := n.x.off + n.x.skip
	n.lo = h + 2 + int(int8(n.new[h+1]))
	n.hi = n.lo
}

// behind evicts the successor y with a jump behind k prefixes whose first byte is
// first, and looks where the short jump leads then. If that is to no avail, y is
// as it was before.
func (n *neighbourhood) behind(y *target, first byte, k int) (Tactic, error) {
	if !n.host(y.off + 1 + int(int8(first))) {
		return Refused, nil
	}
	end := y.off + y.len
	r, ok := n.puns(y.off, k, end)
	if !ok || !n.feasible(&r, y) {
		return Refused, nil
	}
	s, ok := n.seekAny(&r, y, nil)
	if !ok {
		return Refused, nil
	}
	var bytes, states [2 * x86.MaxLen]byte
	upTo := min(end+5, len(n.new))
	copy(bytes[:], n.new[y.off:upTo])
	copy(states[:], n.state[y.off:upTo])
	before := n.mark()
	if err := n.place(y, s); err != nil {
		return Refused, nil
	}
	n.write(y.off, k, end, s.at, first)
	n.kill(y.off+k+5, end)
	n.fix()
	t, err := n.short()
	if t == Refused {
		n.undo(before)
		copy(n.new[y.off:upTo], bytes[:])
		copy(n.state[y.off:upTo], states[:])
	}
	return t, err
}

// host says that a jump might lie at q: in dead bytes, or in a victim's tail.
func (n *neighbourhood) host(q int) bool {
	if q < 0 || q >= len(n.state) || n.state[q]&(locked|pending) != 0 {
		return false
	}
	if n.state[q] == dead {
		return true
	}
	for v := q - 1; v >= max(0, q-x86.MaxLen); v-- {
		if l := int(n.state[v] & lenMask); l != 0 {
			return v+l > q && n.clear(v, l, locked|pending|doubtful)
		}
	}
	return false
}

// short looks for a jump that the short jump can reach.
func (n *neighbourhood) short() (Tactic, error) {
	if done, err := n.deadBytes(); done {
		return T3, nil
	} else if err != nil {
		return Refused, err
	}
	for rank := range maxRank {
		if done, err := n.victims(rank); done {
			return T3, nil
		} else if err != nil {
			return Refused, err
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

// writeShort writes the short jump of the site to offset q.
func (n *neighbourhood) writeShort(q int) {
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
		n.writeShort(q)
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
	if n.lo == n.hi && !n.host(n.lo) {
		return false, nil
	}
	for v := max(n.lo-x86.MaxLen, 0); v <= n.hi && v < len(n.state); v++ {
		if n.state[v]&lenMask < 2 {
			continue
		}
		y, ok := n.evictable(v)
		if !ok || rank(&y.in) != want || n.overlaps(v, v+y.len) {
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
					n.writeShort(q)
					return true, nil
				}
			}
		}
	}
	return false, nil
}
