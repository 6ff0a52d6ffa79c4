package target

import "encoding/binary"

// Opmask is opmask register k of the thread.
func (s *Stopped) Opmask(k int) (uint64, error) {
	raw, err := getXState(s.th.tid)
	if err != nil {
		return 0, err
	}
	return opmask(raw, opmaskAt(), k), nil
}

// opmask takes a register out of a vector state (Intel SDM volume 1, section 13.4): what
// the state does not have is 0, as the processor begins with.
func opmask(state []byte, at uint32, k int) uint64 {
	const has, component = 512, 1 << 5
	if at += uint32(8 * k); len(state) < int(at)+8 || binary.LittleEndian.Uint64(state[has:])&component == 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(state[at:])
}
