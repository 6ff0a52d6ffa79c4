package patch

import (
	"math/bits"
	"sync/atomic"

	"mgtrace/parallel"
	"mgtrace/x86"
)

// state is what is known of each byte of the code.
type state = byte

const (
	lenMask  state = 0x0f // length of the instruction that begins here, 0: none does
	locked   state = 0x10 // the byte keeps the value that it has now
	pending  state = 0x20 // part of a site whose turn has not come
	doubtful state = 0x40 // the sweep may be out of step: no victim
	// prefixed: a branch leads behind the LOCK prefix that begins here, to skip
	// it. Jumps at both places may lead to the same trampoline.
	prefixed state = 0x80
	// dead, on a byte where no instruction begins: control never gets here.
	dead state = 0x80
)

// image is one Code while it is being patched.
type image struct {
	*Code
	new     []byte // the bytes as they will be
	state   []state
	targets []uint64 // bit per byte: a direct branch or a pin leads here
}

func newImage(c *Code) *image {
	return &image{
		Code:    c,
		new:     append([]byte(nil), c.Bytes...),
		state:   make([]state, len(c.Bytes)),
		targets: make([]uint64, (len(c.Bytes)+63)/64),
	}
}

func (m *image) inst(off int) (x86.Inst, error) {
	return x86.Decode(m.Bytes[off:], m.Addr+uint64(off))
}

// pieceBytes is how much code is decoded in one go, about.
const pieceBytes = 256 << 10

// sweep finds the instructions of the ranges, and where direct branches lead.
// What lies outside is locked.
func sweep(images []*image) {
	for _, m := range images {
		for i := range m.state {
			m.state[i] = locked
		}
		cuts := parallel.Cut(len(m.Funcs), pieceBytes, func(i int) int { return int(m.Funcs[i].Hi - m.Funcs[i].Lo) })
		parallel.Do(len(cuts)-1, func(k int) {
			for _, f := range m.Funcs[cuts[k]:cuts[k+1]] {
				lo, hi := max(f.Lo, m.Addr), min(f.Hi, m.end())
				if lo < hi {
					m.sweep(images, int(lo-m.Addr), int(hi-m.Addr))
				}
			}
		})
		for _, p := range m.Pinned {
			if off := p - m.Addr; off < uint64(len(m.Bytes)) {
				m.pin(images, int(off))
			}
		}
	}
	for _, m := range images {
		m.enter(images)
	}
}

func (m *image) sweep(images []*image, lo, hi int) {
	var doubt state
	for off := lo; off < hi; {
		length, target, direct, err := x86.Extent(m.Bytes[off:hi], m.Addr+uint64(off))
		if err != nil { // data among the instructions
			doubt = doubtful
			off++
			continue
		}
		m.state[off] = doubt | state(length)
		for i := off + 1; i < off+length; i++ {
			m.state[i] = doubt
		}
		if direct {
			branch(images, m, target)
		}
		off += length
	}
}

// branch notes that a branch of m leads to the address. Several goroutines call it.
func branch(images []*image, m *image, to uint64) {
	if off := to - m.Addr; off < uint64(len(m.Bytes)) {
		atomic.OrUint64(&m.targets[off>>6], 1<<(off&63))
		return
	}
	for _, o := range images {
		if off := to - o.Addr; o != m && off < uint64(len(o.Bytes)) {
			atomic.OrUint64(&o.targets[off>>6], 1<<(off&63))
		}
	}
}

// enter looks at the branches that lead into instructions.
func (m *image) enter(images []*image) {
	for i, w := range m.targets {
		for ; w != 0; w &= w - 1 {
			m.visit(images, i<<6+bits.TrailingZeros64(w))
		}
	}
}

// visit is one such branch. The bytes that are executed then, up to the next
// instruction of the sweep, are locked.
func (m *image) visit(images []*image, off int) {
	if m.state[off]&lenMask == 0 && !m.behindLock(off) {
		m.pin(images, off)
	}
}

// behindLock marks an instruction with a LOCK prefix if off is the byte behind it.
func (m *image) behindLock(off int) bool {
	if off == 0 || m.Bytes[off-1] != 0xf0 || m.state[off-1]&(lenMask|locked) <= 1 || m.state[off-1]&locked != 0 {
		return false
	}
	m.state[off-1] |= prefixed
	return true
}

// pin locks what is executed from off on until an instruction of the sweep
// begins, the one at off included if there is one.
func (m *image) pin(images []*image, off int) {
	for first := true; off < len(m.Bytes) && (first || m.state[off]&lenMask == 0); first = false {
		in, err := m.inst(off)
		if err != nil {
			m.state[off] |= locked
			return
		}
		for i := off; i < off+in.Len; i++ {
			m.state[i] |= locked
		}
		if in.Direct {
			m.follow(images, in.Target)
		}
		if in.Kind == x86.KindJmp || in.Kind == x86.KindRet || in.Kind == x86.KindStop {
			return
		}
		off += in.Len
	}
}

// follow looks at where a branch of pinned code leads, unless that is noted:
// enter looks there.
func (m *image) follow(images []*image, to uint64) {
	for _, o := range images {
		off := to - o.Addr
		if off < uint64(len(o.Bytes)) && o.targets[off>>6]>>(off&63)&1 == 0 {
			o.targets[off>>6] |= 1 << (off & 63)
			o.visit(images, int(off))
		}
	}
}

// unlocked counts the bytes in [off, off+n) before the first locked one.
func (m *image) unlocked(off, n int) int {
	for i := range n {
		if m.state[off+i]&locked != 0 {
			return i
		}
	}
	return n
}

// clear says that no byte in [off, off+n) has one of the flags.
func (m *image) clear(off, n int, flags state) bool {
	for _, s := range m.state[off : off+n] {
		if s&flags != 0 {
			return false
		}
	}
	return true
}

func (m *image) lock(off, n int) {
	for i := off; i < off+n; i++ {
		m.state[i] |= locked
	}
}
