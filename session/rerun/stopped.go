package rerun

import (
	"encoding/binary"

	"mgtrace/mgpp"
	"mgtrace/replay"
)

// Led is the memory on which the address depends that a thread could not reach which was stopped at a time, in such calls, the nearest first.
func Led(p Program, at mgpp.Timestamp, calls []replay.Stopped) []replay.Read {
	return replay.Led(recordedAt(p, at), calls)
}

// Argument is the first argument of the call before which a thread was stopped, if that is known, and the memory on which it depends, the
// nearest first.
func Argument(p Program, at mgpp.Timestamp, calls []replay.Stopped) (value uint64, known bool, led []replay.Read) {
	return replay.Argument(recordedAt(p, at), calls)
}

// Words tells what eight bytes of a block held at a time: where nothing had written them, what another block has left there, if that was
// recorded; else 0.
func Words(p Program, at mgpp.Timestamp) func(addr uint64) uint64 {
	w := recordedAt(p, at)
	return func(addr uint64) uint64 {
		var data [8]byte
		var known [8]bool
		w.Read(addr, data[:], known[:])
		return binary.LittleEndian.Uint64(data[:])
	}
}

// recorded is the program, with nothing of memory that the history does not have.
type recorded struct{ *world }

func recordedAt(p Program, at mgpp.Timestamp) recorded {
	return recorded{&world{view: p.History.At(at), history: p.History, symbols: p.Symbols}}
}

// Read implements replay.World.
func (w recorded) Read(addr uint64, data []byte, known []bool) {
	for i := 0; i < len(data); {
		i += max(w.readNode(addr+uint64(i), data[i:], known[i:]), 1)
	}
}
