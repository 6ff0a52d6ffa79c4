package rerun

import (
	"maps"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/replay"
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
		got := reproduces(c.run, was)
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

// TestWent: which ways the decisions of calls went, each by itself.
func TestWent(t *testing.T) {
	ways := map[Way]bool{}
	for _, d := range [][]replay.Decision{{{PC: 1, Taken: true}, {PC: 2}}, {{PC: 1, Taken: true}, {PC: 2, Taken: true}}} {
		r := &Rerun{was: &replay.Run{Decisions: d}}
		r.Went(ways)
	}
	if want := (map[Way]bool{{1, true}: true, {2, false}: true, {2, true}: true}); !maps.Equal(ways, want) {
		t.Errorf("%v", ways)
	}
}

// TestDiffering: the bytes that an experiment left otherwise, and in how many words they lie.
func TestDiffering(t *testing.T) {
	r := &Rerun{left: map[uint64]byte{16: 1, 17: 2, 40: 3}}
	is := map[uint64]byte{16: 1, 17: 9, 48: 3} // 17 is another one, 40 was not written, and 48 was
	got := r.differing(is)
	if len(got) != 3 || got[0] != 17 || got[1] != 40 || got[2] != 48 || words(got) != 3 {
		t.Errorf("%v in %d words, want 17, 40 and 48 in 3", got, words(got))
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

// TestFloats: what may be a floating-point argument.
func TestFloats(t *testing.T) {
	word := func(b ...byte) replay.Effect { return replay.Effect{Kind: replay.Store, Size: uint64(len(b)), Data: b} }
	half := word(0, 0, 0, 0, 0, 0, 0xe0, 0x3f)
	got := floats([]replay.Effect{word(1, 2, 3, 4), half, word(0x10, 0, 0x55, 0x55, 0x55, 0x55, 0, 0), half})
	if len(got) != 1 || got[0] != 0x3fe0<<48 {
		t.Errorf("%x", got)
	}
}
