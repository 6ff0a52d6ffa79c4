// Package objfile reads one ELF file with its debug information: functions,
// source lines, inlined frames, variables and where they are, types, and how
// to unwind a stack.
//
//	f, err := objfile.Open("/usr/bin/ls", objfile.Options{})
//	for _, fr := range f.Frames(addr) { // innermost first
//		fmt.Println(fr.Function, fr.File, fr.Line)
//	}
//
// All addresses are virtual addresses of the file, as its symbols have them;
// where the file is mapped is the caller's knowledge. Debug information is
// found where distributions and compilers put it: in the file, in a separate
// file (by build-id or .gnu_debuglink), shared between files (dwz), and split
// (.dwo, .dwp). Everything beyond the headers is read when it is first asked
// for, and by compilation unit, so that one address of a program with a
// hundred megabytes of debug information is answered from one unit.
//
// A File is safe for concurrent use. Input never makes it panic: what is
// corrupted is absent.
//
// It does not read source text, does not download debug information, and
// knows only little-endian x86-64. The place of a virtual base class depends on
// the object: in converted types it has Offset -1, but in those of classes from which no
// other one of the file derives.
package objfile
