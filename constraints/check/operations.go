package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// staticObjects resolves "global", and "… from ::x" and "embed … in ::x", which declare ::x
// where nothing else does: its stores must be captured.
func (c *checker) staticObjects() {
	for _, s := range c.file.Stmts {
		switch s := s.(type) {
		case *syntax.Global:
			if _, ok := c.globals[s.Name]; ok {
				c.errorf(s.Pos, "`%s` is declared twice", s.Name)
				continue
			}
			c.addGlobal(s.File, s.Name, s.Pos)
		case *syntax.Root:
			c.impliedGlobal(s.From)
		case *syntax.Embed:
			if s.Global != nil {
				c.impliedGlobal(s.Global)
			}
		case *syntax.Member:
			if s.From != nil {
				c.impliedGlobal(s.From)
			}
		}
	}
}

// impliedGlobal declares the object in static memory that an expression begins with.
func (c *checker) impliedGlobal(x syntax.Expr) {
	if g, ok := leftmost(x).(*syntax.GlobalName); ok {
		if _, ok := c.globals[g.Name]; !ok && !c.declaredGlobal(g.Name) {
			c.addGlobal("", g.Name, g.Pos)
		}
	}
}

func (c *checker) declaredGlobal(name string) bool {
	for _, s := range c.file.Stmts {
		if g, ok := s.(*syntax.Global); ok && g.Name == name {
			return true
		}
	}
	return false
}

func (c *checker) addGlobal(file, name string, pos syntax.Pos) {
	g := Global{Name: name, File: file, Pos: pos}
	if v, ok := c.findGlobal(file, name, pos); ok {
		g.Layout, g.Addr, g.Size = v.Type, v.Addr, v.Size
		if g.Layout != nil && g.Layout.Size > 0 {
			g.Size = g.Layout.Size
		}
		if t := c.nodeOf(g.Layout, nil); t != nil && !t.Array {
			g.Layout = t.Layout // the file's declaration, if there is one
		}
	} else if c.prog != nil {
		c.refused["::"+name] = true
	}
	c.globals[name] = len(c.spec.Globals)
	c.spec.Globals = append(c.spec.Globals, g)
}

// findGlobal asks the program; ok is false without a program or after an error.
func (c *checker) findGlobal(file, name string, pos syntax.Pos) (v Variable, ok bool) {
	if c.prog == nil {
		return Variable{}, false
	}
	found := c.prog.LookupGlobal(file, name)
	switch {
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		var where []string
		for _, f := range found {
			where = append(where, fmt.Sprintf("%s:%s", baseName(f.File), name))
		}
		c.errorf(pos, "there are %d objects named `%s`; say which: %s", len(found), name, strings.Join(where, ", "))
	case file != "" && len(c.prog.LookupGlobal("", name)) > 0:
		c.errorf(pos, "%s has no object `%s` in static memory; there is one in %s", file, name, baseName(c.prog.LookupGlobal("", name)[0].File))
	case c.prog.Scattered(name):
		c.errorf(pos, "the compiler has taken `%s` apart, and keeps its members in different places, or in none: compile with -O0, or let another file see it (not static)", name)
	default:
		c.errorf(pos, "the program has no object `%s` in static memory%s", name, globalHint(name, c.prog.GlobalNames()))
	}
	return Variable{}, false
}

func baseName(file string) string {
	if file == "" {
		return "a file that is not known"
	}
	return file[strings.LastIndexByte(file, '/')+1:]
}

// operations resolves the directives that stand beside the formulas.
func (c *checker) operations() {
	for _, s := range c.file.Stmts {
		switch s := s.(type) {
		case *syntax.Nil:
			c.sentinel(s)
		case *syntax.Member:
			switch {
			case s.From != nil:
				c.reach(s)
			case s.Of.Name != "":
				c.reachOf(s)
			default:
				c.membership(s)
			}
		case *syntax.Root:
			c.root(s)
		case *syntax.Alloc:
			c.alloc(s)
		case *syntax.Allocator:
			c.allocator(s)
		case *syntax.Check:
			c.check(s)
		}
	}
	for i := range c.spec.Rows {
		if r := &c.spec.Rows[i]; r.Type.Intrusive {
			c.errorf(r.Pos, "%s is entered, and has no nodes but those that calls or pointers make", r.Type.Name)
		}
	}
	for _, m := range c.spec.Members {
		if m.Leave && !m.Type.Intrusive {
			c.warnf(m.Pos, "nothing ever enters %s: an `enter %s at …;` is missing", m.Type.Name, m.Type.Name)
		}
	}
}

func (c *checker) sentinel(s *syntax.Nil) {
	n := Nil{Global: s.Global.Name, Pos: s.Pos}
	if n.Global != "" {
		v, ok := c.findGlobal("", n.Global, s.Global.Pos)
		if !ok && c.prog != nil {
			return
		}
		n.Addr, n.Size = v.Addr, v.Size
		if v.Type != nil && v.Type.Kind == types.Pointer {
			c.errorf(s.Global.Pos, "`::%s` is a pointer, not the sentinel itself; name the object that it points to", n.Global)
			return
		}
		c.spec.Nils = append(c.spec.Nils, n)
		return
	}
	t := c.typeOf(s.Type)
	if t == nil {
		return
	}
	sc := &scope{checker: c}
	x := sc.nodeOperand(&Node{Src: t.Name, Slot: 0, Type: t}, t.Name, s.Type.Pos)
	for _, name := range strings.Split(s.Field.Name, ".") {
		if x = sc.load(sc.member(x, name, s.Field.Pos), t.Name+"."+s.Field.Name); x.bad() {
			return
		}
	}
	if x.kind != kindRef || x.place == nil {
		c.errorf(s.Field.Pos, "%s; a sentinel is a pointer or a member of the node", x.describe())
		return
	}
	n.Type, n.Place = t, x.place
	if x.typ.Kind == types.Struct {
		n.Size = x.typ.Size
	}
	c.spec.Nils = append(c.spec.Nils, n)
}

func (c *checker) membership(s *syntax.Member) {
	t := c.typeOf(s.Type)
	if !c.hasFunc(s.Func, s.FuncPos) || t == nil {
		return
	}
	m := Membership{Leave: s.Leave, Type: t, Func: s.Func, Arg: s.Arg, Return: s.Arg == 0, Pos: s.Pos}
	if s.Cond != nil {
		sc := &scope{checker: c, returns: true, indexSlots: 1}
		if m.Cond = sc.condition(s.Cond); m.Cond == nil {
			return
		}
	}
	if !s.Leave {
		t.Intrusive = true
	}
	c.spec.Members = append(c.spec.Members, m)
}

// reach resolves "enter T from ::g.f;".
func (c *checker) reach(s *syntax.Member) {
	t := c.typeOf(s.Type)
	g, _ := leftmost(s.From).(*syntax.GlobalName)
	if t == nil || g == nil {
		return
	}
	i, ok := c.globals[g.Name]
	if !ok {
		return
	}
	t.Intrusive = true
	r := Reach{Type: t, Global: i, Hi: c.spec.Globals[i].Size, Pos: s.Pos}
	if layout := c.spec.Globals[i].Layout; layout != nil {
		sc := &scope{checker: c}
		o := sc.lower(s.From)
		if o.bad() {
			return
		}
		at := layout
		if o.place != nil {
			if len(o.place.Steps) > 0 {
				c.errorf(s.From.Where(), "name the whole array: its elements all lead to nodes")
				return
			}
			r.Lo, at = o.place.Offset, o.place.Type
		}
		c.reachIn(r, at, syntax.ExprString(s.From), s.From.Where())
		return
	}
	c.spec.Reaches = append(c.spec.Reaches, r)
}

// reachOf resolves "enter T from U.f;".
func (c *checker) reachOf(s *syntax.Member) {
	t, of := c.typeOf(s.Type), c.typeOf(s.Of)
	if t == nil || of == nil {
		return
	}
	if of.Layout == nil {
		c.noLayout(of, s.Of.Pos)
		return
	}
	if p, ok := c.fieldPath(of, s.Field); ok {
		t.Intrusive = true
		c.reachIn(Reach{Type: t, Of: of, Lo: p.Offset, Hi: math.MaxInt64, Pos: s.Pos}, p.Type, of.Name+"."+s.Field.Name, s.Of.Pos)
	}
}

// reachIn notes the pointers that make nodes, in a part that begins at r.Lo and is of type at.
func (c *checker) reachIn(r Reach, at *types.Type, src string, pos syntax.Pos) {
	if at.Size > 0 {
		r.Hi = r.Lo + at.Size
	}
	r.Any = at.Kind == types.Pointer && (pointee(at) == nil || at.Elem.Size == 1)
	if !r.Any && !slices.ContainsFunc(at.PointerFields(), func(f types.Scalar) bool { return r.Type.BeginsWith(f.Type.Elem) }) {
		c.errorf(pos, "`%s` holds no pointer to %s", src, r.Type.Name)
		return
	}
	c.spec.Reaches = append(c.spec.Reaches, r)
}

// hasFunc asks whether the program has a function; "0x…" is an address.
func (c *checker) hasFunc(pattern string, pos syntax.Pos) bool {
	if c.prog == nil || strings.HasPrefix(pattern, "0x") || len(c.prog.LookupFunc(pattern)) > 0 {
		return true
	}
	if lib := c.prog.LibraryOf(pattern); lib != "" {
		c.errorf(pos, "`%s` is a function of %s, which is not recorded: add --module %s", pattern, lib, lib)
		return false
	}
	if len(c.prog.Files()) == 0 {
		c.errorf(pos, "the program has no debug information, and no symbol `%s`: compile it with -g, or name with --debug-dir where its debug file is", pattern)
		return false
	}
	if name, _, hasParams := strings.Cut(pattern, "("); hasParams && name != "" && len(c.prog.LookupFunc(name)) > 0 {
		// of a static function that is inlined everywhere, debug information has the bare name
		c.errorf(pos, "the program has no function `%s`; of that name it has `%s`", pattern, c.prog.LookupFunc(name)[0])
		return false
	}
	if file, line, as := c.prog.Defined(pattern); as != "" {
		c.errorf(pos, "the program has no function `%s`: what %s:%d defines by that name is `%s` to the compiler, by a macro", pattern, baseName(file), line, as)
		return false
	}
	c.errorf(pos, "the program has no function `%s`%s", pattern, didYouMeanOrList(pattern, c.prog.FuncNames()))
	return false
}

// leftNothing asks whether the compiler has left nothing of a function that the program's sources define: then there are no
// C-points at it, which is told, and the others are as good as without it.
func (c *checker) leftNothing(pattern string, pos syntax.Pos) bool {
	if c.prog == nil || strings.HasPrefix(pattern, "0x") || len(c.prog.LookupFunc(pattern)) > 0 || len(sameInner(pattern, c.prog.FuncNames())) > 0 {
		return false
	}
	file, line, as := c.prog.Defined(pattern)
	gone := line > 0 && as == ""
	if gone {
		c.warnf(pos, "the compiler has left no code of `%s` (%s:%d): there are no C-points at it; -O0 helps, or __attribute__((noinline)) on it", pattern, baseName(file), line)
	}
	return gone
}

// hasLine asks whether a source line has code.
func (c *checker) hasLine(file string, line int, pos syntax.Pos) bool {
	if c.prog == nil {
		return true
	}
	ok, nearest := c.prog.HasLine(file, line)
	switch {
	case ok:
		return true
	case nearest > 0:
		c.errorf(pos, "there is no code at %s:%d; the nearest line with code is %d", file, line, nearest)
	case len(c.prog.Files()) == 0:
		c.errorf(pos, "the program has no debug information, so it has no lines: name a function instead of %s:%d", file, line)
	default:
		var names []string
		for _, f := range c.prog.Files() {
			names = addOnce(names, baseName(f))
		}
		if slices.Contains(names, file) {
			c.errorf(pos, "there is no code at %s:%d or below", file, line)
			return false
		}
		c.errorf(pos, "the program has no source file `%s`%s", file, didYouMeanOrList(file, names))
	}
	return false
}

func (c *checker) root(s *syntax.Root) {
	t := c.typeOf(s.Type)
	if t == nil {
		return
	}
	g, _ := leftmost(s.From).(*syntax.GlobalName)
	if g == nil {
		return
	}
	i, ok := c.globals[g.Name]
	if !ok {
		return
	}
	r := Root{Type: t, Global: i, Pos: s.Pos}
	sc := &scope{checker: c}
	for _, f := range s.Via {
		r.Via = append(r.Via, sc.cellNames(t, true, f)...)
	}
	o := sc.lower(s.From)
	switch {
	case o.bad():
		return
	case c.spec.Globals[i].Layout == nil:
		r.Place = &Place{Base: &GlobalRef{Src: "::" + g.Name, Global: i}}
	case o.kind != kindRef || o.place == nil:
		c.errorf(s.From.Where(), "%s; a root is a pointer to %s or an object of it", o.describe(), t.Name)
		return
	case !leadsTo(o, t):
		c.errorf(s.From.Where(), "`%s` is %s; a root is a pointer to %s or an object of it", o.src, o.typ, t.Name)
		return
	default:
		r.Place = o.place
	}
	c.spec.Roots = append(c.spec.Roots, r)
}

// leadsTo reports whether o is, or points to, a node of t's structure.
func leadsTo(o operand, t *NodeType) bool {
	switch {
	case o.node != nil:
		return o.node.Group == t.Group
	case o.aggregate() || o.typ == nil || o.typ.Kind != types.Pointer:
		return false
	}
	elem := pointee(o.typ)
	return elem == nil || holds(t.Layout, elem, 0)
}

func (c *checker) alloc(s *syntax.Alloc) {
	t := c.typeOf(s.Type)
	for _, site := range s.Sites {
		ok := false
		if site.Func != "" {
			ok = c.hasFunc(site.Func, site.Pos)
		} else {
			ok = c.hasLine(site.File, site.Line, site.Pos)
		}
		if ok && t != nil {
			c.spec.Allocs = append(c.spec.Allocs, AllocRule{Type: t, File: site.File, Line: site.Line, Func: site.Func,
				Call: site.Call, Offset: site.Offset, Pos: site.Pos})
		}
	}
}

func (c *checker) allocator(s *syntax.Allocator) {
	ok := c.hasFunc(s.Func, s.Pos)
	if s.Free != "" {
		ok = c.hasFunc(s.Free, s.FreePos) && ok
	}
	if ok {
		c.spec.Allocators = append(c.spec.Allocators, Allocator{Func: s.Func, Size: s.Size, Count: s.Count, Bytes: s.Bytes, Old: s.Old,
			Free: s.Free, FreeArg: s.FreeArg, Later: s.Later, Pos: s.Pos})
	}
}

// check resolves "check bounds for T;" and "no check bounds;".
func (c *checker) check(s *syntax.Check) {
	var list []*NodeType
	for _, id := range s.For {
		if t := c.typeOf(id); t != nil {
			list = append(list, t)
		}
	}
	f := &c.spec.MemoryFaults
	switch s.What {
	case "dangling":
		if s.For == nil {
			list = c.spec.Types
		}
		for _, t := range list {
			t.DanglingAtCPoints = !s.No
		}
		return
	case "bounds":
		switch {
		case s.For == nil:
			f.NoBounds = s.No
		case s.No:
			f.Except = append(f.Except, list...)
		default:
			f.Only = append(f.Only, list...)
		}
		return
	}
	if s.For != nil {
		c.errorf(s.For[0].Pos, "`%s` is checked for all nodes or for none: leave out `for`", s.What)
		return
	}
	if s.What == "double free" {
		f.NoDoubleFree = s.No
	} else {
		f.NoUseAfterFree = s.No
	}
}

// globalHint says which objects there are. Those that compilers, linkers and the C library make are listed to nobody.
func globalHint(name string, among []string) string {
	if hint := didYouMean(name, among); hint != "" {
		return hint
	}
	return didYouMeanOrList(name, slices.DeleteFunc(slices.Clone(among), func(n string) bool { return strings.HasPrefix(n, "_") || strings.Contains(n, ".") }))
}

// points resolves C-points, and adds the marks in the program's sources.
func (c *checker) points() {
	for _, s := range c.file.Stmts {
		switch s := s.(type) {
		case *syntax.NoEnd:
			c.spec.NoEnd = true
		case *syntax.CPoint:
			for _, p := range s.Points {
				c.pointOf(p, s.For)
			}
		}
	}
	if c.prog == nil {
		return
	}
	for _, m := range c.prog.Marks() {
		p := CPoint{Mark: true, File: m.File, Line: m.Line}
		if m.For != "" {
			if p.For = c.types[m.For]; p.For == nil {
				c.warnf(syntax.Pos{File: m.File, Line: m.Line, Col: 1}, "the mark ##C-POINT(%s) names no type of %s; it is left out", m.For, c.file.Name)
				continue
			}
		}
		c.spec.CPoints = append(c.spec.CPoints, p)
	}
}

// pointOf resolves one C-point: of several types it is one of each.
func (c *checker) pointOf(p syntax.Point, types []syntax.Ident) {
	ok := false
	if p.Func != "" {
		ok = !c.leftNothing(p.Func, p.Pos) && c.hasFunc(p.Func, p.Pos)
	} else {
		ok = c.hasLine(p.File, p.Line, p.Pos)
	}
	if !ok {
		return
	}
	point := CPoint{Func: p.Func, Entry: p.Entry, Exit: p.Exit, Each: p.Each, File: p.File, Line: p.Line, Pos: p.Pos}
	if types == nil {
		c.spec.CPoints = append(c.spec.CPoints, point)
	}
	for _, id := range types {
		if point.For = c.typeOf(id); point.For != nil {
			c.spec.CPoints = append(c.spec.CPoints, point)
		}
	}
}
