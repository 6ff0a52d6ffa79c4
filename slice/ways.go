package slice

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// backwardWays are the ways of a backward slice: of each step how its wanted ops were
// reached. The others were reached through these, as their plan says.
type backwardWays struct {
	plans *planner
	marks []wayMark // of segments, the newest first
	parts [][]byte  // of partLen bytes, or less
	limit int       // bytes
	size  int
	met   metSegment
}

// wayMark is where the steps of a segment are, the newest first.
type wayMark struct{ segment, part, at int }

// A step takes its number in the segment, its plan (u32), and for each wanted op the
// distance from the criterion (u32) and how it was reached: the kind, with wayLocal and an
// op of the segment (u16), or with wayFar and a Node, or with neither.
const (
	wayLocal = 4
	wayFar   = 8

	wayHead = 1 + 4
	wayMost = 4 + 1 + 8

	partLen = 1 << 20
)

// begin begins a segment.
func (w *backwardWays) begin(segment int) {
	w.room()
	n := len(w.parts) - 1
	w.marks = append(w.marks, wayMark{segment, n, len(w.parts[n])})
}

// room makes place for a segment in the last part.
func (w *backwardWays) room() {
	if n := len(w.parts); n == 0 || cap(w.parts[n-1])-len(w.parts[n-1]) < segmentLen*(wayHead+4*wayMost) {
		w.parts = append(w.parts, make([]byte, 0, partLen))
	}
}

// add takes down step k of the segment whose first op is first.
func (w *backwardWays) add(k int, p *plan, need []reached, first Node, l *planner) {
	if w.size > w.limit {
		return
	}
	le := binary.LittleEndian
	n := len(w.parts) - 1
	b := w.parts[n]
	was := len(b)
	b = le.AppendUint32(append(b, byte(k)), p.id)
	for _, op := range p.wanted {
		v := &need[op]
		b = le.AppendUint32(b, v.dist)
		switch kind := byte(l.edges[v.edge].kind); {
		case v.via == 0:
			b = append(b, kind)
		case v.via-first < firstSource:
			at := uint16(v.via - first)
			b = append(b, kind|wayLocal, byte(at), byte(at>>8))
		default:
			b = le.AppendUint64(append(b, kind|wayFar), uint64(v.via))
		}
	}
	w.parts[n] = b
	w.size += len(b) - was
}

func (w *backwardWays) find(n Node) (via Node, kind EdgeKind, ok bool) {
	p, b := w.step(n.Step())
	if p == nil || p.all&(1<<n.Op()) == 0 {
		return 0, 0, false
	}
	var far distances
	var from [maxPieceOps]Node
	le := binary.LittleEndian
	for _, op := range p.wanted {
		far.from(op, le.Uint32(b))
		tag := b[4]
		far[op].kind = EdgeKind(tag & 3)
		switch {
		case tag&wayLocal != 0:
			from[op] = node(w.met.first, 0) + Node(le.Uint16(b[5:]))
		case tag&wayFar != 0:
			from[op] = Node(le.Uint64(b[5:]))
		}
		b = b[wayLen(tag):]
	}
	p.spread(&far, w.plans.out.Options)
	at := far[n.Op()]
	if at.by >= 0 {
		return node(n.Step(), uint16(at.by)), at.kind, true
	}
	return from[n.Op()], at.kind, true
}

// wayLen is how long the way of an op is, in bytes.
func wayLen(tag byte) int {
	switch {
	case tag&wayLocal != 0:
		return 4 + 1 + 2
	case tag&wayFar != 0:
		return 4 + 1 + 8
	}
	return 4 + 1
}

// metSegment is a segment that steps were looked for in: where they are.
type metSegment struct {
	first StepID // 0: none
	b     []byte
	at    [segmentLen]int32 // 0: the step is not in the slice; else its place in b + 1
}

// step returns the plan of a step, and the ways of its wanted ops; nil if the step is not
// in the slice, or was not kept.
func (w *backwardWays) step(s StepID) (*plan, []byte) {
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
	return w.plans.plans[binary.LittleEndian.Uint32(b[1:])], b[wayHead:]
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
		m.at[m.b[at]] = int32(at) + 1
		p := w.plans.plans[binary.LittleEndian.Uint32(m.b[at+1:])]
		at += wayHead
		for range p.wanted {
			at += wayLen(m.b[at+4])
		}
	}
}
