package target

import (
	"encoding/binary"
	"testing"
)

func TestVectors(t *testing.T) {
	at := map[uint32]uint32{upperYMM: 576, opmasks: 1088, upperZMM: 1152, highZMM: 1664}
	state := make([]byte, 2688)
	mark := func(at int, v byte) { state[at] = v }
	mark(160+16*3, 1)
	mark(576+16*3, 2)
	mark(1152+32*3, 3)
	mark(1664+64*4, 4)
	binary.LittleEndian.PutUint64(state[1088+8*3:], 0xf0)
	of := func(has uint64, state []byte) Vectors {
		binary.LittleEndian.PutUint64(state[512:], has)
		return Vectors{state, func(c uint32) uint32 { return at[c] }}
	}
	for _, c := range []struct {
		name   string
		v      Vectors
		opmask uint64
		parts  [3]byte // of ZMM3
		high   byte    // of ZMM20
	}{
		{"all", of(0xe7, state), 0xf0, [3]byte{1, 2, 3}, 4},
		{"AVX only", of(7, append([]byte(nil), state...)), 0, [3]byte{1, 2, 0}, 0},
		{"SSE only", of(3, append([]byte(nil), state...)), 0, [3]byte{1, 0, 0}, 0},
		{"cut off", of(0xe7, append([]byte(nil), state[:1088]...)), 0, [3]byte{1, 2, 0}, 0},
		{"nothing", Vectors{nil, func(uint32) uint32 { return 0 }}, 0, [3]byte{}, 0},
	} {
		b, high := c.v.Vector(3), c.v.Vector(20)
		if got := [3]byte{b[0], b[16], b[32]}; c.v.Opmask(3) != c.opmask || got != c.parts || high[0] != c.high {
			t.Errorf("%s: k3 %#x, zmm3 %v, zmm20 %v", c.name, c.v.Opmask(3), got, high[0])
		}
	}
}
