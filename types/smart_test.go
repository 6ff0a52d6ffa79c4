package types

import "testing"

// classOf is a struct with pointer-sized members, in order.
func classOf(name string, arrow *Type, members ...Member) *Type {
	t := &Type{Kind: Struct, Name: name, Size: int64(8 * len(members)), Arrow: arrow}
	for i, m := range members {
		m.Offset = int64(8 * i)
		t.Members = append(t.Members, m)
	}
	return t
}

func TestSmart(t *testing.T) {
	node := &Type{Kind: Struct, Name: "Node", Size: 48}
	link := &Type{Kind: Struct, Name: "Link", Size: 16}
	ptr := func(to *Type) *Type { return &Type{Kind: Pointer, Size: 8, Elem: to} }
	count := &Type{Kind: Uint, Name: "unsigned long", Size: 8}
	inner := classOf("impl", nil, Member{Name: "_M_head_impl", Type: ptr(node)})
	access := classOf("access", ptr(node))
	counter := Member{Name: "_M_refcount", Type: ptr(link)}
	plain := classOf("std::vector<Node>", nil, Member{Name: "_M_start", Type: ptr(node)}, Member{Name: "_M_finish", Type: ptr(node)}, Member{Name: "_M_end_of_storage", Type: ptr(node)})
	safe := classOf("__gnu_debug::_Safe_sequence_base", nil, Member{Name: "_M_iterators", Type: ptr(link)}, Member{Name: "_M_const_iterators", Type: ptr(link)}, Member{Name: "_M_version", Type: count})
	debug := classOf("std::vector<Node>", nil, Member{Base: true, Type: safe}, Member{Base: true, Type: plain}, Member{Name: "_M_guaranteed_capacity", Type: count})
	debug.Members[1].Offset, debug.Members[2].Offset, debug.Size = 24, 48, 56
	for _, c := range []struct {
		name   string
		typ    *Type
		offset int64 // -1: no smart pointer
	}{
		{"unique_ptr", classOf("std::unique_ptr<Node>", ptr(node), Member{Name: "_M_t", Type: inner}), 0},
		{"shared_ptr", classOf("std::shared_ptr<Node>", nil, Member{Name: "_M_ptr", Type: ptr(node)}, counter), -1},
		{"counter first", classOf("Ref<Node>", ptr(node), counter, Member{Name: "p", Type: ptr(node)}), 8},
		{"weak_ptr", classOf("std::weak_ptr<Node>", nil, Member{Name: "_M_ptr", Type: ptr(node)}, counter), 0},
		{"iterator of a list", classOf("iterator", ptr(node), Member{Name: "_M_node", Type: ptr(link)}), -1},
		{"vector", classOf("std::vector<Node>", ptr(node), Member{Name: "begin", Type: ptr(node)}, Member{Name: "end", Type: ptr(node)}), -1},
		{"vector of libstdc++", plain, 0},
		{"vector in debug mode", debug, 24},
		{"string", classOf("std::string", ptr(count), Member{Name: "p", Type: ptr(count)}, Member{Name: "length", Type: count}), -1},
		{"structure with a link", classOf("hlist_node", nil, Member{Name: "next", Type: ptr(node)}), -1},
		{"nothing", nil, -1},
	} {
		f, ok := c.typ.Smart()
		if ok != (c.offset >= 0) || ok && f.Offset != c.offset {
			t.Errorf("%s: %+v, %v", c.name, f, ok)
		}
	}

	shared := classOf("std::shared_ptr<Node>", nil, Member{Base: true, Type: access}, Member{Name: "_M_ptr", Type: ptr(node)}, counter)
	shared.Members[1].Offset, shared.Members[2].Offset, shared.Size = 0, 8, 16
	if f, ok := shared.Smart(); !ok || f.Offset != 0 || f.Type.Elem != node {
		t.Errorf("operator -> of a base: %+v, %v", f, ok)
	}

	tree := classOf("tree", nil, Member{Name: "size", Type: count},
		Member{Name: "kid", Type: &Type{Kind: Array, Count: 2, Elem: classOf("std::unique_ptr<Node>", ptr(node), Member{Name: "_M_t", Type: inner}), Size: 16}})
	tree.Size = 24
	for i, want := range []string{"size", "kid[0]", "kid[1]"} {
		s := tree.Scalars()[i]
		if s.Path != want {
			t.Errorf("field %d is called %s, want %s", i, s.Path, want)
		}
		if own := s.Member; (own == "_M_head_impl") != (i > 0) {
			t.Errorf("%s is %q to its own class", want, own)
		}
		if p, err := tree.Find(want); err != nil || p.Offset != s.Offset || p.Type != s.Type {
			t.Errorf("%s leads to %+v (%v), want %+v", want, p, err, s)
		}
	}
	if p, err := tree.Find("kid[1]._M_t._M_head_impl"); err != nil || p.Offset != 16 {
		t.Errorf("its own member: %+v, %v", p, err)
	}

	parts := classOf("impl", nil, Member{Name: "_M_start", Type: ptr(node)}, Member{Name: "_M_finish", Type: ptr(node)}, Member{Name: "_M_end_of_storage", Type: ptr(node)})
	vector := classOf("std::vector<Node, std::allocator<Node> >", ptr(node), Member{Name: "_M_impl", Type: parts})
	vector.Size = 24
	begin, end, ok := vector.Vector()
	if f, smart := vector.Smart(); !ok || !smart || begin.Offset != 0 || end.Offset != 8 || f.Offset != 0 || f.Path != "" {
		t.Errorf("vector: %+v to %+v (%v), reads as %+v (%v)", begin, end, ok, f, smart)
	}
	holder := classOf("folder", nil, Member{Name: "id", Type: count}, Member{Name: "kids", Type: vector})
	holder.Size = 32
	if p := holder.PointerFields(); len(p) != 3 || p[0].Path != "kids" || p[0].End != 8 || p[1].End != 0 {
		t.Errorf("pointers of what holds a vector: %+v", p)
	}
	if _, _, ok := classOf("my::vector<Node>", ptr(node), Member{Name: "_M_impl", Type: parts}).Vector(); ok {
		t.Error("another class of that name is a std::vector")
	}

	endless := &Type{Kind: Struct, Name: "endless", Size: 8, Arrow: ptr(node)}
	endless.Members = []Member{{Name: "self", Type: endless}}
	if _, ok := endless.Smart(); ok {
		t.Error("a type that contains itself is a smart pointer")
	}
}

// A member of a type that is only declared has no end, and is no field.
func TestOnlyDeclared(t *testing.T) {
	number := &Type{Kind: Int, Name: "int", Size: 4}
	name := &Type{Kind: Opaque, Name: "std::string", Size: -1}
	item := &Type{Kind: Struct, Name: "item", Size: 40, Members: []Member{{Name: "id", Type: number}, {Name: "name", Type: name, Offset: 8}}}
	if got := item.Scalars(); len(got) != 1 || got[0].Path != "id" || item.NumScalars() != 1 {
		t.Errorf("the fields are %v, %d", got, item.NumScalars())
	}
}

// Where a virtual base lies is not known, and the message says that of a field of it.
func TestVirtualBase(t *testing.T) {
	id := Member{Name: "id", Type: &Type{Kind: Int, Name: "int", Size: 4}}
	base := &Type{Kind: Struct, Name: "Base", Size: 4, Members: []Member{id}}
	left := &Type{Kind: Struct, Name: "Left", Size: 8, Members: []Member{{Type: base, Base: true, Offset: -1}}}
	most := &Type{Kind: Struct, Name: "Most", Size: 16, Members: []Member{{Type: left, Base: true}}}
	if got, want := most.NoMember("id"), "`id` is a field of Base, a virtual base of Most: where that lies is not known"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
