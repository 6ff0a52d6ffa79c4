// Package callers finds which calls led to an instruction, where the code leaves no choice.
//
//	g := callers.New(symbols)
//	stack := g.Between(insert, pc) // return addresses, innermost first
//
// A store says by which instruction it was done, not from where that was called. But if it
// was done while insert was open, and all that insert can lead to has one call of the
// instruction's function, it was that one.
//
// Where there are several, [Graph.Among] asks what else the thread did in that call. Of a library without
// source [Graph.Into] tells the lines of the program from which it may have come there.
//
// What can be called is read off the machine code: direct calls, and functions whose address
// is taken there, since who gets it may call them. Where a call or a jump goes through a
// register or memory nothing is said.
package callers
