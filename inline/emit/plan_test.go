package emit

import (
	"debug/elf"
	"os"
	"testing"

	"mgtrace/inline/patch"
	"mgtrace/x86"
)

// TestPlan lays the trampolines of a real program with package patch, whose
// checker compares each of them with what Emit says, and its size with Size.
func TestPlan(t *testing.T) {
	const path = "/bin/bash"
	f, err := elf.Open(path)
	if os.IsNotExist(err) {
		t.Skip("not installed")
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	bytes, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	const bias = 0x5555_5555_4000
	lo := bias + text.Addr
	m := New(sweep(bytes, lo), Options{Relocate: relocate})
	code := []patch.Code{{Addr: lo, Bytes: bytes, Funcs: []patch.Range{{Lo: lo, Hi: lo + uint64(len(bytes))}}}}
	var sites []patch.Site
	for i := range m.sites {
		in, err := x86.Decode(m.sites[i].Code, m.sites[i].PC)
		if err != nil {
			t.Fatal(err)
		}
		sites = append(sites, patch.Site{Addr: m.sites[i].PC, Len: in.Len, ID: i})
	}
	free := []patch.Range{{Lo: bias - 0x7000_0000, Hi: bias - 1<<24}, {Lo: bias + 1<<24, Hi: bias + 0x7000_0000}}
	plan, err := patch.Make(code, sites, free, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := patch.Verify(plan, code, sites, free, m); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sites, by tactic %v", len(sites), plan.Tactics)
}
