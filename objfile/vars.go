package objfile

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"mgtrace/cxxname"
	"mgtrace/objfile/dwarf"
	"mgtrace/types"
)

// Variables returns the variables and parameters in scope at addr with their
// locations there, the innermost scope's first: those of an inlined instance
// before those of the function that contains it, which Frame tells apart.
func (f *File) Variables(addr uint64) []Variable {
	_, s := f.subprogramAt(addr)
	if s == nil {
		return nil
	}
	var vars []Variable
	frame := 0
	chain := f.scopes(s).at(addr)
	for i := len(chain) - 1; i >= 0; i-- {
		for _, sv := range chain[i].vars {
			if v, ok := f.variable(sv, s, addr); ok {
				v.Frame = frame
				vars = append(vars, v)
			}
		}
		if chain[i].inlined {
			frame++
		}
	}
	return vars
}

// varDesc is what the entries of a variable say of it wherever it is.
type varDesc struct {
	name        string
	typ         dwarf.Ref
	file        string
	line        int
	param       bool
	declaration bool
	artificial  bool
	offset      uint64 // of the entry that the others complete
}

func describeVar(r dwarf.Ref) (v varDesc) {
	var e dwarf.Entry
	for hop := 0; hop < maxHops && r.Read(&e); hop++ {
		v.add(&e, hop)
		r = origin(&e)
	}
	return v
}

// add takes what the entry says that completes the one before it, hop entries from the first.
func (v *varDesc) add(e *dwarf.Entry, hop int) {
	if hop == 0 {
		v.param = e.Tag == dwarf.TagFormalParameter
		v.declaration = e.Flag(dwarf.AttrDeclaration)
	}
	if v.name == "" {
		v.name = e.String(dwarf.AttrName)
	}
	if v.typ.Unit == nil {
		v.typ = e.Target(dwarf.AttrType)
	}
	if n, ok := e.Uint(dwarf.AttrDeclFile); ok && v.file == "" {
		v.file = e.Unit.FileName(n)
	}
	if n, ok := e.Uint(dwarf.AttrDeclLine); ok && v.line == 0 {
		v.line = int(n)
	}
	v.offset = e.Off
	v.artificial = v.artificial || e.Flag(dwarf.AttrArtificial)
}

// scopeVar is a variable of a scope. Its entries are read when it is asked for: where it is at
// one address after the other, mostly.
type scopeVar struct {
	ref     dwarf.Ref
	once    sync.Once
	desc    varDesc
	entries []dwarf.Entry // its own, and those that it completes
}

func (v *scopeVar) read() {
	v.once.Do(func() {
		var e dwarf.Entry
		for r := v.ref; len(v.entries) < maxHops && r.Read(&e); e = (dwarf.Entry{}) {
			v.desc.add(&e, len(v.entries))
			v.entries = append(v.entries, e)
			r = origin(&e)
		}
	})
}

// variable describes the variable v of function s at addr; not ok if it is
// only declared there.
func (f *File) variable(v *scopeVar, s *subprogram, addr uint64) (Variable, bool) {
	v.read()
	d := &v.desc
	if d.name == "" {
		return Variable{}, false
	}
	loc, found, _ := f.location(v, s, addr)
	if !found && d.declaration {
		return Variable{}, false
	}
	return Variable{Name: d.name, Type: f.conv.convert(d.typ), Loc: loc, Param: d.param, File: d.file, Line: d.line}, true
}

// location finds where the variable v, which has been read, is at addr: its entry says, or (a
// static variable of an inlined function) an entry that it completes. list says that
// the compiler tells places apart by address.
func (f *File) location(v *scopeVar, s *subprogram, addr uint64) (loc Location, found, list bool) {
	for i := range v.entries {
		e := &v.entries[i]
		if expr, list, ok := e.ExprAt(dwarf.AttrLocation, addr); ok {
			ev := locator{file: f, unit: e.Unit, sub: s, addr: addr}
			return ev.locate(expr), true, list
		}
		if n, ok := e.Uint(dwarf.AttrConstValue); ok {
			return Location{Kind: LocConst, Offset: int64(n)}, true, false
		}
	}
	return Location{}, false, false
}

// ArgRegs are the registers of integer arguments in order, by DWARF number:
// rdi, rsi, rdx, rcx, r8, r9 (x86-64 psABI, section 3.2.3).
var ArgRegs = [...]int{5, 4, 1, 2, 8, 9}

// Params returns the parameters of the function whose entry is fn, in order,
// where they are at its first instruction: the debug information's word where
// it has one for that place, else the calling convention's. A parameter whose
// place is not sure (a clone may have dropped some) has LocNone.
func (f *File) Params(fn uint64) []Variable {
	_, s := f.subprogramAt(fn)
	if s == nil || s.ranges[0][0] != fn {
		return nil
	}
	conforms := f.conforms(fn, s)
	abi := argAllocator{stack: 8} // above the return address
	if f.returnsInMemory(s) {
		abi.ints = 1
	}
	var vars []Variable
	for _, sv := range declared(f.scopes(s).vars) {
		d := &sv.desc
		if !d.param {
			continue
		}
		v := Variable{Name: d.name, Type: f.conv.convert(d.typ), Param: true, File: d.file, Line: d.line}
		loc, _, list := f.location(sv, s, fn)
		byABI := abi.place(v.Type, loc.Kind == LocIndirect || f.passedByReference(d.typ))
		switch {
		case loc.Kind == LocConst, list && loc.Kind != LocNone:
			v.Loc = loc
		case loc.Kind == LocReg && slices.Contains(ArgRegs[:], loc.Reg):
			v.Loc = loc // all the time, and no copy of it: that would be in a register that calls leave alone
		case conforms:
			v.Loc = byABI
		}
		vars = append(vars, v)
	}
	return vars
}

// ParamsIn returns the parameters of an inlined instance that its entry in the debug information has, in order of declaration,
// where they are at addr. LocNone: nothing tells.
func (f *File) ParamsIn(in *Inlined, addr uint64) (vars []Variable) {
	_, s := f.subprogramAt(in.Entry)
	if s == nil {
		return nil
	}
	var scope *scope
	for _, c := range f.scopes(s).at(in.Entry) {
		if c.inlined && c.entry == in.Entry && c.desc.pretty == in.Name {
			scope = c
		}
	}
	if scope == nil {
		return nil
	}
	for _, sv := range declared(scope.vars) {
		if d := &sv.desc; d.param {
			loc, _, _ := f.location(sv, s, addr)
			vars = append(vars, Variable{Name: d.name, Type: f.conv.convert(d.typ), Loc: loc, Param: true, File: d.file, Line: d.line})
		}
	}
	return vars
}

// declared reads the variables of a function, and sorts them as its declaration has them: gcc
// tells of the parameters that a copy does without before the others.
func declared(vars []*scopeVar) []*scopeVar {
	for _, v := range vars {
		v.read()
	}
	return slices.SortedStableFunc(slices.Values(vars), func(a, b *scopeVar) int {
		return cmp.Compare(a.desc.offset, b.desc.offset)
	})
}

// conforms says whether the function surely follows the calling convention: it
// is not a clone, and it is visible to other files or not optimised.
func (f *File) conforms(fn uint64, s *subprogram) bool {
	syms := f.symbolTable().at(fn)
	for _, sym := range syms {
		if cxxname.BaseLinkage(sym.name) != sym.name {
			return false
		}
	}
	if len(syms) == 0 {
		return true
	}
	if syms[0].global() {
		return true
	}
	return !f.optimised(s)
}

// optimised says whether some variable of the function has a location list.
func (f *File) optimised(s *subprogram) bool {
	for _, v := range f.scopes(s).vars {
		if v.read(); len(v.entries) == 0 {
			continue
		}
		if _, list, ok := v.entries[0].ExprAt(dwarf.AttrLocation, s.ranges[0][0]); !ok || list {
			return true
		}
	}
	return false
}

// argAllocator hands out places as a call does.
type argAllocator struct {
	ints, floats int
	stack        int64 // offset from rsp
}

func (a *argAllocator) place(t *types.Type, byReference bool) Location {
	if byReference {
		loc := a.integer()
		switch loc.Kind {
		case LocReg:
			return Location{Kind: LocRegOffset, Reg: loc.Reg}
		case LocRegOffset:
			return Location{Kind: LocIndirect, Reg: loc.Reg, Offset: loc.Offset}
		}
		return loc
	}
	if t == nil || t.Size < 0 {
		return Location{}
	}
	classes := classify(t)
	ints, floats := 0, 0
	for _, c := range classes {
		if c == classInteger {
			ints++
		} else {
			floats++
		}
	}
	switch {
	case len(classes) == 0 || a.ints+ints > len(ArgRegs) || a.floats+floats > 8:
		return a.memory(t)
	case len(classes) == 1 && ints == 1:
		return a.integer()
	case len(classes) == 1:
		a.floats++
		return Location{Kind: LocReg, Reg: 16 + a.floats} // 17 is xmm0
	}
	a.ints += ints
	a.floats += floats
	return Location{} // in two registers
}

func (a *argAllocator) integer() Location {
	if a.ints >= len(ArgRegs) {
		loc := Location{Kind: LocRegOffset, Reg: RegSP, Offset: a.stack}
		a.stack += 8
		return loc
	}
	a.ints++
	return Location{Kind: LocReg, Reg: ArgRegs[a.ints-1]}
}

func (a *argAllocator) memory(t *types.Type) Location {
	if t.Alignment() > 8 { // from 8 above a multiple of 16 at the entry
		a.stack = (a.stack+7)&^15 + 8
	}
	loc := Location{Kind: LocRegOffset, Reg: RegSP, Offset: a.stack}
	a.stack += (t.Size + 7) &^ 7
	return loc
}

type argClass uint8

const (
	classNone argClass = iota
	classSSE
	classInteger
)

// classify gives the class of each eightbyte of a type, none if it is passed
// in memory (x86-64 psABI, section 3.2.3).
func classify(t *types.Type) []argClass {
	if t.Size <= 0 || t.Size > 16 || t.Kind == types.Float && t.Size > 8 {
		return nil
	}
	classes := make([]argClass, (t.Size+7)/8)
	if !mergeClasses(classes, t, 0, 0) {
		return nil
	}
	for i := range classes {
		if classes[i] == classNone {
			classes[i] = classSSE
		}
	}
	return classes
}

func mergeClasses(classes []argClass, t *types.Type, off int64, depth int) bool {
	if t == nil || depth > 16 || off < 0 || off+max(t.Size, 0) > int64(8*len(classes)) {
		return false
	}
	switch t.Kind {
	case types.Struct, types.Union:
		for _, m := range t.Members {
			at := off + m.Offset
			if m.BitSize > 0 {
				at += int64(m.BitOffset / 8)
				if at/8 < int64(len(classes)) {
					classes[at/8] = classInteger
				}
				continue
			}
			if m.Offset < 0 || !mergeClasses(classes, m.Type, at, depth+1) {
				return false
			}
		}
		return true
	case types.Array:
		for i := int64(0); i < t.Count && i <= 16; i++ {
			if t.Elem == nil || !mergeClasses(classes, t.Elem, off+i*t.Elem.Size, depth+1) {
				return false
			}
		}
		return true
	case types.Float:
		if t.Size > 8 {
			return false
		}
		if off%t.Size != 0 {
			return false
		}
		classes[off/8] = max(classes[off/8], classSSE)
		return true
	}
	if t.Size <= 0 || off%min(t.Size, 8) != 0 {
		return false
	}
	for i := off / 8; i <= (off+t.Size-1)/8; i++ {
		classes[i] = classInteger
	}
	return true
}

// returnsInMemory says whether the caller passes the place of the result as a
// hidden first argument.
func (f *File) returnsInMemory(s *subprogram) bool {
	if s.desc.result.Unit == nil {
		return false
	}
	t := f.conv.convert(s.desc.result)
	if !t.HasMembers() {
		return false
	}
	return f.passedByReference(s.desc.result) || classify(t) == nil
}

// passedByReference says whether a C++ class is passed by the address of a
// copy, since its copies are not trivial (DW_AT_calling_convention
// DW_CC_pass_by_reference).
func (f *File) passedByReference(r dwarf.Ref) bool {
	var e dwarf.Entry
	for hop := 0; hop < maxHops && r.Read(&e); hop++ {
		switch e.Tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType:
			r = e.Target(dwarf.AttrType)
			continue
		}
		n, _ := e.Uint(dwarf.AttrCallingConvention)
		return n == 4
	}
	return false
}

// ReturnType returns the type of the result of the function whose entry is fn,
// Void if it has none; nil if unknown.
func (f *File) ReturnType(fn uint64) *types.Type {
	_, s := f.subprogramAt(fn)
	if s == nil {
		return nil
	}
	return f.conv.convert(s.desc.result)
}

// global is a variable with static storage, its type not yet converted.
type global struct {
	v         Variable
	qualified string  // normal
	local     bool    // of a function
	pieces    bool    // it is in static memory, but not in one piece
	parts     []piece // these, where they could be read
	typ       dwarf.Ref
	laid      *types.Type // of one in pieces: the type with its members where they lie; nil: typ
}

// Globals returns the variables in static memory: those of files, namespaces,
// classes and functions; and, where there is no debug information for an
// object of the symbol table, that with a nil Type.
func (f *File) Globals() []Variable {
	f.globOnce.Do(f.readGlobals)
	out := make([]Variable, len(f.globals))
	for i := range f.globals {
		out[i] = f.globals[i].variable(f)
	}
	return out
}

func (g *global) variable(f *File) Variable {
	v := g.v
	if g.typ.Unit != nil {
		v.Type = g.laid
		if v.Type == nil {
			v.Type = f.conv.convert(g.typ)
		}
		v.Size = uint64(max(v.Type.Size, 0))
	}
	return v
}

// GlobalAt returns the variable in static memory that an address is in, if debug information
// tells of one. It converts the type of that variable alone.
func (f *File) GlobalAt(addr uint64) (Variable, bool) {
	f.globOnce.Do(f.readGlobals)
	var best *global
	for i := range f.globals {
		g := &f.globals[i]
		if at := uint64(g.v.Loc.Offset); g.typ.Unit != nil && at <= addr && (best == nil || at > uint64(best.v.Loc.Offset)) {
			best = g
		}
	}
	if best == nil {
		return Variable{}, false
	}
	v := best.variable(f)
	return v, addr-uint64(v.Loc.Offset) < max(v.Size, 1)
}

// Global returns a variable in static memory by name, qualified or plain; file
// tells several apart as in LineAddrs, "" takes any. Variables of files and
// classes go before those of functions.
func (f *File) Global(name, file string) (Variable, bool) {
	f.globOnce.Do(f.readGlobals)
	best := bestNamed(f.globals, name, file)
	if best == nil {
		return Variable{}, false
	}
	return best.variable(f), true
}

// GlobalType returns the type of a variable in static memory as Global finds it, or of one that an
// optimising compiler has left nowhere there or that another file defines; nil if there is none.
func (f *File) GlobalType(name, file string) *types.Type {
	f.globOnce.Do(f.readGlobals)
	for _, list := range [][]global{f.globals, f.placeless} {
		if g := bestNamed(list, name, file); g != nil && g.typ.Unit != nil {
			return f.conv.convert(g.typ)
		}
	}
	return nil
}

// bestNamed is the variable that Global means, nil if there is none.
func bestNamed(list []global, name, file string) (best *global) {
	name = cxxname.Normal(name)
	rank := 4
	for i := range list {
		g := &list[i]
		if file != "" && !sameSource(g.v.File, file) {
			continue
		}
		r := rank
		switch {
		case g.qualified == name && !g.local:
			r = 0
		case g.qualified == name:
			r = 1
		case strings.HasSuffix(g.qualified, "::"+name) && !g.local:
			r = 2
		case strings.HasSuffix(g.qualified, "::"+name):
			r = 3
		}
		if r < rank {
			best, rank = g, r
		}
	}
	return best
}

// Scattered reports whether a variable of that name is in static memory, in pieces with something else
// between them (gather).
func (f *File) Scattered(name string) bool {
	f.globOnce.Do(f.readGlobals)
	name = cxxname.Normal(name)
	return slices.ContainsFunc(f.placeless, func(g global) bool {
		return g.pieces && (g.qualified == name || strings.HasSuffix(g.qualified, "::"+name))
	})
}

// ObjectAt returns the symbol of the object in static memory that addr lies in, and how far. With several
// symbols there it is the best one.
func (f *File) ObjectAt(addr uint64) (linkage string, off uint64, ok bool) {
	list := f.symbolTable().objects
	i, found := slices.BinarySearchFunc(list, addr, func(s symbol, addr uint64) int { return cmp.Compare(s.addr, addr) })
	if !found {
		if i--; i < 0 {
			return "", 0, false
		}
		for i > 0 && list[i-1].addr == list[i].addr {
			i--
		}
	}
	s := &list[i]
	return s.name, addr - s.addr, addr-s.addr < s.size
}

func (f *File) readGlobals() {
	r := globalReader{file: f, seen: map[uint64]bool{}, declared: map[*dwarf.Unit]map[uint64]string{}}
	for _, u := range f.info().units {
		r.unit(u.Full())
	}
	r.gather()
	for _, s := range f.symbolTable().objects {
		if !r.seen[s.addr] {
			r.seen[s.addr] = true
			v := Variable{Name: cxxname.Demangle(s.name), Size: s.size, Loc: Location{Kind: LocStatic, Offset: int64(s.addr)}}
			f.globals = append(f.globals, global{v: v, qualified: cxxname.Normal(v.Name)})
		}
	}
}

// globalReader collects variables with static storage.
type globalReader struct {
	file     *File
	seen     map[uint64]bool                   // addresses
	declared map[*dwarf.Unit]map[uint64]string // names of declarations in classes and namespaces, by offset
}

// unit adds the variables of a unit that lie at a fixed address.
func (r *globalReader) unit(u *dwarf.Unit) {
	f := r.file
	f.walkScopes(u, func(e *dwarf.Entry, sc *nameScopes) dwarf.Action {
		switch e.Tag {
		case dwarf.TagVariable:
		case dwarf.TagEnumerationType, dwarf.TagFormalParameter, dwarf.TagMember:
			return dwarf.Over
		default:
			return dwarf.Into
		}
		ev := locator{file: f, unit: u}
		where := e.Block(dwarf.AttrLocation)
		loc := ev.locate(where)
		if loc.Kind == LocStatic && r.seen[uint64(loc.Offset)] {
			return dwarf.Over
		}
		d := describeVar(e.Ref())
		if d.name == "" {
			return dwarf.Over
		}
		if loc.Kind != LocStatic {
			if !sc.inFunction() {
				parts, _ := ev.pieces(where)
				f.placeless = append(f.placeless, global{
					v:         Variable{Name: d.name, File: d.file, Line: d.line},
					qualified: cxxname.Normal(sc.short(d.name)), typ: d.typ, pieces: len(where) > 0, parts: parts,
				})
			}
			return dwarf.Over
		}
		name := r.declaredName(e.Target(dwarf.AttrSpecification))
		if name == "" {
			name = sc.short(d.name)
		}
		r.seen[uint64(loc.Offset)] = true
		f.globals = append(f.globals, global{
			v:         Variable{Name: name, Loc: loc, File: d.file, Line: d.line},
			qualified: cxxname.Normal(name), typ: d.typ, local: sc.inFunction(),
		})
		return dwarf.Over
	})
}

// declaredName returns the qualified name of a declaration in a class or
// namespace, "" for none.
func (r *globalReader) declaredName(ref dwarf.Ref) string {
	if ref.Unit == nil {
		return ""
	}
	names, ok := r.declared[ref.Unit]
	if !ok {
		names = map[uint64]string{}
		r.file.walkScopes(ref.Unit, func(e *dwarf.Entry, sc *nameScopes) dwarf.Action {
			if e.Flag(dwarf.AttrDeclaration) && (e.Tag == dwarf.TagMember || e.Tag == dwarf.TagVariable) {
				names[e.Off] = sc.short(e.String(dwarf.AttrName))
			}
			return dwarf.Into
		})
		r.declared[ref.Unit] = names
	}
	return names[ref.Off]
}
