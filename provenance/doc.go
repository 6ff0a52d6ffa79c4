// Package provenance follows addresses of heap blocks through a program's registers
// and memory, instruction by instruction, and finds accesses through an address of one
// block that hit another one or none (thesis 3.3.3): overflows, use after free.
//
//	c := provenance.New(options)
//	for what happened, in order of instants {
//		c.Heap(&event)           // a block was born, moved or freed
//		c.Record(&rec, block)    // instructions were executed (package flow)
//	}
//	for _, f := range c.Faults() { … }
//
// A flow has addresses and no values. What an access went through is known all the
// same: each register and each word of memory has a [Tag], the block that its value is
// an address of, and instructions carry tags on. A difference of two addresses is a
// tag of its own, so that b + (p − a) is an address of b's block or p's as arithmetic
// has it, and not a fault.
//
// What is not certain is not judged: a value that comes from tagged ones in a way that
// is not understood is Unknown, and so is what is computed from it. So faults are
// missed, and healthy programs are silent.
//
// Allocators are not judged inside, for all memory is theirs.
//
// The package knows no debug information and reads no files.
package provenance
