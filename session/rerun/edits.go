package rerun

import (
	"math"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/trace"
)

// Edited is an instruction that was another one in an experiment, behind which nothing is broken.
type Edited struct {
	replay.Edit
	Outcome
	Site *replay.Site
	// Was and Is are addresses: of the field, or variable, that it had to do with, and of the other one. 0: it is about none.
	Was, Is uint64
}

// Field is what lies at an address in a node.
type Field struct {
	Node    any // the node's type
	Size    int // bytes
	Pointer bool
	Like    []uint64 // addresses of the node's other fields of that size that hold pointers, or numbers, too
	Heads   []uint64 // of the node's other parts of the type of the structure that begins there
}

// Limits of experiments with edits.
const (
	maxEditSteps   = 150_000          // instructions
	maxMoreSteps   = maxEditSteps / 3 // with others than the suspects' statements, where these were asked first
	maxEdits       = 600
	maxLike        = 8
	maxEditChecked = 1 << 16 // steps of evaluation

	maxBeforeChecked = 1 << 13 // steps of evaluation of what edits leave of one earlier call
)

// Edited makes the experiments with edits: with the instructions of a statement first of which the worth is the greatest, then
// with the last that was executed. Suspected: only with those of which it is not below 0; the others are left for another time.
func (r *Rerun) Edited(worth func(trace.Addr) int, suspected bool) (out []Edited) {
	if r.sites == nil {
		r.noteSites(worth)
		r.limit = r.checked + maxEditChecked
		r.most = r.steps + maxEditSteps
	}
	if r.edited > 0 {
		r.most = min(r.most, r.steps+maxMoreSteps)
	}
	for r.edited < len(r.sites) {
		s := r.sites[r.edited]
		if suspected && worth(trace.Addr(s.PC)) < 0 {
			break
		}
		r.edited++
		for _, e := range r.edits(s) {
			if r.trials == maxEdits || r.steps >= r.most {
				return out
			}
			r.trials++
			c := r.again()
			if c.Edit = e.Edit; e.Like == nil {
				c.Same = s.Before
			}
			if o, ok := r.judge(r.run(c)); ok {
				e.Outcome = o
				out = append(out, e)
			}
		}
	}
	return out
}

// visited is the call as it was, with the instructions that it executes and the calls that it makes.
func (r *Rerun) visited() *replay.Run {
	if r.visits == nil {
		c := r.again()
		c.MaxSteps, c.Brief, c.Sites = maxCall, false, true
		run := r.machine.Run(c)
		r.visits = &replay.Run{Sites: run.Sites, Called: run.Called}
	}
	return r.visits
}

// noteSites finds the instructions that the call executes, and what lies where they read on the stack.
func (r *Rerun) noteSites(worth func(trace.Addr) int) {
	r.sites = slices.Clone(r.visited().Sites)
	r.places = map[uint64][]*replay.Site{}
	order := map[*replay.Site]int{}
	for _, s := range r.sites {
		order[s] = worth(trace.Addr(s.PC))
		if s.Frame != 0 && !slices.ContainsFunc(r.places[s.Frame], func(o *replay.Site) bool { return o.Mem == s.Mem && o.Size == s.Size && o.Value == s.Value }) {
			r.places[s.Frame] = append(r.places[s.Frame], s)
		}
	}
	slices.Reverse(r.sites)
	slices.SortStableFunc(r.sites, func(a, b *replay.Site) int { return order[b] - order[a] })
}

// Holds: with an edit the call would have left nothing broken as well. matters: and would have done something else.
func (r *Rerun) Holds(e replay.Edit) (ok, matters bool) {
	c := r.again()
	c.Edit = e
	run := r.run(c)
	switch {
	case r.was.Err != nil || run.Err == nil && same(run, r.was):
		return true, false
	case run.Err != nil:
		return false, true
	}
	if !r.asked {
		r.asked = true
		r.twin = newTwin(r.p, r.call.From)
	}
	if r.twin == nil {
		return r.holdsInPlace(run)
	}
	return r.twin.healthy(run.Effects), true
}

// holdsInPlace asks the history's own graph, where the structure is too large to be copied, and the same blocks live.
func (r *Rerun) holdsInPlace(run *replay.Run) (ok, matters bool) {
	other := r.differing(run)
	if len(other) == 0 || !slices.Equal(lives(run), lives(r.was)) || r.checked >= maxBeforeChecked {
		return true, false
	}
	if !r.Whole() {
		return true, false
	}
	defer r.worked(r.work())
	return len(r.p.Model.Broken(r.with(other))) == 0, true
}

// Whole: nothing was inconsistent when the call had ended, as far as it got. That is asked once.
func (r *Rerun) Whole() bool {
	if !r.wholeAsked {
		r.wholeAsked = true
		defer r.worked(r.work())
		r.whole = len(r.p.Model.Broken(r.p.History.At(r.call.To))) == 0
	}
	return r.whole
}

// edits are what may be tried with an instruction.
func (r *Rerun) edits(s *replay.Site) (out []Edited) {
	if r.handed(s.Made) && s.Stores {
		return nil // what the call was given nobody has computed wrongly
	}
	like := r.copies(s)
	add := func(e replay.Edit, was, is uint64) {
		e.PC, e.Like = s.PC, like
		out = append(out, Edited{Edit: e, Site: s, Was: was, Is: is})
	}
	switch {
	case s.Decides:
		add(replay.Edit{Kind: replay.Negate}, 0, 0)
		if s.Less {
			add(replay.Edit{Kind: replay.Equal}, 0, 0)
		}
	case s.Call && r.does(s):
		add(replay.Edit{Kind: replay.Skip}, 0, 0)
	case s.Frame != 0:
		if !s.Stores {
			for _, o := range r.variables(s) {
				add(replay.Edit{Kind: replay.Place, By: o.Mem - s.Mem}, s.Mem, o.Mem)
			}
		}
	case s.Mem != 0:
		if f, _ := r.field(s.Mem); s.Size == 0 && f.Heads != nil {
			break // the address of a part, not of a field
		}
		for _, at := range r.likeFields(s.Mem, s.Size) {
			add(replay.Edit{Kind: replay.Place, By: at - s.Mem}, s.Mem, at)
		}
	}
	if s.Stores && s.Frame == 0 && r.block(s.Mem) {
		add(replay.Edit{Kind: replay.Skip}, s.Mem, 0)
		if r.block(s.Made) {
			add(replay.Edit{Kind: replay.Zero}, s.Mem, 0)
		}
	}
	if s.Result > 0 {
		r.numbers(s, add)
	}
	if !s.Stores {
		r.heads(s, add)
	}
	if s.Float > 0 && !s.Stores {
		r.constants(s, add)
	}
	r.registers(s, add)
	return out
}

// constants are what may be meant by a floating-point number that the file holds: its neighbours, if it is whole, its opposite or reciprocal,
// twice or half of it.
func (r *Rerun) constants(s *replay.Site, add func(e replay.Edit, was, is uint64)) {
	im, ok := r.p.Symbols.Image(trace.Addr(s.Mem))
	if !ok || im.Obj == nil || slices.ContainsFunc(im.Obj.WritableSegments(), func(w [2]uint64) bool {
		return uint64(im.Bias)+w[0] <= s.Mem && s.Mem < uint64(im.Bias)+w[1]
	}) {
		return
	}
	for _, v := range instead(replay.Float(s.Value, s.Float)) {
		add(replay.Edit{Kind: replay.Constant, By: replay.Bits(v, s.Float)}, 0, 0)
	}
}

func instead(k float64) (out []float64) {
	list := []float64{-k, 1 / k, 2 * k, k / 2}
	if k == math.Trunc(k) {
		list = append([]float64{k + 1, k - 1}, list...)
	}
	for _, v := range list {
		if v != k && !math.IsInf(v, 0) && !math.IsNaN(v) && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// does: what an instruction calls does something to memory. Else it is called for what it returns, and what its caller would do
// without that is not known; and what the program has read it was given.
func (r *Rerun) does(s *replay.Site) bool {
	return slices.ContainsFunc(r.was.Effects, func(e replay.Effect) bool { return within(&e, s.PC) && !e.Given })
}

// handed: a number is an argument of the call.
func (r *Rerun) handed(v uint64) bool {
	return !r.block(v) && r.given(replay.Value{Value: v, Size: 4})
}

func (r *Rerun) argument(v uint64) bool {
	return slices.ContainsFunc(r.call.Args, func(a uint64) bool { return a&0xffff_ffff == v&0xffff_ffff })
}

// copies tells where else the compiler has put an instruction, as it does where it inlines a function in several places; nil
// if it stands in no inlined function.
func (r *Rerun) copies(s *replay.Site) func(uint64) bool {
	at, outer, _ := r.p.Symbols.Where(trace.Addr(s.PC))
	if len(outer) == 0 {
		return nil
	}
	text, known := r.machine.Text(s.PC), map[uint64]bool{s.PC: true}
	return func(pc uint64) bool {
		is, ok := known[pc]
		if !ok {
			f, around, _ := r.p.Symbols.Where(trace.Addr(pc))
			is = f.Line == at.Line && f.File == at.File && f.Function == at.Function && len(around) > 0 && around[0] != outer[0] && r.machine.Text(pc) == text
			known[pc] = is
		}
		return is
	}
}

// variables are other places on the stack, of the same call, that hold such a value as the one that is read.
func (r *Rerun) variables(s *replay.Site) (out []*replay.Site) {
	kind := r.kind(s.Value)
	for _, o := range r.places[s.Frame] {
		if r.handed(s.Value) && !r.argument(o.Value) {
			continue // another argument may be meant, but no other number
		}
		if o.Size != s.Size || o.Mem == s.Mem || o.Value == s.Value || r.kind(o.Value) != kind && s.Value != 0 || s.Size == 8 && r.kind(o.Value) == nil {
			continue
		}
		if len(out) < maxLike && !slices.ContainsFunc(out, func(x *replay.Site) bool { return x.Mem == o.Mem }) {
			out = append(out, o)
		}
	}
	return out
}

// likeFields are the fields that may be meant in place of the one at an address.
func (r *Rerun) likeFields(addr uint64, size int) []uint64 {
	f, ok := r.field(addr)
	if !ok || size != 0 && f.Size != size {
		return nil
	}
	return f.Like[:min(len(f.Like), maxLike)]
}

// field is what lies at an address, before the call or behind it. The same few addresses are asked for again and again.
func (r *Rerun) field(addr uint64) (f Field, ok bool) {
	if known, asked := r.fields[addr]; asked {
		return known.Field, known.is
	}
	if r.block(addr) {
		for _, at := range [2]mgpp.Timestamp{r.call.To, r.call.From} {
			if f, ok = r.p.Field(trace.Addr(addr), at); ok {
				break
			}
		}
	}
	r.fields[addr] = knownField{f, ok}
	return f, ok
}

// knownField is what was found at an address, if anything was.
type knownField struct {
	Field
	is bool
}

// kind is the type of the node to whose beginning an address leads, nil if it leads to none.
func (r *Rerun) kind(addr uint64) any {
	f, ok := r.field(addr)
	if !ok {
		return nil
	}
	return f.Node
}

// maxStep bounds what a programmer adds to a number: larger ones are the compiler's, as where it has a multiplication for a division.
const maxStep = 1 << 24

// numbers are the neighbours of a number that is computed, and what it would be were it counted the other way, or nothing added to it.
func (r *Rerun) numbers(s *replay.Site, add func(e replay.Edit, was, is uint64)) {
	if r.block(s.Made) || r.elsewhere(s.Made) { // an address
		return
	}
	for _, by := range [2]uint64{1, ^uint64(0)} {
		add(replay.Edit{Kind: replay.Number, By: by}, 0, 0)
	}
	if by := int64(s.Step); by != 0 && by > -maxStep && by < maxStep {
		add(replay.Edit{Kind: replay.Number, By: -(s.Step + s.Step)}, 0, 0)
		if s.Step != 1 && s.Step+1 != 0 {
			add(replay.Edit{Kind: replay.Number, By: -s.Step}, 0, 0)
		}
	}
}

// heads are the other parts of a node that may be meant in place of the one of which the address is made, as the head of another list.
func (r *Rerun) heads(s *replay.Site, add func(e replay.Edit, was, is uint64)) {
	f, _ := r.field(s.Made)
	for _, at := range f.Heads[:min(len(f.Heads), maxLike)] {
		add(replay.Edit{Kind: replay.Number, By: at - s.Made}, s.Made, at)
	}
}

// registers are the others that hold an address of a node of the type to which one leads that is read.
func (r *Rerun) registers(s *replay.Site, add func(e replay.Edit, was, is uint64)) {
	for _, n := range s.Reads {
		kind := r.kind(s.Regs[n])
		if kind == nil {
			continue
		}
		for o, v := range s.Regs {
			if o != n && v != s.Regs[n] && r.kind(v) == kind {
				add(replay.Edit{Kind: replay.Register, Was: n, Is: o}, s.Regs[n], v)
				if s.Stores && n == s.Base && slices.Contains(s.Reads, o) {
					add(replay.Edit{Kind: replay.Swap, Was: n, Is: o}, s.Regs[n], v)
				}
			}
		}
	}
}
