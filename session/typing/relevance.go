package typing

import (
	"cmp"
	"math"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/inline/matter"
	"mgtrace/objfile"
	"mgtrace/probe/evidence"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
)

// Relevance says which blocks can matter to a specification: those of its types,
// of the other types that it reads through pointers, of types that hold one of these,
// and those whose type is not certain. It tells the engine what each return address
// says, so that the engine comes to the same result from a stack as typing does.
type Relevance struct {
	typing *Blocks
	matter matter.Blocks
	types  []*types.Type
	least  int64 // bytes of the smallest node that a call makes: where bytes are declared, it may lie; 0: none does
	frames map[trace.Addr]matter.Frame
	recent [recentStacks]recentStack
	// Bytes of blocks that do not matter, until the engine is told so, and the stacks of which it is told then.
	patience uint64
	waiting  [][]trace.Addr
	stacks   map[*trace.Addr]bool // by the first word of a stack, which is interned: its blocks can not matter
}

// recentStack is what Relevance knows of a stack.
type recentStack struct {
	first   *trace.Addr
	ignored bool
}

// maxPatience is how many bytes of blocks that do not matter are recorded in any case: those of a small program. They stay recorded to
// their end, so it is little.
const maxPatience = 64 << 10

// recentStacks is how many stacks are found without a map: by the low bits of the innermost return address,
// a call of which a program has few.
const recentStacks = 64

// filterable says whether debug information or rules for callers can decide what
// matters: not where pointers make nodes of any memory.
func filterable(spec *check.Spec) bool {
	if spec == nil || len(spec.Types) == 0 || len(spec.Reaches) > 0 {
		return false
	}
	return !slices.ContainsFunc(spec.Types, func(t *check.NodeType) bool { return t.Layout == nil && t.Elem == nil })
}

// Entering lists the calls that make nodes, for an engine. all: it is enough to look at these
// for what must be recorded. It is not where a function returns a node, which was filled in before
// that, nor for several arguments.
func Entering(spec *check.Spec, prog *trace.Program) (list []matter.Member, all bool) {
	if spec == nil {
		return nil, true
	}
	all = true
	names := make([]cxxname.Name, len(prog.Funcs))
	for i := range prog.Funcs {
		names[i] = cxxname.Of(prog.Funcs[i].Name)
	}
	for i := range spec.Members {
		m := &spec.Members[i]
		if m.Leave {
			continue
		}
		if m.Type.Layout == nil || m.Type.Layout.Size <= 0 || m.Type.Layout.Size >= matter.MaxMember {
			all = false
			continue
		}
		arg := m.Arg
		if m.Return {
			arg, all = matter.Result, false
		}
		for _, f := range cxxname.Find(m.Func, names) {
			id := trace.FuncID(f + 1)
			if slices.ContainsFunc(list, func(x matter.Member) bool { return x.Func == id }) {
				all = false
				continue
			}
			list = append(list, matter.Member{Func: id, Arg: arg, Size: uint64(m.Type.Layout.Size)})
		}
	}
	return list, all
}

// MatterTo says how to tell which blocks matter to a specification. It can not be told
// where code that a rule names may come later, with one of some libraries, or is in too many pieces.
func MatterTo(spec *check.Spec, prog *trace.Program, symbols *symbol.Table, later []symbol.Image) (m matter.Blocks, ok bool) {
	if !filterable(spec) || slices.ContainsFunc(later, func(im symbol.Image) bool { return ruledIn(spec, &im) }) {
		return m, false
	}
	if m.Members, ok = Entering(spec, prog); !ok {
		return m, false
	}
	t := New(spec, symbols)
	for i := range spec.Allocs {
		code := t.codeNamed(&spec.Allocs[i])
		if len(code) == 0 {
			return m, false
		}
		m.Named = append(m.Named, code...)
	}
	m.Named = joined(m.Named)
	// Where rules name the blocks of all types, and nothing else is read, only they count.
	r := &Relevance{}
	r.ofTypes(spec)
	declared := len(r.types)
	r.ofReads(spec)
	m.Only = len(r.types) == declared && !slices.ContainsFunc(spec.Types, func(t *check.NodeType) bool { return !ruled(spec, t) })
	// The blocks in which nodes lie have an end, whatever they are.
	// Where blocks reach further than was asked for, all must be known: what was a node may have gone to one in front.
	m.Forget = !asksForBlocks(spec) && len(spec.Members) == 0 && prog.Granted == ""
	if len(spec.Members) > 0 && len(r.types) == declared {
		m.Least, m.Barren = leastBlock(spec), !asksForBlocks(spec)
	}
	return m, len(m.Named) <= matter.MaxNamed
}

// leastBlock is the size of the smallest block that can be a node, or hold one, 0 if any can.
func leastBlock(spec *check.Spec) uint64 {
	least := int64(math.MaxInt64)
	for _, t := range spec.Types {
		if t.Layout == nil {
			return 0
		}
		least = min(least, t.Layout.Size)
	}
	return uint64(max(least, 0))
}

// asksForBlocks: constraints ask whether a pointer leads to any block at all, or dangles.
func asksForBlocks(spec *check.Spec) bool {
	asks := slices.ContainsFunc(spec.Types, func(t *check.NodeType) bool { return t.DanglingAtCPoints })
	check.Walk(spec, func(e check.Expr) {
		if b, ok := e.(*check.Builtin); ok && (b.Kind == check.BuiltinDangling || b.Kind == check.BuiltinExists) {
			asks = true
		}
	})
	return asks
}

// Forgets says whether blocks that do not matter are missing in the history.
func (r *Relevance) Forgets() bool { return r != nil && r.matter.Forget }

// OnlyRuled says whether blocks that no rule names are missing in the history, whatever they are.
func (r *Relevance) OnlyRuled() bool { return r != nil && r.matter.Only }

// codeNamed is where the return addresses lie that an alloc rule may mean: of any call of
// its function, or line, or of the one that it numbers. One lies behind the call. None: that
// is not known.
func (t *Blocks) codeNamed(r *check.AllocRule) (code []matter.Code) {
	for i := range t.symbols.Images {
		im := &t.symbols.Images[i]
		if im.Obj == nil {
			continue
		}
		ranges, ok := codeIn(r, im)
		if !ok {
			return nil
		}
		if r.Call > 0 {
			for _, ret := range t.callsMeant(r, im, ranges) {
				code = append(code, matter.Code{Lo: uint64(ret), Hi: uint64(ret) + 1})
			}
			continue
		}
		for _, x := range ranges {
			code = append(code, matter.Code{Lo: uint64(im.Bias) + x[0] + 1, Hi: uint64(im.Bias) + x[1] + 1})
		}
	}
	return code
}

// codeIn is the code of a file that an alloc rule may mean; not ok: there is some, and where is not known.
func codeIn(r *check.AllocRule, im *symbol.Image) (ranges [][2]uint64, ok bool) {
	var funcs []objfile.Func
	switch {
	case r.Func == "":
		if im.Traced {
			ranges = im.Obj.LineCode(r.File, r.Line)
		}
	case im.Traced:
		funcs = im.Obj.FuncsNamed(r.Func)
		for _, in := range im.Obj.Inlined(r.Func) {
			ranges = append(ranges, in.Ranges...)
		}
	default:
		funcs = im.Obj.FuncsInFull(r.Func)
	}
	for i := range funcs {
		if len(funcs[i].Ranges) == 0 {
			return nil, false
		}
		ranges = append(ranges, funcs[i].Ranges...)
	}
	return ranges, true
}

// ruledIn: a file has code that an alloc rule may mean.
func ruledIn(spec *check.Spec, im *symbol.Image) bool {
	return slices.ContainsFunc(spec.Allocs, func(r check.AllocRule) bool {
		code, ok := codeIn(&r, im)
		return !ok || len(code) > 0
	})
}

// callsMeant are the return addresses of the calls in some code that a rule with a number
// means.
func (t *Blocks) callsMeant(r *check.AllocRule, im *symbol.Image, ranges [][2]uint64) (meant []trace.Addr) {
	seen := map[uint64]bool{} // functions: one may have many of the ranges
	for _, x := range ranges {
		fn, ok := im.Obj.FuncAt(x[0])
		if !ok || seen[fn.Addr] {
			continue
		}
		seen[fn.Addr] = true
		t.eachCall(im, &fn, func(ret trace.Addr, frames []objfile.Frame, number func(objfile.Frame) int) bool {
			at := uint64(ret - im.Bias)
			behind := func(x [2]uint64) bool { return x[0] < at && at <= x[1] }
			if slices.ContainsFunc(ranges, behind) && slices.ContainsFunc(frames, func(f objfile.Frame) bool { return t.namesPlace(r, f) && number(f) == r.Call }) {
				meant = append(meant, ret)
			}
			return true
		})
	}
	return meant
}

// joined sorts ranges, and joins those that touch.
func joined(code []matter.Code) []matter.Code {
	slices.SortFunc(code, func(a, b matter.Code) int { return cmp.Compare(a.Lo, b.Lo) })
	out := code[:0]
	for _, c := range code {
		if n := len(out) - 1; n >= 0 && c.Lo <= out[n].Hi {
			out[n].Hi = max(out[n].Hi, c.Hi)
			continue
		}
		out = append(out, c)
	}
	return out
}

// NewRelevance says what matters to a specification, by the evidence of a typing, for an
// engine that was told m.
func NewRelevance(spec *check.Spec, m matter.Blocks, t *Blocks) *Relevance {
	r := &Relevance{typing: t, matter: m, frames: map[trace.Addr]matter.Frame{}, stacks: map[*trace.Addr]bool{}}
	for i := range spec.Members {
		if size := spec.Members[i].Type.Layout.Size; r.least == 0 || size < r.least {
			r.least = size
		}
	}
	if len(spec.Members) == 0 { // with these most blocks do not matter, and much is written to each
		r.patience = maxPatience
	}
	r.ofTypes(spec)
	r.ofReads(spec)
	for _, g := range spec.Globals {
		r.add(g.Layout)
	}
	return r
}

// ofTypes adds the types of nodes.
func (r *Relevance) ofTypes(spec *check.Spec) {
	for _, nt := range spec.Types {
		r.add(nt.Layout)
		r.add(nt.Elem)
	}
}

// ofReads adds what is read through pointers. Through one to a declared type nothing but
// nodes of it is read, and of what a pointer leads to that is asked for an attribute or
// compared with a node, nothing but which node it is.
func (r *Relevance) ofReads(spec *check.Spec) {
	onlyNodes := map[check.Expr]bool{}
	check.Walk(spec, func(e check.Expr) {
		switch x := e.(type) {
		case *check.Attr:
			onlyNodes[x.Base] = true
		case *check.Degree:
			onlyNodes[x.Base] = true
		case *check.Relation:
			onlyNodes[x.From], onlyNodes[x.To] = true, true
		case *check.Binary:
			if isNode(x.X) || isNode(x.Y) {
				onlyNodes[x.X], onlyNodes[x.Y] = true, true
			}
		case *check.Load:
			if x.Type != nil && x.Type.Kind == types.Pointer && (x.Weak || x.To == nil && !onlyNodes[x]) {
				r.add(x.Type.Elem)
			}
		}
	})
}

// isNode: an expression is a node, or none, whatever memory holds.
func isNode(e check.Expr) bool {
	switch e.(type) {
	case *check.Node, *check.Null:
		return true
	}
	return false
}

func (r *Relevance) add(t *types.Type) {
	if t != nil && t.Kind != types.Void && !r.matters(t) {
		r.types = append(r.types, t)
	}
}

func (r *Relevance) matters(t *types.Type) bool {
	return slices.ContainsFunc(r.types, func(x *types.Type) bool { return SameType(x, t) })
}

// begins says whether a type is how one that matters begins: its size tells a block of it.
func (r *Relevance) begins(t *types.Type) bool {
	return slices.ContainsFunc(r.types, func(x *types.Type) bool { return begins(x, t) })
}

// holds says whether a value of a type is, or has in it, one that matters.
func (r *Relevance) holds(t *types.Type) bool {
	if t == nil || r.matters(t) {
		return true
	}
	switch t.Kind {
	case types.Array:
		return r.holds(t.Elem) || r.least > 0 && t.Elem != nil && t.Elem.Size == 1 && (t.Count < 0 || t.Count >= r.least)
	case types.Struct, types.Union:
		return slices.ContainsFunc(t.Members, func(m types.Member) bool { return m.Type != nil && m.Type.Kind != types.Pointer && r.holds(m.Type) })
	}
	return false
}

// Heed tells an engine what the frames say that decide whether blocks matter that are allocated with a stack, which is interned: once,
// and not before there was so much of them that to record them all would cost something. The engine is told while the program runs: what
// is recorded of blocks that do not matter depends on how fast that is, and with it which calls can be executed again. No stack: it is to
// be told now.
func (r *Relevance) Heed(stack []trace.Addr, size uint64, tell func(matter.Frame) bool) {
	if r.patience == 0 {
		r.ignores(stack, tell)
		return
	}
	known := len(r.stacks)
	ignored := r.Ignores(stack)
	if len(r.stacks) > known {
		r.waiting = append(r.waiting, stack)
	}
	switch {
	case len(stack) == 0:
		r.patience = 0
	case ignored:
		r.patience -= min(r.patience, max(size, 1))
	}
	if r.patience > 0 {
		return
	}
	for _, stack := range r.waiting {
		if r.decides(stack) {
			r.walk(stack, tell)
		}
	}
	r.waiting = nil
}

// Ignores says whether blocks can not matter that are allocated with a stack, which is
// interned.
func (r *Relevance) Ignores(stack []trace.Addr) bool {
	return r.ignores(stack, func(matter.Frame) bool { return false })
}

func (r *Relevance) ignores(stack []trace.Addr, tell func(matter.Frame) bool) bool {
	if len(stack) == 0 {
		return false
	}
	last := &r.recent[stack[0]%recentStacks]
	if last.first == &stack[0] {
		return last.ignored
	}
	ignored, ok := r.stacks[&stack[0]]
	if !ok {
		ignored = r.matter.Only && !r.isNamed(stack) || r.decides(stack) && r.walk(stack, tell)
		r.stacks[&stack[0]] = ignored
	}
	*last = recentStack{&stack[0], ignored}
	return ignored
}

// decides: the frames of a stack do, and no rule.
func (r *Relevance) decides(stack []trace.Addr) bool { return !r.matter.Only && !r.isNamed(stack) }

func (r *Relevance) isNamed(stack []trace.Addr) bool { return slices.ContainsFunc(stack, r.named) }

func (r *Relevance) named(ret trace.Addr) bool {
	return slices.ContainsFunc(r.matter.Named, func(c matter.Code) bool { return c.Lo <= uint64(ret) && uint64(ret) < c.Hi })
}

// walk does what stays_closed of the hook routine does.
func (r *Relevance) walk(stack []trace.Addr, tell func(matter.Frame) bool) bool {
	leans := matter.Says(0)
	for _, ret := range stack[:min(len(stack), matter.WalkFrames)] {
		f := r.frame(ret)
		tell(f) // without room for it its blocks matter
		if f.Says&(matter.Open|matter.Closed) != 0 {
			return f.Says&matter.Closed != 0
		}
		if leans == 0 {
			leans = f.Says & (matter.LeansOpen | matter.LeansClosed)
		}
		if f.Says&matter.Ends != 0 {
			break
		}
		if f.Step == matter.NoStep {
			return false
		}
	}
	return leans == matter.LeansClosed
}

// frame is what is known of a return address.
func (r *Relevance) frame(ret trace.Addr) matter.Frame {
	f, ok := r.frames[ret]
	if !ok {
		f = matter.Frame{Ret: uint64(ret), Step: matter.NoStep, Says: r.says(ret)}
		if im, ok := r.typing.symbols.Image(ret - 1); ok && im.Obj != nil {
			f.Step, f.Offset, f.BP = toCaller(im.Obj.Rule(uint64(ret - 1 - im.Bias)))
		}
		r.frames[ret] = f
	}
	return f
}

// says is what the call that returns to an address says of blocks that are allocated in it.
func (r *Relevance) says(ret trace.Addr) matter.Says {
	im, ok := r.typing.symbols.Image(ret - 1)
	if !ok || im.Obj == nil {
		return matter.Ends
	}
	told := r.typing.finder.ForFrame(evidence.Frame{File: r.typing.codeOf(im), Addr: uint64(ret - im.Bias)})
	open := told.Type == nil || r.holds(told.Type) || r.begins(told.Type) || r.least > 0 && told.Type.Size == 1
	switch {
	case told.Certain && open:
		return matter.Open
	case told.Certain:
		return matter.Closed
	}
	says := matter.Says(0)
	switch {
	case told.Type == nil:
	case open:
		says = matter.LeansOpen
	default:
		says = matter.LeansClosed
	}
	if !told.Passes {
		says |= matter.Ends
	}
	return says
}

// toCaller says how to get to the caller, if the rule is one that the engine follows: ok
// says whether there is one.
func toCaller(rule objfile.FrameRule, ok bool) (s matter.Step, offset int32, bp int16) {
	const rbp = 1 << objfile.RegBP
	at := rule.At[objfile.RegBP]
	switch {
	case !ok || rule.Lost&rbp != 0 || rule.Saved&rbp != 0 && (at == 0 || int32(int16(at)) != at) || int64(int32(rule.Offset)) != rule.Offset:
		return matter.NoStep, 0, 0
	case rule.Outermost:
		return matter.Outermost, 0, 0
	case rule.CFA == objfile.RegSP:
		s = matter.FromSP
	case rule.CFA == objfile.RegBP:
		s = matter.FromBP
	default:
		return matter.NoStep, 0, 0
	}
	if rule.Saved&rbp != 0 {
		bp = int16(at)
	}
	return s, int32(rule.Offset), bp
}
