package slice

import "context"

// Set is a slice as the algorithms that go through the whole run give it: the ops
// in it, in descending order.
type Set []Node

// Plain is the thesis's algorithm 4, of DrDebug's kind: the dependency list has an
// entry for each use, and each definition is matched with all of them.
func (r *Recorded) Plain(ctx context.Context, from Criteria, o Options) (Set, error) {
	p := plain{o: o}
	return r.backward(ctx, from, &p)
}

// Filtered is the thesis's algorithm 5: what is looked for lies in one set of
// coalesced ranges, a mask of registers for each thread, and a hash set of
// branches; they are asked before an instruction is looked at.
func (r *Recorded) Filtered(ctx context.Context, from Criteria, o Options) (Set, error) {
	f := filter{o: o, regs: map[uint32]*Regs{}, branches: map[Node]struct{}{}}
	return r.backward(ctx, from, &f)
}

// wants is what a slice still looks for.
type wants interface {
	// hit says that an op defines something that is looked for.
	hit(s *Part, o *Op, mem []Mem) bool
	// control says that something in the slice depends on the last branch of the part.
	control(s *Part) bool
	// kill takes out what an op of the slice defines.
	kill(s *Part, o *Op, mem []Mem)
	// use puts in what an op of the slice reads.
	use(s *Part, o *Op, mem []Mem)
	// gap says that nothing from before the part is of use any more.
	gap(s *Part) bool
	// begin says that a thread has its registers from its parent.
	begin(thread, parent uint32)
	// move says that memory had another address before.
	move(to, from Mem)
}

// backward goes through all parts, the last first.
//
//  1. An instruction is in the slice as far as its ops define what is looked for,
//     or decide a branch that is.
//  2. What these define is looked for no more.
//  3. What they read is, and the branch that they depend on.
func (r *Recorded) backward(ctx context.Context, from Criteria, w wants) (Set, error) {
	start := map[Node]bool{}
	starts, moves := r.starts, r.moves
	for _, n := range from {
		if n == 0 || n.Step() > r.Steps() {
			return nil, ErrIndex
		}
		start[n] = true
	}
	var out Set
	var s Part
	for i := r.parts.n; i > 0; i-- {
		if i&0xff == 0 && ctx.Err() != nil {
			return out, ctx.Err()
		}
		for len(starts) > 0 && starts[len(starts)-1].after >= i {
			w.begin(starts[len(starts)-1].thread, starts[len(starts)-1].parent)
			starts = starts[:len(starts)-1]
		}
		for len(moves) > 0 && moves[len(moves)-1].after >= i {
			w.move(moves[len(moves)-1].to, moves[len(moves)-1].from)
			moves = moves[:len(moves)-1]
		}
		if err := r.read(i-1, &s); err != nil {
			return out, err
		}
		if s.Piece.Code == nil && s.Piece.Cause.Kind == Gap {
			if w.gap(&s) || start[s.First] {
				out = append(out, s.First)
				w.use(&s, &Op{}, nil)
			}
			continue
		}
		decides := s.Piece.decides(s.First)
		branch := w.control(&s)
		s.insts(func(first Node, ops []Op, mem []Mem) {
			var taken uint64
			for k := range ops {
				n := first + Node(k)
				if start[n] || branch && n == decides || w.hit(&s, &ops[k], mem) {
					taken |= 1 << k
				}
			}
			if taken == 0 {
				return
			}
			for k := len(ops) - 1; k >= 0; k-- {
				if taken&(1<<k) == 0 {
					continue
				}
				w.kill(&s, &ops[k], mem)
				if ops[k].Frame && !start[first+Node(k)] {
					taken &^= 1 << k
					continue
				}
				out = append(out, first+Node(k))
			}
			for k := range ops {
				if taken&(1<<k) != 0 {
					w.use(&s, &ops[k], mem)
				}
			}
		})
	}
	return out, nil
}

// uses is what an op reads, under the options.
func (o Options) uses(op *Op) Regs {
	r := op.Read
	if o.NoAddress {
		r.AndNot(&op.Addr)
	}
	return r
}

// plain has lists without order, and with repetitions.
type plain struct {
	o        Options
	mem      []span
	regs     []regUse
	branches []Node
}

type span struct{ lo, hi uint64 } // [lo, hi)

type regUse struct {
	thread uint32
	unit   uint8
}

func (p *plain) hit(s *Part, o *Op, mem []Mem) (found bool) {
	for _, u := range p.regs {
		if u.thread == s.Thread && o.Write.Has(u.unit) {
			return true
		}
	}
	s.touched(o.MemWrite, mem, s.Mem, func(lo, hi uint64) {
		for _, m := range p.mem {
			if lo < m.hi && m.lo < hi {
				found = true
				return
			}
		}
	})
	return found
}

func (p *plain) control(s *Part) bool {
	for _, b := range p.branches {
		if b == s.Piece.decides(s.First) {
			return true
		}
	}
	return false
}

func (p *plain) kill(s *Part, o *Op, mem []Mem) {
	regs := p.regs[:0]
	for _, u := range p.regs {
		if u.thread != s.Thread || !o.Write.Has(u.unit) {
			regs = append(regs, u)
		}
	}
	p.regs = regs
	s.touched(o.MemWrite, mem, s.Mem, func(lo, hi uint64) {
		for i := 0; i < len(p.mem); i++ {
			m := &p.mem[i]
			switch {
			case hi <= m.lo || m.hi <= lo:
			case lo <= m.lo && m.hi <= hi:
				p.mem[i] = p.mem[len(p.mem)-1]
				p.mem = p.mem[:len(p.mem)-1]
				i--
			case m.lo < lo && hi < m.hi:
				p.mem = append(p.mem, span{hi, m.hi})
				p.mem[i].hi = lo
			case m.lo < lo:
				m.hi = lo
			default:
				m.lo = hi
			}
		}
	})
}

func (p *plain) use(s *Part, o *Op, mem []Mem) {
	read := p.o.uses(o)
	for u := range read.Units {
		p.regs = append(p.regs, regUse{s.Thread, u})
	}
	s.touched(o.MemRead, mem, s.Reads, func(lo, hi uint64) { p.mem = append(p.mem, span{lo, hi}) })
	if s.Control != 0 && !p.o.NoControl {
		p.branches = append(p.branches, s.Control)
	}
}

func (p *plain) gap(s *Part) bool {
	any := len(p.mem)+len(p.regs) > 0 || p.control(s)
	p.mem, p.regs = nil, nil
	return any
}

func (p *plain) begin(thread, parent uint32) {
	for i := range p.regs {
		if p.regs[i].thread == thread {
			p.regs[i].thread = parent
		}
	}
}

func (p *plain) move(to, from Mem) {
	mem := p.mem
	p.mem = nil
	for _, m := range mem {
		p.mem = append(p.mem, elsewhere(m, to, from)...)
	}
}

// elsewhere is where wanted memory was before a move, in parts: what is now where the moved
// memory was had no writer.
func elsewhere(m span, to, from Mem) (was []span) {
	put := func(lo, hi, add uint64) {
		if lo < hi {
			was = append(was, span{lo + add, hi + add})
		}
	}
	for _, free := range outside(m, to) {
		for _, s := range outside(free, from) {
			put(s.lo, s.hi, 0)
		}
	}
	put(max(m.lo, to.Addr), min(m.hi, to.Addr+uint64(to.Size)), from.Addr-to.Addr)
	return was
}

// outside is the parts of a span that are not in a range.
func outside(m span, r Mem) []span {
	return []span{{m.lo, min(m.hi, max(m.lo, r.Addr))}, {max(m.lo, min(m.hi, r.Addr+uint64(r.Size))), m.hi}}
}

// filter has sets that are asked fast.
type filter struct {
	o        Options
	mem      ranges
	regs     map[uint32]*Regs
	cur      *Regs
	thread   uint32
	branches map[Node]struct{}
}

func (f *filter) of(thread uint32) *Regs {
	if f.cur != nil && f.thread == thread {
		return f.cur
	}
	r := f.regs[thread]
	if r == nil {
		r = &Regs{}
		f.regs[thread] = r
	}
	f.cur, f.thread = r, thread
	return r
}

func (f *filter) hit(s *Part, o *Op, mem []Mem) (found bool) {
	if f.of(s.Thread).Meets(&o.Write) {
		return true
	}
	if s.Piece.Code != nil && o.MemWrite == 0 || f.mem.n == 0 {
		return false
	}
	s.touched(o.MemWrite, mem, s.Mem, func(lo, hi uint64) { found = found || f.mem.meets(lo, hi) })
	return found
}

func (f *filter) control(s *Part) bool {
	_, ok := f.branches[s.Piece.decides(s.First)]
	return ok
}

func (f *filter) kill(s *Part, o *Op, mem []Mem) {
	f.of(s.Thread).AndNot(&o.Write)
	s.touched(o.MemWrite, mem, s.Mem, f.mem.remove)
}

func (f *filter) use(s *Part, o *Op, mem []Mem) {
	read := f.o.uses(o)
	f.of(s.Thread).Or(&read)
	s.touched(o.MemRead, mem, s.Reads, f.mem.add)
	if s.Control != 0 && !f.o.NoControl {
		f.branches[s.Control] = struct{}{}
	}
}

func (f *filter) gap(s *Part) bool {
	any := f.mem.n > 0 || f.control(s)
	for _, r := range f.regs {
		any = any || !r.Empty()
		*r = Regs{}
	}
	f.mem = ranges{}
	return any
}

func (f *filter) begin(thread, parent uint32) {
	r := *f.of(thread)
	*f.of(thread) = Regs{}
	f.of(parent).Or(&r)
}

func (f *filter) move(to, from Mem) {
	var all []span
	f.mem.each(func(s span) { all = append(all, s) })
	f.mem = ranges{}
	for _, m := range all {
		for _, s := range elsewhere(m, to, from) {
			f.mem.add(s.lo, s.hi)
		}
	}
}
