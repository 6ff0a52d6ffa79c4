package types

import "strings"

// Opened is the structure as those of C are meant that end with an array of one element: before C99
// had flexible array members, an object with more of them was given a larger block ("struct hack").
// Its fields are as they were, but the array is Open. Other types are returned as they are: in a
// class template the one may be an argument.
func (t *Type) Opened() *Type {
	n := len(t.Members)
	if t.Kind != Struct || n == 0 || strings.HasSuffix(t.Name, ">") {
		return t
	}
	last := t.Members[n-1]
	if last.Base || last.Type == nil || last.Type.Kind != Array || last.Type.Count != 1 || last.Type.Elem == nil || last.Type.Elem.Size <= 0 {
		return t
	}
	a := last.Type
	last.Type = &Type{Kind: Array, Name: a.Name, Size: a.Size, Align: a.Align, Elem: a.Elem, Count: a.Count, Open: true}
	members := append(append([]Member(nil), t.Members[:n-1]...), last)
	return &Type{Kind: Struct, Name: t.Name, Size: t.Size, Align: t.Align, Members: members, Arrow: t.Arrow}
}

// Bound is how many elements of an array an index can mean, -1 where they go on to the end of the block.
func (t *Type) Bound() int64 {
	if t.Open {
		return -1
	}
	return t.Count
}

// Tail is the array that is a type's last member, and where it begins, if its elements go on to the
// end of the block; first is that of its elements which are no fields of the type.
func (t *Type) Tail() (a *Type, m Member, first int64) {
	n := len(t.Members)
	if n == 0 {
		return nil, Member{}, 0
	}
	m = t.Members[n-1]
	if a = m.Type; a == nil || a.Kind != Array || a.Elem == nil || a.Bound() > 0 {
		return nil, Member{}, 0
	}
	return a, m, max(a.Count, 0)
}
