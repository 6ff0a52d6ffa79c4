package symbol

import (
	"encoding/binary"
	"slices"

	"github.com/ianlancetaylor/demangle"

	"mgtrace/trace"
	"mgtrace/x86"
)

// maxTail bounds the jumps from function to function that are followed.
const maxTail = 4

// Tail finds the jump by which a function of the traced files has ended in another one, by its
// name, if that is certain: at -O2
//
//	void drop(struct node *n) { n->owner->nodes--; free(n); }
//
// ends in a jump to free, which returns to where drop was called. So the call that returns to ret is
// one of drop, and what drop and the functions that it jumps to have of jumps to free is at one line.
func (s *Table) Tail(ret trace.Addr, callee string) (jump trace.Addr, ok bool) {
	im, ok := s.Image(ret - 1)
	if !ok || !im.Traced || im.Obj == nil {
		return 0, false
	}
	const size = 5 // call rel32
	at := uint64(ret-im.Bias) - size
	b := im.Obj.Code(at, size)
	if len(b) < size || b[0] != 0xe8 {
		return 0, false
	}
	entry := at + size + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
	if names(im, entry, callee) {
		return 0, false
	}
	jumps, ok := tails(im, entry, callee, maxTail)
	if !ok || len(jumps) == 0 {
		return 0, false
	}
	jump = im.Bias + trace.Addr(jumps[0])
	first, _, _ := s.Where(jump)
	for _, other := range jumps[1:] { // of one statement there may be several
		if f, _, _ := s.Where(im.Bias + trace.Addr(other)); f.File != first.File || f.Line != first.Line || f.Line == 0 {
			return 0, false
		}
	}
	return jump, true
}

// tails are the jumps by which a function, by its entry, may end in one with a name; not ok if there
// may be others.
func tails(im *Image, entry uint64, callee string, depth int) (jumps []uint64, ok bool) {
	if im.Obj.Import(entry) != "" {
		return nil, true // what a library does returns there
	}
	fn, ok := im.Obj.FuncAt(entry)
	if !ok || fn.Addr != entry || fn.Size == 0 || depth == 0 {
		return nil, false
	}
	for at, in := range im.Insts(&fn) {
		if in == nil {
			return nil, false
		}
		o, memory := in.Operand()
		switch {
		case in.Kind != x86.KindJmp && in.Kind != x86.KindJcc || in.Direct && fn.Contains(in.Target):
		case in.Direct && names(im, in.Target, callee):
			jumps = append(jumps, at)
		case in.Direct:
			further, ok := tails(im, in.Target, callee, depth-1)
			if !ok {
				return nil, false
			}
			jumps = append(jumps, further...)
		case memory && o.RIPRelative:
			if is(im.Obj.ImportSlot(at+uint64(in.Len)+uint64(o.Disp)), callee) {
				jumps = append(jumps, at)
			}
		default:
			return nil, false // by a register: anywhere
		}
	}
	return jumps, true
}

// names reports whether a function, or the stub of an import, has a name.
func names(im *Image, entry uint64, name string) bool {
	if is(im.Obj.Import(entry), name) {
		return true
	}
	fn, ok := im.Obj.FuncAt(entry)
	return ok && fn.Addr == entry && (fn.Name == name || fn.Linkage == name || slices.Contains(fn.Aliases, name))
}

// is compares the name of an import with that of a function.
func is(linkage, name string) bool {
	return linkage != "" && (linkage == name || demangle.Filter(linkage) == name)
}
