package objfile

import (
	"debug/elf"
	"encoding/binary"
	"sync"
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

// Pointed returns the addresses of the file that pointers in its data may hold when the program starts, and those that others can ask the
// dynamic linker for, in no order. It is not ok where the relocations that tell are packed (SHT_RELR).
func (f *File) Pointed() (addrs []uint64, ok bool) {
	f.slotsOnce.Do(f.readSlots)
	for _, s := range f.slots {
		if s.Symbol == "" {
			addrs = append(addrs, s.To)
		}
	}
	f.exportsOnce.Do(f.readExports)
	x := &f.exports
	for i := elf.Sym64Size; i+elf.Sym64Size <= len(x.symbols); i += elf.Sym64Size {
		sym := x.symbols[i:]
		if elf.SectionIndex(binary.LittleEndian.Uint16(sym[6:])) != elf.SHN_UNDEF {
			addrs = append(addrs, binary.LittleEndian.Uint64(sym[8:]))
		}
	}
	const relr = 19 // SHT_RELR
	return addrs, f.main.elf.SectionByType(relr) == nil
}

// Exported returns what the dynamic linker binds a name to that is defined here: the address of a
// function or an object, of an indirect function that of its resolver.
func (f *File) Exported(name string) (addr uint64, ok bool) {
	f.exportsOnce.Do(f.readExports)
	return f.exports.of(name)
}

// exports are the dynamic symbols as they lie in the file, with what tells their versions. A library has thousands, of which a
// few names are asked for, some of them time and again.
type exports struct {
	symbols, names, versions []byte
	known                    sync.Map // export by name, of those that were asked for
}

type export struct {
	addr uint64
	ok   bool
}

func (x *exports) of(name string) (uint64, bool) {
	if e, asked := x.known.Load(name); asked {
		return e.(export).addr, e.(export).ok
	}
	addr, ok := x.find(name)
	x.known.Store(name, export{addr, ok})
	return addr, ok
}

// readExports reads the dynamic symbols alone: those of the debug information can be many times
// as many, and the dynamic linker sees none of them.
func (f *File) readExports() {
	defer func() { _ = recover() }() // debug/elf on corrupted tables
	e := f.main.elf
	symbols := e.SectionByType(elf.SHT_DYNSYM)
	if symbols == nil || int(symbols.Link) >= len(e.Sections) {
		return
	}
	names, err := e.Sections[symbols.Link].Data()
	if err != nil {
		return
	}
	x := &f.exports
	if x.symbols, err = symbols.Data(); err != nil {
		x.symbols = nil
		return
	}
	x.names = names
	if versions := e.SectionByType(elf.SHT_GNU_VERSYM); versions != nil {
		x.versions, _ = versions.Data()
	}
}

// hiddenVersion marks an old version, for old programs (LSB 5.0, 10.7.2).
const hiddenVersion = 1 << 15

// find returns the last symbol of a name that is defined, for others to see.
func (x *exports) find(name string) (addr uint64, ok bool) {
	if name == "" {
		return 0, false
	}
	for i := elf.Sym64Size; i+elf.Sym64Size <= len(x.symbols); i += elf.Sym64Size {
		sym := x.symbols[i:]
		at := uint64(binary.LittleEndian.Uint32(sym))
		if end := at + uint64(len(name)); end >= uint64(len(x.names)) || x.names[end] != 0 || string(x.names[at:end]) != name {
			continue
		}
		section := elf.SectionIndex(binary.LittleEndian.Uint16(sym[6:]))
		if section == elf.SHN_UNDEF || section >= elf.SHN_LORESERVE || elf.ST_BIND(sym[4]) == elf.STB_LOCAL {
			continue
		}
		if v := i / elf.Sym64Size * 2; v+2 <= len(x.versions) && binary.LittleEndian.Uint16(x.versions[v:])&hiddenVersion != 0 {
			continue
		}
		addr, ok = binary.LittleEndian.Uint64(sym[8:]), true
	}
	return addr, ok
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
