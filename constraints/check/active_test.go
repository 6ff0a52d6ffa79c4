package check

import (
	"testing"

	"mgtrace/types"
)

// TestHeld: what a std::variant holds is told from where its union lies, in a structure or an element of an array; what is another
// union there, and where none begins, is no variant.
func TestHeld(t *testing.T) {
	number, word := &types.Type{Kind: types.Uint, Name: "unsigned char", Size: 1}, &types.Type{Kind: types.Uint, Name: "unsigned long", Size: 8}
	last := &types.Type{Kind: types.Union, Size: 8, Members: []types.Member{{Name: "_M_first", Type: word}}}
	union := &types.Type{Kind: types.Union, Size: 8, Members: []types.Member{{Name: "_M_first", Type: number}, {Name: "_M_rest", Type: last}}}
	storage := &types.Type{Kind: types.Struct, Name: "std::__detail::__variant::_Variant_storage<true, unsigned char, unsigned long>", Size: 16,
		Members: []types.Member{{Name: "_M_u", Type: union}, {Name: "_M_index", Offset: 8, Type: number}}}
	node := &types.Type{Kind: types.Struct, Name: "node", Size: 48, Members: []types.Member{{Name: "key", Type: word},
		{Name: "what", Offset: 16, Type: &types.Type{Kind: types.Array, Elem: storage, Count: 2, Size: 32}}}}
	for _, at := range []int64{16, 32} {
		all, index := Held(node, union, at)
		if len(all) != 2 || all[1] != (Alternative{"_M_rest._M_first", 0, word}) || index != (Span{at + 8, at + 9}) {
			t.Errorf("at %d: %+v by the number at %+v", at, all, index)
		}
	}
	for _, c := range []struct {
		union *types.Type
		at    int64
	}{{last, 16}, {union, 8}, {union, 24}} {
		if all, _ := Held(node, c.union, c.at); all != nil {
			t.Errorf("at %d: %+v", c.at, all)
		}
	}
}

// TestHeldOptional: so is what a std::optional holds: nothing, or its value.
func TestHeldOptional(t *testing.T) {
	empty, word := &types.Type{Kind: types.Struct, Name: "_Empty_byte", Size: 1}, &types.Type{Kind: types.Uint, Name: "unsigned long", Size: 8}
	union := &types.Type{Kind: types.Union, Size: 8, Members: []types.Member{{Name: "_M_empty", Type: empty}, {Name: "_M_value", Type: word}}}
	node := func(name string) *types.Type {
		payload := &types.Type{Kind: types.Struct, Name: name, Size: 16, Members: []types.Member{{Name: "_M_payload", Type: union},
			{Name: "_M_engaged", Offset: 8, Type: &types.Type{Kind: types.Bool, Name: "bool", Size: 1}}}}
		return &types.Type{Kind: types.Struct, Name: "node", Size: 24, Members: []types.Member{{Name: "key", Type: word}, {Name: "tag", Offset: 8, Type: payload}}}
	}
	all, flag := Held(node("std::_Optional_payload_base<unsigned long>"), union, 8)
	if len(all) != 2 || all[0] != (Alternative{"_M_empty", 0, empty}) || all[1] != (Alternative{"_M_value", 0, word}) || flag != (Span{16, 17}) {
		t.Errorf("%+v by the flag at %+v", all, flag)
	}
	if all, _ := Held(node("Payload"), union, 8); all != nil {
		t.Errorf("of the program's own class: %+v", all)
	}
}
