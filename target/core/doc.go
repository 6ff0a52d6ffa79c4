// Package core reads what a program left behind: an ELF core file of x86-64
// Linux, and in its memory (or a live one) the blocks of glibc's malloc.
//
//	f, err := core.Open("core.1234", core.Options{})
//	if err != nil { … }
//	defer f.Close()
//	for _, why := range f.Missing { … } // what the file does not hold
//	heap := core.Blocks(f, f.Maps)      // without history: what was allocated
//	for _, b := range heap.InUse() { … b.Addr, b.Size … }
//
// A core file that was cut off is read as far as it goes. Memory that the
// kernel leaves out of core files because it is unchanged in a mapped file is
// read from that file, unless the file has changed since.
//
// It does not unwind stacks, look up symbols, or read core files of other
// machines. It is pure: a core can be read on any system.
package core
