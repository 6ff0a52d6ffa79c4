// Package patch plans how machine code is changed so that control reaches a
// trampoline at given instructions, and nothing else changes.
//
//	plan, err := patch.Make(code, sites, free, emitter)
//	err = patch.Verify(plan, code, sites, free, emitter)
//	// write plan.Trampolines to free memory, then plan.Patches over the code
//
// A jump has five bytes and many instructions have fewer. Without knowing the
// control flow no instruction may be moved, so the tactics are those of
// G. J. Duck, X. Gao, A. Roychoudhury, "Binary Rewriting without Control Flow
// Recovery" (PLDI 2020): B1 a jump over an instruction of five bytes or more; B2
// a jump whose last bytes are those of the next instructions, which are left as
// they are (a pun); T1 a pun behind redundant prefixes; T2 a pun over a
// successor that was itself replaced by a jump; T3 a short jump to a jump in the
// tail of a victim, an instruction nearby that was itself replaced. What no
// tactic reaches gets a breakpoint.
//
// Invariants, which Verify proves of a plan:
//
//   - From every instruction of the original code, whether control comes from
//     the one before it, a jump or a return, the same happens as before: the
//     instruction is unchanged, or what is there leads to a trampoline for
//     exactly this instruction.
//   - Bytes outside the given ranges of instructions do not change.
//   - Trampolines lie in free memory and do not overlap.
//
// What a pun reads must not change later: all sites of a mapping belong in one
// plan. To add sites, the old patches are undone and a new plan is made.
//
// Relocate encodes an instruction for another address. The package knows nothing
// of what a trampoline is for, and of processes.
package patch
