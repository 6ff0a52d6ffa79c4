// Package types describes the layouts of C and C++ types.
//
// A Type comes from debug information (package objfile builds a Universe of
// them) or from declarations in C:
//
//	d, errs := types.ParseC("struct btree { int count; int key[2]; struct btree *child[3]; };")
//	t := d.Lookup("btree")
//	t.Scalars()[3].Path          // "child[0]": X[4] of the constraint language
//	p, err := t.Find("child[2]") // offset 32, a pointer to btree
//	types.Read(t.Scalars()[0], bytes).String()
//
// Layouts are those of the System V ABI for x86-64 as gcc applies it:
// little-endian, 8-byte pointers, bit-fields packed from the low bit.
//
// The package does not read debug information, knows no memory and follows no
// pointer: a path ends at the first one.
package types
