package replay

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Memory is kept in pages. What a run has not written it shares with the others: with that from which it goes on, and with
// the machine, which reads of the world what is asked for and no more.

const (
	pageBits  = 8
	pageSize  = 1 << pageBits
	nearPages = 16 // that a run finds at once
)

// page is some of memory, of which words of eight bytes are read when they are asked for.
type page struct {
	data  [pageSize]byte
	known [pageSize / 64]uint64 // bytes, a bit each
	read  uint32                // words, a bit each
}

// nearPage is a page that was used.
type nearPage struct {
	n    uint64
	p    *page
	mine bool // it may be written to
}

// stack says that an address is of the run's own stack.
func stack(addr uint64) bool { return addr-(stackTop-stackLen) < stackLen }

// nowhere says that no program has memory at an address: at the bottom, or above what a process may map.
func nowhere(addr uint64) bool { return addr < 4096 || addr >= 1<<47-4096 }

// page returns the page of an address, to write to if that is wanted.
func (c *cpu) page(addr uint64, write bool) *page {
	n := addr >> pageBits
	if k := &c.near[n%nearPages]; k.p != nil && k.n == n && (k.mine || !write) {
		return k.p
	}
	p := c.pages[n]
	mine := p != nil
	if p == nil {
		p = c.under[n]
	}
	switch {
	case p != nil:
	case stack(addr):
		p, mine = &page{read: ^uint32(0)}, true
		if first := addr &^ (pageSize - 1); c.outer == 0 || first+pageSize <= c.outer {
			p.learn(0, pageSize)
		} else if first < c.outer {
			p.learn(0, int(c.outer-first))
		}
		c.pages[n] = p
	default:
		if p = c.m.base[n]; p == nil {
			p = &page{}
			c.m.base[n] = p
		}
	}
	if write && !mine {
		q := *p
		p, mine = &q, true
		c.pages[n] = p
	}
	c.near[n%nearPages] = nearPage{n, p, mine}
	return p
}

// ask has the words read that [addr, addr+size) lies in, which is in one page.
func (m *Machine) ask(p *page, addr uint64, size int) {
	off := int(addr & (pageSize - 1))
	for w := off >> 3; w <= (off+size-1)>>3; w++ {
		if p.read>>w&1 == 0 {
			m.fill(p, addr>>pageBits, w)
		}
	}
}

// fill reads a word: for the machine's own page, and from there for others.
func (m *Machine) fill(p *page, n uint64, w int) {
	base := m.base[n]
	if base.read>>w&1 == 0 {
		var known [8]bool
		m.world.Read(n<<pageBits+uint64(w)*8, base.data[8*w:8*w+8], known[:])
		for i, is := range known {
			if is {
				base.known[w>>3] |= 1 << (w&7*8 + i)
			}
		}
		base.read |= 1 << w
	}
	if p != base {
		copy(p.data[8*w:8*w+8], base.data[8*w:])
		p.known[w>>3] |= base.known[w>>3] & (0xff << (w & 7 * 8))
		p.read |= 1 << w
	}
}

// knows: all bytes are known.
func (p *page) knows(off, size int) bool {
	is := p.known[off>>6] >> (off & 63)
	if off&63+size > 64 {
		is |= p.known[off>>6+1] << (64 - off&63)
	}
	return bits.TrailingZeros64(^is) >= size
}

// unknown: no byte is known.
func (p *page) unknown(off, size int) bool {
	for i := off; i < off+size; i++ {
		if p.known[i>>6]>>(i&63)&1 != 0 {
			return false
		}
	}
	return true
}

// maxLeft is of how many bytes of a new block it is known that nothing has written them.
const maxLeft = 512

// unlearn notes that nobody has written to memory: what lies there is what was left there.
func (c *cpu) unlearn(addr, size uint64) {
	for end := addr + size; addr < end; {
		off := addr & (pageSize - 1)
		n := min(pageSize-off, end-addr)
		p := c.page(addr, true)
		c.m.ask(p, addr, int(n))
		for i := off; i < off+n; i++ {
			p.known[i>>6] &^= 1 << (i & 63)
		}
		addr += n
	}
}

// leave has what was left in memory that nobody has written to.
func (c *cpu) leave(addr, size uint64, left []Left) {
	for _, l := range left {
		if l.Off < size {
			at := addr + l.Off
			b := &c.page(at, true).data[at&(pageSize-1)]
			*b = *b&^l.Mask | l.Bits&l.Mask
		}
	}
}

// learn notes that bytes are known.
func (p *page) learn(off, size int) {
	for i := off; i < off+size; {
		k := min(64-i&63, off+size-i)
		p.known[i>>6] |= ^uint64(0) >> (64 - k) << (i & 63)
		i += k
	}
}

// load reads up to eight bytes.
func (c *cpu) load(addr uint64, size int) (v uint64) {
	if nowhere(addr) || c.missing(addr) {
		c.fail(ErrFault)
		return 0
	}
	off := int(addr & (pageSize - 1))
	if off+size > pageSize {
		for i := range size {
			v |= c.load(addr+uint64(i), 1) << (8 * i)
		}
		return v
	}
	p := c.page(addr, false)
	if p.read != ^uint32(0) {
		c.m.ask(p, addr, size)
	}
	if p.knows(off, size) {
		return p.number(off, size)
	}
	c.run.Guessed++
	if v = p.number(off, size); size == 8 && c.call.Crash.Unknown != 0 {
		v = c.call.Crash.Unknown
	}
	if !c.call.Brief && c.last != nil && c.last.name == "" && !stack(addr) && p.unknown(off, size) {
		c.unset(Unset{c.pc, addr, size, v, len(c.run.Effects)})
	}
	return v
}

// unset notes that memory was read of which nothing is known.
func (c *cpu) unset(u Unset) {
	if len(c.run.Unset) < maxUnset && !slices.ContainsFunc(c.run.Unset, func(o Unset) bool { return o.Addr == u.Addr }) {
		c.run.Unset = append(c.run.Unset, u)
	}
}

// number is one of up to eight bytes.
func (p *page) number(off, size int) (v uint64) {
	switch size {
	case 8:
		return binary.LittleEndian.Uint64(p.data[off:])
	case 4:
		return uint64(binary.LittleEndian.Uint32(p.data[off:]))
	}
	for i := range size {
		v |= uint64(p.data[off+i]) << (8 * i)
	}
	return v
}

// peek reads up to eight bytes of which nothing need be known.
func (c *cpu) peek(addr uint64, size int) (v uint64) {
	if nowhere(addr) {
		return 0
	}
	for i := range min(size, 8) {
		at := addr + uint64(i)
		p := c.page(at, false)
		c.m.ask(p, at, 1)
		v |= uint64(p.data[at&(pageSize-1)]) << (8 * i)
	}
	return v
}

// put writes bytes, and notes nothing.
func (c *cpu) put(addr uint64, data []byte) {
	if nowhere(addr) || c.missing(addr) {
		c.fail(ErrFault)
		return
	}
	for len(data) > 0 {
		p := c.page(addr, true)
		off := int(addr & (pageSize - 1))
		k := min(len(data), pageSize-off)
		if p.read != ^uint32(0) {
			if off&7 != 0 {
				c.m.ask(p, addr, 1) // that word is written in part
			}
			if (off+k)&7 != 0 {
				c.m.ask(p, addr+uint64(k-1), 1)
			}
			for w := off >> 3; w <= (off+k-1)>>3; w++ {
				p.read |= 1 << w
			}
		}
		copy(p.data[off:], data[:k])
		p.learn(off, k)
		data, addr = data[k:], addr+uint64(k)
	}
}
