package slice

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"mgtrace/slice/cfg"
)

// At describes an executed op: the op of its piece, thread and the instant of its
// instruction.
type At struct {
	Piece   *Piece
	Op      uint16
	Thread  uint32
	Instant uint64
}

// PC is the address of the instruction; 0 for a cause.
func (a At) PC() uint64 { return a.Piece.PC(a.Op) }

func (g *segment) at(k int, op uint16) At {
	when := g.moment(k)
	part, op := g.shape(k).of(op)
	a := At{part.piece, op, when.thread, when.instant + uint64(part.insts)}
	if p := a.Piece; p.Code != nil {
		a.Instant += uint64(p.insts[op] - p.From)
	}
	return a
}

// meet returns the segment of a node and the number of its step there, until the next one
// is asked for.
func (x *Index) meet(n Node) (g *segment, k int, err error) {
	if n == 0 || n.Step() > x.Steps {
		return nil, 0, ErrIndex
	}
	g = &x.met
	if i := segmentOf(n.Step()); len(g.steps) == 0 || segmentOf(g.first) != i {
		if err := x.decode(i, g); err != nil {
			g.steps = nil
			return nil, 0, err
		}
	}
	k = int(n.Step() - g.first)
	if int(n.Op()) >= len(g.shape(k).ops) {
		return nil, 0, ErrIndex
	}
	return g, k, nil
}

// At looks up a node.
func (x *Index) At(n Node) (At, error) {
	g, k, err := x.meet(n)
	if err != nil {
		return At{}, err
	}
	return g.at(k, n.Op()), nil
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
			begins := g.moment(k).instant
			if instant < begins || instant >= begins+uint64(g.x.sizes[g.steps[k].id()-1].insts) {
				continue
			}
			for op := range g.shape(k).ops {
				if g.at(k, uint16(op)).Instant == instant {
					return node(g.first+StepID(k), uint16(op)), nil
				}
			}
		}
		if x.instant(i) < instant {
			break
		}
	}
	return 0, fmt.Errorf("no instruction of the recording has the instant %d; the last one's is %d", instant, x.End-min(x.End, 1))
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
	for op := a.Op; int(op) < len(p.insts) && p.insts[op] == p.insts[a.Op]; op++ {
		if slices.Contains(p.writers, op) {
			out = append(out, first+Node(op-a.Op))
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

// backwards calls yield with the executed pieces of all threads, by their first ops, from that
// of an op back to the first, until it says no.
func (x *Index) backwards(from Node, yield func(first Node, p *Piece, thread uint32) bool) error {
	var g segment
	for i := segmentOf(from.Step()); from.Step() > 0 && i >= 0; i-- {
		if err := x.decode(i, &g); err != nil {
			return err
		}
		for k := len(g.steps) - 1; k >= 0; k-- {
			parts := g.shape(k).parts
			for j := len(parts) - 1; j >= 0; j-- {
				p := &parts[j]
				if first := node(g.first+StepID(k), p.first); first <= from && !yield(first, p.piece, g.moment(k).thread) {
					return nil
				}
			}
		}
	}
	return nil
}

// Fault returns the last fault of a thread that executed nothing after it; 0: there
// is none, or what the thread executed before it is missing.
func (x *Index) Fault() (Node, error) { return x.fault(true) }

// LastFault is Fault also of a thread that goes on, in a handler.
func (x *Index) LastFault() (Node, error) { return x.fault(false) }

func (x *Index) fault(ends bool) (found Node, err error) {
	after := map[uint32]bool{} // threads
	var thread uint32
	err = x.backwards(node(x.Steps, maxStepOps-1), func(first Node, p *Piece, in uint32) bool {
		cause := p.Code == nil
		switch {
		case found != 0 && cause && p.Cause.Kind == Gap && (in == 0 || in == thread):
			found = 0
			return false
		case found != 0 && in == thread:
			return false
		case found == 0 && cause && p.Cause.Kind == Fault && !(ends && after[in]):
			found, thread = first, in
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
	met, k, err := x.meet(n)
	if err != nil {
		return 0, err
	}
	part, _ := met.shape(k).of(n.Op())
	control := met.control(k, part)
	if control == 0 {
		return 0, nil
	}
	branch, err := x.At(control)
	if err != nil || branch.Piece.Code == nil {
		return 0, err
	}
	pc := branch.PC()
	from, err := x.At(near)
	if err != nil {
		return 0, err
	}
	var g segment
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
			if g.moment(k).thread != from.Thread {
				continue
			}
			for _, part := range g.shape(k).parts {
				p := part.piece
				if p.Code == nil || p.PC(p.control) != pc {
					continue
				}
				op := part.first + p.control
				at := g.at(k, op).Instant
				if away := max(at, from.Instant) - min(at, from.Instant); away < least {
					found, least = node(g.first+StepID(k), op), away
				}
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
	in := map[*Piece]uint16{} // the instruction's first op
	for _, p := range x.pieces {
		for op := range p.insts {
			if p.Code != nil && p.PC(uint16(op)) == pc {
				in[p] = uint16(op)
				break
			}
		}
	}
	if len(in) == 0 {
		return 0, 0, nil
	}
	ops := make([][]uint16, len(x.shapes)) // by shape
	for i := range x.shapes {
		for _, part := range x.shape(uint32(i + 1)).parts {
			if op, ok := in[part.piece]; ok {
				ops[i] = append(ops[i], part.first+op)
			}
		}
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
			for _, op := range ops[g.steps[k].id()-1] {
				count++
				n = node(g.first+StepID(k), op)
				if count == nth {
					return n, count, nil
				}
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
	err = x.backwards(n, func(first Node, p *Piece, in uint32) bool {
		if in != a.Thread {
			return true
		}
		if p.Code == nil {
			if p.Cause.Kind == Gap {
				defs, units = append(defs, first), Regs{}
			}
			return !units.Empty()
		}
		end := len(p.ops)
		if n-first < Node(end) {
			end = int(n - first)
		}
		for op := end - 1; op >= 0; op-- {
			w := p.op(uint16(op)).Write
			if !w.Meets(&units) {
				continue
			}
			units.AndNot(&w)
			if def := first + Node(op); !have[def] {
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
	g, k, err := x.meet(use)
	if err != nil {
		return units, err
	}
	part, op := g.shape(k).of(use.Op())
	p := part.piece
	if first := use - Node(op); def >= first && def < use {
		return p.through(op, uint16(def-first)), nil
	}
	for _, u := range p.ops[op].groups {
		for i := range uint8(4) {
			if u.mask&(1<<i) == 0 {
				continue
			}
			g.origin(k, part.uses[u.group], 1<<i, func(n Node) {
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
	return x.backwards(n-Node(a.Op)-1, func(_ Node, p *Piece, in uint32) bool {
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
