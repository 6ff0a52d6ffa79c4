package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What the dynamic linker writes to a table of functions: an address of the file, or of another file's symbol.
func TestSlot(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.c")
	const text = `#include <stdlib.h>
int twice(int x) { return 2 * x; }
static int apart(int x) { return x / 2; }
int (*table[])(int) = {twice, abs, 0, apart};
int main(void) { return table[0](0); }
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"-pie", "-fPIE"}, {"-shared", "-fPIC"}} {
		out := filepath.Join(t.TempDir(), "a")
		if msg, err := exec.Command("gcc", append(flags, "-o", out, source)...).CombinedOutput(); err != nil {
			t.Skipf("gcc: %v\n%s", err, msg)
		}
		f, err := Open(out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		symbols, err := f.main.elf.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]uint64{}
		for _, s := range symbols {
			at[s.Name] = s.Value
		}
		own, ok := f.Slot(at["table"])
		if !ok || own != (Slot{To: at["twice"]}) || at["twice"] == 0 {
			t.Errorf("%v: %+v, %v; want twice at %#x", flags, own, ok, at["twice"])
		}
		if other, ok := f.Slot(at["table"] + 8); !ok || other != (Slot{Symbol: "abs"}) {
			t.Errorf("%v: %+v, %v; want abs", flags, other, ok)
		}
		if none, ok := f.Slot(at["table"] + 16); ok {
			t.Errorf("%v: %+v where nothing is written", flags, none)
		}
		exported := flags[0] == "-shared" // what no other file asks for a program keeps to itself
		if addr, ok := f.Exported("twice"); ok != exported || ok && addr != at["twice"] {
			t.Errorf("%v: twice is exported at %#x, %v; want %#x, %v", flags, addr, ok, at["twice"], exported)
		}
		for _, name := range []string{"apart", "abs"} {
			if addr, ok := f.Exported(name); ok {
				t.Errorf("%v: %s, which is static or another file's, is exported at %#x", flags, name, addr)
			}
		}
	}
}
