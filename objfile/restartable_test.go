package objfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Critical sections are found where the program lies at its own addresses and where the dynamic
// linker moves it.
func TestRestartable(t *testing.T) {
	source := filepath.Join(t.TempDir(), "a.c")
	const text = `int main(void)
{
	__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n\t"
		".long 0, 0\n\t.quad first, last - first, main\n\t.quad 0, 0, 4, 0\n\t.popsection\n\t"
		".globl first, last\nfirst:\tnop\n\tnop\nlast:");
	return 0;
}
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"-no-pie", "-fno-pie"}, {"-pie", "-fPIE"}, {"-shared", "-fPIC", "-Wl,-Bsymbolic"}} {
		out := filepath.Join(t.TempDir(), "a")
		if msg, err := exec.Command("gcc", append(flags, "-o", out, source)...).CombinedOutput(); err != nil {
			t.Skipf("gcc: %v\n%s", err, msg)
		}
		f, err := Open(out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.main.elf.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]uint64{}
		for _, s := range symbols {
			at[s.Name] = s.Value
		}
		list := f.Restartable()
		if len(list) != 1 || list[0] != (Restartable{at["first"], at["last"], at["main"]}) || at["first"] == 0 {
			t.Errorf("%v: %#x, want %#x to %#x, %#x", flags, list, at["first"], at["last"], at["main"])
		}
	}
}
