// Package x86 tells what an x86-64 instruction reads and writes, how long it
// is, and where it goes next.
//
//	in, err := x86.Decode([]byte{0x48, 0x89, 0x07}, 0x1000)
//	// in.Len == 3, in.Effect == x86.EffectStore,
//	// in.Store: 8 bytes of RAX at [RDI]
//	x86.Text(code, pc) // "mov qword ptr [rdi], rax"
//	var e x86.Effects
//	in.Effects(&e) // reads rax and, for an address, rdi; one access to memory
//
// Decode knows the legacy, VEX, EVEX and XOP encodings of 64-bit mode as in the
// Intel SDM (volume 2, appendix A) and AMD APM (volume 3). It is made for
// sweeping whole programs: it allocates nothing and builds no text.
//
// Effects follows one table, a line for instructions that are alike: see
// effectRows. What is not in it (XOP, AMX, privileged instructions) is Unknown.
//
// The package does not execute, and does not know APX (REX2, EVEX map 4). An
// instruction that it does not know is an error, or EffectUnknown if its length is
// certain but its effect is not.
package x86
