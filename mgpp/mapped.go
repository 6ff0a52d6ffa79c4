package mgpp

import "slices"

// mapping is a range that was mapped or unmapped after time operations.
type mapping struct {
	time   uint32
	lo, hi uint64
}

// mappings are those of a run, in order. An allocator may take as many small ranges as it gives out blocks: they are kept by page.
type mappings struct {
	large []mapping
	small map[uint64][]mapping
}

// smallMapping is how many pages one is kept by, at most.
const smallMapping = 4

func (m *mappings) add(r mapping) {
	first, last := r.lo>>pageBits, (r.hi-1)>>pageBits
	if r.lo >= r.hi || last-first >= smallMapping {
		m.large = append(m.large, r)
		return
	}
	for page := first; page <= last; page++ {
		m.small[page] = append(m.small[page], r)
	}
}

// between reports whether addr was mapped or unmapped behind operation from, and before operation to: what was freed there before has nothing to do with it
// any more.
func (m *mappings) between(addr uint64, from, to uint32) bool {
	for _, list := range [2][]mapping{m.large, m.small[addr>>pageBits]} {
		for _, r := range slices.Backward(list) {
			if r.time < from {
				break
			}
			if r.time < to && r.lo <= addr && addr < r.hi {
				return true
			}
		}
	}
	return false
}

// freedAt returns the node that contained addr last when operation t came; 0 if none ever did, or its memory was mapped or unmapped since
// it died.
func (h *History) freedAt(addr uint64, t uint32) NodeID {
	id := h.formerAt(addr, t)
	if n := h.nodes.at(id); id != 0 && !n.alive(t) && h.mapped.between(addr, n.death, t) {
		return 0
	}
	return id
}
