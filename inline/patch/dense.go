package patch

// dense fills a region near the code from its beginning: trampolines of
// neighbours share pages and cache lines.
type dense struct {
	space   *space
	regions []window // where to look, best first
	at      int      // the region that is being filled
	next    uint64   // where it is filled up to
}

// newDense looks for regions near the code for about total bytes.
func newDense(s *space, c *Code, total int) *dense {
	d := &dense{space: s}
	want := uint64(total) + uint64(total)/2 + 16*pageSize
	w := around(c.Addr, c.end(), pageSize)
	var below, above []window
	for i := range s.ranges {
		r := &s.ranges[i]
		v := window{r.lo, r.hi - 1}.and(w)
		switch {
		case v.lo >= v.hi:
		case r.hi <= c.Addr:
			below = append(below, v)
		default:
			above = append(above, v)
		}
	}
	for len(below)+len(above) > 0 { // nearest first
		last := len(below) - 1
		if last >= 0 && (len(above) == 0 || c.Addr-below[last].hi <= above[0].lo-c.end()) {
			v := below[last]
			if v.hi-v.lo > want {
				v.lo = (v.hi - want) &^ (pageSize - 1)
			}
			d.regions, below = append(d.regions, v), below[:last]
			continue
		}
		d.regions, above = append(d.regions, above[0]), above[1:]
	}
	if len(d.regions) > 0 {
		d.next = d.regions[0].lo
	}
	return d
}

// find returns the next free address in the regions if it lies in w, else any
// that does.
func (d *dense) find(size int, w window) (uint64, bool) {
	for d.at < len(d.regions) {
		r := d.regions[d.at]
		if at, ok := d.space.find(window{d.next, r.hi}, size, true, true); ok && at <= r.hi {
			if at < w.lo || at > w.hi {
				break // an operand far away
			}
			d.next = at
			return at, true
		}
		if d.at++; d.at < len(d.regions) {
			d.next = d.regions[d.at].lo
		}
	}
	if at, ok := d.space.find(w, size, false, false); ok {
		return at, true
	}
	return d.space.find(w, size, true, false)
}
