// Package evidence finds the type of what an allocation site allocates.
//
//	f := evidence.NewFinder(source)
//	e := f.ForStack([]evidence.Frame{{File: libc, Addr: 0x9a2f1}, {File: prog, Addr: 0x1190}})
//	e.Type // qdtree; e.Why: "stored in `q` (qdtree *) at quad.c:16"
//
// The type is the static one through which the new pointer is first stored or
// read. To find it, the machine code behind the call is followed with abstract
// values: where the new pointer is in registers and stack slots, and what other
// registers point to; what a call has returned as void * is a pointer to what it is stored
// as. It tells when the pointer
//
//   - lies where debug information places a variable of pointer type,
//   - is stored into a field, array element or global of pointer type,
//   - is passed to a function whose parameter has pointer type ("this" of a
//     constructor, for one), or is a reference to a pointer,
//   - is returned by a function of pointer type; where that type is void *, the
//     calling frame is asked in turn.
//
// The name of a C++ allocator tells it at once, or that of std::make_unique, and so does the virtual table that is stored at the beginning
// of a block, if it is that of a class of the size that was asked for. As a last resort the source
// text of the statement is read: a cast, new T, sizeof(T), sizeof *p. It tells as well which of several
// pointers in a union is meant that a place belongs to: the one that the statement assigns.
//
// void * is no evidence, and char * only where nothing else is said. Types of
// which one begins with the other (a class and its first base, a structure and
// its first member) agree on the larger; other disagreement is no evidence: a
// wrong type is worse than none.
//
// ForAccess asks an instruction instead that accesses an object: which pointer its
// address is computed from.
//
// The package reads no memory and knows no values: how many elements a block
// has is decided by its real size.
package evidence
