package slice

import (
	"bytes"
	"context"
	"slices"
	"testing"
)

// chain is a run in which each value is made of the one before: x = f(x), for ever.
func chain(instructions uint64) *toy {
	t := &toy{m: newMachine([]minst{
		{op: mMix, dst: 1, a: 1, b: -1},
		{op: mJump, target: 0},
	})}
	_ = t.m.run(instructions, func(e *Event) error {
		t.events = append(t.events, *e)
		return nil
	})
	return t
}

// Whatever is asked for, and in whichever direction, it is what decode gives; and most of
// a run is decoded ahead.
func TestAhead(t *testing.T) {
	const segments = 100
	x, _ := limited(t, chain(2*segmentLen*segments), BuildOptions{}, single)
	if x.segments() != segments {
		t.Fatalf("%d segments, want %d", x.segments(), segments)
	}
	for _, every := range []int{1, 2, 3, 5, 17, 40} {
		for _, ascending := range []bool{false, true} {
			var order []int
			for i := range segments {
				// A part of it is asked for as a whole.
				if i%every == 0 || i > 30 && i < 70 {
					order = append(order, i)
				}
			}
			if !ascending {
				slices.Reverse(order)
			}
			a := newAhead(x, ascending)
			batches := 0
			for _, i := range order {
				g, err := a.segment(i)
				if err != nil {
					t.Fatal(err)
				}
				var want segment
				if err := x.decode(i, &want); err != nil {
					t.Fatal(err)
				}
				if g.first != want.first || !slices.Equal(g.steps, want.steps) || !bytes.Equal(g.refs, want.refs) || !bytes.Equal(g.sources, want.sources) {
					t.Fatalf("every %d, ascending %v: segment %d is another", every, ascending, i)
				}
				if a.loading != nil {
					batches++
				}
			}
			a.stop()
			if every == 1 && batches < segments/2 {
				t.Errorf("ascending %v: %d segments were used while others were decoded", ascending, batches)
			}
		}
	}
}

// A damaged segment is an error if it is asked for, and none of others.
func TestAheadDamaged(t *testing.T) {
	s := chain(2 * segmentLen * 40)
	p, err := NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	p.limits = single
	var b bytes.Buffer
	if err := BuildIndex(&b, p, BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	raw := b.Bytes()
	x, err := OpenIndex(bytes.NewReader(raw), int64(len(raw)), s)
	if err != nil {
		t.Fatal(err)
	}
	lo, _, err := x.extent(20)
	if err != nil {
		t.Fatal(err)
	}
	raw[lo] ^= 1 // how many references there are
	for _, ascending := range []bool{false, true} {
		a := newAhead(x, ascending)
		for n := range 40 {
			i := n
			if !ascending {
				i = 39 - n
			}
			if _, err := a.segment(i); (err != nil) != (i == 20) {
				t.Errorf("ascending %v: segment %d: %v", ascending, i, err)
			}
		}
		a.stop()
	}
}

// A slice of all of a long run is whole, both ways.
func TestChain(t *testing.T) {
	const rounds = segmentLen * 50
	x, _ := limited(t, chain(2*rounds), BuildOptions{}, single)
	first, last := at(t, x, 1), at(t, x, 2*rounds-1)
	back, err := x.Backward(context.Background(), last, Options{})
	if err != nil {
		t.Fatal(err)
	}
	on, err := x.Forward(context.Background(), first, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Slice{"backward": back, "forward": on} {
		if s.Ops != rounds {
			t.Errorf("%s: %d ops, want %d", name, s.Ops, rounds)
		}
		end := first[0]
		if s == on {
			end = last[0]
		}
		if path, whole := s.Path(end); !whole || len(path) != rounds {
			t.Errorf("%s: a path of %d, whole: %v; want %d", name, len(path), whole, rounds)
		}
	}
}
