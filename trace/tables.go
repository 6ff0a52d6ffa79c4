package trace

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// writerTables are the strings and stacks so far.
type writerTables struct {
	strings map[string]uint64
	stacks  map[string]uint64
	names   [1 << nameBits]knownString // some of those that came last, by where they lie
	known   [1 << knownBits]knownStack // some of those that came last
	key     []byte
	newStr  []byte // coded, since the last block
	newStk  []byte
	nStr    uint64
	nStk    uint64
}

const (
	nameBits  = 6
	knownBits = 12
	mix       = 0x9e3779b97f4a7c15
)

// knownString is a string and its index.
type knownString struct {
	s  string
	id uint64
}

func (x *writerTables) string(s string) uint64 {
	at := uint64(uintptr(unsafe.Pointer(unsafe.StringData(s))))
	k := &x.names[at*mix>>(64-nameBits)]
	if k.s == s {
		return k.id
	}
	id, ok := x.strings[s]
	if !ok {
		id = uint64(len(x.strings))
		x.strings[s] = id
		x.newStr = append(binary.AppendUvarint(x.newStr, uint64(len(s))), s...)
		x.nStr++
	}
	*k = knownString{s, id}
	return id
}

// knownStack is a stack, which is the table's own, and its index.
type knownStack struct {
	stack []Addr
	id    uint64
}

// stack returns the index of a stack. Producers keep one copy of each: it is sought by where
// it lies first.
func (x *writerTables) stack(s []Addr) uint64 {
	if len(s) == 0 {
		return 0
	}
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s))))
	k := &x.known[at*mix>>(64-knownBits)]
	if slices.Equal(k.stack, s) {
		return k.id
	}
	id := x.lookup(s)
	k.stack, k.id = append(k.stack[:0], s...), id
	return id
}

func (x *writerTables) lookup(s []Addr) uint64 {
	x.key = x.key[:0]
	prev := Addr(0)
	for _, a := range s {
		x.key = binary.AppendUvarint(x.key, zigzag(uint64(a-prev)))
		prev = a
	}
	id, ok := x.stacks[string(x.key)]
	if !ok {
		id = uint64(len(x.stacks))
		x.stacks[string(x.key)] = id
		x.newStk = append(binary.AppendUvarint(x.newStk, uint64(len(s))), x.key...)
		x.nStk++
	}
	return id
}

func (t *Writer) flushTables() {
	x := &t.tables
	if x.nStr == 0 && x.nStk == 0 {
		return
	}
	raw := append(binary.AppendUvarint(t.raw[:0], x.nStr), x.newStr...)
	raw = append(binary.AppendUvarint(raw, x.nStk), x.newStk...)
	t.raw = raw
	x.nStr, x.nStk, x.newStr, x.newStk = 0, 0, x.newStr[:0], x.newStk[:0]
	t.writeBlock(blockTables, 0, raw)
}
