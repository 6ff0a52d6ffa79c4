package typing

import (
	"encoding/binary"
	"fmt"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/probe/evidence"
	"mgtrace/session/symbol"
	"mgtrace/target/core"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/types"
)

// Inferred types blocks by address, as inferred, else by size.
type Inferred struct {
	byAddr map[trace.Addr]*check.NodeType
	spec   *check.Spec
	unique map[uint64]*check.NodeType // by usable size
}

// TypeOf implements graph.Typing.
func (t *Inferred) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	if nt := t.byAddr[n.Start]; nt != nil {
		return nt, 0, "by the pointers that lead to it"
	}
	if nt := t.unique[n.Size]; nt != nil {
		return nt, 0, "by size"
	}
	return nil, 0, "nothing tells its type"
}

// Infer follows typed pointers, from static memory and the stacks on: a block to
// which a pointer to T leads is a T.
func Infer(m mem.Memory, heap *core.Heap, spec *check.Spec, symbols *symbol.Table, stacks [][]objfile.Level) *Inferred {
	t := &Inferred{byAddr: map[trace.Addr]*check.NodeType{}, spec: spec, unique: map[uint64]*check.NodeType{}}
	blocks := map[uint64]uint64{}
	for _, b := range heap.InUse() {
		blocks[b.Addr] = b.Size
	}
	w := &typeWalk{m: m, blocks: blocks, seen: map[uint64]bool{}, t: t}
	for _, r := range Roots(m, symbols, heap.InUse(), stacks) {
		w.root(symbols, r)
	}
	w.run()
	if len(t.byAddr) == 0 {
		t.bySizes()
	}
	return t
}

// Warnings say what was taken by size alone: never silently.
func (t *Inferred) Warnings() []string {
	var out []string
	for _, nt := range t.spec.Types {
		if nt.Layout != nil && t.unique[core.Usable(uint64(max(nt.Layout.Size, 0)))] == nt {
			out = append(out, fmt.Sprintf("every block of %s's size was taken as %s by size alone: no typed pointer in static memory or on a stack led to any", nt.Name, nt.Name))
		}
	}
	return out
}

// root takes a block that a root leads to.
func (w *typeWalk) root(symbols *symbol.Table, r trace.Root) {
	if typ := typeNamed(symbols, r.Type); typ != nil && !w.seen[uint64(r.Addr)] {
		w.seen[uint64(r.Addr)] = true
		w.queue = append(w.queue, typedBlock{uint64(r.Addr), typ})
	}
}

// bySizes is the last resort, where no typed pointer leads to any node: malloc
// rounds a size up to 16 bytes less 8.
func (t *Inferred) bySizes() {
	for _, nt := range t.spec.Types {
		if nt.Array || nt.Intrusive || nt.Layout == nil || nt.Layout.Size <= 0 {
			continue
		}
		usable := core.Usable(uint64(nt.Layout.Size))
		if _, taken := t.unique[usable]; taken || t.spec.InRows(nt) {
			t.unique[usable] = nil
			continue
		}
		t.unique[usable] = nt
	}
}

// typeWalk visits blocks by typed pointers.
type typeWalk struct {
	m      mem.Memory
	blocks map[uint64]uint64
	seen   map[uint64]bool
	queue  []typedBlock
	t      *Inferred
}

type typedBlock struct {
	addr uint64
	typ  *types.Type
}

// EachPointer calls f for the pointers in an object that lies at addr: itself, or its
// fields.
func EachPointer(addr uint64, t *types.Type, f func(addr uint64, t *types.Type)) {
	if t.Kind == types.Pointer {
		f(addr, t)
		return
	}
	for _, s := range t.Scalars() {
		if s.Type != nil && s.Type.Kind == types.Pointer {
			f(addr+uint64(s.Offset), s.Type)
		}
	}
}

// object follows the pointers of one object.
func (w *typeWalk) object(addr uint64, t *types.Type) { EachPointer(addr, t, w.pointer) }

func (w *typeWalk) pointer(addr uint64, t *types.Type) {
	var b [8]byte
	if n, _ := w.m.ReadMemory(b[:], addr); n < len(b) || t.Elem == nil {
		return
	}
	to := binary.LittleEndian.Uint64(b[:]) &^ 7
	if size, ok := w.blocks[to]; ok && !w.seen[to] && t.Elem.Size > 0 && uint64(t.Elem.Size) <= size {
		w.seen[to] = true
		w.queue = append(w.queue, typedBlock{to, t.Elem})
	}
}

func (w *typeWalk) run() {
	for len(w.queue) > 0 {
		b := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		nt := w.declared(b.typ, w.blocks[b.addr])
		if nt != nil {
			w.t.byAddr[trace.Addr(b.addr)] = nt
		}
		step := max(b.typ.Size, 1)
		for at := uint64(0); at+uint64(step) <= w.blocks[b.addr]; at += uint64(step) {
			w.object(b.addr+at, b.typ)
			if b.typ.Kind != types.Pointer && (nt == nil || !nt.Array) {
				break // a pointer to a structure does not tell that there are many
			}
		}
	}
}

// declared is the type of nodes that a block is of to which a pointer to t leads: a single t's, or
// an ARRAY of them. Where both are declared, a block of more than one is the array.
func (w *typeWalk) declared(t *types.Type, size uint64) *check.NodeType {
	var one, many *check.NodeType
	for _, nt := range w.t.spec.Types {
		switch {
		case !fits(nt, evidence.Evidence{Type: t}):
		case !nt.Array:
			one = nt
		case !nt.Intrusive:
			many = nt
		}
	}
	if many != nil && (one == nil || size > core.Usable(uint64(t.Size))) {
		return many
	}
	return one
}

// plausible reports whether the pointers of an object lead to blocks.
func (w *typeWalk) plausible(addr uint64, t *types.Type) bool {
	pointers := 0
	for _, s := range t.Scalars() {
		if s.Type == nil || !s.Type.IsPointerTo() {
			continue
		}
		v, err := mem.ReadUint64(w.m, addr+uint64(s.Offset))
		if _, ok := w.blocks[v&^7]; err != nil || v != 0 && !ok {
			return false
		}
		if v != 0 {
			pointers++
		}
	}
	return pointers > 0
}
