package session

import (
	"bytes"
	"regexp"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/objfile"
	"mgtrace/types"
)

// program answers the specification's questions about a program, from the files
// whose code is traced, the program itself first.
type program struct {
	files   []*objfile.File
	paths   []string // of the files
	sources *Sources
	marks   []check.Mark // nil: not looked for yet
}

var _ check.Program = (*program)(nil)

// LookupType implements types.Loader.
func (p *program) LookupType(name string) []*types.Type {
	for _, f := range p.files {
		if t := f.Universe().Lookup(name); len(t) > 0 {
			return t
		}
	}
	return nil
}

// Const implements types.Loader.
func (p *program) Const(name string) (int64, bool) {
	for _, f := range p.files {
		if v, ok := f.Universe().Const(name); ok {
			return v, true
		}
	}
	return 0, false
}

// TypeNames implements types.Loader.
func (p *program) TypeNames() []string {
	var names []string
	for _, f := range p.files {
		names = append(names, f.Universe().Names()...)
	}
	return names
}

func (p *program) LookupFunc(pattern string) []string {
	var names []string
	for _, f := range p.files {
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

func (p *program) FuncNames() []string {
	var names []string
	for _, f := range p.files {
		for _, fn := range f.Funcs() {
			names = append(names, fn.Name)
		}
	}
	return names
}

func (p *program) LookupGlobal(file, name string) []check.Variable {
	var out []check.Variable
	for _, f := range p.files {
		if v, ok := f.Global(name, file); ok && v.Loc.Kind == objfile.LocStatic {
			out = append(out, variable(v))
			break
		}
	}
	return out
}

// fileOf is the path of the file that has an object in static memory, "" if it is
// the program itself.
func (p *program) fileOf(g check.Global) string {
	for i, f := range p.files {
		if v, ok := f.Global(g.Name, g.File); ok && v.Loc.Kind == objfile.LocStatic {
			if i == 0 {
				return ""
			}
			return p.paths[i]
		}
	}
	return ""
}

func (p *program) GlobalNames() []string {
	var names []string
	for _, f := range p.files {
		for _, v := range f.Globals() {
			names = append(names, v.Name)
		}
	}
	return names
}

func variable(v objfile.Variable) check.Variable {
	return check.Variable{Name: v.Name, File: v.File, Type: v.Type, Addr: uint64(v.Loc.Offset), Size: int64(v.Size)}
}

func (p *program) HasLine(file string, line int) (ok bool, nearest int) {
	for _, f := range p.files {
		if len(f.LineAddrs(file, line)) > 0 {
			return true, line
		}
		if n, ok := f.NearestLine(file, line); ok {
			nearest = n
		}
	}
	return false, nearest
}

func (p *program) Files() []string {
	var files []string
	for _, f := range p.files {
		files = append(files, f.SourceFiles()...)
	}
	return files
}

// cpointMark is the thesis's own mark, in a comment: ##C-POINT(qdtree).
var cpointMark = regexp.MustCompile(`##C-POINT(?:\s*\(\s*([^)]*?)\s*\))?`)

func (p *program) Marks() []check.Mark {
	if p.marks != nil {
		return p.marks
	}
	p.marks = []check.Mark{}
	for _, file := range p.Files() {
		text, err := p.sources.Read(file)
		if err != nil || !bytes.Contains(text, []byte("##C-POINT")) {
			continue
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if m := cpointMark.FindSubmatch(line); m != nil {
				p.marks = append(p.marks, check.Mark{File: file, Line: i + 1, For: string(m[1])})
			}
		}
	}
	return p.marks
}
