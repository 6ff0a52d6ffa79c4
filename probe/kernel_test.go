package probe

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mgtrace/x86"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

var everyRefusal = flag.Bool("every-refusal", false, "ask the kernel about every instruction that it should refuse, at 70 ms each")

// slot is the distance of the instructions in the test file.
const slot = 32

// TestKernelAgrees asks the kernel: it must accept a uprobe on every
// instruction that x86.KernelProbeable accepts, and refuse the others. The
// kernel only looks where a process has mapped the file: this one does.
func TestKernelAgrees(t *testing.T) {
	prog := uprobeProgram(t)
	insns := append([][]byte{{0x90}}, instructions()...) // offset 0 means no offset to the library
	path := mapCode(t, insns)
	ex, err := link.OpenExecutable(path)
	if err != nil {
		t.Fatal(err)
	}
	attach := func(which []int) error {
		addrs := make([]uint64, len(which))
		for i, n := range which {
			addrs[i] = uint64(n * slot)
		}
		l, err := ex.UprobeMulti(nil, prog, &link.UprobeMultiOptions{Addresses: addrs, PID: uint32(os.Getpid())})
		if err == nil {
			l.Close()
		}
		return err
	}
	var good, bad []int
	for i, code := range insns[1:] {
		i++
		if ok, _ := x86.KernelProbeable(code); ok {
			good = append(good, i)
		} else {
			bad = append(bad, i)
		}
	}
	var blame func(which []int)
	blame = func(which []int) {
		err := attach(which)
		if err == nil {
			return
		}
		if len(which) == 1 {
			code := insns[which[0]]
			t.Errorf("refused: % x: %s: %v", code, x86.Text(code, 0), err)
			return
		}
		blame(which[:len(which)/2])
		blame(which[len(which)/2:])
	}
	blame(good)
	step := max(1, len(bad)/12)
	if *everyRefusal {
		step = 1
	}
	for i := 0; i < len(bad); i += step {
		if attach(bad[i:i+1]) == nil {
			t.Errorf("accepted: % x: %s", insns[bad[i]], x86.Text(insns[bad[i]], 0))
		}
	}
	t.Logf("%d accepted, %d refused", len(good), len(bad))
}

// uprobeProgram loads a program that does nothing, or skips.
func uprobeProgram(t *testing.T) *ebpf.Program {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type:         ebpf.Kprobe,
		AttachType:   ebpf.AttachTraceUprobeMulti,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
		License:      "GPL",
	})
	if err != nil {
		t.Skip("no eBPF: ", err)
	}
	t.Cleanup(func() { prog.Close() })
	return prog
}

// mapCode writes the instructions to a file, one a slot, and maps it executable.
func mapCode(t *testing.T, insns [][]byte) string {
	t.Helper()
	code := make([]byte, len(insns)*slot)
	for i := range code {
		code[i] = 0x90
	}
	for i, insn := range insns {
		copy(code[i*slot:], insn)
	}
	path := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(path, code, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, len(code), syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	return path
}

func isPrefix(b byte) bool {
	switch b {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	}
	return b&0xf0 == 0x40
}

// instructions lists one of every opcode of every map, with a memory operand,
// that writes memory or begins and ends functions, under the usual prefixes.
func instructions() (list [][]byte) {
	seen := map[string]bool{}
	add := func(parts ...[]byte) {
		var code []byte
		for _, p := range parts {
			code = append(code, p...)
		}
		code = append(code, 1, 1, 1, 1, 1, 1, 1, 1)
		in, err := x86.Decode(code, 0)
		if err != nil || in.Effect == x86.EffectNone && in.Kind == x86.KindOther && !in.IsNop() || in.Effect == x86.EffectUnknown {
			return
		}
		if code = code[:in.Len]; !seen[string(code)] {
			seen[string(code)] = true
			list = append(list, code)
		}
	}
	prefixes := [][]byte{{}, {0x66}, {0xf3}, {0xf2}, {0x48}, {0x64}, {0x3e}, {0x26}, {0x2e}, {0x36}, {0xf0}}
	for op := range 256 {
		o := []byte{byte(op)}
		for reg := range 8 {
			modrm := []byte{byte(0x40 | reg<<3 | 7), 8} // /reg [rdi+8]
			for _, p := range prefixes {
				if !isPrefix(byte(op)) {
					add(p, o, modrm)
				}
				add(p, []byte{0x0f}, o, modrm)
				add(p, []byte{0x0f, 0x38}, o, modrm)
				add(p, []byte{0x0f, 0x3a}, o, modrm)
			}
			if reg > 0 {
				continue // no groups there that matter here
			}
			for pp := range byte(4) {
				for m := byte(1); m <= 3; m++ {
					add([]byte{0xc4, 0xe0 | m, 0x78 | pp}, o, modrm)
					add([]byte{0x62, 0xf0 | m, 0x7c | pp, 0x48}, o, modrm)
				}
			}
		}
	}
	return list
}

func ExamplePlan_String() {
	fmt.Println(&Plan{Images: []*Image{{Path: "/bin/quad", Traced: true}}, Stores: make([]Store, 2)})
	// Output:
	// 2 stores probed in quad (0 read at the next instruction, 0 probed only there); 0 can not be probed, 0 can not reach the heap
	// 0 allocator functions, 0 writers, 0 watched functions, 0 points
}
