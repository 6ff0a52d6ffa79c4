package slice

import (
	"cmp"
	"context"
	"slices"
)

// EdgeKind says how a value depends on another.
type EdgeKind uint8

// The kinds.
const (
	ByRegister EdgeKind = iota // it was computed from it, through a register
	ByMemory                   // … through memory
	ByAddress                  // it tells where in memory the value was read or written
	ByControl                  // it decided whether the instruction is executed
)

func (k EdgeKind) String() string {
	return [...]string{"register", "memory", "address", "control"}[k]
}

// Options say which dependences count.
type Options struct {
	NoAddress bool // not those that only tell where in memory a value lies
	NoControl bool // not those on branches
	// Paths bounds the memory for paths, in bytes; 0: 256 MB. Statements found
	// beyond it have a distance and no path.
	Paths int
}

// Criteria are what a slice begins with: ops, with all that they read.
type Criteria []Node

// wanted says which ops of a step are wanted: those that define units of a quad,
// the op itself, or the one that decides where control goes.
type wanted uint32

const (
	wantOp      wanted = iota << 16 // low bits: the op
	wantUnits                       // low bits: quad<<4 | mask
	wantControl                     //
)

// pending is a step that is reached and not processed yet. There are millions: 32
// bytes, without pointers.
type pending struct {
	step StepID
	via  Node // of which it is a definition
	what wanted
	dist uint32
	user staticOp
}

func (p pending) compare(q pending) int {
	if c := cmp.Compare(p.step, q.step); c != 0 {
		return c
	}
	if c := cmp.Compare(p.what, q.what); c != 0 {
		return c
	}
	if c := cmp.Compare(p.dist, q.dist); c != 0 {
		return c
	}
	return cmp.Compare(p.via, q.via)
}

// bucket holds what is pending in a segment.
type bucket struct {
	p    []pending
	next int // length at which repetitions are thrown out
}

func (b *bucket) add(p pending) {
	if n := len(b.p); n > 0 && b.p[n-1].step == p.step && b.p[n-1].what == p.what && b.p[n-1].dist <= p.dist {
		return
	}
	b.p = append(b.p, p)
	if len(b.p) < max(b.next, 64) {
		return
	}
	slices.SortFunc(b.p, pending.compare)
	b.p = slices.CompactFunc(b.p, func(x, y pending) bool { return x.step == y.step && x.what == y.what })
	b.next = 2 * len(b.p)
}

// sweep goes from the newest segment with something pending to the oldest. All
// uses of a definition come after it, so that when a step is processed, all that
// lead to it are known, with the shortest way.
type sweep struct {
	x       *Index
	o       Options
	out     *Slice
	buckets []*bucket
	free    []*bucket

	seg  segment
	need []needed // of the segment's steps, by op
	base [segmentLen + 1]int
	cur  int // segment
}

type needed struct {
	dist uint32 // + 1; 0: not needed
	kind EdgeKind
	via  Node
}

// Backward returns the slice of the criteria: all that they depend on.
func (x *Index) Backward(ctx context.Context, from Criteria, o Options) (*Slice, error) {
	s := &sweep{x: x, o: o, out: newSlice(x, from, o), buckets: make([]*bucket, x.segments())}
	for _, n := range from {
		if n == 0 || n.Step() > x.Steps {
			return nil, ErrIndex
		}
		s.push(pending{step: n.Step(), what: wantOp | wanted(n.Op())})
	}
	for i := len(s.buckets) - 1; i >= 0; i-- {
		if s.buckets[i] == nil {
			continue
		}
		if i&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := s.segment(i); err != nil {
			return nil, err
		}
	}
	return s.out, nil
}

func (s *sweep) push(p pending) {
	i := segmentOf(p.step)
	b := s.buckets[i]
	if b == nil {
		if n := len(s.free); n > 0 {
			b, s.free = s.free[n-1], s.free[:n-1]
		} else {
			b = &bucket{}
		}
		s.buckets[i] = b
	}
	b.add(p)
}

// segment processes segment i, its last op first.
func (s *sweep) segment(i int) error {
	s.cur = i
	if err := s.x.decode(i, &s.seg); err != nil {
		return err
	}
	n := 0
	for k := range s.seg.steps {
		s.base[k] = n
		n += len(s.seg.steps[k].piece.ops)
	}
	s.base[len(s.seg.steps)] = n
	if cap(s.need) < n {
		s.need = make([]needed, n*2)
	}
	s.need = s.need[:n]
	clear(s.need)
	b := s.buckets[i]
	for _, p := range b.p {
		s.mark(p)
	}
	b.p, b.next = b.p[:0], 0
	s.free = append(s.free, b)
	s.buckets[i] = nil
	for k := len(s.seg.steps) - 1; k >= 0; k-- {
		for op := s.base[k+1] - s.base[k] - 1; op >= 0; op-- {
			if v := s.need[s.base[k]+op]; v.dist != 0 {
				s.process(k, uint16(op), v)
			}
		}
	}
	return nil
}

// mark notes which ops of a step of the segment are needed.
func (s *sweep) mark(p pending) {
	k := int(p.step - s.seg.first)
	piece := s.seg.steps[k].piece
	switch low := uint16(p.what); p.what &^ 0xffff {
	case wantOp:
		s.markOp(k, low, p)
	case wantControl:
		s.markOp(k, piece.control, p)
	case wantUnits:
		piece.defs(group{uint8(low >> 4), uint8(low & 15)}, func(op uint16) { s.markOp(k, op, p) })
	}
}

func (s *sweep) markOp(k int, op uint16, p pending) {
	at := s.base[k] + int(op)
	if at >= s.base[k+1] || s.seg.steps[k].piece.ops[op].frame && p.via != 0 {
		return // a damaged index; or of no interest
	}
	if p.via != 0 {
		s.out.used(s.seg.steps[k].piece, op, p.user)
	}
	v := &s.need[at]
	if v.dist == 0 || p.dist+1 < v.dist {
		*v = needed{p.dist + 1, p.user.kind, p.via}
	}
}

// reach goes to a definition.
func (s *sweep) reach(p pending) {
	if segmentOf(p.step) == s.cur {
		s.mark(p)
	} else {
		s.push(p)
	}
}

// process takes an op into the slice, and all that it depends on.
func (s *sweep) process(k int, op uint16, v needed) {
	d := &s.seg.steps[k]
	p := d.piece
	step := s.seg.first + StepID(k)
	n := node(step, op)
	o := &p.ops[op]
	at := s.out.take(n, d, v)
	p2 := pending{dist: v.dist, via: n, user: staticOp{piece: p.ID, op: op}}
	for _, l := range o.local {
		if l.addr && s.o.NoAddress {
			continue
		}
		p2.step, p2.what, p2.user.kind = step, wantOp|wanted(l.op), ByRegister
		if l.addr {
			p2.user.kind = ByAddress
		}
		s.mark(p2)
	}
	for _, g := range o.groups {
		if g.addr && s.o.NoAddress {
			continue
		}
		p2.user.kind = ByRegister
		if g.addr {
			p2.user.kind = ByAddress
		}
		units := group{p.groups[g.group].quad, g.mask}
		by := s.seg.units(d, g.group)
		for i := range uint8(4) {
			if units.mask&(1<<i) == 0 || sameBefore(by, units.mask, i) {
				continue
			}
			if by[i] == 0 {
				at.before(p2.user.kind, units.quad)
				continue
			}
			mask := uint8(0)
			for j := i; j < 4; j++ {
				if units.mask&(1<<j) != 0 && by[j] == by[i] {
					mask |= 1 << j
				}
			}
			p2.step, p2.what = by[i], wantUnits|wanted(units.quad)<<4|wanted(mask)
			s.reach(p2)
		}
	}
	p2.user.kind = ByMemory
	if p.Code == nil {
		for r := range d.nreads {
			s.memory(d.reads+r, p2, at)
		}
	}
	for _, r := range o.reads {
		s.memory(d.reads+uint32(r), p2, at)
	}
	if d.control != 0 && !s.o.NoControl {
		p2.step, p2.what, p2.user.kind = d.control, wantControl, ByControl
		s.reach(p2)
	}
}

// sameBefore says that unit i was defined by the same step as one before it.
func sameBefore(by *[4]StepID, mask, i uint8) bool {
	for j := range i {
		if mask&(1<<j) != 0 && by[j] == by[i] {
			return true
		}
	}
	return false
}

func (s *sweep) memory(read uint32, p pending, at *Stat) {
	for _, def := range s.seg.memory(read) {
		if def == 0 {
			at.before(ByMemory, 0)
			continue
		}
		p.step, p.what = def.Step(), wantOp|wanted(def.Op())
		s.reach(p)
	}
}
