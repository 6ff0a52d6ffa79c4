package specfile

import (
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/types"
)

// TestTypeNames: a list's node stands for what it holds as well, whose name the library's functions have; one that holds numbers
// or the library's own only for itself.
func TestTypeNames(t *testing.T) {
	class := func(name string, members ...*types.Type) *types.Type {
		c := &types.Type{Kind: types.Struct, Name: name, Size: 8}
		for _, m := range members {
			c.Members = append(c.Members, types.Member{Name: "m", Type: m})
		}
		return c
	}
	number := &types.Type{Kind: types.Int, Name: "int", Size: 4}
	link, key := class("std::__detail::_List_node_base"), class("Key", number)
	entry := class("Entry", key)
	for _, c := range []struct {
		layout *types.Type
		want   []string
	}{
		{class("std::_List_node<Entry>", link, class("__gnu_cxx::__aligned_membuf<Entry>", entry)), []string{"std::_List_node<Entry>", "Entry"}},
		{class("std::_List_node<int>", link, number), []string{"std::_List_node<int>"}},
		{entry, []string{"Entry"}},
	} {
		if got := typeNames(&check.Spec{Types: []*check.NodeType{{Name: "node", Layout: c.layout}}}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.layout.Name, got, c.want)
		}
	}
}
