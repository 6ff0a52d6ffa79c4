package replay

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestReads: what the address depends on at which a call dies, the nearest first.
func TestReads(t *testing.T) {
	for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
		f, _ := compile(t, "reads.c", level, "-fno-builtin", "-fno-inline", "-no-pie")
		for name, want := range map[string][]string{
			"empty": {"list+16 of -1", "table+0 of 0", "table+8 of 0", "given 6 of 0"},
			"walk":  {"last+0 of -1", "first+0 of 0", "head+0 of 1"},
			"text":  {"name+0 of -1"},
			"kept":  {"place+0 of -1"},
		} {
			run := New(f).Run(Call{Entry: f.funcs[name], Args: []uint64{6}, MaxSteps: 1000, Crash: Crash{PC: 1}})
			if !errors.Is(run.Err, ErrFault) {
				t.Errorf("%s, %s: %v", name, level, run.Err)
			}
			var got []string
			for _, r := range run.Reads {
				got = append(got, f.told(r))
			}
			slices.Sort(got[min(1, len(got)):]) // which of several comes first is the compiler's
			slices.Sort(want[1:])
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", name, level, got, want)
			}
		}
		if run := New(f).Run(Call{Entry: f.funcs["full"], MaxSteps: 1000, Crash: Crash{PC: 1}}); run.Err != nil || run.Reads != nil {
			t.Errorf("full, %s: %v %v", level, run.Err, run.Reads)
		}
	}
}

// TestMissing: where the program found no memory there is none for the instruction in which it died, and for others there is.
func TestMissing(t *testing.T) {
	f, _ := compile(t, "reads.c", "-O0", "-fno-builtin", "-no-pie")
	entry, addr := f.funcs["full"], f.funcs["first"]+8
	m := New(f)
	var died uint64
	var reads []Read
	for at := entry; at < entry+64; at++ { // the last instruction of full that reads: all variables are on one page
		if run := m.Run(Call{Entry: entry, MaxSteps: 1000, Crash: Crash{PC: at, Addr: addr}}); errors.Is(run.Err, ErrFault) {
			died, reads = run.PC, run.Reads
		}
	}
	if len(reads) == 0 || reads[0].Addr != f.funcs["list"]+8 {
		t.Fatalf("at %#x: %+v", died, reads)
	}
	if run := m.Run(Call{Entry: entry, MaxSteps: 1000, Brief: true, Crash: Crash{PC: died, Addr: addr}}); !errors.Is(run.Err, ErrFault) || run.Reads != nil {
		t.Errorf("a brief run: %v %v", run.Err, run.Reads)
	}
	if run := m.Run(Call{Entry: entry, MaxSteps: 1000, Crash: Crash{PC: entry, Addr: addr}}); run.Err != nil || run.Result != 2 {
		t.Errorf("elsewhere: %v, %d", run.Err, run.Result)
	}
}

// TestElsewhere: the pointer by which an instruction found no memory.
func TestElsewhere(t *testing.T) {
	f, _ := compile(t, "reads.c", "-O2", "-fno-builtin", "-no-pie")
	m := New(f)
	entry := f.funcs["full"]
	found := false
	for at := entry; at < entry+16; at++ {
		found = found || m.Elsewhere(Crash{PC: at, Addr: 0x7008}) == 0x7000 // mov 8(%rax), %rax
	}
	if got := m.Elsewhere(Crash{}); !found || !nowhere(got) {
		t.Errorf("%t; with no address %#x", found, got)
	}
}

// told is a read in words: the variable in which it lies, or the number that the call was given.
func (f *file) told(r Read) string {
	if r.Addr == 0 {
		return fmt.Sprintf("given %d of %d", r.Given, r.Of)
	}
	for _, name := range []string{"last", "first", "list", "table", "head", "name", "place"} {
		if off := r.Addr - f.funcs[name]; off < map[string]uint64{"list": 32, "table": 16}[name] || off < 8 {
			return fmt.Sprintf("%s+%d of %d", name, off, r.Of)
		}
	}
	return "?"
}
