package graph

import "math"

// overhangs notes an object if the specification reads by a pointer to that offset of it what lies behind it:
// whatever is there in memory.
func (g *Graph) overhangs(b *object, off uint64) {
	if b.Type == nil || b.Type.Layout == nil || b.Type.Array || b.rare().short {
		return
	}
	if g.reads != nil && !g.reads[b.Type.Index].Behind {
		return // where pointers lead, nothing is read
	}
	if lo, hi := int64(b.Size)-int64(off), b.Type.Layout.Size; lo < hi && b.lay.reads(lo, hi) {
		b.toRare().short = true
		g.short = append(g.short, b.ID)
	}
}

// markShort notes that what lies behind an object may have changed, as anything has, if a pointer leads to it that may
// be read there. Only in damaged structures there is one.
func (g *Graph) markShort(c *Changes) {
	if len(g.short) == 0 || len(c.Dirt) == 0 && !c.Untyped {
		return
	}
	for _, o := range g.short {
		size := g.objs.at(o).Size
		c.Of(o).Mask |= Parts(int64(size), math.MaxInt64, size)
	}
}
