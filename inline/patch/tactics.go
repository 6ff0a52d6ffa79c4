package patch

import (
	"encoding/binary"
	"math"

	"mgtrace/x86"
)

// spot is where a jump leads: a trampoline, or a hop to one.
type spot struct {
	at  uint64
	hop bool
}

// pads are the prefixes that a jump ignores, in the order of preference: segment
// overrides and REX (SDM volume 2, 2.1.1 and 2.2.1). With a choice of them a pun
// has a choice of windows.
var pads = [...]byte{0x3e, 0x2e, 0x26, 0x36, 0x64, 0x65,
	0x48, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f}

const (
	opJmp   = 0xe9
	opShort = 0xeb
)

// puns is the form of a jump at off behind k prefixes if bytes up to end may
// change: which bytes of its displacement are fixed. It fails if the opcode does
// not fit or the jump leaves the code.
func (p *planner) puns(off, k, end int) (rel, bool) {
	at := off + k + 1
	if at > end || at+4 > len(p.new) {
		return rel{}, false
	}
	r := rel{next: p.Addr + uint64(at) + 4, value: binary.LittleEndian.Uint32(p.new[at:])}
	if n := end - at; n < 4 {
		r.fixed = math.MaxUint32 << (8 * n)
	}
	return r, true
}

// maxLeaves is how many windows are looked at for a jump whose high bytes are
// free, and maxTries how many of the spots there for one that must agree with
// another jump. With ten times as many the largest programs (node, 86 MB of code)
// take ten times as long, for three traps less of nine.
const (
	maxLeaves = 256
	maxTries  = 16
)

// seek finds a spot for the trampoline of x that the jump can reach, and that is
// accepted if accept is not nil. Code that is spread over the address space is
// fetched by lines: few lines a trampoline are preferred to few pages in use.
func (p *planner) seek(r *rel, x *target, fresh bool, accept func(spot, uint32) bool) (spot, bool) {
	if r.fixed == 0 {
		if !fresh {
			return spot{}, false
		}
		at, ok := p.dense.find(x.size, x.reach)
		return spot{at: at}, ok && (accept == nil || accept(spot{at: at}, uint32(at-r.next)))
	}
	q := search{jump: r, w: x.reach, size: x.size, fresh: fresh, tidy: true, leaves: maxLeaves}
	if accept != nil {
		q.accept = func(at uint64, d uint32) bool { return accept(spot{at: at}, d) }
	}
	if at, ok := p.space.match(&q); ok {
		return spot{at: at}, true
	}
	narrow := r.fixed>>8 == math.MaxUint32>>8 // less than two bytes of freedom
	if fresh || narrow {
		q.tidy, q.leaves = false, maxLeaves
		if at, ok := p.space.match(&q); ok {
			return spot{at: at}, true
		}
	}
	// It may find no room but for a hop.
	if narrow && x.size > JumpLen {
		q.w, q.size = x.hop, JumpLen
		if accept != nil {
			q.accept = func(at uint64, d uint32) bool { return accept(spot{at, true}, d) }
		}
		at, ok := p.space.match(&q)
		return spot{at, true}, ok
	}
	return spot{}, false
}

// seekAny prefers pages in use.
func (p *planner) seekAny(r *rel, x *target, accept func(spot, uint32) bool) (spot, bool) {
	if s, ok := p.seek(r, x, false, accept); ok {
		return s, ok
	}
	return p.seek(r, x, true, accept)
}

// jump is B1, B2 and T1. A jump that may go anywhere goes where its neighbours'
// do; with a pun, pages in use are preferred to fewer prefixes.
func (p *planner) jump(x *target) (Tactic, error) {
	passes := []bool{false, true}
	if x.room >= x.skip+5 {
		passes = passes[1:]
	}
	for _, fresh := range passes {
		for k := x.skip; k < x.room; k++ {
			r, ok := p.puns(x.off, k, x.off+x.room)
			if !ok {
				break
			}
			s, ok := p.seek(&r, x, fresh, nil)
			if !ok {
				continue
			}
			if err := p.place(x, s); err != nil {
				return Refused, err
			}
			p.write(x.off, k, x.off+x.room, s.at, pads[0])
			p.kill(x.off+k+5, x.off+x.len)
			switch {
			case r.fixed == 0:
				return B1, nil
			case k == 0:
				return B2, nil
			}
			return T1, nil
		}
	}
	return Refused, nil
}

// write puts a jump to the address at off, behind k prefixes, and locks it. Only
// bytes before end change.
func (p *planner) write(off, k, end int, to uint64, pad byte) {
	at := off + k + 1
	for i := off; i < off+k; i++ {
		p.new[i] = pad
	}
	p.new[off+k] = opJmp
	d := uint32(to - (p.Addr + uint64(at) + 4))
	for i := 0; i < 4 && at+i < end; i++ {
		p.new[at+i] = byte(d >> (8 * i))
	}
	p.lock(off, k+5)
}

// kill makes the bytes [off, end) of a replaced instruction dead: nothing leads
// there, other jumps may use them.
func (p *planner) kill(off, end int) {
	for ; off < end; off++ {
		if p.state[off]&locked == 0 {
			p.state[off] = dead
		}
	}
}

// successor is T2. A call is evicted only where all else fails: its return is
// predicted wrongly then.
func (p *planner) successor(x *target, call bool) (Tactic, error) {
	if x.room < x.len {
		return Refused, nil
	}
	y, ok := p.evictable(x.off + x.len)
	if !ok || (y.in.Kind == x86.KindCall) != call {
		return Refused, nil
	}
	return p.pair(x, y)
}

// pair is T2: x's jump reads the jump that replaces its successor y.
func (p *planner) pair(x, y *target) (Tactic, error) {
	for k := x.skip; k < x.len; k++ {
		if x.off+k+5 <= y.off {
			break
		}
		for ky := 0; ky < y.len; ky++ {
			j := joint{lower: x, upper: y, lowerPads: k, upperPads: ky, at: y.off, end: y.off + y.len}
			done, err := p.joint(&j)
			if err != nil {
				return Refused, err
			}
			if done {
				p.kill(x.off+k+5, x.off+x.len)
				p.kill(y.off+ky+5, y.off+y.len)
				return T2, nil
			}
		}
	}
	return Refused, nil
}
