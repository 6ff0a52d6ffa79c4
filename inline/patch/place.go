package patch

import (
	"errors"
	"fmt"

	"mgtrace/parallel"
)

// chunk is how much room for the bytes of trampolines is had at once, those of sites
// apart.
const chunk = 1 << 20

// made is a trampoline and the room that it has, in bytes. That of a site is filled
// when all have their places.
type made struct {
	Trampoline
	room int
}

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
	t := made{Trampoline{Addr: real, Site: Evicted, Of: addr}, x.size}
	if x.site != nil {
		t.Site = x.site.ID
	} else {
		bytes, err := p.evict(x, real)
		if err != nil {
			return err
		}
		t.Bytes, t.room = bytes, len(bytes)
	}
	p.add(t)
	if s.hop {
		jump, err := p.appended(JumpLen, func(buf []byte) ([]byte, error) { return Jump(buf, s.at, real) })
		if err != nil {
			return err
		}
		p.add(made{Trampoline{Addr: s.at, Bytes: jump, Site: t.Site, Of: addr, Hop: true}, JumpLen})
		p.plan.Hops++
	}
	if x.site == nil {
		p.plan.Evicted++
	}
	return nil
}

// evict makes the trampoline of an instruction that is no site.
func (p *planner) evict(x *target, at uint64) ([]byte, error) {
	addr := x.addr(p.image)
	return p.appended(x.size, func(buf []byte) ([]byte, error) {
		start := len(buf)
		out, err := relocate(buf, p.Bytes[x.off:x.off+x.len], &x.in, addr, at)
		if err != nil || !Continues(&x.in) {
			return out, err
		}
		return Jump(out, at+uint64(len(out)-start), addr+uint64(x.len))
	})
}

// appended returns what f appends to the arena: at most n bytes.
func (p *planner) appended(n int, f func(buf []byte) ([]byte, error)) ([]byte, error) {
	if cap(p.arena)-len(p.arena) < n {
		p.arena = make([]byte, 0, max(chunk, n))
	}
	start := len(p.arena)
	out, err := f(p.arena)
	if err != nil {
		return nil, err
	}
	p.arena = out
	return out[start:len(out):len(out)], nil
}

func (p *planner) add(t made) {
	p.space.take(t.Addr, t.room)
	p.made = append(p.made, t)
}

// fill makes the trampolines of sites, where they have been given their places, and
// lists all.
func (p *planner) fill() error {
	p.plan.Trampolines = make([]Trampoline, len(p.made))
	errs := make([]error, len(p.made)/batch+1)
	parallel.Batches(len(p.made), batch, func(from, to int) {
		errs[from/batch] = fill(p.emit, p.made[from:to], p.plan.Trampolines[from:to])
	})
	return errors.Join(errs...)
}

func fill(e Emitter, from []made, to []Trampoline) error {
	total := 0
	for i := range from {
		total += from[i].room
	}
	arena := make([]byte, 0, total)
	for i := range from {
		t := &from[i]
		to[i] = t.Trampoline
		if t.Bytes != nil {
			continue
		}
		out, err := e.Emit(arena, t.Site, t.Addr)
		if err != nil {
			return err
		}
		n := len(out) - len(arena)
		if n <= 0 || n > t.room {
			return fmt.Errorf("trampoline of %d bytes at %#x, of which it was said that it has at most %d", n, t.Addr, t.room)
		}
		to[i].Bytes = out[len(arena):len(out):len(out)]
		arena = out
	}
	return nil
}

// mark remembers what trampolines there are.
type mark struct{ made, hops, evicted int }

func (p *planner) mark() mark { return mark{len(p.made), p.plan.Hops, p.plan.Evicted} }

// undo takes back the trampolines made since.
func (p *planner) undo(m mark) {
	for _, t := range p.made[m.made:] {
		p.space.give(t.Addr, t.room)
	}
	p.made, p.plan.Hops, p.plan.Evicted = p.made[:m.made], m.hops, m.evicted
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
