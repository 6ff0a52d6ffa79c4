package describe

import (
	"fmt"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/types"
)

// What lies in a union is shown word by word: as the pointer that is in use there, else as
// the bare number, since which member was meant is not known. Where each member has a pointer it is one. Behind the end of all members but
// one it is known: there the fields of that one are shown. Of a std::variant its number tells, of a
// std::optional its flag: all fields are those of what it holds.

// bareWord is the type of a word of a union of which no more is known; read-only.
var bareWord = &types.Type{Kind: types.Uint, Name: "unsigned long", Size: 8}

// intoUnions visits the words of a union instead of the whole.
func intoUnions(g *graph.Graph, v mgpp.View, o graph.ObjID, in extent, f visit) visit {
	var into visit
	into = func(s types.Scalar, at int64, path string) bool {
		if s.Type == nil || s.Type.Kind != types.Union {
			return f(s, at, path)
		}
		of, ok := g.Alternative(v, o, s.Type, at)
		if alone := in.lo >= at && in.hi <= at+s.Size; ok && (!alone || len(of.Type.Scalars()) > 0) { // what is stored where there is no value yet is told
			return scalars(of.Type, at+of.Offset, at+s.Size, Join(path, of.Path), in, into)
		}
		longest, alone := longestMember(s.Type)
		for lo := at; lo < at+s.Size; lo += 8 {
			if lo-at >= alone && longest.Type.Kind == types.Struct {
				return scalars(longest.Type, at, at+s.Size, s.Type.Within(path, longest.Name), extent{max(lo, in.lo), in.hi}, func(m types.Scalar, off int64, path string) bool {
					return off < lo || into(m, off, path) // one that begins before belongs to a word
				})
			}
			word := types.Scalar{Path: path, Offset: lo, Size: min(8, at+s.Size-lo), Type: bareWord}
			if lo >= in.hi || lo+word.Size <= in.lo {
				continue
			}
			if lo > at {
				word.Path = fmt.Sprintf("%s+%d", path, lo-at)
			}
			if c, elem := g.UsedInUnion(v, o, lo); c != nil {
				word.Path, word.Type = c.Name, &types.Type{Kind: types.Pointer, Size: 8, Elem: c.Elem}
				if c.Count != 1 {
					word.Path = fmt.Sprintf("%s[%d]", c.Name, elem)
				}
			} else if word.Size == 8 && pointerAt(s.Type, lo-at, 0) { // whichever member is meant, and whatever it holds
				word.Type = &types.Type{Kind: types.Pointer, Size: 8}
			}
			if !f(word, lo, word.Path) {
				return false
			}
		}
		return true
	}
	return into
}

// pointerAt reports whether a pointer begins at an offset of a type: in a union, of each member that
// reaches so far.
func pointerAt(t *types.Type, off int64, depth int) bool {
	if t == nil || off < 0 || depth > maxNesting {
		return false
	}
	switch t.Kind {
	case types.Pointer:
		return off == 0
	case types.Array:
		return t.Elem != nil && t.Elem.Size > 0 && pointerAt(t.Elem, off%t.Elem.Size, depth+1)
	case types.Struct, types.Union:
		found := false
		for _, m := range t.Members {
			if m.Type == nil || m.Offset < 0 || off < m.Offset || off >= m.Offset+m.Type.Size {
				continue
			}
			if found = pointerAt(m.Type, off-m.Offset, depth+1); found != (t.Kind == types.Union) {
				return found
			}
		}
		return found
	}
	return false
}

// maxNesting bounds the walk into members, of which damaged debug information may have no end.
const maxNesting = 32

// longestMember returns the member of a union that reaches furthest, and from which word on it lies there alone.
func longestMember(union *types.Type) (longest types.Member, alone int64) {
	var second int64
	for _, m := range union.Members {
		switch {
		case m.Type == nil:
		case longest.Type == nil || m.Type.Size > longest.Type.Size:
			if longest.Type != nil {
				second = longest.Type.Size
			}
			longest = m
		default:
			second = max(second, m.Type.Size)
		}
	}
	return longest, max(8, (second+7)&^7)
}

// bareText writes a word, with ?? for bytes that were never written.
func bareText(b mgpp.Bytes) string {
	text, leading := "", true
	for i := len(b.Data) - 1; i >= 0; i-- {
		switch {
		case !b.Written[i]:
			text, leading = text+"??", false
		case leading && b.Data[i] == 0 && i > 0:
		case leading:
			text, leading = text+fmt.Sprintf("%x", b.Data[i]), false
		default:
			text += fmt.Sprintf("%02x", b.Data[i])
		}
	}
	return "0x" + text
}
