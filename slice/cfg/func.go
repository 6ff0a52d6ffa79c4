package cfg

import (
	"cmp"
	"slices"
)

// Kind says where control goes after an instruction.
type Kind uint8

// The kinds.
const (
	Next     Kind = iota // to the next instruction
	Jump                 // to Target
	Cond                 // to Target or to the next instruction
	Indirect             // to where a register or memory says: a jump table, or a tail call
	Link                 // through a slot that the dynamic linker fills (jmp [rip+…] of the PLT): to one place, no choice of the program
	Call                 // to a function, and from there to the next instruction
	Return               // to the caller
	Stop                 // nowhere: ud2, hlt, or a call of a function that does not return
)

// Inst is what the graph needs to know of an instruction.
type Inst struct {
	Len    uint8
	Kind   Kind
	Target uint64 // of Jump and Cond
}

// Code is the program as it lies in memory.
type Code interface {
	// At returns the instruction at an address; false if its bytes are not known.
	At(pc uint64) (Inst, bool)
	// Targets returns where the indirect jump at pc may go, and whether that is
	// all: what was seen in a run is not.
	Targets(pc uint64) (targets []uint64, all bool)
	// Entry says that a function begins at the address: a jump there is a tail call.
	Entry(pc uint64) bool
}

// Exit is the join of branches whose ways meet only after the function's end.
const Exit uint64 = 0

// Func is the control-flow graph of a function, as far as slicing needs it.
type Func struct {
	Entry uint64
	Tails []uint64 // functions that it jumps to, by direct jumps

	// What the graph may miss.
	Unknown int // addresses whose instructions are not known: taken as ways to the exit
	Partial int // indirect jumps of which more targets than were seen are possible: so too
	Endless int // loops without a way out: taken as if there were one

	joins  map[uint64]uint64 // branch instruction → join
	blocks []span            // ascending, disjoint
}

type span struct{ lo, hi uint64 } // [lo, hi)

// Join returns where the ways that part at the branch instruction at pc have met
// again: [Exit] if they do not within the function; false if no ways part there.
func (f *Func) Join(pc uint64) (uint64, bool) {
	j, ok := f.joins[pc]
	return j, ok
}

// Joins calls yield with every join but Exit.
func (f *Func) Joins(yield func(uint64)) {
	for _, j := range f.joins {
		if j != Exit {
			yield(j)
		}
	}
}

// Contains says that the instruction at pc is the function's.
func (f *Func) Contains(pc uint64) bool { return contains(f.blocks, pc) }

// contains says that an address is in one of the spans, which ascend.
func contains(spans []span, pc uint64) bool {
	i, exact := slices.BinarySearchFunc(spans, pc, func(s span, pc uint64) int { return cmp.Compare(s.lo, pc) })
	return exact || i > 0 && pc < spans[i-1].hi
}

func before(x, y span) int { return cmp.Compare(x.lo, y.lo) }

// maxInsts bounds a function. What lies beyond is unknown code.
const maxInsts = 1 << 18

// builder explores a function.
type builder struct {
	code  Code
	f     *Func
	insts map[uint64]Inst
	leads map[uint64]bool // addresses at which a basic block begins
	work  []uint64
}

// Build explores the function at entry.
//
//  1. Follow all ways from the entry, instruction by instruction; note where
//     basic blocks begin.
//  2. Cut into basic blocks, with their successors.
//  3. Immediate post-dominators give each branch its join.
func Build(entry uint64, code Code) *Func {
	b, g := explore(entry, code)
	b.f.Endless = g.postDominate()
	for i := range g.blocks {
		k := &g.blocks[i]
		if kind := b.insts[k.last].Kind; len(k.succ) > 1 && (kind == Cond || kind == Indirect) {
			join := Exit
			if d := g.ipdom[i]; d != g.exit() {
				join = g.blocks[d].lo
			}
			b.f.joins[k.last] = join
		}
	}
	slices.SortFunc(b.f.blocks, before)
	slices.Sort(b.f.Tails)
	b.f.Tails = slices.Compact(b.f.Tails)
	return b.f
}

// explore finds a function's basic blocks; b.f.blocks has where each block of the graph lies.
func explore(entry uint64, code Code) (*builder, *graph) {
	b := &builder{code: code, f: &Func{Entry: entry, joins: map[uint64]uint64{}}, insts: map[uint64]Inst{}, leads: map[uint64]bool{}}
	b.lead(entry)
	for len(b.work) > 0 {
		pc := b.work[len(b.work)-1]
		b.work = b.work[:len(b.work)-1]
		b.follow(pc)
	}
	return b, b.graph()
}

func (b *builder) lead(pc uint64) {
	if !b.leads[pc] {
		b.leads[pc] = true
		b.work = append(b.work, pc)
	}
}

// follow goes on from pc to the end of the straight line.
func (b *builder) follow(pc uint64) {
	for {
		if _, known := b.insts[pc]; known {
			return
		}
		in, ok := b.code.At(pc)
		if !ok || len(b.insts) == maxInsts || in.Len == 0 {
			return
		}
		b.insts[pc] = in
		next := pc + uint64(in.Len)
		b.successors(pc, in, func(to uint64) {
			if in.Kind != Next && in.Kind != Call || to != next {
				b.lead(to)
			}
		})
		if in.Kind != Next && in.Kind != Call || b.foreign(next) {
			return
		}
		pc = next
	}
}

// foreign says that another function begins at pc.
func (b *builder) foreign(pc uint64) bool { return pc != b.f.Entry && b.code.Entry(pc) }

// successors calls yield with the addresses in the function to which control may
// go from an instruction, and says whether it may leave the function too.
func (b *builder) successors(pc uint64, in Inst, yield func(uint64)) (leaves bool) {
	to := func(a uint64) {
		if b.foreign(a) {
			leaves = true
			return
		}
		yield(a)
	}
	next := pc + uint64(in.Len)
	switch in.Kind {
	case Next, Call:
		to(next)
	case Jump:
		to(in.Target)
	case Cond:
		to(next)
		to(in.Target)
	case Indirect, Link:
		targets, all := b.code.Targets(pc)
		for _, t := range targets {
			to(t)
		}
		return leaves || in.Kind == Link || !all
	default:
		return true
	}
	return leaves
}

// graph cuts what was explored into basic blocks.
func (b *builder) graph() *graph {
	g := &graph{at: map[uint64]int{}}
	starts := make([]uint64, 0, len(b.leads))
	for pc := range b.leads {
		if _, ok := b.insts[pc]; ok {
			starts = append(starts, pc)
		}
	}
	slices.Sort(starts)
	for i, pc := range starts {
		g.at[pc] = i
		g.blocks = append(g.blocks, block{lo: pc})
	}
	for i := range g.blocks {
		b.fill(g, &g.blocks[i])
	}
	return g
}

// fill finds the end and the successors of a block.
func (b *builder) fill(g *graph, k *block) {
	leaves := false
	for pc := k.lo; ; {
		in := b.insts[pc]
		k.last = pc
		next := pc + uint64(in.Len)
		if in.Kind == Next || in.Kind == Call {
			if _, ok := b.insts[next]; ok && !b.leads[next] && !b.foreign(next) {
				pc = next
				continue
			}
		}
		b.f.blocks = append(b.f.blocks, span{k.lo, next})
		if in.Kind == Jump && b.foreign(in.Target) {
			b.f.Tails = append(b.f.Tails, in.Target)
		}
		if in.Kind == Cond && b.foreign(in.Target) {
			b.f.Tails = append(b.f.Tails, in.Target)
		}
		leaves = b.successors(pc, in, func(to uint64) {
			t, ok := g.at[to]
			if !ok {
				b.f.Unknown++
				t = -1
			}
			k.to(t)
		})
		if in.Kind == Indirect && leaves {
			b.f.Partial++
		}
		break
	}
	if leaves {
		k.to(-1)
	}
}
