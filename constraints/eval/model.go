package eval

import (
	"mgtrace/mgpp"
)

// LastChange returns the newest operation at or before t that touched one of the
// dependencies, 0 if none.
func LastChange(m Model, deps []Dep, t mgpp.Timestamp) (last mgpp.Timestamp) {
	for _, d := range deps {
		last = max(last, m.LastChange(d, t))
	}
	return last
}

// LastChange returns the newest operation at or before t that touched the
// dependency, 0 if none.
func (c *Checker) LastChange(d Dep, t mgpp.Timestamp) mgpp.Timestamp {
	c.g.Advance()
	switch d.Kind {
	case DepBytes:
		return c.hist.LastWrite(d.Addr, d.Size, t)
	case DepIn:
		return c.g.InChange(d.Obj, t)
	case DepLife:
		if d.Obj == 0 {
			return c.nodeChange(d.Node, t)
		}
		return c.g.LifeChange(d.Obj, t)
	case DepPopulation:
		return c.g.PopulationChange(d.Type, t)
	case DepAttr:
		return c.attrChange(d, t)
	}
	return 0
}

// nodeChange is LastChange for the life of a block that is no object.
func (c *Checker) nodeChange(id mgpp.NodeID, t mgpp.Timestamp) mgpp.Timestamp {
	n := c.hist.Node(id)
	switch {
	case n.Death != 0 && n.Death <= t:
		return n.Death
	}
	resizes := c.hist.Resizes(id)
	for i := len(resizes) - 1; i >= 0; i-- {
		if resizes[i].Time <= t {
			return resizes[i].Time
		}
	}
	if n.Birth <= t {
		return n.Birth
	}
	return 0
}

var _ Model = (*Checker)(nil)
