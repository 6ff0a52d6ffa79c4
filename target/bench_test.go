package target

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"mgtrace/target/mem"
)

// BenchmarkStop is the time of a stop that the tracer lets pass: from the
// signal until the thread goes on.
func BenchmarkStop(b *testing.B) {
	for _, threads := range []string{"1", "2"} {
		b.Run(threads, func(b *testing.B) {
			p := benchLaunch(b, "storm", strconv.Itoa(b.N), threads)
			b.ResetTimer()
			if _, err := p.Run(b.Context(), Handlers{}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// benchLaunch starts testdata/NAME.c; its output goes nowhere.
func benchLaunch(b *testing.B, name string, args ...string) *Process {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", path, filepath.Join("testdata", name+".c")).CombinedOutput(); err != nil {
		b.Skipf("gcc: %v\n%s", err, out)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { null.Close() })
	p, err := Launch(b.Context(), Command{Path: path, Args: args, Stdin: null, Stdout: null, Stderr: null})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close() })
	return p
}

// benchSymbol is the address of a symbol of the program.
func benchSymbol(b *testing.B, p *Process, exe, name string) uint64 {
	b.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		b.Fatal(err)
	}
	auxv, err := p.Auxv()
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value + auxv[mem.AuxEntry] - f.Entry
		}
	}
	b.Fatalf("no symbol %s", name)
	return 0
}
