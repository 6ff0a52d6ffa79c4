package contents

import (
	"math/bits"

	"mgtrace/trace"
)

// Memory is what memory holds as far as events have told.
type Memory struct {
	pages map[uint64]*contentPage
	no    uint64 // of the page used last
	page  *contentPage
}

const contentBytes = 1 << 12

type contentPage struct {
	data  [contentBytes]byte
	known [contentBytes / 64]uint64 // a bit for each byte
}

// maxZeroed bounds the blocks whose zeros are noted, bytes: those of larger ones
// stay unknown.
const maxZeroed = 256 << 20

// New knows nothing yet.
func New() *Memory { return &Memory{pages: map[uint64]*contentPage{}} }

// at returns the page of an address, nil if nothing is known of it and make is false.
func (c *Memory) at(addr uint64, make bool) *contentPage {
	no := addr / contentBytes
	if c.page != nil && c.no == no {
		return c.page
	}
	p := c.pages[no]
	if p == nil {
		if !make {
			return nil
		}
		p = new(contentPage)
		c.pages[no] = p
	}
	c.no, c.page = no, p
	return p
}

// Event follows one event.
func (c *Memory) Event(ev *trace.Event, old uint64) {
	addr := uint64(ev.Addr)
	switch ev.Kind {
	case trace.KindAlloc:
		c.forget(addr, ev.Size)
		if ev.Flags&trace.FlagZeroed != 0 && ev.Size <= maxZeroed {
			c.zero(addr, ev.Size)
		}
	case trace.KindRealloc:
		c.move(ev.Aux, addr, min(old, ev.Size))
		switch {
		case ev.Size > old:
			c.forget(addr+old, ev.Size-old)
		case ev.Aux == addr: // it may grow again
			c.forget(addr+ev.Size, old-ev.Size)
		}
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindImage, trace.KindGlobal, trace.KindUnread:
		c.write(addr, ev.Data)
		if n := uint64(len(ev.Data)); ev.Size > n {
			c.forget(addr+n, ev.Size-n)
		}
	}
}

// Stores follows a run.
func (c *Memory) Stores(run *trace.Stores, sites []trace.StoreSite) {
	for i := range run.Recs {
		r := &run.Recs[i]
		w := uint64(sites[r.Site].Width)
		if w > 8 {
			c.write(r.Addr, run.Wide[r.Value:][:w])
			continue
		}
		var word [8]byte
		for k := range word {
			word[k] = byte(r.Value >> (8 * k))
		}
		c.write(r.Addr, word[:w])
	}
}

func (c *Memory) write(addr uint64, data []byte) {
	for len(data) > 0 {
		p, off := c.at(addr, true), addr%contentBytes
		n := copy(p.data[off:], data)
		p.mark(off, uint64(n), true)
		addr, data = addr+uint64(n), data[n:]
	}
}

func (c *Memory) zero(addr, size uint64) {
	for size > 0 {
		p, off := c.at(addr, true), addr%contentBytes
		n := min(size, contentBytes-off)
		clear(p.data[off : off+n])
		p.mark(off, n, true)
		addr, size = addr+n, size-n
	}
}

// forget makes bytes unknown.
func (c *Memory) forget(addr, size uint64) {
	if size/contentBytes > uint64(len(c.pages)) {
		for no, p := range c.pages {
			lo, hi := max(no*contentBytes, addr), min((no+1)*contentBytes, addr+size)
			if lo < hi {
				p.mark(lo%contentBytes, hi-lo, false)
			}
		}
		return
	}
	for size > 0 {
		off := addr % contentBytes
		n := min(size, contentBytes-off)
		if p := c.at(addr, false); p != nil {
			p.mark(off, n, false)
		}
		addr, size = addr+n, size-n
	}
}

// move carries what is known of a block to another place.
func (c *Memory) move(from, to, size uint64) {
	if from == to {
		return
	}
	data, known := make([]byte, size), make([]bool, size)
	c.read(from, data, known)
	c.forget(to, size)
	for i := 0; i < len(data); {
		j := i
		for j < len(data) && known[j] {
			j++
		}
		c.write(to+uint64(i), data[i:j])
		i = j + 1
	}
}

// read fills data with what is known.
func (c *Memory) read(addr uint64, data []byte, known []bool) {
	for i := range data {
		a := addr + uint64(i)
		p := c.at(a, false)
		known[i] = false
		if p != nil {
			off := a % contentBytes
			data[i], known[i] = p.data[off], p.known[off/64]>>(off%64)&1 != 0
		}
	}
}

// mark notes of n bytes whether they are known.
func (p *contentPage) mark(off, n uint64, known bool) {
	for n > 0 {
		k := min(n, 64-off%64)
		mask := ^uint64(0) >> (64 - k) << (off % 64)
		if known {
			p.known[off/64] |= mask
		} else {
			p.known[off/64] &^= mask
		}
		off, n = off+k, n-k
	}
}

// any says whether something is known of the bytes of a page.
func (p *contentPage) any() bool {
	n := 0
	for _, w := range p.known {
		n += bits.OnesCount64(w)
	}
	return n > 0
}

// Images gives what is known of a range as events, each of bytes without a gap.
func (c *Memory) Images(addr, size uint64, f func(*trace.Event) error) error {
	data, known := make([]byte, contentBytes), make([]bool, contentBytes)
	for size > 0 {
		n := min(size, contentBytes-addr%contentBytes)
		if p := c.at(addr, false); p != nil && p.any() {
			d, k := data[:n], known[:n]
			c.read(addr, d, k)
			for i := 0; i < len(d); {
				j := i
				for j < len(d) && k[j] {
					j++
				}
				if j > i {
					ev := trace.Event{Kind: trace.KindImage, Addr: trace.Addr(addr + uint64(i)), Size: uint64(j - i), Data: d[i:j], Wall: -1}
					if err := f(&ev); err != nil {
						return err
					}
				}
				i = j + 1
			}
		}
		addr, size = addr+n, size-n
	}
	return nil
}
