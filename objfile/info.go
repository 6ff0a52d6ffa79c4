package objfile

import (
	"errors"
	"sync"

	"mgtrace/cxxname"
	"mgtrace/objfile/dwarf"
)

// ErrNoDebug says that a question needs debug information that there is not.
var ErrNoDebug = errors.New("no debug information")

// debugInfo is the debug information as it was found.
type debugInfo struct {
	data     *dwarf.Data
	units    []*dwarf.Unit // compilation units
	partial  []*dwarf.Unit // and what they import
	addrs    spans[*unitInfo]
	infos    []*unitInfo // by index in units
	mu       sync.Mutex  // guards the finder and what follows
	packDone bool
	pack     *dwarf.Pack
	descs    map[dwarf.Ref]*funcDesc
	// qualified are the scopes of functions, by offset, of units where they
	// were asked for.
	qualified map[*dwarf.Unit]map[uint64]string

	inlineOnce sync.Once
	inline     map[string]bool // see inlineNamespaces
}

// unitInfo is what was worked out of one compilation unit.
type unitInfo struct {
	unit   *dwarf.Unit // the one in the main file: addresses and lines
	once   sync.Once
	subs   []*subprogram
	subMap spans[*subprogram]
}

// subprogram is a function with code.
type subprogram struct {
	ref    dwarf.Ref
	ranges [][2]uint64
	desc   *funcDesc
	once   sync.Once
	top    *scope
}

// scope is a subprogram, block or inlined instance, with what is declared in it.
type scope struct {
	ref     dwarf.Ref
	inlined bool
	ranges  [][2]uint64
	entry   uint64
	vars    []*scopeVar
	inner   []*scope
	desc    *funcDesc // inlined: of what

	callFile          string
	callLine, callCol int
}

// funcDesc is what the debug information says of a function wherever it is.
type funcDesc struct {
	name     string // as in the source, unqualified
	linkage  string
	pretty   string // demangled, with parameters where the linkage name has them
	file     string
	line     int
	col      int
	noReturn bool
	implicit bool // the compiler has made it: a destructor that nobody wrote
	result   dwarf.Ref

	patterned sync.Once
	pattern   cxxname.Name // see forPatterns
}

// HasDWARF says whether there is debug information.
func (f *File) HasDWARF() bool { return f.info().data != nil }

// OwnDWARF says whether there is debug information in the file itself: who built it has its source, mostly, where
// distributions keep that of theirs in files apart.
func (f *File) OwnDWARF() bool { return hasInfo(f.main) }

// Prepare reads what questions for names wait for when the first of them is asked: the
// table of the debug information and the variables in static memory. For a goroutine beside
// other work.
func (f *File) Prepare() { f.globOnce.Do(f.readGlobals) }

// DebugPath returns the path of the separate debug file, "" if there is none.
func (f *File) DebugPath() string {
	if im := f.separate(); im != nil {
		return im.name
	}
	return ""
}

func (f *File) info() *debugInfo {
	f.debugOnce.Do(f.loadDebug)
	return &f.debug
}

// separate returns the separate debug file, nil if there is none.
func (f *File) separate() *image {
	f.separateOnce.Do(func() {
		if !hasInfo(f.main) && !f.opts.NoDebug && !f.opts.NoSeparate {
			f.separateFile = f.find.separate(f.main)
		}
	})
	return f.separateFile
}

func (f *File) loadDebug() {
	d := &f.debug
	d.descs = map[dwarf.Ref]*funcDesc{}
	d.qualified = map[*dwarf.Unit]map[uint64]string{}
	if f.opts.NoDebug {
		return
	}
	im := f.main
	if s := f.separate(); s != nil {
		im = s
	}
	if !hasInfo(im) {
		return
	}
	d.data = dwarf.New(dwarfSections(im, ""))
	if !f.opts.NoSeparate {
		if alt := f.find.alternate(im); alt != nil {
			d.data.Alt = dwarf.New(dwarfSections(alt, ""))
		}
		d.data.Split = func(u *dwarf.Unit) *dwarf.Unit { return f.splitOf(im, u) }
	}
	for _, u := range d.data.Units() {
		switch {
		case u.IsType():
		case u.IsPartial():
			d.partial = append(d.partial, u)
		default:
			d.addUnit(f, u)
		}
	}
	d.addrs.index()
}

// addUnit notes the addresses of a unit. Compilers give them in the unit's
// first entry; where they do not, its functions have them.
func (d *debugInfo) addUnit(f *File, u *dwarf.Unit) {
	ui := &unitInfo{unit: u}
	d.units = append(d.units, u)
	d.infos = append(d.infos, ui)
	ranges := u.Ranges()
	if len(ranges) == 0 && u.DwoName() == "" {
		u.Walk(u.Root(), func(e *dwarf.Entry, depth int) dwarf.Action {
			if e.Tag == dwarf.TagSubprogram {
				ranges = append(ranges, e.Ranges()...)
			}
			if depth == 0 || e.Tag == dwarf.TagNamespace {
				return dwarf.Into
			}
			return dwarf.Over
		})
	}
	for _, r := range ranges {
		if f.executable(r[0]) {
			d.addrs.add(r[0], r[1], ui)
		}
	}
}

// splitOf finds the split unit of a skeleton: in the package of the program,
// else in a file of its own.
func (f *File) splitOf(im *image, u *dwarf.Unit) *dwarf.Unit {
	d := &f.debug
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.packDone {
		d.packDone = true
		if p := f.find.pack(im); p != nil {
			d.pack = dwarf.NewPack(dwarfSections(p, ".dwo"), p.section(".debug_cu_index"), p.section(".debug_tu_index"))
		}
	}
	if d.pack != nil {
		if s := d.pack.Unit(u.DwoID()); s != nil {
			return s
		}
	}
	_, s := f.find.dwo(u)
	return s
}

// unitAt returns what is known of the unit that holds addr, nil if none does.
func (f *File) unitAt(addr uint64) *unitInfo {
	ui, _ := f.info().addrs.find(addr)
	return ui
}

// subprograms returns the functions of a unit that have code.
func (f *File) subprograms(ui *unitInfo) []*subprogram {
	ui.once.Do(func() {
		u := ui.unit.Full()
		u.Walk(u.Root(), func(e *dwarf.Entry, depth int) dwarf.Action {
			switch e.Tag {
			case dwarf.TagSubprogram:
				if s := f.newSubprogram(e); s != nil {
					ui.subs = append(ui.subs, s)
				}
			case dwarf.TagFormalParameter, dwarf.TagVariable, dwarf.TagEnumerationType, dwarf.TagSubroutineType:
				return dwarf.Over
			}
			return dwarf.Into
		})
		for _, s := range ui.subs {
			for _, r := range s.ranges {
				ui.subMap.add(r[0], r[1], s)
			}
		}
		ui.subMap.index()
	})
	return ui.subs
}

func (f *File) newSubprogram(e *dwarf.Entry) *subprogram {
	var ranges [][2]uint64
	for _, r := range e.Ranges() {
		if f.executable(r[0]) {
			ranges = append(ranges, r)
		}
	}
	if len(ranges) == 0 {
		return nil
	}
	return &subprogram{ref: e.Ref(), ranges: ranges, desc: f.describe(e.Ref())}
}

// subprogramAt returns the function of the debug information that holds addr.
func (f *File) subprogramAt(addr uint64) (*unitInfo, *subprogram) {
	ui := f.unitAt(addr)
	if ui == nil {
		return nil, nil
	}
	f.subprograms(ui)
	s, _ := ui.subMap.find(addr)
	return ui, s
}

// maxHops bounds chains of references between entries; real ones have three.
const maxHops = 16

// describe gathers what an entry and those it completes say of a function.
func (f *File) describe(r dwarf.Ref) *funcDesc {
	d := &f.debug
	d.mu.Lock()
	have := d.descs[r]
	d.mu.Unlock()
	if have != nil {
		return have
	}
	fd := &funcDesc{}
	var e dwarf.Entry
	var declared dwarf.Ref // the last of the chain: it stands in its scope
	for at, hop := r, 0; hop < maxHops && at.Read(&e); hop++ {
		fd.add(&e)
		declared, at = at, origin(&e)
	}
	switch {
	case fd.linkage != "":
		fd.pretty = cxxname.Demangle(fd.linkage)
	case declared.Unit != nil && cPlusPlus(declared.Unit):
		fd.name = f.qualifiedName(declared, fd.name)
		fd.pretty = fd.name
	default:
		fd.pretty = fd.name
	}
	d.mu.Lock()
	d.descs[r] = fd
	d.mu.Unlock()
	return fd
}

// cPlusPlus says whether a unit's names are qualified by scopes: DW_LANG_C_plus_plus
// and its later versions.
func cPlusPlus(u *dwarf.Unit) bool {
	switch u.Language() {
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a:
		return true
	}
	return false
}

// qualifiedName puts the scopes in front of the name of a function that has no
// linkage name, as gcc leaves it out for static functions.
func (f *File) qualifiedName(r dwarf.Ref, name string) string {
	d := &f.debug
	d.mu.Lock()
	defer d.mu.Unlock()
	names, ok := d.qualified[r.Unit]
	if !ok {
		names = map[uint64]string{}
		f.walkScopes(r.Unit, func(e *dwarf.Entry, sc *nameScopes) dwarf.Action {
			if e.Tag == dwarf.TagSubprogram {
				if q := sc.qualify(""); q != "" {
					names[e.Off] = q
				}
			}
			return dwarf.Into
		})
		d.qualified[r.Unit] = names
	}
	return names[r.Off] + name
}

func (fd *funcDesc) add(e *dwarf.Entry) {
	if fd.name == "" {
		fd.name = e.String(dwarf.AttrName)
	}
	if fd.linkage == "" {
		if fd.linkage = e.String(dwarf.AttrLinkageName); fd.linkage == "" {
			fd.linkage = e.String(dwarf.AttrMIPSLinkage)
		}
	}
	if fd.file == "" {
		if n, ok := e.Uint(dwarf.AttrDeclFile); ok {
			fd.file = e.Unit.FileName(n)
		}
	}
	if fd.line == 0 {
		n, _ := e.Uint(dwarf.AttrDeclLine)
		col, _ := e.Uint(dwarf.AttrDeclColumn)
		fd.line, fd.col = int(n), int(col)
	}
	fd.noReturn = fd.noReturn || e.Flag(dwarf.AttrNoReturn)
	fd.implicit = fd.implicit || e.Flag(dwarf.AttrArtificial)
	if fd.result.Unit == nil {
		fd.result = e.Target(dwarf.AttrType)
	}
}

// origin returns the entry that e completes.
func origin(e *dwarf.Entry) dwarf.Ref {
	if r := e.Target(dwarf.AttrAbstractOrigin); r.Unit != nil {
		return r
	}
	return e.Target(dwarf.AttrSpecification)
}

// scopes returns the tree of scopes of a function.
func (f *File) scopes(s *subprogram) *scope {
	s.once.Do(func() { s.top = f.readScopes(s) })
	return s.top
}

func (f *File) readScopes(s *subprogram) *scope {
	top := &scope{ref: s.ref, ranges: s.ranges, entry: s.ranges[0][0], desc: s.desc}
	stack := []*scope{top} // the open scope of each depth
	u := s.ref.Unit
	u.Walk(s.ref.Off, func(e *dwarf.Entry, depth int) dwarf.Action {
		if depth == 0 {
			return dwarf.Into
		}
		parent := stack[depth-1]
		switch e.Tag {
		case dwarf.TagFormalParameter, dwarf.TagVariable:
			parent.vars = append(parent.vars, &scopeVar{ref: e.Ref()})
		case dwarf.TagParameterPack: // those of a template's `Args &&...args` are parameters as others are
			stack = append(stack[:depth], parent)
			return dwarf.Into
		case dwarf.TagLexicalBlock, dwarf.TagInlinedSubroutine, dwarf.TagTryBlock, dwarf.TagCatchBlock:
			in := f.newScope(e)
			if in == nil {
				return dwarf.Over
			}
			parent.inner = append(parent.inner, in)
			stack = append(stack[:depth], in)
			return dwarf.Into
		}
		return dwarf.Over
	})
	return top
}

func (f *File) newScope(e *dwarf.Entry) *scope {
	in := &scope{ref: e.Ref(), ranges: e.Ranges(), inlined: e.Tag == dwarf.TagInlinedSubroutine}
	if len(in.ranges) == 0 {
		return nil
	}
	in.entry = in.ranges[0][0]
	if !in.inlined {
		return in
	}
	if pc, ok := e.Addr(dwarf.AttrEntryPC); ok {
		in.entry = pc
	} else if n, ok := e.Uint(dwarf.AttrEntryPC); ok { // an offset from the lowest address
		in.entry += n
	}
	in.desc = f.describe(e.Target(dwarf.AttrAbstractOrigin))
	if n, ok := e.Uint(dwarf.AttrCallFile); ok {
		in.callFile = e.Unit.FileName(n)
	}
	line, _ := e.Uint(dwarf.AttrCallLine)
	col, _ := e.Uint(dwarf.AttrCallColumn)
	in.callLine, in.callCol = int(line), int(col)
	return in
}

// at returns the scopes that hold addr, outermost first.
func (s *scope) at(addr uint64) []*scope {
	chain := []*scope{s}
next:
	for {
		for _, in := range s.inner {
			if contains(in.ranges, addr) {
				chain = append(chain, in)
				s = in
				continue next
			}
		}
		return chain
	}
}

func contains(ranges [][2]uint64, addr uint64) bool {
	for _, r := range ranges {
		if r[0] <= addr && addr < r[1] {
			return true
		}
	}
	return false
}
