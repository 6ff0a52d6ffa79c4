package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mgtrace/capture"
	"mgtrace/constraints/check"
	"mgtrace/mgpp/index"
	"mgtrace/objfile"
	"mgtrace/session/contents"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// Files say where to look for what does not travel in a trace.
type Files struct {
	SourceDirs []string
	DebugDirs  []string // like /usr/lib/debug
}

// Recording is a trace file opened for analysis.
type Recording struct {
	Path    string
	Reader  *trace.Reader
	Prog    trace.Program
	Symbols *symbol.Table
	Warned  []string // what of the program's files is not at hand, for the user
}

// Open opens a trace, and the files of the modules that it names.
func Open(path string, o Files) (*Recording, error) {
	r, err := trace.OpenWith(path, index.Directory(IndexPath(path)))
	if err != nil {
		return nil, err
	}
	rec := &Recording{Path: path, Reader: r, Prog: r.Program()}
	if t, ok := r.Trailer(); ok {
		if len(t.Modules) > 0 {
			rec.Prog.Modules = t.Modules
		}
		rec.Prog.Warnings = slices.Concat(rec.Prog.Warnings, t.Warnings)
	}
	var images []symbol.Image
	for _, m := range rec.Prog.Modules {
		images = append(images, rec.open(m, o))
	}
	rec.Symbols = symbol.New(images, &symbol.Sources{Dirs: o.SourceDirs, Attached: rec.bytes})
	return rec, nil
}

// Close closes the trace.
func (rec *Recording) Close() { _ = rec.Reader.Close() } // only read from

// open finds the file of a module: in the trace, or on this machine if it is
// still the same one.
func (rec *Recording) open(m trace.Module, o Files) symbol.Image {
	im := symbol.Image{Module: m}
	if b, ok := rec.bytes(m.File); ok {
		var debug []io.ReaderAt
		for _, name := range rec.Reader.Attachments() {
			if m.Debug == "" || !strings.HasPrefix(name, m.Debug) {
				continue
			}
			if d, ok := rec.bytes(name); ok {
				debug = append(debug, bytes.NewReader(d))
			}
		}
		f, err := objfile.Parse(m.Path, bytes.NewReader(b), debug...)
		if err == nil {
			im.Obj = f
			return im
		}
		rec.Warned = append(rec.Warned, fmt.Sprintf("%v: as it travels in the trace", err))
	}
	f, err := objfile.Open(m.Path, objfile.Options{DebugDirs: o.DebugDirs})
	switch {
	case err != nil && !m.Traced:
	case err != nil:
		rec.Warned = append(rec.Warned, fmt.Sprintf("%s does not travel in the trace and is not here: its addresses have no names", m.Path))
	case f.BuildID() != m.BuildID && !m.Traced:
		_ = f.Close()
	case f.BuildID() != m.BuildID:
		_ = f.Close()
		rec.Warned = append(rec.Warned, fmt.Sprintf("%s is another one than was recorded (build-id %s, recorded %s): its addresses have no names", m.Path, f.BuildID(), m.BuildID))
	default:
		im.Obj = f
	}
	return im
}

// bytes returns an attachment.
func (rec *Recording) bytes(name string) ([]byte, bool) {
	if name == "" {
		return nil, false
	}
	return rec.Reader.ReadAttachment(name)
}

// Program answers from the files whose stores were captured, as far as they are
// at hand; nil if none is.
func (rec *Recording) Program() check.Program {
	p := &symbol.Program{Sources: rec.Symbols.Sources}
	for _, im := range rec.Symbols.Images {
		if im.Obj != nil && im.Traced {
			p.Objs = append(p.Objs, im.Obj)
		}
	}
	if len(p.Objs) == 0 {
		return nil
	}
	return p
}

// Feed gives everything to sink. A trace that was cut off has no trailer: one
// is made that says so.
func (rec *Recording) Feed(ctx context.Context, sink capture.Sink) (*trace.Trailer, error) {
	return rec.feed(ctx, sink, func(take func(*trace.Event, *trace.Stores, []trace.StoreSite) bool) error {
		var ev trace.Event
		for {
			run, err := rec.Reader.NextBatch(&ev)
			if err != nil {
				return err
			}
			if !take(&ev, run, rec.Reader.Sites()) {
				return nil
			}
		}
	})
}

// FeedAhead is Feed for a sink that asks the recording nothing: what follows is read while the
// sink works.
func (rec *Recording) FeedAhead(ctx context.Context, sink capture.Sink) (*trace.Trailer, error) {
	return rec.feed(ctx, sink, rec.Reader.Ahead)
}

// feed gives sink what each gives.
func (rec *Recording) feed(ctx context.Context, sink capture.Sink, each func(func(*trace.Event, *trace.Stores, []trace.StoreSite) bool) error) (*trace.Trailer, error) {
	var known []trace.StoreSite
	var failed error // of the sink, or the end of ctx
	err := each(func(ev *trace.Event, run *trace.Stores, sites []trace.StoreSite) bool {
		switch {
		case ctx.Err() != nil:
			failed = context.Cause(ctx)
		case run == nil:
			failed = sink.Event(ev)
		default:
			if len(sites) != len(known) || &sites[0] != &known[0] {
				known = sites
				failed = sink.Sites(sites)
			}
			if failed == nil {
				failed = sink.Stores(run)
			}
		}
		return failed == nil
	})
	switch {
	case failed != nil:
		return nil, failed
	case errors.Is(err, io.EOF):
		t, ok := rec.Reader.Trailer()
		if !ok {
			t.Why = "the trace has no end"
		}
		return &t, nil
	case errors.Is(err, trace.ErrTruncated), errors.Is(err, trace.ErrCorrupt):
		return &trace.Trailer{Why: err.Error()}, nil
	}
	return nil, err
}

// Completed makes a sink that is told what the bytes were when the history begins. It
// reads all of a recording whose beginning was dropped.
func (rec *Recording) Completed(ctx context.Context, sink capture.Sink) (capture.Sink, error) {
	if rec.Prog.Last == nil {
		return sink, nil
	}
	sink, err := contents.Completed(sink, func(first capture.Sink) error {
		_, err := rec.Feed(ctx, first)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sink, rec.Reader.Seek(0)
}

// Covers refuses a specification whose C-points, members or globals were not
// recorded: silence would look like health.
func (rec *Recording) Covers(s *check.Spec) error {
	need := check.Requirements(s)
	var missing []string
	for _, f := range need.Funcs {
		if !rec.watched(f) {
			missing = append(missing, "calls of "+f)
		}
	}
	for _, g := range need.Globals {
		found := false
		for _, have := range rec.Prog.Globals {
			found = found || have.Name == g.Name
		}
		if !found {
			missing = append(missing, "the global "+g.Name)
		}
	}
	if len(s.Reaches) > 0 && !rec.Prog.Inside {
		missing = append(missing, "what the allocator writes into its own memory")
	}
	for _, l := range need.Lines {
		found := false
		for _, pt := range rec.Prog.Points {
			found = found || pt.Line == l.Line && symbol.PathEndsWith(pt.File, l.File)
		}
		if !found {
			missing = append(missing, fmt.Sprintf("line %s:%d", l.File, l.Line))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("this trace has not recorded %s: record again with --spec %s", strings.Join(missing, ", "), s.File)
	}
	return nil
}

// watched: all calls of a function were recorded. Of one that nobody named (Func.Beside) not all need be.
func (rec *Recording) watched(pattern string) bool {
	named := slices.DeleteFunc(slices.Clone(rec.Prog.Funcs), func(f trace.Func) bool { return f.Beside })
	for _, f := range named {
		name, _, _ := strings.Cut(f.Name, "(")
		base, _, _ := strings.Cut(name, ".")
		want, _, _ := strings.Cut(pattern, "(")
		if f.Name == pattern || name == want || base == want || strings.HasSuffix(name, "::"+want) {
			return true
		}
	}
	for _, im := range rec.Symbols.Images {
		if im.Obj == nil || !im.Traced {
			continue
		}
		for _, fn := range im.Obj.FuncsNamed(pattern) {
			for _, f := range named {
				if f.Name == fn.Name {
					return true
				}
			}
		}
	}
	return false
}

// Each gives all events of the recording, from the first.
func (rec *Recording) Each(f func(*trace.Event) error) error {
	if err := rec.Reader.Seek(0); err != nil {
		return err
	}
	for ev := (trace.Event{}); ; {
		if more, err := rec.Next(&ev); err != nil {
			return err
		} else if !more {
			return rec.Reader.Seek(0)
		}
		if err := f(&ev); err != nil {
			return err
		}
	}
}

// Next reads an event; false behind the last one, also of a trace that was cut off.
func (rec *Recording) Next(ev *trace.Event) (more bool, err error) {
	err = rec.Reader.Next(ev)
	if errors.Is(err, io.EOF) || errors.Is(err, trace.ErrTruncated) {
		return false, nil
	}
	return err == nil, err
}
