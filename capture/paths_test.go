package capture

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// TestPaths: a stack that is recognised is what unwinding it would give, whatever
// has changed in it since it was unwound.
func TestPaths(t *testing.T) {
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	f, err := objfile.Open(libc, objfile.Options{})
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	ranges, _ := f.CodeRanges()
	find := func(pc uint64) (*objfile.File, uint64, bool) { return f, 0, pc < 0x7000_0000 }
	rng := rand.New(rand.NewPCG(3, 4))
	remembers := &CallFrames{find: find, depth: 12, frames: make([]frame, 1<<frameBits), paths: new(pathTable)}
	forgets := &CallFrames{find: find, depth: 12, frames: make([]frame, 1<<frameBits), paths: new(pathTable)}
	recognised, changed := 0, 0
	for range 400 {
		// Few frames, so that many words are return addresses of them.
		var code []uint64
		for len(code) < 6 {
			fn := ranges[rng.IntN(len(ranges))]
			pc := fn[0] + rng.Uint64N(fn[1]-fn[0])
			if r, ok := f.Rule(pc); ok && !r.Outermost && r.Offset < 200 {
				code = append(code, pc)
			}
		}
		base := 0x7ffc_0000 + 16*rng.Uint64N(100)
		word := func() uint64 {
			switch rng.IntN(12) {
			case 0:
				return base + 8*rng.Uint64N(40)
			case 1:
				return 0
			case 2:
				return 0x7000_0001
			}
			return code[rng.IntN(len(code))]
		}
		data := make([]byte, 8*(40+rng.IntN(40)))
		for i := 0; i < len(data); i += 8 {
			binary.LittleEndian.PutUint64(data[i:], word())
		}
		var regs objfile.Regs
		for _, i := range []int{3, objfile.RegBP, 12, 13, 14, 15} {
			regs.Set(i, word())
		}
		regs.Set(objfile.RegSP, base+8)
		regs.Set(objfile.RegPC, code[0])
		var last []trace.Addr
		for range 40 {
			a, b := regs, regs
			stack := Window{Base: base, Data: data[:len(data)-8*(rng.IntN(30)/29)*rng.IntN(40)]}
			key := PathKey{regs.PC(), regs.SP()}
			known := remembers.paths[key.Set()].find(key, &a, &stack) != nil
			got := remembers.Unwind(&a, &stack)
			clear(forgets.paths[:])
			want := forgets.Unwind(&b, &stack)
			if !slices.Equal(got, want) {
				t.Fatalf("recognised (%v) as %#x, is %#x", known, got, want)
			}
			if known {
				recognised++
			}
			if last != nil && !slices.Equal(got, last) {
				changed++
			}
			last = got
			switch rng.IntN(4) {
			case 0:
				binary.LittleEndian.PutUint64(data[8*rng.IntN(12):], word())
			case 1:
				regs.Set([]int{3, objfile.RegBP, 12, 13, 14, 15}[rng.IntN(6)], word())
			}
		}
	}
	if recognised < 4000 || changed < 400 {
		t.Errorf("only %d were recognised, %d differed from the one before", recognised, changed)
	}
}
