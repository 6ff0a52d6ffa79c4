package objfile

import (
	"debug/elf"
	"encoding/binary"
)

// A Slot is a word in the file's memory that the dynamic linker writes.
type Slot struct {
	To     uint64 // Symbol is "": the address of this file that it is to hold
	Symbol string // of another file, whose address it is to hold
}

// Slot returns what the dynamic linker writes to the eight bytes at addr.
func (f *File) Slot(addr uint64) (Slot, bool) {
	f.slotsOnce.Do(f.readSlots)
	s, ok := f.slots[addr]
	return s, ok
}

// Exported returns what the dynamic linker binds a name to that is defined here: the address of a
// function or an object, of an indirect function that of its resolver.
func (f *File) Exported(name string) (addr uint64, ok bool) {
	f.exportsOnce.Do(f.readExports)
	addr, ok = f.exports[name]
	return addr, ok
}

// readExports reads the dynamic symbols alone: those of the debug information can be many times
// as many, and the dynamic linker sees none of them.
func (f *File) readExports() {
	f.exports = map[string]uint64{}
	defer func() { _ = recover() }() // debug/elf on corrupted tables
	syms, err := f.main.elf.DynamicSymbols()
	if err != nil {
		return
	}
	for _, s := range syms {
		if s.Section == elf.SHN_UNDEF || s.Section >= elf.SHN_LORESERVE || elf.ST_BIND(s.Info) == elf.STB_LOCAL ||
			s.HasVersion && s.VersionIndex.IsHidden() { // an old version, for old programs
			continue
		}
		f.exports[s.Name] = s.Value
	}
}

// readSlots reads the relocations (x86-64 psABI, 4.4.1) that make a word an address.
func (f *File) readSlots() {
	f.slots = map[uint64]Slot{}
	defer func() { _ = recover() }()       // debug/elf on corrupted sections
	syms, _ := f.main.elf.DynamicSymbols() // none: those with a symbol are left out
	for _, s := range f.main.elf.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			continue
		}
		for ; len(data) >= relaSize; data = data[relaSize:] {
			word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) }
			switch elf.R_X86_64(uint32(word(1))) {
			case elf.R_X86_64_RELATIVE:
				f.slots[word(0)] = Slot{To: word(2)}
			case elf.R_X86_64_64, elf.R_X86_64_GLOB_DAT, elf.R_X86_64_JMP_SLOT:
				n := word(1) >> 32 // index from 1: DynamicSymbols leaves out the first
				if n < 1 || n > uint64(len(syms)) {
					continue
				}
				if sym := &syms[n-1]; sym.Section != elf.SHN_UNDEF {
					f.slots[word(0)] = Slot{To: sym.Value + word(2)}
				} else if word(2) == 0 {
					f.slots[word(0)] = Slot{Symbol: sym.Name}
				}
			}
		}
	}
}
