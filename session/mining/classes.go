package mining

import (
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/types"
)

// classNamed is the class of a name; nil: there is none.
func classNamed(name string, p check.Program) *types.Type {
	for _, t := range p.LookupType(cxxname.Normal(name)) {
		if t.Kind == types.Struct {
			return t
		}
	}
	return nil
}

// inherits: a class has one of that name among its bases, at any depth.
func inherits(t *types.Type, name string) bool {
	_, ok := t.Base(func(b *types.Type) bool { return cxxname.Normal(b.Name) == cxxname.Normal(name) })
	return ok
}

// derived lists the classes that the run allocated, that derive from one of the types, and that have pointers of their own to
// such: laws of these can only be said of the class. Objects of the others are nodes of the base's type.
func derived(names []string, allocated []proposal, p check.Program) (out []string) {
	for _, a := range allocated {
		t := classNamed(a.name, p)
		if t == nil || slices.Contains(names, a.name) {
			continue
		}
		for _, name := range names {
			base := classNamed(name, p)
			if base == nil || !inherits(t, base.Name) {
				continue
			}
			own := func(s types.Scalar) bool {
				_, err := base.Find(s.Path)
				return err != nil && s.Type.Elem != nil && (s.Type.Elem.Name == base.Name || inherits(s.Type.Elem, base.Name))
			}
			vector := func(m types.Member) bool { return !m.Base && leadsToClass(m.Type, base.Name) }
			if slices.ContainsFunc(t.PointerFields(), own) || slices.ContainsFunc(t.Members, vector) {
				out = append(out, a.name)
				break
			}
		}
	}
	return out
}

// leadsToClass: a member is a vector of pointers, smart ones too, to a class or what derives from it.
func leadsToClass(t *types.Type, name string) bool {
	if t == nil {
		return false
	}
	first, _, ok := t.Vector()
	if !ok || first.Type.Elem == nil {
		return false
	}
	e := first.Type.Elem
	if s, ok := e.Smart(); ok {
		e = s.Type
	}
	return e.Kind == types.Pointer && e.Elem != nil && (e.Elem.Name == name || inherits(e.Elem, name))
}

// ofOneBase makes one proposal of classes that have one base, which has a pointer to its own kind: that is the structure.
func ofOneBase(all []proposal, p check.Program) []proposal {
	if len(all) < 2 {
		return all
	}
	var bases []string // of the first one, those farther away later
	first := classNamed(all[0].name, p)
	if first == nil {
		return all
	}
	first.Base(func(b *types.Type) bool { bases = append(bases, b.Name); return false })
	for _, name := range append([]string{all[0].name}, bases...) {
		n, common := 0, true
		for _, a := range all {
			t := classNamed(a.name, p)
			common = common && t != nil && (a.name == name || inherits(t, name))
			n += a.count
		}
		if b := classNamed(name, p); common && b != nil && recursive(b) {
			return []proposal{{name: name, count: n}}
		}
	}
	return all
}
