package slice

import (
	"cmp"
	"math/bits"
	"slices"
)

// backwardWays are the ways of a backward slice: of each step how its wanted ops were
// reached. The others were reached through these, as their plan says.
type backwardWays struct {
	plans *planner
	marks []wayMark  // of segments, the newest first
	parts [][]uint32 // of partLen words, or a little more
	limit int        // bytes
	size  int        // bytes of the parts that are full
	full  bool       // the limit was met
	first Node       // of the segment in hand
	met   metSegment
}

// wayMark is where the steps of a segment are, the newest first.
type wayMark struct{ segment, part, at int }

// A step takes a word: its plan<<segmentBits | its number in the segment. Each wanted op takes
// a word: how much farther it is from the criterion than the nearest one (15 bits up from
// wayFarther), and how it was reached: an op of the segment<<2 | the kind. With wayFar, how
// much farther it is has 31 bits, and how it was reached is in two words more.
const (
	wayFarther = 16
	wayFar     = 1 << 31

	partLen = 1 << 18
)

// begin begins a segment.
func (w *backwardWays) begin(segment int) {
	w.first = node(StepID(segment<<segmentBits+1), 0)
	n := len(w.parts) - 1
	if n < 0 || len(w.parts[n]) >= partLen {
		if n >= 0 {
			w.size += 4 * len(w.parts[n])
		}
		w.full = w.full || w.size > w.limit
		if w.full {
			return
		}
		n++
		w.parts = append(w.parts, make([]uint32, 0, partLen+partLen/16))
	}
	w.marks = append(w.marks, wayMark{segment, n, len(w.parts[n])})
}

// add takes down step k of the segment; from is what was pending in it.
func (w *backwardWays) add(k int, p *routes, need *[maxStepOps]reached, nearest uint32, from []pending) {
	w.full = w.full || p.id >= 1<<(32-segmentBits)
	if w.full {
		return
	}
	part := &w.parts[len(w.parts)-1]
	b := append(*part, p.id<<segmentBits|uint32(k))
	for _, op := range p.wanted {
		r := need[op&(maxStepOps-1)]
		farther := r.dist() - nearest
		op, kind, local := r.local()
		if local && farther < wayFar>>wayFarther {
			b = append(b, farther<<wayFarther|uint32(wayBy(op, kind)))
			continue
		}
		v := wayBy(w.first+op, kind)
		if !local {
			v = from[uint32(r)].way
		}
		b = append(b, farther|wayFar, uint32(v), uint32(v>>32))
	}
	*part = b
}

func (w *backwardWays) find(n Node) (via Node, kind EdgeKind, ok bool) {
	p, b := w.step(n.Step())
	if p == nil || p.all&(1<<n.Op()) == 0 {
		return 0, 0, false
	}
	var far distances
	var from [maxStepOps]Node
	for op := range bitsOf(p.mask) {
		v := way(b[0] & (1<<wayFarther - 1))
		if b[0]&wayFar != 0 {
			far.from(op, b[0]&^wayFar)
			v = way(b[1]) | way(b[2])<<32
			from[op] = v.via()
		} else {
			far.from(op, b[0]>>wayFarther)
			from[op] = node(w.met.first, 0) + v.via()
		}
		far[op].kind = v.kind()
		b = b[wayLen(b[0]):]
	}
	p.spread(&far, w.plans.out.Options)
	at := far[n.Op()]
	if at.by >= 0 {
		return node(n.Step(), uint16(at.by)), at.kind, true
	}
	return from[n.Op()], at.kind, true
}

// wayLen is how long the way of an op is, in words.
func wayLen(first uint32) int {
	if first&wayFar != 0 {
		return 3
	}
	return 1
}

// metSegment is a segment that steps were looked for in: where they are.
type metSegment struct {
	first StepID // 0: none
	b     []uint32
	at    [segmentLen]int32 // 0: the step is not in the slice; else its place in b + 1
}

// step returns the plan of a step, and the ways of its wanted ops; nil if the step is not
// in the slice, or was not kept.
func (w *backwardWays) step(s StepID) (*routes, []uint32) {
	m := &w.met
	segment := segmentOf(s)
	if m.first == 0 || segmentOf(m.first) != segment {
		w.meet(segment)
	}
	at := m.at[s-m.first]
	if at == 0 {
		return nil, nil
	}
	b := m.b[at-1:]
	return w.plans.plans[b[0]>>segmentBits].routes, b[1:]
}

// meet finds where the steps of a segment are.
func (w *backwardWays) meet(segment int) {
	m := &w.met
	*m = metSegment{first: StepID(segment<<segmentBits + 1)}
	i, ok := slices.BinarySearchFunc(w.marks, segment, func(m wayMark, s int) int { return cmp.Compare(s, m.segment) })
	if !ok {
		return
	}
	mark := w.marks[i]
	m.b = w.parts[mark.part][mark.at:]
	if i+1 < len(w.marks) && w.marks[i+1].part == mark.part {
		m.b = m.b[:w.marks[i+1].at-mark.at]
	}
	for at := 0; at < len(m.b); {
		m.at[m.b[at]&(segmentLen-1)] = int32(at) + 1
		p := w.plans.plans[m.b[at]>>segmentBits].routes
		at++
		for range bits.OnesCount64(p.mask) {
			at += wayLen(m.b[at])
		}
	}
}
