package mgpp

import "mgtrace/trace"

// The operations, one column per field. What an operation shares with others
// of the same instruction is one site (sites.go); what is its own is 12 bytes:
// site, word, value. The column of links (versions.go) takes 4 more. All are written
// once, from the front.
//
//	kind, shape          word             low 3 bits of site   value
//	store ≤ 8 bytes      word number      byte in the word     the low 4 bytes; site.high has the rest
//	store ≤ 64 bytes     word number      byte in the word     index in words
//	zeros ≤ 4,096 bytes  word number      byte in the word     –
//	other write          index in wides   –                    –
//	birth, resize        node             –                    –
//	death                node             –                    –
//	move                 new node         –                    index in moves
//	enter, leave         node or 0        –                    index in wides

type shape uint8

const (
	shapeNone   shape = iota // no bytes
	shapeInline              // up to 8 bytes, in the value column and the site
	shapeWords               // up to maxWords bytes, all known, in ops.words
	shapeZeros               // up to len(zeros) bytes, all 0, as of most memory that is cleared
	shapeWide                // a wide
	shapeMove
)

const (
	maxInline = 8
	maxWords  = 64 // bytes

	chunkOps = 1 << 12
	lowBits  = 3
	maxSites = 1 << (32 - lowBits)
)

// wide describes a write that does not fit the columns, or a membership.
type wide struct {
	addr, size uint64
	data       arenaRef
	known      uint64 // bytes at data: the rest of size is unknown
	mark       int
	fill       bool // all of size is the one byte at data, and known
}

const wideBytes = 48

// move is what a realloc carried over. The history still has it where it was, in the old
// node as it was just before its death.
type move struct {
	old  NodeID
	size uint64
	// behind is how many moves one looks through for the bytes, this one included; 0: runs
	// tell where they are.
	behind uint8
	runs   []run // ascending; the first is at 0
}

const maxBehind = 8

// run says when, and in which node, the bytes of a moved block from an offset to the next run
// were stored: at the same offset, which no move changes. Origin 0: at the beginning; unknown:
// never, or unreadable.
type run struct {
	lo, hi uint32 // of the offset; four of 32 bits take 16 bytes, not 24
	stored uint32 // origin, and runKnown
	node   NodeID // 0: it does not matter
}

const (
	runBytes = 16
	runKnown = 1 << 31 // no time is as late
)

func newRun(off uint64, origin uint32, known bool, node NodeID) run {
	if known {
		origin |= runKnown
	}
	return run{uint32(off), uint32(off >> 32), origin, node}
}

func (r run) off() uint64    { return uint64(r.hi)<<32 | uint64(r.lo) }
func (r run) origin() uint32 { return r.stored &^ runKnown }
func (r run) known() bool    { return r.stored&runKnown != 0 }

type ops struct {
	sites
	columns struct{ site, word, value column } // by time
	n       uint32                             // timestamps given out
	none    bool                               // Options.NodesOnly: no operation is kept
	bases   bases
	walls   clocks
	// instants are kept once there is one; instant is that of the event that is applied.
	instants clocks
	instant  trace.Instant
	wides    slab[wide]
	moves    []move
	words    words
	arena    arena
}

func newOps(none bool) ops { return ops{sites: newSites(), none: none} }

// add appends an operation of the site with that number and returns its
// timestamp.
func (o *ops) add(site, low3, word, value uint32) uint32 {
	o.n++
	t := o.n
	if o.none {
		return t
	}
	o.columns.site.set(t, site<<lowBits|low3)
	o.columns.word.set(t, word)
	o.columns.value.set(t, value)
	return t
}

// clock records when the newest operation was.
func (o *ops) clock(t uint32, wall int64) {
	o.walls.set(t, wall)
	switch {
	case o.instant != 0:
		o.instants.set(t, int64(o.instant))
	case o.instants.chunks != nil:
		o.instants.set(t, -1)
	}
}

// addAt is add for a site that is not interned yet, with the wall clock.
func (o *ops) addAt(s *site, low3, word, value uint32, wall int64) uint32 {
	if o.none {
		o.n++
		return o.n
	}
	t := o.add(o.intern(s), low3, word, value)
	o.clock(t, wall)
	return t
}

func (o *ops) site(t uint32) *site   { return o.sites.at(o.columns.site.at(t) >> lowBits) }
func (o *ops) low3(t uint32) uint64  { return uint64(o.columns.site.at(t) & (1<<lowBits - 1)) }
func (o *ops) word(t uint32) uint32  { return o.columns.word.at(t) }
func (o *ops) value(t uint32) uint32 { return o.columns.value.at(t) }

// runAt returns the run that holds byte off of a moved block.
func (m *move) runAt(off uint64) int {
	lo, hi := 0, len(m.runs)
	for lo < hi {
		if k := (lo + hi) / 2; m.runs[k].off() <= off {
			lo = k + 1
		} else {
			hi = k
		}
	}
	return lo - 1
}

// bytes is the memory that the operations take.
func (o *ops) bytes() uint64 {
	n := o.arena.total + o.words.bytes() + o.columns.site.bytes() + o.columns.word.bytes() + o.columns.value.bytes()
	n += o.sites.bytes() + o.walls.bytes() + o.instants.bytes() + o.bases.bytes()
	n += uint64(o.wides.len()) * wideBytes
	for i := range o.moves {
		n += 48 + uint64(cap(o.moves[i].runs))*runBytes
	}
	return n
}
