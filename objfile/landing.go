package objfile

import (
	"slices"

	"mgtrace/objfile/dwarf"
)

// LandingPads lists where exceptions land: the handlers and clean-ups of all
// functions, by address. They are in the language-specific data that .eh_frame
// leads to (.gcc_except_table, whose form the languages of gcc and clang share).
func (f *File) LandingPads() []uint64 {
	var pads []uint64
	for i := range f.cfiTable().fdes {
		if d := &f.cfi.fdes[i]; d.lsda != 0 {
			pads = f.landingPads(pads, d)
		}
	}
	slices.Sort(pads)
	return slices.Compact(pads)
}

// landingPads appends those of one function.
func (f *File) landingPads(pads []uint64, d *fde) []uint64 {
	seg := f.segment(d.lsda)
	if seg < 0 {
		return pads
	}
	base := f.main.elf.Progs[seg].Vaddr
	b := dwarf.NewBuf(f.segmentData(seg), d.lsda-base)
	start := d.lo // of what landing pads are relative to
	if enc := b.U8(); enc != encOmit {
		start, _ = readEncoded(&b, enc, base)
	}
	if b.U8() != encOmit {
		b.Uleb() // where the table of types is
	}
	enc := b.U8()
	n := b.Uleb()
	for end := b.Off() + n; b.Off() < end; {
		readEncoded(&b, enc, 0) // the call site's start
		readEncoded(&b, enc, 0) // and length
		pad, ok := readEncoded(&b, enc, 0)
		b.Uleb() // what to do there
		if !ok || b.Bad() {
			break
		}
		if pad != 0 && f.executable(start+pad) {
			pads = append(pads, start+pad)
		}
	}
	return pads
}
