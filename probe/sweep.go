package probe

import (
	"iter"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"mgtrace/objfile"
	"mgtrace/parallel"
	"mgtrace/x86"
)

// sweep is the machine code of one image, decoded once from end to end.
type sweep struct {
	file    *objfile.File
	ranges  []coderange      // sorted, disjoint
	starts  bitset           // instructions begin here
	targets bitset           // direct branches, calls and jump tables lead here
	called  map[uint64]bool  // direct calls lead here; made by body
	flows   map[uint64]*flow // of functions that were asked about, by address
	// restartable is where no store can be captured.
	restartable []objfile.Restartable
	findings
}

// findings is what decoding collects.
type findings struct {
	stores   []candidate // by address
	edges    []edge      // direct branches and calls
	unwanted int         // stores that are left out by what they are
}

// coderange is a piece of code without gaps: a function or its unlikely part.
type coderange struct {
	lo, hi   uint64
	frame    bool // sets rbp to the stack pointer
	rbpOther bool // writes rbp in another way, pop and leave apart
	indirect bool // has an indirect jump
	bad      bool // holds something that is not an instruction, or is entered within one
}

// candidate is an instruction that writes memory, or may.
type candidate struct {
	addr   uint64
	effect x86.Effect // EffectStore or EffectUnknown
	home   int32      // index in ranges
	store  x86.Store
}

// edge is a direct branch or call.
type edge struct {
	from, to uint64
	home     int32
	call     bool
}

// bitset has one bit per byte of [base, base+len).
type bitset struct {
	base uint64
	bits []uint64
}

func newBitset(lo, hi uint64) bitset { return bitset{lo, make([]uint64, (hi-lo+63)/64)} }

func (b *bitset) set(addr uint64) {
	if i := addr - b.base; i>>6 < uint64(len(b.bits)) {
		b.bits[i>>6] |= 1 << (i & 63)
	}
}

func (b *bitset) has(addr uint64) bool {
	i := addr - b.base
	return i>>6 < uint64(len(b.bits)) && b.bits[i>>6]>>(i&63)&1 != 0
}

// all goes through the members in order.
func (b *bitset) all() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i, w := range b.bits {
			for ; w != 0; w &= w - 1 {
				if !yield(b.base + uint64(i*64+bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// join adds the members of a set that begins at this one's base, or a multiple of 64
// behind it, and that it has room for.
func (b *bitset) join(o *bitset) {
	at := b.bits[(o.base-b.base)>>6:]
	for i, w := range o.bits {
		at[i] |= w
	}
}

// pieceBytes is how much code is decoded in one go, about.
const pieceBytes = 256 << 10

// newSweep decodes all code of a file. wanted says which stores are kept; it is called
// by several goroutines.
func newSweep(f *objfile.File, wanted func(addr uint64, in *x86.Inst) bool) *sweep {
	s := &sweep{file: f, restartable: f.Restartable()}
	ranges, _ := f.CodeRanges()
	if len(ranges) == 0 {
		return s
	}
	lo, hi := ranges[0][0], ranges[len(ranges)-1][1]
	s.starts, s.targets = newBitset(lo, hi), newBitset(lo, hi)
	s.ranges = make([]coderange, len(ranges))
	for i, r := range ranges {
		s.ranges[i] = coderange{lo: r[0], hi: r[1]}
	}
	cuts := parallel.Cut(len(ranges), pieceBytes, func(i int) int { return int(s.ranges[i].hi - s.ranges[i].lo) })
	pieces := make([]*piece, len(cuts)-1)
	var rooms sync.Pool // *findings, to collect in
	parallel.Do(len(pieces), func(k int) {
		room, _ := rooms.Get().(*findings)
		if room == nil {
			room = new(findings)
		}
		pieces[k] = s.piece(cuts[k], cuts[k+1], room, wanted)
		rooms.Put(room)
	})
	s.join(pieces)
	s.checkBoundaries()
	return s
}

// piece is a part of a sweep.
type piece struct {
	starts bitset
	in     x86.Inst // at work: one for all, since wanted gets a pointer
	findings
}

// piece decodes the ranges from, … to-1. What it finds grows in a room that other pieces
// have used: most of the memory of a plan was arrays that had become too small.
func (s *sweep) piece(from, to int, room *findings, wanted func(uint64, *x86.Inst) bool) *piece {
	base := s.starts.base
	p := &piece{starts: newBitset(base+(s.ranges[from].lo-base)&^63, s.ranges[to-1].hi)}
	p.stores, p.edges = room.stores[:0], room.edges[:0]
	for i := from; i < to; i++ {
		s.decode(p, int32(i), wanted)
	}
	room.stores, room.edges = p.stores, p.edges
	p.stores, p.edges = slices.Clone(p.stores), slices.Clone(p.edges)
	return p
}

// join takes what all pieces found, in their order.
func (s *sweep) join(pieces []*piece) {
	stores, edges := 0, 0
	for _, p := range pieces {
		stores, edges = stores+len(p.stores), edges+len(p.edges)
	}
	s.stores, s.edges = make([]candidate, 0, stores), make([]edge, 0, edges)
	for _, p := range pieces {
		s.starts.join(&p.starts)
		s.stores, s.edges = append(s.stores, p.stores...), append(s.edges, p.edges...)
		s.unwanted += p.unwanted
	}
	for i := range s.edges {
		s.targets.set(s.edges[i].to)
	}
}

// decode sweeps one range. After a byte that begins no instruction it goes on
// with the next: such a range is examined more closely by checkBoundaries.
func (s *sweep) decode(p *piece, home int32, wanted func(uint64, *x86.Inst) bool) {
	r := &s.ranges[home]
	code := s.file.Code(r.lo, int(r.hi-r.lo))
	in := &p.in
	for pc := r.lo; pc-r.lo < uint64(len(code)); {
		var err error
		if *in, err = x86.Decode(code[pc-r.lo:], pc); err != nil {
			r.bad = true
			pc++
			continue
		}
		p.starts.set(pc)
		r.note(in)
		if in.Direct {
			p.edges = append(p.edges, edge{from: pc, to: in.Target, home: home, call: in.Kind == x86.KindCall})
		}
		switch {
		case in.Effect != x86.EffectStore && in.Effect != x86.EffectUnknown:
		case wanted(pc, in):
			p.stores = append(p.stores, candidate{pc, in.Effect, home, in.Store})
		default:
			p.unwanted++
		}
		pc += uint64(in.Len)
	}
}

// note collects what decides whether rbp is the frame pointer, and whether
// jump tables matter.
func (r *coderange) note(in *x86.Inst) {
	switch {
	case in.Kind == x86.KindJmp && !in.Direct:
		r.indirect = true
	case in.IsMove(x86.RBP, x86.RSP):
		r.frame = true
	case in.MayWrite(x86.RBP) && !in.RestoresFrame():
		if op, ok := in.Operand(); ok && op.Base == x86.RSP && op.Index == x86.NoReg {
			if dst, lea := in.IsLea(); lea && dst == x86.RBP {
				r.frame = true // lea rbp, [rsp+n]
				return
			}
		}
		r.rbpOther = true
	}
}

// home returns the index of the range that holds addr, or -1.
func (s *sweep) home(addr uint64) int {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].hi > addr })
	if i == len(s.ranges) || addr < s.ranges[i].lo {
		return -1
	}
	return i
}

// inst decodes the instruction at addr if one begins there.
func (s *sweep) inst(addr uint64) (x86.Inst, bool) {
	if !s.starts.has(addr) {
		return x86.Inst{}, false
	}
	in, err := x86.Decode(s.file.Code(addr, x86.MaxLen), addr)
	return in, err == nil
}

// checkBoundaries makes sure that no site lies inside an instruction. All
// direct branches must lead to instructions that the sweep found. A range where
// one does not, or that holds undecodable bytes, is decoded again along the
// paths of execution, from its start and from wherever branches enter it: only
// what is reached that way is taken for code.
//
// A branch may lead behind a LOCK prefix: the same instruction without it.
func (s *sweep) checkBoundaries() {
	for _, e := range s.edges {
		if s.starts.has(e.to) || s.locked(e.to-1) {
			continue
		}
		if i := s.home(e.to); i >= 0 {
			s.ranges[i].bad = true
			s.ranges[e.home].bad = true
		}
	}
	entries := map[int][]uint64{}
	for _, e := range s.edges {
		if i := s.home(e.to); i >= 0 && s.ranges[i].bad && !s.ranges[e.home].bad {
			entries[i] = append(entries[i], e.to)
		}
	}
	for i := range s.ranges {
		if s.ranges[i].bad {
			s.follow(i, append(entries[i], s.ranges[i].lo))
		}
	}
}

// locked says whether a LOCK prefix opens an instruction at addr.
func (s *sweep) locked(addr uint64) bool {
	in, ok := s.inst(addr)
	return ok && in.Effect == x86.EffectStore && in.Store.Lock
}

// follow replaces the instruction starts of a range by those that execution
// reaches from the entries.
func (s *sweep) follow(home int, work []uint64) {
	r := &s.ranges[home]
	reached := newBitset(r.lo, r.hi)
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		for pc >= r.lo && pc < r.hi && !reached.has(pc) {
			in, err := x86.Decode(s.file.Code(pc, min(x86.MaxLen, int(r.hi-pc))), pc)
			if err != nil {
				break
			}
			reached.set(pc)
			if in.Direct && in.Kind != x86.KindCall {
				work = append(work, in.Target)
			}
			if in.Kind == x86.KindRet || in.Kind == x86.KindJmp || in.Kind == x86.KindStop {
				break
			}
			pc += uint64(in.Len)
		}
	}
	s.agree(r, &reached)
}

// agree keeps the starts of a range that both ways of decoding found, and in
// which no other instruction begins.
func (s *sweep) agree(r *coderange, reached *bitset) {
	for pc := r.lo; pc < r.hi; pc++ {
		if !s.starts.has(pc) {
			continue
		}
		in, err := x86.Decode(s.file.Code(pc, x86.MaxLen), pc)
		certain := err == nil && reached.has(pc)
		for i := 1; certain && i < in.Len; i++ {
			certain = !reached.has(pc+uint64(i)) || i == 1 && s.locked(pc)
		}
		if !certain {
			s.starts.clear(pc)
		}
	}
}

func (b *bitset) clear(addr uint64) {
	if i := addr - b.base; i>>6 < uint64(len(b.bits)) {
		b.bits[i>>6] &^= 1 << (i & 63)
	}
}
