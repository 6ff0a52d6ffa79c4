// Package mem is what a live process and a core file have in common: bytes at
// addresses, the list of what is mapped, the registers of a thread, and the
// auxiliary vector.
//
// Memory is the seam between those who need a program's bytes (the audit, the
// type of an object, the walk over glibc's heap) and those who have them
// (target.Process, core.File, Fake). memtest holds one suite that all of them
// pass.
//
//	word, err := mem.ReadUint64(process, 0x555555559040)
//	if errors.Is(err, mem.ErrUnreadable) { … } // never a zero
//
// It does not read processes or files itself.
package mem
