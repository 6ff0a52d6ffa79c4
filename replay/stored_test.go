package replay

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// TestStored: a store writes something else, or nothing, and what comes after it goes on from there.
func TestStored(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, _ := compile(t, "stored.c", level)
		m := New(f)
		for _, c := range []struct {
			at      int // the effect
			instead []byte
			want    uint64
		}{
			{-1, nil, 5 + 30},
			{0, binary.LittleEndian.AppendUint64(nil, 50), 50 + 30},
			{0, nil, 30},
			{1, binary.LittleEndian.AppendUint64(nil, 1), 1},
		} {
			run := m.Run(Call{
				Entry: f.funcs["stored"], Args: []uint64{5, 30}, MaxSteps: 1000, Results: func(int) uint64 { return 0 },
				Stored: func(n int) ([]byte, bool) { return c.instead, n == c.at },
			})
			if run.Err != nil || run.Result != c.want || len(run.Effects) != 2 {
				t.Errorf("%s, effect %d is %v: %d, %v, %d effects; want %d and 2", level, c.at, c.instead, run.Result, run.Err, len(run.Effects), c.want)
			}
		}
	}
}

// TestResults: what rand returns is asked for, one after the other; if it can not be, the call ends there.
func TestResults(t *testing.T) {
	f, _ := compile(t, "stored.c", "-O0")
	m := New(f)
	call := Call{Entry: f.funcs["stored"], Args: []uint64{0, 0}, MaxSteps: 1000, Results: func(n int) uint64 { return uint64(13 + 4*n) }}
	if run := m.Run(call); run.Err != nil || run.Result != 3+700 && run.Result != 7+300 || run.Results != 2 {
		t.Errorf("%d, %v, %d results", run.Result, run.Err, run.Results)
	}
	call.Results = nil
	if run := m.Run(call); !errors.Is(run.Err, ErrLibrary) {
		t.Errorf("%v where nobody knows", run.Err)
	}
}

// TestTimes: what the kernel tells is what was recorded there; of the stack it may be anything, and where nobody knows the call ends there.
func TestTimes(t *testing.T) {
	f, _ := compile(t, "stored.c", "-O0")
	m := New(f)
	call := Call{
		Entry: f.funcs["timed"], MaxSteps: 1000, Results: func(n int) uint64 { return uint64(3 + 2*n) }, Fraction: 4,
		Written: func(addr, size uint64) []byte {
			if addr != f.funcs["cell"] || size != 16 {
				return nil
			}
			return []byte{1, 7: 0, 8: 2, 15: 0}
		},
	}
	if run := m.Run(call); run.Err != nil || run.Result != 54321 || len(run.Effects) != 1 {
		t.Errorf("%d, %v, %d effects", run.Result, run.Err, len(run.Effects))
	}
	call.Results = nil
	if run := m.Run(call); !errors.Is(run.Err, ErrLibrary) {
		t.Errorf("%v where nobody knows", run.Err)
	}
}

// TestUnset: memory of which nothing is known, and that was read, is told once, but not by a brief run.
func TestUnset(t *testing.T) {
	f, _ := compile(t, "stored.c", "-O0")
	m := New(f)
	const there = 0x1000_0000
	call := Call{Entry: f.funcs["marked"], Args: []uint64{there}, MaxSteps: 1000}
	run := m.Run(call)
	if run.Err != nil || len(run.Unset) != 2 || run.Guessed != 3 {
		t.Fatalf("%v, %d guessed, %+v", run.Err, run.Guessed, run.Unset)
	}
	if u := run.Unset[0]; u.Addr != there || u.Size != 4 || u.Effects != 0 || run.Unset[1].Addr != there+8 || run.Unset[1].Effects != 1 {
		t.Errorf("%+v", run.Unset)
	}
	call.Brief = true
	if run := m.Run(call); len(run.Unset) > 0 || run.Guessed != 3 {
		t.Errorf("brief: %d guessed, %+v", run.Guessed, run.Unset)
	}
}

// TestReused: what nothing has written in a new block is what lay there before, and not known; a block that is cleared holds 0.
func TestReused(t *testing.T) {
	f, _ := compile(t, "stored.c", "-O0")
	call := Call{Entry: f.funcs["reused"], MaxSteps: 1000, Place: func(n int, _ uint64) uint64 { return f.funcs["left"] + uint64(16*n) }}
	run := New(f).Run(call)
	if run.Err != nil || run.Result != 25 || run.Guessed != 1 || len(run.Unset) != 1 || run.Unset[0].Addr != f.funcs["left"]+8 || run.Unset[0].Value != 20 {
		t.Errorf("%d, %v, %d guessed, %+v", run.Result, run.Err, run.Guessed, run.Unset)
	}
}

// TestLeads: the pointers in memory that were followed are told once, in order; what was only copied, and an argument, is none of them.
func TestLeads(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, _ := compile(t, "stored.c", "-no-pie", level)
		run := New(f).Run(Call{Entry: f.funcs["summed"], Args: []uint64{f.funcs["chain"]}, MaxSteps: 1000})
		var got []uint64
		for _, l := range run.Leads {
			got = append(got, l.Addr-f.funcs["chain"])
		}
		if run.Err != nil || run.Result != 15 || !slices.Equal(got, []uint64{0, 24}) {
			t.Errorf("%s: %v, %d, by %v", level, run.Err, run.Result, got)
		}
	}
}

// TestClocks: the seconds are such results as well, and are written where the caller wants them.
func TestClocks(t *testing.T) {
	for _, level := range []string{"-O0", "-O2"} {
		f, _ := compile(t, "stored.c", level)
		call := Call{Entry: f.funcs["due"], Args: []uint64{5}, MaxSteps: 1000, Results: func(n int) uint64 { return uint64(100 * (n + 1)) }, Fraction: 7}
		run := New(f).Run(call)
		if run.Err != nil || run.Result != 100+5+300 || run.Results != 3 || len(run.Effects) != 2 {
			t.Fatalf("%s: %d, %v, %d results, %d effects", level, run.Result, run.Err, run.Results, len(run.Effects))
		}
		if at, seen := run.Effects[0].Data, run.Effects[1].Data; !bytes.Equal(at, words(200, 7)) || !bytes.Equal(seen, words(300)) {
			t.Errorf("%s: %x, %x", level, at, seen)
		}
		call.Results = nil
		if run := New(f).Run(call); !errors.Is(run.Err, ErrLibrary) {
			t.Errorf("%s: %v where nobody knows", level, run.Err)
		}
	}
}

// TestInput: what was read is what was recorded, once; of other input nothing is known.
func TestInput(t *testing.T) {
	f, _ := compile(t, "stored.c", "-O0")
	m := New(f)
	for more, ok := range []bool{true, false, false} {
		run := m.Run(Call{Entry: f.funcs["loaded"], Args: []uint64{uint64(more)}, MaxSteps: 1000, Written: func(addr, size uint64) []byte {
			return binary.LittleEndian.AppendUint64(nil, 3+(addr-f.funcs["cell"]))[:size]
		}})
		if ok && (run.Err != nil || run.Result != 3+11+100*(8+2)) || !ok && !errors.Is(run.Err, ErrLibrary) {
			t.Errorf("%d: %d, %v", more, run.Result, run.Err)
		}
	}
	for name, want := range map[string]uint64{"_ZNSirsERi": 4, "_ZNSi10_M_extractIdEERSiRT_": 8, "_ZNSirsEPFRSiS_E": 0, "_ZNSolsEi": 0, "read": 0} {
		if got := extracts(name); got != want {
			t.Errorf("%s takes %d bytes, want %d", name, got, want)
		}
	}
}
