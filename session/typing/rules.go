package typing

import (
	"fmt"
	"slices"

	"mgtrace/constraints/check"
	"mgtrace/cxxname"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
	"mgtrace/x86"
)

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
// a part of the other, and the rule. nil: there is no such structure.
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
	return v.Type.Name + " at " + placeOf(v.rule), e.Type
}

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
