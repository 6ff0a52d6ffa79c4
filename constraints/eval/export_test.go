package eval

import "mgtrace/mgpp"

// Scratch evaluates everything on a view, hypothetical or not.
func Scratch(c *Checker, v mgpp.View) []Inconsistency {
	c.g.Advance()
	return c.scratch(v).list()
}
