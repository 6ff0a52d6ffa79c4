package objfile

import (
	"debug/elf"
	"encoding/binary"
)

// Import returns the name of the function that the stub of the procedure
// linkage table at addr jumps to, mangled as in the symbol table; "" if there
// is no stub of an import.
func (f *File) Import(addr uint64) string {
	if !f.symbolTable().inPLT(addr) {
		return ""
	}
	b := f.Code(addr, 12)
	n := 0
	if len(b) >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa { // endbr64
		n = 4
	}
	if len(b) > n && b[n] == 0xf2 { // bnd
		n++
	}
	if len(b) < n+6 || b[n] != 0xff || b[n+1] != 0x25 { // jmp *disp32(%rip)
		return ""
	}
	rel := int64(int32(binary.LittleEndian.Uint32(b[n+2:])))
	return f.ImportSlot(addr + uint64(n+6) + uint64(rel))
}

// ImportSlot returns the name of the symbol whose address the dynamic linker
// stores at addr (an entry of the global offset table), "" if there is none.
func (f *File) ImportSlot(addr uint64) string {
	f.importsOnce.Do(f.readImports)
	return f.imports[addr]
}

// Imports says that the file takes a symbol of this name from another file.
func (f *File) Imports(name string) bool {
	return f.ImportsAny(func(n string) bool { return n == name })
}

// ImportsAny says that the file takes a symbol from another file of whose name something is true.
func (f *File) ImportsAny(is func(name string) bool) bool {
	f.importsOnce.Do(f.readImports)
	for _, n := range f.imports {
		if is(n) {
			return true
		}
	}
	return false
}

func (f *File) readImports() {
	f.imports = map[uint64]string{}
	defer func() { _ = recover() }() // debug/elf on corrupted sections
	syms, err := f.main.elf.DynamicSymbols()
	if err != nil {
		return
	}
	for _, s := range f.main.elf.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(data) >= 24; data = data[24:] {
			info := binary.LittleEndian.Uint64(data[8:])
			n := info >> 32 // index from 1: DynamicSymbols leaves out the first
			switch elf.R_X86_64(uint32(info)) {
			case elf.R_X86_64_JMP_SLOT, elf.R_X86_64_GLOB_DAT:
				if n >= 1 && n <= uint64(len(syms)) {
					f.imports[binary.LittleEndian.Uint64(data)] = syms[n-1].Name
				}
			}
		}
	}
}
