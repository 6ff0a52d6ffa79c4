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
		low := rel{next: p.Addr + uint64(relAt) + 4}
		for i := own; i < 4; i++ {
			b := p.new[relAt+i]
			switch a := relAt + i; {
			case a < j.at+j.upperPads:
				b = pad
			case a == j.at+j.upperPads:
				b = opJmp
			case a < upAt+shared:
				continue
			}
			low.fixed |= 0xff << (8 * i)
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
	_, ok := p.space.next(w, true)
	return ok
}

// share looks for a spot of the lower jump that leaves one to the upper: the
// lowest `shared` bytes of the upper displacement are bytes shift… of the lower.
func (p *planner) share(j *joint, low, up rel, shift, shared int, pad byte) (bool, error) {
	if !p.feasible(&low, j.lower) {
		return false, nil
	}
	mask := uint32(1)<<(8*shared) - 1
	var b spot
	tries := 0
	a, ok := p.seekAny(&low, j.lower, func(a spot, d uint32) bool {
		if tries++; tries > maxTries {
			return false
		}
		u := up
		u.fixed |= mask
		u.value = u.value&^mask | d>>(8*shift)&mask
		p.reserve(a, j.lower)
		var ok bool
		b, ok = p.seekAny(&u, j.upper, nil)
		p.release(a, j.lower)
		return ok
	})
	if !ok {
		return false, nil
	}
	if err := p.placeBoth(j.lower, a, j.upper, b); err != nil {
		return false, err
	}
	p.write(j.at, j.upperPads, j.end, b.at, pad)
	p.write(j.lower.off, j.lowerPads, min(j.lower.off+j.lower.len, j.at), a.at, pads[0])
	return true, nil
}

func (s spot) size(x *target) int {
	if s.hop {
		return JumpLen
	}
	return x.size
}

func (p *planner) reserve(s spot, x *target) { p.space.take(s.at, s.size(x)) }
func (p *planner) release(s spot, x *target) { p.space.give(s.at, s.size(x)) }
