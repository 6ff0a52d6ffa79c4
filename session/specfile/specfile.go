package specfile

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/syntax"
	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
)

// Error is what is wrong with a specification: all of it, with the lines.
type Error struct {
	Errors []syntax.Error
	Source string
}

func (e *Error) Error() string {
	n := 0
	for _, one := range e.Errors {
		if !one.Warning {
			n++
		}
	}
	return fmt.Sprintf("%s%s in the specification", syntax.Format(e.Errors, e.Source), report.Plural(n, "error", "errors"))
}

// Load reads and checks a specification; "" gives the empty one.
func Load(file string, p check.Program) (*check.Spec, error) {
	if file == "" {
		return &check.Spec{}, nil
	}
	spec, _, _, err := Read(file, p)
	return spec, err
}

// Read returns a checked specification with its tree and its text.
func Read(file string, p check.Program) (*check.Spec, *syntax.File, string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, "", fmt.Errorf("read the specification: %w", err)
	}
	text := string(b)
	tree, errs := syntax.Parse(file, text)
	var spec *check.Spec
	if len(errs) == 0 {
		spec, errs = check.Check(tree, p)
	}
	for _, e := range errs {
		if !e.Warning {
			return nil, nil, "", &Error{errs, text}
		}
	}
	return spec, tree, text, nil
}

// Describe checks a specification, against a program if one is named, and
// says what it holds.
func Describe(file, prog string, debugDirs []string) (string, error) {
	var p check.Program
	var needed *symbol.Program // without the libraries that it may open; nil: there are none
	if prog != "" {
		o := objfile.Options{DebugDirs: debugDirs}
		f, err := objfile.Open(prog, o)
		if err != nil {
			return "", fmt.Errorf("%s: %w", prog, err)
		}
		defer f.Close()
		files := []*objfile.File{f}
		main := symbol.Image{Obj: f}
		main.Path, main.Traced = prog, true
		images := []symbol.Image{main}
		for _, im := range symbol.Needed(prog, o) {
			defer im.Obj.Close()
			images = append(images, im)
			files = append(files, im.Obj)
		}
		dir, _ := os.Getwd() // gone: then nothing is found in it
		may, _ := symbol.Openable(images, symbol.Surroundings{Dir: dir, LibraryPath: os.Getenv("LD_LIBRARY_PATH")}, o)
		for _, im := range may {
			defer im.Obj.Close()
			files = append(files, im.Obj)
		}
		p = &symbol.Program{Objs: files, Sources: &symbol.Sources{}}
		if len(may) > 0 {
			needed = &symbol.Program{Objs: files[:len(images)], Sources: &symbol.Sources{}}
		}
	}
	spec, tree, text, err := Read(file, p)
	if err != nil && needed != nil { // as when it runs: see live.Program.prepare
		spec, tree, text, err = Read(file, needed)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%s: good: %s", syntax.Format(spec.Warnings, text), file, summary(spec, syntax.Statements(tree))), nil
}

func summary(s *check.Spec, statements int) string {
	return fmt.Sprintf("%s, %s, %s, %s (%s)", report.Plural(len(s.Types), "type", "types"), report.Plural(len(s.Attributes), "attribute", "attributes"),
		report.Plural(len(s.Constraints), "constraint", "constraints"), report.Plural(len(s.CPoints), "C-point", "C-points"),
		report.Plural(statements, "statement", "statements"))
}

// OfStandardLibrary: the compiled part of the C++ library writes to nodes of a declared type.
func OfStandardLibrary(spec *check.Spec) bool {
	return slices.ContainsFunc(spec.Types, func(t *check.NodeType) bool { return CompiledWrites(t.Source, t.Layout) })
}

// CompiledWrites: a type is one of the C++ library's own nodes, which its compiled part
// links and balances (std::_Rb_tree_insert_and_rebalance), or has a container inside that
// the compiled part writes to.
func CompiledWrites(name string, layout *types.Type) bool {
	return strings.HasPrefix(name, "std::") || layout != nil && compiledInside(layout)
}

// compiledInside: the compiled part of the C++ library writes to objects of a type.
func compiledInside(t *types.Type) bool {
	switch t.Kind {
	case types.Array:
		return t.Elem != nil && compiledInside(t.Elem)
	case types.Struct, types.Union:
		name, _, _ := strings.Cut(cxxname.Plain(t.Name), "<")
		switch name {
		case "std::basic_string", "std::list", "std::map", "std::multimap", "std::set", "std::multiset":
			return true
		}
		return strings.HasPrefix(name, "std::_Rb_tree") || strings.HasPrefix(name, "std::_List_node") ||
			slices.ContainsFunc(t.Members, func(m types.Member) bool { return m.Type != nil && compiledInside(m.Type) })
	}
	return false
}

// Inlined refuses functions whose arguments matter ("enter", "leave",
// "allocator") and that the compiler has inlined somewhere: arguments can not be
// read there, and nodes that were never seen to begin would make a healthy
// structure look broken.
func Inlined(spec *check.Spec, p *symbol.Program) error {
	for _, m := range spec.Members {
		if err := errors.Join(NotInlined(p, m.Func, m.Pos.String()), passed(p, &m)); err != nil {
			return err
		}
	}
	for _, a := range spec.Allocators {
		if err := errors.Join(NotInlined(p, a.Func, a.Pos.String()), NotInlined(p, a.Free, a.Pos.String())); err != nil {
			return err
		}
	}
	return nil
}

// passed refuses a copy of a function that the compiler made, and that does not take the
// argument which tells the node in a register.
func passed(p *symbol.Program, m *check.Membership) error {
	for _, f := range p.Objs {
		for _, fn := range f.FuncsNamed(m.Func) {
			if m.Return || cxxname.BaseLinkage(fn.Linkage) == fn.Linkage {
				continue
			}
			if params := f.Params(fn.Addr); m.Arg > len(params) || params[m.Arg-1].Loc.Kind != objfile.LocReg {
				return fmt.Errorf("%s: the compiler has made a copy of %s (%s) that takes its arguments in another way: give it __attribute__((noipa)), or compile with -fno-ipa-cp -fno-ipa-sra",
					m.Pos, m.Func, fn.Linkage)
			}
		}
	}
	return nil
}

// NotInlined refuses a function that where names, if the compiler has inlined it.
func NotInlined(p *symbol.Program, name, where string) error {
	if name == "" {
		return nil
	}
	if in, file, line := p.Inlined(name); in != "" {
		return fmt.Errorf("%s: the compiler has inlined %s (into %s at %s:%d), where its arguments can not be read: give it __attribute__((noinline)), or compile with -fno-inline",
			where, name, in, symbol.Short(file), line)
	}
	return nil
}

// MayBeginLate refuses specifications whose nodes come to be by calls: those of
// before would be missing, and what leads to them would look broken.
func MayBeginLate(spec *check.Spec) error {
	if spec != nil && len(spec.Reaches) > 0 {
		return errors.New("this specification's nodes come to be by the pointers of an allocator, and what it held before the history begins is not known: record all of the run (without --last, --from and --after)")
	}
	if spec != nil && len(spec.Members) > 0 {
		return errors.New("this specification's nodes enter and leave by calls of functions, and those of before the history begins are not known: record all of the run (without --last, --from and --after)")
	}
	return nil
}

// Wants are what the user wants to be captured beside what a specification needs.
type Wants struct {
	Allocators []probe.Allocator
	Watch      []string // functions whose calls are events; "": none
	Globals    []string
	Locals     []check.Local
}

// Request turns a specification into what to capture.
func Request(spec *check.Spec, p *symbol.Program, o Wants) (probe.Request, error) {
	need := check.Requirements(spec)
	r := probe.Request{Watch: append([]string(nil), need.Funcs...), Marks: need.Marks && len(spec.Types) > 0, Allocators: o.Allocators, End: true}
	for _, f := range o.Watch {
		if f != "" && !slices.Contains(r.Watch, f) {
			r.Watch = append(r.Watch, f)
		}
	}
	for _, l := range need.Lines {
		r.Lines = append(r.Lines, probe.Line{File: l.File, Line: l.Line})
	}
	for _, a := range need.Allocators {
		r.Allocators = append(r.Allocators, probe.Allocator{Func: a.Func, Size: a.Size, Count: a.Count, Fixed: uint64(a.Bytes), Old: a.Old, Free: a.Free, FreeArg: a.FreeArg, Later: a.Later})
	}
	for _, g := range need.Globals {
		r.Globals = append(r.Globals, probe.Global{Path: p.FileOf(g), Name: g.Name, Addr: g.Addr, Size: uint64(g.Size)})
	}
	for i, l := range slices.Concat(need.Locals, o.Locals) {
		for _, v := range l.Frames {
			r.Locals = append(r.Locals, probe.Local{Path: v.Path, Entry: v.Entry, Name: trace.LocalName(v.Label()), Offset: v.Offset, Size: v.Size,
				Ender: destructor(v.Type), Optional: i >= len(need.Locals)})
		}
	}
	if len(r.Allocators) > 0 {
		r.Globals = append(r.Globals, arenas(p, r.Globals)...)
	}
	r.Stacks = typeNames(spec)
	r.Operations = r.Stacks
	r.Inside = len(spec.Reaches) > 0
	for _, name := range o.Globals {
		g, err := global(p, name)
		if err != nil {
			return r, err
		}
		if !slices.ContainsFunc(r.Globals, func(h probe.Global) bool { return h.Addr == g.Addr && h.Size == g.Size }) {
			r.Globals = append(r.Globals, g) // one object is one node
		}
	}
	return r, nil
}

// destructor is the name that the destructor of a class has, if it has one.
func destructor(t *types.Type) string {
	if t == nil || t.Kind != types.Struct || t.Name == "" {
		return ""
	}
	name, _, _ := strings.Cut(t.Name, "<")
	return t.Name + "::~" + name[strings.LastIndexByte(name, ':')+1:]
}

// minArena is the size, in bytes, of arrays that may be what an allocator divides.
const minArena = 256

// arenas lists the arrays in static memory that an allocator of the program's own may give
// out pieces of, without those that are listed already: what is stored there is recorded
// as on the heap.
func arenas(p *symbol.Program, known []probe.Global) []probe.Global {
	var out []probe.Global
	for i, f := range p.Objs {
		path := "" // the program's own
		if i > 0 {
			path = p.Paths[i]
		}
		for _, v := range f.Globals() {
			g := probe.Global{Path: path, Name: v.Name, Addr: uint64(v.Loc.Offset), Size: uint64(v.Size)}
			if v.Type == nil || v.Type.Kind != types.Array || v.Loc.Kind != objfile.LocStatic || v.Size < minArena ||
				slices.ContainsFunc(known, func(k probe.Global) bool { return k.Path == g.Path && k.Addr == g.Addr }) {
				continue
			}
			out = append(out, g)
		}
	}
	return out
}

// typeNames are the names in C++ of the types of nodes, of what arrays have elements of, and of what the C++ library's nodes hold.
func typeNames(spec *check.Spec) []string {
	var names []string
	add := func(t *types.Type) {
		if name := cxxname.Plain(t.Name); t.Name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, t := range spec.Types {
		layout := t.Layout
		if t.Array {
			layout = t.Elem
		}
		for layout != nil && layout.Kind == types.Pointer {
			layout = layout.Elem
		}
		if layout != nil && layout.Kind == types.Struct {
			add(layout)
			heldIn(layout, 0, add)
		}
	}
	return names
}

// maxHeld is how deep what a node of the C++ library holds lies in it.
const maxHeld = 4

// heldIn calls f for the program's own structures in one of the C++ library's, as Entry is in a std::_List_node<Entry>.
func heldIn(t *types.Type, depth int, f func(*types.Type)) {
	if depth > maxHeld || !ofStandard(t.Name) {
		return
	}
	for _, m := range t.Members {
		switch {
		case m.Type == nil || m.Type.Kind != types.Struct:
		case ofStandard(m.Type.Name):
			heldIn(m.Type, depth+1, f)
		default:
			f(m.Type)
		}
	}
}

func ofStandard(name string) bool {
	return strings.HasPrefix(name, "std::") || strings.HasPrefix(name, "__gnu_cxx::")
}

// global finds NAME or FILE:NAME.
func global(p *symbol.Program, name string) (probe.Global, error) {
	file, bare := "", name
	if i := strings.LastIndex(name, ":"); i > 0 && !strings.Contains(name, "::") {
		file, bare = name[:i], name[i+1:]
	}
	v := p.LookupGlobal(file, bare)
	if len(v) == 0 {
		return probe.Global{}, fmt.Errorf("--global %s: the program has no such object in static memory", name)
	}
	g := probe.Global{Name: bare, Addr: v[0].Addr, Size: uint64(v[0].Size)}
	if v[0].Type != nil {
		g.Type = v[0].Type.Name
	}
	return g, nil
}
