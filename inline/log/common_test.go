package log

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// TestCommon: the loop that is written in assembly decodes what the one in Go does, and stops where
// it does.
func TestCommon(t *testing.T) {
	if !assembled {
		t.Skip("not on this processor")
	}
	plan := testPlan()
	table := NewTable(plan, false)
	stops := map[bool]int{}
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		simple := rnd.IntN(3) > 0
		var log []byte
		for range rnd.IntN(300) {
			addr := uint64(0x50000+8*rnd.IntN(100)) + uint64(rnd.IntN(4))<<zoneShift
			value := make([]byte, 64)
			for i := range value {
				value[i] = byte(rnd.Uint32())
			}
			switch {
			case !simple && rnd.IntN(100) == 0:
				log = append(log, note(layout.NoteMap, 0, addr, 8, 0)...)
			default:
				index := []int{sQuad, sLong, sByte, sIndex, sPair}[rnd.IntN(5)]
				if !simple && rnd.IntN(50) == 0 {
					index = rnd.IntN(len(plan.Stores))
					if layout.Complex(&plan.Stores[index].Effect) {
						index = sTen
					}
				}
				log = append(log, storeRecord{index: index, addr: addr, base: addr, value: value}.bytes(plan, false)...)
			}
		}
		log = append(log, make([]byte, longest)...)
		var zones [numZones]zone
		for i := range zones {
			lo := uint64(i) << zoneShift
			zones[i] = zone{lo: lo, room: 1 << zoneShift, n: 1<<zoneShift + 63, wanted: rnd.IntN(3) > 0}
			if rnd.IntN(9) == 0 {
				zones[i] = zone{}
			}
		}
		type result struct {
			on, at, left uintptr
			recs         []trace.StoreRec
			wide         []byte
		}
		run := func(loop func(unsafe.Pointer, unsafe.Pointer, uintptr, unsafe.Pointer, uintptr, *others) (unsafe.Pointer, uintptr, uintptr)) (x result) {
			x.recs, x.wide = make([]trace.StoreRec, 301), make([]byte, 301*pair)
			most := uintptr(min(len(x.recs), (len(log)-longest)/plainSize+1)) * recSize
			o := others{zones: &zones, wide: unsafe.Pointer(unsafe.SliceData(x.wide))}
			start := unsafe.Pointer(unsafe.SliceData(log))
			on, at, left := loop(start, unsafe.Pointer(unsafe.SliceData(x.recs)), most, unsafe.Pointer(unsafe.SliceData(table.plain)), uintptr(len(table.plain)-1)*formSize, &o)
			x.on, x.at, x.left, x.wide = uintptr(on)-uintptr(start), at, left, x.wide[:o.used]
			return x
		}
		want, got := run(common), run(commonAssembled)
		if want.on != got.on || want.at != got.at || want.left != got.left || !slices.Equal(want.recs, got.recs) || !bytes.Equal(want.wide, got.wide) {
			t.Fatalf("seed %d: %d bytes, %d stores, %d left; want %d, %d, %d", seed, got.on, got.at, got.left, want.on, want.at, want.left)
		}
		stops[got.at == got.left]++
	}
	if stops[true] < 100 || stops[false] < 100 {
		t.Errorf("%d ended early, %d did not", stops[false], stops[true])
	}
}
