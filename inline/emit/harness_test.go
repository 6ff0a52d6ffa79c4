package emit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/inline/layout"
)

// What testdata/harness.c and this file agree on.
const (
	codeBase  = 0x10000000
	trampBase = 0x10010000
	target    = 0x10020000
	dataBase  = 0x20000000
	dataSize  = 0x4000
	logBase   = 0x32000000
	logSize   = 4096
	logSecond = logBase + 8192
	stampBase = 1000
	shadowAt  = 0x40000000

	modeStep   = 1
	modeSwap   = 2
	modeNative = 4
)

// trial is struct test of the harness.
type trial struct {
	Regs                        [16]uint64
	Flags, EA, PC, Cursor, Mode uint64
	CodeLen, TrampLen           uint32
	Mem                         [128]byte
	Code                        [64]byte
	Tramp                       [2048]byte
	Reload                      [2048]uint16
	Shadow, Seed                uint64
	Chained                     uint64
	Open                        [5]uint64 // OpenCall, OpenFree, OpenWriter, AllocCall; Quiet
}

type outcome struct {
	Signal, RIP uint64
	Regs        [16]uint64
	Flags, Exit uint64
}

type hookCall struct {
	Site, Phase uint32
	Flags, SP   uint64
	Regs        [18]uint64
}

type snap struct {
	Hooks     uint64
	Off, Same uint64
	Regs      [16]uint64
	Flags     uint64
	Block     [16]uint64
	Stack     [18]uint64
	Sum       uint64
}

type result struct {
	Native, Moved          outcome
	MemoryDiff, VectorDiff int64
	Before, After          [128]byte
	Cursor, Order          uint64
	Log                    [8192]byte
	Hooks                  uint64
	Hook                   [2]hookCall
	End                    snap
	Snaps, Places          uint64
	Left                   [3]uint64  // AllocCall, OpenCall, OpenFree in the end
	Noted                  [19]uint64 // all from AllocCall on, and OpenWriter
}

// harness builds the harness and returns its path.
func harness(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc to execute trampolines:", err)
	}
	path := filepath.Join(t.TempDir(), "harness")
	out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "-mgeneral-regs-only",
		fmt.Sprintf("-DALLOC_CALL=%d", layout.AllocCall), fmt.Sprintf("-DOPEN_CALL=%d", layout.OpenCall), fmt.Sprintf("-DOPEN_WRITER=%d", layout.OpenWriter), fmt.Sprintf("-DQUIET=%d", layout.Quiet),
		"-o", path, "testdata/harness.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// assemble turns instructions in Intel syntax into bytes, by the outside judge
// of their encoding.
func assemble(t *testing.T, lines []string) [][]byte {
	t.Helper()
	dir := t.TempDir()
	var src strings.Builder
	src.WriteString(".intel_syntax noprefix\n.text\n")
	for i, l := range lines {
		fmt.Fprintf(&src, ".org %d, 0xcc\n%s\n", 16*i, l)
	}
	fmt.Fprintf(&src, ".org %d, 0xcc\n", 16*len(lines))
	file := filepath.Join(dir, "a.s")
	if err := os.WriteFile(file, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"gcc", "-c", "-o", file + ".o", file},
		{"objcopy", "-O", "binary", "-j", ".text", file + ".o", file + ".bin"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, badLines(out, lines))
		}
	}
	code, err := os.ReadFile(file + ".bin")
	if err != nil {
		t.Fatal(err)
	}
	all := make([][]byte, len(lines))
	for i := range all {
		all[i] = code[16*i : 16*i+16]
	}
	return all
}

// badLines adds to the assembler's complaints the instructions that they mean.
func badLines(complaints []byte, lines []string) string {
	var b strings.Builder
	for l := range strings.Lines(string(complaints)) {
		b.WriteString(l)
		var n int
		if _, rest, ok := strings.Cut(l, ".s:"); ok {
			if _, err := fmt.Sscanf(rest, "%d", &n); err == nil && n/2-2 < len(lines) && n >= 4 {
				fmt.Fprintf(&b, "\t%s\n", lines[n/2-2])
			}
		}
	}
	return b.String()
}
