package slice

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// generator writes random programs that end: conditions and switches nested in
// counted loops, and calls of functions that come later.
type generator struct {
	*rand.Rand
	prog     []minst
	branches bool
	whole    bool  // values are of 8 bytes, aligned
	calls    []int // calls whose function is not written yet: instruction, depth
	level    int
}

// Registers 0 … 9 are for values; 10 … 13 count loops and are not written otherwise.
func (g *generator) reg() int { return g.IntN(10) }

func (g *generator) emit(in minst) int {
	g.prog = append(g.prog, in)
	return len(g.prog) - 1
}

func (g *generator) simple() {
	in := minst{dst: g.reg(), a: g.reg(), b: g.reg(), imm: uint64(g.IntN(12) * 4)}
	switch k := g.IntN(12); {
	case k < 1:
		in.op = mConst
	case k < 3:
		in.op = mInput
	case k < 5:
		in.op = mMix
	case k < 6:
		in.op = mCopy
	case k < 7:
		in.op = mByte
	case k < 10:
		in.op = mLoad
	default:
		in.op = mStore
	}
	if in.op == mLoad || in.op == mStore {
		in.size = 1 << g.IntN(4)
		in.imm = uint64(g.IntN(80))
		if g.IntN(3) > 0 {
			in.a = -1
		}
		if g.whole {
			in.size, in.imm = 8, in.imm&^7
		}
	}
	if g.whole && in.op == mByte {
		in.op = mMix
	}
	g.emit(in)
}

func (g *generator) body(n, depth int) {
	for range n {
		k := g.IntN(10)
		if !g.branches || depth == 0 {
			k = 9
		}
		switch {
		case k < 2: // if, with or without else
			c := g.emit(minst{op: mIf, a: g.reg()})
			g.body(1+g.IntN(3), depth-1)
			if g.IntN(2) == 0 {
				j := g.emit(minst{op: mJump})
				g.prog[c].target = len(g.prog)
				g.body(1+g.IntN(3), depth-1)
				g.prog[j].target = len(g.prog)
			} else {
				g.prog[c].target = len(g.prog)
			}
		case k < 3 && g.level < 3: // loop: at most 5 rounds, or until a value says so
			r := 10 + g.level
			g.level++
			rounds := uint64(1 + g.IntN(5))
			g.emit(minst{op: mConst, dst: r, imm: rounds})
			top := len(g.prog)
			g.body(1+g.IntN(3), depth-1)
			out := -1
			if g.IntN(3) == 0 {
				out = g.emit(minst{op: mIf, a: g.reg()})
			}
			g.emit(minst{op: mCopy, dst: r, a: r, b: -2})
			g.emit(minst{op: mIf, a: r, target: top})
			if out >= 0 {
				g.prog[out].target = len(g.prog)
			}
			g.level--
		case k < 4: // switch of four cases, one of them empty
			s := g.emit(minst{op: mSwitch, a: g.reg(), target: len(g.prog) + 1, other: 1})
			for range 4 {
				g.emit(minst{op: mJump})
			}
			var ends []int
			for i := range 3 {
				g.prog[s+1+i].target = len(g.prog)
				g.body(1+g.IntN(2), depth-1)
				ends = append(ends, g.emit(minst{op: mJump}))
			}
			for _, e := range append(ends, s+4) {
				g.prog[e].target = len(g.prog)
			}
		case k < 5 && g.level == 0:
			c := minst{op: mCall, a: -1}
			if g.IntN(3) == 0 {
				c = minst{op: mCallBy, a: g.reg()}
			}
			g.calls = append(g.calls, g.emit(c))
		default:
			g.simple()
		}
	}
}

// function writes a function that saves a register.
func (g *generator) function(depth int) int {
	at := len(g.prog)
	r := g.reg()
	g.emit(minst{op: mPush, dst: r})
	g.body(2+g.IntN(4), depth)
	g.emit(minst{op: mPop, dst: r})
	g.emit(minst{op: mRet})
	return at
}

// program writes a program; its last instruction but one is the criterion.
func program(r *rand.Rand, branches, whole bool) []minst {
	g := &generator{Rand: r, branches: branches, whole: whole}
	if long := branches && r.IntN(4) == 0; long { // some segments of an index
		g.emit(minst{op: mConst, dst: 13, imm: 40})
		top := len(g.prog)
		g.body(8+g.IntN(25), 3)
		g.emit(minst{op: mCopy, dst: 13, a: 13, b: -2})
		g.emit(minst{op: mIf, a: 13, b: -2, target: top})
	} else {
		g.body(8+g.IntN(25), 3)
	}
	g.emit(minst{op: mMix, dst: 0, a: g.reg(), b: g.reg()})
	g.emit(minst{op: mEnd})
	for n := 0; len(g.calls) > 0; n++ {
		todo := g.calls
		g.calls = nil
		depth := max(0, 2-n)
		for _, c := range todo {
			g.prog[c].target = g.function(depth)
			if g.prog[c].op == mCallBy {
				g.prog[c].other = g.function(depth)
			}
		}
	}
	return g.prog
}

// ran records a random program; nil if it would not end soon.
func ran(seed uint64, branches bool) (*toy, []minst) {
	prog := program(rand.New(rand.NewPCG(seed, 1)), branches, seed%5 == 0)
	s, err := record(prog, 20000)
	if err != nil {
		return nil, nil
	}
	return s, prog
}

// The algorithms give the same slices, of any instruction.
func TestSameSlices(t *testing.T) {
	done := 0
	for seed := range uint64(200) {
		s, _ := ran(seed, seed%4 != 0)
		if s == nil {
			continue
		}
		done++
		r := rand.New(rand.NewPCG(seed, 2))
		n := uint64(len(s.m.executed))
		for _, o := range []Options{{}, {NoAddress: true}, {NoControl: true}} {
			instant := 1 + r.Uint64N(n)
			threeWith(t, s, func(x *Index) Criteria { return at(t, x, instant) }, o, someLimits[done%len(someLimits)])
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if done < 100 {
		t.Errorf("only %d programs ended", done)
	}
}

// The forward slice of a has b exactly if the backward slice of b has a, and with
// the same distance.
func TestForward(t *testing.T) {
	for seed := range uint64(60) {
		s, _ := ran(seed, true)
		if s == nil || len(s.m.executed) > 4000 {
			continue
		}
		x, _ := limited(t, s, BuildOptions{}, someLimits[seed%uint64(len(someLimits))])
		var all Set
		for i := range s.m.executed {
			all = append(all, at(t, x, uint64(i+1))[0])
		}
		r := rand.New(rand.NewPCG(seed, 3))
		a := all[r.IntN(len(all))]
		f, err := x.Forward(context.Background(), Criteria{a}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			b := all[r.IntN(len(all))]
			s, err := x.Backward(context.Background(), Criteria{b}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if s.Has(a) != f.Has(b) {
				t.Fatalf("seed %d: backward from %d has %d: %v; forward: %v", seed, b, a, s.Has(a), f.Has(b))
			}
			if !s.Has(a) {
				continue
			}
			p, _ := s.Path(a)
			q, _ := f.Path(b)
			if len(p) != len(q) {
				t.Fatalf("seed %d: %d → %d is %d steps backward, %d forward", seed, b, a, len(p), len(q))
			}
		}
	}
}

// What is counted by plans is what the nodes of the slice are, and a statement is as far
// away as its path is long.
func TestCounts(t *testing.T) {
	segments := 0
	for seed := range uint64(60) {
		s, prog := ran(seed, true)
		if s == nil {
			continue
		}
		l := limits{maxStretches, maxShapes}
		if seed%2 == 0 {
			l = single
		}
		x, _ := limited(t, s, BuildOptions{}, l)
		segments = max(segments, x.segments())
		sl, err := x.Backward(context.Background(), at(t, x, s.last(lastOf(prog))), Options{NoAddress: seed%4 < 2})
		if err != nil {
			t.Fatal(err)
		}
		type static struct {
			piece *Piece
			op    uint16
		}
		counts := map[static]uint64{}
		nodes := sl.nodes()
		for _, n := range nodes {
			a, err := x.At(n)
			if err != nil {
				t.Fatal(err)
			}
			counts[static{a.Piece, a.Op}]++
		}
		if sl.Ops != uint64(len(nodes)) {
			t.Errorf("seed %d: %d ops, want %d", seed, sl.Ops, len(nodes))
		}
		for _, st := range sl.Stats() {
			if want := counts[static{st.Piece, st.Op}]; st.Count != want {
				t.Errorf("seed %d: op %d of piece %d is %d times in the slice, want %d", seed, st.Op, st.Piece.ID, st.Count, want)
			}
			p, whole := sl.Path(st.Nearest)
			if !whole || uint32(len(p)) != st.Distance+1 {
				t.Errorf("seed %d: %d ops on the path of %d steps", seed, len(p), st.Distance)
			}
			for i := 1; i < len(p); i++ {
				units, err := x.Through(p[i-1].Node, p[i].Node)
				if err != nil {
					t.Fatal(err)
				}
				if by := p[i].Kind; units.Empty() && (by == ByRegister || by == ByAddress) {
					t.Errorf("seed %d: %d uses no register of %d", seed, p[i-1].Node, p[i].Node)
				}
			}
			delete(counts, static{st.Piece, st.Op})
		}
		if len(counts) > 0 {
			t.Errorf("seed %d: not told: %v", seed, counts)
		}
	}
	if segments < 3 {
		t.Errorf("no run has more than %d segments", segments)
	}
}

// again runs a program along the recorded way, with the result of the
// instruction at an instant changed. Branches and the places of stores that are
// not in the slice are as they were: that another way would have led to another
// value is no dependence (an omitted execution is in no dynamic slice).
func again(s *toy, prog []minst, in map[uint64]bool, instant, xor uint64) *machine {
	m := newMachine(prog)
	m.change = map[uint64]uint64{instant: xor}
	m.ways, m.places = map[uint64]int{}, map[uint64]uint64{}
	for t, w := range s.m.went {
		m.ways[t] = w
	}
	for t, a := range s.m.stored {
		if !in[t] && prog[s.m.executed[t-1]].op == mStore {
			m.places[t] = a
		}
	}
	_ = m.run(uint64(len(s.m.executed)), nil)
	return m
}

// Changing a result that is not in the slice changes neither the criterion's value
// nor any branch of the slice; each of the slice's data changes it.
func TestSound(t *testing.T) {
	checked, changed, masked := 0, 0, 0
	for seed := range uint64(150) {
		branches := seed%3 != 0
		s, prog := ran(seed, branches)
		if s == nil || len(s.m.executed) > 1500 {
			continue
		}
		restores := seed%2 == 0
		x, _ := indexed(t, s, BuildOptions{Restores: restores})
		goal := s.last(lastOf(prog))
		c := at(t, x, goal)
		sl, err := x.Backward(context.Background(), c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		in := map[uint64]bool{}
		for i := range firsts(t, x, sl.nodes()) {
			in[i] = true
		}
		data, err := x.Backward(context.Background(), c, Options{NoControl: true, NoAddress: true})
		if err != nil {
			t.Fatal(err)
		}
		must := firsts(t, x, data.nodes())
		r := rand.New(rand.NewPCG(seed, 4))
		for i := range uint64(len(s.m.executed)) {
			instant := i + 1
			if _, computes := s.m.results[instant]; !computes {
				continue
			}
			if op := prog[s.m.executed[i]].op; !restores && (op == mPush || op == mPop) {
				continue // they pass on what a register has, and are left out for that
			}
			if in[instant] && !must[instant] {
				continue // a branch, an address, or what only these use
			}
			xor := r.Uint64() | 0x0101010101010101
			m := again(s, prog, in, instant, xor)
			differs := m.results[goal] != s.m.results[goal]
			if !in[instant] {
				checked++
				if differs {
					t.Fatalf("seed %d: instruction %d at %d is not in the slice and changes the value", seed, s.m.executed[i], instant)
				}
				for b, w := range s.m.results {
					if _, branch := s.m.went[b]; branch && in[b] && b < goal && m.results[b] != w {
						t.Fatalf("seed %d: instruction %d at %d is not in the slice and changes the branch at %d", seed, s.m.executed[i], instant, b)
					}
				}
				continue
			}
			if differs || instant == goal {
				changed++
				continue
			}
			for range 40 {
				if m := again(s, prog, in, instant, r.Uint64()); m.results[goal] != s.m.results[goal] {
					differs = true
				}
			}
			switch {
			case differs:
				changed++
			case seed%5 == 0:
				t.Errorf("seed %d: instruction %d at %d is in the slice and never changes the value", seed, s.m.executed[i], instant)
			default:
				masked++
			}
		}
	}
	t.Logf("outside the slice: %d results changed, none mattered; inside: %d changed the value, %d did not", checked, changed, masked)
	if checked < 1000 || changed < 500 || masked*20 > changed {
		t.Errorf("too little was seen")
	}
}

// firsts returns the instants of instructions whose first ops are in a set: their
// results, and not that they moved the stack pointer.
func firsts(t *testing.T, x *Index, set Set) map[uint64]bool {
	t.Helper()
	out := map[uint64]bool{}
	for _, n := range set {
		a, err := x.At(n)
		if err != nil {
			t.Fatal(err)
		}
		if first, err := x.Find(a.Instant); err == nil && first == n {
			out[a.Instant] = true
		}
	}
	return out
}

func lastOf(prog []minst) int {
	for i := range prog {
		if prog[i].op == mEnd {
			return i - 1
		}
	}
	return 0
}

// Opening and decoding damaged indexes fails or gives something, and does not panic.
func FuzzIndex(f *testing.F) {
	s, _ := ran(3, true)
	p, err := NewProgram(s)
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := BuildIndex(&b, p, BuildOptions{}); err != nil {
		f.Fatal(err)
	}
	good := b.Bytes()
	f.Add(uint32(30), []byte{0xff, 0xff, 1})
	f.Add(uint32(len(good)-footLen), []byte{1})
	f.Fuzz(func(t *testing.T, at uint32, with []byte) {
		b := bytes.Clone(good)
		if int(at) < len(b) {
			copy(b[at:], with)
			reseal(b)
		}
		x, err := OpenIndex(bytes.NewReader(b), int64(len(b)), s)
		if err != nil {
			return
		}
		for _, instant := range []uint64{1, 5, 50} {
			n, err := x.Find(instant)
			if err != nil {
				continue
			}
			for _, dir := range []func(context.Context, Criteria, Options) (*Slice, error){x.Backward, x.Forward} {
				if s, err := dir(context.Background(), Criteria{n}, Options{}); err == nil {
					for _, st := range s.Stats() {
						s.Path(st.Nearest)
					}
				}
			}
		}
	})
}

func TestRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var set ranges
	var flat [300]bool
	for range 20000 {
		lo := r.Uint64N(280)
		hi := lo + 1 + r.Uint64N(20)
		put := r.IntN(2) == 0
		if put {
			set.add(lo, hi)
		} else {
			set.remove(lo, hi)
		}
		for i := lo; i < hi; i++ {
			flat[i] = put
		}
		n := 0
		for i := range flat {
			if got := set.meets(uint64(i), uint64(i)+1); got != flat[i] {
				t.Fatalf("byte %d: %v, want %v", i, got, flat[i])
			}
			if flat[i] && (i == 0 || !flat[i-1]) {
				n++
			}
		}
		if n != set.n {
			t.Fatalf("%d ranges, want %d: neighbours are one", set.n, n)
		}
	}
	if d := cmp.Diff(len(set.free)+set.n+1, len(set.nodes)); d != "" {
		t.Error(d)
	}
}
