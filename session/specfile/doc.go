// Package specfile reads the file of a specification, checks it against a program,
// and says what must be captured for it.
package specfile
