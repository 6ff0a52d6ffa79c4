package query

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/report"
)

// Life is what a node lived through.
type Life struct {
	Node    mgpp.Node // Size: its last
	Name    string
	Type    Typed
	Changes []Change // in order, its birth and death among them
	Left    bool     // there are older changes that are not listed
}

// Life returns the changes of a node up to a time: all, or the newest if most is
// not 0.
func (n *Names) Life(id mgpp.NodeID, until mgpp.Timestamp, most int) Life {
	node := n.hist.Node(id)
	l := Life{Node: node, Name: n.Name(id), Type: n.Type(id)}
	end := until
	if node.Death != 0 && node.Death <= until {
		l.Changes = append(l.Changes, n.lifeAt(node.Death))
		end = node.Death - 1
	}
	resizes := n.hist.Resizes(id)
	size := node.Size
	for _, t := range resizes {
		size = max(size, n.hist.NodeSize(id, t-1))
	}
	whole := Cell{Name: l.Name, Node: id, Addr: node.Start, Size: max(size, 1), Type: l.Type.Type}
	for most == 0 || len(l.Changes) < most {
		at := n.hist.LastWrite(node.Start, max(size, 1), end)
		if k := len(resizes); k > 0 && resizes[k-1] > end {
			resizes = resizes[:k-1]
			continue
		}
		if k := len(resizes); k > 0 && resizes[k-1] > at {
			l.Changes = append(l.Changes, n.lifeAt(resizes[k-1]))
			resizes = resizes[:k-1]
			continue
		}
		if at <= node.Birth {
			if node.Birth > 0 && !node.Before && node.Global == 0 && !node.Tracked {
				l.Changes = append(l.Changes, n.lifeAt(node.Birth))
			}
			slices.Reverse(l.Changes)
			return l
		}
		whole.Size = n.hist.NodeSize(id, at)
		l.Changes = append(l.Changes, n.written(n.hist.Op(at), whole))
		end = at - 1
	}
	l.Left = true
	slices.Reverse(l.Changes)
	return l
}

func (n *Names) lifeAt(t mgpp.Timestamp) Change {
	op := n.hist.Op(t)
	return Change{Op: op, What: n.life(op)}
}

func byteCount(n uint64) string { return count(int(n), "byte", "bytes") }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return report.Thousands(uint64(n)) + " " + many
}
