package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Ring writes a trace of which only the newest part is kept, so that it never
// takes more than a limit on disk. The history is written in segments, files
// beside that of the trace:
//
//	t.mgt         the program and what travels with it
//	t.mgt.seg-17  the oldest segment that is kept
//	…
//	t.mgt.seg-24  the newest: it is being written
//
// The oldest is removed before the files would take more than the limit. Each
// segment says at its beginning what was there then, so that it can be the first.
// Open reads the trace with its segments, also while it is written and after the
// writer was killed; Finish puts all into the one file.
//
// The methods are called by one goroutine at a time.
type Ring struct {
	// NoRoom tells the errors of a disk that is full: then the limit is what the files take, and the oldest is
	// removed for what is new. nil: none is.
	NoRoom func(error) bool

	path     string
	id       string
	limit    int64 // guarded by disk
	snapshot Snapshot
	head     ringFile
	headW    *Writer
	cur      *ringFile // the newest segment
	w        *Writer
	number   int    // of it
	room     int64  // bytes after which the next one begins
	count    uint64 // events and stores so far
	wall     int64  // of the last event
	err      error

	// A segment knows only the sites that its stores have, in the order in which
	// they come.
	sites  []StoreSite
	local  []uint32 // by index in sites: the segment's number of it plus 1; 0: it has none
	global []uint32 // the inverse, from number offset on
	offset uint32   // the segment's sites before, of a table that was replaced

	disk sync.Mutex // guards what follows: the Writer has a goroutine of its own
	segs []*ringFile
}

// Snapshot tells a new segment what is there: blocks (KindAlloc, KindGlobal) and
// open calls, with FlagBefore. It ends when emit says that there is no more room,
// and returns how many blocks it has not told.
type Snapshot func(emit func(*Event) bool) (left uint64)

const (
	ringParts   = 8       // segments of the usual length that the limit has room for
	ringLeast   = 1 << 20 // bytes for all segments, at least
	ringReserve = 1 << 16 // for the trailer
)

// NewRing begins a trace that takes at most limit bytes on disk. Attach files
// before the first event.
func NewRing(path string, limit int64, p Program, s Snapshot) (*Ring, error) {
	if err := removeSegments(path); err != nil {
		return nil, err
	}
	r := &Ring{path: path, limit: limit - ringReserve, snapshot: s, id: fmt.Sprintf("%d-%d", p.PID, time.Now().UnixNano()), wall: -1}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r.head = ringFile{ring: r, file: f}
	p.Last = &Last{Bytes: limit, Ring: r.id}
	r.headW = NewWriter(&r.head, p)
	return r, nil
}

// Attach stores a file under a name.
func (r *Ring) Attach(name string, from io.Reader) error { return r.headW.Attach(name, from) }

// Segments begins the first segment. It fails if the limit leaves no room for any.
func (r *Ring) Segments() error {
	if r.limit-r.head.size < ringLeast {
		return fmt.Errorf("%d bytes are too few: what belongs to the program takes %d; use %d MB at least", r.limit+ringReserve, r.head.size, (r.head.size+ringReserve+2*ringLeast-1)/ringLeast)
	}
	return r.next(nil)
}

// base is the usual length of a segment.
func (r *Ring) base() int64 { return r.most() / ringParts }

// most is what all segments may take.
func (r *Ring) most() int64 {
	r.disk.Lock()
	defer r.disk.Unlock()
	return r.limit - r.head.size
}

// next begins a segment.
func (r *Ring) next(s Snapshot) error {
	if r.w != nil {
		if err := r.w.end(); err != nil {
			return err
		}
		if err := r.cur.file.Close(); err != nil {
			return err
		}
	}
	r.number++
	f, err := os.Create(segmentPath(r.path, r.number))
	if err != nil {
		return err
	}
	r.cur = &ringFile{ring: r, file: f}
	r.disk.Lock()
	r.segs = append(r.segs, r.cur)
	r.disk.Unlock()
	r.forgetSites()
	r.offset = 0
	r.w = newSegment(r.cur, Segment{Ring: r.id, Number: r.number}, int(min(flushBytes, r.base()/4)))
	if s != nil {
		r.describe(s)
	}
	r.room = max(r.base(), min(2*r.length(), r.most()/3))
	return r.w.begin()
}

// describe writes what is there. It may take half of what the longest segment
// may: what does not fit is counted.
func (r *Ring) describe(s Snapshot) {
	most := r.most() / 6
	left := s(func(ev *Event) bool {
		return r.w.Write(ev) == nil && r.length()+r.w.collected() < most
	})
	_ = r.w.Write(&Event{Kind: KindBegin, Wall: r.wall, Size: r.count, Aux: left, Name: "only the newest part of the history was kept"}) // sticky
	_ = r.w.Flush()
}

// length is what the newest segment takes.
func (r *Ring) length() int64 {
	r.disk.Lock()
	defer r.disk.Unlock()
	return r.cur.size
}

// SetSites says what the stores of runs are, by StoreRec.Site.
func (r *Ring) SetSites(sites []StoreSite) {
	r.offset += uint32(len(r.global))
	r.forgetSites()
	r.sites, r.local = slices.Clip(sites), make([]uint32, len(sites))
}

// AddSites appends to them.
func (r *Ring) AddSites(sites []StoreSite) {
	r.sites = append(r.sites, sites...)
	r.local = append(r.local, make([]uint32, len(sites))...)
}

func (r *Ring) forgetSites() {
	for _, g := range r.global {
		r.local[g] = 0
	}
	r.global = r.global[:0]
}

// Write appends an event.
func (r *Ring) Write(ev *Event) error {
	if r.err != nil {
		return r.err
	}
	r.count++
	if ev.Wall >= 0 {
		r.wall = ev.Wall
	}
	r.err = r.w.Write(ev)
	return r.turn()
}

// WriteStores appends a run of stores.
func (r *Ring) WriteStores(s *Stores) error {
	if r.err != nil {
		return r.err
	}
	r.count += uint64(len(s.Recs))
	if s.Wall >= 0 {
		r.wall = s.Wall
	}
	first := len(r.global)
	for i := range s.Recs {
		k := s.Recs[i].Site
		n := r.local[k]
		if n == 0 {
			r.global = append(r.global, k)
			n = r.offset + uint32(len(r.global))
			r.local[k] = n
		}
		s.Recs[i].Site = n - 1
	}
	r.err = r.addSites(first)
	if r.err == nil {
		r.err = r.w.WriteStores(s)
	}
	for i := range s.Recs {
		s.Recs[i].Site = r.global[s.Recs[i].Site-r.offset]
	}
	return r.turn()
}

// addSites tells the segment the sites that are new to it.
func (r *Ring) addSites(first int) error {
	if first == len(r.global) {
		return nil
	}
	fresh := make([]StoreSite, 0, len(r.global)-first)
	for _, g := range r.global[first:] {
		fresh = append(fresh, r.sites[g])
	}
	_, err := r.w.AddSites(fresh)
	return err
}

// turn begins the next segment if this one is full.
func (r *Ring) turn() error {
	if r.err == nil && r.length()+r.w.collected() >= r.room {
		r.err = r.next(r.snapshot)
	}
	return r.err
}

// Finish puts the segments into the file and ends it with the trailer.
func (r *Ring) Finish(x Trailer) error {
	if err := r.end(); err != nil {
		return err
	}
	if err := r.makeRoom(); err != nil {
		return err
	}
	for joined := false; len(r.segs) > 0; {
		err := r.join()
		if err == nil {
			joined = true
			continue
		}
		// Others may have filled the disk: while the file has no segment yet, the oldest can be dropped.
		if joined || len(r.segs) < 2 || !r.full(err) {
			return err
		}
		if err := errors.Join(r.head.file.Truncate(r.head.size), r.drop()); err != nil {
			return err
		}
		if _, err := r.head.file.Seek(r.head.size, io.SeekStart); err != nil {
			return err
		}
	}
	return errors.Join(r.headW.Finish(x), r.head.file.Close())
}

// makeRoom drops the oldest segments until there is room for any of the others beside
// all of them: what a segment takes is doubled while it is joined. Later none may be
// dropped, or there would be a gap in the history.
func (r *Ring) makeRoom() error {
	longest := func() (n int64) {
		for _, s := range r.segs {
			n = max(n, s.size)
		}
		return n
	}
	for len(r.segs) > 1 && r.used()+longest() > r.limit {
		if err := r.drop(); err != nil {
			return err
		}
	}
	return nil
}

// join moves the oldest segment into the file.
func (r *Ring) join() error {
	s := r.segs[0]
	f, err := os.Open(s.file.Name())
	if err != nil {
		return err
	}
	defer f.Close()
	n := s.size - int64(fileHeader)
	if _, err := io.Copy(r.head.file, io.NewSectionReader(f, int64(fileHeader), n)); err != nil {
		return fmt.Errorf("join the segments: %w", err)
	}
	r.head.size += n
	return r.drop()
}

// end closes the newest segment.
func (r *Ring) end() error {
	if r.err != nil || r.w == nil {
		return r.err
	}
	return errors.Join(r.w.end(), r.cur.file.Close())
}

// Abandon leaves the trace as it is: Open reads it.
func (r *Ring) Abandon() error {
	err := r.end()
	if r.err != nil {
		err = errors.Join(err, r.cur.file.Close())
	}
	_ = r.headW.end() // it has no events
	return errors.Join(err, r.head.file.Close())
}

// used is what the files take. The caller holds disk, or nothing writes.
func (r *Ring) used() int64 {
	n := r.head.size
	for _, s := range r.segs {
		n += s.size
	}
	return n
}

// drop removes the oldest segment.
func (r *Ring) drop() error {
	s := r.segs[0]
	r.segs = r.segs[1:]
	return os.Remove(s.file.Name())
}

// ringFile is a file of the ring.
type ringFile struct {
	ring *Ring
	file *os.File
	size int64 // guarded by Ring.disk
}

var errRingFull = errors.New("one segment has become longer than all may be")

// Write makes room, then writes. The trace's own file has nothing to make room for:
// it is written before the first segment, and when they are gone.
func (f *ringFile) Write(p []byte) (int, error) {
	r := f.ring
	r.disk.Lock()
	defer r.disk.Unlock()
	for f != &r.head && r.used()+int64(len(p)) > r.limit {
		if len(r.segs) < 2 {
			return 0, errRingFull
		}
		if err := r.drop(); err != nil {
			return 0, err
		}
	}
	for {
		n, err := f.file.Write(p)
		if err == nil || f == &r.head || len(r.segs) < 2 || !r.full(err) {
			f.size += int64(n)
			return n, err
		}
		if _, err := f.file.Seek(f.size, io.SeekStart); err != nil {
			return 0, err
		}
		if err := errors.Join(f.file.Truncate(f.size), r.drop()); err != nil {
			return 0, err
		}
		r.limit = min(r.limit, r.used()+int64(len(p)))
	}
}

// full tells the errors of a disk that is full.
func (r *Ring) full(err error) bool { return r.NoRoom != nil && r.NoRoom(err) }
