package typing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/probe/evidence"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
	"mgtrace/x86"
)

// Blocks gives heap blocks their declared types (graph.Typing): by the
// specification's alloc rules, else by debug information, else by size. Stacks
// are interned by the history, so a block costs one look-up.
type Blocks struct {
	spec    *check.Spec
	symbols *symbol.Table
	finder  *evidence.Finder
	stacks  map[*trace.Addr]Verdict
	ruled   map[*check.AllocRule]bool  // rules that gave a block its type
	named   map[string]map[string]bool // by what a rule says, the functions
	among   int                        // of so many images
	bySize  map[trace.Addr]*sizeSite   // by return address
	before  *beforeTyping              // nil: nothing was there before recording began
	bare    map[string]*objfile.File   // see codeOf
	several map[*check.NodeType]int64  // that blocks hold more than one of, and how many at most
	rooms   map[string]*check.NodeType // containers whose elements lie in blocks that are no nodes
	begun   map[begun]bool             // blocks that were taken as of a type that begins as what evidence shows
}

// Verdict is what a stack decides about its blocks.
type Verdict struct {
	Type   *check.NodeType
	Offset int64
	owners int64 // graph.Counting
	Why    string
	sized  bool // nothing told: size decides
	many   bool // the code allocates many of the type, as far as is seen
	// row is the ARRAY whose elements are of this type as well: a block of two or more is one. nil: there is none.
	row  *check.NodeType
	rule *check.AllocRule // that said so; nil: none did
	// begins are the declared types that begin as first does, of which evidence takes the block: see Verdict.whole.
	begins []*check.NodeType
	first  *types.Type
}

// begun are blocks of a size that are known as the first members of their type only.
type begun struct {
	whole *check.NodeType
	size  uint64
	first *types.Type
	why   string
}

func (b begun) String() string {
	return fmt.Sprintf("blocks of %d bytes, %s, are taken as %s, which begins as %s does (say so with: alloc %[3]s at …)", b.size, b.why, b.whole.Name, b.first)
}

// sizeSite is an allocation site that is typed by size.
type sizeSite struct {
	typ   *check.NodeType
	size  uint64
	mixed bool        // it allocates other sizes too
	taken mgpp.NodeID // the last block that was taken as of the type: what was said of it and those before stands, whoever asks again
}

// New types blocks for a specification.
func New(spec *check.Spec, symbols *symbol.Table) *Blocks {
	return Sharing(evidence.NewFinder(symbols.Sources.Line), spec, symbols)
}

// Sharing is New for several specifications: a finder caches what it found.
func Sharing(finder *evidence.Finder, spec *check.Spec, symbols *symbol.Table) *Blocks {
	return &Blocks{
		spec: spec, symbols: symbols,
		finder: finder,
		stacks: map[*trace.Addr]Verdict{},
		ruled:  map[*check.AllocRule]bool{},
		bySize: map[trace.Addr]*sizeSite{}, several: map[*check.NodeType]int64{}, rooms: map[string]*check.NodeType{}, begun: map[begun]bool{},
	}
}

// TypeOf implements graph.Typing.
func (t *Blocks) TypeOf(n mgpp.Node) (*check.NodeType, int64, string) {
	if n.Before && len(n.Stack) == 0 && t.before != nil {
		return t.before.TypeOf(n)
	}
	if len(n.Stack) == 0 {
		return nil, 0, "its allocation was not seen"
	}
	if v, ok := trace.Local(n.Alloc); ok {
		return t.local(v)
	}
	key := &n.Stack[0]
	s, ok := t.stacks[key]
	if !ok {
		s = t.decide(n.Alloc, n.Stack)
		t.stacks[key] = s
	}
	if s.sized {
		return t.ofSize(n)
	}
	if nt := s.whole(n.Size); nt != nil {
		t.begun[begun{nt, n.Size, s.first, s.Why}] = true
		return nt, 0, s.Why
	}
	if s.row != nil {
		if k := int64(n.Size) - s.Offset; k >= 2*s.Type.Layout.Size && k%s.Type.Layout.Size == 0 {
			return s.row, s.Offset, s.Why
		}
	}
	if s.many {
		if k := (int64(n.Size) - s.Offset) / s.Type.Layout.Size; k > 1 {
			t.several[s.Type] = max(t.several[s.Type], k)
		}
	}
	return s.Type, s.Offset, s.Why
}

// local gives a variable of a function the type that it is declared with.
func (t *Blocks) local(label string) (*check.NodeType, int64, string) {
	for i := range t.spec.Locals {
		for k := range t.spec.Locals[i].Frames {
			if v := &t.spec.Locals[i].Frames[k]; v.Label() == label {
				return v.Node, 0, ""
			}
		}
	}
	return nil, 0, "the variable is not declared"
}

func (t *Blocks) decide(alloc string, stack []trace.Addr) Verdict {
	if s, ok := t.ByRule(stack); ok {
		return s
	}
	if !slices.ContainsFunc(t.spec.Types, t.eligible) { // without a specification, say
		return Verdict{Why: "no type is declared"}
	}
	e := t.Evidence(alloc, stack)
	if e.Type == nil {
		return Verdict{sized: true, Why: e.Why}
	}
	v := t.shown(e, stack)
	if e.Offset == 0 {
		v.first = e.Type
		for _, nt := range t.spec.Types {
			if t.eligible(nt) && !nt.Array && begins(nt.Layout, e.Type) {
				v.begins = append(v.begins, nt)
			}
		}
	}
	return v
}

// whole is the declared type of a block that evidence takes for what the type begins with, as in C what handles several kinds of nodes
// alike knows of them: the block is as large, and no number of what it was taken for. nil: it is what evidence says, or several may be meant.
func (v *Verdict) whole(size uint64) (whole *check.NodeType) {
	if len(v.begins) == 0 || int64(size)%v.first.Size == 0 {
		return nil
	}
	for _, nt := range v.begins {
		switch {
		case uint64(nt.Layout.Size) != size:
		case whole != nil:
			return nil
		default:
			whole = nt
		}
	}
	return whole
}

// begins: a structure begins with the members that another one has, of the same names, places and sizes, and goes on behind them.
func begins(whole, first *types.Type) bool {
	if whole == nil || whole.Kind != types.Struct || first == nil || first.Kind != types.Struct || first.Size <= 0 || first.Size >= whole.Size ||
		len(first.Members) == 0 || len(first.Members) >= len(whole.Members) {
		return false
	}
	for i := range first.Members {
		a, b := &first.Members[i], &whole.Members[i]
		if a.Name == "" || a.Name != b.Name || a.Offset != b.Offset || a.BitOffset != b.BitOffset || a.BitSize != b.BitSize ||
			a.Type == nil || b.Type == nil || a.Type.Kind != b.Type.Kind || a.Type.Size != b.Type.Size {
			return false
		}
	}
	return true
}

// shown is what evidence says of blocks of any size.
func (t *Blocks) shown(e evidence.Evidence, stack []trace.Addr) Verdict {
	s, ok := t.ByEvidence(e)
	if !ok || !s.Type.Array {
		if c := t.container(stack); c != "" {
			if ok {
				t.rooms[c] = s.Type
			}
			return Verdict{Why: "room for the elements of a " + c}
		}
	}
	if ok {
		if !s.Type.Array && s.Type.Layout.Size > 0 {
			s.many, s.row = e.Array, t.row(s.Type)
		}
		return s
	}
	if nt, off := t.held(e.Type); nt != nil {
		return Verdict{Type: nt, Offset: e.Offset + off, owners: owners(e.Type), Why: e.Why}
	}
	if !e.Array {
		if nt, off := t.derived(e.Type); nt != nil {
			return Verdict{Type: nt, Offset: e.Offset + off, Why: e.Why}
		}
	}
	return Verdict{Why: e.Why}
}

// container names the container of the C++ library that makes room for elements with this
// call: room in which some of them, or none, begin to live later. "": it is another call.
func (t *Blocks) container(stack []trace.Addr) string {
	for _, pc := range stack[:min(len(stack), maxAllocate)] {
		for _, f := range t.framesOf(pc - 1) {
			switch {
			case !strings.HasPrefix(f.Function, "std::"):
				return ""
			case strings.Contains(f.Function, ">::_M_allocate_node(") && strings.HasPrefix(f.Function, "std::_Deque_base<"):
				return "std::deque"
			case strings.Contains(f.Function, ">::_M_allocate(") && strings.HasPrefix(f.Function, "std::_Vector_base<"):
				return "std::vector"
			}
		}
	}
	return ""
}

// maxAllocate is how many frames lie between operator new and the container, at -O0.
const maxAllocate = 4

// Owners implements graph.Counting.
func (t *Blocks) Owners(n mgpp.Node) (offset int64) {
	if len(n.Stack) == 0 {
		return 0
	}
	return t.stacks[&n.Stack[0]].owners
}

// owners returns where in a block of std::make_shared the number of those lies that own its
// object; 0 for other types.
func owners(block *types.Type) int64 {
	if !strings.HasPrefix(block.Name, countedBlock) {
		return 0
	}
	m, offset, ok := block.Member("_M_use_count")
	if !ok || m.Type == nil || m.Type.Size != 4 {
		return 0
	}
	return offset
}

// declared returns the type of nodes that a structure is of, nil if it is of none.
func (t *Blocks) declared(s *types.Type) *check.NodeType {
	for _, n := range t.spec.Types {
		if t.eligible(n) && !n.Array && n.Layout != nil && SameType(n.Layout, s) {
			return n
		}
	}
	return nil
}

// derived returns the type of nodes of which a class, or a base of it, is, and where in an
// object of the class the node lies; nil if there is none.
func (t *Blocks) derived(class *types.Type) (nt *check.NodeType, offset int64) {
	if nt = t.declared(class); nt != nil {
		return nt, 0
	}
	offset, _ = class.Base(func(base *types.Type) bool {
		nt = t.declared(base)
		return nt != nil
	})
	return nt, offset
}

// countedBlock begins the names of what std::make_shared allocates.
const countedBlock = "std::_Sp_counted_ptr_inplace<"

// holders begin the names of what libstdc++ allocates one by one, with an object of the
// user's inside.
var holders = [...]string{countedBlock, "std::_List_node<", "std::_Fwd_list_node<", "std::_Rb_tree_node<", "std::__detail::_Hash_node<"}

// held finds the node in a block of the C++ library's, if it holds just one: of
// std::make_shared, or of a container that has its elements in blocks of their own.
func (t *Blocks) held(block *types.Type) (nt *check.NodeType, offset int64) {
	found := 0
	inHolder(block, func(m *types.Type, at int64) bool {
		n, off := t.derived(m)
		if n != nil {
			nt, offset = n, at+off
			found++
		}
		return n != nil
	})
	if found != 1 {
		return nil, 0
	}
	return nt, offset
}

// Held is the structure of the user's own in a block of the C++ library's, if there is just one.
// Of other blocks it is the block.
func Held(block *types.Type) (s *types.Type) {
	if !library(block) {
		return block
	}
	found := 0
	inHolder(block, func(m *types.Type, _ int64) bool {
		if library(m) {
			return false
		}
		s = m
		found++
		return true
	})
	if found != 1 {
		return nil
	}
	return s
}

// library reports whether a class is of the C++ library.
func library(t *types.Type) bool {
	return t.Name == "" || strings.HasPrefix(t.Name, "std::") || strings.HasPrefix(t.Name, "__gnu_cxx::")
}

// inHolder calls f for the structures inside of a block of the C++ library's that holds an object,
// and for those inside of them unless f says that it takes it.
func inHolder(block *types.Type, f func(m *types.Type, at int64) bool) {
	if !slices.ContainsFunc(holders[:], func(name string) bool { return strings.HasPrefix(block.Name, name) }) {
		return
	}
	var walk func(in *types.Type, at int64, depth int)
	walk = func(in *types.Type, at int64, depth int) {
		for i := range in.Members {
			m := &in.Members[i]
			if m.Type == nil || m.Type.Kind != types.Struct || m.Offset < 0 || depth > maxHeld {
				continue
			}
			if !f(m.Type, at+m.Offset) {
				walk(m.Type, at+m.Offset, depth+1)
			}
		}
	}
	walk(block, 0, 0)
}

// maxHeld bounds how deep a node lies in the library's structures.
const maxHeld = 8

// What stands for the allocator's name of a block that no call gave out, but that an
// access was the first to: its stack begins behind that instruction.
const (
	FirstAccess = "first access" // to an object that begins where the block does, or to one of unknown type
	PartAccess  = "first access to a part"
)

// Evidence is what debug information shows of the blocks that an allocator gave out with a
// stack. Of those that were found by what is done with them the first access tells.
func (t *Blocks) Evidence(alloc string, stack []trace.Addr) evidence.Evidence {
	switch alloc {
	case FirstAccess:
		e := t.ForAccess(stack[0] - 1)
		e.Offset = 0 // or it would be partAccess
		return e
	case PartAccess:
		return evidence.Evidence{Why: "the first access to it tells nothing of its type"}
	}
	frames := make([]evidence.Frame, 0, len(stack))
	for _, pc := range stack {
		f := evidence.Frame{}
		if im, ok := t.symbols.Image(pc - 1); ok && im.Obj != nil {
			f = evidence.Frame{File: t.codeOf(im), Addr: uint64(pc - im.Bias)}
		}
		frames = append(frames, f)
	}
	return t.finder.ForStack(frames)
}

// ForAccess is what an instruction that accesses memory shows of what it accesses.
func (t *Blocks) ForAccess(pc trace.Addr) evidence.Evidence {
	im, ok := t.symbols.Image(pc)
	if !ok || im.Obj == nil {
		return evidence.Evidence{Why: "the first access is in a module that is not known"}
	}
	return t.finder.ForAccess(im.Obj, uint64(pc-im.Bias))
}

// codeOf is the file in which evidence is looked for. Of a module that is not the
// program's it is without the debug information that a system may have installed
// apart, where that of the C library takes half a second to read: what the library
// allocates is typed by what its callers do with it.
func (t *Blocks) codeOf(im *symbol.Image) *objfile.File {
	if im.Traced {
		return im.Obj
	}
	f, ok := t.bare[im.Path]
	if !ok {
		f = im.Obj
		if alone, err := objfile.Open(im.Path, objfile.Options{NoSeparate: true}); err == nil {
			if alone.BuildID() == im.BuildID {
				f = alone
			} else {
				_ = alone.Close() // only read from
			}
		}
		if t.bare == nil {
			t.bare = map[string]*objfile.File{}
		}
		t.bare[im.Path] = f
	}
	return f
}

// ByEvidence is the declared type that evidence shows: the first, but of many rather an ARRAY.
func (t *Blocks) ByEvidence(e evidence.Evidence) (v Verdict, ok bool) {
	for _, nt := range t.spec.Types {
		if t.eligible(nt) && fits(nt, e) && (!ok || e.Array && nt.Array && !v.Type.Array) {
			v, ok = Verdict{Type: nt, Offset: e.Offset, Why: e.Why}, true
		}
	}
	return v, ok
}

// row is the declared ARRAY of what a type's nodes are, nil if there is none: its blocks may be told by their size alone.
func (t *Blocks) row(of *check.NodeType) *check.NodeType {
	for _, nt := range t.spec.Types {
		if t.eligible(nt) && nt.Array && nt.Elem != nil && SameType(nt.Elem, of.Layout) {
			return nt
		}
	}
	return nil
}

// eligible: the type's blocks are found by evidence, not by rule or membership.
func (t *Blocks) eligible(nt *check.NodeType) bool {
	return !nt.Intrusive && !ruled(t.spec, nt)
}

// ruled: rules say which blocks are of a type.
func ruled(spec *check.Spec, nt *check.NodeType) bool {
	return slices.ContainsFunc(spec.Allocs, func(r check.AllocRule) bool { return r.Type == nt })
}

// Unruled is the declared type of which debug information takes a block, where it is none since rules
// say which blocks are of that type, and none means this one. nil: there is no such type.
func (t *Blocks) Unruled(n mgpp.Node) *check.NodeType {
	if _, ok := t.ByRule(n.Stack); ok || len(n.Stack) == 0 {
		return nil
	}
	e := t.Evidence(n.Alloc, n.Stack)
	for _, nt := range t.spec.Types {
		if e.Type != nil && !nt.Intrusive && ruled(t.spec, nt) && fits(nt, e) {
			return nt
		}
	}
	return nil
}

// Overruled is the structure as which the program's code takes a block that a rule gives another type, neither of which is
// a part of the other, and what the rule names. nil: there is no such structure.
func (t *Blocks) Overruled(n mgpp.Node) (rule string, of *types.Type) {
	v, ok := t.ByRule(n.Stack)
	if !ok || v.Type.Array || v.Type.Layout == nil {
		return "", nil
	}
	e := t.Evidence(n.Alloc, n.Stack)
	if e.Type == nil || e.Type.Name == "" || e.Type.Kind != types.Struct || Within(v.Type.Layout, e.Type) || Within(e.Type, v.Type.Layout) {
		return "", nil
	}
	if h := Held(e.Type); h == nil || Within(v.Type.Layout, h) || begins(h, v.Type.Layout) || begins(v.Type.Layout, h) {
		return "", nil
	}
	return placeOf(v.rule), e.Type
}

func fits(nt *check.NodeType, e evidence.Evidence) bool {
	if nt.Array {
		return nt.Elem != nil && SameType(nt.Elem, e.Type) || nt.Elem == nil && nt.Layout != nil && SameType(nt.Layout, e.Type)
	}
	return nt.Layout != nil && SameType(nt.Layout, e.Type)
}

// SameType: one type of the program, also where one of the two is the
// specification's own declaration of it.
func SameType(a, b *types.Type) bool {
	switch {
	case a == b:
		return true
	case a == nil || b == nil || a.Kind != b.Kind && a.Kind != types.Opaque && b.Kind != types.Opaque:
		return false // one file may only declare what another defines
	case a.Kind == types.Pointer && b.Kind == types.Pointer:
		return SameType(a.Elem, b.Elem)
	}
	return a.Name != "" && cxxname.Normal(a.Name) == cxxname.Normal(b.Name)
}

// Within reports whether a structure is another one, or lies in it.
func Within(part, whole *types.Type) bool { return within(part, whole, 0) }

func within(part, whole *types.Type, depth int) bool {
	return SameType(part, whole) || depth < maxDeep && slices.ContainsFunc(whole.Members, func(m types.Member) bool {
		return m.Type != nil && m.Type.HasMembers() && within(part, m.Type, depth+1)
	})
}

// maxDeep bounds how deep a structure lies in another.
const maxDeep = 4

// ByStack: what types a block may be any of the calls that led to its allocation.
func (t *Blocks) ByStack() bool { return len(t.spec.Allocs) > 0 }

// ByRule applies the alloc rules: the innermost frame that one names wins.
func (t *Blocks) ByRule(stack []trace.Addr) (Verdict, bool) {
	if !t.ByStack() {
		return Verdict{}, false
	}
	for _, pc := range stack {
		for _, f := range t.framesOf(pc - 1) {
			for i := range t.spec.Allocs {
				r := &t.spec.Allocs[i]
				if t.names(r, f, pc) {
					t.ruled[r] = true
					return Verdict{Type: r.Type, Offset: r.Offset, Why: "alloc rule", rule: r}, true
				}
			}
		}
	}
	return Verdict{}, false
}

// framesOf is the functions that code belongs to, as codeOf has them.
func (t *Blocks) framesOf(pc trace.Addr) []objfile.Frame {
	if im, ok := t.symbols.Image(pc); ok && im.Obj != nil && !im.Traced {
		return t.codeOf(im).Frames(uint64(pc - im.Bias))
	}
	return t.symbols.Frames(pc)
}

func (t *Blocks) names(r *check.AllocRule, f objfile.Frame, pc trace.Addr) bool {
	return t.namesPlace(r, f) && (r.Call == 0 || r.Call == t.callOn(f, pc))
}

// namesPlace: the rule is for calls in that function, or on that line.
func (t *Blocks) namesPlace(r *check.AllocRule, f objfile.Frame) bool {
	if r.Func != "" {
		return t.means(r.Func, f.Function)
	}
	return f.Line == r.Line && symbol.PathEndsWith(f.File, r.File)
}

// means says whether a function is one that a rule names: as the rest of a specification
// names functions, or, outside of the files that are traced, by its full name.
func (t *Blocks) means(pattern, function string) bool {
	if n := len(t.symbols.Images); n != t.among { // the program has loaded another
		t.named, t.among = map[string]map[string]bool{}, n
	}
	meant, ok := t.named[pattern]
	if !ok {
		meant = map[string]bool{}
		for i := range t.symbols.Images {
			if im := &t.symbols.Images[i]; im.Obj != nil && im.Traced {
				for _, fn := range im.Obj.FuncsNamed(pattern) {
					meant[fn.Name] = true
				}
				for _, in := range im.Obj.Inlined(pattern) {
					meant[in.Name] = true
				}
			}
		}
		t.named[pattern] = meant
	}
	return meant[function] || cxxname.Is(function, pattern)
}

// callOn numbers the call that returns to pc among the calls of its line, from
// 1 in the order of their addresses; 0 if that can not be told.
func (t *Blocks) callOn(f objfile.Frame, pc trace.Addr) (n int) {
	im, ok := t.symbols.Image(pc - 1)
	if !ok || im.Obj == nil {
		return 0
	}
	fn, ok := im.Obj.FuncAt(uint64(pc - 1 - im.Bias))
	if !ok {
		return 0
	}
	t.eachCall(im, &fn, func(ret trace.Addr, _ []objfile.Frame, number func(objfile.Frame) int) bool {
		if ret == pc {
			n = number(f)
		}
		return ret != pc
	})
	return n
}

// eachCall calls f for each call of a function, in the order of their addresses, until it
// returns false: with the return address, the frames of the call, and a function that numbers
// it among the calls of a frame's line.
func (t *Blocks) eachCall(im *symbol.Image, fn *objfile.Func, f func(ret trace.Addr, frames []objfile.Frame, number func(objfile.Frame) int) bool) {
	type line struct {
		file   string
		number int
	}
	calls := map[line]int{}
	number := func(f objfile.Frame) int { return calls[line{f.File, f.Line}] }
	for at, in := range im.Insts(fn) {
		if in == nil || in.Kind != x86.KindCall {
			continue
		}
		ret := im.Bias + trace.Addr(at) + trace.Addr(in.Len)
		frames := t.symbols.Frames(ret - 1)
		if len(frames) > 0 {
			calls[line{frames[0].File, frames[0].Line}]++
		}
		if !f(ret, frames, number) {
			return
		}
	}
}

// ofSize is the last resort: the one declared type of that size, as long as the
// site allocates no other. What is reallocated has had another size, or is to have one.
func (t *Blocks) ofSize(n mgpp.Node) (*check.NodeType, int64, string) {
	if strings.HasPrefix(n.Alloc, "realloc") {
		return nil, 0, "nothing tells its type"
	}
	site := t.bySize[n.Stack[0]]
	if site == nil {
		site = &sizeSite{size: n.Size}
		if t.ProgramsOwn(n.Stack[0]) {
			site.typ = t.onlyOfSize(n.Size)
		}
		t.bySize[n.Stack[0]] = site
	}
	if site.size != n.Size {
		site.mixed = true
	}
	if site.typ == nil || site.mixed && n.ID > site.taken {
		return nil, 0, "nothing tells its type"
	}
	site.taken = max(site.taken, n.ID)
	return site.typ, 0, check.BySize
}

// Guessed: the block has its type by its size alone, and its site has allocated blocks of other sizes since.
func (t *Blocks) Guessed(n mgpp.Node) bool {
	if len(n.Stack) == 0 {
		return false
	}
	site := t.bySize[n.Stack[0]]
	return site != nil && site.mixed && site.typ != nil && t.stacks[&n.Stack[0]].sized
}

// ProgramsOwn: the call that returns to pc is in traced code; where that code
// has debug information, not in a part without (the libc of a static program).
func (t *Blocks) ProgramsOwn(pc trace.Addr) bool {
	im, ok := t.symbols.Image(pc - 1)
	if !ok || !im.Traced || im.Obj == nil {
		return false
	}
	f, _, _ := t.symbols.Where(pc - 1)
	return f.File != "" || !im.Obj.HasDWARF()
}

func (t *Blocks) onlyOfSize(size uint64) *check.NodeType {
	var found *check.NodeType
	for _, nt := range t.spec.Types {
		if !t.eligible(nt) || nt.Array || nt.Layout == nil || nt.Layout.Size <= 0 || uint64(nt.Layout.Size) != size {
			continue
		}
		if found != nil {
			return nil
		}
		found = nt
	}
	return found
}

// Warnings say what was typed by size alone, where many of a type lie in a block, but of
// those whose pieces were found, and which rules gave no block its type.
func (t *Blocks) Warnings(divided func(*check.NodeType) bool) []string {
	out := append(t.sizedSites(), t.arrays(divided)...)
	var whole []string
	for b := range t.begun {
		whole = append(whole, b.String())
	}
	out = append(out, slices.Sorted(slices.Values(whole))...)
	for i := range t.spec.Allocs {
		if r := &t.spec.Allocs[i]; t.before == nil && !t.ruled[r] {
			out = append(out, fmt.Sprintf("alloc %s at %s: no block was allocated there%s", r.Type.Name, placeOf(r), t.whyNone(r)))
		}
	}
	if t.before != nil {
		out = append(out, t.before.warnings()...)
	}
	return out
}

// whyNone is why a rule may name a function that is not on the stack where it is meant, "" if
// there is no such reason.
func (t *Blocks) whyNone(r *check.AllocRule) string {
	if slices.ContainsFunc(t.spec.Allocators, func(a check.Allocator) bool { return a.Func == r.Func }) {
		return fmt.Sprintf(": %s is the allocator, name what calls it", r.Func)
	}
	for i := range t.symbols.Images {
		im := &t.symbols.Images[i]
		if r.Func == "" || im.Obj == nil || !im.Traced {
			continue
		}
		for _, fn := range im.Obj.FuncsNamed(r.Func) {
			if to, ok := endsIn(im, &fn); ok {
				return fmt.Sprintf(": %s ends in a jump to %s, and is on the stack no more then; name what calls it", r.Func, to)
			}
		}
	}
	return ""
}

// endsIn is the function that one jumps to, the first of several.
func endsIn(im *symbol.Image, fn *objfile.Func) (name string, ok bool) {
	for _, in := range im.Insts(fn) {
		if in == nil || in.Kind != x86.KindJmp || !in.Direct || fn.Contains(in.Target) {
			continue
		}
		if to, ok := im.Obj.FuncAt(in.Target); ok && to.Addr == in.Target {
			return to.Name, true
		}
		return cmp.Or(im.Obj.Import(in.Target), "another function"), true
	}
	return "", false
}

// arrays tells of declared types of which many lie in a block, where no ARRAY is declared.
func (t *Blocks) arrays(divided func(*check.NodeType) bool) (out []string) {
	for _, nt := range t.spec.Types {
		if k := t.several[nt]; k > 0 && !divided(nt) {
			out = append(out, fmt.Sprintf("blocks with room for several %s, up to %s, were taken for one each, the first: an array of them is declared by ARRAY NAME OF %q; and a function that gives them out one by one, from a pool, by allocator FUNCTION(bytes=%d) frees FUNCTION(1);", nt.Name, report.Thousands(uint64(k)), nt.Layout.Name, nt.Layout.Size))
		}
		for _, c := range slices.Sorted(maps.Keys(t.rooms)) {
			if t.rooms[c] == nt {
				out = append(out, fmt.Sprintf("elements of a %s of %s are no nodes, and were not checked: its blocks are declared by ARRAY NAME OF %q;", c, nt.Name, nt.Layout.Name))
			}
		}
	}
	return out
}

// placeOf is what a rule names, as it is written.
func placeOf(r *check.AllocRule) string {
	text := r.Func
	if text == "" {
		text = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	if r.Call > 0 {
		text += fmt.Sprintf(" call %d", r.Call)
	}
	return text
}

// sizedSites says which allocation sites were typed by size: never silently.
func (t *Blocks) sizedSites() []string {
	var out []string
	for pc, s := range t.bySize {
		if s.typ == nil {
			continue
		}
		where := t.symbols.Address(pc - 1)
		if f, _, _ := t.symbols.Where(pc - 1); f.File != "" {
			where = fmt.Sprintf("%s:%d", symbol.Short(f.File), f.Line)
		}
		if s.mixed {
			out = append(out, fmt.Sprintf("%s allocates blocks of several sizes and nothing tells their type; those of %d bytes before the first other were taken as %s, and are not judged (say so with: alloc %s at …)", where, s.size, s.typ.Name, s.typ.Name))
			continue
		}
		out = append(out, fmt.Sprintf("%s allocates %d bytes, taken as %s by size alone (say so with: alloc %s at …)", where, s.size, s.typ.Name, s.typ.Name))
	}
	sort.Strings(out)
	return out
}
