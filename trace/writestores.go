package trace

import "encoding/binary"

// AddSites appends store instructions and calls to the trace's sites and returns the
// number of the first. It may be called while recording, before the first
// store of any of them.
func (t *Writer) AddSites(sites []StoreSite) (first uint32, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addSites(sites)
}

func (t *Writer) addSites(sites []StoreSite) (first uint32, err error) {
	for i := range sites {
		if err := sites[i].check(); err != nil {
			return 0, err
		}
	}
	first = uint32(len(t.sites.sites))
	for i := range sites {
		t.sites.add(sites[i])
		if sites[i].Kind != 0 {
			t.siteStacks = append(t.siteStacks, t.tables.stack(sites[i].Stack))
		}
	}
	if c := t.stores; c != nil {
		if n := siteBytes(len(t.sites.sites)); n > c.number {
			t.flush()
			c.number = n
		}
	}
	return first, t.err
}

// WriteStores appends a run of stores. It takes a few nanoseconds for each; the
// cost of a run is that of an event. A store that does not fit its site ends
// the recording: what came before it is kept. While it runs, it changes the stores of s.
func (t *Writer) WriteStores(s *Stores) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writeStores(s)
}

func (t *Writer) writeStores(s *Stores) error {
	switch {
	case t.err != nil:
		return t.err
	case t.done:
		return errFinished
	case len(s.Recs) == 0:
		return nil
	case t.stores == nil:
		t.stores = newStoreEncoder(&t.sites)
	}
	c := t.stores
	for recs := s.Recs; len(recs) > 0; {
		n := min(c.room(), len(recs))
		before := c.n
		err := c.add(recs[:n], s.Wide)
		taken := c.n - before
		t.lengthen(s, uint64(taken))
		t.instants(s, len(s.Recs)-len(recs), taken)
		if err != nil {
			t.flush()
			if t.err == nil {
				t.err = err
			}
			return t.err
		}
		if recs = recs[n:]; c.room() == 0 {
			t.flush()
		}
	}
	t.flushSoon()
	return t.err
}

// lengthen adds n stores to the run, or begins one.
func (t *Writer) lengthen(s *Stores, n uint64) {
	if t.run.thread != s.Thread || t.run.wall != s.Wall {
		t.closeRun()
	}
	t.run = run{t.run.n + n, s.Thread, s.Wall}
	t.count += n
}

// instants adds the instants of n stores of a run. Those of runs that have none are only
// written if there are others.
func (t *Writer) instants(s *Stores, first, n int) {
	if len(s.Instants) == 0 {
		t.bare += n
		return
	}
	c := &t.columns[0][fieldInstants]
	t.clothe(c)
	for _, at := range s.Instants[first:][:n] {
		c.delta(uint64(at))
	}
}

// clothe gives stores that have no instant one of 0.
func (t *Writer) clothe(c *column) {
	for ; t.bare > 0; t.bare-- {
		c.delta(0)
	}
}

// closeRun makes the run a row.
func (t *Writer) closeRun() {
	if t.run.n == 0 {
		return
	}
	t.row(kindRun, t.run.thread, t.run.wall)
	t.columns[0][fieldRun].plain(t.run.n)
	t.buffered += 8
	t.run.n = 0
}

// flushStores writes the stores of the rows, if there are any. They are not compressed: at
// recording speed that would cost more than all the rest (Pack does it).
func (t *Writer) flushStores() bool {
	if t.err != nil || t.stores == nil || t.stores.n == 0 {
		return false
	}
	n := t.stores.n
	t.index.pages.take(&t.stores.touched)
	t.put(blockStores, codecRaw, uint64(n), t.stores.appendBlock(t.out.room()))
	return true
}

// block is the type of block that a site stands in.
func (s *StoreSite) block() blockType {
	switch {
	case s.Kind != 0:
		return blockAllocs
	case s.IsCall():
		return blockCalls
	}
	return blockSites
}

// flushSites writes the sites that have not been: those of instructions, of calls and of calls of
// allocators in blocks of their own, in the order of their numbers. The tables have been written.
func (t *Writer) flushSites() {
	stacks := t.siteStacks
	for fresh := t.sites.sites[t.sitesOut:]; len(fresh) > 0; {
		kind, n := fresh[0].block(), 1
		for n < len(fresh) && fresh[n].block() == kind {
			n++
		}
		raw := binary.AppendUvarint(t.raw[:0], uint64(n))
		pc := Addr(0)
		for i := range fresh[:n] {
			s := &fresh[i]
			raw = binary.AppendUvarint(raw, zigzag(uint64(s.PC-pc)))
			pc = s.PC
			if s.Kind != 0 {
				raw = binary.AppendUvarint(append(raw, byte(s.Kind)), uint64(s.Flags))
				raw = binary.AppendUvarint(raw, stacks[0])
				stacks = stacks[1:]
				raw = append(binary.AppendUvarint(raw, uint64(len(s.Name))), s.Name...)
				continue
			}
			raw = append(raw, s.Width)
			if s.IsCall() {
				raw = append(binary.AppendUvarint(raw, uint64(len(s.Name))), s.Name...)
				continue
			}
			raw = binary.AppendUvarint(raw, uint64(s.Flags))
			raw = append(raw, byte(s.Base))
			raw = binary.AppendUvarint(raw, zigzag(uint64(s.Disp)))
		}
		t.raw = raw
		t.writeBlock(kind, 0, raw)
		fresh = fresh[n:]
	}
	t.sitesOut, t.siteStacks = len(t.sites.sites), t.siteStacks[:0]
}

// flushIndex writes the index of the chunks that have none yet.
func (t *Writer) flushIndex() {
	if t.err != nil || t.index.chunks == 0 {
		return
	}
	t.writeBlock(blockIndex, t.index.chunks, t.index.coded)
	t.index.chunks, t.index.coded = 0, t.index.coded[:0]
}
