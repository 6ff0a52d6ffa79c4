package symbol

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mgtrace/constraints/check"
	"mgtrace/objfile"
	"mgtrace/types"
)

// Program answers the specification's questions about a program, from the files
// whose code is traced, the program itself first.
type Program struct {
	Objs    []*objfile.File
	Paths   []string // of the files
	Sources *Sources
	Others  []Image      // that are mapped and not traced
	marks   []check.Mark // nil: not looked for yet
}

var _ check.Program = (*Program)(nil)

// LookupType implements types.Loader: what the first file has that defines the type; one
// may only declare what a library defines. A structure without a name goes by that of the only object in static memory that is one.
func (p *Program) LookupType(name string) []*types.Type {
	var declared []*types.Type
	for _, f := range p.Objs {
		found := f.Universe().Lookup(name)
		if slices.ContainsFunc(found, func(t *types.Type) bool { return t.Kind != types.Opaque }) {
			return found
		}
		if declared == nil {
			declared = found
		}
	}
	if len(declared) > 0 {
		return declared
	}
	if list := p.LookupGlobal("", name); len(list) == 1 && list[0].Type != nil && list[0].Type.HasMembers() && list[0].Type.Name == "" {
		return []*types.Type{list[0].Type}
	}
	return nil
}

// Const implements types.Loader.
func (p *Program) Const(name string) (int64, bool) {
	for _, f := range p.Objs {
		if v, ok := f.Universe().Const(name); ok {
			return v, true
		}
	}
	return 0, false
}

// TypeNames implements types.Loader.
func (p *Program) TypeNames() []string {
	var names []string
	for _, f := range p.Objs {
		names = append(names, f.Universe().Names()...)
	}
	return names
}

// LookupFunc implements check.Program.
func (p *Program) LookupFunc(pattern string) []string {
	var names []string
	for _, f := range p.Objs {
		for _, fn := range f.FuncsNamed(pattern) {
			names = append(names, fn.Name)
		}
		for _, in := range f.Inlined(pattern) {
			names = append(names, in.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// LibraryOf implements check.Program. The C library's own functions are no reason to trace
// that: what they write is known without.
func (p *Program) LibraryOf(pattern string) string {
	for _, im := range p.Others {
		base := filepath.Base(im.Path)
		if im.Obj == nil || IsLibC(im.Path) || strings.HasPrefix(base, "ld-") {
			continue
		}
		if len(im.Obj.FuncsInFull(pattern)) > 0 {
			name, _, _ := strings.Cut(base, ".so")
			return name + ".so"
		}
	}
	return ""
}

// FuncNames implements check.Program. Of a file with any from the user's own sources they are those, without
// the start-up code and what templates of the C++ library were made into.
func (p *Program) FuncNames() []string {
	var names []string
	for _, f := range p.Objs {
		var own, others []string
		for _, fn := range f.Funcs() {
			if fn.File != "" && !objfile.SystemHeader(fn.File) {
				own = append(own, fn.Name)
			} else {
				others = append(others, fn.Name)
			}
		}
		if len(own) == 0 {
			own = others
		}
		names = append(names, own...)
	}
	return names
}

// LookupGlobal implements check.Program.
func (p *Program) LookupGlobal(file, name string) []check.Variable {
	var out []check.Variable
	for _, f := range p.Objs {
		if v, ok := f.Global(name, file); ok && v.Loc.Kind == objfile.LocStatic {
			out = append(out, Variable(v))
			break
		}
	}
	return out
}

// FileOf is the path of the file that has an object in static memory, "" if it is
// the program itself.
func (p *Program) FileOf(g check.Global) string {
	for i, f := range p.Objs {
		if v, ok := f.Global(g.Name, g.File); ok && v.Loc.Kind == objfile.LocStatic {
			if i == 0 {
				return ""
			}
			return p.Paths[i]
		}
	}
	return ""
}

// GlobalNames implements check.Program.
func (p *Program) GlobalNames() []string {
	var names, bare []string // of debug information; of the symbol table only
	for _, f := range p.Objs {
		for _, v := range f.Globals() {
			if v.Type != nil {
				names = append(names, v.Name)
			} else {
				bare = append(bare, v.Name)
			}
		}
	}
	if len(names) == 0 {
		return bare
	}
	return names
}

// LookupLocal implements check.Program.
func (p *Program) LookupLocal(pattern, name string) (out []check.LocalVariable) {
	for i, f := range p.Objs {
		for _, l := range f.Locals(pattern, name) {
			v := check.LocalVariable{Func: l.Func.Base, Name: l.Name, Type: l.Type, Entry: l.Func.Addr, Offset: l.Offset, Size: l.Size, Why: l.Why}
			if v.Func == "" {
				v.Func = l.Func.Name
			}
			if i > 0 {
				v.Path = p.Paths[i]
			}
			out = append(out, v)
		}
	}
	return out
}

// LocalNames implements check.Program.
func (p *Program) LocalNames(pattern string) (names []string) {
	for _, f := range p.Objs {
		names = append(names, f.LocalNames(pattern)...)
	}
	return names
}

// Inlined implements check.Program.
func (p *Program) Inlined(pattern string) (into, file string, line int) {
	for _, f := range p.Objs {
		for _, in := range f.Inlined(pattern) {
			if !in.Inner { // what lies in another instance, or is the rest of the function itself, is no call of its own
				return in.In, in.CallFile, in.CallLine
			}
		}
	}
	return "", "", 0
}

// Scattered implements check.Program.
func (p *Program) Scattered(name string) bool {
	return slices.ContainsFunc(p.Objs, func(f *objfile.File) bool { return f.Scattered(name) })
}

// Variable is a global variable as a specification knows it.
func Variable(v objfile.Variable) check.Variable {
	return check.Variable{Name: v.Name, File: v.File, Type: v.Type, Addr: uint64(v.Loc.Offset), Size: int64(v.Size)}
}

// HasLine implements check.Program.
func (p *Program) HasLine(file string, line int) (ok bool, nearest int) {
	for _, f := range p.Objs {
		if len(f.LineAddrs(file, line)) > 0 {
			return true, line
		}
		if n, ok := f.NearestLine(file, line); ok {
			nearest = n
		}
	}
	return false, nearest
}

// Files implements check.Program.
func (p *Program) Files() []string {
	var files []string
	for _, f := range p.Objs {
		files = append(files, f.SourceFiles()...)
	}
	return files
}

// cpointMark is the thesis's own mark, in a comment: ##C-POINT(qdtree).
var cpointMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`##C-POINT(?:\s*\(\s*([^)]*?)\s*\))?`) })

// Marks implements check.Program.
func (p *Program) Marks() []check.Mark {
	if p.marks != nil {
		return p.marks
	}
	p.marks = []check.Mark{}
	for _, file := range p.Files() {
		text, err := p.Sources.Read(file)
		if err != nil || !bytes.Contains(text, []byte("##C-POINT")) {
			continue
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if m := cpointMark().FindSubmatch(line); m != nil {
				p.marks = append(p.marks, check.Mark{File: file, Line: i + 1, For: string(m[1])})
			}
		}
	}
	return p.marks
}
