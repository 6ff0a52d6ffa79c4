package slice

import "encoding/binary"

// segmentWriter takes down the steps of a segment (see segment.go for the form).
type segmentWriter struct {
	predictor // in which ops have the numbers that they have in Nodes, from the segment's first
	first     StepID
	numbers   []uint32 // of the steps' pieces among those that were met
	slot      uint32   // of the next reference
	sources   []Node
	named     []byte // the sources, encoded
	heads     bitWriter
	refs      bitWriter
	lits      []byte

	// The sources that were used last: to be forgotten costs a few bytes more.
	places [1024]struct {
		node Node
		of   StepID // the segment
		at   uint32
	}
}

// bitWriter takes down bits.
type bitWriter struct {
	b []byte
	n int
}

func (w *bitWriter) put(bit byte) {
	if w.n&7 == 0 {
		w.b = append(w.b, 0)
	}
	w.b[w.n>>3] |= bit << (w.n & 7)
	w.n++
}

func (w *bitWriter) clear() { w.b, w.n = w.b[:0], 0 }

// begin begins a segment.
func (w *segmentWriter) begin(first StepID) {
	w.predictor.begin()
	w.first = first
	w.numbers, w.sources, w.named, w.lits = w.numbers[:0], w.sources[:0], w.named[:0], w.lits[:0]
	w.heads.clear()
	w.refs.clear()
}

// end appends the segment to out.
func (w *segmentWriter) end(out []byte) []byte {
	if w.first == 0 {
		return out
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(w.refs.n))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(w.named)))
	out = append(out, w.named...)
	out = append(out, w.heads.b...)
	out = append(out, w.refs.b...)
	return append(out, w.lits...)
}

func (w *segmentWriter) literal(v uint64) { w.lits = binary.AppendUvarint(w.lits, v) }

// reference is the literal of a reference.
func (w *segmentWriter) reference(kind, v uint64) { w.literal(v<<2 | kind) }

// step begins a step. Its references follow, of which control is the last.
func (w *segmentWriter) step(s *Step, otherThread bool, since uint64) {
	number, known := w.known(s.Piece)
	n := len(w.numbers)
	if known && n > 0 && !otherThread && w.met[w.numbers[n-1]].next == number+1 {
		w.heads.put(1)
	} else {
		w.heads.put(0)
		if otherThread {
			w.literal(litThread)
			w.literal(uint64(s.Thread))
		}
		if known {
			w.literal(uint64(litPiece + len(w.met) - int(number)))
		} else {
			w.literal(litPiece)
			w.literal(uint64(s.Piece.ID))
			number = w.meet(s.Piece)
		}
		if n > 0 {
			w.met[w.numbers[n-1]].next = number + 1
		}
	}
	if s.Piece.Code == nil {
		w.literal(since)
	}
	w.slot = w.met[number].slots
	w.numbers = append(w.numbers, number)
}

// control puts down what a step depends on, and ends it.
func (w *segmentWriter) control(n Node) {
	if n == 0 {
		n = ofFrame
	}
	w.put(n)
	step := len(w.numbers) - 1
	w.met[w.numbers[step]].latest = uint32(step) << opBits
}

// put puts down a reference to one definition.
func (w *segmentWriter) put(n Node) {
	s := &w.slots[w.slot]
	if w.is(s.last, n) {
		w.slot++
		w.refs.put(1)
		return
	}
	w.differs()
	if w.is(s.other, n) {
		w.reference(litOther, otherGuess)
		s.was(s.other)
		return
	}
	if by := w.element(n); by != noGuess {
		s.was(by)
	}
}

// differs says that the next reference is not as predicted.
func (w *segmentWriter) differs() {
	w.slot++
	w.refs.put(0)
}

// is says that a guess is right.
func (w *segmentWriter) is(g guess, n Node) bool {
	switch r := w.of(g); {
	case r < refSource:
		return n == node(w.first, 0)+Node(r)
	case r < refList:
		return n == w.sources[r-refSource]
	case r == refBefore:
		return n == 0
	}
	return n == ofFrame
}

// element names a definition, and says how to guess it.
func (w *segmentWriter) element(n Node) guess {
	switch {
	case n == 0:
		w.reference(litOther, otherBefore)
		return guess(refBefore)
	case n == ofFrame:
		w.reference(litOther, otherNothing)
		return guess(refNothing)
	case n.Step() >= w.first:
		cur, step := len(w.numbers)-1, int(n.Step()-w.first)
		w.reference(litOwn, uint64(cur-step)<<opBits|uint64(n.Op()))
		if step == cur {
			return noGuess
		}
		return guess(w.numbers[step]<<opBits | uint32(n.Op()))
	}
	e := &w.places[uint64(n)*0x9e3779b97f4a7c15>>54]
	if e.node == n && e.of == w.first {
		w.reference(litSource, uint64(len(w.sources)-1-int(e.at)))
	} else {
		e.node, e.of, e.at = n, w.first, uint32(len(w.sources))
		w.sources = append(w.sources, n)
		w.named = binary.AppendUvarint(w.named, uint64(node(w.first, 0)-n))
		w.reference(litNewSource, 0)
	}
	return guess(refSource) + guess(e.at)
}

// list puts down a reference to several definitions.
func (w *segmentWriter) list(by []Node) {
	w.differs()
	w.reference(litOther, uint64(otherList+len(by)))
	for _, n := range by {
		w.element(n)
	}
}

// units puts down who wrote the units of a group.
func (w *segmentWriter) units(by *[4]Node, mask uint8) {
	var all [4]Node
	one, same, first := Node(0), true, true
	for i, n := range by {
		if mask&(1<<i) == 0 {
			all[i] = ofFrame
			continue
		}
		all[i] = n
		if first {
			one, first = n, false
		} else if n != one {
			same = false
		}
	}
	if same {
		w.put(one)
	} else {
		w.list(all[:])
	}
}

// memory puts down who wrote what is read.
func (w *segmentWriter) memory(by []Node) {
	switch len(by) {
	case 0:
		w.put(ofFrame)
	case 1:
		w.put(by[0])
	default:
		w.list(by)
	}
}
