package rerun

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/constraints/eval"
	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/trace"
)

// TestReproduces: what was recorded must all be there, in this order and with these values; there may be more.
func TestReproduces(t *testing.T) {
	store := func(pc, addr uint64, b byte) replay.Effect {
		return replay.Effect{Kind: replay.Store, PC: pc, Addr: addr, Size: 1, Data: []byte{b}}
	}
	was := []replay.Effect{store(1, 16, 7), {Kind: replay.Free, PC: 2, Addr: 32}, store(3, 17, 8)}
	run := func(effects ...replay.Effect) *replay.Run { return &replay.Run{Effects: effects} }
	called, far := store(400, 17, 8), store(400, 17, 8)
	called.Stack, far.Stack = []uint64{500, 8}, []uint64{500, 80}
	for _, c := range []struct {
		name string
		run  *replay.Run
		want []int
	}{
		{"the same", run(was...), []int{0, 1, 2}},
		{"more", run(was[0], store(9, 99, 1), was[1], was[2]), []int{0, 2, 3}},
		{"less", run(was[0], was[1]), nil},
		{"another order", run(was[1], was[0], was[2]), nil},
		{"another value", run(was[0], was[1], store(3, 17, 9)), nil},
		{"another statement", run(was[0], was[1], store(4, 17, 8)), nil},
		{"a function that the statement calls", run(was[0], was[1], called), []int{0, 1, 2}},
		{"one that another statement calls", run(was[0], was[1], far), nil},
	} {
		got := reproduces(c.run, was, false)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
		}
	}
}

// TestPart: a run that did a part of what another one did, and nothing else, in the same order.
func TestPart(t *testing.T) {
	store := func(pc uint64, b byte) replay.Effect {
		return replay.Effect{Kind: replay.Store, PC: pc, Addr: 16, Size: 1, Data: []byte{b}}
	}
	all := []replay.Effect{store(1, 7), store(2, 8), store(1, 7)}
	for _, c := range []struct {
		name string
		some []replay.Effect
		want bool
	}{
		{"nothing", nil, true},
		{"all", all, true},
		{"the ends", []replay.Effect{all[0], all[2]}, true},
		{"another order", []replay.Effect{all[1], all[0], all[1]}, false},
		{"another value", []replay.Effect{store(1, 9)}, false},
		{"another statement", []replay.Effect{store(3, 7)}, false},
		{"once more", append(all[:3:3], all[0]), false},
	} {
		if got := part(c.some, all); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestWent: which ways the decisions of a call went.
func TestWent(t *testing.T) {
	r := &Rerun{was: &replay.Run{Decisions: []replay.Decision{{PC: 1, Taken: true}, {PC: 2}, {PC: 2}}}}
	for way, want := range map[Way]bool{{1, true}: true, {1, false}: false, {2, false}: true, {2, true}: false, {3, true}: false} {
		if got := r.Went(way); got != want {
			t.Errorf("%v: %t", way, got)
		}
	}
}

// TestNotExecuted: the reason is the change's own; what is unread is not said of a member that enters.
func TestNotExecuted(t *testing.T) {
	for kind, want := range map[mgpp.OpKind]error{
		mgpp.OpUnread: errUnread, mgpp.OpEnter: errMembers, mgpp.OpLeave: errMembers,
	} {
		if _, ok := effect(nil, &mgpp.Op{Kind: kind}); ok {
			t.Errorf("kind %d is an effect", kind)
		}
		if got := notExecuted(kind); got != want {
			t.Errorf("kind %d: %v, want %v", kind, got, want)
		}
	}
}

// TestDiffering: the bytes that an experiment left otherwise, and in how many words they lie.
func TestDiffering(t *testing.T) {
	store := func(addr uint64, data ...byte) replay.Effect {
		return replay.Effect{Kind: replay.Store, Addr: addr, Size: uint64(len(data)), Data: data}
	}
	begin := store(8, 7, 7)
	r := &Rerun{was: &replay.Run{Effects: []replay.Effect{begin, store(16, 1, 2), store(40, 3)}}}
	run := &replay.Run{Effects: []replay.Effect{begin, store(16, 1, 9), store(48, 3)}} // 17 is another one, 40 was not written, and 48 was
	got := r.differing(run)
	if want := []other{{17, 9, true}, {40, 0, false}, {48, 3, true}}; !slices.Equal(got, want) || words(got) != 3 {
		t.Errorf("%v in %d words, want %v in 3", got, words(got), want)
	}
}

// TestDifferingWhole: what is compared from where two runs part is what they left altogether.
func TestDifferingWhole(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	effects := func(n int) (out []replay.Effect) {
		for range n {
			data := make([]byte, 1+rnd.IntN(12))
			for i := range data {
				data[i] = byte(rnd.IntN(2))
			}
			out = append(out, replay.Effect{Kind: replay.Store, Addr: 100 + uint64(rnd.IntN(40)), Size: uint64(len(data)), Data: data})
		}
		return out
	}
	final := func(effects []replay.Effect) map[uint64]byte {
		out := map[uint64]byte{}
		for _, e := range effects {
			for k, b := range e.Data {
				out[e.Addr+uint64(k)] = b
			}
		}
		return out
	}
	some := 0
	for range 2000 {
		begin := effects(rnd.IntN(4))
		r := &Rerun{was: &replay.Run{Effects: slices.Concat(begin, effects(rnd.IntN(4)))}}
		run := &replay.Run{Effects: slices.Concat(begin, effects(rnd.IntN(4)))}
		is, was := final(run.Effects), final(r.was.Effects)
		var want []other
		for addr := uint64(100); addr < 160; addr++ {
			b, wrote := is[addr]
			if o, did := was[addr]; b != o || wrote != did {
				want = append(want, other{addr, b, wrote})
			}
		}
		some += len(want)
		if got := r.differing(run); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if some == 0 {
		t.Error("nothing differed")
	}
}

// TestTime: effects that were not recorded have no time of their own.
func TestTime(t *testing.T) {
	r := &Rerun{call: Call{From: 100, To: 103}, matched: []int{0, 2, 3}}
	for n, want := range map[int]mgpp.Timestamp{0: 100, 1: 101, 2: 101, 3: 102, 4: 103} {
		if got := r.Time(n); got != want {
			t.Errorf("%d effects: %d, want %d", n, got, want)
		}
	}
}

// TestAlike: the blocks of a call that is not over are the first of those of an experiment.
func TestAlike(t *testing.T) {
	one, two := [][2]uint64{{1, 16}}, [][2]uint64{{1, 16}, {2, 32}}
	over, open := &Rerun{call: Call{Over: true}}, &Rerun{}
	if over.alike(two, one) || !over.alike(two, two) || !open.alike(two, one) || open.alike(one, two) {
		t.Error("a call that is over frees what it freed, and another one that at least")
	}
}

// TestExchanged: one block was freed in place of another one, and no more is different.
func TestExchanged(t *testing.T) {
	free, alloc := uint64(replay.Free), uint64(replay.Alloc)
	was := [][2]uint64{{alloc, 1}, {free, 2}, {free, 3}}
	for _, c := range []struct {
		run  [][2]uint64
		want bool
	}{
		{[][2]uint64{{alloc, 1}, {free, 4}, {free, 3}}, true},
		{[][2]uint64{{alloc, 1}, {free, 2}, {free, 3}}, false},
		{[][2]uint64{{alloc, 1}, {free, 3}, {free, 2}}, false},
		{[][2]uint64{{alloc, 5}, {free, 2}, {free, 3}}, false},
		{[][2]uint64{{alloc, 1}, {free, 4}}, false},
	} {
		if got := exchanged(c.run, was); got != c.want {
			t.Errorf("%v: %t", c.run, got)
		}
	}
}

// TestLikely: a pointer that nobody has recorded leads first to what the call freed, then to where it wrote most.
func TestLikely(t *testing.T) {
	h := mgpp.New(mgpp.Options{})
	r := &Rerun{p: Program{History: h}, did: map[mgpp.NodeID]int{}}
	var list []uint64
	for i, did := range []int{0, 1, 3, maxChanges} {
		addr := uint64(0x1000 * (i + 1))
		if _, err := h.Apply(&trace.Event{Kind: trace.KindAlloc, Addr: trace.Addr(addr), Size: 16, Name: "malloc"}); err != nil {
			t.Fatal(err)
		}
		r.call.From = h.Now()
		id, _ := h.NodeAtTime(trace.Addr(addr), h.Now())
		r.did[id] = did
		list = append(list, addr)
	}
	if got := r.likely(list); !slices.Equal(got, []uint64{0x4000, 0x3000, 0x2000, 0x1000}) {
		t.Errorf("%#x", got)
	}
}

// TestDoes: a call that changes no memory is made for what it returns.
func TestDoes(t *testing.T) {
	r := &Rerun{was: &replay.Run{Effects: []replay.Effect{{Kind: replay.Store, PC: 900, Stack: []uint64{105, 40}}, {Kind: replay.Bulk, PC: 305, Given: true}}}}
	if !r.does(&replay.Site{PC: 100}) || r.does(&replay.Site{PC: 200}) || r.does(&replay.Site{PC: 305}) {
		t.Error("the call at 100 stores, the one at 200 does not, and what the one at 300 reads is given")
	}
}

// counted is a model of which an array's elements below a number are asked, and of which the broken ones are.
type counted struct {
	eval.Model
	broken []eval.Instance
	end    mgpp.View
	n      map[mgpp.View]int64 // by view
}

func (m counted) View(mgpp.Timestamp) mgpp.View    { return m.end }
func (m counted) Broken(mgpp.View) []eval.Instance { return m.broken }
func (m counted) Verdict(i eval.Instance, v mgpp.View) (r eval.Verdict) {
	if i.Index[0] >= m.n[v] {
		r = eval.Absent
	}
	return r
}

// TestHides: an experiment with which a constraint looks at less than it did.
func TestHides(t *testing.T) {
	h := mgpp.New(mgpp.Options{})
	end, other := h.At(0), mgpp.With(h.At(0), 16, []byte{1})
	spec := &check.Spec{Constraints: []*check.Constraint{{Loops: make([]check.Loop, 1)}, {}}}
	for _, c := range []struct {
		constraint int
		n          int64 // in the experiment, of 100
		want       bool
	}{
		{0, 100, false}, {0, 120, false},
		{0, 5, true},  // what was broken is not asked any more
		{0, 99, true}, // it is, but not all that was
		{1, 99, false},
	} {
		i := eval.Instance{Constraint: c.constraint}
		i.Index[0] = 17
		m := counted{broken: []eval.Instance{i}, end: end, n: map[mgpp.View]int64{end: 100, other: c.n}}
		r := &Rerun{p: Program{Spec: spec, Model: m}}
		if got := r.hides(other); got != c.want {
			t.Errorf("constraint %d, %d elements of 100: %t", c.constraint, c.n, got)
		}
	}
}

// asked is a model that has one instance evaluated, and never all.
type asked struct {
	eval.Model
	t      *testing.T
	mended bool
}

func (m asked) View(mgpp.Timestamp) mgpp.View { return nil }
func (m asked) Broken(mgpp.View) []eval.Instance {
	m.t.Error("all was checked")
	return nil
}
func (m asked) Eval(i eval.Instance, v mgpp.View) eval.Result {
	return eval.Result{Verdict: m.Verdict(i, v)}
}
func (m asked) Verdict(i eval.Instance, v mgpp.View) (r eval.Verdict) {
	if v == nil || !m.mended {
		r = eval.Broken
	}
	return r
}

// TestStillBroken: of an experiment that mends nothing one instance tells so, of those that were found.
func TestStillBroken(t *testing.T) {
	v := mgpp.New(mgpp.Options{}).At(0)
	for _, mended := range []bool{false, true} {
		r := &Rerun{p: Program{Model: asked{t: t, mended: mended}}, call: Call{Broken: make([]eval.Instance, 3)}}
		if r.stillBroken(v) == mended {
			t.Errorf("mended %t", mended)
		}
	}
}

// TestFloats: what may be a floating-point argument.
func TestFloats(t *testing.T) {
	word := func(b ...byte) replay.Effect { return replay.Effect{Kind: replay.Store, Size: uint64(len(b)), Data: b} }
	half := word(0, 0, 0, 0, 0, 0, 0xe0, 0x3f)
	got := floats([]replay.Effect{word(1, 2, 3, 4), half, word(0x10, 0, 0x55, 0x55, 0x55, 0x55, 0, 0), half})
	if len(got) != 1 || got[0] != 0x3fe0<<48 {
		t.Errorf("%x", got)
	}
}

// TestClock: the time that a call read is what it stored: two words side by side, or, of a time limit, as much more as is missing.
func TestClock(t *testing.T) {
	word := func(addr uint64, v ...uint64) (e replay.Effect) {
		for _, v := range v {
			e.Data = binary.LittleEndian.AppendUint64(e.Data, v)
		}
		e.Addr, e.Size = addr, uint64(len(e.Data))
		return e
	}
	was := []replay.Effect{word(0x40, 9), word(0x100, 1700), word(0x108, 25), word(0x200, 1800, 26), word(0x300, 3)}
	if got, want := pairs(was), [][2]uint64{{1700, 25}, {1800, 26}}; !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
	run := []replay.Effect{word(0x40, 9), word(0x100, 31)}
	if more, _, ok := short(run, was); !ok || 31+more != 1700 {
		t.Errorf("%d more, %t", more, ok)
	}
	run[1].Addr = 0x180
	if more, _, ok := short(run, was); ok {
		t.Errorf("%d more, where it stored something else", more)
	}
	if _, _, ok := short(was, was); ok {
		t.Error("more, where all was stored")
	}
}

// TestInstead: what may be meant by a constant, if it is a number that there is.
func TestInstead(t *testing.T) {
	for k, want := range map[float64][]float64{0.25: {-0.25, 4, 0.5, 0.125}, 1: {2, 0, -1, 0.5}, 0: {1, -1}} {
		if got := instead(k); !slices.Equal(got, want) {
			t.Errorf("%g: %v, want %v", k, got, want)
		}
	}
}

// TestLeave: of a new block the bits are learnt that the first store to a byte has left as they were. What was written before is wrong, not left; and so is what
// is in no new block.
func TestLeave(t *testing.T) {
	alloc := replay.Effect{Kind: replay.Alloc, Addr: 64, Size: 16}
	store := func(addr uint64, data ...byte) replay.Effect {
		return replay.Effect{Kind: replay.Store, PC: addr, Addr: addr, Size: uint64(len(data)), Data: data}
	}
	r := &Rerun{was: &replay.Run{Effects: []replay.Effect{store(8, 1), alloc, store(64, 0x02), store(64, 0x12), store(65, 0, 7), store(80, 3)}}}
	was := []replay.Effect{store(8, 9), alloc, store(64, 0xf2), store(64, 0xe2), store(65, 0x80, 7), store(80, 4)}
	if !r.leave(was) {
		t.Error("nothing was learnt")
	}
	want := []replay.Left{{Off: 0, Mask: 0xf0, Bits: 0xf0}, {Off: 1, Mask: 0x80, Bits: 0x80}}
	if got := r.left[0]; len(r.left) != 1 || !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", r.left, want)
	}
	if r.leave(was) {
		t.Error("the same is no news")
	}
}
