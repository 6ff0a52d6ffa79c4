package patch

import "math"

// joint is two jumps of which the lower one's displacement reads bytes of the
// upper one.
type joint struct {
	lower, upper         *target
	lowerPads, upperPads int
	at, end              int // the upper jump: where it begins, and where its bytes that may change end
}

// joint places both jumps. They share bytes: each value of these fixes a window
// for the lower jump and leaves a choice to the upper one.
func (p *planner) joint(j *joint) (bool, error) {
	up, ok := p.puns(j.at, j.upperPads, j.end)
	if !ok || !p.feasible(&up, j.upper) {
		return false, nil
	}
	choices := pads[:1]
	relAt := j.lower.off + j.lowerPads + 1
	if j.upperPads > 0 && j.at < relAt+4 {
		choices = pads[:]
	}
	upAt := j.at + j.upperPads + 1 // the upper displacement
	own := max(0, min(4, j.at-relAt))
	shared := max(0, min(relAt+4-upAt, j.end-upAt, 4))
	if relAt+4 > len(p.new) {
		return false, nil
	}
	for _, pad := range choices {
		low := rel{next: p.Addr + uint64(relAt) + 4, fixed: math.MaxUint32}
		if own < 4 {
			low.fixed <<= 8 * own
		} else {
			low.fixed = 0
		}
		for i := own; i < 4; i++ {
			b := p.new[relAt+i]
			switch a := relAt + i; {
			case a < j.at+j.upperPads:
				b = pad
			case a == j.at+j.upperPads:
				b = opJmp
			case a < upAt+shared:
				b = 0
			}
			low.value |= uint32(b) << (8 * i)
		}
		if done, err := p.share(j, low, up, upAt-relAt, shared, pad); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

// feasible says that some target of the jump may be free.
func (p *planner) feasible(r *rel, x *target) bool {
	if r.fixed>>24 == 0 {
		return true
	}
	n := 4
	for n > 0 && r.fixed>>(8*(n-1))&0xff != 0 {
		n--
	}
	var keep uint32
	if n < 4 {
		keep = math.MaxUint32 << (8 * n)
	}
	w := r.window(r.value&keep, n).and(x.hop)
	return w.lo <= w.hi && p.space.any(w, true)
}

// share tries values of the shared bytes: the lowest `shared` bytes of the upper
// displacement, which are bytes shift… of the lower one.
func (p *planner) share(j *joint, low, up rel, shift, shared int, pad byte) (bool, error) {
	const (
		triesUpper = 24  // searches for the upper jump; each costs microseconds
		triesLower = 512 // windows looked at for the lower one
	)
	combinations := 1 << (8 * shared)
	if shared == 0 && !p.feasible(&low, j.lower) {
		return false, nil
	}
	upper, lower := 0, 0
	for c := 0; c < combinations && upper < triesUpper && lower < triesLower; c++ {
		l, u := low, up
		// The highest byte counts fastest: it chooses between far windows.
		for i := range shared {
			b := uint32(byte(c >> (8 * (shared - 1 - i))))
			l.value |= b << (8 * (shift + i))
			u.value = u.value&^(0xff<<(8*i)) | b<<(8*i)
			u.fixed |= 0xff << (8 * i)
		}
		if !p.feasible(&l, j.lower) {
			continue
		}
		lower++
		a, ok := p.seekAny(&l, j.lower)
		if !ok {
			continue
		}
		upper++
		p.reserve(a, j.lower)
		b, ok := p.seekAny(&u, j.upper)
		p.release(a, j.lower)
		if !ok {
			continue
		}
		if err := p.placeBoth(j.lower, a, j.upper, b); err != nil {
			return false, err
		}
		p.write(j.at, j.upperPads, j.end, b.at, pad)
		p.write(j.lower.off, j.lowerPads, min(j.lower.off+j.lower.len, j.at), a.at, pads[0])
		return true, nil
	}
	return false, nil
}

func (p *planner) seekAny(r *rel, x *target) (spot, bool) {
	if s, ok := p.seek(r, x, false); ok {
		return s, ok
	}
	return p.seek(r, x, true)
}

func (s spot) size(x *target) int {
	if s.hop {
		return JumpLen
	}
	return x.size
}

func (p *planner) reserve(s spot, x *target) { p.space.take(s.at, s.size(x)) }
func (p *planner) release(s spot, x *target) { p.space.give(s.at, s.size(x)) }
