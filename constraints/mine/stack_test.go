package mine

import (
	"encoding/binary"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph/graphtest"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// TestLeadsToStack: a store of a pointer to what a function in a call has on its stack, and others: to the heap, of half of one, and of a number
// beside one.
func TestLeadsToStack(t *testing.T) {
	const block, low, high = 0x5000, 0x7ffd_0000_2000, 0x7ffd_0000_9000
	h := mgpp.New(mgpp.Options{})
	apply := func(ev trace.Event) mgpp.Timestamp {
		at, err := h.Apply(&ev)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	apply(trace.Event{Kind: trace.KindAlloc, Addr: block, Size: 64, Name: "malloc", Thread: 1})
	r := &Run{History: h, Calls: []Call{
		{Thread: 1, EnterStack: Stack{low + 0x1000, high}, LeaveStack: Stack{low + 0x1008, high}},
		{Thread: 1, EnterStack: Stack{low, high}},
		{Thread: 2},
	}}
	for _, c := range []struct {
		name   string
		value  uint64
		offset trace.Addr
		size   uint64
		want   bool
	}{
		{"a variable of a function in a call", low + 0x10, 0, 8, true},
		{"a variable of the function called last", low - 0x100, 8, 8, true},
		{"above all calls", high, 16, 8, false},
		{"the heap", block + 8, 24, 8, false},
		{"half of a pointer", low + 0x10, 32, 4, false},
	} {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], c.value)
		at := apply(trace.Event{Kind: trace.KindStore, Addr: block + c.offset, Size: c.size, Data: b[:c.size], Thread: 1})
		op := h.Op(at)
		if got := r.leadsToStack(at, &op); got != c.want {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

// aliased is a program in which a type has a second name.
type aliased struct{ graphtest.Program }

func (aliased) LookupType(name string) []*types.Type {
	switch name {
	case "json", "basic_json<int>":
		return []*types.Type{{Kind: types.Struct, Name: "basic_json<int>", Size: 16}}
	case "text":
		return []*types.Type{{Kind: types.Struct, Name: "text", Size: 32}}
	}
	return nil
}

// TestLocalOfAlias: a variable's type that the user has named by a typedef is not declared a second time, under its own name: of
// that no node would be found. One of another type is.
func TestLocalOfAlias(t *testing.T) {
	local := func(typ string) check.Local {
		return check.Local{Func: "main", Name: "v", Frames: []check.LocalVariable{{Func: "main", Name: "v", Type: &types.Type{Kind: types.Struct, Name: typ}}}}
	}
	for _, c := range []struct {
		given typeDecl
		local string
		want  int
	}{
		{typeDecl{name: "json"}, "basic_json<int>", 1},
		{typeDecl{name: "doc", source: "json"}, "basic_json<int>", 1},
		{typeDecl{name: "basic_json", source: "basic_json<int>"}, "basic_json<int>", 1},
		{typeDecl{name: "json"}, "text", 2},
		{typeDecl{name: "texts", elem: "text"}, "text", 2},
	} {
		m := mining{run: &Run{Program: aliased{graphtest.NewProgram()}}, head: header{types: []typeDecl{c.given}}}
		m.local(local(c.local))
		if got := len(m.head.types); got != c.want || len(m.head.locals) != 1 {
			t.Errorf("%s as %s %s: %d types, not %d", c.local, c.given.name, c.given.source, got, c.want)
		}
	}
}
