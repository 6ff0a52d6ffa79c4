package mining

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/constraints/mine"
	"mgtrace/constraints/syntax"
	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/probe/evidence"
	"mgtrace/session/analysis"
	"mgtrace/session/recording"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/trace"
	"mgtrace/types"
)

// HasTypes refuses types that the program does not have.
func HasTypes(p *symbol.Program, names []string) error {
	for _, name := range names {
		if last := cxxname.WithoutArgs(name); !mine.PlainName(last[strings.LastIndexByte(last, ':')+1:]) || strings.Contains(name, `"`) {
			return fmt.Errorf("--type %s: a name is expected, as in: struct qdtree { … }, or class Tree<int>::Node", name)
		}
		tree, errs := syntax.Parse("--type", fmt.Sprintf("type it = %q;", name))
		if len(errs) == 0 {
			_, errs = check.Check(tree, p)
		}
		for _, e := range errs {
			if !e.Warning {
				return fmt.Errorf("--type %s: %s", name, e.Msg)
			}
		}
	}
	return nil
}

// OfStandardLibrary: the compiled part of the C++ library writes to nodes of one of the types.
func OfStandardLibrary(p *symbol.Program, names []string) bool {
	for _, name := range names {
		for _, t := range p.LookupType(cxxname.Normal(name)) {
			if specfile.CompiledWrites(name, t) {
				return true
			}
		}
	}
	return false
}

// LeadingGlobals lists the objects in static memory that may lead to nodes, pointers
// to structures, tables of such, and structures, and the numbers beside them in the same files, which may count the nodes, if these are few, beside arrays of nodes also small ones and arrays of
// them, which may be places; and what holds
// types of these names. All have a name that is theirs alone.
func LeadingGlobals(p *symbol.Program, names []string) []check.Variable {
	const maxSize = 64 << 10 // bytes; larger ones are no heads, and tables of more than laws are tried for
	const maxPool = 4 << 20  // bytes
	const maxNumbers = 32
	var out, numbers, places []check.Variable
	pools := map[string]bool{} // files with arrays of nodes
	seen := map[string]int{}
	named := func(t *types.Type, _ bool) bool {
		return t.HasMembers() && slices.ContainsFunc(names, func(n string) bool { return cxxname.Normal(t.Name) == cxxname.Normal(n) })
	}
	for _, f := range p.Objs {
		for _, v := range f.Globals() {
			seen[v.Name]++
			if v.Type == nil {
				continue
			}
			_, pool := v.Type.PathTo(named)
			if v.Loc.Kind != objfile.LocStatic || v.Size == 0 || v.Size > maxSize && !(pool && v.Size <= maxPool) || !mine.PlainName(v.Name) || f != p.Objs[0] {
				continue
			}
			pointer := v.Type.Kind == types.Pointer && v.Type.Elem != nil && v.Type.Elem.HasMembers()
			switch {
			case pointer || v.Type.HasMembers() && len(v.Type.PointerFields()) > 0 || mine.IsTable(v.Type), pool:
				out = append(out, symbol.Variable(v))
				pools[v.File] = pools[v.File] || pool && v.Type.Kind == types.Array
			case mine.Counts(v.Type) || mine.CountsEach(v.Type):
				numbers = append(numbers, symbol.Variable(v))
			case mine.IsPlaces(v.Type):
				places = append(places, symbol.Variable(v))
			}
		}
	}
	numbers = slices.DeleteFunc(numbers, func(n check.Variable) bool {
		return !slices.ContainsFunc(out, func(v check.Variable) bool { return v.File == n.File })
	})
	places = slices.DeleteFunc(places, func(v check.Variable) bool { return !pools[v.File] })
	if len(numbers)+len(places) <= maxNumbers {
		numbers = append(numbers, places...)
	}
	if len(numbers) <= maxNumbers {
		out = append(out, numbers...)
	}
	return slices.DeleteFunc(out, func(v check.Variable) bool { return seen[v.Name] > 1 })
}

// maxWatched is how many functions are watched without a look at what they are
// about.
const maxWatched = 250

// WorthWatching lists the functions whose calls may be C-points: those that the
// program's sources define, of which worthWatching chooses.
func WorthWatching(p *symbol.Program, names []string) []string {
	names = slices.Clone(names)
	for _, name := range names {
		for _, t := range p.LookupType(cxxname.Normal(name)) {
			names = append(names, t.Name)
		}
	}
	seen := map[string]bool{"": true, "operator()": true} // a lambda's, where no more is known of it, would mean all
	var out []string
	for _, obj := range p.Objs {
		add := func(name string) {
			if !seen[name] {
				seen[name] = true
				if len(obj.FuncsNamed(name)) > 0 || len(obj.Inlined(name)) > 0 { // a C-point is named so; not all C++ names mean themselves
					out = append(out, name)
				}
			}
		}
		funcs := slices.DeleteFunc(slices.Clone(obj.Funcs()), func(f objfile.Func) bool { return f.File == "" || f.IFunc || f.Size == 0 })
		chosen, many := worthWatching(funcs, func(f objfile.Func) bool { return about(obj, f, names) })
		for _, f := range chosen {
			add(f.Base)
		}
		if many {
			continue
		}
		for _, in := range obj.Inlined("*") {
			if !objfile.SystemHeader(in.File) { // what these change is their callers' change
				add(in.Name)
			}
		}
	}
	return out
}

// worthWatching chooses of a file's functions. A program of thirty functions in C++ has hundreds of its libraries' templates: where there are
// many, none that a header of the system has is worth it. If there still are many, those are that have to do with the types, and
// those that no header has, if these are few.
func worthWatching(funcs []objfile.Func, about func(objfile.Func) bool) (chosen []objfile.Func, many bool) {
	without := func(in func(objfile.Func) bool) []objfile.Func { return slices.DeleteFunc(slices.Clone(funcs), in) }
	if len(funcs) > maxWatched {
		funcs = without(func(f objfile.Func) bool { return objfile.SystemHeader(f.File) })
	}
	if len(funcs) <= maxWatched {
		return funcs, false
	}
	inHeader := func(f objfile.Func) bool { return !objfile.SourceFile(f.File) }
	few := len(without(inHeader)) <= maxWatched
	return without(func(f objfile.Func) bool { return !(few && !inHeader(f)) && !about(f) }), true
}

// about reports whether a function has a parameter, a result or a variable that is,
// or leads to, one of the types; without names, any structure with a pointer to its
// own kind.
func about(obj *objfile.File, f objfile.Func, names []string) bool {
	means := func(t *types.Type) bool {
		for t != nil && t.Kind == types.Pointer {
			t = t.Elem
		}
		if t == nil || !t.HasMembers() {
			return false
		}
		if len(names) == 0 {
			return recursive(t)
		}
		return slices.Contains(names, t.Name) || slices.ContainsFunc(t.PointerFields(), func(s types.Scalar) bool {
			return s.Type.Elem != nil && slices.Contains(names, s.Type.Elem.Name)
		})
	}
	if means(obj.ReturnType(f.Addr)) {
		return true
	}
	for _, at := range []uint64{f.Addr, f.Addr + f.Size/2, f.Addr + f.Size - 1} {
		if slices.ContainsFunc(obj.Variables(at), func(v objfile.Variable) bool { return means(v.Type) }) {
			return true
		}
	}
	return false
}

// recursive: a structure with a pointer to its own kind, or to a part of its own
// kind, such as a link.
func recursive(t *types.Type) bool {
	return t.HasMembers() && slices.ContainsFunc(t.PointerFields(), func(s types.Scalar) bool { return typing.Within(s.Type.Elem, t) })
}

// linked: a structure that is recursive by itself, and not by the header of a container of the C++ library in it, which leads to itself where
// that is empty, or by what std::enable_shared_from_this has.
func linked(t *types.Type) bool {
	return t.HasMembers() && slices.ContainsFunc(t.PointerFields(), func(s types.Scalar) bool {
		return typing.Within(s.Type.Elem, t) && !typing.Library(s.Type.Elem) && !strings.HasSuffix(s.Path, "_M_weak_this")
	})
}

// Options say what of a recording is looked at.
type Options struct {
	Types      []string // of nodes; none: the one that the run allocates
	Base       string   // a specification's file whose types are mined, and whose constraints are not proposed again; "": none
	Globals    []check.Variable
	Locals     []check.Local // variables of functions that may lead to nodes: those that can be followed were recorded
	Allocators []probe.Allocator
	Note       func(what string) // progress; nil: none
}

// Propose finds what held in a recording.
func Propose(ctx context.Context, rec *recording.Recording, o Options) (*mine.Result, error) {
	p := rec.Program()
	if p == nil {
		return nil, errors.New("the program's debug information is not at hand")
	}
	spec, tree, err := baseOf(o.Base, p)
	if err != nil {
		return nil, err
	}
	spec.CPoints = everyBoundary(rec.Prog.Funcs)
	log := &callLog{open: map[trace.ThreadID][]int{}}
	a := analysis.New(spec, &rec.Prog, rec.Symbols, analysis.Options{NoLocate: true, Observe: log.point})
	log.hist, log.stack = a.Hist, a.Stack
	sink, err := rec.Completed(ctx, a)
	if err != nil {
		return nil, err
	}
	t, err := rec.Feed(ctx, sink)
	if err != nil {
		return nil, err
	}
	if !t.Complete {
		return nil, fmt.Errorf("the recording is not complete (%s): nothing can be said of what is missing", t.Why)
	}
	log.finish()
	if f := a.Checker.MemoryFaults(); len(f) > 0 {
		at, _, _ := rec.Symbols.Where(a.Hist.Op(f[0].Time).PC)
		return nil, fmt.Errorf("the run was not healthy: %s at %s:%d; mgtrace run ./prog tells more", f[0].Kind, symbol.Short(at.File), at.Line)
	}
	finder := evidence.NewFinder(rec.Symbols.Sources.Line)
	all := func() []proposal { return allocated(a.Hist, rec.Symbols, finder, p, blockOrHeld) }
	names := o.Types
	if len(names)+len(spec.Types) == 0 {
		if names, err = onlyType(ofOneBase(proposals(a.Hist, rec.Symbols, finder, p), p), all, rec.Symbols); err != nil {
			return nil, err
		}
	}
	if tree == nil {
		names = append(names, derived(names, proposals(a.Hist, rec.Symbols, finder, p), p)...)
	}
	leading := allocated(a.Hist, rec.Symbols, finder, p, leadsTo(names))
	aside := append(heads(leading), beside(all(), leading, names, len(o.Types) > 0 || tree != nil)...)
	var given *typing.Blocks
	run := &mine.Run{
		Program: p, History: a.Hist, Bias: a.Bias(), Calls: log.calls, Globals: o.Globals, Locals: o.Locals, Types: names, Base: tree, Directives: allocatorDirectives(o.Allocators),
		Ended: log.ended, Progress: o.Note,
		Typing: func(s *check.Spec) graph.Typing {
			given = typing.Sharing(finder, s, rec.Symbols)
			return given
		},
		LeftOut: func() []string { return append(given.Several(), aside...) },
		Library: inHeaders(rec.Prog.Funcs),
		FuncOf: func(pc trace.Addr) string {
			frames := rec.Symbols.Frames(pc)
			for i, f := range frames {
				if i == len(frames)-1 || !objfile.SystemHeader(f.File) {
					return plainFunc(f.Function)
				}
			}
			return ""
		},
	}
	res, err := mine.Mine(ctx, run)
	var none *mine.NoNodesError
	if errors.As(err, &none) {
		elsewhere, made := unfollowed(o.Locals, none.Of.Layout), makerOf(none.Of.Layout, a.Hist, rec.Symbols)
		if elsewhere == "" {
			elsewhere = memberOf(none.Of.Layout, a.Hist, rec.Symbols, finder)
		}
		if elsewhere == "" {
			elsewhere = arrayOf(none.Of.Layout, a)
		}
		if elsewhere == "" {
			elsewhere = staticOf(none.Of.Layout, o.Globals)
		}
		switch {
		case elsewhere == "":
			elsewhere = made
		case made != "":
			elsewhere += "; or " + made
		}
		if elsewhere == "" && len(t.Shared) > 0 {
			elsewhere = "it has mapped " + analysis.MappedFiles(t.Shared) + "; tell that in a file for --merge"
		}
		if elsewhere == "" {
			elsewhere = allocatorHint(rec.Symbols)
		}
		return nil, fmt.Errorf("%w in this run; it allocated %s (%s)", err, listed(proposals(a.Hist, rec.Symbols, finder, p)), elsewhere)
	}
	return res, err
}

// baseOf reads a specification for what it says of nodes, without its constraints.
func baseOf(file string, p check.Program) (*check.Spec, *syntax.File, error) {
	if file == "" {
		return &check.Spec{}, nil, nil
	}
	spec, tree, _, err := specfile.Read(file, p)
	if err != nil {
		return nil, nil, err
	}
	spec.Constraints = nil // the run is taken to be healthy
	return spec, tree, nil
}

// allocatorDirectives say in a specification what --alloc and --free say of a run: each
// directive has room for what gives out blocks and what takes them back.
func allocatorDirectives(list []probe.Allocator) []string {
	var gives, frees []probe.Allocator
	for _, a := range list {
		switch {
		case a.Like != "":
			return []string{fmt.Sprintf("# run it with --alloc %s=%s too", a.Func, a.Like)}
		case a.Func != "":
			gives = append(gives, a)
		default:
			frees = append(frees, a)
		}
	}
	var out []string
	for i := range max(len(gives), len(frees)) {
		if len(gives) == 0 {
			break // what is never given out is not freed
		}
		a := gives[min(i, len(gives)-1)]
		args := fmt.Sprintf("size=%d", a.Size)
		if a.Size == 0 {
			args = fmt.Sprintf("bytes=%d", a.Fixed)
		}
		if a.Count > 0 {
			args += fmt.Sprintf(", count=%d", a.Count)
		}
		if a.Old > 0 {
			args += fmt.Sprintf(", old=%d", a.Old)
		}
		text := fmt.Sprintf("allocator %s(%s)", a.Func, args)
		if i < len(frees) {
			text += fmt.Sprintf(" frees %s(%d)", frees[i].Free, frees[i].FreeArg)
		}
		out = append(out, text+";")
	}
	return out
}

// plainFunc is a function's name without a clone's suffix.
func plainFunc(name string) string {
	base, _, _ := strings.Cut(name, ".")
	return base
}

// inHeaders returns which functions are those of headers of the system.
func inHeaders(funcs []trace.Func) func(name string) bool {
	set := map[string]bool{}
	for _, f := range funcs {
		set[f.Name] = objfile.SystemHeader(f.File)
	}
	return func(name string) bool { return set[name] }
}

// everyBoundary makes all recorded functions C-points.
func everyBoundary(funcs []trace.Func) []check.CPoint {
	var out []check.CPoint
	for _, f := range funcs {
		out = append(out, check.CPoint{Func: f.Name, Entry: true, Exit: true, Each: true})
	}
	return out
}

// callLog notes the calls of watched functions.
type callLog struct {
	hist  *mgpp.History
	stack func(*eval.CPoint) (lo, hi trace.Addr)
	calls []mine.Call
	open  map[trace.ThreadID][]int
	ended bool
}

// point takes the boundary of a call.
func (l *callLog) point(c eval.CPoint) {
	now := l.hist.Now()
	lo, hi := l.stack(&c)
	depth := 0
	for _, o := range c.Open {
		if o.Thread == c.Thread {
			depth++
		}
	}
	stack := l.open[c.Thread]
	switch c.Kind {
	case "entry":
		stack = stack[:min(depth, len(stack))] // what exceptions and longjmp left
		call := mine.Call{Func: c.Function, Thread: c.Thread, Parent: -1, Depth: len(stack), Enter: now, EnterStack: mine.Stack{Lo: lo, Hi: hi}}
		for _, i := range stack {
			call.Inner = call.Inner || l.calls[i].Func == c.Function
		}
		if len(stack) > 0 {
			call.Parent = stack[len(stack)-1]
		}
		l.open[c.Thread] = append(stack, len(l.calls))
		l.calls = append(l.calls, call)
	case "return":
		if depth < len(stack) {
			call := &l.calls[stack[depth]]
			call.Leave, call.Left, call.LeaveStack = now, true, mine.Stack{Lo: lo, Hi: hi}
			l.open[c.Thread] = stack[:depth]
		}
	case "exit":
		l.ended = true
		l.finish()
	}
}

// finish ends the calls that are open.
func (l *callLog) finish() {
	for i := range l.calls {
		if c := &l.calls[i]; !c.Left && c.Leave == 0 {
			c.Leave = l.hist.Now()
		}
	}
}

// proposal is a type that the run allocated and that may be one of nodes.
type proposal struct {
	name  string
	count int
	holds string // of a node of the C++ library's, which of the program's structures
}

// shown is the name as a shell takes it.
func (p *proposal) shown() string {
	name := cxxname.Short(p.name)
	if strings.ContainsAny(name, "<> ") {
		return "'" + name + "'"
	}
	return name
}

// proposals lists the structures of the program, not of its libraries, with pointers to
// their own kind that were allocated.
func proposals(h *mgpp.History, symbols *symbol.Table, finder *evidence.Finder, p check.Program) []proposal {
	return allocated(h, symbols, finder, p, func(block *types.Type) (name, holds string) {
		if s := typing.Held(block); s != nil && linked(s) {
			name = s.Name
		}
		return name, ""
	})
}

// blockOrHeld names a structure of the program, or a node of the C++ library's that a container links with others.
func blockOrHeld(block *types.Type) (name, holds string) {
	s := typing.Held(block)
	switch {
	case typing.Linked(block) && s != nil:
		return block.Name, s.Name
	case typing.Linked(block):
		return block.Name, ""
	case s != nil && s.HasMembers():
		return s.Name, ""
	}
	return "", ""
}

// allocated lists the types that blocks of the program, not of its libraries, go by ("": by none).
func allocated(h *mgpp.History, symbols *symbol.Table, finder *evidence.Finder, p check.Program, by func(block *types.Type) (name, holds string)) []proposal {
	y := typing.Sharing(finder, &check.Spec{}, symbols)
	byStack := map[*trace.Addr]proposal{}
	counts := map[proposal]int{}
	for n := range h.Nodes() {
		if _, local := trace.Local(n.Alloc); local || len(n.Stack) == 0 || n.Global != 0 {
			continue
		}
		is, ok := byStack[&n.Stack[0]]
		if im, known := symbols.Image(n.Stack[0] - 1); !ok && known && im.Traced { // else a library's own, as fopen's: its stores are not recorded
			if e := y.Evidence(n.Alloc, n.Stack); e.Type != nil {
				if name, holds := by(e.Type); name != "" && len(p.LookupType(cxxname.Normal(name))) > 0 {
					is = proposal{name: name, holds: holds}
				}
			}
			byStack[&n.Stack[0]] = is
		}
		if is.name != "" {
			counts[is]++
		}
	}
	var out []proposal
	for is, n := range counts {
		is.count = n
		out = append(out, is)
	}
	slices.SortFunc(out, func(a, b proposal) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.name, b.name)
	})
	return out
}

// leadsTo names a structure that has pointers to others that are named, or to pointers to them, and is none of them.
func leadsTo(names []string) func(block *types.Type) (name, holds string) {
	named := map[string]bool{}
	for _, name := range names {
		named[cxxname.Normal(name)] = true
	}
	return func(block *types.Type) (name, holds string) {
		t := typing.Held(block)
		if t != nil && !named[cxxname.Normal(t.Name)] && slices.ContainsFunc(t.PointerFields(), func(s types.Scalar) bool {
			to := s.Type.Elem
			if to != nil && to.Kind == types.Pointer {
				to = to.Elem
			}
			return to != nil && named[cxxname.Normal(to.Name)]
		}) {
			name = t.Name
		}
		return name, ""
	}
}

// heads says which structures lead to nodes and are not looked at, as the one that holds a list and its length: those of which there are few first.
func heads(p []proposal) []string {
	if len(p) == 0 {
		return nil
	}
	p = slices.Clone(p)
	slices.SortStableFunc(p, func(a, b proposal) int { return a.count - b.count })
	p = p[:min(4, len(p))]
	var also strings.Builder
	for _, x := range p {
		also.WriteString(" --type " + x.shown())
	}
	return []string{fmt.Sprintf("beside them the run allocated %s, with pointers to them: what holds there is found with%s", listed(p), also.String())}
}

// memberOf says in which structure that the run allocated objects of a type lie, and how that is told; "" if
// in none.
func memberOf(t *types.Type, h *mgpp.History, symbols *symbol.Table, finder *evidence.Finder) string {
	y := typing.Sharing(finder, &check.Spec{}, symbols)
	seen := map[*trace.Addr]bool{}
	for n := range h.Nodes() {
		if _, local := trace.Local(n.Alloc); local || len(n.Stack) == 0 || n.Global != 0 || seen[&n.Stack[0]] {
			continue
		}
		seen[&n.Stack[0]] = true
		e := y.Evidence(n.Alloc, n.Stack)
		if e.Type == nil {
			continue
		}
		host := typing.Held(e.Type)
		if path, _ := host.PathTo(func(part *types.Type, _ bool) bool { return typing.SameType(part, t) }); path != "" {
			return fmt.Sprintf("%s lies in %s: tell that in a file for --merge, as by: type host = %q; type part = %q; embed part in host at %s;",
				t.Name, host.Name, host.Name, t.Name, path)
		}
	}
	return ""
}

// arrayOf says which object in static memory has an array of a type, and how that is told; "" if none has.
func arrayOf(t *types.Type, a *analysis.Analysis) string {
	v, path, ok := a.Array(t)
	if !ok {
		return ""
	}
	if path != "" {
		path = " at " + path
	}
	return fmt.Sprintf("%s in static memory (%s:%d) holds an array of %s: tell that in a file for --merge, as by: type part = %q; embed part in ::%s%s;",
		v.Name, symbol.Short(v.File), v.Line, t.Name, t.Name, v.Name, path)
}

// staticOf says which variables in static memory are of a type; "": none is.
func staticOf(t *types.Type, globals []check.Variable) string {
	var names []string
	for _, v := range globals {
		if t != nil && v.Type != nil && typing.SameType(v.Type, t) {
			names = append(names, "::"+v.Name)
		}
	}
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0] + " in static memory is one, and nothing was stored there: leave the type out"
	default:
		return strings.Join(names[:min(n, maxStatic)], ", ") + " in static memory are such, and nothing was stored there: leave the type out"
	}
}

// maxStatic is how many variables are named.
const maxStatic = 3

// maxOfOne is how many times as large as its type the block of an object may be: larger ones are chunks of an allocator of the program's own.
const maxOfOne = 16

// makerOf says in which function of the program that returns a pointer to the type blocks were allocated that have room for it,
// and how that is told; "" if in none. So objects come to be of which the allocation tells another type: a header that all kinds
// have in common, as in an interpreter, or none.
func makerOf(t *types.Type, h *mgpp.History, symbols *symbol.Table) string {
	makes := map[string]bool{}
	maker := func(name string) bool {
		known, ok := makes[name]
		if !ok {
			known = slices.ContainsFunc(symbols.Images, func(im symbol.Image) bool {
				return im.Obj != nil && im.Traced && slices.ContainsFunc(im.Obj.FuncsNamed(name), func(f objfile.Func) bool {
					r := im.Obj.ReturnType(f.Addr)
					return r != nil && r.Kind == types.Pointer && typing.SameType(r.Elem, t)
				})
			})
			makes[name] = known
		}
		return known
	}
	counts := map[string]int{} // blocks, by the innermost such function
	byStack := map[*trace.Addr]string{}
	for n := range h.Nodes() {
		if _, local := trace.Local(n.Alloc); local || len(n.Stack) == 0 || n.Global != 0 || int64(n.Size) < t.Size || int64(n.Size) > maxOfOne*t.Size {
			continue
		}
		name, ok := byStack[&n.Stack[0]]
		if !ok {
			for _, at := range n.Stack {
				frames := symbols.Frames(at - 1)
				if i := slices.IndexFunc(frames, func(f objfile.Frame) bool { return maker(plainFunc(f.Function)) }); i >= 0 {
					name = plainFunc(frames[i].Function)
					break
				}
			}
			byStack[&n.Stack[0]] = name
		}
		if name != "" {
			counts[name]++
		}
	}
	best := ""
	for name, n := range counts {
		if best == "" || n > counts[best] || n == counts[best] && name < best {
			best = name
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("%s allocates and returns a pointer to such: tell that in a file for --merge, as by: type node = %q; alloc node at %s;", best, t.Name, best)
}

// onlyType takes the only type there is; others are those that have no pointer to their own kind.
func onlyType(p []proposal, others func() []proposal, symbols *symbol.Table) ([]string, error) {
	switch len(p) {
	case 0:
		if o := others(); len(o) > 0 {
			return nil, fmt.Errorf("the run allocated no structure with a pointer to its own kind: say which of those that it allocated make one, with --type NAME (repeatable): %s", listed(o))
		}
		return nil, fmt.Errorf("the run allocated no structure with a pointer to its own kind, as far as debug information tells: say which one is meant with --type (%s)", allocatorHint(symbols))
	case 1:
		return []string{p[0].name}, nil
	}
	return nil, fmt.Errorf("which structure? --type NAME (repeatable); the run allocated %s", listed(p))
}

// beside says what else the run allocated than the types that were taken, and those that lead to them, which may belong to them. Of types that
// the user has named it is only the nodes of the C++ library's in which they lie.
func beside(all, leading []proposal, names []string, named bool) []string {
	var in, others []proposal
	for _, x := range all {
		is := func(of string) bool {
			of = cxxname.Plain(of)
			return of != "" && slices.ContainsFunc(names, func(name string) bool {
				name = cxxname.Plain(name)
				return of == name || strings.HasSuffix(of, "::"+name)
			})
		}
		switch {
		case is(x.name), slices.Contains(leading, x):
		case is(x.holds):
			in = append(in, x)
		default:
			others = append(others, x)
		}
	}
	var out []string
	if len(in) > 0 {
		out = append(out, "how a container links them is in the nodes in which they lie, with --type for each: "+listed(in))
	}
	if len(others) > 0 && !named {
		out = append(out, "allocated as well, and left out: "+listed(others)+"; where they belong to it, say --type for each, and for what was taken")
	}
	return out
}

func listed(p []proposal) string {
	var s []string
	for _, x := range p {
		s = append(s, fmt.Sprintf("%d %s", x.count, x.shown()))
	}
	if len(s) == 0 {
		return "no structure with a pointer to its own kind"
	}
	return strings.Join(s[:min(12, len(s))], ", ")
}
