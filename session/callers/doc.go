// Package callers finds which calls led to an instruction, where the code leaves no choice.
//
//	g := callers.New(symbols)
//	stack := g.Between(insert, pc) // return addresses, innermost first
//
// A store says by which instruction it was done, not from where that was called. But if it
// was done while insert was open, and all that insert can lead to has one call of the
// instruction's function, it was that one.
//
// Where there are several, [Graph.Among] asks what else the thread did in that call, and [Graph.Around] with
// which calls, further out, all ways there begin. Where no function is known to be open, [Graph.FromMain] does all this from main on, if nothing
// else leads there. Of a library without source [Graph.Into] tells the lines of the
// program from which it may have come there, and Among from which of them it did.
//
// What can be called is read off the machine code: direct calls, and functions whose address
// is taken there, since who gets it may call them. A call or a jump through a
// register or memory, as of a virtual function, may lead to each function whose address is known anywhere in the program: what is called from one
// place only, and from none of these, was called from there. Among says nothing where there are such calls.
package callers
