package flow

// The prediction that writer and reader make alike: which block a thread executes
// next, and which address an access has. Each chunk begins without knowledge. What
// is predicted costs a symbol 0, and runs of those next to nothing.
//
// A block: the successor of the last two blocks of the thread, else the last
// successor of the last one.
//
// An address, per thread and static access, one of
//
//	stride   the last address of this access plus what lay between its last two
//	near     the thread's last access of the same kind (stack or other) plus what
//	         lay between them last time: fields of one object, pushes and pops
//	after    what followed the last address of this access when it was this one
//	         before: structures that are walked again and again
//
// and the one that was right last is asked first, which symbol 0 stands for.

const (
	pairBits  = 13 // of the table of successors of two blocks
	afterBits = 14 // of the table of what followed
)

// The predictors.
const (
	byStride = iota
	byNear
	byAfter
	predictors
)

// Symbols of executions.
const (
	symPair   = iota // the successor of the last two blocks
	symNext          // the last successor of the last block
	symBlock         // its number as a difference follows
	symPart          // a part of a block: number, From, N follow
	symThread        // another thread's turn: its place in the chunk's list follows
	symOther         // a record of another kind
	numSyms
)

// Symbols of addresses: 0, 1, 2: the predictors, beginning with the one that was
// right last.
const (
	symLast = predictors     // the difference from the access's last address follows
	symNear = predictors + 1 // that from the reference follows
)

// model is the state of the prediction in a chunk.
type model struct {
	generation uint32
	states     []*state // by thread's place in the chunk, modulo maxStates
}

// state is what is known of a thread.
type state struct {
	generation uint32
	prev       BlockID
	pair       uint32 // hash of the last two blocks
	pairs      [1 << pairBits]BlockID
	next       []successor // by block
	refs       [2]uint64   // last address: of other accesses, of those of the stack
	slots      []slot      // by static access
	after      [1 << afterBits]uint64
}

type successor struct {
	generation uint32
	block      BlockID
}

// slot is what is known of a static access.
type slot struct {
	last       uint64
	stride     uint64
	off        uint64 // from the reference
	generation uint32
	right      uint8 // predictor that was right last
}

// begin forgets everything.
func (m *model) begin() { m.generation++ }

// state of the thread with that place in the chunk.
func (m *model) state(place int) *state {
	place %= maxStates
	for len(m.states) <= place {
		m.states = append(m.states, new(state))
	}
	s := m.states[place]
	if s.generation != m.generation {
		s.generation = m.generation
		s.prev, s.pair = 0, 0
		clear(s.pairs[:])
		clear(s.after[:])
		s.refs = [2]uint64{}
	}
	return s
}

// successors returns the predictions for the next block.
func (s *state) successors() (pair, next BlockID) {
	if int(s.prev) < len(s.next) {
		if n := &s.next[s.prev]; n.generation == s.generation {
			next = n.block
		}
	}
	return s.pairs[s.pair], next
}

// executed tells which block it was.
func (s *state) executed(b BlockID) {
	s.pairs[s.pair] = b
	for int(s.prev) >= len(s.next) {
		s.next = append(s.next, make([]successor, len(s.next)+256)...)
	}
	s.next[s.prev] = successor{s.generation, b}
	s.pair = uint32(uint64(s.prev)*0x9e3779b97f4a7c15>>40^uint64(b)*0xc2b2ae3d27d4eb4f>>(64-pairBits)) & (1<<pairBits - 1)
	s.prev = b
}

// grow makes room for static accesses up to n.
func (s *state) grow(n int) {
	if n > len(s.slots) {
		s.slots = append(s.slots, make([]slot, n+n/2-len(s.slots))...)
	}
}

// guess is what is predicted of an address.
type guess struct {
	s     *state
	slot  *slot
	ref   *uint64
	after *uint64
	by    [predictors]uint64
}

func (g *guess) make(s *state, access int, flags AccessFlags) {
	g.s, g.slot, g.ref = s, &s.slots[access], &s.refs[flags&Stack/Stack]
	if g.slot.generation != s.generation {
		*g.slot = slot{generation: s.generation, last: *g.ref, right: byNear}
	}
	l := g.slot.last
	g.after = s.followed(access, l)
	g.by = [predictors]uint64{l + g.slot.stride, *g.ref + g.slot.off, *g.after}
}

// symbol returns the symbol for an address, and the difference that follows it if
// the symbol is symLast or symNear.
func (g *guess) symbol(addr uint64) (sym uint8, diff uint64) {
	r := g.slot.right
	for i := range uint8(predictors) {
		if g.by[r] == addr {
			return i, 0
		}
		if r++; r == predictors {
			r = 0
		}
	}
	last, near := zigzag(addr-g.slot.last), zigzag(addr-*g.ref)
	if near < last {
		return symNear, near
	}
	return symLast, last
}

// tell says how an address of a static access is told, and that it was that: what make,
// symbol and touched do, without looking at what is not asked for if the first predictor
// is right.
func (s *state) tell(access int, flags AccessFlags, addr uint64) (sym uint8, diff uint64) {
	t, ref := &s.slots[access], &s.refs[flags&Stack/Stack]
	if t.generation != s.generation {
		*t = slot{generation: s.generation, last: *ref, right: byNear}
	}
	after := s.followed(access, t.last)
	right := false
	switch t.right {
	case byStride:
		right = t.last+t.stride == addr
	case byNear:
		right = *ref+t.off == addr
	default:
		right = *after == addr
	}
	if !right {
		var g guess
		g.make(s, access, flags)
		sym, diff = g.symbol(addr)
		g.touched(addr, sym)
		return sym, diff
	}
	*after = addr
	t.stride, t.off, t.last, *ref = addr-t.last, addr-*ref, addr, addr
	return 0, 0
}

// followed is where it is kept what followed the address last of an access.
func (s *state) followed(access int, last uint64) *uint64 {
	return &s.after[(uint64(access)*0x9e3779b97f4a7c15^last*0xc2b2ae3d27d4eb4f)>>(64-afterBits)]
}

// addr is the inverse of symbol.
func (g *guess) addr(sym uint8, diff uint64) uint64 {
	switch sym {
	case symLast:
		return g.slot.last + unzigzag(diff)
	case symNear:
		return *g.ref + unzigzag(diff)
	}
	return g.by[(g.slot.right+sym)%predictors]
}

// touched tells which address it was.
func (g *guess) touched(addr uint64, sym uint8) {
	if sym < predictors {
		g.slot.right = (g.slot.right + sym) % predictors
	}
	*g.after = addr
	g.slot.stride = addr - g.slot.last
	g.slot.off = addr - *g.ref
	g.slot.last = addr
	*g.ref = addr
}
