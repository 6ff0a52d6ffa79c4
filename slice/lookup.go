package slice

import (
	"context"
	"fmt"
	"sort"

	"mgtrace/slice/cfg"
)

// At describes the step of a node: its piece, thread and the instant of its instruction.
type At struct {
	Piece   *Piece
	Thread  uint32
	Instant uint64
}

// PC is the address of the instruction; 0 for a cause.
func (a At) PC(n Node) uint64 { return a.Piece.PC(n.Op()) }

func (g *segment) at(k int, op uint16) At {
	when := g.moment(k)
	a := At{g.piece(k), when.thread, when.instant}
	if p := a.Piece; p.Code != nil && int(op) < len(p.insts) {
		a.Instant += uint64(p.insts[op] - p.From)
	}
	return a
}

// At looks up a node.
func (x *Index) At(n Node) (At, error) {
	if n == 0 || n.Step() > x.Steps {
		return At{}, ErrIndex
	}
	g := &x.met
	if i := segmentOf(n.Step()); len(g.steps) == 0 || segmentOf(g.first) != i {
		if err := x.decode(i, g); err != nil {
			g.steps = nil
			return At{}, err
		}
	}
	if int(n.Op()) >= len(g.piece(int(n.Step()-g.first)).ops) {
		return At{}, ErrIndex
	}
	return g.at(int(n.Step()-g.first), n.Op()), nil
}

// Find returns the first op of the instruction that was executed at an instant.
func (x *Index) Find(instant uint64) (Node, error) {
	// The last segment that begins at the instant or before it. Steps of causes
	// have the instant of what comes next: the instruction may be later.
	i := sort.Search(x.segments(), func(i int) bool { return x.instant(i) > instant }) - 1
	var g segment
	for ; i >= 0; i-- {
		if err := x.decode(i, &g); err != nil {
			return 0, err
		}
		for k := len(g.steps) - 1; k >= 0; k-- {
			p, begins := g.piece(k), g.moment(k).instant
			if p.Code == nil || instant < begins || instant >= begins+uint64(p.N) {
				continue
			}
			for op, in := range p.insts {
				if uint64(in-p.From) == instant-begins {
					return node(g.first+StepID(k), uint16(op)), nil
				}
			}
		}
		if x.instant(i) < instant {
			break
		}
	}
	return 0, fmt.Errorf("no instruction of the recording has the instant %d; the last one's is %d", instant, x.End-1)
}

// Written returns what wrote to memory at an instant: an op of the instruction that
// was executed then, or what the kernel did for it; the instruction's first op if
// nothing did.
func (x *Index) Written(instant uint64) (Criteria, error) {
	first, err := x.Find(instant)
	if err != nil {
		return nil, err
	}
	a, err := x.At(first)
	if err != nil {
		return nil, err
	}
	p := a.Piece
	var out Criteria
	for op := first.Op(); int(op) < len(p.insts) && p.insts[op] == p.insts[first.Op()]; op++ {
		for _, w := range p.writers {
			if w == op {
				out = append(out, node(first.Step(), op))
			}
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if next := first.Step() + 1; next <= x.Steps {
		if a, err := x.At(node(next, 0)); err == nil && a.Piece.Code == nil && a.Piece.Cause.Kind != Fault && a.Instant == instant+1 {
			return Criteria{node(next, 0)}, nil
		}
	}
	return Criteria{first}, nil
}

// backwards calls yield with the steps of all threads, from one back to the first, until
// it says no.
func (x *Index) backwards(from StepID, yield func(s StepID, p *Piece, thread uint32) bool) error {
	var g segment
	for i := segmentOf(from); from > 0 && i >= 0; i-- {
		if err := x.decode(i, &g); err != nil {
			return err
		}
		for k := len(g.steps) - 1; k >= 0; k-- {
			if s := g.first + StepID(k); s <= from && !yield(s, g.piece(k), g.moment(k).thread) {
				return nil
			}
		}
	}
	return nil
}

// Fault returns the last fault of a thread that executed nothing after it; 0: there
// is none, or what the thread executed before it is missing.
func (x *Index) Fault() (found Node, err error) {
	after := map[uint32]bool{} // threads
	var thread uint32
	err = x.backwards(x.Steps, func(s StepID, p *Piece, in uint32) bool {
		cause := p.Code == nil
		switch {
		case found != 0 && cause && p.Cause.Kind == Gap && (in == 0 || in == thread):
			found = 0
			return false
		case found != 0 && in == thread:
			return false
		case found == 0 && cause && p.Cause.Kind == Fault && !after[in]:
			found, thread = node(s, 0), in
		}
		after[in] = true
		return true
	})
	return found, err
}

// branchWithin is how far from an op Branch looks, in segments.
const branchWithin = 32

// Branch returns the execution nearest to that of near, and in its thread, of the
// branch that decided about the execution of n; 0: there is none, or none that is near, or
// it is that which led to n.
func (x *Index) Branch(n, near Node) (Node, error) {
	var g segment
	if err := x.decode(segmentOf(n.Step()), &g); err != nil {
		return 0, err
	}
	control := g.control(int(n.Step() - g.first))
	if control == 0 {
		return 0, nil
	}
	branch, err := x.At(control)
	if err != nil || branch.Piece.Code == nil {
		return 0, err
	}
	pc := branch.PC(control)
	from, err := x.At(near)
	if err != nil {
		return 0, err
	}
	var found Node
	least := ^uint64(0)
	search := func(i int) error {
		if i < 0 || i >= x.segments() {
			return nil
		}
		if err := x.decode(i, &g); err != nil {
			return err
		}
		for k := range g.steps {
			p := g.piece(k)
			if g.moment(k).thread != from.Thread || p.Code == nil || p.PC(p.control) != pc {
				continue
			}
			at := g.at(k, p.control).Instant
			if away := max(at, from.Instant) - min(at, from.Instant); away < least {
				found, least = node(g.first+StepID(k), p.control), away
			}
		}
		return nil
	}
	home := segmentOf(near.Step())
	for away := 0; away < branchWithin && found == 0; away++ {
		if err := search(home - away); err != nil {
			return 0, err
		}
		if err := search(home + away); err != nil {
			return 0, err
		}
	}
	if found == control {
		return 0, nil
	}
	return found, nil
}

// Executed returns the nth execution of the instruction at an address, counted
// from 1, or the last one (0); and how many there are, or were until it.
func (x *Index) Executed(ctx context.Context, pc uint64, nth uint64) (n Node, count uint64, err error) {
	ops := map[uint32]uint16{} // piece → the instruction's first op
	for _, p := range x.pieces {
		for op := range p.insts {
			if p.Code != nil && p.PC(uint16(op)) == pc {
				ops[p.ID] = uint16(op)
				break
			}
		}
	}
	if len(ops) == 0 {
		return 0, 0, nil
	}
	var g segment
	for i := range x.segments() {
		if i&1023 == 0 && ctx.Err() != nil {
			return 0, count, ctx.Err()
		}
		if err := x.decode(i, &g); err != nil {
			return 0, count, err
		}
		for k := range g.steps {
			op, ok := ops[g.steps[k].id()]
			if !ok {
				continue
			}
			count++
			n = node(g.first+StepID(k), op)
			if count == nth {
				return n, count, nil
			}
		}
	}
	if nth != 0 {
		n = 0
	}
	return n, count, nil
}

// Defined returns the ops that defined units of registers as they were before the
// instruction of a node; and the units that nothing in the recording defined.
func (x *Index) Defined(n Node, units Regs) (defs Criteria, before Regs, err error) {
	a, err := x.At(n)
	if err != nil {
		return nil, units, err
	}
	have := map[Node]bool{}
	err = x.backwards(n.Step(), func(s StepID, p *Piece, in uint32) bool {
		if in != a.Thread {
			return true
		}
		if p.Code == nil {
			if p.Cause.Kind == Gap {
				defs, units = append(defs, node(s, 0)), Regs{}
			}
			return !units.Empty()
		}
		end := len(p.ops)
		if s == n.Step() {
			end = int(n.Op())
		}
		for op := end - 1; op >= 0; op-- {
			w := p.op(uint16(op)).Write
			if !w.Meets(&units) {
				continue
			}
			units.AndNot(&w)
			if def := node(s, uint16(op)); !have[def] {
				have[def] = true
				defs = append(defs, def)
			}
		}
		return !units.Empty()
	})
	return defs, units, err
}

// Through returns the units of registers in which an op uses what another one defined.
func (x *Index) Through(use, def Node) (units Regs, err error) {
	a, err := x.At(use)
	if err != nil {
		return units, err
	}
	p := a.Piece
	if use.Step() == def.Step() {
		return p.through(use.Op(), def.Op()), nil
	}
	g := &x.met
	for _, u := range p.ops[use.Op()].groups {
		for i := range uint8(4) {
			if u.mask&(1<<i) == 0 {
				continue
			}
			g.each(g.ref(int(use.Step()-g.first), int(u.group)), 1<<i, func(n Node) {
				if n == def {
					units.Add(p.groups[u.group].quad<<2 | i)
				}
			})
		}
	}
	return units, nil
}

// through is Through for ops of a piece: what the later one reads, and the earlier one was
// the last to write. The parts of an instruction read what was there before it.
func (p *Piece) through(use, def uint16) (units Regs) {
	if p.Code == nil || def >= use || p.insts[def] == p.insts[use] {
		return units
	}
	units = p.op(use).Read
	for op := use - 1; op > def; op-- {
		if p.insts[op] != p.insts[use] {
			w := p.op(op).Write
			units.AndNot(&w)
		}
	}
	w := p.op(def).Write
	for k := range units {
		units[k] &= w[k]
	}
	return units
}

// op is the op of code that an op of the piece is.
func (p *Piece) op(op uint16) *Op {
	in := p.insts[op]
	first := op
	for first > 0 && p.insts[first-1] == in {
		first--
	}
	return &p.Code.Insts[in].Ops[op-first]
}

// Callers calls yield with the addresses of the calls in which a step is executed,
// the innermost first, until it says no: as far as at most so many steps back.
func (x *Index) Callers(n Node, most int, yield func(pc uint64) bool) error {
	a, err := x.At(n)
	if err != nil {
		return err
	}
	depth := 0
	return x.backwards(n.Step()-1, func(_ StepID, p *Piece, in uint32) bool {
		if most--; most < 0 {
			return false
		}
		switch {
		case in != a.Thread, p.Code == nil:
		case p.end == cfg.Return:
			depth++
		case p.end == cfg.Call && depth > 0:
			depth--
		case p.end == cfg.Call:
			return yield(p.endPC)
		}
		return true
	})
}
