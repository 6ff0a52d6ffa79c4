package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// TestBias: where a file lies is told by each of its mappings, also where several segments are in one page of the
// file, as lld has it.
func TestBias(t *testing.T) {
	segments := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R), Off: 0, Vaddr: 0, Filesz: 0x734, Memsz: 0x734, Align: 0x1000},
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: 0x740, Vaddr: 0x1740, Filesz: 0x20c0, Memsz: 0x20c0, Align: 0x1000},
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: 0x2800, Vaddr: 0x4800, Filesz: 0x40, Memsz: 0x50, Align: 0x1000},
	}
	var b bytes.Buffer
	h := elf.Header64{Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(segments))}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	for _, part := range []any{&h, segments, make([]byte, 0x3000)} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(path, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const base = 0x555555554000
	for _, m := range []struct {
		at, offset, size uint64
		exec             bool
	}{
		{base, 0, 0x1000, false},
		{base + 0x1000, 0, 0x3000, true},
		{base + 0x2000, 0x1000, 0x2000, true}, // the rest of the code, where its first page was made another mapping
		{base + 0x4000, 0x2000, 0x1000, false},
	} {
		if bias, ok := f.Bias(m.at, m.offset, m.size, m.exec); !ok || bias != base {
			t.Errorf("%#x: bias %#x, %v", m.at, bias, ok)
		}
	}
}
