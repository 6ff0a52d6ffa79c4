// Package typing says which block of memory is a node of which declared type: by
// the rules of the specification, by what debug information shows of the calls
// that led to its allocation, by the typed pointers that lead to it where nobody saw
// that, and by its size at last; and which blocks can not matter at all.
package typing
