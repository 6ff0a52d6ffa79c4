package typing

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/types"
)

// beforeTyping types the blocks that were there before recording began, whose
// allocation nobody saw: by the typed pointers that led to them then, from
// static memory and stacks through other blocks; and if none led to any block of
// a declared type, by size.
type beforeTyping struct {
	t    *Blocks
	hist *mgpp.History
	root []trace.Root
	core *Inferred // nil: not inferred yet
	size map[*check.NodeType]int
}

// StartWith takes into account that the program ran before recording began: of blocks
// that were there the roots tell the types.
func (t *Blocks) StartWith(hist *mgpp.History, roots []trace.Root) {
	t.before = &beforeTyping{t: t, hist: hist, root: roots, size: map[*check.NodeType]int{}}
}

// TypeOf implements graph.Typing for such blocks.
func (b *beforeTyping) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	if b.core == nil {
		b.infer()
	}
	t, offset, why := b.core.TypeOf(n)
	return t, offset, why + " when recording began"
}

// infer walks from the roots through the blocks as they were.
func (b *beforeTyping) infer() {
	hist := b.hist
	view := hist.At(0)
	t := &Inferred{byAddr: map[trace.Addr]*check.NodeType{}, spec: b.t.spec, unique: map[uint64]*check.NodeType{}}
	b.core = t
	w := &typeWalk{m: viewMemory{view}, blocks: map[uint64]uint64{}, seen: map[uint64]bool{}, t: t}
	made := map[trace.Addr]bool{} // since then: the history begins later
	for id := range hist.Live(0) {
		if n := hist.Node(id); n.Before {
			w.blocks[uint64(n.Start)] = n.Size
			made[n.Start] = len(n.Stack) > 0
		}
	}
	for _, r := range b.root {
		if made[r.Addr] {
			continue // another block than the one that was a root
		}
		w.root(b.t.symbols, r)
	}
	w.run()
	if len(t.byAddr) == 0 {
		b.bySizes(w)
	}
}

// bySizes takes blocks as of the declared type of their size if their pointer
// fields hold nothing but NULL and addresses of blocks.
func (b *beforeTyping) bySizes(w *typeWalk) {
	b.core.bySizes()
	unique := b.core.unique
	b.core.unique = nil
	for addr, size := range w.blocks {
		nt := unique[size]
		if nt == nil || !w.plausible(addr, nt.Layout) {
			continue
		}
		b.core.byAddr[trace.Addr(addr)] = nt
		b.size[nt]++
	}
}

// warnings say what was taken by size alone: never silently.
func (b *beforeTyping) warnings() []string {
	var out []string
	for _, nt := range b.t.spec.Types {
		if n := b.size[nt]; n > 0 {
			out = append(out, fmt.Sprintf("%s that recording found were taken as %s by size alone: no typed pointer in static memory or on a stack led to any", report.Plural(n, "block", "blocks"), nt.Name))
		}
	}
	return out
}

// typeNamed finds a type of the program by name: a structure, or pointers to one ("item *").
func typeNamed(s *symbol.Table, name string) *types.Type {
	if to, isPointer := strings.CutSuffix(name, " *"); isPointer {
		if elem := typeNamed(s, to); elem != nil {
			return &types.Type{Kind: types.Pointer, Size: 8, Elem: elem}
		}
		return nil
	}
	for _, im := range s.Images {
		if !im.Traced || im.Obj == nil {
			continue
		}
		if t := structNamed(im.Obj, name); t != nil {
			return t
		}
	}
	return nil
}

func structNamed(f *objfile.File, name string) *types.Type {
	list := f.Universe().Lookup(name)
	i := slices.IndexFunc(list, func(t *types.Type) bool {
		return t.HasMembers() && t.Size > 0
	})
	if i < 0 {
		return nil
	}
	return list[i]
}

// viewMemory is the blocks of a view as memory.
type viewMemory struct{ view mgpp.View }

// ReadMemory implements mem.Memory: all of it, inside of one block, or nothing.
func (v viewMemory) ReadMemory(buf []byte, addr uint64) (int, error) {
	b := mgpp.Bytes{Data: buf, Written: make([]bool, len(buf))}
	if !v.view.Read(trace.Addr(addr), &b) || slices.Contains(b.Written, false) {
		return 0, &mem.UnreadableError{Addr: addr}
	}
	return len(buf), nil
}
