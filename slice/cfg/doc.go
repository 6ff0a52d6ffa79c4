// Package cfg finds on which branch the execution of a block of machine code
// depends: the control-flow graph of a function from its instructions, and for
// each branch its join, the immediate post-dominator, where both ways have met
// again.
//
//	f := cfg.Build(entry, code)
//	join, ok := f.Join(pc) // of the branch instruction at pc
//
// [Explore] finds the loops of a function, and what is reached from where.
//
// It reads no files and executes nothing: instructions, and the targets that
// indirect jumps were seen to have, come from a [Code].
package cfg
