package mgpp

// The value that the address register of a write had: where the program meant
// to write, relative to what.

type baseKind uint8

const (
	baseNone  baseKind = iota
	baseDelta          // Addr - site.delta
	baseNode           // the start of the live node that contains Addr
	baseFar            // in ops.bases
)

// Distances within a structure make sites; those of array elements would make
// too many.
const (
	minDelta = -128
	maxDelta = 1024
)

// baseOf says how a write to addr, which lies in the page, is based.
func (h *History) baseOf(base, addr uint64, p *page) (baseKind, int32) {
	if base == 0 {
		return baseNone, 0
	}
	if d := int64(addr - base); d >= minDelta && d <= maxDelta {
		return baseDelta, int32(d)
	}
	if id := h.inLive(p, addr); id != 0 && h.nodes.at(id).start == base {
		return baseNode, 0
	}
	return baseFar, 0
}

// base returns the base of the write at t to addr.
func (h *History) base(t uint32, s *site, addr uint64) uint64 {
	switch s.base {
	case baseDelta:
		return addr - uint64(int64(s.delta))
	case baseNode:
		return h.nodes.at(h.liveAt(addr, t)).start
	case baseFar:
		return h.ops.bases.get(t)
	}
	return 0
}

// bases keeps bases that are nothing else: by time, ascending.
type bases struct {
	all slab[farBase]
}

type farBase struct {
	time   uint32
	lo, hi uint32 // of the base; three of 32 bits take 12 bytes, not 16
}

const farBaseBytes = 12

func (x *bases) add(t uint32, base uint64) {
	x.all.add(farBase{t, uint32(base), uint32(base >> 32)})
}

// get returns the base of the write at t, which has one here.
func (x *bases) get(t uint32) uint64 {
	lo, hi := 0, x.all.len()
	for lo < hi {
		if m := (lo + hi) / 2; x.all.at(m).time < t {
			lo = m + 1
		} else {
			hi = m
		}
	}
	f := x.all.at(lo)
	return uint64(f.hi)<<32 | uint64(f.lo)
}

func (x *bases) bytes() uint64 { return uint64(x.all.len()) * farBaseBytes }
