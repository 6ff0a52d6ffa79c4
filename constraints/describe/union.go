package describe

import (
	"fmt"

	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/types"
)

// What lies in a union is shown word by word: as the pointer that is in use there, else as
// the bare number, since which member was meant is not known.

// bareWord is the type of a word of a union of which no more is known; read-only.
var bareWord = &types.Type{Kind: types.Uint, Name: "unsigned long", Size: 8}

// intoUnions visits the words of a union instead of the whole.
func intoUnions(g *graph.Graph, v mgpp.View, o graph.ObjID, in extent, f visit) visit {
	return func(s types.Scalar, at int64, path string) bool {
		if s.Type == nil || s.Type.Kind != types.Union {
			return f(s, at, path)
		}
		for lo := at; lo < at+s.Size; lo += 8 {
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
			}
			if !f(word, lo, word.Path) {
				return false
			}
		}
		return true
	}
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
