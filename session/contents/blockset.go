package contents

import (
	"maps"
	"math"
	"slices"

	"mgtrace/trace"
)

// Set is the live blocks of a recording. Programs allocate and free millions of
// them, mostly near to each other: a table by address costs less than a map, and
// about as many bytes a block.
type Set struct {
	areas map[trace.Addr]*area // by address >> areaBits
	near  *area                // the one that was looked at last
	at    trace.Addr           // its place in areas
	odd   map[trace.Addr]uint64

	kinds []trace.Kind // of sites that are allocators'
}

// An area has the sizes plus 1 of the blocks that start in 64 MB, by their granules
// of 16 bytes, in pieces of 1 KB. Blocks that begin elsewhere in a granule, or are
// too long, are odd.
type area [1 << (areaBits - pieceBits)]*[1 << (pieceBits - granuleBits)]uint32

const (
	areaBits    = 26
	pieceBits   = 10
	granuleBits = 4
)

// NewSet is empty.
func NewSet() *Set {
	return &Set{areas: map[trace.Addr]*area{}, odd: map[trace.Addr]uint64{}}
}

// place returns where the size of a block at addr is, nil if nowhere; with create
// it is made.
func (b *Set) place(addr trace.Addr, create bool) *uint32 {
	if at := addr >> areaBits; b.near == nil || at != b.at {
		a := b.areas[at]
		if a == nil {
			if !create {
				return nil
			}
			a = new(area)
			b.areas[at] = a
		}
		b.near, b.at = a, at
	}
	piece := &b.near[addr>>pieceBits%trace.Addr(len(b.near))]
	if *piece == nil {
		if !create {
			return nil
		}
		*piece = new([1 << (pieceBits - granuleBits)]uint32)
	}
	return &(*piece)[addr>>granuleBits%trace.Addr(len(*piece))]
}

func (b *Set) add(addr trace.Addr, size uint64) {
	if addr%(1<<granuleBits) != 0 || size >= math.MaxUint32 {
		b.remove(addr)
		b.odd[addr] = size
		return
	}
	*b.place(addr, true) = uint32(size) + 1
	if len(b.odd) > 0 {
		delete(b.odd, addr)
	}
}

func (b *Set) remove(addr trace.Addr) {
	if addr%(1<<granuleBits) == 0 {
		if p := b.place(addr, false); p != nil {
			*p = 0
		}
	}
	if len(b.odd) > 0 {
		delete(b.odd, addr)
	}
}

// Size returns the size of the block at addr, 0 if there is none.
func (b *Set) Size(addr trace.Addr) uint64 {
	if addr%(1<<granuleBits) == 0 {
		if p := b.place(addr, false); p != nil && *p != 0 {
			return uint64(*p - 1)
		}
	}
	return b.odd[addr]
}

// Addrs returns where blocks begin, in order.
func (b *Set) Addrs() []trace.Addr {
	var list []trace.Addr
	for at, a := range b.areas {
		for i, piece := range a {
			if piece == nil {
				continue
			}
			for k, size := range piece {
				if size != 0 {
					list = append(list, at<<areaBits+trace.Addr(i)<<pieceBits+trace.Addr(k)<<granuleBits)
				}
			}
		}
	}
	list = slices.AppendSeq(list, maps.Keys(b.odd))
	slices.Sort(list)
	return list
}

// Event implements capture.Sink.
func (b *Set) Event(ev *trace.Event) error {
	switch ev.Kind {
	case trace.KindAlloc, trace.KindGlobal:
		b.add(ev.Addr, ev.Size)
	case trace.KindRealloc:
		b.remove(trace.Addr(ev.Aux))
		b.add(ev.Addr, ev.Size)
	case trace.KindFree:
		b.remove(ev.Addr)
	}
	return nil
}

// Sites implements capture.Sink.
func (b *Set) Sites(sites []trace.StoreSite) error {
	b.kinds = b.kinds[:0]
	return b.Calls(sites)
}

// Calls implements capture.Mixed.
func (b *Set) Calls(fresh []trace.StoreSite) error {
	for i := range fresh {
		b.kinds = append(b.kinds, fresh[i].Kind)
	}
	return nil
}

// Allocs implements capture.Allocating.
func (b *Set) Allocs() bool { return true }

// Stores implements capture.Sink.
func (b *Set) Stores(run *trace.Stores) error {
	for _, i := range run.Allocs {
		switch r := &run.Recs[i]; b.kinds[r.Site] {
		case trace.KindAlloc:
			b.add(trace.Addr(r.Addr), r.Value)
		case trace.KindFree:
			b.remove(trace.Addr(r.Addr))
		}
	}
	return nil
}
