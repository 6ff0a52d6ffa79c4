package callers

import (
	"cmp"
	"slices"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Graph has the calls of a program's own functions, each function read when it is asked for.
// It is not safe for concurrent use.
type Graph struct {
	symbols *symbol.Table
	funcs   map[trace.Addr]*function       // by entry; nil: not the program's own
	exports map[string]trace.Addr          // of defined: functions of other files, by name
	walks   map[trace.Addr]*walk           // of Among, by the function below which they are; nil: there is nothing to follow
	asked   map[[2]trace.Addr][]trace.Addr // of Asked, by the function below which they are and the one that is entered
	exposed *exposed                       // nil: not asked for yet
}

// function is what is known of one.
type function struct {
	code    []inst // in order of addresses
	calls   []call
	reached map[int]*reached // what reach returned
	// open: it may lead to where nothing says. So is what is not of a position-independent
	// executable: others have addresses of functions among their constants, or call their own
	// through slots of the dynamic linker.
	open bool
	// indirect: it calls or jumps through a register or memory, as where a function is virtual: to one whose address is known somewhere.
	indirect bool
}

// call is a way from one function into another.
type call struct {
	at    trace.Addr // the instruction
	to    trace.Addr // the entry
	ret   trace.Addr // behind the call; 0: nothing returns here (a tail call, or an address that is taken)
	taken bool       // an address is taken
}

// New makes a graph of the functions of the traced images.
func New(s *symbol.Table) *Graph {
	return &Graph{symbols: s, funcs: map[trace.Addr]*function{}, exports: map[string]trace.Addr{}, walks: map[trace.Addr]*walk{}, asked: map[[2]trace.Addr][]trace.Addr{}}
}

// Limits.
const (
	maxReached = 1 << 12 // functions
	maxDepth   = 64      // calls
)

// Between returns the return addresses of the calls that led from a function, by its entry,
// to an instruction, the innermost first: up to the first that is not certain.
//
//  1. what can be reached from the function; nothing is certain if that is open. A call through a pointer reaches what is exposed.
//  2. of the instruction's function, and then of its caller's, the only call in there
func (g *Graph) Between(from, pc trace.Addr) []trace.Addr {
	through := false
	sites, ok := g.reached(from, func(f *function) ([]call, bool) {
		if f.open || !f.indirect || through {
			return f.calls, !f.open
		}
		through = true // one is enough
		x := g.expose()
		return slices.Concat(f.calls, x.calls), x.known
	}, itself)
	if !ok {
		return nil
	}
	return g.only(sites, from, pc, nil)
}

// only goes on with a stack that led to an instruction where of a function there is one call.
func (g *Graph) only(sites map[trace.Addr][]site, from, pc trace.Addr, stack []trace.Addr) []trace.Addr {
	if len(stack) > 0 {
		pc = stack[len(stack)-1] - 1
	}
	at, _, ok := g.entry(pc)
	for ok && at != from && len(sites[at]) == 1 && len(stack) < maxDepth {
		s := sites[at][0]
		if s.ret == 0 {
			break
		}
		stack = append(stack, s.ret)
		at = s.caller
	}
	return stack
}

// site is a call of a function.
type site struct {
	caller, at, ret trace.Addr
	taken           bool
}

// sites returns the calls of all functions that can be reached from one, by the function called; it
// is not ok if that is not known, or if one of them calls through a pointer.
func (g *Graph) sites(from trace.Addr) (_ map[trace.Addr][]site, ok bool) {
	return g.reached(from, func(f *function) ([]call, bool) { return f.calls, !f.open && !f.indirect }, itself)
}

func itself(to trace.Addr) trace.Addr { return to }

// reached returns the calls of the functions that are reached from one: all, unless it is not ok,
// because those of one that is reached are not known, or there are too many. end is where a call leads.
func (g *Graph) reached(from trace.Addr, callsOf func(*function) (calls []call, known bool), end func(trace.Addr) trace.Addr) (sites map[trace.Addr][]site, ok bool) {
	sites = map[trace.Addr][]site{}
	reached := []trace.Addr{from}
	for i := 0; i < len(reached); i++ {
		f := g.function(reached[i])
		if f == nil {
			continue
		}
		calls, known := callsOf(f)
		if !known || len(reached) > maxReached {
			return sites, false
		}
		for _, c := range calls {
			to := end(c.to)
			if len(sites[to]) == 0 && to != from {
				reached = append(reached, to)
			}
			sites[to] = append(sites[to], site{reached[i], c.at, c.ret, c.taken})
		}
	}
	return sites, true
}

// entry is that of the function of the program's own that an address lies in.
func (g *Graph) entry(pc trace.Addr) (trace.Addr, *symbol.Image, bool) {
	im, ok := g.symbols.Image(pc)
	if !ok || !im.Traced || im.Obj == nil {
		return 0, nil, false
	}
	fn, ok := im.Obj.CodeAt(uint64(pc - im.Bias))
	return im.Bias + trace.Addr(fn.Addr), im, ok
}

// function reads one, if that is not done.
func (g *Graph) function(entry trace.Addr) *function {
	if f, known := g.funcs[entry]; known {
		return f
	}
	var f *function
	if at, im, ok := g.entry(entry); ok && at == entry {
		fn, _ := im.Obj.CodeAt(uint64(entry - im.Bias))
		f = &function{open: !im.Obj.PIE()}
		g.read(f, &fn, im)
		slices.SortFunc(f.code, func(a, b inst) int { return cmp.Compare(a.at, b.at) })
	}
	g.funcs[entry] = f
	return f
}

// read adds what a function's code may lead to.
func (g *Graph) read(f *function, fn *objfile.Func, im *symbol.Image) {
	for pc, in := range im.Insts(fn) {
		if in == nil {
			f.open = true
			continue
		}
		next := pc + uint64(in.Len)
		at := im.Bias + trace.Addr(pc)
		i := inst{at: at, kind: in.Kind, next: im.Bias + trace.Addr(next)}
		if in.Direct {
			i.to = im.Bias + trace.Addr(in.Target)
		}
		f.code = append(f.code, i)
		switch in.Kind {
		case x86.KindCall:
			if in.Direct {
				f.calls = append(f.calls, call{at: at, to: i.to, ret: i.next})
			}
			f.indirect = f.indirect || !in.Direct
		case x86.KindJmp, x86.KindJcc:
			if in.Direct && !fn.Contains(in.Target) {
				f.calls = append(f.calls, call{at: at, to: i.to})
			}
			f.indirect = f.indirect || !in.Direct
		}
		if to, ok := taken(in, next); ok {
			if fn, _, own := g.entry(im.Bias + trace.Addr(to)); own && fn == im.Bias+trace.Addr(to) {
				f.calls = append(f.calls, call{at: at, to: fn, taken: true})
			}
		}
	}
}

// taken is the address that an instruction computes, relative to the next one.
func taken(in *x86.Inst, next uint64) (uint64, bool) {
	o, mem := in.Operand()
	_, lea := in.IsLea()
	return next + uint64(o.Disp), mem && lea && o.RIPRelative
}
