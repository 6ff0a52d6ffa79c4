// Package coded says how a word of memory holds a pointer that a program does not
// store as it is.
package coded

// Pointer is how a word holds a pointer. The zero Pointer is Plain.
type Pointer struct {
	Tags uint64 // bits of the word that are none of the pointer's, in which those are 0
}

// Plain is a pointer that is stored as it is; read-only.
var Plain Pointer

// Decode returns the pointer in a word.
func (p Pointer) Decode(word uint64) uint64 { return word &^ p.Tags }

// Tag returns the bits of a word that are none of the pointer's.
func (p Pointer) Tag(word uint64) uint64 { return word & p.Tags }
