// Package x86 tells what an x86-64 instruction writes to memory, how long it
// is, and where it goes next.
//
//	in, err := x86.Decode([]byte{0x48, 0x89, 0x07}, 0x1000)
//	// in.Len == 3, in.Effect == x86.EffectStore,
//	// in.Store: 8 bytes of RAX at [RDI]
//	x86.Text(code, pc) // "mov qword ptr [rdi], rax"
//
// Decode knows the legacy, VEX, EVEX and XOP encodings of 64-bit mode as in the
// Intel SDM (volume 2, appendix A) and AMD APM (volume 3). It is made for
// sweeping whole programs: it allocates nothing and builds no text.
//
// It does not execute, does not list what an instruction reads, and does not
// know APX (REX2, EVEX map 4). An instruction that it does not know is an
// error, or EffectUnknown if its length is certain but its effect is not.
package x86
