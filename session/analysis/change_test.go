package analysis

import (
	"testing"

	"mgtrace/types"
)

// TestCellPath: a cell of an object in static memory goes by its member's name; what begins in the middle of one has none.
func TestCellPath(t *testing.T) {
	number, pointer := &types.Type{Kind: types.Int, Size: 4}, &types.Type{Kind: types.Pointer, Size: 8}
	link := &types.Type{Kind: types.Struct, Size: 16, Members: []types.Member{{Name: "next", Type: pointer}, {Name: "prev", Type: pointer, Offset: 8}}}
	queue := &types.Type{Kind: types.Struct, Size: 24, Members: []types.Member{{Name: "length", Type: number}, {Name: "anchor", Type: link, Offset: 8}}}
	table := &types.Type{Kind: types.Array, Elem: queue, Count: 4, Size: 96}
	for _, c := range []struct {
		of   *types.Type
		off  int64
		want string
		ok   bool
	}{
		{queue, 16, ".anchor.prev", true},
		{queue, 0, ".length", true},
		{table, 24 + 8, "[1].anchor.next", true},
		{pointer, 0, "", true},
		{queue, 4, "", false},
		{queue, 24, "", false},
		{pointer, 4, "", false},
		{nil, 0, "", false},
	} {
		if got, ok := cellPath(c.of, c.off); ok != c.ok || ok && got != c.want {
			t.Errorf("at %d: %q, %v", c.off, got, ok)
		}
	}
}
