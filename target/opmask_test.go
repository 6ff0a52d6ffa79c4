package target

import (
	"encoding/binary"
	"testing"
)

func TestOpmask(t *testing.T) {
	const at = 1088
	state := make([]byte, at+64)
	binary.LittleEndian.PutUint64(state[at+8*3:], 0xf0)
	if got := opmask(state, at, 3); got != 0 {
		t.Errorf("%#x, and the state does not have the opmask registers", got)
	}
	state[512] = 1 << 5
	if got := opmask(state, at, 3); got != 0xf0 {
		t.Errorf("k3 is %#x", got)
	}
	if got := opmask(state[:at], at, 3); got != 0 {
		t.Errorf("%#x behind the end", got)
	}
}
