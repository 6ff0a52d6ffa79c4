package evidence

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"mgtrace/objfile"
	"mgtrace/types"
)

const (
	maxSteps   = 1500 // instructions that are followed in all
	maxVisits  = 4    // states in which one instruction is followed
	afterFound = 24   // instructions behind the first finding of a path: a larger type may follow
	maxLinear  = 1 << 16
	maxInside  = 200 // instructions that are followed in a function that is called
)

// walk follows the new pointer from the return address of its allocation
// through one function.
//
//  1. From the last branch target before the call, values are computed up to
//     it, so that the registers that survive the call are known.
//  2. Behind the call rax is the new pointer. Both ways of every branch are
//     followed, but not the one on which the pointer is NULL.
//  3. At each instruction, debug information says which variables lie where
//     the pointer is; stores, calls and returns say the rest.
//  4. A path ends soon after its first finding, with the pointer's last copy,
//     at a return, or at code that is not understood.
type walk struct {
	file   *objfile.File
	start  uint64 // the return address
	fn     objfile.Func
	framed bool // rbp is the frame pointer
	callee string
	args   [4]value // rdi, rsi, rdx, rcx at the call

	findings     []finding
	returned     bool
	returnOffset int64
	lost         bool // results at different offsets
	other        bool // a result that is not the new pointer, which still is somewhere

	// assigned are the members that the statement of the call assigns, see membersAssigned; nil: it is not known which.
	assigned func() [][]string

	inside bool            // a called function is followed: no others
	pass   map[uint64]bool // called functions that return their first argument

	statics statics
	vars    map[uint64][]objfile.Variable
	visits  map[uint64]map[string]bool
	steps   int
}

func newWalk(f *objfile.File, addr uint64, st statics) *walk {
	fn, _ := f.FuncAt(addr - 1)
	return makeWalk(f, fn, addr, st)
}

// makeWalk is newWalk where the function is known.
func makeWalk(f *objfile.File, fn objfile.Func, addr uint64, st statics) *walk {
	return &walk{file: f, start: addr, fn: fn, statics: st, vars: map[uint64][]objfile.Variable{}, visits: map[uint64]map[string]bool{}, pass: map[uint64]bool{}}
}

// path is a place that is still to be followed.
type path struct {
	pc    uint64
	st    state
	found []finding // at its first finding
	left  int       // instructions still followed after that
}

func (w *walk) run() { w.from(w.beforeCall()) }

// from follows all paths from the start.
func (w *walk) from(st state) {
	todo := []path{{pc: w.start, st: st}}
	for len(todo) > 0 && w.steps < maxSteps {
		p := todo[len(todo)-1]
		todo = w.follow(p, todo[:len(todo)-1])
	}
	if w.lost {
		w.returned = false
	}
}

// follow runs one path to its end and adds its branches to todo.
func (w *walk) follow(p path, todo []path) []path {
	for ; w.steps < maxSteps; w.steps++ {
		if !w.inFunction(p.pc) || !p.st.hasFresh() || w.visited(&p) {
			return todo
		}
		w.note(&p, w.atVariables(p.pc, &p.st))
		p.st.stored = false
		in, ok := decode(w.file, p.pc)
		if !ok {
			return todo
		}
		w.note(&p, w.atStore(p.pc, in, &p.st))
		w.note(&p, w.atVTable(p.pc, in, &p.st))
		if len(p.found) > 0 {
			if p.left--; p.left < 0 {
				return todo
			}
		}
		next := p.pc + uint64(in.Len)
		switch target, direct := w.target(in, next); {
		case in.Op == x86asm.RET:
			w.atReturn(&p)
			return todo
		case in.Op == x86asm.CALL:
			w.note(&p, w.atCall(target, direct, &p.st))
			if direct && w.noReturn(target) {
				return todo
			}
			p.st.afterCall(w.resultOf(target, direct, next, &p.st))
			p.pc = next
		case in.Op == x86asm.JMP && direct && w.inFunction(target):
			p.pc = target
		case in.Op == x86asm.JMP:
			w.note(&p, w.atCall(target, direct, &p.st))
			if p.st.reg[0] = w.resultOf(target, direct, next, &p.st); p.st.reg[0].kind == fresh {
				w.atReturn(&p)
			}
			return todo
		case isConditional(in.Op):
			taken, falls := p.st.branch(in.Op)
			if taken && direct {
				other := path{target, p.st.clone(), p.found, p.left}
				todo = append(todo, other)
			}
			if !falls {
				return todo
			}
			p.pc = next
		default:
			if !w.step(p.pc, in, &p.st) {
				return todo
			}
			p.pc = next
		}
	}
	return todo
}

func (w *walk) inFunction(pc uint64) bool {
	return w.fn.Contains(pc) || len(w.fn.Ranges) == 0 && pc >= w.start && pc < w.start+4096
}

// visited reports whether p's place was reached with the pointer in the same
// places before, or too often.
func (w *walk) visited(p *path) bool {
	seen := w.visits[p.pc]
	if seen == nil {
		seen = map[string]bool{}
		w.visits[p.pc] = seen
	}
	k := p.st.key()
	if seen[k] || len(seen) >= maxVisits {
		return true
	}
	seen[k] = true
	return false
}

// note keeps what a path found first, and what later turns out to be larger.
// Bytes are kept too, but do not end a path.
func (w *walk) note(p *path, found []finding) {
	first := len(p.found) == 0
	for _, f := range found {
		switch {
		case isByte(f.t):
			w.findings = append(w.findings, f)
		case first:
			w.findings = append(w.findings, f)
			p.found = append(p.found, f)
			p.left = afterFound
		case f.offset == p.found[0].offset && !same(f.t, p.found[0].t) && container(f.t, p.found[0].t) == f.t:
			w.findings = append(w.findings, f)
		}
	}
}

// acceptable reports whether the pointer with this offset is to the object
// itself: new[] alone puts a count before the first.
func (w *walk) acceptable(v value) bool {
	return v.isFresh() && (v.off == 0 || w.callee == "operator new[]" && (v.off == 8 || v.off == 16))
}

func (w *walk) found(t *types.Type, v value, format string, args ...any) []finding {
	if t == nil || t.Kind == types.Void || t.Kind == types.Func || !w.acceptable(v) {
		return nil
	}
	return []finding{{t: t, offset: v.off, why: fmt.Sprintf(format, args...)}}
}

// atVariables asks which variables lie where the new pointer is.
func (w *walk) atVariables(pc uint64, st *state) []finding {
	var out []finding
	for _, v := range w.variables(pc) {
		switch v.Loc.Kind {
		case objfile.LocReg:
			if r, ok := register(v.Loc.Reg); ok {
				out = append(out, w.inVariable(pc, v, 0, st.reg[r])...)
			}
		case objfile.LocRegValue:
			if r, ok := register(v.Loc.Reg); ok && st.reg[r].kind == fresh {
				at := st.reg[r]
				at.off += v.Loc.Offset
				out = append(out, w.inVariable(pc, v, 0, at)...)
			}
		case objfile.LocRegOffset:
			key, ok := w.slotOf(v.Loc.Reg, v.Loc.Offset, st)
			if !ok || v.Type == nil {
				continue
			}
			if !st.stored || w.undeclared(pc, v) {
				continue // what lay there before may be another variable's by now
			}
			x := st.slots[len(st.slots)-1]
			if at := x.key.off - key.off; x.key.frame == key.frame && at >= 0 && at < max(v.Type.Size, 1) {
				out = append(out, w.inVariable(pc, v, at, x.v)...)
			}
		}
	}
	return out
}

// undeclared: what was stored before pc was at a line of the variable's function that lies before its declaration.
// Compilers give the place of a variable to temporary objects that are gone by then, and debug information says of
// most that they lie there in the whole of their scope:
//
//	8	if (leaf) return std::make_unique<Node>(std::string(n, 'x'));
//	9	auto node = std::make_unique<Node>();
func (w *walk) undeclared(pc uint64, v objfile.Variable) bool {
	frames := w.file.Frames(pc)
	if v.Param || v.Line == 0 || v.Frame >= len(frames) {
		return false
	}
	in := frames[v.Frame]
	for _, f := range w.file.Frames(pc - 1) {
		if f.Function == in.Function && f.File == in.File {
			in = f
			break
		}
	}
	return in.File == v.File && in.Line > 0 && in.Line < v.Line && in.Declared <= v.Line
}

// inVariable: the value lies off bytes into variable v.
func (w *walk) inVariable(pc uint64, v objfile.Variable, off int64, held value) []finding {
	if held.kind != fresh || v.Type == nil {
		return nil
	}
	t := pointerAt(v.Type, off, 0)
	name := v.Name
	if name == "this" {
		return w.found(t, held, "`this` of a %s%s", t, w.where(pc))
	}
	return w.found(t, held, "stored in `%s` (%s)%s", name, v.Type, w.where(pc))
}

// atStore asks what the place is that the new pointer is stored in.
func (w *walk) atStore(pc uint64, in x86asm.Inst, st *state) []finding {
	if in.Op != x86asm.MOV && in.Op != x86asm.XCHG {
		return nil
	}
	m, isMem := in.Args[0].(x86asm.Mem)
	r, isReg := generalReg(in.Args[1])
	if !isMem || !isReg || in.MemBytes != 8 || st.reg[r].kind != fresh || m.Segment != 0 {
		return nil
	}
	if _, ok := w.slotOfMem(m, st); ok {
		return nil // a variable there is seen at the next instruction
	}
	at := w.address(pc, in, m, st)
	t, name := w.pointerStoredAt(at, nil)
	if t == nil {
		t, name = w.elementStoredAt(pc, m, st)
	}
	if t == nil && w.assigned != nil { // one of several in a union
		t, name = w.pointerStoredAt(at, oneOf(w.assigned()))
	}
	if t == nil {
		return nil
	}
	return w.found(t, st.reg[r], "stored in %s%s", name, w.where(pc))
}

// elementStoredAt returns what the elements of an array that is a variable of the function point to, if a memory operand means one of them.
// Of an array in a structure the index may count from where the structure begins.
//
//	struct node *nodes[8]; nodes[i] = malloc(…);
func (w *walk) elementStoredAt(pc uint64, m x86asm.Mem, st *state) (t *types.Type, name string) {
	if m.Index == 0 || m.Scale != 8 {
		return nil, ""
	}
	m.Index = 0
	first, ok := w.slotOfMem(m, st)
	if !ok {
		return nil, ""
	}
	for _, v := range w.variables(pc) {
		if v.Loc.Kind != objfile.LocRegOffset || v.Type == nil {
			continue
		}
		at, ok := w.slotOf(v.Loc.Reg, v.Loc.Offset, st)
		if to := elementPointee(v.Type); ok && at == first && to != nil && !w.undeclared(pc, v) {
			return to, "an element of `" + v.Name + "`"
		}
	}
	return nil, ""
}

// atVTable asks of which class the virtual table is that is stored at the beginning of the new block. It may be
// that of a first member, which has less than the block was to have: that is no evidence.
func (w *walk) atVTable(pc uint64, in x86asm.Inst, st *state) []finding {
	m, isMem := in.Args[0].(x86asm.Mem)
	if in.Op != x86asm.MOV || !isMem || in.MemBytes != 8 || m.Segment != 0 {
		return nil
	}
	table, ok := w.operand(pc, in, in.Args[1], st).exact()
	at := w.address(pc, in, m, st)
	if !ok || !at.isFresh() || at.off != 0 {
		return nil
	}
	class, t := classOfTable(w.file, uint64(table))
	if t == nil || !slices.ContainsFunc(w.args[:], func(v value) bool { n, ok := v.exact(); return ok && n == t.Size }) {
		return nil
	}
	return w.found(t, at, "given the virtual table of %s%s", class, w.where(pc))
}

// asks: the call is one of operator new, as far as it is known, and not of what uses or makes something else beside that.
func (w *walk) asks() bool { return w.callee == "" || strings.HasSuffix(w.callee, "operator new") }

// mayAskFor: the call's first argument is this size, as far as it is known.
func (w *walk) mayAskFor(size int64) bool {
	n, known := w.args[0].exact()
	return !known || n == size
}

// pointerStoredAt returns what the pointer at an address points to, one that is meant.
func (w *walk) pointerStoredAt(at value, is meant) (t *types.Type, name string) {
	switch at.kind {
	case pointer:
		return throughPointer(at.to, at.off, at.stride, is), "a field of " + at.to.String()
	case number:
		if v, ok := w.global(at.off); ok {
			off := at.off - v.Loc.Offset
			return pointerIn(v.Type, off, at.stride, nil, is), "`" + v.Name + "`"
		}
	}
	return nil, ""
}

// atCall asks for the type of the parameter that the new pointer is passed as, or by whose reference:
//
//	nodes.push_back(new Node{…});
func (w *walk) atCall(target uint64, direct bool, st *state) []finding {
	if !direct {
		return nil
	}
	var out []finding
	for _, r := range argumentRegs() {
		v, of := st.reg[r], pointee
		if v.kind == place {
			v, of = st.load(slotKey{frame: v.frame, off: v.off}), func(t *types.Type) *types.Type { return pointee(pointee(t)) }
		}
		if v.kind != fresh {
			continue
		}
		for _, p := range w.file.Params(target) {
			if at, ok := register(p.Loc.Reg); p.Loc.Kind == objfile.LocReg && ok && at == r {
				name := "`" + p.Name + "`"
				if p.Name == "" { // one of a template's `Args &&...args`
					name = "an argument"
				}
				out = append(out, w.found(of(p.Type), v, "passed to %s as %s (%s)", w.calleeName(target), name, p.Type)...)
			}
		}
	}
	return out
}

// atReturn: the function's result.
func (w *walk) atReturn(p *path) {
	v := p.st.reg[0]
	if !v.isFresh() {
		w.other = true
		return
	}
	result := w.file.ReturnType(w.fn.Addr)
	if result != nil && result.Kind == types.Void { // a constructor, say: it is left in the register
		w.other = true
		return
	}
	t := pointee(result)
	if t == nil && result != nil && result.Kind == types.Struct && result.Size == 8 {
		t = pointerAt(result, 0, 0)
	}
	w.note(p, w.found(t, v, "returned by %s as %s", w.fn.Name, result))
	if w.returned && w.returnOffset != v.off {
		w.lost = true
	}
	w.returned, w.returnOffset = true, v.off
}

// where names the source line of pc.
func (w *walk) where(pc uint64) string {
	for _, fr := range w.file.Frames(pc) {
		if fr.Line > 0 {
			return fmt.Sprintf(" at %s:%d", baseName(fr.File), fr.Line)
		}
	}
	return ""
}

// many reports whether the call allocates more than one object of type t, as
// far as its arguments are seen.
func (w *walk) many(t *types.Type, offset int64) bool {
	if t == nil || t.Size <= 0 || isFlexible(t) {
		return false
	}
	size, count := w.args[0], constant(1)
	switch w.callee {
	case "calloc":
		size, count = w.args[1], w.args[0]
	case "reallocarray":
		size, count = w.args[2], w.args[1]
	case "realloc", "aligned_alloc", "memalign":
		size = w.args[1]
	case "malloc", "operator new", "operator new[]", "valloc":
	default: // a wrapper of malloc or calloc
		if n, ok := w.args[1].exact(); ok && n == t.Size {
			size, count = w.args[1], w.args[0]
		}
	}
	if c, ok := count.exact(); !ok || c > 1 {
		return true
	}
	if n, ok := size.exact(); ok {
		n -= offset
		return n > t.Size && n%t.Size == 0
	}
	if size.kind == number && size.stride > 1 && size.stride%t.Size == 0 {
		return true
	}
	// Single objects that are no structures are rarely allocated, and new[]
	// of one element hardly ever.
	return !t.HasMembers() || w.callee == "operator new[]"
}
