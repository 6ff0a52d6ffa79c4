package mining

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/mine"
	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/types"
)

// maxLocals bounds the variables of functions that are followed, for each of which the calls of its function are.
const maxLocals = 64

// LeadingLocals lists the variables of these functions that may lead to nodes, as the head of a list that main has: structures
// of the program's own that are of one of the types, have one inside or a pointer to one; without names, to their own kind.
// Those that can not be followed are among them: of these a frame says why.
func LeadingLocals(p *symbol.Program, funcs, names []string) (out []check.Local) {
	nodes := slices.Clone(names)
	for _, name := range names {
		for _, t := range p.LookupType(cxxname.Normal(name)) {
			nodes = append(nodes, t.Name)
		}
	}
	for _, fn := range funcs {
		if strings.ContainsAny(fn, "{#") {
			continue // a specification can not say it
		}
		var own []check.Local
		names := p.LocalNames(fn)
		for i, name := range names {
			if slices.Contains(names[:i], name) || !plain(name) {
				continue
			}
			l := check.Local{Name: name, Func: fn, Frames: p.LookupLocal(fn, name)}
			if len(l.Frames) > 0 && !slices.ContainsFunc(l.Frames, func(v check.LocalVariable) bool { return !mayHead(v.Type, nodes) }) {
				own = append(own, l)
			}
		}
		if len(own) == 0 && (len(names) > 0 || len(funcs) > maxWatched) {
			continue // to look for where it is inlined takes a look at all of the program
		}
		if into, file, line := p.Inlined(fn); into != "" {
			own = inlinedLocals(p, fn, fmt.Sprintf("the compiler has inlined %s (into %s at %s:%d)", fn, into, symbol.Short(file), line), nodes)
		}
		out = append(out, own...)
	}
	return out[:min(len(out), maxLocals)]
}

// inlinedLocals lists such variables of a function where it is inlined: they can not be followed.
func inlinedLocals(p *symbol.Program, fn, why string, nodes []string) (out []check.Local) {
	for _, f := range p.Objs {
		for _, in := range f.Inlined(fn) {
			own := slices.IndexFunc(f.Frames(in.Entry), func(fr objfile.Frame) bool { return fr.Function == in.Name }) // -1: it has no code there
			for _, v := range f.Variables(in.Entry) {
				known := slices.ContainsFunc(out, func(l check.Local) bool { return l.Name == v.Name })
				if v.Frame == own && !v.Param && !known && plain(v.Name) && mayHead(v.Type, nodes) {
					out = append(out, check.Local{Name: v.Name, Func: fn, Frames: []check.LocalVariable{{Func: fn, Name: v.Name, Type: v.Type, Why: why}}})
				}
			}
		}
	}
	return out
}

// plain: a name that the program's sources have. A compiler's own begins with two underscores, as __for_begin of a loop over a range does.
func plain(name string) bool { return mine.PlainName(name) && !strings.HasPrefix(name, "__") }

// mayHead: an object of the type may be what a structure hangs on.
func mayHead(t *types.Type, nodes []string) bool {
	if t == nil || !t.HasMembers() || t.Name == "" || strings.HasPrefix(t.Name, "std::") {
		return false
	}
	node := func(t *types.Type) bool {
		if len(nodes) == 0 {
			return t != nil && recursive(t)
		}
		return t != nil && t.HasMembers() && slices.Contains(nodes, t.Name)
	}
	return node(t) || slices.ContainsFunc(t.Members, func(m types.Member) bool { return node(m.Type) }) ||
		slices.ContainsFunc(t.PointerFields(), func(s types.Scalar) bool { return node(s.Type.Elem) })
}

// Followable leaves those that can be followed.
func Followable(locals []check.Local) []check.Local {
	return slices.DeleteFunc(slices.Clone(locals), func(l check.Local) bool { return l.Why() != "" })
}

// unfollowed says which variable of a type can not be followed, and why; "": there is none.
func unfollowed(locals []check.Local, t *types.Type) string {
	for _, l := range locals {
		if why := l.Why(); why != "" && t != nil && l.Frames[0].Type.Name == t.Name {
			return l.Name + " of " + l.Func + " is one and can not be followed: " + why + "; compile with -O0, or allocate it on the heap"
		}
	}
	return ""
}
