package mgpp

import (
	"encoding/binary"
	"fmt"

	"mgtrace/trace"
)

// Store is one plain store of 1 to 8 bytes: what nearly all events of a program
// are, without what only the others need.
type Store struct {
	PC, Addr, Base trace.Addr // as in trace.Event
	Value          uint64     // its low Width bytes, little-endian; those above are ignored
	Thread         trace.ThreadID
	Flags          trace.Flags
	Width          uint8 // bytes, 1 to 8
}

// event returns the store as an event.
func (s *Store) event() *trace.Event {
	return &trace.Event{
		Kind: trace.KindStore, Flags: s.Flags, Thread: s.Thread, Wall: -1, PC: s.PC, Addr: s.Addr, Size: uint64(s.Width), Base: s.Base,
		Data: binary.LittleEndian.AppendUint64(nil, s.Value)[:min(s.Width, maxInline)],
	}
}

// storeBatch is how many stores are taken before it is looked again whether
// there is room.
const storeBatch = 1 << 10

// ApplyStores takes stores into the history, in order, as Apply would one by
// one, their wall clock being unknown. It returns how many it took: all, unless
// the error is ErrFull, wrapped.
func (h *History) ApplyStores(stores []Store) (int, error) {
	for i := range stores {
		if i%storeBatch == 0 {
			if err := h.roomForStores(min(storeBatch, len(stores)-i)); err != nil {
				return i, err
			}
		}
		h.applyStore(&stores[i], -1)
	}
	return len(stores), nil
}

// ApplyRun takes a run of stores as the trace has them, in order, as Apply
// would take their events. It returns how many it took: all, unless the error
// is ErrFull, wrapped, or the run names a site that there is not.
func (h *History) ApplyRun(run *trace.Stores, sites []trace.StoreSite) (int, error) {
	x := Store{Thread: run.Thread}
	usual := h.usualOf(len(sites))
	for i := range run.Recs {
		if i%storeBatch == 0 {
			if err := h.roomForStores(min(storeBatch, len(run.Recs)-i)); err != nil {
				return i, err
			}
		}
		r := &run.Recs[i]
		h.ops.instant = run.InstantOf(i)
		if int(r.Site) >= len(sites) {
			return i, fmt.Errorf("run of stores: no site %d in %d", r.Site, len(sites))
		}
		s, u := &sites[r.Site], &usual[r.Site]
		if h.applyUsual(*u, run, r, s) {
			continue
		}
		if s.Width > maxInline {
			var ev trace.Event
			run.Event(i, sites, &ev)
			h.applyWrite(&ev)
			continue
		}
		x.PC, x.Addr, x.Base, x.Value, x.Flags, x.Width = s.PC, trace.Addr(r.Addr), s.BaseOf(r), r.Value, s.Flags, s.Width
		if t := h.applyStore(&x, run.Wall); t != 0 && !h.ops.none {
			*u = h.ops.columns.site.at(t) >> lowBits
		}
	}
	return len(run.Recs), nil
}

// usualOf returns, for each of n sites of runs, the number of the site that its last store had here.
func (h *History) usualOf(n int) []uint32 {
	if n > len(h.usual) {
		h.usual = append(h.usual, make([]uint32, n-len(h.usual))...)
	}
	return h.usual
}

// applyUsual takes a store of a run as applyStore does, if it is one of those that are most: within a granule and a word
// of a live node in a page of late, and with a site of its own that is the usual one. Else it does nothing.
func (h *History) applyUsual(usual uint32, run *trace.Stores, r *trace.StoreRec, s *trace.StoreSite) bool {
	addr, width := r.Addr, uint64(s.Width)
	b := addr & 7
	p := h.pageOf(addr)
	if b+width > 8 || !p.inside(addr, width) || int(usual) >= len(h.ops.all) {
		return false
	}
	value := r.Value & (1<<(8*width) - 1)
	x := h.ops.at(usual)
	if x.pc != uint64(s.PC) || x.high != uint32(value>>32) || x.thread != run.Thread || x.size != uint16(width) || x.flags != s.Flags ||
		x.kind != OpStore || x.shape != shapeInline || x.stray || !x.basedAs(r, s) {
		return false
	}
	t := h.ops.add(usual, uint32(b), p.wordNumber(addr), uint32(value))
	h.ops.clock(t, run.Wall)
	h.mem.writeWord(p.word(addr&pageMask), uint32(b), uint32(width), t)
	return true
}

// basedAs reports whether the store has its base as those of x have theirs, as far as no node needs to be looked at.
func (x *site) basedAs(r *trace.StoreRec, s *trace.StoreSite) bool {
	base := s.BaseOf(r)
	if base == 0 || x.base == baseNone {
		return base == 0 && x.base == baseNone
	}
	return x.base == baseDelta && uint64(base) == r.Addr-uint64(int64(x.delta))
}

// pageOf is lookup for a store: most hit a page that was hit shortly before.
func (h *History) pageOf(addr uint64) *page {
	late := &h.late[addr>>pageBits%latePages]
	if p := *late; p != nil && p.number == addr>>pageBits {
		return p
	}
	p := h.mem.lookup(addr)
	if p != nil {
		*late = p
	}
	return p
}

// latePages is how many of the pages are at hand that stores hit last.
const latePages = 1 << 10

// roomForStores reports whether n stores fit, each of up to 64 bytes.
func (h *History) roomForStores(n int) error {
	return h.roomFor(uint64(n), 2*uint64(n), 80*uint64(n))
}

// applyPlain is applyStore for the event of a plain store.
func (h *History) applyPlain(ev *trace.Event) uint32 {
	var data [8]byte
	copy(data[:], ev.Data)
	return h.applyStore(&Store{
		PC: ev.PC, Addr: ev.Addr, Base: ev.Base, Value: binary.LittleEndian.Uint64(data[:]),
		Thread: ev.Thread, Flags: ev.Flags, Width: uint8(len(ev.Data)),
	}, ev.Wall)
}

// applyStore records a store, or drops it if it concerns no node.
func (h *History) applyStore(x *Store, wall int64) uint32 {
	addr, width := uint64(x.Addr), uint64(x.Width)
	if width-1 >= maxInline || addr > maxAddr-width {
		h.plausible(x.event(), x.Addr, width)
		return 0
	}
	if h.ops.none {
		return h.Number(x.Addr, x.Base, width)
	}
	p := h.pageOf(addr)
	stray := false
	first, whole := h.within(p, addr, width)
	if !first {
		var keep bool
		if stray, keep = h.judge(uint64(x.Base), addr, width); !keep {
			h.dropped++
			return 0
		}
	}
	if p == nil {
		p = h.mem.touch(addr)
	}
	value := x.Value & (1<<(8*width) - 1) // a shift by 64 gives 0
	high, low := uint32(value>>32), uint32(value)
	key := storeKey{shape: shapeInline, stray: stray}
	if high != 0 && !h.ops.inlines(high) && !h.admit(high, value) {
		key.shape = shapeWords
		high, low = 0, h.ops.words.add(value)
	}
	key.base, key.delta = h.baseOf(uint64(x.Base), addr, p)
	site := h.ops.storeSite(x, &key, high)
	b := addr & 7
	t := h.ops.add(site, uint32(b), p.wordNumber(addr), low)
	h.ops.clock(t, wall)
	if !whole {
		h.doubtful = append(h.doubtful, t)
	}
	if key.base == baseFar {
		h.ops.bases.add(t, uint64(x.Base))
	}
	if b+width <= 8 {
		h.mem.writeWord(p.word(addr&pageMask), uint32(b), uint32(width), t)
	} else {
		h.mem.write(addr, width, t)
	}
	return t
}

// Number gives a store the timestamp that it has in any history, 0 if it concerns
// no node, and keeps nothing of it: of a history of nodes only.
func (h *History) Number(addr, base trace.Addr, width uint64) uint32 {
	p := h.pageOf(uint64(addr))
	if p.inside(uint64(addr), width) {
		h.ops.n++
		return h.ops.n
	}
	if uint64(addr) > maxAddr-width {
		return 0
	}
	if first, _ := h.within(p, uint64(addr), width); !first {
		if _, keep := h.judge(uint64(base), uint64(addr), width); !keep {
			h.dropped++
			return 0
		}
	}
	h.ops.n++
	return h.ops.n
}

// Room reports whether there is room to number n stores.
func (h *History) Room(n int) error { return h.roomForStores(n) }

// admit makes the upper half of the value part of sites if that is worth it.
func (h *History) admit(high uint32, value uint64) bool {
	limit := freeHighs
	if h.mem.lookup(value) != nil {
		limit = maxHighs
	}
	return h.ops.admit(high, limit)
}
