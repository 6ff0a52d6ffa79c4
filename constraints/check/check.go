package check

import (
	"fmt"
	"sort"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/cxxname"
	"mgtrace/types"
)

// What an instance of a constraint can bind at most (eval.Instance).
const (
	maxUniversal = 4
	maxLoops     = 3
)

// Check resolves and types a specification. prog nil checks the file alone:
// layouts are then those that the file declares, and functions, lines and
// objects in static memory are taken as given.
func Check(file *syntax.File, prog Program) (*Spec, []syntax.Error) {
	c := &checker{file: file, prog: prog, spec: &Spec{File: file.Name}, types: map[string]*NodeType{},
		attrs: map[attrKey]*Attribute{}, consts: map[string]*Const{}, globals: map[string]int{}, refused: map[string]bool{}, told: map[string]bool{},
		tagged: map[tagKey]bool{}}
	c.universe = types.NewUniverse(nil)
	if prog != nil {
		c.universe = types.NewUniverse(prog)
	}
	// Each pass needs what the ones before it found out.
	c.layouts()
	c.constants()
	c.nodeTypes()
	c.edgeCells()
	c.staticObjects()
	c.rows()
	c.attributes()
	c.conditionalCells()
	c.formulas()
	c.operations()
	c.locals()
	c.points()
	sort.SliceStable(c.errs, func(i, j int) bool { return before(c.errs[i].Pos, c.errs[j].Pos) })
	sort.SliceStable(c.spec.Warnings, func(i, j int) bool { return before(c.spec.Warnings[i].Pos, c.spec.Warnings[j].Pos) })
	return c.spec, c.errs
}

func before(p, q syntax.Pos) bool {
	if p.Line != q.Line {
		return p.Line < q.Line
	}
	return p.Col < q.Col
}

type checker struct {
	file     *syntax.File
	prog     Program // nil: none
	spec     *Spec
	errs     []syntax.Error
	universe *types.Universe // the program's types, hidden by the file's
	decls    *types.Decls
	types    map[string]*NodeType
	attrs    map[attrKey]*Attribute
	consts   map[string]*Const
	globals  map[string]int  // "head", "file.c:head" → index in Spec.Globals
	refused  map[string]bool // "::head", of which an error says that the program has it not: it says no more
	told     map[string]bool // what is said once only
	tagged   map[tagKey]bool // integers that hold pointers
}

// tagKey names a cell of a type.
type tagKey struct {
	t    *NodeType
	cell string
}

type attrKey struct {
	t    *NodeType
	name string
}

func (c *checker) errorf(pos syntax.Pos, format string, args ...any) {
	c.errs = append(c.errs, syntax.Error{Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

func (c *checker) warnf(pos syntax.Pos, format string, args ...any) {
	c.spec.Warnings = append(c.spec.Warnings, syntax.Error{Pos: pos, Msg: fmt.Sprintf(format, args...), Warning: true})
}

// once reports an error of which there is one for many causes.
func (c *checker) once(key string, pos syntax.Pos, format string, args ...any) {
	if !c.told[key] {
		c.told[key] = true
		c.errorf(pos, format, args...)
	}
}

// didYouMean is "; did you mean `x`?" or a list of what there is, if it is short.
func didYouMean(name string, among []string) string {
	if near := syntax.Nearest(name, among); near != "" {
		return fmt.Sprintf("; did you mean `%s`?", near)
	}
	return ""
}

// didYouMeanOrList prefers what has the same name in another scope.
func didYouMeanOrList(name string, among []string) string {
	const few = 12
	same := sameInner(name, among)
	if len(same) > 1 && len(same) <= few {
		return "; there are " + strings.Join(same, " and ")
	}
	if len(same) == 1 {
		return fmt.Sprintf("; did you mean `%s`?", same[0])
	}
	if s := didYouMean(name, among); s != "" {
		return s
	}
	if len(among) == 0 {
		return ""
	}
	if len(among) > few {
		return fmt.Sprintf("; there are %s and %d more; what is in a library is known with --module LIBRARY", strings.Join(among[:few], ", "), len(among)-few)
	}
	return "; there is " + strings.Join(among, ", ")
}

// sameInner returns the names whose last component, without template arguments and
// parameters, is that of name.
func sameInner(name string, among []string) (same []string) {
	last := func(s string) string {
		s = cxxname.WithoutArgs(s)
		s, _, _ = strings.Cut(s, "(")
		for ok := true; ok; {
			s, ok = cxxname.Inner(s)
		}
		return s
	}
	want := last(name)
	for _, s := range among {
		if last(s) == want {
			same = append(same, s)
		}
	}
	return same
}

// typeOf finds a declared type; nil after an error.
func (c *checker) typeOf(id syntax.Ident) *NodeType {
	if t := c.types[id.Name]; t != nil {
		return t
	}
	names := c.typeNames()
	what := didYouMeanOrList(id.Name, append(names, directiveLike(id.Name)...))
	if what == "" || c.prog != nil && len(c.prog.LookupType(cxxname.Normal(id.Name))) > 0 {
		what = fmt.Sprintf("; declare it first: type %s;", id.Name)
	}
	c.errorf(id.Pos, "no type `%s` is declared%s", id.Name, what)
	return nil
}

// directiveLike offers a word of the language for a misspelling of it only.
func directiveLike(name string) []string {
	if near := syntax.Nearest(name, syntax.Directives()); near != "" {
		return []string{near}
	}
	return nil
}

func (c *checker) typeNames() []string {
	var names []string
	for _, t := range c.spec.Types {
		names = append(names, t.Name)
	}
	return names
}

// constants evaluates "const NAME = e;" in file order.
func (c *checker) constants() {
	for _, s := range c.file.Stmts {
		k, ok := s.(*syntax.Const)
		if !ok {
			continue
		}
		if c.consts[k.Name] != nil {
			c.errorf(k.Pos, "the constant `%s` is declared twice", k.Name)
			continue
		}
		sc := &scope{checker: c}
		if v := sc.constant(k.Value); v != nil {
			c.consts[k.Name] = v
		}
	}
}

// attributes declares them; their rules come with the constraints.
func (c *checker) attributes() {
	for _, s := range c.file.Stmts {
		a, ok := s.(*syntax.AttrDecl)
		if !ok {
			continue
		}
		t := c.typeOf(a.Type)
		if t == nil {
			continue
		}
		key := attrKey{t, a.Name}
		switch {
		case c.attrs[key] != nil:
			c.errorf(a.Pos, "the attribute `%s.%s` is declared twice", t.Name, a.Name)
			continue
		case isBuiltin(a.Name):
			c.errorf(a.Pos, "`%s` is an attribute of every type already; choose another name", a.Name)
			continue
		case hasField(t, a.Name):
			c.errorf(a.Pos, "%s has a field `%s` already; choose another name for the attribute", t.Name, a.Name)
			continue
		}
		attr := &Attribute{Index: len(c.spec.Attributes), Type: t, Name: a.Name, Pos: a.Pos}
		if a.Default != nil {
			sc := &scope{checker: c}
			if v := sc.integer(a.Default); v != nil {
				attr.Default = v.Int
			}
		}
		c.attrs[key] = attr
		c.spec.Attributes = append(c.spec.Attributes, attr)
	}
}

func hasField(t *NodeType, name string) bool {
	if t.Layout == nil {
		return false
	}
	_, _, ok := t.Layout.Member(name)
	return ok
}
