package objfile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Restartable is a critical section of a restartable sequence (rseq(2)), as virtual addresses:
// a thread that the kernel interrupts between Start and End goes on at Abort.
type Restartable struct{ Start, End, Abort uint64 }

// restartableSize is the size of a struct rseq_cs: version, flags, start, length, abort.
const restartableSize = 32

// Restartable lists the critical sections that the file tells of, by address: those in the
// section that librseq and those who do as it does put their descriptors into.
func (f *File) Restartable() (list []Restartable) {
	defer func() { _ = recover() }() // debug/elf on corrupted sections
	s := f.main.elf.Section("__rseq_cs")
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil
	}
	b, err := s.Data()
	if err != nil {
		return nil
	}
	b = slices.Clone(b)
	f.relocate(b, s.Addr)
	for ; len(b) >= restartableSize; b = b[restartableSize:] {
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
		r := Restartable{Start: word(1), End: word(1) + word(2), Abort: word(3)}
		if r.Start < r.End && f.executable(r.Start) && f.executable(r.End-1) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Restartable) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

// relocate writes the virtual addresses that the dynamic linker will write into a part of the
// file, less where that is loaded.
func (f *File) relocate(b []byte, addr uint64) {
	for i := 0; i+8 <= len(b); i += 8 {
		if s, ok := f.Slot(addr + uint64(i)); ok && s.Symbol == "" {
			binary.LittleEndian.PutUint64(b[i:], s.To)
		}
	}
}
