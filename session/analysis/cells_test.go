package analysis

import (
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/types"
)

// TestPlaces: where in a node a pointer may lead to.
func TestPlaces(t *testing.T) {
	number := &types.Type{Kind: types.Int, Name: "int", Size: 4, Signed: true}
	link := &types.Type{Kind: types.Struct, Name: "link", Size: 16}
	job := &types.Type{Kind: types.Struct, Name: "job", Size: 48}
	toJob := &types.Type{Kind: types.Pointer, Size: 8, Elem: job}
	toLink := &types.Type{Kind: types.Pointer, Size: 8, Elem: link}
	link.Members = []types.Member{{Name: "next", Type: toLink}, {Name: "prev", Type: toLink, Offset: 8}}
	job.Members = []types.Member{{Name: "key", Type: number}, {Name: "node", Type: link, Offset: 8}, {Name: "size", Type: number, Offset: 24}, {Name: "next", Type: toJob, Offset: 32}}
	node := &check.NodeType{Name: "job", Layout: job}
	for _, c := range []struct {
		elem *types.Type
		want []uint64
	}{
		{job, []uint64{0}},
		{link, []uint64{8}},       // a list's link that is embedded
		{toJob, []uint64{32}},     // the address of the pointer that leads to a node
		{toLink, []uint64{8, 16}}, //
		{number, []uint64{0}},     // numbers are met at the beginning only
		{&types.Type{Kind: types.Struct, Name: "other", Size: 48}, nil},
	} {
		if got := places(c.elem, node); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.elem.Name, got, c.want)
		}
	}
}

// TestHoldsAt: what lies where in a node, elements of arrays too.
func TestHoldsAt(t *testing.T) {
	task := &types.Type{Kind: types.Struct, Name: "task", Size: 16}
	task.Members = []types.Member{{Name: "up", Type: &types.Type{Kind: types.Pointer, Size: 8, Elem: task}, Offset: 8}}
	tasks := &types.Type{Kind: types.Array, Size: 48, Elem: task, Count: 3}
	reader := &types.Type{Kind: types.Struct, Name: "reader", Size: 64, Members: []types.Member{{Name: "stack", Type: tasks, Offset: 8}}}
	for at, want := range map[int64]bool{0: false, 8: true, 16: false, 24: true, 40: true, 48: false, 56: false} {
		if got := holdsAt(reader, task, at); got != want {
			t.Errorf("a task at %d: %v", at, got)
		}
	}
}

// TestValues: of an enumeration and of a truth value no other values are tried than these have; of a number any.
func TestValues(t *testing.T) {
	colour := &types.Type{Kind: types.Enum, Name: "colour", Size: 4, Enumerators: []types.Enumerator{{Name: "RED", Value: 1}, {Name: "BLACK", Value: 4}}}
	for _, c := range []struct {
		typ  *types.Type
		want []int64
	}{
		{colour, []int64{1, 4}},
		{&types.Type{Kind: types.Bool, Name: "bool", Size: 1}, []int64{0, 1}},
		{&types.Type{Kind: types.Uint, Name: "unsigned char", Size: 1}, nil},
	} {
		if got := values(c.typ); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.typ.Name, got, c.want)
		}
	}
}
