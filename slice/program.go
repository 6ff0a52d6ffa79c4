package slice

import (
	"cmp"
	"slices"

	"mgtrace/slice/cfg"
)

// Program is the code that a run executed, with its control-flow graphs. It is
// what a first reading of the run finds; the second follows control with it.
type Program struct {
	source  Source
	static  cfg.Code
	funcs   map[uint64]*cfg.Func
	targets map[uint64][]uint64 // indirect jump → where it went
	entries map[uint64]bool     // functions by calls that were seen
	cuts    map[uint64]bool     // joins: pieces begin there

	pieces []*Piece   // by ID - 1
	whole  [][]*Piece // by code ID
	partly map[partKey][]*Piece
	causes map[causeKey]*Piece
	limits limits
}

// limits are how many stretches of more than one piece, and how many shapes, are made of a
// run: else both could be as many as its steps.
type limits struct{ stretches, shapes int }

type partKey struct {
	code    uint32
	from, n uint16
}

type causeKey struct {
	cause         Cause
	reads, writes Regs
}

func newProgram(s Source) *Program {
	return &Program{
		source: s, static: s.Static(), funcs: map[uint64]*cfg.Func{}, targets: map[uint64][]uint64{},
		entries: map[uint64]bool{}, cuts: map[uint64]bool{},
		partly: map[partKey][]*Piece{}, causes: map[causeKey]*Piece{},
		limits: limits{maxStretches, maxShapes},
	}
}

// NewProgram reads the run once, for where indirect jumps and calls went, and
// makes the graphs of all functions that were executed.
func NewProgram(s Source) (*Program, error) {
	p := newProgram(s)
	v := survey{p: p, last: map[uint32]*Code{}, seen: map[transfer]bool{}, starts: map[uint64]bool{}}
	if err := s.Scan(v.event); err != nil {
		return nil, err
	}
	work := make([]uint64, 0, len(p.entries)+len(v.first))
	for e := range p.entries {
		work = append(work, e)
	}
	work = append(work, v.first...)
	for len(work) > 0 {
		e := work[len(work)-1]
		work = work[:len(work)-1]
		if p.funcs[e] != nil {
			continue
		}
		f := p.function(e)
		for _, t := range f.Tails {
			if v.starts[t] {
				work = append(work, t)
			}
		}
	}
	return p, nil
}

// survey is the first reading.
type survey struct {
	p      *Program
	last   map[uint32]*Code // by thread: what it executed last
	thread uint32
	prev   *Code
	seen   map[transfer]bool
	starts map[uint64]bool
	known  []bool // by code ID: noted in starts
	first  []uint64
}

type transfer struct {
	from *Code
	to   *Code
}

func (v *survey) event(e *Event) error {
	if e.Thread != v.thread {
		v.last[v.thread] = v.prev
		v.thread, v.prev = e.Thread, v.last[e.Thread]
	}
	switch e.Kind {
	case Executed:
		v.executed(e)
	case Interrupted:
		v.p.entries[e.Handler] = true
		v.prev = nil
	case Started:
		v.prev = nil
	case Ended:
		delete(v.last, e.Thread)
		v.prev = nil
	case Lost:
		v.prev = nil
	}
	return nil
}

func (v *survey) executed(e *Event) {
	c := e.Code
	if int(c.ID) >= len(v.known) {
		v.known = append(v.known, make([]bool, int(c.ID)+1024-len(v.known))...)
	}
	if !v.known[c.ID] {
		v.known[c.ID] = true
		v.starts[c.Insts[0].PC] = true
	}
	if e.From == 0 {
		v.edge(v.prev, c)
	}
	v.prev = nil
	if int(e.From+e.N) == len(c.Insts) {
		v.prev = c
	}
}

// edge notes where an indirect jump or a call went.
func (v *survey) edge(from, to *Code) {
	pc := to.Insts[0].PC
	if from == nil {
		v.first = append(v.first, pc)
		if len(v.first) > 1<<16 {
			slices.Sort(v.first)
			v.first = slices.Compact(v.first)
		}
		return
	}
	last := &from.Insts[len(from.Insts)-1]
	if last.End != cfg.Call && last.End != cfg.Indirect && last.End != cfg.Link {
		return
	}
	k := transfer{from, to}
	if v.seen[k] {
		return
	}
	v.seen[k] = true
	if last.End == cfg.Call || last.End == cfg.Link || v.p.static.Entry(pc) {
		v.p.entries[pc] = true
		return
	}
	v.p.targets[last.PC] = append(v.p.targets[last.PC], pc)
}

// code is the program for package cfg: what lies in memory, and what was seen.
type code struct{ p *Program }

func (c code) At(pc uint64) (cfg.Inst, bool) { return c.p.static.At(pc) }

func (c code) Entry(pc uint64) bool { return c.p.entries[pc] || c.p.static.Entry(pc) }

// Targets: a jump table has targets that were not seen, and without them what is
// in the ones that were seen would not depend on the choice.
func (c code) Targets(pc uint64) ([]uint64, bool) {
	t := c.p.targets[pc]
	if all, known := c.p.static.Targets(pc); known {
		for _, a := range t {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
		return all, true
	}
	return t, false
}

// function returns the function that is entered at pc.
func (p *Program) function(pc uint64) *cfg.Func {
	f := p.funcs[pc]
	if f == nil {
		f = cfg.Build(pc, code{p})
		p.funcs[pc] = f
		f.Joins(func(j uint64) { p.cuts[j] = true })
	}
	return f
}

// Functions returns the functions that were executed, by address.
func (p *Program) Functions() []*cfg.Func {
	fs := make([]*cfg.Func, 0, len(p.funcs))
	for _, f := range p.funcs {
		fs = append(fs, f)
	}
	slices.SortFunc(fs, func(a, b *cfg.Func) int { return cmp.Compare(a.Entry, b.Entry) })
	return fs
}

// of returns the pieces of an execution.
func (p *Program) of(c *Code, from, n uint16) []*Piece {
	whole := from == 0 && int(n) == len(c.Insts)
	key := partKey{c.ID, from, n}
	if whole {
		if int(c.ID) < len(p.whole) && p.whole[c.ID] != nil {
			return p.whole[c.ID]
		}
	} else if ps := p.partly[key]; ps != nil {
		return ps
	}
	var ps []*Piece
	for at := from; at < from+n; {
		end := at + 1
		ops, reads := len(c.Insts[at].Ops), int(c.Insts[at].Accesses)
		for ; end < from+n && !p.cuts[c.Insts[end].PC]; end++ {
			ops += len(c.Insts[end].Ops)
			reads += int(c.Insts[end].Accesses)
			if ops > maxStepOps || reads > maxPieceReads {
				break
			}
		}
		ps = append(ps, p.add(c, at, end-at))
		at = end
	}
	if whole {
		if n := int(c.ID) + 1 - len(p.whole); n > 0 {
			p.whole = append(p.whole, make([][]*Piece, n)...)
		}
		p.whole[c.ID] = ps
	} else {
		p.partly[key] = ps
	}
	return ps
}

func (p *Program) add(c *Code, from, n uint16) *Piece {
	k := newPiece(uint32(len(p.pieces)+1), c, from, n)
	p.pieces = append(p.pieces, k)
	return k
}

// cause returns the piece of a cause.
func (p *Program) cause(c Cause, reads, writes Regs) *Piece {
	key := causeKey{c, reads, writes}
	k := p.causes[key]
	if k == nil {
		k = newCause(uint32(len(p.pieces)+1), c, &reads, &writes)
		p.pieces = append(p.pieces, k)
		p.causes[key] = k
	}
	return k
}

// Piece returns a piece by its ID.
func (p *Program) Piece(id uint32) *Piece { return p.pieces[id-1] }
