package live

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/contents"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// recorder writes a trace file; the zero recorder writes none.
type recorder struct {
	l    *Program
	file *os.File
	w    *trace.Writer
	ring *ring // instead of file and w, where only the newest part is kept

	first uint32 // number in the trace of the first site of runs
	to    writer // w, or w as it is held between Begin and End

	// Why no more is written, mostly because the disk is full; nil: nothing is wrong. What was written before is readable.
	over error
	ends func(error) // told once; nil: nobody needs to know
}

func (r *recorder) writes() bool { return r.w != nil || r.ring != nil }

// ring writes the newest part of the history.
type ring struct {
	*trace.Ring
	path  string
	table *contents.Blocks
}

// recorder begins the trace file and adds it to the sinks.
func (l *Program) recorder(path string) (*recorder, error) {
	rec := &recorder{l: l}
	if path == "" {
		return rec, nil
	}
	l.attachNames()
	l.headed = len(l.Prog.Warnings)
	if l.o.Last > 0 {
		return rec, rec.begin(path)
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	rec.file = f
	rec.w = trace.NewWriter(f, l.Prog)
	rec.w.Apart()
	rec.to = rec.w
	if err = rec.attach(); err == nil {
		err = rec.w.Flush() // a disk that is full now is told of before the program runs
	}
	if err != nil {
		return nil, fmt.Errorf("record to %s: %w", path, errors.Join(err, f.Close()))
	}
	l.sinks = append(l.sinks, rec)
	return rec, nil
}

// begin begins a trace of the newest part.
func (r *recorder) begin(path string) error {
	if err := specfile.MayBeginLate(r.l.Spec); err != nil {
		return err
	}
	r.ring = &ring{path: path, table: contents.NewBlocks(&r.l.Prog)}
	var err error
	if r.ring.Ring, err = trace.NewRing(path, r.l.o.Last, r.l.Prog, r.ring.table.Snapshot); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.ring.NoRoom = noRoom
	if err = r.attach(); err == nil {
		err = r.ring.Segments()
	}
	if err != nil {
		return fmt.Errorf("record the last %s bytes to %s: %w", report.Thousands(uint64(r.l.o.Last)), path, errors.Join(err, r.ring.Abandon(), os.Remove(path)))
	}
	r.l.sinks = append(r.l.sinks, r)
	return nil
}

// writer takes the history.
type writer interface {
	AddSites([]trace.StoreSite) (first uint32, err error)
	Write(*trace.Event) error
	WriteStores(*trace.Stores) error
}

// Begin implements capture.Batched.
func (r *recorder) Begin() {
	if r.ring == nil {
		r.to = r.w.Hold()
	}
}

// End implements capture.Batched.
func (r *recorder) End() {
	if r.ring == nil {
		r.w.Release()
		r.to = r.w
	}
}

// Event implements capture.Sink.
func (r *recorder) Event(ev *trace.Event) error {
	if r.over != nil {
		return nil
	}
	if r.ring == nil {
		r.lost(r.to.Write(ev))
		return nil
	}
	// In this order: a segment that begins behind the event knows what it did.
	r.ring.table.Event(ev)
	r.lost(r.ring.Write(ev))
	return nil
}

// Sites implements capture.Sink.
func (r *recorder) Sites(sites []trace.StoreSite) (err error) {
	if r.over != nil {
		return nil
	}
	if r.ring != nil {
		r.ring.SetSites(sites)
		return nil
	}
	r.first, err = r.to.AddSites(sites)
	r.lost(err)
	return nil
}

// Calls implements capture.Mixed.
func (r *recorder) Calls(fresh []trace.StoreSite) error {
	if r.over != nil {
		return nil
	}
	if r.ring != nil {
		r.ring.AddSites(fresh)
		return nil
	}
	_, err := r.to.AddSites(fresh)
	r.lost(err)
	return nil
}

// Allocs implements capture.Allocating. A ring's table wants to know of each block.
func (r *recorder) Allocs() bool { return r.ring == nil }

// Stores implements capture.Sink.
func (r *recorder) Stores(run *trace.Stores) error {
	if r.over != nil {
		return nil
	}
	if r.ring != nil {
		r.lost(r.ring.WriteStores(run))
		return nil
	}
	if r.first == 0 {
		r.lost(r.to.WriteStores(run))
		return nil
	}
	// The trace numbers all sites that there ever were.
	for i := range run.Recs {
		run.Recs[i].Site += r.first
	}
	err := r.to.WriteStores(run)
	for i := range run.Recs {
		run.Recs[i].Site -= r.first
	}
	r.lost(err)
	return nil
}

// lost ends the writing where it has failed. The program goes on, and so does who looks at what it does.
func (r *recorder) lost(err error) {
	if err != nil && r.over == nil {
		r.over = fmt.Errorf("record to %s: %w", r.path(), err)
		if r.ends != nil {
			r.ends(r.over)
		}
	}
}

// noRoom tells the errors of a disk, or of a part of it that somebody may use, that is full.
func noRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

func (r *recorder) path() string {
	if r.ring != nil {
		return r.ring.path
	}
	return r.file.Name()
}

// attachNames says which files travel in the trace.
func (l *Program) attachNames() {
	for i := range l.Prog.Modules {
		m := &l.Prog.Modules[i]
		if !m.Traced {
			continue
		}
		m.File = fmt.Sprintf("elf:%d", i)
		if im := l.image(m.Path); im != nil && im.Obj != nil && len(im.Obj.DebugFiles()) > 0 {
			m.Debug = fmt.Sprintf("debug:%d:", i)
		}
	}
}

func (l *Program) image(path string) *symbol.Image {
	for i := range l.Symbols.Images {
		if l.Symbols.Images[i].Path == path {
			return &l.Symbols.Images[i]
		}
	}
	return nil
}

// attach stores the files that reports need: the traced ELF files with their
// debug files and their source. Other libraries are found by build-id, if at all:
// they only name frames.
func (r *recorder) attach() error {
	sources := map[string]bool{} // attached: files have headers in common
	for i := range r.l.Prog.Modules {
		m := &r.l.Prog.Modules[i]
		im := r.l.image(m.Path)
		if im == nil || im.Obj == nil || !im.Traced {
			continue
		}
		if err := r.attachFile(m.File, im.Obj.Path()); err != nil {
			return err
		}
		for n, path := range im.Obj.DebugFiles() {
			if err := r.attachFile(fmt.Sprintf("%s%d", m.Debug, n), path); err != nil {
				return err
			}
		}
		if err := r.attachSources(im.Obj, sources); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) attachFile(name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // the analysis then finds it by build-id, or says so
	}
	defer f.Close()
	if r.ring != nil {
		return r.ring.Attach(name, f)
	}
	return r.w.Attach(name, f)
}

// maxSource is the largest source file that travels, bytes.
const maxSource = 4 << 20

func (r *recorder) attachSources(f *objfile.File, attached map[string]bool) error {
	for _, name := range f.SourceFiles() {
		info, err := os.Stat(name)
		if err != nil || info.Size() > maxSource || !info.Mode().IsRegular() || attached[name] {
			continue
		}
		attached[name] = true
		if err := r.attachFile(symbol.Attachment(name), name); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the trace. Where that is not whole, over says why.
func (r *recorder) finish(t trace.Trailer) {
	if r.over != nil {
		_ = r.abandon() // for a reason that is being reported
		return
	}
	var err error
	switch {
	case r.ring != nil:
		err = r.ring.Finish(t)
	case r.w != nil:
		err = errors.Join(r.w.Finish(t), r.file.Close())
	}
	r.lost(err)
}

// abandon closes a trace file whose recording failed: it stays readable up to
// its last whole block.
func (r *recorder) abandon() error {
	switch {
	case r.ring != nil:
		return r.ring.Abandon()
	case r.w != nil:
		_ = r.w.Flush() // the recording has failed already, for a reason that is being reported
		return r.file.Close()
	}
	return nil
}
