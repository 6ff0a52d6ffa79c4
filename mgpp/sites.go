package mgpp

import "mgtrace/trace"

// site is what many executions of one statement have in common. The upper half
// of what it stores belongs to it: a pointer's is one of very few.
type site struct {
	pc     uint64
	thread trace.ThreadID
	name   uint32
	delta  int32  // Addr - Base, if base == baseDelta
	high   uint32 // shapeInline: bytes 4 to 7 of the value; a birth or death: index in nodes.origins of its call stack
	size   uint16
	flags  trace.Flags
	kind   OpKind
	shape  shape
	base   baseKind
	stray  bool // hit no live node
}

const siteBytes = 32

// sites gives each site a number.
type sites struct {
	all   []site
	table []uint32 // hash table: index+1, 0 empty; a power of two, at most half full
	shift uint8    // of the hash, to the table's size

	names  []string
	nameOf map[string]uint32
	recent [4]recentName // by length: an allocator and its free mostly differ

	highs  [maxHighs]uint32 // upper halves that make sites
	nHighs int

	cache [siteCache]cachedSite // of stores, for the builder
}

type recentName struct {
	name string
	id   uint32
}

// storeKey is what a store's site has beside what the store says itself.
type storeKey struct {
	shape shape
	base  baseKind
	stray bool
	delta int32
}

// cachedSite is the number of a store's site by all that makes it, packed.
type cachedSite struct {
	statement, rest uint64
	high, site      uint32 // the site's number + 1; 0: none
}

const (
	siteCacheBits = 12
	siteCache     = 1 << siteCacheBits
)

// maxHighs is how many different upper halves of values make sites of their
// own. Addresses of a program have a dozen; numbers in general (floating point,
// hashes) any, and those values go to ops.words. The last ones are for values
// that point to memory with a history.
const (
	maxHighs  = 64
	freeHighs = 32
)

func newSites() sites {
	s := sites{
		table: make([]uint32, 1<<10), shift: 64 - 10,
		names: []string{""}, nameOf: map[string]uint32{},
	}
	s.highs[0], s.highs[1], s.nHighs = 0, 1<<32-1, 2 // small numbers of either sign
	return s
}

func (x *sites) at(i uint32) *site { return &x.all[i] }

func (x *sites) bytes() uint64 {
	return uint64(cap(x.all))*siteBytes + uint64(len(x.table))*4
}

// name gives each name a number.
func (x *sites) name(s string) uint32 {
	if s == "" {
		return 0
	}
	last := &x.recent[len(s)%len(x.recent)]
	if s == last.name {
		return last.id
	}
	i, ok := x.nameOf[s]
	if !ok {
		i = uint32(len(x.names))
		x.names = append(x.names, s)
		x.nameOf[s] = i
	}
	*last = recentName{s, i}
	return i
}

// inlines reports whether values with this upper half lie in the site and the
// value column.
func (x *sites) inlines(high uint32) bool {
	for _, h := range x.highs[:x.nHighs] {
		if h == high {
			return true
		}
	}
	return false
}

// admit makes values with this upper half lie in the site from now on, if there
// is room. It must have: an address has at most 47 bits in user mode.
func (x *sites) admit(high uint32, limit int) bool {
	if high >= 1<<15 || x.nHighs >= limit {
		return false
	}
	x.highs[x.nHighs] = high
	x.nHighs++
	return true
}

func (s *site) hash() uint64 {
	x := s.pc ^ uint64(s.high)<<32
	x = x*0x9e3779b97f4a7c15 ^ uint64(uint32(s.delta))<<20 ^ uint64(s.thread)
	x ^= uint64(s.name)<<40 ^ uint64(s.size)<<32 ^ uint64(s.flags)<<52 ^ uint64(s.kind)<<8 ^ uint64(s.base)<<60 ^ uint64(s.shape)<<4
	if s.stray {
		x = ^x
	}
	x ^= x >> 29
	return x * 0xd6e8feb86659fd93
}

// storeSite returns the number of a store's site: nearly always a recent one.
func (x *sites) storeSite(s *Store, k *storeKey, high uint32) uint32 {
	statement := uint64(s.PC) | uint64(s.Width)<<58 | uint64(k.base)<<56
	rest := uint64(s.Thread)<<32 | uint64(s.Flags)<<16 | uint64(k.delta-minDelta)<<2 | uint64(k.shape&1)<<1
	if k.stray {
		rest |= 1
	}
	exact := s.PC>>56 == 0 // as of every statement: the packing loses nothing
	c := &x.cache[(statement^rest<<7^uint64(high)<<20)*0x9e3779b97f4a7c15>>(64-siteCacheBits)]
	if c.statement == statement && c.rest == rest && c.high == high && c.site != 0 && exact {
		return c.site - 1
	}
	n := x.intern(&site{
		pc: uint64(s.PC), thread: s.Thread, flags: s.Flags, size: uint16(s.Width), high: high,
		kind: OpStore, shape: k.shape, base: k.base, delta: k.delta, stray: k.stray,
	})
	if exact {
		*c = cachedSite{statement, rest, high, n + 1}
	}
	return n
}

// intern returns the number of the site.
func (x *sites) intern(s *site) uint32 {
	mask := uint32(len(x.table) - 1)
	for i := uint32(s.hash() >> x.shift); ; i++ {
		k := x.table[i&mask]
		if k == 0 {
			x.table[i&mask] = uint32(len(x.all)) + 1
			break
		}
		if x.all[k-1] == *s {
			return k - 1
		}
	}
	x.all = append(x.all, *s)
	if 2*len(x.all) > len(x.table) {
		x.rehash()
	}
	return uint32(len(x.all)) - 1
}

func (x *sites) rehash() {
	x.table = make([]uint32, 2*len(x.table))
	x.shift--
	mask := uint32(len(x.table) - 1)
	for k := range x.all {
		i := uint32(x.all[k].hash() >> x.shift)
		for x.table[i&mask] != 0 {
			i++
		}
		x.table[i&mask] = uint32(k) + 1
	}
}
