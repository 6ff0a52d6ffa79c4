package patch

import "fmt"

// chunk is how much room for the bytes of trampolines is had at once.
const chunk = 1 << 20

// place makes the trampoline of x at the spot, or a hop there.
func (p *planner) place(x *target, s spot) error {
	addr := x.addr(p.image)
	real := s.at
	if s.hop {
		var ok bool
		p.space.take(s.at, JumpLen)
		real, ok = p.dense.find(x.size, x.reach.and(around(s.at, s.at, x.size)))
		p.space.give(s.at, JumpLen)
		if !ok {
			return ErrNoSpace
		}
	}
	p.room(x.size + JumpLen)
	start := len(p.arena)
	id := Evicted
	var err error
	var out []byte
	if x.site != nil {
		id = x.site.ID
		out, err = p.emit.Emit(p.arena, id, real)
	} else {
		out, err = p.evict(x, real)
	}
	if err != nil {
		return err
	}
	n := len(out) - start
	if n <= 0 || n > x.size {
		return fmt.Errorf("trampoline of %d bytes, of which it was said that it has at most %d", n, x.size)
	}
	p.arena = out
	p.add(Trampoline{Addr: real, Bytes: out[start:len(out):len(out)], Site: id, Of: addr})
	if s.hop {
		out, err = Jump(out, s.at, real)
		if err != nil {
			return err
		}
		p.arena = out
		p.add(Trampoline{Addr: s.at, Bytes: out[start+n : len(out) : len(out)], Site: id, Of: addr, Hop: true})
		p.plan.Hops++
	}
	if x.site == nil {
		p.plan.Evicted++
	}
	return nil
}

// room makes sure that n bytes can be appended to the arena.
func (p *planner) room(n int) {
	if cap(p.arena)-len(p.arena) < n {
		p.arena = make([]byte, 0, max(chunk, n))
	}
}

// evict appends the trampoline of an instruction that is no site.
func (p *planner) evict(x *target, at uint64) ([]byte, error) {
	addr := x.addr(p.image)
	start := len(p.arena)
	out, err := relocate(p.arena, p.Bytes[x.off:x.off+x.len], &x.in, addr, at)
	if err != nil || !Continues(&x.in) {
		return out, err
	}
	return Jump(out, at+uint64(len(out)-start), addr+uint64(x.len))
}

func (p *planner) add(t Trampoline) {
	p.space.take(t.Addr, len(t.Bytes))
	p.plan.Trampolines = append(p.plan.Trampolines, t)
}

// mark remembers what trampolines there are.
type mark struct{ trampolines, hops, evicted int }

func (p *planner) mark() mark {
	return mark{len(p.plan.Trampolines), p.plan.Hops, p.plan.Evicted}
}

// undo takes back the trampolines made since.
func (p *planner) undo(m mark) {
	for _, t := range p.plan.Trampolines[m.trampolines:] {
		p.space.give(t.Addr, len(t.Bytes))
	}
	p.plan.Trampolines, p.plan.Hops, p.plan.Evicted = p.plan.Trampolines[:m.trampolines], m.hops, m.evicted
}

// placeBoth makes two trampolines or none.
func (p *planner) placeBoth(x *target, a spot, y *target, b spot) error {
	before := p.mark()
	p.reserve(b, y)
	err := p.place(x, a)
	p.release(b, y)
	if err == nil {
		err = p.place(y, b)
	}
	if err != nil {
		p.undo(before)
	}
	return err
}
