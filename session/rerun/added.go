package rerun

import (
	"cmp"
	"slices"

	"mgtrace/replay"
	"mgtrace/trace"
)

// Added is a call that was made beside in an experiment, behind which nothing is broken: it may be missing there.
type Added struct {
	Outcome
	Callee Callee
	Args   []uint64
	PC     uint64   // of a call that it was made behind, or before, or of the end of a function
	Calls  []uint64 // return addresses of the calls around it, innermost first
	// Effects is how many there were before it.
	Effects int
	Before  bool // it was made before that call, or end
	end     bool
	Beside  bool // the function in which it was made has stored to a node that it is given last, and called it for others
}

// Callee is a function that may be called beside.
type Callee struct {
	Entry  uint64
	Name   string
	Params []Accepted
}

// Accepted is what a parameter may be given.
type Accepted struct {
	Size int               // of a number; 0: it is a pointer
	To   string            // what a pointer leads to, by its type's name; "": it has none
	Fits func(uint64) bool // of a pointer: it may lead there, whatever was given to others
	This bool              // it is the object whose method the function is
}

// argument is a value that may be one: a pointer that was given to a parameter also of one to that type.
type argument struct {
	value uint64
	to    string
}

// Limits of experiments with calls beside.
const (
	maxAdded        = 400
	maxAddedSteps   = 100_000
	maxAddedChecked = 1 << 17 // steps of evaluation
	maxArguments    = 6       // values of a kind
	maxPositions    = 10
	maxNearer       = 100 // of all, where a node was stored to last
)

// position is where a call is made beside.
type position struct {
	step, effects int
	pc            uint64
	calls         []uint64
	before, end   bool
}

// adding is a series of experiments with calls beside.
type adding struct {
	r      *Rerun
	called []replay.Called
	trials int
	most   int             // steps until these end
	idle   map[uint64]bool // functions that did nothing, or allocate or free
	out    []Added
}

// Added makes the experiments with calls that are made beside, of the functions that it is told: behind a call, before one, and at the end of a function, the last first;
// and then, of what is given a node, where that was stored to last.
func (r *Rerun) Added(callees []Callee) []Added {
	if !r.call.Over || len(r.call.Broken) == 0 || r.p.Callee == nil {
		return nil
	}
	x := &adding{r: r, called: r.visited().Called, most: r.steps + maxAddedSteps, idle: map[uint64]bool{}}
	r.limit = r.checked + maxAddedChecked
	numbers, pointers := r.argumentsOf(x.called)
	all := r.positions(x.called)
	for n, at := range all[:min(len(all), maxPositions)] {
		for i := range callees {
			f := &callees[i]
			if x.idle[f.Entry] {
				continue
			}
			x.idle[f.Entry] = n == 0
			for args := range f.arguments(numbers, pointers) {
				x.try(f, args, &at)
			}
		}
	}
	x.trials, x.most = maxAdded-maxNearer, r.steps+maxAddedSteps/2
	for _, found := range simplestAdded(slices.Clone(x.out)) {
		for _, at := range all {
			if x.beside(&found.Callee, found.Args, &at) {
				x.try(&found.Callee, found.Args, &at)
			}
		}
	}
	return simplestAdded(x.out)
}

// try makes a call at a position, but for one of a function that it is in.
func (x *adding) try(f *Callee, args []uint64, at *position) {
	in := func(c replay.Called) bool {
		return c.Entry == f.Entry && c.Step <= at.step && (c.Last == 0 || at.step <= c.Last)
	}
	if x.trials == maxAdded || x.r.steps >= x.most || slices.ContainsFunc(x.called, in) {
		return
	}
	x.trials++
	c := x.r.again()
	c.Beside, c.Same = replay.Beside{Entry: f.Entry, Args: args, Step: at.step}, at.step
	run := x.r.run(c)
	if len(run.Effects) <= len(x.r.was.Effects) || !x.r.alike(lives(run), lives(x.r.was)) {
		return
	}
	x.idle[f.Entry] = false
	if o, ok := x.r.judge(run); ok && o.More && !o.Hides {
		x.out = append(x.out, Added{Outcome: o, Callee: *f, Args: slices.Clone(args), PC: at.pc, Calls: at.calls, Effects: at.effects, Before: at.before, end: at.end,
			Beside: x.beside(f, args, at)})
	}
}

// beside: what was stored last in a node that a function is given was stored in the function in which the call is made, and that calls it elsewhere as well, as what brings nodes
// up to date.
func (x *adding) beside(f *Callee, args []uint64, at *position) bool {
	calls := func(c replay.Called) bool { return c.Entry == f.Entry && slices.Equal(c.Calls[1:], at.calls) }
	return slices.ContainsFunc(x.called[1:], calls) && x.r.storesLast(f, args, at)
}

func (r *Rerun) storesLast(f *Callee, args []uint64, at *position) bool {
	for k := range f.Params {
		id, ok := r.p.History.NodeAtTime(trace.Addr(args[k]), r.call.To)
		if f.Params[k].Size > 0 || !ok {
			continue
		}
		n := r.p.History.Node(id)
		for _, e := range slices.Backward(r.was.Effects[:at.effects]) {
			if e.Kind == replay.Store && e.Addr-uint64(n.Start) < n.Size {
				return slices.Equal(e.Stack, at.calls)
			}
		}
	}
	return false
}

// simplestAdded leaves of each function the one experiment that changes least: beside what the call is about, in the outermost function, behind a call rather than
// at the end, which has no line of its own.
func simplestAdded(list []Added) (out []Added) {
	slices.SortStableFunc(list, func(a, b Added) int {
		return cmp.Or(cmp.Compare(a.Differs, b.Differs), cmp.Compare(b2i(b.Beside), b2i(a.Beside)), cmp.Compare(len(a.Calls), len(b.Calls)), cmp.Compare(b2i(a.end), b2i(b.end)))
	})
	for _, x := range list {
		if !slices.ContainsFunc(out, func(o Added) bool { return o.Callee.Entry == x.Callee.Entry }) {
			out = append(out, x)
		}
	}
	return out
}

// positions are where the program's own code could make a call, the last first: behind each of its calls that changed something, at the end of each
// function that did, and before each call.
func (r *Rerun) positions(called []replay.Called) (out []position) {
	for i := len(called) - 1; i >= 0; i-- {
		x := &called[i]
		own := func(pc uint64) bool { return !r.p.Symbols.Library(trace.Addr(pc)) }
		changed := x.Behind > x.Before
		switch {
		case i == 0 && x.Last == 0: // it is inlined
			out = append(out, position{step: r.was.Steps, effects: len(r.was.Effects), pc: r.was.PC, before: true, end: true})
		case x.Last > 0 && changed && own(x.LastPC):
			out = append(out, position{step: x.Last, effects: x.Behind, pc: x.LastPC, calls: x.Calls, before: true, end: true})
		}
		if i == 0 || !own(x.PC) {
			continue
		}
		if x.Last > 0 && changed {
			out = append(out, position{step: x.Last + 1, effects: x.Behind, pc: x.PC, calls: x.Calls[1:]})
		}
		out = append(out, position{step: x.Step, effects: x.Before, pc: x.PC, calls: x.Calls[1:], before: true})
	}
	slices.SortStableFunc(out, func(a, b position) int { return cmp.Or(cmp.Compare(b.effects, a.effects), cmp.Compare(b.step, a.step)) })
	return out
}

// argumentsOf are numbers and pointers that may be arguments: what is broken, those of the calls that were made, and pointers to the nodes that were written
// to, the newest first.
func (r *Rerun) argumentsOf(called []replay.Called) (numbers, pointers []argument) {
	add := func(list *[]argument, v uint64, to string) {
		if x := (argument{v, to}); len(*list) < maxArguments && !slices.Contains(*list, x) {
			*list = append(*list, x)
		}
	}
	for _, i := range r.call.Broken[:min(len(r.call.Broken), maxProbed)] {
		for _, o := range i.Nodes {
			if o != 0 {
				add(&pointers, uint64(r.p.Node(o)), "")
			}
		}
		for _, n := range i.Index {
			add(&numbers, uint64(n), "")
		}
	}
	for _, x := range slices.Backward(called) {
		f, ok := r.p.Callee(x.Entry)
		for k := 0; ok && k < len(f.Params); k++ {
			if n := f.Params[k].Size; n > 0 {
				add(&numbers, x.Args[k]&(1<<(8*n)-1), "")
			} else {
				add(&pointers, x.Args[k], f.Params[k].To)
			}
		}
	}
	for _, e := range slices.Backward(r.was.Effects) {
		if id, ok := r.p.History.NodeAtTime(trace.Addr(e.Addr), r.call.To); ok {
			add(&pointers, uint64(r.p.History.Node(id).Start), "")
		}
	}
	return numbers, pointers
}

// arguments are the ways to give a function its arguments.
func (f *Callee) arguments(numbers, pointers []argument) func(yield func([]uint64) bool) {
	return func(yield func([]uint64) bool) {
		args := make([]uint64, len(f.Params))
		var give func(k int) bool
		give = func(k int) bool {
			if k == len(args) {
				return yield(args)
			}
			p := &f.Params[k]
			list := pointers
			if p.Size > 0 {
				list = numbers
			}
			for i, v := range list {
				fits := p.Size > 0 || (v.to != "" && v.to == p.To || p.Fits(v.value)) && !slices.Contains(args[:k], v.value) // nor the same node twice
				if !fits || slices.ContainsFunc(list[:i], func(o argument) bool { return o.value == v.value && (p.Size > 0 || o.to == v.to || p.Fits(v.value)) }) {
					continue
				}
				if args[k] = v.value; !give(k + 1) {
					return false
				}
			}
			return true
		}
		give(0)
	}
}
