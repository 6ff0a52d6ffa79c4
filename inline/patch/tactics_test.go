package patch

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const tableAddr = 0x10_0000_0000 // the address of the code of table tests

// At distances from the code, in bytes.
func free(from, to int64) []Range {
	return []Range{{uint64(tableAddr + from), uint64(tableAddr + to)}}
}

const mb = 1 << 20

// TestTactics: bytes, the offsets of the sites, what is free; and what becomes of
// them. Trampolines of the site are 40 bytes.
func TestTactics(t *testing.T) {
	for _, c := range []struct {
		name  string
		code  string
		sites []int
		free  []Range
		want  []Tactic
		bytes string
	}{
		{"five bytes", "c7 07 01 00 00 00 c3", []int{0}, free(1*mb, 2*mb), []Tactic{B1},
			"e9 fb ff 10 00 00 c3"},
		// The jump's highest byte is the next instruction's first: 0x10.
		{"four bytes before adc", "48 89 47 08 10 c0 c3", []int{0}, free(0x10*16*mb, 0x11*16*mb), []Tactic{B2},
			"e9 fb ff 00 10 c0 c3"},
		// 0x90 leads far below, where nothing is free. Behind a prefix it is the
		// second byte, and 0x10 the highest.
		{"prefix", "48 89 47 08 90 10 c0 c3", []int{0}, free(0x10*16*mb, 0x11*16*mb), []Tactic{T1},
			"3e e9 00 00 90 10 c0 c3"},
		// The pun over the successor's E9 leads 23 × 16 MB down.
		{"successor", "48 89 47 08 b8 00 00 00 00 c3", []int{0}, free(-23*16*mb, -22*16*mb), []Tactic{T2}, ""},
		// Or by the successor's prefix: 0x2e.
		{"successor with a prefix", "48 89 47 08 48 b8 00 00 00 00 00 00 00 00 c3", []int{0}, free(0x2e00_0000, 0x2f00_0000), []Tactic{T2}, ""},
		// Two bytes reach nothing themselves; the mov with a constant of eight
		// bytes has room for two jumps.
		{"neighbour", "89 07 ff ff 48 b8 00 00 00 00 00 00 00 00 c3", []int{0}, free(1*mb, 3*mb), []Tactic{T3}, ""},
		{"neighbour before", "48 b8 00 00 00 00 00 00 00 00 89 07 ff ff ff ff ff ff ff", []int{10}, free(1*mb, 3*mb), []Tactic{T3}, ""},
		// The rest of a long store is dead, and a jump fits in.
		{"dead bytes", "89 07 48 c7 84 07 00 01 00 00 01 00 00 00 c3", []int{0, 2}, free(1*mb, 3*mb), []Tactic{T3, B1}, ""},
		{"nothing free", "89 07 ff ff ff ff ff", []int{0}, free(1*mb, 2*mb), []Tactic{Trap},
			"cc 07 ff ff ff ff ff"},
		// Every byte of a pun over a return and what follows is given.
		{"return", "c3 00 00 20 00 c3", []int{0}, free(1*mb, 3*mb), []Tactic{B2}, "e9 00 00 20 00 c3"},
		{"system call", "0f 05 10 00 20 00", []int{0}, free(0x2000_0000-2*mb, 0x2000_0000+2*mb), []Tactic{B2},
			"e9 00 10 00 20 00"},
		// The branch leads behind the LOCK prefix: both places get to the trampoline.
		{"behind the prefix", "74 01 f0 0f b1 17 10 10 10 10", []int{2}, free(0x1010_0000-mb, 0x1012_0000), []Tactic{T1},
			"74 01 3e e9 00 00 10 10 10 10"},
		{"trap behind the prefix", "74 01 f0 0f b1 17 ff ff ff ff", []int{2}, free(mb, 2*mb), []Tactic{Trap},
			"74 01 cc cc b1 17 ff ff ff ff"},
		// A branch into the site: what it executes stays, and with it the end
		// of the jump.
		{"branch inside", "74 03 c7 47 08 90 90 10 00 c3", []int{2}, free(1*mb, 4*mb), []Tactic{Trap}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := unhex(t, c.code)
			code := []Code{{Addr: tableAddr, Bytes: raw, Funcs: []Range{{tableAddr, tableAddr + uint64(len(raw))}}}}
			var sites []Site
			for _, off := range c.sites {
				m := image{Code: &code[0]}
				in, err := m.inst(off)
				if err != nil {
					t.Fatal(err)
				}
				sites = append(sites, Site{Addr: tableAddr + uint64(off), Len: in.Len})
			}
			e := emitterFor(code, sites, 10)
			plan, err := Make(code, sites, c.free, e)
			if err != nil {
				t.Fatal(err)
			}
			if err := Verify(plan, code, sites, c.free, e); err != nil {
				t.Fatal(err)
			}
			now := append([]byte(nil), raw...)
			for _, p := range plan.Patches {
				copy(now[p.Addr-tableAddr:], p.New)
			}
			if diff := cmp.Diff(c.want, plan.TacticOf); diff != "" {
				t.Errorf("%s\nbecame % x\n%v", diff, now, plan.Refusals)
			}
			if c.bytes != "" {
				if diff := cmp.Diff(c.bytes, fmt.Sprintf("% x", now)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	raw := unhex(t, "c7 07 01 00 00 00 48 89 07 cc c3 90 90 90")
	code := []Code{{Addr: tableAddr, Bytes: raw, Funcs: []Range{{tableAddr, tableAddr + 11}}, Pinned: []uint64{tableAddr + 6}}}
	sites := []Site{
		{Addr: tableAddr, Len: 5},          // of another length
		{Addr: tableAddr + 1, Len: 2},      // inside
		{Addr: tableAddr + 11, Len: 1},     // outside the ranges
		{Addr: tableAddr + 100, Len: 1},    // outside the code
		{Addr: 1, Len: 1},                  // before it
		{Addr: tableAddr + 6, Len: 3},      // pinned
		{Addr: tableAddr + 9, Len: 1},      // can not be relocated
		{Addr: tableAddr + 10, Len: 1},     // fine
		{Addr: tableAddr + 10, Len: 1},     // again
		{Addr: tableAddr + 6, Len: 3 << 8}, // no length at all
	}
	want := map[int]error{0: ErrNotInstruction, 1: ErrNotInstruction, 2: ErrNotInstruction, 3: ErrNotInstruction,
		4: ErrNotInstruction, 5: ErrPinned, 6: ErrTrap, 8: ErrTwice, 9: ErrTwice}
	near := free(-1900*mb, 1900*mb)
	near = []Range{{near[0].Lo, tableAddr}, {tableAddr + 4096, near[0].Hi}}
	e := emitterFor(code, sites, 10)
	plan, err := Make(code, sites, near, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(plan, code, sites, near, e); err != nil {
		t.Error(err)
	}
	for _, r := range plan.Refusals {
		if want[r.Site] == nil || !errors.Is(r.Reason, want[r.Site]) {
			t.Errorf("site %d: %v instead of %v", r.Site, r.Reason, want[r.Site])
		}
		delete(want, r.Site)
	}
	for id, err := range want {
		t.Errorf("site %d is not refused: %v", id, err)
	}
	for _, bad := range []struct {
		code []Code
		free []Range
	}{
		{[]Code{{Addr: 100, Bytes: raw}, {Addr: 10, Bytes: raw}}, nil},
		{[]Code{{Addr: 100, Bytes: raw}, {Addr: 105, Bytes: raw}}, nil},
		{[]Code{{Addr: ^uint64(0) - 1, Bytes: raw}}, nil},
		{code, free(0, mb)},
		{[]Code{{Addr: 100, Bytes: raw, Funcs: []Range{{102, 105}, {104, 106}}}}, nil},
		{code, []Range{{0x1000, 0x3000}, {0x2000, 0x4000}}},
		{code, []Range{{0x3000, 0x1000}}},
	} {
		if _, err := Make(bad.code, nil, bad.free, e); err == nil {
			t.Errorf("accepted: %v", bad)
		}
	}
}

// TestSpan: a trampoline may stand for instructions that are executed one after the
// other, and for no others.
func TestSpan(t *testing.T) {
	code := []Code{{Addr: 0x400000, Bytes: []byte{
		0x48, 0x89, 0x87, 0x80, 0, 0, 0, // mov [rdi+0x80], rax
		0x48, 0x89, 0x47, 0x08, // mov [rdi+8], rax
		0x74, 0x01, // jz
		0x90, 0xc3,
	}}}
	code[0].Funcs = []Range{{Lo: code[0].Addr, Hi: code[0].end()}}
	free := []Range{{Lo: 0x10000000, Hi: 0x11000000}}
	for span, right := range map[int]bool{0: true, 7: true, 11: true, 9: false, 13: false /* the jump may lead away */, 14: false, 15: false} {
		sites := []Site{{Addr: 0x400000, Len: 7}}
		e := emitterFor(code, sites, 8)
		e.span = span
		plan, err := Make(code, sites, free, e)
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(plan, code, sites, free, e); (err == nil) != right {
			t.Errorf("%d bytes: %v", span, err)
		}
	}
}

func TestWithPadding(t *testing.T) {
	raw := unhex(t, "c3 66 90 c3 90 06 c3 cc cc c3 0f 1f 40 00")
	code := []Code{{Addr: 0x1000, Bytes: raw, Funcs: []Range{{0x1000, 0x1001}, {0x1003, 0x1004}, {0x1006, 0x1007}, {0x1009, 0x100a}}}}
	want := []Range{{0x1000, 0x1003}, {0x1003, 0x1004}, {0x1006, 0x1007}, {0x1009, 0x100e}}
	if diff := cmp.Diff(want, WithPadding(code)[0].Funcs); diff != "" {
		t.Error(diff)
	}
	if code[0].Funcs[0].Hi != 0x1001 {
		t.Error("the argument changed")
	}
}
