// Package symbol names addresses: the function and the source line of an
// instruction, with the calls that were inlined there and the text of the line,
// and where a specification asks, the types and variables of a program's files.
package symbol
