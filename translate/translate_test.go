package translate

import (
	"encoding/hex"
	"testing"

	"mgtrace/x86"
)

var testEnv = &Env{Tables: 0x7000_0000, Miss: 0x60_0000, Release: 0x60_1000, Acquire: 0x60_2000, Note: 0x60_3000, Site: func(pc uint64, plain bool) Site {
	switch {
	case pc%5 == 1 && plain:
		return Site{Store: 1}
	case pc%5 == 2 && plain:
		return Site{Note: 4, Store: 2}
	case pc%5 == 2, pc%5 == 3:
		return Site{Note: 5, After: pc%5 == 3}
	case pc%5 == 4:
		return Site{Stop: true}
	}
	return Site{}
}}

const testStart, testAt = 0x40_1000, 0x50_0000

// FuzzTranslate translates any bytes, and holds the translation to what package x86
// says of them: each instruction of the block is there, with all its accesses, and
// what is known of a place of the translation is about an instruction of the block.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{
		"554889e54883ec10897dfc8b45fc0fafc0c9c3", // a function of gcc
		"48890748894f0848c7471000000000c3",       // stores
		"f348a5f3aac3",                           // rep movs, rep stos
		"f2aef3a6750bc3",                         // scas, cmps, jcc
		"48ab48a5ac",                             // without a prefix
		"480fab07f0480fb10ff0480fc107c3",         // bts, cmpxchg, xadd
		"6448891c2528000000ff2425100000006648",   // fs, jmp through memory, cut off
		"0f05", "cc", "0f0b", "cd80", "65488b042500000000", "c7f800000000",
		"c5fe7f07c5f877c4e27d92048d00000000", // vector stores, a gather
		"62e17f297f0062f17c492807c3",         // moves under opmasks
		"67488b043767f3a4e300e2fe",           // 32-bit addresses, jrcxz, loop
		"ff55f8ff5424088f4508ff7508c20800",   // calls through memory, pop and push of memory
	} {
		b, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		c, err := Translate(testStart, code, 7, testAt, testEnv)
		if err != nil {
			return
		}
		checkBlock(t, c, code)
		checkCode(t, c)
		rec := make([]byte, c.Size())
		for n := range len(c.Insts) + 1 {
			if got, want := len(c.Ranges(nil, rec, n, 0)), accessesOf(c, n); got != want {
				t.Fatalf("%x: %d ranges of %d instructions, want %d", c.Layout.Code, got, n, want)
			}
		}
	})
}

// accessesOf is how many accesses the first n instructions have.
func accessesOf(c *Code, n int) int {
	if n < len(c.Insts) {
		return int(c.Insts[n].Accesses)
	}
	return len(c.Accesses)
}

// checkBlock compares the block with what its instructions are.
func checkBlock(t *testing.T, c *Code, code []byte) {
	t.Helper()
	at := 0
	for i, in := range c.Insts {
		var e x86.Effects
		x, err := x86.Decode(code[at:], testStart+uint64(at))
		if err != nil || int(in.Off) != at || int(in.Len) != x.Len {
			t.Fatalf("%x: instruction %d at %d of %d bytes; it is at %d with %d (%v)", code, i, in.Off, in.Len, at, x.Len, err)
		}
		x.Effects(&e)
		want := e.NMem
		if c.Gap != "" || c.Why != "" { // not known, or not executed
			want = 0
		}
		if got := accessesOf(c, i+1) - int(in.Accesses); got != want {
			t.Fatalf("%x: instruction %d (%s) has %d accesses, want %d", code, i, x86.Text(code[at:], 0), got, want)
		}
		at += x.Len
	}
	if at != len(c.Layout.Code) || len(c.Insts) == 0 {
		t.Fatalf("%x: %d instructions of %d bytes in a block of %d", code, len(c.Insts), at, len(c.Layout.Code))
	}
	if c.Size() > MaxRecord {
		t.Fatalf("%x: a record of %d bytes", code, c.Size())
	}
}

// checkCode looks at the translation itself.
func checkCode(t *testing.T, c *Code) {
	t.Helper()
	for at := 0; at < len(c.Bytes); {
		x, err := x86.Decode(c.Bytes[at:], testAt+uint64(at))
		if err != nil {
			t.Fatalf("%x: the translation %x can not be decoded at %d: %v", c.Layout.Code, c.Bytes, at, err)
		}
		m, ok := c.Where(at)
		if ok && (m.N < 0 || m.N > len(c.Insts) || m.Program && m.N == len(c.Insts) || m.Goes > AtNothing) {
			t.Fatalf("%x: at %d: %+v", c.Layout.Code, at, m)
		}
		at += x.Len
	}
	for _, e := range c.Exits {
		if e.At < 0 || e.At+4 > len(c.Bytes) || e.Stub < 0 || e.Stub >= len(c.Bytes) {
			t.Fatalf("%x: exit %+v of %d bytes", c.Layout.Code, e, len(c.Bytes))
		}
	}
}
