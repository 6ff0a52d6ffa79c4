package ask

import (
	"errors"
	"io"
	"sort"

	"mgtrace/mgpp"
	"mgtrace/query"
	"mgtrace/trace"
)

// held tells where in a trace the events (trace.KindMemory) are that say what memory held when
// the program was held at its crash or end. They come in order of their addresses, but for
// blocks inside of another one.
type held struct {
	Marks []heldMark `json:"marks,omitempty"`
	since int        // events behind the last mark
}

// heldMark is the place of one of these events.
type heldMark struct {
	Event uint64     `json:"event"` // its number, each store counted
	Addr  trace.Addr `json:"address"`
}

// heldStep: every so manieth event is marked. To read as many takes less than a millisecond, if
// they are of small blocks.
const heldStep = 1024

func (h *held) event(ev *trace.Event, n uint64) {
	if ev.Kind != trace.KindMemory || ev.Size == 0 {
		return
	}
	if len(h.Marks) == 0 || h.since+1 == heldStep || ev.Size == trace.MemoryChunk {
		h.Marks, h.since = append(h.Marks, heldMark{n, ev.Addr}), 0
		return
	}
	h.since++
}

// find reads what memory held at addr; nil if the trace does not say.
func (h *held) find(r *trace.Reader, addr trace.Addr, size uint64) ([]byte, error) {
	i := sort.Search(len(h.Marks), func(i int) bool { return h.Marks[i].Addr > addr }) - 1
	if i < 0 {
		return nil, nil
	}
	if err := r.Seek(h.Marks[i].Event); err != nil {
		return nil, err
	}
	var ev trace.Event
	for range heldStep {
		switch err := r.Next(&ev); {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case ev.Kind != trace.KindMemory || ev.Addr > addr:
			return nil, nil
		}
		if from := uint64(addr - ev.Addr); from+size <= uint64(len(ev.Data)) {
			return ev.Data[from:][:size], nil
		}
	}
	return nil, nil
}

// compareHeld adds to an answer about time t what memory held of the cell at the end, where nothing that was
// recorded later has written it, and that is not what is recorded.
func (q *Queries) compareHeld(w *query.Who, c query.Cell, t mgpp.Timestamp) error {
	if !q.Answers.Last(c, t) {
		return nil
	}
	data, err := q.about.Held.find(q.Recording.Reader, c.Addr, c.Size)
	if err != nil || data == nil {
		return err
	}
	w.Held = q.Answers.Held(c, data)
	return nil
}
