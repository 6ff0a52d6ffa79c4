package trace

import "slices"

// Ahead reads all that follows, as NextBatch does, and gives it to f, with the sites of the
// runs so far, until f returns false: then it returns nil, and Seek says where to read on. Else it
// returns how the reading ended, as Next tells it. It reads in a goroutine of its own, a few
// hundred KB before what f has: nothing else may be asked of the reader meanwhile.
func (t *Reader) Ahead(f func(e *Event, run *Stores, sites []StoreSite) bool) error {
	read, free, stop := make(chan *readAhead, aheadPieces), make(chan *readAhead, aheadPieces), make(chan struct{})
	for range aheadPieces {
		free <- &readAhead{}
	}
	go func() {
		defer close(read)
		defer func() { t.buffer = nil }() // it belongs to a piece
		for {
			select {
			case p := <-free:
				p.fill(t)
				read <- p // there is room for all pieces
				if p.err != nil {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	defer func() { // the reader is nobody's when this returns
		close(stop)
		for range read {
		}
	}()
	for p := range read {
		for i := range p.items {
			x := &p.items[i]
			var run *Stores
			if x.isRun {
				run = &x.run
			}
			if !f(&x.event, run, x.sites) {
				return nil
			}
		}
		if p.err != nil {
			return p.err
		}
		free <- p
	}
	return nil
}

const (
	// aheadPieces are how many there are: one is worked on, one is ready, one is being read.
	aheadPieces = 3
	// A piece is full at so many of one of these.
	aheadItems  = 1 << 9
	aheadStores = 1 << 13
	aheadBytes  = 1 << 17
)

// readAhead is a piece of a trace that was read, in memory of its own.
type readAhead struct {
	items []aheadItem
	err   error // behind them

	recs     []StoreRec // of the runs, and the room for those to come
	used     int        // of recs
	wide     []byte
	instants []Instant
	data     []byte // of the events
	args     []uint64
}

// aheadItem is a run, or an event.
type aheadItem struct {
	isRun bool
	event Event
	run   Stores
	sites []StoreSite
}

// fill reads until the piece is full, or there is no more.
func (p *readAhead) fill(t *Reader) {
	if p.items == nil {
		p.items, p.recs = make([]aheadItem, 0, aheadItems), make([]StoreRec, aheadStores+batchStores)
	}
	p.items, p.used, p.err = p.items[:0], 0, nil
	p.wide, p.instants, p.args = p.wide[:0], p.instants[:0], p.args[:0]
	if p.data = p.data[:0]; cap(p.data) > 4*aheadBytes { // one event was large
		p.data = nil
	}
	// It ends between two runs: what has been decoded of one lies in the piece.
	for t.at < len(t.run.Recs) || len(p.items) < aheadItems && p.used < aheadStores && len(p.wide) < aheadBytes && len(p.data) < aheadBytes {
		fresh := t.at == len(t.run.Recs)
		if fresh {
			t.buffer = p.recs[p.used:][:batchStores]
		}
		p.items = slices.Grow(p.items, 1)[:len(p.items)+1]
		x := &p.items[len(p.items)-1]
		run, err := t.NextBatch(&x.event)
		if err != nil {
			p.items, p.err = p.items[:len(p.items)-1], err
			return
		}
		if fresh {
			p.used += len(t.run.Recs)
		}
		if x.isRun = run != nil; x.isRun {
			x.run, x.sites = *run, t.Sites()
			x.run.Wide, p.wide = keepIn(p.wide, run.Wide)
			x.run.Instants, p.instants = keepIn(p.instants, run.Instants)
			continue
		}
		x.event.Data, p.data = keepIn(p.data, x.event.Data)
		x.event.Args, p.args = keepIn(p.args, x.event.Args)
	}
}

// keepIn copies a list behind others, and returns it and all.
func keepIn[T any](all, list []T) (kept, grown []T) {
	if len(list) == 0 {
		return nil, all
	}
	n := len(all)
	all = append(all, list...)
	return all[n:len(all):len(all)], all
}
