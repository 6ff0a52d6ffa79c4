package analysis

import (
	"fmt"
	"strings"

	"mgtrace/constraints/graph"
	"mgtrace/cxxname"
	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/session/rerun"
	"mgtrace/trace"
	"mgtrace/types"
)

// So many functions may be called beside; those that wrote to nodes are told by so many operations.
const (
	maxCallees    = 40
	maxWrittenBy  = 1 << 12
	maxParameters = 3
)

// Added implements faultloc.Rerun.
func (x *experiments) Added() (out []faultloc.Experiment) {
	if x.left {
		return nil
	}
	for _, s := range x.call.Added(x.a.callees(x.call.To())) {
		pc, calls := x.a.beyondHeaders(trace.Addr(s.PC), s.Calls)
		var args []string
		for i, v := range s.Args {
			if !s.Callee.Params[i].This {
				args = append(args, x.a.number(v))
			}
		}
		where := "behind"
		if s.Before {
			where = "before"
		}
		entry := trace.Addr(s.Callee.Entry)
		out = append(out, faultloc.Experiment{
			PC: pc, Calls: calls, After: x.call.Time(s.Effects), Alike: s.Alike, Differs: s.Differs, Words: s.Words,
			Edit:   fmt.Sprintf("had %s(%s) been called %s this", s.Callee.Name, strings.Join(args, ", "), where),
			Beside: s.Beside,
			Runs:   func(pc trace.Addr) bool { at, ok := x.a.Symbols.Begin(pc); return ok && at == entry },
		})
	}
	return out
}

// callees are functions of the program's own that may have been called: those that wrote to nodes before a time, the last first, and then those beside
// them in their files, which may call them.
func (a *Analysis) callees(at mgpp.Timestamp) (out []rerun.Callee) {
	seen := map[uint64]bool{}
	add := func(entry uint64) {
		if f, ok := a.callee(entry); ok && len(f.Params) > 0 && f.Name != "main" && len(out) < maxCallees && !seen[entry] {
			out = append(out, f)
		}
		seen[entry] = true
	}
	var beside []uint64
	files, asked := map[string]bool{}, map[trace.Addr]bool{0: true}
	for t := at; t > 0 && at-t < maxWrittenBy; t-- {
		pc := a.Hist.Deed(t).PC
		if asked[pc] {
			continue
		}
		asked[pc] = true
		im, ok := a.Symbols.Image(pc)
		if !ok || im.Obj == nil {
			continue
		}
		fn, ok := im.Obj.FuncAt(uint64(pc - im.Bias))
		if entry := fn.Addr + uint64(im.Bias); ok && !seen[entry] {
			add(entry)
			if !files[fn.File] && fn.File != "" {
				files[fn.File] = true
				for _, f := range im.Obj.Funcs() {
					if f.File == fn.File && f.Size > 0 {
						beside = append(beside, f.Addr+uint64(im.Bias))
					}
				}
			}
		}
	}
	for _, entry := range beside {
		add(entry)
	}
	return out
}

// callee is a function that may be called beside: that of the program's own code which begins at an address, if its parameters are integers and pointers,
// a few, in registers.
func (a *Analysis) callee(entry uint64) (f rerun.Callee, ok bool) {
	im, ok := a.Symbols.Image(trace.Addr(entry))
	if !ok || im.Obj == nil || a.Symbols.Library(trace.Addr(entry)) {
		return f, false
	}
	fn, ok := im.Obj.FuncAt(entry - uint64(im.Bias))
	f.Entry, f.Name = entry, cxxname.WithoutParams(cxxname.Short(fn.Base))
	if !ok || cxxname.Constructs(f.Name) || cxxname.Destroys(f.Name) { // of an object that lives neither is called
		return f, false
	}
	for _, v := range im.Obj.Params(entry - uint64(im.Bias)) {
		n := len(f.Params)
		switch t := v.Type; {
		case t == nil || n == maxParameters || v.Loc.Kind == objfile.LocReg && v.Loc.Reg != objfile.ArgRegs[n]:
			return f, false
		case t.Kind == types.Pointer:
			p := rerun.Accepted{Fits: a.leadsTo(t.Elem), This: v.Name == "this"}
			if t.Elem != nil {
				p.To = cxxname.Normal(t.Elem.Name)
			}
			f.Params = append(f.Params, p)
		case t.Kind == types.Int, t.Kind == types.Uint, t.Kind == types.Bool, t.Kind == types.Enum:
			f.Params = append(f.Params, rerun.Accepted{Size: int(t.Size)})
		default:
			return f, false
		}
	}
	return f, true
}

func (a *Analysis) addressOf(o graph.ObjID) trace.Addr { return a.Graph.Object(o).Addr }

// leadsTo reports of a value whether it leads to the beginning of a node of a type, or to what lies in static memory.
func (a *Analysis) leadsTo(t *types.Type) func(uint64) bool {
	return func(v uint64) bool {
		if t == nil || v == 0 {
			return false
		}
		for _, o := range a.Graph.At(a.Hist.At(a.Hist.Now()), trace.Addr(v)) {
			if x := a.Graph.Object(o); x.Addr == trace.Addr(v) && x.Type != nil && x.Type.Layout != nil {
				return x.Type.Layout.Name == t.Name && x.Type.Layout.Size == t.Size
			}
		}
		at := a.variable(trace.Addr(v))
		return at != nil && at.Name == t.Name && at.Size == t.Size
	}
}
