package check

import (
	"testing"

	"mgtrace/types"
)

// TestElementOf: the elements of a vector are named as an ARRAY of them is declared.
func TestElementOf(t *testing.T) {
	node := &types.Type{Kind: types.Struct, Name: "dep::Task", Size: 8}
	pair := &types.Type{Kind: types.Struct, Name: "std::pair<int, int>", Size: 8}
	pointer := func(to *types.Type) *types.Type { return &types.Type{Kind: types.Pointer, Size: 8, Elem: to} }
	s := &scope{checker: &checker{spec: &Spec{Types: []*NodeType{{Name: "task", Layout: node}}}}}
	for _, test := range []struct {
		elem *types.Type
		want string
	}{
		{pair, `"std::pair<int, int>"`},
		{pointer(node), "task *"},
		{pointer(pair), ""},
		{&types.Type{Kind: types.Int, Name: "long", Size: 8}, "long"},
	} {
		parts := &types.Type{Kind: types.Struct, Size: 24, Members: []types.Member{{Name: "_M_start", Type: pointer(test.elem)},
			{Name: "_M_finish", Type: pointer(test.elem), Offset: 8}, {Name: "_M_end_of_storage", Type: pointer(test.elem), Offset: 16}}}
		vector := &types.Type{Kind: types.Struct, Name: "std::vector<E, std::allocator<E> >", Size: 24, Arrow: pointer(test.elem), Members: []types.Member{{Name: "_M_impl", Type: parts}}}
		if got := s.elementOf(operand{smart: &operand{typ: vector}}); got != test.want {
			t.Errorf("%+v: %q, want %q", test.elem, got, test.want)
		}
		if got := s.elementOf(operand{typ: test.elem}); got != "" {
			t.Errorf("no vector: %q", got)
		}
	}
}
