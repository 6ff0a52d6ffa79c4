package trace

// A trace may consist of segments, each of which begins by telling what was there
// (blocks, open calls) and needs nothing of those before: the oldest can be
// dropped while recording goes on. See Ring.

// newSegment begins a segment: its bytes, without those of the file's header,
// belong behind others of the same ring. What the caller writes up to Begin says
// what is there. Chunks are written when about most bytes have been collected.
func newSegment(w *ringFile, s Segment, most int) *Writer {
	t := newWriter(w)
	t.most = most
	if t.err == nil {
		t.writeJSON(blockSegment, uint64(s.Number), s)
	}
	return t
}

// begin ends the description of what was there.
func (t *Writer) begin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.flushIndex()
	t.writeBlock(blockBegin, 0, nil)
	return t.err
}

// end writes what is left. There is no trailer: the trace goes on in another
// segment.
func (t *Writer) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.flushIndex()
	t.done = true
	t.timer.Stop()
	return t.err
}

// collected is about how many bytes have been collected and not been written.
func (t *Writer) collected() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pending()
}

func (t *Writer) pending() int64 {
	n := t.buffered
	if c := t.stores; c != nil {
		n += c.size()
	}
	return int64(n)
}

// without drops from a reader's blocks what later segments say of what was there
// when they began: the segment before has it as events.
func withoutSnapshots(blocks []located) []located {
	later := 0
	for i := range blocks {
		if blocks[i].kind == blockSegment {
			later++
		}
	}
	if later < 2 {
		return blocks
	}
	out := make([]located, 0, len(blocks))
	segments, skip := 0, false
	for _, b := range blocks {
		switch b.kind {
		case blockSegment:
			segments++
			skip = segments > 1
		case blockBegin:
			skip = false
		case blockEvents, blockStores, blockIndex:
			if skip {
				continue
			}
		}
		out = append(out, b)
	}
	return out
}
