package cfg

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// toy is a program whose instructions are a byte long.
type toy struct {
	insts   []Inst
	targets map[uint64][]uint64
}

func (t *toy) At(pc uint64) (Inst, bool) {
	if pc == 0 || pc > uint64(len(t.insts)) {
		return Inst{}, false
	}
	return t.insts[pc-1], true
}

func (t *toy) Targets(pc uint64) ([]uint64, bool) { return t.targets[pc], len(t.targets[pc]) > 1 }

func (t *toy) Entry(uint64) bool { return false }

// next are the successors of an instruction; 0 is the exit.
func (t *toy) next(pc uint64) (out []uint64) {
	in, ok := t.At(pc)
	if !ok {
		return []uint64{0}
	}
	switch in.Kind {
	case Next, Call:
		return []uint64{pc + 1}
	case Jump:
		return []uint64{in.Target}
	case Cond:
		return []uint64{pc + 1, in.Target}
	case Indirect:
		if out, all := t.Targets(pc); all {
			return out
		}
		return append(t.targets[pc], 0)
	}
	return []uint64{0}
}

// reaches says whether the exit can be reached from pc without passing through
// an instruction.
func (t *toy) reaches(pc, without uint64) bool {
	seen := map[uint64]bool{}
	todo := []uint64{pc}
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if x == 0 || x > uint64(len(t.insts)) {
			return true
		}
		if seen[x] || x == without {
			continue
		}
		seen[x] = true
		todo = append(todo, t.next(x)...)
	}
	return false
}

// random is a program of n instructions.
func random(seed uint64) (p *toy, n uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	p = &toy{targets: map[uint64][]uint64{}}
	n = 4 + r.Uint64N(20)
	any := func() uint64 { return 1 + r.Uint64N(n) }
	for pc := uint64(1); pc <= n; pc++ {
		in := Inst{Len: 1}
		switch r.IntN(8) {
		case 0, 1, 2:
			in.Kind, in.Target = Cond, any()
		case 3:
			in.Kind, in.Target = Jump, any()
		case 4:
			if in.Kind = Indirect; r.IntN(2) == 0 {
				p.targets[pc] = []uint64{any(), any()}
			}
		case 5:
			in.Kind = []Kind{Return, Stop, Call}[r.IntN(3)]
		}
		p.insts = append(p.insts, in)
	}
	return p, n
}

// TestLoops: an instruction is in a loop if a way leads from it to itself; the outermost loop
// around it has all that ways lead to from it and back; loops lie in one another or apart; each
// is one, and the inner ones come first.
func TestLoops(t *testing.T) {
	loops := 0
	for seed := range uint64(500) {
		p, n := random(seed)
		way := func(from, to uint64) bool {
			seen := map[uint64]bool{}
			todo := slices.Clone(p.next(from))
			for len(todo) > 0 {
				x := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				if x == to {
					return true
				}
				if x == 0 || x > n || seen[x] {
					continue
				}
				seen[x] = true
				todo = append(todo, p.next(x)...)
			}
			return false
		}
		found := Explore(1, p).Loops()
		loops += len(found)
		for a := uint64(1); a <= n; a++ {
			var around []Loop
			for _, l := range found {
				if l.Contains(a) {
					around = append(around, l)
				}
			}
			if a != 1 && !way(1, a) {
				continue
			}
			for b := uint64(1); b <= n; b++ {
				if got := Explore(1, p).Reached([]uint64{a}, func(uint64) bool { return false })[b]; got != way(a, b) {
					t.Fatalf("seed %d: a way leads from %d to %d: %v", seed, a, b, got)
				}
			}
			if (len(around) > 0) != way(a, a) {
				t.Fatalf("seed %d: %d is in %d loops", seed, a, len(around))
			}
			for b := uint64(1); b <= n && len(around) > 0; b++ {
				if outer := around[len(around)-1].Contains(b); outer != (b == a || way(a, b) && way(b, a)) {
					t.Fatalf("seed %d: the outermost loop around %d has %d: %v", seed, a, b, outer)
				}
				for i := 1; i < len(around); i++ {
					if around[i-1].Contains(b) && !around[i].Contains(b) {
						t.Fatalf("seed %d: of the loops around %d, an inner one has %d and an outer one not", seed, a, b)
					}
				}
			}
		}
	}
	if loops < 500 {
		t.Errorf("only %d loops", loops)
	}
}

// A loop in a loop, with an if in the inner one.
func TestNested(t *testing.T) {
	// 1; do { 2; do { 3; if (…) 4; 5 } while; 6 } while; 7
	p := &toy{insts: []Inst{{Len: 1}, {Len: 1}, {Len: 1, Kind: Cond, Target: 5}, {Len: 1}, {Len: 1, Kind: Cond, Target: 3},
		{Len: 1, Kind: Cond, Target: 2}, {Len: 1, Kind: Return}}}
	found := Explore(1, p).Loops()
	want := [][]uint64{{3, 4, 5}, {2, 3, 4, 5, 6}}
	if len(found) != len(want) {
		t.Fatalf("%d loops, want %d", len(found), len(want))
	}
	for i, l := range found {
		for pc := uint64(1); pc <= 7; pc++ {
			if l.Contains(pc) != slices.Contains(want[i], pc) {
				t.Errorf("loop %d has %d: %v", i, pc, l.Contains(pc))
			}
		}
	}
	if got := Explore(1, p).Reached([]uint64{3}, func(pc uint64) bool { return pc == 5 }); len(got) != 2 || !got[4] || !got[5] {
		t.Errorf("from 3 as far as 5: %v", got)
	}
}

// TestJoins compares with the definition: the join is on all ways from the branch
// to the exit, and of those addresses the first: no other is on all ways to it.
func TestJoins(t *testing.T) {
	branches := 0
	for seed := range uint64(500) {
		p, n := random(seed)
		f := Build(1, p)
		for pc := uint64(1); pc <= n; pc++ {
			kind := p.insts[pc-1].Kind
			join, ok := f.Join(pc)
			if ok && kind != Cond && kind != Indirect {
				t.Fatalf("seed %d: ways part at %d, which is no branch", seed, pc)
			}
			if !ok || f.Endless > 0 {
				continue
			}
			branches++
			post := func(a uint64) bool { return a != pc && !p.reaches(pc, a) }
			if join == Exit {
				for a := uint64(1); a <= n; a++ {
					if post(a) {
						t.Fatalf("seed %d: all ways from %d go through %d; the join is the exit", seed, pc, a)
					}
				}
				continue
			}
			if !post(join) {
				t.Fatalf("seed %d: there is a way from %d past its join %d", seed, pc, join)
			}
			for a := uint64(1); a <= n; a++ {
				if a != join && post(a) && p.reaches(join, a) {
					t.Fatalf("seed %d: %d is on all ways from %d, before the join %d", seed, a, pc, join)
				}
			}
		}
	}
	if branches < 500 {
		t.Errorf("only %d branches", branches)
	}
}

// Code that is not known is a way out; so is a loop without one.
func TestUnknown(t *testing.T) {
	f := Build(1, &toy{insts: []Inst{{Len: 1, Kind: Cond, Target: 3}, {Len: 1, Kind: Jump, Target: 99}, {Len: 1, Kind: Return}}})
	if join, ok := f.Join(1); !ok || join != Exit || f.Unknown != 1 {
		t.Errorf("join %d %v, %d unknown", join, ok, f.Unknown)
	}
	f = Build(1, &toy{insts: []Inst{{Len: 1, Kind: Cond, Target: 1}, {Len: 1, Kind: Jump, Target: 2}}})
	if join, ok := f.Join(1); !ok || join != 2 || f.Endless != 1 {
		t.Errorf("join %d %v, %d endless", join, ok, f.Endless)
	}
	if !f.Contains(2) || f.Contains(3) || f.Contains(0) {
		t.Error("Contains")
	}
}
