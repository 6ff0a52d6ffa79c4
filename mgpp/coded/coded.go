// Package coded says how a word of memory holds a pointer that a program does not
// store as it is.
package coded

// Pointer is how a word holds a pointer. The zero Pointer is Plain.
type Pointer struct {
	Tags uint64 // bits of the word that are none of the pointer's, in which those are 0
	// Shift is how far the word's own address is shifted right before the word is combined
	// with it by exclusive or, 0: it is not. glibc's free lists do so with 12 (PROTECT_PTR),
	// so that nobody who does not know where the heap lies can write a link.
	Shift uint8
}

// Plain is a pointer that is stored as it is; read-only.
var Plain Pointer

// Decode returns the pointer in a word that lies at an address.
func (p Pointer) Decode(word, addr uint64) uint64 { return p.open(word, addr) &^ p.Tags }

// Tag returns the bits of a word that are none of the pointer's.
func (p Pointer) Tag(word, addr uint64) uint64 { return p.open(word, addr) & p.Tags }

// open undoes the exclusive or.
func (p Pointer) open(word, addr uint64) uint64 {
	if p.Shift == 0 {
		return word
	}
	return word ^ addr>>p.Shift
}

// With returns how a word holds a pointer that is coded both ways.
func (p Pointer) With(q Pointer) Pointer {
	return Pointer{Tags: p.Tags | q.Tags, Shift: max(p.Shift, q.Shift)}
}
