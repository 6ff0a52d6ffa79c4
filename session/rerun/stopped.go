package rerun

import (
	"mgtrace/mgpp"
	"mgtrace/replay"
)

// Led is the memory on which the address depends that a thread could not reach which was stopped at a time, in such calls, the nearest first.
func Led(p Program, at mgpp.Timestamp, calls []replay.Stopped) []replay.Read {
	return replay.Led(recorded{&world{view: p.History.At(at), symbols: p.Symbols}}, calls)
}

// recorded is the program, with nothing of memory that the history does not have.
type recorded struct{ *world }

// Read implements replay.World.
func (w recorded) Read(addr uint64, data []byte, known []bool) {
	for i := 0; i < len(data); {
		i += max(w.readNode(addr+uint64(i), data[i:], known[i:]), 1)
	}
}
