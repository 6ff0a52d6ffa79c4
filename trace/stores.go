package trace

import (
	"encoding/binary"
	"fmt"
)

// MaxStoreWidth is the most bytes that one store of a run writes (AVX-512).
const MaxStoreWidth = 64

// StoreSite is a store instruction, or a call of a library function as far as it writes
// so many bytes: what memcpy and its kin write is little, mostly, and as frequent as
// stores. Or it is a call of an allocator or of free by one stack, which are as frequent in some
// programs. Sites are numbered in the order in which Writer.AddSites got them, from 0.
type StoreSite struct {
	PC    Addr  // of a call: its return address
	Width uint8 // bytes that it writes, 1 to MaxStoreWidth; of an allocator 8: its value is the size
	Flags Flags // of each of its stores
	Base  BaseForm
	Disp  int64 // BaseOffset: the address minus the base
	// Name is the function of a call; empty: an instruction.
	Name string
	// Kind is KindAlloc or KindFree where the call is of an allocator, else 0.
	Kind  Kind
	Stack []Addr // of a call of an allocator: as in an Event
}

// CallSite is a call of a library function that writes so many bytes at its destination
// argument.
func CallSite(function string, ret Addr, width uint8) StoreSite {
	return StoreSite{PC: ret, Width: width, Base: BaseOffset, Name: function}
}

// AllocSite is a call of an allocator, or of free, by one stack: its stores are events of the kind,
// KindAlloc or KindFree, at the block's address. Their value is its size, or 0.
func AllocSite(k Kind, flags Flags, function string, ret Addr, stack []Addr) StoreSite {
	return StoreSite{PC: ret, Width: 8, Flags: flags, Name: function, Kind: k, Stack: stack}
}

// IsCall says that the site is a call.
func (s *StoreSite) IsCall() bool { return s.Name != "" }

// BaseForm says where the base of a site's stores is found.
type BaseForm uint8

// The forms.
const (
	BaseNone   BaseForm = iota // there is none
	BaseOffset                 // it is the address minus Disp
	BaseOwn                    // each StoreRec has its own
	baseEnd
)

// BaseOf returns the value of the base register of one of the site's stores, 0
// if it has none.
func (s *StoreSite) BaseOf(r *StoreRec) Addr {
	switch s.Base {
	case BaseOffset:
		return Addr(r.Addr - uint64(s.Disp))
	case BaseOwn:
		return Addr(r.Base)
	}
	return 0
}

func (s *StoreSite) check() error {
	if s.Width < 1 || s.Width > MaxStoreWidth || s.Base >= baseEnd {
		return fmt.Errorf("store site at %#x: width %d, form of base %d", uint64(s.PC), s.Width, s.Base)
	}
	wrong := false
	switch {
	case s.Kind == KindAlloc || s.Kind == KindFree:
		wrong = !s.IsCall() || s.Width != 8 || s.Base != BaseNone || s.Disp != 0
	case s.Kind != 0 || len(s.Stack) > 0:
		wrong = true
	case s.IsCall():
		wrong = s.Flags != 0 || s.Base != BaseOffset || s.Disp != 0
	}
	if wrong {
		return fmt.Errorf("site of a call of %q at %#x: kind %d, width %d, flags %v, form of base %d", s.Name, uint64(s.PC), s.Kind, s.Width, s.Flags, s.Base)
	}
	return nil
}

// StoreRec is one store, or what one call wrote: a KindStore or KindBulk event whose bytes
// are all known, without what its site and its run say. Or it is a KindAlloc or KindFree event.
type StoreRec struct {
	Site uint32 // index of its StoreSite
	Addr uint64
	Base uint64 // only of a site with BaseOwn
	// Value is what was written, little endian, the bytes beyond the width 0.
	// Of a site wider than 8 bytes it is the offset of the bytes in Wide.
	Value uint64
}

// Stores is a run of stores of one thread, in their order: the fast form of
// that many events. Its slices belong to the producer and are valid until its
// next call.
type Stores struct {
	Thread ThreadID
	Wall   int64 // of the run; see Event.Wall
	Recs   []StoreRec
	Calls  int // how many of Recs are of calls
	// Allocs are the indices of those of allocators among Recs, in order.
	Allocs []int32
	Wide   []byte // values wider than 8 bytes
	// Instants are those of Recs, in a full recording; else there are none.
	Instants []Instant

	word [8]byte // Data of the last Event
}

// Event makes the event of store i. Its Data is valid until the next call, and
// not longer than s.
func (s *Stores) Event(i int, sites []StoreSite, e *Event) {
	r := &s.Recs[i]
	site := &sites[r.Site]
	*e = Event{
		Kind: KindStore, Flags: site.Flags, Thread: s.Thread, Wall: s.Wall, PC: site.PC,
		Addr: Addr(r.Addr), Size: uint64(site.Width), Base: site.BaseOf(r), Instant: s.InstantOf(i),
	}
	if site.IsCall() {
		if e.Kind, e.Name = KindBulk, site.Name; site.Kind != 0 {
			e.Kind, e.Stack, e.Size = site.Kind, site.Stack, 0
			if site.Kind == KindAlloc {
				e.Size = r.Value
			}
			return
		}
	}
	if site.Width > 8 {
		e.Data = s.Wide[r.Value:][:site.Width:site.Width]
		return
	}
	binary.LittleEndian.PutUint64(s.word[:], r.Value)
	e.Data = s.word[:site.Width:site.Width]
}

// InstantOf is the instant of store i; 0: it has none.
func (s *Stores) InstantOf(i int) Instant {
	if len(s.Instants) == 0 {
		return 0
	}
	return s.Instants[i]
}

// Splitter gives runs with calls to who wants those as events.
type Splitter struct {
	part  Stores
	event Event
}

// Split gives the stores before, between and behind the calls of a run as runs of their own,
// in order. sites are those of the run.
func (x *Splitter) Split(s *Stores, sites []StoreSite, to interface {
	Stores(*Stores) error
	Event(*Event) error
}) error {
	left := s.Calls
	x.part = *s
	x.part.Calls, x.part.Allocs = 0, nil
	for at := 0; at < len(s.Recs); {
		n := len(s.Recs) - at
		if left > 0 {
			n = untilCall(s.Recs[at:], sites)
		}
		if n == 0 {
			left--
			s.Event(at, sites, &x.event)
			if err := to.Event(&x.event); err != nil {
				return err
			}
			at++
			continue
		}
		x.part.Recs = s.Recs[at:][:n:n]
		if len(s.Instants) > 0 {
			x.part.Instants = s.Instants[at:][:n:n]
		}
		if err := to.Stores(&x.part); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// untilCall is how many stores there are before the first call.
func untilCall(recs []StoreRec, sites []StoreSite) int {
	for i := range recs {
		if sites[recs[i].Site].IsCall() {
			return i
		}
	}
	return len(recs)
}

// siteTable is the sites of a trace so far.
type siteTable struct {
	sites []StoreSite
	forms []uint8 // of each site: what its stores have beyond address and word
}

const (
	formMore  = 1 << iota // any of these:
	formWide              // more than one word of value
	formBase              // a base
	formCall              // a name
	formPair              // with formWide: two words of value, whole ones
	formAlloc             // a block begins or ends there
)

func (t *siteTable) add(s StoreSite) {
	var f uint8
	if s.Width > 8 {
		f |= formMore | formWide
	}
	if s.Width == 16 {
		f |= formPair
	}
	if s.Base == BaseOwn {
		f |= formMore | formBase
	}
	if s.IsCall() {
		f |= formMore | formCall
	}
	if s.Kind != 0 {
		f |= formAlloc
	}
	t.sites = append(t.sites, s)
	t.forms = append(t.forms, f)
}

// siteBytes is how many bytes the number of any of n sites takes in a block.
func siteBytes(n int) int {
	switch {
	case n <= 1<<8:
		return 1
	case n <= 1<<16:
		return 2
	case n <= 1<<24:
		return 3
	}
	return 4
}
