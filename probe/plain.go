package probe

import (
	"slices"
	"sort"
)

// newHandler is std::get_new_handler, which the file has that has the C++ library's own
// operators. One of a program's own may have its books anywhere.
const newHandler = "_ZSt15get_new_handlerv"

// markPlain finds the operators of the C++ library in traced files.
func (b *builder) markPlain() {
	names := newCatalogue()
	for _, i := range b.traced() {
		file := b.plan.Images[i].File
		if len(file.FuncsLinked(func(name string) bool { return name == newHandler })) == 0 ||
			len(file.FuncsLinked(func(name string) bool { return name == "malloc" })) > 0 {
			continue
		}
		for k := range b.plan.Funcs {
			if f := &b.plan.Funcs[k]; f.Entry.Image == i && !f.Declared && f.Role >= RoleMalloc && f.Role <= RoleFree {
				f.Plain = b.plain(f, names)
			}
		}
	}
}

// plain says whether the code of an operator stores nothing itself, and calls and ends in
// nothing but other allocators, and newHandler. What it does if there is no memory, and
// lies elsewhere, is not looked at; nor is the handler, which is the program's.
func (b *builder) plain(f *Func, names catalogue) bool {
	s := b.sweeps[f.Entry.Image]
	home := s.home(f.Entry.Addr)
	if home < 0 || s.ranges[home].bad {
		return false
	}
	r := s.ranges[home]
	first := Store{Site: Site{Image: f.Entry.Image, Addr: r.lo}}
	k, _ := slices.BinarySearchFunc(b.plan.Stores, first, func(x, y Store) int { return compareSites(x.Site, y.Site) })
	if k < len(b.plan.Stores) && b.plan.Stores[k].Image == f.Entry.Image && b.plan.Stores[k].Addr < r.hi {
		return false
	}
	from := sort.Search(len(s.edges), func(i int) bool { return s.edges[i].from >= r.lo })
	for _, e := range s.edges[from:] {
		if e.from >= r.hi {
			break
		}
		name := s.file.Import(e.to)
		known, listed := names[name]
		switch {
		case listed && known.fn.Role != RoleWriter, name == newHandler:
		case name != "" || e.call:
			return false
		}
	}
	return true
}
