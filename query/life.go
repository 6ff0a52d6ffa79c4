package query

import (
	"slices"
	"sort"

	"mgtrace/mgpp"
	"mgtrace/report"
	"mgtrace/trace"
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
	resizes := upTo(n.hist.Resizes(id), end)
	whole := Cell{Name: l.Name, Node: id, Addr: node.Start, Size: n.hist.NodeSize(id, end), Type: l.Type.Type}
	for most == 0 || len(l.Changes) < most {
		at := n.hist.LastWrite(node.Start, max(whole.Size, 1), end)
		if k := len(resizes) - 1; k >= 0 && resizes[k].Time > at {
			// What lay behind it before it grew was another one's.
			l.Changes = append(l.Changes, n.lifeAt(resizes[k].Time))
			end, whole.Size = resizes[k].Time-1, resizes[k].Was
			resizes = resizes[:k]
			continue
		}
		if at <= node.Birth {
			if node.Birth > 0 && !node.Before && node.Global == 0 && !node.Tracked {
				l.Changes = append(l.Changes, n.lifeAt(node.Birth))
			}
			slices.Reverse(l.Changes)
			return l
		}
		l.Changes = append(l.Changes, n.written(n.hist.Op(at), whole))
		end = at - 1
	}
	l.Left = true
	slices.Reverse(l.Changes)
	return l
}

// upTo are the resizes that were made at or before a time.
func upTo(list []mgpp.Resize, t mgpp.Timestamp) []mgpp.Resize {
	return list[:sort.Search(len(list), func(i int) bool { return list[i].Time > t })]
}

// since is from when on a byte that is in a node at a time has been in it without a break: its
// birth, or the resize that brought it in. What was written there before was another's.
func (n *Names) since(node *mgpp.Node, t mgpp.Timestamp) func(trace.Addr) mgpp.Timestamp {
	resizes := upTo(n.hist.Resizes(node.ID), t)
	return func(addr trace.Addr) mgpp.Timestamp {
		for _, r := range slices.Backward(resizes) {
			if r.Was <= uint64(addr-node.Start) {
				return r.Time
			}
		}
		return node.Birth
	}
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
