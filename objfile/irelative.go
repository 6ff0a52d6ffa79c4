package objfile

import (
	"debug/elf"
	"encoding/binary"
)

// relaSize is the size of an Elf64_Rela: offset, info, addend.
const relaSize = 24

// LastResolver returns the IFUNC resolver that a static program calls last when
// it starts, as a virtual address: when it gets there, libc knows the processor
// and every resolver answers as it does in the run itself. False: it has none.
func (f *File) LastResolver() (at uint64, ok bool) {
	defer func() { _ = recover() }() // debug/elf on corrupted sections
	for _, name := range [...]string{".rela.dyn", ".rela.plt", ".rela.iplt"} {
		s := f.main.elf.Section(name)
		if s == nil || s.Type != elf.SHT_RELA {
			continue
		}
		b, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(b) >= relaSize; b = b[relaSize:] {
			info := binary.LittleEndian.Uint64(b[8:])
			if elf.R_X86_64(info&0xffffffff) == elf.R_X86_64_IRELATIVE {
				at, ok = binary.LittleEndian.Uint64(b[16:]), true
			}
		}
	}
	return at, ok
}
