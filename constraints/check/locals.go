package check

import (
	"slices"
	"strings"

	"mgtrace/constraints/syntax"
)

// locals resolves "local".
func (c *checker) locals() {
	for _, s := range c.file.Stmts {
		if s, ok := s.(*syntax.Local); ok {
			c.local(s)
		}
	}
}

func (c *checker) local(s *syntax.Local) {
	for _, l := range c.spec.Locals {
		if l.Name == s.Name && l.Func == s.Func {
			c.errorf(s.Pos, "`%s` of %s is declared twice", s.Name, s.Func)
			return
		}
	}
	l := Local{Name: s.Name, Func: s.Func, Pos: s.Pos}
	if c.prog != nil {
		l.Frames = c.frames(s)
	}
	c.spec.Locals = append(c.spec.Locals, l)
}

// frames finds the variable in all functions that the name means, or says what is in the way: a variable that is not
// followed in one of them would be missing from the graph.
func (c *checker) frames(s *syntax.Local) []LocalVariable {
	found := c.prog.LookupLocal(s.Func, s.Name)
	if into, file, line := c.prog.Inlined(s.Func); into != "" {
		c.errorf(s.Pos, "the compiler has inlined %s (into %s at %s:%d), where its variables can not be followed: name the variable of the function that it is in, or give it __attribute__((noinline))",
			s.Func, into, baseName(file), line)
		return nil
	}
	switch {
	case len(c.prog.LookupFunc(s.Func)) == 0:
		c.errorf(s.Pos, "the program has no function `%s`%s", s.Func, didYouMeanOrList(s.Func, c.prog.FuncNames()))
		return nil
	case len(found) == 0:
		c.errorf(s.Pos, "%s has no variable `%s` in its outermost scope%s%s", s.Func, s.Name, didYouMean(s.Name, c.prog.LocalNames(s.Func)), c.staticHint(s.Name))
		return nil
	}
	for i := range found {
		v := &found[i]
		if v.Why != "" {
			c.errorf(s.Pos, "`%s` of %s can not be followed: %s; compile with -O0, or allocate it on the heap", s.Name, v.Func, v.Why)
			return nil
		}
		if v.Node = c.nodeOf(v.Type, nil); v.Node == nil || v.Node.Array {
			name := "its type"
			if v.Type != nil && v.Type.Name != "" {
				name = "`type " + strings.TrimPrefix(v.Type.Name, "struct ") + ";`"
			}
			c.errorf(s.Pos, "`%s` of %s is of no declared type: declare %s, over which variables then range", s.Name, v.Func, name)
			return nil
		}
		if v.Node.Intrusive {
			c.errorf(s.Pos, "nodes of type %s come to be by `enter`, and by nothing else: `%s` of %s is none", v.Node.Name, s.Name, v.Func)
			return nil
		}
	}
	return found
}

// staticHint: an object of that name lies in static memory.
func (c *checker) staticHint(name string) string {
	if len(c.prog.LookupGlobal("", name)) == 0 {
		return ""
	}
	return "; in static memory there is one: `global " + name + ";`"
}

// Why says what is in the way of following the variable; "": nothing.
func (l *Local) Why() string {
	for _, v := range l.Frames {
		if v.Why != "" {
			return v.Why
		}
	}
	return ""
}

// HasLocals says whether the function with an entry, a virtual address in the file of that path ("": the program), has variables that are nodes.
func (s *Spec) HasLocals(path string, entry uint64) bool {
	return slices.ContainsFunc(s.Locals, func(l Local) bool {
		return slices.ContainsFunc(l.Frames, func(v LocalVariable) bool { return v.Path == path && v.Entry == entry })
	})
}
