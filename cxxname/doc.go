// Package cxxname says when two names of a C++ function or type are the same: as a
// programmer writes them, as compilers put them into debug information, and as the
// symbol table has them, mangled.
//
//	cxxname.Plain("std::vector<std::string>")       // the key of a type
//	cxxname.Find("Tree::insert", names)             // the functions that a user means
//
// It knows names alone, no program.
package cxxname
