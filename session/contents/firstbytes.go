package contents

import (
	"slices"

	"mgtrace/capture"
	"mgtrace/trace"
)

// Completed makes a sink that is told what the bytes were when the history begins,
// as far as all of it, which read gives, lets one know.
func Completed(sink capture.Sink, read func(capture.Sink) error) (capture.Sink, error) {
	f := &firstBytes{written: New()}
	if err := read(f); err != nil || !f.began {
		return sink, err
	}
	return firstImages{sink, f}, nil
}

// firstBytes finds out what bytes were when a history begins that does not say it:
// those that nobody has written since are what memory holds at the end.
//
// That is certain where the block lives from the beginning to the end, was never
// resized, no event was lost, no write to it could not be read, and what was written
// to it is what memory holds: nobody has written to it unseen.
type firstBytes struct {
	sites   []trace.StoreSite
	began   bool
	lost    bool
	blocks  []firstBlock // by address
	written *Memory      // since the beginning
}

type firstBlock struct {
	lo, hi uint64
	bad    bool // its bytes are not certain
	images []trace.Event
}

var _ capture.Sink = (*firstBytes)(nil)

// Sites implements capture.Sink.
func (f *firstBytes) Sites(sites []trace.StoreSite) error { f.sites = sites; return nil }

// Stores implements capture.Sink.
func (f *firstBytes) Stores(run *trace.Stores) error {
	f.written.Stores(run, f.sites)
	return nil
}

// Event implements capture.Sink.
func (f *firstBytes) Event(ev *trace.Event) error {
	addr := uint64(ev.Addr)
	switch ev.Kind {
	case trace.KindBegin:
		f.began = true
		slices.SortFunc(f.blocks, func(x, y firstBlock) int { return int(min(1, max(-1, int64(x.lo-y.lo)))) })
		return nil
	case trace.KindLost, trace.KindCease:
		f.lost = true
	case trace.KindMemory:
		if ev.Size > 0 {
			f.compare(addr, ev.Data)
		}
		return nil
	}
	if !f.began {
		if (ev.Kind == trace.KindAlloc || ev.Kind == trace.KindGlobal) && ev.Flags&trace.FlagBefore != 0 {
			f.blocks = append(f.blocks, firstBlock{lo: addr, hi: addr + ev.Size})
		}
		f.written.Event(ev, 0)
		return nil
	}
	switch ev.Kind {
	case trace.KindFree:
		f.spoil(addr, 1)
	case trace.KindAlloc, trace.KindUnmap:
		f.spoil(addr, ev.Size)
	case trace.KindRealloc:
		f.spoil(ev.Aux, 1)
		f.spoil(addr, ev.Size)
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindImage:
		f.written.write(addr, ev.Data)
		if n := uint64(len(ev.Data)); n < ev.Size {
			f.spoil(addr+n, ev.Size-n)
		}
	case trace.KindUnread:
		f.spoil(addr, ev.Size)
	}
	return nil
}

// at is the index of the first block that ends behind an address.
func (f *firstBytes) at(addr uint64) int {
	i, _ := slices.BinarySearchFunc(f.blocks, addr, func(b firstBlock, a uint64) int {
		if b.hi <= a {
			return -1
		}
		return 1
	})
	return i
}

// spoil takes the blocks in a range as not certain.
func (f *firstBytes) spoil(addr, size uint64) {
	for i := f.at(addr); i < len(f.blocks) && f.blocks[i].lo < addr+max(size, 1); i++ {
		f.blocks[i].bad = true
	}
}

// compare takes what memory holds at the end.
func (f *firstBytes) compare(addr uint64, data []byte) {
	i := f.at(addr)
	if i == len(f.blocks) || addr < f.blocks[i].lo || f.blocks[i].bad {
		return
	}
	b := &f.blocks[i]
	data = data[:min(uint64(len(data)), b.hi-addr)]
	have, known := make([]byte, len(data)), make([]bool, len(data))
	f.written.read(addr, have, known)
	for j := 0; j < len(data); {
		k := j
		for k < len(data) && !known[k] {
			k++
		}
		if k > j {
			b.images = append(b.images, trace.Event{Kind: trace.KindImage, Addr: trace.Addr(addr + uint64(j)), Size: uint64(k - j), Data: slices.Clone(data[j:k]), Wall: -1})
		}
		for k < len(data) && known[k] {
			if have[k] != data[k] {
				b.bad, b.images = true, nil
				return
			}
			k++
		}
		j = k
	}
}

// give gives the bytes that are certain.
func (f *firstBytes) give(sink func(*trace.Event) error) error {
	for i := range f.blocks {
		if f.lost || f.blocks[i].bad {
			continue
		}
		for j := range f.blocks[i].images {
			if err := sink(&f.blocks[i].images[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstImages is a sink that is given what firstBytes knows where the history
// begins.
type firstImages struct {
	capture.Sink
	first *firstBytes
}

// Event implements capture.Sink.
func (s firstImages) Event(ev *trace.Event) error {
	if ev.Kind == trace.KindBegin {
		if err := s.first.give(s.Sink.Event); err != nil {
			return err
		}
	}
	return s.Sink.Event(ev)
}
