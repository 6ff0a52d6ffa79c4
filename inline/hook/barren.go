package hook

import (
	"encoding/binary"

	"mgtrace/inline/layout"
)

// Barren says what the routine would close of what the tracer asks for (layout.Asked), if it ran now: the
// granules in [lo, hi). None: it would refuse. process is the process block, kept what lies at layout.Barren;
// no thread is in the routine.
func Barren(process, kept []byte) (lo, hi uint64) {
	u64 := func(at uint64) uint64 { return binary.LittleEndian.Uint64(kept[at:]) }
	block, addr, size, time := u64(layout.BarrenBlock), u64(layout.BarrenAddr), u64(layout.BarrenBytes), u64(layout.BarrenTime)
	if binary.LittleEndian.Uint64(process[layout.Many:]) != 0 {
		return 0, 0
	}
	slot := (block >> layout.GranuleShift) * layout.VerdictHash >> layout.VerdictShift & (layout.BarrenEnded - 1)
	if u64(layout.BarrenEnds+8*slot) >= time {
		return 0, 0
	}
	next := binary.LittleEndian.Uint32(kept[layout.BarrenNext:])
	for k := range uint32(layout.BarrenMembers) {
		made := layout.BarrenMade + 24*uint64((next-1-k)&(layout.BarrenMembers-1))
		if u64(made+16) < time {
			return (addr + layout.Granule - 1) &^ (layout.Granule - 1), (addr + size) &^ (layout.Granule - 1)
		}
		if u64(made) < addr+size && addr < u64(made+8) {
			break
		}
	}
	return 0, 0 // a node was made there, or more than are known
}
