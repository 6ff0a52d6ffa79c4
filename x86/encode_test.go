package x86

import "testing"

// TestAppendModRM: what is encoded is decoded as the same, for all operands.
func TestAppendModRM(t *testing.T) {
	indexes := []Reg{NoReg}
	for r := RAX; r < 16; r++ {
		if r != RSP {
			indexes = append(indexes, r)
		}
	}
	for _, base := range append([]Reg{RSP}, indexes...) {
		for _, index := range indexes {
			for _, scale := range []uint8{1, 2, 4, 8} {
				for _, disp := range []int32{0, 1, -128, 127, 128, -1 << 31} {
					const reg = 9
					code := AppendModRM([]byte{REX(true, reg, base, index), 0x8b}, reg, base, index, scale, disp)
					in, err := Decode(code, 0)
					if err != nil || in.Len != len(code) {
						t.Fatalf("% x: %d bytes: %v", code, in.Len, err)
					}
					want := Operand{Base: base, Index: index, Scale: scale, Disp: int64(disp)}
					got, ok := in.Operand()
					if index == NoReg {
						got.Scale = scale
					}
					if !ok || got != want || in.reg|in.r != reg {
						t.Fatalf("% x is %+v, not %+v", code, got, want)
					}
				}
			}
		}
	}
	if rex := REX(false, RDI, RSI, NoReg); rex != 0 {
		t.Errorf("a prefix %#x that is not needed", rex)
	}
}
