package probe

import (
	"debug/elf"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/x86"

	"github.com/cilium/ebpf/link"
)

// TestKernelExecutes: an instruction that x86.KernelProbeable accepts does under
// a probe what it does without. The program runs one after the other and prints
// what each did.
func TestKernelExecutes(t *testing.T) {
	prog := uprobeProgram(t)
	path := filepath.Join(t.TempDir(), "execute")
	if out, err := exec.Command("gcc", "-O1", "-mno-red-zone", "-no-pie", "-o", path, "testdata/execute.c").CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	blocks := probedBlocks(t, path)
	ex, err := link.OpenExecutable(path)
	if err != nil {
		t.Fatal(err)
	}
	for n, addrs := range blocks {
		if len(addrs) == 0 {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			alone := runBlock(t, path, n, nil)
			probed := runBlock(t, path, n, func(pid int) io.Closer {
				l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: addrs, PID: uint32(pid)})
				if err != nil {
					t.Fatal(err)
				}
				return l
			})
			if alone != probed {
				t.Errorf("alone\n%s\nunder probes\n%s", alone, probed)
			}
		})
	}
}

// probedBlocks finds, for each block of the program, the file offsets of its
// labels probe_BLOCK_NAME that may be probed.
func probedBlocks(t *testing.T, path string) [][]uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]uint64
	for _, s := range syms {
		var n int
		var name string
		if k, _ := fmt.Sscanf(strings.ReplaceAll(s.Name, "_", " "), "probe %d %s", &n, &name); k != 2 {
			continue
		}
		sec := f.Sections[s.Section]
		code := make([]byte, x86.MaxLen)
		if _, err := sec.ReadAt(code, int64(s.Value-sec.Addr)); err != nil {
			t.Fatal(err)
		}
		for len(blocks) <= n {
			blocks = append(blocks, nil)
		}
		ok, reason := x86.KernelProbeable(code)
		if !ok && !*everyRefusal {
			t.Logf("%s is refused: %s", s.Name, reason)
			continue
		}
		blocks[n] = append(blocks[n], s.Value-sec.Addr+sec.Offset)
	}
	return blocks
}

// runBlock runs one block of the program and returns its output and status.
func runBlock(t *testing.T, path string, n int, attach func(pid int) io.Closer) string {
	t.Helper()
	cmd := exec.Command(path, fmt.Sprint(n))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if attach != nil {
		defer attach(cmd.Process.Pid).Close()
	}
	in.Close() // and the program begins
	err = cmd.Wait()
	return fmt.Sprint(out.String(), err)
}
