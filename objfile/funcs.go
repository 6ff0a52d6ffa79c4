package objfile

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile/dwarf"
	"mgtrace/parallel"
)

// Funcs returns all functions with code, by address: one for each entry,
// whether the symbol tables or the debug information or both have it. The
// slice must not be changed.
func (f *File) Funcs() []Func {
	f.funcsOnce.Do(f.readFuncs)
	return f.funcs
}

func (f *File) readFuncs() {
	seen := map[uint64]bool{}
	for _, ui := range f.info().infos {
		for _, s := range f.subprograms(ui) {
			if fn := f.funcOfSubprogram(s); !seen[fn.Addr] {
				seen[fn.Addr] = true
				f.funcs = append(f.funcs, fn)
			}
		}
	}
	cold := spans[bool]{}
	for _, fn := range f.funcs {
		for _, r := range fn.Ranges {
			cold.add(r[0], r[1], true)
		}
	}
	cold.index()
	t := f.symbolTable()
	for i := range t.funcs {
		s := &t.funcs[i]
		if seen[s.addr] || s.partOf >= 0 {
			continue
		}
		seen[s.addr] = true
		if _, inside := cold.find(s.addr); inside && cxxname.IsCold(s.name) {
			continue
		}
		f.funcs = append(f.funcs, f.funcOfSymbol(i))
	}
	sort.Slice(f.funcs, func(i, j int) bool { return f.funcs[i].Addr < f.funcs[j].Addr })
	each(len(f.funcs), func(i int) { f.funcs[i].name() })
}

// allNames returns the names of the functions of Funcs, for patterns: the symbol's, and
// those of its aliases.
func (f *File) allNames() ([][]cxxname.Name, *cxxname.Index) {
	f.namesOnce.Do(func() {
		funcs := f.Funcs()
		f.names = make([][]cxxname.Name, len(funcs))
		each(len(funcs), func(i int) {
			f.names[i] = append(f.names[i], cxxname.Of(funcs[i].Linkage))
			for _, a := range funcs[i].Aliases {
				f.names[i] = append(f.names[i], cxxname.Of(a))
			}
		})
		f.byName = cxxname.NewIndex(f.names)
	})
	return f.names, f.byName
}

// each calls f for 0 … n-1, by several goroutines: to take a C++ name apart takes
// microseconds, and there are many.
func each(n int, f func(i int)) {
	parallel.Batches(n, 256, func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
	})
}

// funcOfSubprogram joins a function of the debug information with the symbols
// of its entry, whose names say more: clones, versions of constructors.
// Name and Base are left to Func.name.
func (f *File) funcOfSubprogram(s *subprogram) Func {
	d := s.desc
	fn := Func{
		Linkage: d.linkage, Addr: s.ranges[0][0], Ranges: s.ranges, Size: s.ranges[0][1] - s.ranges[0][0],
		File: d.file, Line: d.line, NoReturn: d.noReturn,
	}
	if fn.Linkage == "" {
		fn.Linkage = d.name
	}
	f.addSymbols(&fn, f.symbolTable().at(fn.Addr))
	return fn
}

// funcOfSymbol is a function that only the symbols tell of, without Name and Base.
func (f *File) funcOfSymbol(i int) Func {
	s := &f.symbolTable().funcs[i]
	fn := Func{Addr: s.addr, Size: s.size}
	if s.size > 0 {
		fn.Ranges = append([][2]uint64{{s.addr, s.addr + s.size}}, s.parts...)
	}
	f.addSymbols(&fn, f.symbolTable().at(s.addr))
	return fn
}

func (f *File) addSymbols(fn *Func, syms []symbol) {
	for i := range syms {
		s := &syms[i]
		fn.IFunc = fn.IFunc || s.ifunc
		if i == 0 {
			if fn.Linkage != "" && fn.Linkage != s.name {
				fn.Aliases = append(fn.Aliases, fn.Linkage)
			}
			fn.Linkage = s.name
		} else if s.name != fn.Linkage && !has(fn.Aliases, s.name) {
			fn.Aliases = append(fn.Aliases, s.name)
		}
	}
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (fn *Func) name() {
	fn.Name = cxxname.Demangle(fn.Linkage)
	fn.Base = fn.Name
	if base := cxxname.BaseLinkage(fn.Linkage); base != fn.Linkage {
		fn.Base = cxxname.Demangle(base)
	}
}

// FuncAt returns the function that holds addr.
func (f *File) FuncAt(addr uint64) (Func, bool) {
	fn, ok := f.funcAt(addr)
	if ok {
		fn.name()
	}
	return fn, ok
}

// LinkageAt is the linker name of the function that holds addr, "" if there is none: FuncAt demangles it, which takes longer.
func (f *File) LinkageAt(addr uint64) string {
	fn, _ := f.funcAt(addr)
	return fn.Linkage
}

func (f *File) funcAt(addr uint64) (Func, bool) {
	if _, s := f.subprogramAt(addr); s != nil {
		return f.funcOfSubprogram(s), true
	}
	t := f.symbolTable()
	i, ok := t.ranges.find(addr)
	if !ok {
		if i, ok = t.labelBefore(addr); !ok {
			return Func{}, false
		}
	}
	if p := t.funcs[i].partOf; p >= 0 {
		i = p
	}
	return f.funcOfSymbol(i), true
}

// CodeAt is FuncAt, or else the range that the unwinder knows as one piece: a function without a
// symbol, or a part of one, which has no name.
func (f *File) CodeAt(addr uint64) (Func, bool) {
	if fn, ok := f.FuncAt(addr); ok && fn.Size > 0 && fn.Contains(addr) {
		return fn, true
	}
	t := f.cfiTable()
	i := findFDE(t.fdes, addr)
	if i < 0 || f.symbolTable().inPLT(addr) {
		return Func{}, false
	}
	lo, hi := t.fdes[i].lo, t.fdes[i].hi
	return Func{Addr: lo, Size: hi - lo, Ranges: [][2]uint64{{lo, hi}}}, true
}

// FuncsNamed returns the functions that a pattern names, by address.
//
//	insert                  a name, demangled, whatever its parameters
//	Tree::insert            qualified
//	insert(int, char *)     one overload
//	List<*>::push           "*" is any characters; List::push is every List's
//	_ZN4Tree6insertEi       a name of the symbol table
//	0x401136                an address
//
// A name that nothing has fully means what has it as its last components:
// "insert" is "Tree::insert" if there is no plain insert. Clones (.isra,
// .constprop, .part) are included, unlikely parts and linkage stubs are not.
func (f *File) FuncsNamed(pat string) []Func {
	if hex, ok := strings.CutPrefix(pat, "0x"); ok {
		addr, err := strconv.ParseUint(hex, 16, 64)
		if err != nil || !f.executable(addr) {
			return nil
		}
		if fn, ok := f.FuncAt(addr); ok && fn.Addr == addr {
			return []Func{fn}
		}
		return []Func{{Name: pat, Base: pat, Addr: addr}}
	}
	funcs := f.Funcs()
	names, index := f.allNames()
	p := cxxname.Parse(pat)
	candidates := index.Candidates(&p)
	return cxxname.Closest(func(how cxxname.Closeness) (found []Func) {
		for _, i := range candidates {
			if name, ok := matchFunc(&p, &funcs[i], names[i], how); ok {
				fn := funcs[i]
				if name > 0 { // an alias: the name that was asked for
					fn.Linkage, fn.Aliases = fn.Aliases[name-1], swapped(fn.Aliases, name-1, fn.Linkage)
					fn.name()
				}
				found = append(found, fn)
			}
		}
		return found
	})
}

func matchFunc(p *cxxname.Pattern, fn *Func, names []cxxname.Name, how cxxname.Closeness) (name int, ok bool) {
	if cxxname.IsCold(fn.Linkage) {
		return 0, false
	}
	for j := range names {
		if p.Match(&names[j], how) {
			return j, true
		}
	}
	return 0, false
}

func swapped(list []string, i int, s string) []string {
	out := append([]string(nil), list...)
	out[i] = s
	return out
}

// Inlined returns the inlined instances of the functions that a pattern names,
// as FuncsNamed has it, by entry.
func (f *File) Inlined(pat string) []Inlined {
	p := cxxname.Parse(pat)
	found := cxxname.Closest(func(how cxxname.Closeness) (found []Inlined) {
		matched := map[*funcDesc]bool{}
		for _, ui := range f.info().infos {
			for _, s := range f.subprograms(ui) {
				found = f.inlinedIn(found, &p, how, matched, []*funcDesc{s.desc}, f.scopes(s))
			}
		}
		return found
	})
	sort.SliceStable(found, func(i, j int) bool { return found[i].Entry < found[j].Entry })
	return found
}

// inlinedIn adds the instances in a scope; around are the function that they lie in and the
// instances, outermost first.
func (f *File) inlinedIn(found []Inlined, p *cxxname.Pattern, how cxxname.Closeness, matched map[*funcDesc]bool, around []*funcDesc, s *scope) []Inlined {
	for _, c := range s.inner {
		inside := around
		if c.inlined {
			is, known := matched[c.desc]
			if !known {
				is = p.Match(c.desc.forPatterns(), how)
				matched[c.desc] = is
			}
			in := around[len(around)-1]
			if is {
				i := c.instance(in)
				i.Inner = slices.Contains(around[1:], c.desc) || c.restOf(in)
				found = append(found, i)
			}
			inside = append(slices.Clip(around), c.desc)
		}
		found = f.inlinedIn(found, p, how, matched, inside, c)
	}
	return found
}

// restOf reports whether an instance is what gcc has split off the function that it lies in,
// and then inlined into it again: of a call that no one wrote it says that it is made where the
// function is declared.
func (c *scope) restOf(in *funcDesc) bool {
	same := c.desc == in || c.desc.pretty == in.pretty && c.desc.file == in.file && c.desc.line == in.line
	return same && c.callFile == in.file && c.callLine == in.line && (c.callCol == in.col || in.col == 0)
}

// instance describes an inlined instance within a function or another instance.
func (c *scope) instance(in *funcDesc) Inlined {
	return Inlined{
		Name: c.desc.pretty, File: c.desc.file, Line: c.desc.line, Ranges: c.ranges, Entry: c.entry, In: in.pretty,
		CallFile: c.callFile, CallLine: c.callLine,
	}
}

// InlinedAt returns the inlined instances that addr belongs to, the outermost
// first.
func (f *File) InlinedAt(addr uint64) (found []Inlined) {
	_, s := f.subprogramAt(addr)
	if s == nil {
		return nil
	}
	in := s.desc
	for _, c := range f.scopes(s).at(addr) {
		if c.inlined {
			found = append(found, c.instance(in))
			in = c.desc
		}
	}
	return found
}

// forPatterns is the name of the function as patterns see it.
func (d *funcDesc) forPatterns() *cxxname.Name {
	d.patterned.Do(func() { d.pattern = cxxname.Of(d.linkageName()) })
	return &d.pattern
}

func (d *funcDesc) linkageName() string {
	if d.linkage != "" {
		return d.linkage
	}
	return d.name
}

// Frames returns the source positions of addr: the innermost inlined instance
// first, the function that is really there last. For a return address, ask for
// the address before it. Without debug information there is one frame with
// the symbol's name; nil if nothing is known.
func (f *File) Frames(addr uint64) []Frame {
	ui, s := f.subprogramAt(addr)
	if s == nil {
		fn, ok := f.FuncAt(addr)
		fr := Frame{Function: fn.Name}
		if ui != nil {
			fr.setLine(ui.unit, addr)
		}
		if !ok && fr.File == "" {
			return nil
		}
		return []Frame{fr}
	}
	var at Frame
	at.setLine(ui.unit, addr)
	chain := f.scopes(s).at(addr)
	var frames []Frame
	for i := len(chain) - 1; i >= 0; i-- {
		c := chain[i]
		if i > 0 && !c.inlined {
			continue
		}
		at.Function, at.Inlined = c.desc.pretty, i > 0
		if c.desc.file == at.File {
			at.Declared = c.desc.line
			at.Implicit = c.desc.implicit && at.Line == c.desc.line
		}
		if i == 0 && c.desc.linkage == "" {
			at.Function = f.symbolName(s.ranges[0][0], at.Function)
		}
		frames = append(frames, at)
		at = Frame{File: c.callFile, Line: c.callLine, Column: c.callCol}
	}
	return frames
}

// symbolName is the name of a C++ function for which the debug information has
// no linkage name but the symbol table does: with its parameters.
func (f *File) symbolName(entry uint64, name string) string {
	for _, s := range f.symbolTable().at(entry) {
		if base := cxxname.BaseLinkage(s.name); strings.HasPrefix(base, "_Z") {
			return cxxname.Demangle(base)
		}
	}
	return name
}

func (fr *Frame) setLine(u *dwarf.Unit, addr uint64) {
	t := u.Lines()
	if t == nil {
		return
	}
	if row, ok := t.Row(addr); ok {
		fr.File, fr.Line, fr.Column = t.File(row.File), max(row.Line, 0), row.Column
		fr.Within = !row.Stmt
	}
}
