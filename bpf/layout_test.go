package bpf

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"mgtrace/capture"
	"mgtrace/capture/syscalls"
)

// The Go mirrors have the layouts of the C structures.
func TestLayout(t *testing.T) {
	spec, err := loadPrograms()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		size int
	}{
		{"site", binary.Size(siteDesc{})},
		{"store", binary.Size(storeDesc{})},
		{"fn", binary.Size(funcDesc{})},
		{"sysdesc", binary.Size(syscalls.Desc{})},
		{"range", binary.Size(addrRange{})},
		{"counters", binary.Size(counters{})},
		{"record", recordSize},
		{"stop", stopSize},
	} {
		var s *btf.Struct
		if err := spec.Types.TypeByName(c.name, &s); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if int(s.Size) != c.size {
			t.Errorf("struct %s has %d bytes, its mirror %d", c.name, s.Size, c.size)
		}
	}
	if n := spec.Maps[programsMapRanges].MaxEntries; n != maxRanges {
		t.Errorf("%d ranges in the kernel, %d here", n, maxRanges)
	}
	for _, p := range spec.Programs {
		if p.Type == ebpf.UnspecifiedProgram {
			t.Errorf("program %s has no type", p.Name)
		}
	}
}

// The checked-in object is what the source compiles to. It takes the compiler
// version that made it; others give other code.
func TestFresh(t *testing.T) {
	clang, strip := tool("BPF2GO_CC", "clang-14"), tool("BPF2GO_STRIP", "llvm-strip-14")
	if clang == "" || strip == "" {
		t.Skip("no clang-14 and llvm-strip-14 (or BPF2GO_CC, BPF2GO_STRIP)")
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "github.com/cilium/ebpf/cmd/bpf2go", "-target", "amd64",
		"-no-global-types", "-go-package", "bpf", "-output-dir", dir,
		"programs", "kernel/mgtrace.bpf.c", "--",
		"-O2", "-g", "-mcpu=v3", "-Wall", "-Werror", "-I/usr/include/x86_64-linux-gnu")
	cmd.Env = append(os.Environ(), "BPF2GO_CC="+clang, "BPF2GO_STRIP="+strip)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"programs_x86_bpfel.go", "programs_x86_bpfel.o"} {
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is stale: run make generate", name)
		}
	}
}

func tool(env, name string) string {
	if v := os.Getenv(env); v != "" {
		name = v
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

func FuzzDecode(f *testing.F) {
	f.Add(make([]byte, recordSize))
	for kind := range recordOps {
		b := make([]byte, recordSize+stopSize+16)
		b[0] = byte(kind)
		binary.LittleEndian.PutUint16(b[2:], stopSize+16)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h capture.Hit
		if decode(b, 0, &h) == nil && h.Op == 0 {
			t.Error("a record without an operation")
		}
	})
}
