package typing

import (
	"testing"

	"mgtrace/types"
)

func TestSameType(t *testing.T) {
	defined := &types.Type{Kind: types.Struct, Name: "work::Queue", Size: 40}
	declared := &types.Type{Kind: types.Opaque, Name: "work::Queue", Size: -1}
	other := &types.Type{Kind: types.Opaque, Name: "work::Task", Size: -1}
	number := &types.Type{Kind: types.Int, Name: "work::Queue", Size: 4}
	if !SameType(defined, declared) || !SameType(declared, defined) {
		t.Error("what one file declares and another defines is one type")
	}
	if SameType(defined, other) || SameType(defined, number) || SameType(declared, nil) {
		t.Error("types of another name or kind are the same")
	}
}

// A rule is not doubted where what the code takes a block for and what the rule says go together.
func TestGoTogether(t *testing.T) {
	number := &types.Type{Kind: types.Int, Name: "long", Size: 8}
	of := func(name string, members ...types.Member) *types.Type {
		s := &types.Type{Kind: types.Struct, Name: name, Size: 8 * int64(len(members)), Members: members}
		for i := range s.Members {
			s.Members[i].Offset = 8 * int64(i)
		}
		return s
	}
	object := of("object", types.Member{Name: "count", Type: number}, types.Member{Name: "kind", Type: number})
	list := of("list", types.Member{Name: "count", Type: number}, types.Member{Name: "kind", Type: number}, types.Member{Name: "length", Type: number})
	label := of("label", types.Member{Name: "text", Type: number}, types.Member{Name: "kind", Type: number}, types.Member{Name: "length", Type: number})
	derived := of("derived", types.Member{Name: "base", Type: object})
	if !beginsAs(list, object) || beginsAs(object, list) || beginsAs(label, object) {
		t.Error("only a list begins as an object does")
	}
	if !Within(object, derived) || Within(derived, object) || Within(object, list) {
		t.Error("an object lies in what is derived from it, and nowhere else")
	}
}
