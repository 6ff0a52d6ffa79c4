package rerun

import (
	"bytes"
	"encoding/binary"
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/trace"
)

// Outcome is what an experiment changed that left nothing broken.
type Outcome struct {
	Differs int  // bytes that are others at the end
	Words   int  // in how many words of eight bytes
	Alike   bool // the same blocks were allocated and freed, or one was freed in place of another one, and nothing else changed
	Less    bool // it did a part of what the call did, in the same order, and nothing else
	More    bool // it did all of that, in the same order, and something beside
	Idle    bool // it did nothing at all: that nothing is broken by what is left out says little
	Hides   bool // of something that was broken it is not asked any more, as where the number of elements is less
}

// answer is what is said of bytes that are others.
type answer struct{ cures, hides bool }

// judge checks the specification behind a run. One that depends on memory of which nothing is known is not looked at.
func (r *Rerun) judge(run *replay.Run) (o Outcome, ok bool) {
	if run.Err == nil && len(run.Effects) == 0 {
		return Outcome{Idle: true}, len(r.was.Effects) > 0
	}
	if run.Err != nil || same(run, r.was) || run.Guessed > 0 && r.was.Guessed == 0 {
		return o, false
	}
	other := r.differing(run)
	o = Outcome{Differs: len(other), Words: words(other), Alike: r.alike(lives(run), lives(r.was)), Less: part(run.Effects, r.was.Effects)}
	o.More = len(run.Effects) > len(r.was.Effects) && part(r.was.Effects, run.Effects)
	if o.Alike && (len(r.call.Broken) > 0 || r.call.Died != 0 && len(lives(run)) == len(lives(r.was))) {
		a := r.answer(other)
		o.Hides = a.hides
		return o, o.Differs > 0 && a.cures
	}
	if !r.asked {
		r.asked = true
		r.twin = newTwin(r.p, r.call.From)
	}
	o.Alike = o.Alike || o.Differs == 0 && exchanged(lives(run), lives(r.was))
	return o, r.twin != nil && r.twin.healthy(run.Effects)
}

// exchanged: they are the same, but for one block that was freed in place of another one.
func exchanged(run, was [][2]uint64) bool {
	if len(run) != len(was) {
		return false
	}
	n := 0
	for i := range run {
		if run[i] == was[i] {
			continue
		}
		if n++; run[i][0] != uint64(replay.Free) || was[i][0] != uint64(replay.Free) {
			return false
		}
	}
	return n == 1
}

// Stored: had operations of this call, which is not over, stored these bytes, or none where they are nil, the call would have come to its
// end, and left nothing broken. It is not ok where that is not known.
func (r *Rerun) Stored(stores map[mgpp.Timestamp][]byte) (well, ok bool) {
	if r.call.Over || r.steps >= 2*maxSteps {
		return false, false
	}
	by, values, known := map[int][]byte{}, map[int]uint64{}, true
	for t, instead := range stores {
		if t <= r.call.From || t > r.call.To || r.was.Effects[r.matched[t-r.call.From-1]].Kind != replay.Store {
			return false, false
		}
		effect := r.matched[t-r.call.From-1]
		by[effect] = instead
		if e := &r.was.Effects[effect]; len(instead) > 0 && (e.Origin == nil || e.Origin.PC != e.PC) {
			var b [8]byte
			copy(b[:], instead)
			value := r.computed(effect)
			values[value] = binary.LittleEndian.Uint64(b[:])
			known = known && value >= 0
		}
	}
	c := r.again()
	c.Stored = func(n int) ([]byte, bool) {
		b, ok := by[n]
		return b, ok
	}
	if well, ok = r.endsWell(c); well || !ok || len(values) == 0 {
		return well, ok
	}
	if !known {
		return false, false
	}
	// What was stored may be in a register as well, and be used from there: had it been computed so.
	c = r.again()
	c.Alter = func(n int, _, was uint64) uint64 {
		if v, ok := values[n]; ok {
			return v
		}
		return was
	}
	return r.endsWell(c)
}

// endsWell: an experiment comes to the call's end, and leaves nothing broken. It is not ok if it depends on what is not known, or
// the structure is too large for a second history.
func (r *Rerun) endsWell(c replay.Call) (well, ok bool) {
	run := r.run(c)
	switch {
	case run.Guessed > 0 && r.was.Guessed == 0:
		return false, false
	case run.Err != nil:
		return false, true
	}
	_, well = r.judge(run)
	return well, r.twin != nil
}

// computed is the number of the value that an effect stored, where it was computed; -1: it is not known.
func (r *Rerun) computed(effect int) int {
	o := r.was.Effects[effect].Origin
	if o == nil || o.Given {
		return -1
	}
	for i := len(r.was.Values) - 1; i >= 0; i-- {
		if v := &r.was.Values[i]; v.PC == o.PC && v.Effects <= effect {
			return i
		}
	}
	return -1
}

// alike: the same blocks were allocated and freed, of a call that is not over at least those that there were.
func (r *Rerun) alike(run, was [][2]uint64) bool {
	if !r.call.Over && len(run) > len(was) {
		run = run[:len(was)]
	}
	return slices.Equal(run, was)
}

// answer is what cures says, which is asked once of the same bytes.
func (r *Rerun) answer(other []other) answer {
	key := make([]byte, 0, 10*len(other))
	for _, o := range other {
		key = append(binary.LittleEndian.AppendUint64(key, o.addr), o.is, b2i(o.wrote))
	}
	a, known := r.answers[string(key)]
	if !known && r.checked < r.limit {
		a = r.cures(other)
		r.answers[string(key)] = a
	}
	return a
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// cures: nothing would be broken at the call's end if memory were as a run left it that has allocated
// and freed the same blocks. other are the bytes that differ.
func (r *Rerun) cures(other []other) (a answer) {
	v := r.with(other)
	defer r.worked(r.work())
	if r.call.Died != 0 {
		a.cures = len(r.p.Model.Broken(v)) == 0
		return a
	}
	if r.stillBroken(v) {
		return a
	}
	broken := len(r.call.Broken)
	cured, created, ok := r.p.Model.Cures(v, broken)
	a.cures = ok && len(cured) == broken && len(created) == 0
	a.hides = a.cures && r.hides(v)
	return a
}

// hides: a constraint that was broken does not look there any more, or not as far as it did.
func (r *Rerun) hides(v mgpp.View) bool {
	m := r.p.Model
	end := m.View(r.call.To)
	for n, i := range m.Broken(end) {
		if n == maxProbed {
			break
		}
		is := func(i eval.Instance, v mgpp.View) bool { return m.Verdict(i, v) != eval.Absent }
		if !is(i, v) {
			return true
		}
		if k := i.Constraint; k < 0 || k >= len(r.p.Spec.Constraints) || len(r.p.Spec.Constraints[k].Loops) != 1 {
			continue
		}
		for by := int64(1); by > 0; { // to the last index that there was: in steps that grow, and then by halves
			far := i
			if far.Index[0] += by; is(far, end) {
				i, by = far, 2*by
			} else {
				by /= 2
			}
		}
		if !is(i, v) {
			return true
		}
	}
	return false
}

// stillBroken asks of one instance, the cheapest to evaluate, whether it is broken still: after most experiments it is, and then
// nobody need check all that there was at the call's end.
func (r *Rerun) stillBroken(v mgpp.View) bool {
	m := r.p.Model
	if !r.probed {
		r.probed = true
		end := m.View(r.call.To)
		for _, i := range r.call.Broken[:min(len(r.call.Broken), maxProbed)] {
			since := r.work()
			if m.Eval(i, end).Verdict != eval.Broken { // that counts what it depends on as well: on much most changes have some effect
				continue // a cycle, say, that is told otherwise
			}
			if cost := r.work() - since; r.probe == nil || cost < r.cost {
				r.probe, r.cost = &i, cost
			}
		}
	}
	return r.probe != nil && r.cost <= maxProbe && m.Verdict(*r.probe, v) == eval.Broken
}

// The instance that is asked first is one of so many, and takes so many steps of evaluation at most.
const (
	maxProbed = 8
	maxProbe  = 64
)

// with is the call's end with other bytes, as a run left them.
func (r *Rerun) with(other []other) mgpp.View {
	v, before := r.p.History.At(r.call.To), r.p.History.At(r.call.From)
	for i := 0; i < len(other); {
		k := i + 1
		for k < len(other) && other[k].addr == other[i].addr+uint64(k-i) {
			k++
		}
		data := make([]byte, k-i)
		for j := range data {
			o := &other[i+j]
			if data[j] = o.is; !o.wrote {
				old := mgpp.Bytes{Data: make([]byte, 1)}
				before.Read(trace.Addr(o.addr), &old)
				data[j] = old.Data[0]
			}
		}
		v = mgpp.With(v, trace.Addr(other[i].addr), data)
		i = k
	}
	return v
}

// work is how many steps evaluation has made so far, if the model counts them.
func (r *Rerun) work() uint64 {
	if m, ok := r.p.Model.(interface{ Work() uint64 }); ok {
		return m.Work()
	}
	return 0
}

// worked adds the steps that evaluation has made since.
func (r *Rerun) worked(since uint64) { r.checked += r.work() - since }

// same: two runs did the same.
func same(a, b *replay.Run) bool {
	return slices.EqualFunc(a.Effects, b.Effects, sameEffect)
}

func sameEffect(x, y replay.Effect) bool {
	return x.Kind == y.Kind && x.Addr == y.Addr && x.Size == y.Size && bytes.Equal(x.Data, y.Data)
}

// part: all that one run did the other one did too, in the same order.
func part(some, all []replay.Effect) bool {
	for i := range some {
		k := slices.IndexFunc(all, func(e replay.Effect) bool { return e.PC == some[i].PC && sameEffect(e, some[i]) })
		if k < 0 {
			return false
		}
		all = all[k+1:]
	}
	return true
}

// other is a byte that a run left with another value than the call, or that one of them alone wrote.
type other struct {
	addr  uint64
	is    byte
	wrote bool // by the run
}

// differing are the bytes that are others behind a run, in order. What a run did like the call until they part makes no difference,
// and that is most of it.
func (r *Rerun) differing(run *replay.Run) (out []other) {
	parts := 0
	for parts < min(len(run.Effects), len(r.was.Effects)) && sameEffect(run.Effects[parts], r.was.Effects[parts]) {
		parts++
	}
	addrs := written(r.was.Effects[parts:], written(run.Effects[parts:], nil))
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	is, was := values(run.Effects, addrs), values(r.was.Effects, addrs)
	for i, addr := range addrs {
		if is[i] != was[i] {
			out = append(out, other{addr, is[i].b, is[i].wrote})
		}
	}
	return out
}

// written appends where some effects wrote.
func written(effects []replay.Effect, addrs []uint64) []uint64 {
	for i := range effects {
		e := &effects[i]
		for k := range e.Data {
			addrs = append(addrs, e.Addr+uint64(k))
		}
	}
	return addrs
}

// value is what effects left at an address.
type value struct {
	b     byte
	wrote bool
}

// values are what effects left at addresses, which are in order.
func values(effects []replay.Effect, addrs []uint64) []value {
	out := make([]value, len(addrs))
	for i := range effects {
		e := &effects[i]
		at, _ := slices.BinarySearch(addrs, e.Addr)
		for ; at < len(addrs) && addrs[at]-e.Addr < uint64(len(e.Data)); at++ {
			out[at] = value{e.Data[addrs[at]-e.Addr], true}
		}
	}
	return out
}

// words counts those that some bytes, in order, lie in.
func words(list []other) (n int) {
	for i := range list {
		if i == 0 || list[i].addr>>3 != list[i-1].addr>>3 {
			n++
		}
	}
	return n
}

// lives are the blocks that a run allocated, freed and resized.
func lives(run *replay.Run) (out [][2]uint64) {
	for i := range run.Effects {
		if e := &run.Effects[i]; e.Kind == replay.Alloc || e.Kind == replay.Free || e.Kind == replay.Resize {
			out = append(out, [2]uint64{uint64(e.Kind), e.Addr})
		}
	}
	return out
}
