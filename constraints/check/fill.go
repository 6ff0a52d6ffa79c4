package check

import (
	"mgtrace/constraints/syntax"
	"mgtrace/types"
)

// HiddenCell is a pointer of a type that is none of its edges, as a cell.
func HiddenCell(s types.Scalar) *EdgeCell {
	return &EdgeCell{Name: s.Path, Offset: s.Offset, Count: 1, Stride: 8, Elem: s.Type.Elem, Fills: endedBy(s.End)}
}

// endedBy is the Fill of a pointer to the first element of a vector.
func endedBy(end int64) *Fill {
	if end == 0 {
		return nil
	}
	return &Fill{End: end}
}

// fills resolves "cells T: f[lo..hi] if e;" where f is a pointer to an array.
func (c *checker) fills(cell *EdgeCell, d *syntax.Cells, lo, hi, cond Expr) {
	if a := c.nodeOf(cell.Elem, nil); a == nil || !a.Array {
		c.errorf(d.Field.Pos, "`%s` is no array, nor does it lead to a block of an ARRAY type: leave out the range", d.Field.Name)
		return
	}
	if cell.Fills != nil && cell.Fills.End == 0 {
		c.errorf(d.Pos, "how far `%s` is in use is said twice", d.Field.Name)
		return
	}
	cell.Fills = &Fill{Lo: lo, Hi: hi, Cond: cond}
}
