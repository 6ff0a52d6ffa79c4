// Package layout is what the two halves of the in-process engine agree on: the
// code that runs in the traced process (trampolines of inline/emit, the hook
// routine of inline/hook) and the code that reads what it wrote (inline/log).
//
// It has the thread block that GS points to, the process block, and the
// records of the log. All offsets and sizes are in bytes, all numbers little
// endian. hook/c/layout.h mirrors them for C; a test compares the two.
// docs/design/inline.md tells how they are used.
package layout
