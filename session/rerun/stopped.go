package rerun

import (
	"encoding/binary"

	"mgtrace/mgpp"
	"mgtrace/replay"
)

// Led is the memory on which the address depends that a thread could not reach which was stopped at a time, in such calls, the nearest first.
func Led(p Program, at mgpp.Timestamp, calls []replay.Stopped) []replay.Read {
	return replay.Led(recorded{&world{view: p.History.At(at), history: p.History, symbols: p.Symbols}}, calls)
}

// Argument is the first argument of the call before which a thread was stopped, if that is known, and the memory on which it depends, the
// nearest first.
func Argument(p Program, at mgpp.Timestamp, calls []replay.Stopped) (value uint64, known bool, led []replay.Read) {
	return replay.Argument(recorded{&world{view: p.History.At(at), history: p.History, symbols: p.Symbols}}, calls)
}

// Word is what eight bytes of a block held at a time: where nothing had written them, what another block has left there, if that was recorded;
// else 0.
func Word(p Program, at mgpp.Timestamp, addr uint64) uint64 {
	var data [8]byte
	w := recorded{&world{view: p.History.At(at), history: p.History, symbols: p.Symbols}}
	w.Read(addr, data[:], make([]bool, len(data)))
	return binary.LittleEndian.Uint64(data[:])
}

// recorded is the program, with nothing of memory that the history does not have.
type recorded struct{ *world }

// Read implements replay.World.
func (w recorded) Read(addr uint64, data []byte, known []bool) {
	for i := 0; i < len(data); {
		i += max(w.readNode(addr+uint64(i), data[i:], known[i:]), 1)
	}
}
