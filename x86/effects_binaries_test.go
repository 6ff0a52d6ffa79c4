package x86

import (
	"debug/elf"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEffectsOfBinaries: nothing that compilers emit is missing from the table. Code is
// decoded one instruction after another.
func TestEffectsOfBinaries(t *testing.T) {
	files := append(binaries(), "/lib/x86_64-linux-gnu/libm.so.6", "/lib/x86_64-linux-gnu/libgcc_s.so.1")
	for _, path := range files {
		total, unknown := 0, map[string]int{}
		missing := 0
		eachInst(t, path, func(code []byte, in *Inst) {
			total++
			var e Effects
			if in.Effects(&e); e.Unknown && in.opmap != mapXOP { // XOP is in code for old AMD processors
				unknown[Text(code, 0)]++
				missing++
			}
		})
		if total == 0 {
			t.Logf("%s: not there", path)
			continue
		}
		t.Logf("%s: %d instructions, %d unknown %v", path, total, missing, unknown)
		if strings.Contains(path, "libcrypto") {
			continue // it has tables among its code
		}
		if missing > 0 {
			t.Errorf("%s: %d of %d instructions are unknown: %v", path, missing, total, slices.Sorted(maps.Keys(unknown)))
		}
	}
}

// eachInst decodes the text of a file, if it is there.
func eachInst(t *testing.T, path string, do func(code []byte, in *Inst)) {
	t.Helper()
	f, err := elf.Open(path)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(code); {
		in, err := Decode(code[at:], 0x10000000)
		if err != nil {
			at++
			continue
		}
		do(code[at:], &in)
		at += in.Len
	}
}
