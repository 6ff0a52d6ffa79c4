package typing

import (
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/mgpp"
	"mgtrace/probe/evidence"
	"mgtrace/trace"
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

func TestWithin(t *testing.T) {
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
	derived := of("derived", types.Member{Name: "base", Type: object})
	if !Within(object, derived) || Within(derived, object) || Within(object, list) {
		t.Error("an object lies in what is derived from it, and nowhere else")
	}
	four := of("four", types.Member{Name: "of", Type: &types.Type{Kind: types.Array, Elem: object, Count: 4, Size: 64}})
	if !Within(object, four) || Within(list, four) {
		t.Error("an object lies in what has an array of such")
	}
}

// TestWhole: what handles several kinds of nodes alike knows their first members only. A block as large as just one of the declared types
// that begin so is of that one; what could be a number of the first, or several of the others, is what it was taken for.
func TestWhole(t *testing.T) {
	structure := func(name string, members ...string) *types.Type {
		s := &types.Type{Kind: types.Struct, Name: name, Size: 8 * int64(len(members))}
		for i, m := range members {
			s.Members = append(s.Members, types.Member{Name: m, Offset: 8 * int64(i), Type: &types.Type{Kind: types.Pointer, Elem: s, Size: 8}})
		}
		return s
	}
	chain := structure("chain", "next", "name")
	dep, goal := structure("dep", "next", "name", "file", "stem", "flags"), structure("goal", "next", "name", "file", "stem", "flags", "error", "where")
	rule, pair := structure("rule", "next", "name", "deps", "cmds", "target"), structure("pair", "next", "name", "left", "right")
	other := structure("other", "name", "next", "file", "stem", "flags")
	for _, c := range []struct {
		declared []*types.Type
		size     uint64
		want     string
	}{
		{[]*types.Type{dep, goal}, 40, "dep"},
		{[]*types.Type{dep, goal}, 56, "goal"},
		{[]*types.Type{chain, dep}, 40, "dep"},
		{[]*types.Type{chain, dep}, 16, ""}, // the first itself
		{[]*types.Type{pair}, 32, ""},       // may be two of the first
		{[]*types.Type{dep, rule}, 40, ""},  // either
		{[]*types.Type{dep}, 72, ""},
		{[]*types.Type{other}, 40, ""}, // begins otherwise
	} {
		v := Verdict{first: chain}
		for _, d := range c.declared {
			if begins(d, chain) {
				v.begins = append(v.begins, &check.NodeType{Name: d.Name, Layout: d})
			}
		}
		got := ""
		if nt := v.whole(c.size); nt != nil {
			got = nt.Name
		}
		if got != c.want {
			t.Errorf("%d bytes with %v declared: taken as %q, not %q", c.size, c.declared, got, c.want)
		}
	}
	r := &Relevance{types: []*types.Type{dep}}
	if !r.begins(chain) || r.begins(dep) || r.begins(other) {
		t.Error("blocks matter that may be nodes for how they begin, and no others")
	}
}

// TestDerivedOfAnyNumber: where code allocates any number of a class, as an allocator's allocate(n) does, a block of one object is a node of
// the class's declared base; an array of them is none, nor is an object of another class.
func TestDerivedOfAnyNumber(t *testing.T) {
	number := &types.Type{Kind: types.Int, Name: "long", Size: 8}
	base := &types.Type{Kind: types.Struct, Name: "link", Size: 16, Members: []types.Member{{Name: "next", Type: number}, {Name: "order", Type: number, Offset: 8}}}
	class := &types.Type{Kind: types.Struct, Name: "entry", Size: 24, Members: []types.Member{{Type: base, Base: true}, {Name: "value", Type: number, Offset: 16}}}
	other := &types.Type{Kind: types.Struct, Name: "other", Size: 24, Members: class.Members[1:]}
	link := &check.NodeType{Name: "link", Layout: base}
	for _, c := range []struct {
		evidence evidence.Evidence
		size     uint64
		want     *check.NodeType
	}{
		{evidence.Evidence{Type: class, Array: true}, 24, link},
		{evidence.Evidence{Type: class, Array: true}, 48, nil},
		{evidence.Evidence{Type: class, Array: true, Offset: 8}, 32, link}, // with their number in front
		{evidence.Evidence{Type: class}, 24, link},
		{evidence.Evidence{Type: other, Array: true}, 24, nil},
	} {
		blocks := Sharing(nil, &check.Spec{Types: []*check.NodeType{link}}, nil)
		stack := []trace.Addr{0x1000}
		blocks.stacks[&stack[0]] = blocks.shown(c.evidence, nil)
		if got, at, _ := blocks.TypeOf(mgpp.Node{Stack: stack, Size: c.size}); got != c.want || got != nil && at != c.evidence.Offset {
			t.Errorf("%d bytes of %s, any number %v: taken as %v at %d", c.size, c.evidence.Type.Name, c.evidence.Array, got, at)
		}
	}
}

// TestRoomForPieces: where an allocator of the program's own gives out nodes of a type one by one, a block with room for several is what it
// divides, and no node, also as long as it has given out none. Without one, or with one that gives out something larger, it counts as the first of them.
func TestRoomForPieces(t *testing.T) {
	node := &types.Type{Kind: types.Struct, Name: "node", Size: 24, Members: []types.Member{{Name: "next", Type: &types.Type{Kind: types.Pointer, Size: 8}}}}
	nt := &check.NodeType{Name: "node", Layout: node}
	for _, c := range []struct {
		allocators []check.Allocator
		size       uint64
		want       *check.NodeType
	}{
		{[]check.Allocator{{Func: "node_get", Bytes: 24}}, 1280, nil},
		{[]check.Allocator{{Func: "node_get", Bytes: 32}}, 1280, nil},
		{[]check.Allocator{{Func: "node_get", Bytes: 24}}, 32, nt},
		{[]check.Allocator{{Func: "node_get", Bytes: 24}}, 24, nt},
		{[]check.Allocator{{Func: "table_get", Bytes: 4096}}, 1280, nt},
		{[]check.Allocator{{Func: "get", Size: 1}}, 1280, nt},
		{nil, 1280, nt},
	} {
		blocks := Sharing(nil, &check.Spec{Types: []*check.NodeType{nt}, Allocators: c.allocators}, nil)
		stack := []trace.Addr{0x1000}
		for _, any := range []bool{false, true} { // is the room seen to be for any number?
			blocks.stacks[&stack[0]] = blocks.shown(evidence.Evidence{Type: node, Array: any}, nil)
			if got, _, _ := blocks.TypeOf(mgpp.Node{Stack: stack, Size: c.size}); got != c.want {
				t.Errorf("%d bytes with the allocators %v, any number %v: taken as %v", c.size, c.allocators, any, got)
			}
		}
	}
}

// TestRowsAndNodes: of a type of which an ARRAY is declared too a block of one is a node and a block of more an array, however the code that
// allocates it looks; where the ARRAY alone is declared, any number is one.
func TestRowsAndNodes(t *testing.T) {
	node := &types.Type{Kind: types.Struct, Name: "node", Size: 24, Members: []types.Member{{Name: "next", Type: &types.Type{Kind: types.Pointer, Size: 8}}}}
	nt, row := &check.NodeType{Name: "node", Layout: node}, &check.NodeType{Name: "slots", Array: true, Elem: node}
	for _, c := range []struct {
		declared []*check.NodeType
		size     uint64
		want     *check.NodeType
	}{
		{[]*check.NodeType{nt, row}, 24, nt},
		{[]*check.NodeType{row, nt}, 48, row},
		{[]*check.NodeType{row}, 24, row},
	} {
		for _, any := range []bool{false, true} { // is the room seen to be for any number?
			blocks := Sharing(nil, &check.Spec{Types: c.declared}, nil)
			stack := []trace.Addr{0x1000}
			blocks.stacks[&stack[0]] = blocks.shown(evidence.Evidence{Type: node, Array: any}, nil)
			if got, _, _ := blocks.TypeOf(mgpp.Node{Stack: stack, Size: c.size}); got != c.want {
				t.Errorf("%d bytes, any number %v: taken as %v", c.size, any, got)
			}
		}
	}
}
