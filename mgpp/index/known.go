package index

import "mgtrace/mgpp"

// knownNodes are the nodes that were found last, by their numbers. They lie one behind the
// other: few places of the table are used, and to touch fresh memory costs as much as to read a
// row.
type knownNodes struct {
	places [knownPlaces]uint16 // where in list, plus 1, by the low bits of the number
	list   []node
	oldest int // of a full list
}

const (
	knownPlaces = 1 << 12
	mostKnown   = 1 << 10
)

// find returns a node; nil if it is not known.
func (k *knownNodes) find(id mgpp.NodeID) *node {
	if i := k.places[id%knownPlaces]; i != 0 && k.list[i-1].id == id {
		return &k.list[i-1]
	}
	return nil
}

// add makes a node known, in place of what was known of it.
func (k *knownNodes) add(n node) *node {
	place := &k.places[n.id%knownPlaces]
	switch {
	case *place != 0: // its own, or of another, which is not known any more
	case len(k.list) < mostKnown:
		if k.list == nil {
			k.list = make([]node, 0, mostKnown)
		}
		k.list = append(k.list, node{})
		*place = uint16(len(k.list))
	default:
		k.places[k.list[k.oldest].id%knownPlaces] = 0
		*place = uint16(k.oldest + 1)
		k.oldest = (k.oldest + 1) % mostKnown
	}
	k.list[*place-1] = n
	return &k.list[*place-1]
}
