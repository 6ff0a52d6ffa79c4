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
