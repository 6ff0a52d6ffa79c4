package capture

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"mgtrace/objfile"
)

// TestSimpleRules: a remembered rule unwinds as the table itself does, wherever it
// is used.
func TestSimpleRules(t *testing.T) {
	const path = "/lib/x86_64-linux-gnu/libc.so.6"
	f, err := objfile.Open(path, objfile.Options{})
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	r := rand.New(rand.NewPCG(1, 2))
	ranges, _ := f.CodeRanges()
	simple, tried := 0, 0
	for range 20_000 {
		fn := ranges[r.IntN(len(ranges))]
		pc := fn[0] + r.Uint64N(fn[1]-fn[0])
		rule, ok := f.Rule(pc)
		if tried++; !ok {
			continue
		}
		simple++
		var regs objfile.Regs
		for i := range regs.R {
			if r.IntN(8) > 0 {
				regs.Set(i, 0x7fff_0000+8*r.Uint64N(16))
			}
		}
		// What lies beyond either end was not captured.
		stack := Window{Base: 0x7fff_0000 + 8*r.Uint64N(8), Data: make([]byte, 64*r.IntN(8))}
		for i := 0; i < len(stack.Data); i += 8 {
			binary.LittleEndian.PutUint64(stack.Data[i:], r.Uint64N(3)*0x9e3779b97f4a7c15)
		}
		want, wantOK := f.Step(pc, &regs, stack.Read, 0)
		got := regs
		fr := frame{rule: rule}
		gotOK := fr.step(&got, &stack, new(marks))
		if gotOK != wantOK {
			t.Fatalf("%#x: %v, the table says %v", pc, gotOK, wantOK)
		}
		if !wantOK {
			continue
		}
		if got.Known != want.Known {
			t.Fatalf("%#x: registers known %#x, the table says %#x", pc, got.Known, want.Known)
		}
		for i := range got.R {
			if got.Known>>i&1 != 0 && got.R[i] != want.R[i] {
				t.Fatalf("%#x: register %d is %#x, the table says %#x", pc, i, got.R[i], want.R[i])
			}
		}
	}
	if simple < tried*9/10 {
		t.Errorf("only %d of %d places have a simple rule", simple, tried)
	}
}
