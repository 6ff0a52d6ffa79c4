package typing

import (
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/probe/evidence"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
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
	handed  *handings                  // nil: nobody has asked
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
	// alone is how large the blocks are that hold one object of the class, where the code allocates any number of a class that derives
	// from the type: of these it is a node, and an array of several is none. 0: the code allocates one.
	alone int64
	// row is the ARRAY whose elements are of this type as well: a block of two or more is one. nil: there is none.
	row *check.NodeType
	// single is the node type of which this is the ARRAY: a block of one is a node. nil: there is none.
	single *check.NodeType
	rule   *check.AllocRule // that said so; nil: none did
	// begins are the declared types that begin as first does, of which evidence takes the block: see Verdict.whole.
	begins []*check.NodeType
	first  *types.Type
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
	if s.single != nil && int64(n.Size)-s.Offset == s.single.Layout.Size {
		return s.single, s.Offset, s.Why
	}
	if s.alone != 0 && int64(n.Size) != s.alone {
		return nil, 0, s.Why
	}
	if s.Type != nil && s.rule == nil && !s.Type.Array && s.Type.Layout != nil && int64(n.Size)-s.Offset >= 2*s.Type.Layout.Size && t.pieces(s.Type) {
		return nil, 0, "room for nodes that an allocator of the program's own gives out"
	}
	if s.many {
		if k := (int64(n.Size) - s.Offset) / s.Type.Layout.Size; k > 1 {
			t.several[s.Type] = max(t.several[s.Type], k)
		}
	}
	return s.Type, s.Offset, s.Why
}

// pieces: an allocator of the program's own is declared that gives out blocks of one object of the type. What has room for several is what
// it divides, also before it gave out the first.
func (t *Blocks) pieces(nt *check.NodeType) bool {
	return slices.ContainsFunc(t.spec.Allocators, func(a check.Allocator) bool {
		return a.Size == 0 && a.Bytes >= nt.Layout.Size && a.Bytes < 2*nt.Layout.Size
	})
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
				if row := t.row(s.Type); row != nil {
					return Verdict{Type: row, Offset: e.Offset, Why: e.Why}
				}
				t.rooms[c] = s.Type
			}
			return Verdict{Why: "room for the elements of a " + c}
		}
	}
	if ok {
		if !s.Type.Array && s.Type.Layout.Size > 0 {
			s.many, s.row = e.Array, t.row(s.Type)
		}
		if s.Type.Array {
			s.single = t.single(e)
		}
		return s
	}
	if nt, off := t.held(e.Type); nt != nil {
		return Verdict{Type: nt, Offset: e.Offset + off, owners: owners(e.Type), Why: e.Why}
	}
	if nt, off := t.derived(e.Type); nt != nil && e.Type.Size > 0 {
		v := Verdict{Type: nt, Offset: e.Offset + off, Why: e.Why}
		if e.Array {
			v.alone = e.Offset + e.Type.Size
		}
		return v
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
			case strings.Contains(f.Function, ">::_M_allocate_node(") && strings.Contains(f.Function, "::_Deque_base<"):
				return "std::deque"
			case strings.Contains(f.Function, ">::_M_allocate(") && strings.Contains(f.Function, "::_Vector_base<"):
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
// user's inside; in its debug mode (_GLIBCXX_DEBUG) lists are in a namespace of their own.
var holders = [...]string{countedBlock, "std::_List_node<", "std::_Fwd_list_node<", "std::__cxx1998::_List_node<", "std::__cxx1998::_Fwd_list_node<", "std::_Rb_tree_node<", "std::__detail::_Hash_node<"}

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
	if !Library(block) {
		return block
	}
	found := 0
	inHolder(block, func(m *types.Type, _ int64) bool {
		if Library(m) {
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

// Linked reports whether a block is a node that a container of the C++ library links with others, as a list's.
func Linked(block *types.Type) bool {
	return !strings.HasPrefix(block.Name, countedBlock) && slices.ContainsFunc(holders[:], func(name string) bool { return strings.HasPrefix(block.Name, name) })
}

// Library reports whether a class is of the C++ library.
func Library(t *types.Type) bool {
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

// single is the declared node type that evidence shows as well, nil if there is none.
func (t *Blocks) single(e evidence.Evidence) *check.NodeType {
	for _, nt := range t.spec.Types {
		if t.eligible(nt) && !nt.Array && fits(nt, e) {
			return nt
		}
	}
	return nil
}

// eligible: the type's blocks are found by evidence, not by rule or membership.
func (t *Blocks) eligible(nt *check.NodeType) bool {
	return !nt.Intrusive && !ruled(t.spec, nt)
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

// Within reports whether a structure is another one, or lies in it, as an element of an array too.
func Within(part, whole *types.Type) bool { return within(part, whole, 0) }

func within(part, whole *types.Type, depth int) bool {
	return SameType(part, whole) || depth < maxDeep && slices.ContainsFunc(whole.Members, func(m types.Member) bool {
		of := m.Type
		for of != nil && of.Kind == types.Array {
			of = of.Elem
		}
		return of != nil && of.HasMembers() && within(part, of, depth+1)
	})
}

// maxDeep bounds how deep a structure lies in another.
const maxDeep = 4

// framesOf is the functions that code belongs to, as codeOf has them.
func (t *Blocks) framesOf(pc trace.Addr) []objfile.Frame {
	if im, ok := t.symbols.Image(pc); ok && im.Obj != nil && !im.Traced {
		return t.codeOf(im).Frames(uint64(pc - im.Bias))
	}
	return t.symbols.Frames(pc)
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
	if found != nil && t.spec.InRows(found) {
		return nil // it has nodes without any block of its size
	}
	return found
}
