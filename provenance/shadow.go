package provenance

import (
	"mgtrace/flow"
	"mgtrace/trace"
)

// memory has a tag for every 4 bytes of the process's memory. An address takes two.
type memory struct {
	pages map[uint64]*page
	last  *page
	key   uint64
}

const (
	pageBits = 12
	granules = 1 << (pageBits - 2)
)

type page struct {
	tags [granules]Tag
	some bool // some tag is not None
}

func newMemory() memory { return memory{pages: map[uint64]*page{}, key: ^uint64(0)} }

func (m *memory) page(addr uint64) *page {
	if k := addr >> pageBits; k != m.key {
		m.key, m.last = k, m.pages[k]
	}
	return m.last
}

func (m *memory) at(addr uint64) Tag {
	if p := m.page(addr); p != nil {
		return p.tags[addr>>2%granules]
	}
	return None
}

// word is the tag of the 8 bytes at addr, or the 4 bytes.
func (m *memory) word(addr uint64, width int) Tag {
	if p := m.page(addr); p == nil && addr&(1<<pageBits-1) <= 1<<pageBits-8 {
		return None
	}
	a := m.at(addr)
	if width <= 4 {
		if addr&3 != 0 || width < 4 {
			if a == None && m.at(addr+uint64(width)-1) == None {
				return None
			}
			return Unknown
		}
		return narrow(a)
	}
	b := m.at(addr + 4)
	if addr&3 == 0 && a == b {
		return a
	}
	if a == None && b == None && m.at(addr+7) == None {
		return None
	}
	return Unknown
}

// any says whether some byte of the range has a tag.
func (m *memory) any(addr, size uint64) bool {
	for a, end := addr&^3, addr+size; a < end; {
		p := m.page(a)
		next := (a>>pageBits + 1) << pageBits
		if p == nil || !p.some {
			a = next
			continue
		}
		for ; a < min(end, next); a += 4 {
			if p.tags[a>>2%granules] != None {
				return true
			}
		}
	}
	return false
}

// set gives the 8 (or 4) bytes at addr a tag; where it is not on a granule it can not
// be kept.
func (m *memory) set(addr uint64, width int, t Tag) {
	if t != None && (addr&3 != 0 || width < 4) {
		t = Unknown
	}
	m.fill(addr, uint64(width), t)
}

// fill gives every granule that the range touches a tag.
func (m *memory) fill(addr, size uint64, t Tag) {
	for a, end := addr&^3, addr+size; a < end; {
		p := m.page(a)
		next := (a>>pageBits + 1) << pageBits
		if p == nil {
			if t == None {
				a = next
				continue
			}
			p = &page{}
			m.pages[m.key], m.last = p, p
		}
		if t == None && !p.some {
			a = next
			continue
		}
		p.some = p.some || t != None
		for ; a < min(end, next); a += 4 {
			p.tags[a>>2%granules] = t
		}
	}
}

// move copies the tags of a range, as memmove does its bytes.
func (m *memory) move(to, from, size uint64, buf []Tag) []Tag {
	if to&3 != from&3 || from&3 != 0 {
		t := None
		if m.any(from, size) {
			t = Unknown
		}
		m.fill(to, size, t)
		return buf
	}
	buf = buf[:0]
	for i := uint64(0); i < size; i += 4 {
		buf = append(buf, m.at(from+i))
	}
	for i, t := range buf {
		if had := m.at(to + 4*uint64(i)); had != t {
			if size-4*uint64(i) < 4 && t != None {
				t = Unknown
			}
			m.fill(to+4*uint64(i), 4, t)
		}
	}
	return buf
}

// forget drops all that is known of memory.
func (m *memory) forget() { *m = newMemory() }

// thread is the state of one thread.
type thread struct {
	id       trace.ThreadID
	general  [16]Tag
	vector   [32][8]Tag
	sums     sums
	calls    flow.Calls
	inside   int // how many calls are open up to the allocator that the thread is in; 0: in none
	born     NodeID
	cell     uint64    // where it stores that block's address instead of returning it; 0: nowhere
	awaiting bool      // it has left an allocator whose block was not told yet
	signals  []*thread // registers as they were when signals came
}
