package mgpp

import (
	"math"

	"mgtrace/trace"
)

// The operations, one column per field. What an operation shares with others
// of the same instruction (statement, thread, width, name, distance from its
// base register) is one site; what is its own is 16 bytes: site, word, value.
//
//	kind, shape          word             low 3 bits of site   value
//	store ≤ 8 bytes      word number      byte in the word     the bytes
//	store ≤ 64 bytes     word number      byte in the word     arenaRef
//	other write          index in wides   –                    –
//	birth, resize        node             –                    size
//	death                node             –                    –
//	move                 new node         –                    index in moves
//	enter, leave         node or 0        –                    index in wides

type shape uint8

const (
	shapeNone   shape = iota // no bytes
	shapeInline              // up to 8 bytes, in the value column
	shapeArena               // up to maxArena bytes, all known, in the arena
	shapeWide                // a wide
	shapeMove
)

const (
	maxInline = 8
	maxArena  = 64

	chunkOps = 1 << 14
	noWall   = math.MinInt32

	maxSites = 1 << 29 // 3 bits of the site column are the byte in the word
)

type opChunk struct {
	site  [chunkOps]uint32
	word  [chunkOps]uint32
	value [chunkOps]uint64
	// wall holds nanoseconds since wallBase, noWall where unknown or far
	// (ops.farWalls). nil: unknown for the whole chunk.
	wall     *[chunkOps]int32
	wallBase int64
}

// site is what the executions of one statement have in common.
type site struct {
	pc     uint64
	thread trace.ThreadID
	name   uint32
	delta  int32 // Addr - Base, if base == baseDelta
	size   uint16
	flags  trace.Flags
	kind   OpKind
	shape  shape
	base   baseKind
	stray  bool // hit no live node
}

type baseKind uint8

const (
	baseNone  baseKind = iota
	baseDelta          // Addr - site.delta
	baseFar            // ops.farBases
)

// Distances within a structure make sites; those of array elements would make
// too many.
const (
	minDelta = -128
	maxDelta = 1024
)

// wide describes a write that does not fit the columns, or a membership.
type wide struct {
	addr, size uint64
	data       arenaRef
	known      uint64 // bytes at data: the rest of size is unknown
	mark       int
}

// move is what a realloc carried over.
type move struct {
	old  NodeID
	data arenaRef
	size uint64
	runs []run // ascending; the first is at 0
}

// run says when the bytes of a moved block from off to the next run were
// stored. origin 0: at the beginning; unknown: never, or unreadable.
type run struct {
	off    uint64
	origin uint32
	known  bool
}

type farBase struct {
	time uint32
	base uint64
}

type ops struct {
	chunks   []*opChunk
	n        uint32 // timestamps given out
	sites    []site
	table    []uint32 // hash table of sites: index+1, 0 empty; power of two
	names    []string
	nameOf   map[string]uint32
	farBases []farBase // ascending by time
	farWalls map[uint32]int64
	wides    slab[wide]
	moves    []move
	arena    arena
}

func newOps() ops {
	return ops{
		table:    make([]uint32, 1<<10),
		names:    []string{""},
		nameOf:   map[string]uint32{"": 0},
		farWalls: map[uint32]int64{},
	}
}

func (o *ops) name(s string) uint32 {
	if s == "" {
		return 0
	}
	if i, ok := o.nameOf[s]; ok {
		return i
	}
	i := uint32(len(o.names))
	o.names = append(o.names, s)
	o.nameOf[s] = i
	return i
}

func (s *site) hash() uint64 {
	x := s.pc*0x9e3779b97f4a7c15 ^ uint64(s.thread)<<32 ^ uint64(uint32(s.delta))
	x ^= uint64(s.name)<<40 ^ uint64(s.size)<<24 ^ uint64(s.flags)<<16 ^ uint64(s.kind)<<8 ^ uint64(s.base)
	if s.stray {
		x = ^x
	}
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// intern returns the index of the site.
func (o *ops) intern(s *site) uint32 {
	mask := uint64(len(o.table) - 1)
	for i := s.hash() & mask; ; i = (i + 1) & mask {
		k := o.table[i]
		if k == 0 {
			o.table[i] = uint32(len(o.sites)) + 1
			break
		}
		if o.sites[k-1] == *s {
			return k - 1
		}
	}
	o.sites = append(o.sites, *s)
	if 2*len(o.sites) > len(o.table) {
		o.rehash()
	}
	return uint32(len(o.sites)) - 1
}

func (o *ops) rehash() {
	o.table = make([]uint32, 2*len(o.table))
	mask := uint64(len(o.table) - 1)
	for k := range o.sites {
		i := o.sites[k].hash() & mask
		for o.table[i] != 0 {
			i = (i + 1) & mask
		}
		o.table[i] = uint32(k) + 1
	}
}

// add appends an operation and returns its timestamp.
func (o *ops) add(s *site, low3, word uint32, value uint64, wall int64) uint32 {
	i := o.intern(s)
	o.n++
	t := o.n
	k := t % chunkOps
	if int(t/chunkOps) == len(o.chunks) {
		o.chunks = append(o.chunks, new(opChunk))
	}
	c := o.chunks[t/chunkOps]
	c.site[k] = i<<3 | low3
	c.word[k] = word
	c.value[k] = value
	if c.wall != nil || wall >= 0 {
		o.setWall(c, t, wall)
	}
	return t
}

func (o *ops) setWall(c *opChunk, t uint32, wall int64) {
	k := t % chunkOps
	if c.wall == nil {
		c.wall = new([chunkOps]int32)
		for i := range c.wall {
			c.wall[i] = noWall
		}
		c.wallBase = wall
	}
	c.wall[k] = noWall
	if wall < 0 {
		return
	}
	if d := wall - c.wallBase; d > noWall && d <= math.MaxInt32 {
		c.wall[k] = int32(d)
		return
	}
	o.farWalls[t] = wall
}

func (o *ops) wall(t uint32) int64 {
	c := o.chunks[t/chunkOps]
	if c.wall == nil {
		return -1
	}
	if d := c.wall[t%chunkOps]; d != noWall {
		return c.wallBase + int64(d)
	}
	if w, ok := o.farWalls[t]; ok {
		return w
	}
	return -1
}

func (o *ops) site(t uint32) *site {
	return &o.sites[o.chunks[t/chunkOps].site[t%chunkOps]>>3]
}

func (o *ops) word(t uint32) uint32  { return o.chunks[t/chunkOps].word[t%chunkOps] }
func (o *ops) value(t uint32) uint64 { return o.chunks[t/chunkOps].value[t%chunkOps] }
func (o *ops) low3(t uint32) uint64 {
	return uint64(o.chunks[t/chunkOps].site[t%chunkOps] & 7)
}

// base returns the base register's value of a write to addr.
func (o *ops) base(t uint32, s *site, addr uint64) uint64 {
	switch s.base {
	case baseDelta:
		return addr - uint64(int64(s.delta))
	case baseFar:
		lo, hi := 0, len(o.farBases)
		for lo < hi {
			if m := (lo + hi) / 2; o.farBases[m].time < t {
				lo = m + 1
			} else {
				hi = m
			}
		}
		return o.farBases[lo].base
	}
	return 0
}

// runAt returns the run that holds byte off of a moved block.
func (m *move) runAt(off uint64) int {
	lo, hi := 0, len(m.runs)
	for lo < hi {
		if k := (lo + hi) / 2; m.runs[k].off <= off {
			lo = k + 1
		} else {
			hi = k
		}
	}
	return lo - 1
}

// bytes is the memory that the operations take.
func (o *ops) bytes() uint64 {
	n := uint64(len(o.chunks))*chunkOps*16 + o.arena.total
	for _, c := range o.chunks {
		if c.wall != nil {
			n += chunkOps * 4
		}
	}
	n += uint64(cap(o.sites))*40 + uint64(len(o.table))*4 + uint64(cap(o.farBases))*16
	n += uint64(o.wides.len()) * 40
	for i := range o.moves {
		n += 56 + uint64(cap(o.moves[i].runs))*16
	}
	return n
}
