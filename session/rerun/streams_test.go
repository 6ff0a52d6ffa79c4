package rerun

import (
	"encoding/binary"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/session/symbol"
)

// TestStream: a newline is widened by an output stream's tables as GCC compiles std::endl, and nothing else of the stream is known.
func TestStream(t *testing.T) {
	const cout = 0x4080
	h := mgpp.New(mgpp.Options{})
	w := world{view: h.At(0), history: h, symbols: symbol.New(nil, &symbol.Sources{}), constant: append(stream(cout), tables()...)}
	read := func(addr uint64, size int) uint64 {
		data, is := make([]byte, 8), make([]bool, 8)
		w.Read(addr, data[:size], is[:size])
		if !is[0] || !is[size-1] {
			t.Fatalf("%#x is not known", addr)
		}
		return binary.LittleEndian.Uint64(data)
	}
	table := read(cout, 8)                  // mov (%rax),%rax
	base := read(table-0x18, 8)             // mov -0x18(%rax),%rax
	ctype := read(cout+base+0xf0, 8)        // mov 0xf0(%r12,%rax,1),%r14
	if ok := read(ctype+0x38, 1); ok == 0 { // cmpb $0x0,0x38(%r14)
		t.Error("it has no table")
	}
	if c := read(ctype+0x43, 1); c != '\n' { // movsbl 0x43(%r14),%esi
		t.Errorf("a newline is widened to %d", c)
	}
	data, is := make([]byte, 8), make([]bool, 8)
	if w.Read(cout+16, data, is); is[0] {
		t.Error("what nobody knows is known")
	}
}
