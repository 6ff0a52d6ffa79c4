package objfile

import (
	"fmt"
	"strings"

	"mgtrace/types"
)

// spellType writes a type out, structures by name below the given depth.
func spellType(t *types.Type, depth int) string {
	if t == nil {
		return "?"
	}
	switch t.Kind {
	case types.Pointer:
		return spellType(t.Elem, depth-1) + "*"
	case types.Array:
		return fmt.Sprintf("%s[%d]", spellType(t.Elem, depth), t.Count)
	case types.Struct, types.Union:
		if depth <= 0 && t.Name != "" {
			return t.Name
		}
		if depth < -8 {
			return "…"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s#%d{", t.Name, t.Size)
		for _, m := range t.Members {
			fmt.Fprintf(&b, "%s@%d.%d:%d %v%v %s; ", m.Name, m.Offset, m.BitOffset, m.BitSize, m.Base, m.VTable, spellType(m.Type, depth-1))
		}
		return b.String() + "}"
	case types.Enum:
		return fmt.Sprintf("enum %s %v %v", t.Name, t.Signed, t.Enumerators)
	}
	return fmt.Sprintf("%s/%d/%d", t.Name, t.Kind, t.Size)
}
