package slice

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// backwardWays are the ways of a backward slice: of each step how its wanted ops were
// reached. The others were reached through these, as their plan says.
type backwardWays struct {
	x     *Index
	o     Options
	plans []*plan
	marks []wayMark // of segments, the newest first
	parts [][]byte  // of partLen bytes, or a little more
	size  int       // bytes
	met   metSegment
}

// wayMark is where the steps of a segment are, the newest first.
type wayMark struct{ segment, part, at int }

// A step takes its number in the segment (u16), its plan (u32), and for each wanted op the
// distance from the criterion (u32) and how it was reached: the kind, with wayLocal and an
// op of the segment (3 bytes), or with wayFar and a Node, or with neither.
const (
	wayLocal = 4
	wayFar   = 8

	wayHead = 2 + 4

	partLen = 1 << 20
)

// add takes down the steps of a segment that are in the slice, and how their ops were reached.
func (w *backwardWays) add(s *swept) {
	if w.size > w.o.pathLimit() {
		return
	}
	n := len(w.parts) - 1
	if n < 0 || len(w.parts[n]) > partLen*7/8 {
		w.parts = append(w.parts, make([]byte, 0, partLen))
		n++
	}
	b := w.parts[n]
	was := len(b)
	w.marks = append(w.marks, wayMark{s.segment.number, n, was})
	le := binary.LittleEndian
	for _, t := range s.taken {
		b = le.AppendUint32(le.AppendUint16(b, uint16(t.step)), t.plan.id)
		need := s.need[s.segment.steps[t.step].base:]
		for _, op := range t.plan.wanted {
			v := need[op]
			b = le.AppendUint32(b, v.dist)
			kind := byte(v.via & 3)
			if v.via&viaPending == 0 {
				at := v.via >> viaShift
				b = append(b, kind|wayLocal, byte(at), byte(at>>8), byte(at>>16))
			} else if by := s.bucket.p[v.via>>viaShift].via; by != 0 {
				b = le.AppendUint64(append(b, kind|wayFar), uint64(by))
			} else {
				b = append(b, kind)
			}
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
			from[op] = node(w.met.first, 0) + Node(b[5]) + Node(b[6])<<8 + Node(b[7])<<16
		case tag&wayFar != 0:
			from[op] = Node(le.Uint64(b[5:]))
		}
		b = b[wayLen(tag):]
	}
	p.spread(&far, w.o)
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
		return 4 + 1 + 3
	case tag&wayFar != 0:
		return 4 + 1 + 8
	}
	return 4 + 1
}

// metSegment is a segment that steps were looked for in: where they are.
type metSegment struct {
	first StepID // 0: none
	b     []byte
	at    []int32 // by step; 0: it is not in the slice; else its place in b + 1
}

// step returns the plan of a step, and the ways of its wanted ops; nil if the step is not
// in the slice, or was not kept.
func (w *backwardWays) step(s StepID) (*plan, []byte) {
	m := &w.met
	segment := w.x.segmentOf(s)
	if m.first == 0 || w.x.segmentOf(m.first) != segment {
		w.meet(segment)
	}
	at := m.at[s-m.first]
	if at == 0 {
		return nil, nil
	}
	b := m.b[at-1:]
	return w.plans[binary.LittleEndian.Uint32(b[2:])], b[wayHead:]
}

// meet finds where the steps of a segment are.
func (w *backwardWays) meet(segment int) {
	m := &w.met
	*m = metSegment{first: w.x.firstOf(segment), at: make([]int32, 1<<w.x.bits)}
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
		m.at[binary.LittleEndian.Uint16(m.b[at:])] = int32(at) + 1
		p := w.plans[binary.LittleEndian.Uint32(m.b[at+2:])]
		at += wayHead
		for range p.wanted {
			at += wayLen(m.b[at+4])
		}
	}
}
