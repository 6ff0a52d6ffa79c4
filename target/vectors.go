package target

import "encoding/binary"

// Vectors are a thread's vector and opmask registers.
type Vectors struct {
	state []byte // as ptrace gives it
	at    func(component uint32) uint32
}

// Vectors returns the thread's.
func (s *Stopped) Vectors() (Vectors, error) {
	raw, err := getXState(s.th.tid)
	return Vectors{raw, stateAt}, err
}

// The components of the vector state, by number (Intel SDM volume 1, section 13.4): the
// upper halves of YMM, the opmask registers, the upper halves of ZMM 0 to 15, ZMM 16 to 31.
const (
	sse      = 1
	upperYMM = 2
	opmasks  = 5
	upperZMM = 6
	highZMM  = 7
)

// part copies what a component has at an offset; what the state does not have is 0, as the
// processor begins with.
func (v Vectors) part(to []byte, component, off uint32) {
	const has = 512
	at := uint32(160) // of XMM0
	if component != sse {
		at = v.at(component)
	}
	if at == 0 || len(v.state) < has+8 || binary.LittleEndian.Uint64(v.state[has:])>>component&1 == 0 || uint32(len(v.state)) < at+off+uint32(len(to)) {
		clear(to)
		return
	}
	copy(to, v.state[at+off:])
}

// Opmask is opmask register k.
func (v Vectors) Opmask(k int) uint64 {
	var b [8]byte
	v.part(b[:], opmasks, uint32(8*k))
	return binary.LittleEndian.Uint64(b[:])
}

// Vector is vector register n, its lowest byte first.
func (v Vectors) Vector(n int) (b [64]byte) {
	if n >= 16 {
		v.part(b[:], highZMM, uint32(64*(n-16)))
		return b
	}
	v.part(b[:16], sse, uint32(16*n))
	v.part(b[16:32], upperYMM, uint32(16*n))
	v.part(b[32:], upperZMM, uint32(32*n))
	return b
}
