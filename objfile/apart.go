package objfile

import (
	"cmp"
	"slices"

	"mgtrace/objfile/dwarf"
	"mgtrace/types"
)

// Clang keeps the members of a structure that one file alone knows as objects of their own (LLVM, GlobalOpt), and only
// those that are used. Debug information says where each lies (DWARF 5, 2.6.1.2). They mostly lie side by side, if not as in
// the structure: so the variable is what lies from the first to the last, of a type with the members where they are.

// piece is a part of a variable in static memory.
type piece struct {
	off, size int64 // bytes, in the variable
	addr      int64
}

// pieces returns the parts of a variable that are in static memory; ok is false if a part is described otherwise.
func (l *locator) pieces(expr []byte) (out []piece, ok bool) {
	l.stack = l.stack[:0]
	var off int64
	for b := dwarf.NewBuf(expr, 0); b.More(); {
		op := b.U8()
		if op != 0x93 { // DW_OP_piece
			if !l.op(op, &b) || b.Bad() || len(l.stack) > 1 {
				return nil, false
			}
			continue
		}
		size := int64(b.Uleb())
		if b.Bad() || size <= 0 || size > 1<<32 {
			return nil, false
		}
		if at, here := l.pop(); here {
			if at.kind != opConst {
				return nil, false
			}
			out = append(out, piece{off, size, at.n})
		}
		off += size
	}
	return out, len(l.stack) == 0 && len(out) > 0
}

// gather gives the variables that are in pieces a place, each from its first piece to the end of its last, if nothing else
// lies between these.
func (r *globalReader) gather() {
	f := r.file
	f.placeless = slices.DeleteFunc(f.placeless, func(g global) bool {
		if len(g.parts) == 0 || g.typ.Unit == nil {
			return false
		}
		from, to := extent(g.parts)
		t := gathered(f.conv.convert(g.typ), 0, g.parts, from)
		if t == nil || f.holds(from, max(to, from+t.Size), g.parts) {
			return false
		}
		for _, p := range g.parts {
			r.seen[uint64(p.addr)] = true
		}
		g.v.Loc, g.laid = Location{Kind: LocStatic, Offset: from}, t
		f.globals = append(f.globals, g)
		return true
	})
}

// holds reports whether an object that is none of some pieces has memory between two addresses.
func (f *File) holds(from, to int64, parts []piece) bool {
	return slices.ContainsFunc(f.symbolTable().objects, func(s symbol) bool {
		at := int64(s.addr)
		return at < to && from < at+int64(max(s.size, 1)) && !slices.ContainsFunc(parts, func(p piece) bool { return at == p.addr })
	})
}

// extent is where the first of some pieces begins and the last ends.
func extent(parts []piece) (from, to int64) {
	first := slices.MinFunc(parts, func(a, b piece) int { return cmp.Compare(a.addr, b.addr) })
	for _, p := range parts {
		to = max(to, p.addr+p.size)
	}
	return first.addr, to
}

// gathered is a structure at an offset of a variable, with the members that are in some piece of it, where they lie behind an
// address; nil if none is. Where all lie as in the structure, it is the structure.
func gathered(t *types.Type, off int64, parts []piece, from int64) *types.Type {
	if t == nil || t.Kind != types.Struct {
		return nil
	}
	out := &types.Type{Kind: types.Struct, Align: 1, Arrow: t.Arrow}
	if t.Name != "" {
		out.Name = t.Name + ", taken apart" // no node is of it: those are laid out as in the source
	}
	same := true
	for _, m := range t.Members {
		at := off + m.Offset
		i := slices.IndexFunc(parts, func(p piece) bool { return m.Offset >= 0 && p.off <= at && at+max(m.Type.Size, 1) <= p.off+p.size })
		switch {
		case i >= 0:
			m.Offset = parts[i].addr + at - parts[i].off - from
		default:
			inner := slices.DeleteFunc(slices.Clone(parts), func(p piece) bool { return p.off < at || p.off+p.size > at+m.Type.Size })
			if len(inner) == 0 {
				same = false
				continue
			}
			first, _ := extent(inner)
			laid := gathered(m.Type, at, inner, first)
			if laid == nil {
				same = false
				continue
			}
			m.Type, m.Offset = laid, first-from
		}
		same = same && m.Offset == t.Members[len(out.Members)].Offset && m.Type == t.Members[len(out.Members)].Type
		out.Size = max(out.Size, m.Offset+max(m.Type.Size, 0))
		out.Members = append(out.Members, m)
	}
	switch {
	case same:
		return t
	case len(out.Members) == 0:
		return nil
	}
	slices.SortStableFunc(out.Members, func(a, b types.Member) int { return cmp.Compare(a.Offset, b.Offset) })
	return out
}
