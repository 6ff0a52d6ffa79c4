package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mgtrace/capture"
	"mgtrace/constraints/check"
	"mgtrace/mgpp/index"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/analysis"
	"mgtrace/session/contents"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// recording is a trace file opened for analysis.
type recording struct {
	r       *trace.Reader
	prog    trace.Program
	symbols *symbol.Table
	warned  []string
}

func openRecording(path string, o AnalysisOptions) (*recording, error) {
	r, err := trace.OpenWith(path, index.Directory(indexPath(path)))
	if err != nil {
		return nil, err
	}
	rec := &recording{r: r, prog: r.Program()}
	if t, ok := r.Trailer(); ok && len(t.Modules) > 0 {
		rec.prog.Modules = t.Modules
	}
	var images []symbol.Image
	for _, m := range rec.prog.Modules {
		images = append(images, rec.open(m, o))
	}
	rec.symbols = symbol.New(images, &symbol.Sources{Dirs: o.SourceDirs, Attached: rec.bytes})
	return rec, nil
}

func (rec *recording) close() { _ = rec.r.Close() } // only read from

// open finds the file of a module: in the trace, or on this machine if it is
// still the same one.
func (rec *recording) open(m trace.Module, o AnalysisOptions) symbol.Image {
	im := symbol.Image{Module: m}
	if b, ok := rec.bytes(m.File); ok {
		var debug []io.ReaderAt
		for _, name := range rec.r.Attachments() {
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
		rec.warned = append(rec.warned, fmt.Sprintf("%v: as it travels in the trace", err))
	}
	f, err := objfile.Open(m.Path, objfile.Options{DebugDirs: o.DebugDirs})
	switch {
	case err != nil && !m.Traced:
	case err != nil:
		rec.warned = append(rec.warned, fmt.Sprintf("%s does not travel in the trace and is not here: its addresses have no names", m.Path))
	case f.BuildID() != m.BuildID && !m.Traced:
		_ = f.Close()
	case f.BuildID() != m.BuildID:
		_ = f.Close()
		rec.warned = append(rec.warned, fmt.Sprintf("%s is another one than was recorded (build-id %s, recorded %s): its addresses have no names", m.Path, f.BuildID(), m.BuildID))
	default:
		im.Obj = f
	}
	return im
}

// bytes returns an attachment.
func (rec *recording) bytes(name string) ([]byte, bool) {
	if name == "" {
		return nil, false
	}
	r, ok := rec.r.Attachment(name)
	if !ok {
		return nil, false
	}
	b, err := io.ReadAll(r)
	return b, err == nil
}

// program answers from the files whose stores were captured, as far as they are
// at hand; nil if none is.
func (rec *recording) program() check.Program {
	p := &symbol.Program{Sources: rec.symbols.Sources}
	for _, im := range rec.symbols.Images {
		if im.Obj != nil && im.Traced {
			p.Objs = append(p.Objs, im.Obj)
		}
	}
	if len(p.Objs) == 0 {
		return nil
	}
	return p
}

// analyse checks the specification on the whole recording.
func (rec *recording) analyse(ctx context.Context, o AnalysisOptions, noLocate bool) (*analysis.Analysis, *trace.Trailer, error) {
	a, t, err := rec.analyseOnce(ctx, o, noLocate, true)
	if !errors.Is(err, analysis.ErrEnded) {
		return a, t, err
	}
	if err := rec.r.Seek(0); err != nil {
		return nil, nil, err
	}
	return rec.analyseOnce(ctx, o, noLocate, false)
}

// analyseOnce reads the recording; if cutsShort, not beyond where it seems to have no end.
func (rec *recording) analyseOnce(ctx context.Context, o AnalysisOptions, noLocate, cutsShort bool) (*analysis.Analysis, *trace.Trailer, error) {
	spec, err := specfile.Load(o.Spec, rec.program())
	if err != nil {
		return nil, nil, err
	}
	if err := rec.covers(spec); err != nil {
		return nil, nil, err
	}
	ao := o.analysis()
	ao.NoLocate, ao.CutsShort = noLocate, cutsShort
	a := analysis.New(spec, &rec.prog, rec.symbols, ao)
	a.Heed(ctx)
	a.Warn(rec.warned...)
	sink, err := rec.completed(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	t, err := rec.feed(ctx, sink)
	if err == nil && a.Interrupted() {
		err = context.Cause(ctx)
	}
	if err != nil && ctx.Err() != nil && a.FoundAny() {
		return a, &trace.Trailer{Why: "the analysis was stopped"}, nil // what was found is worth telling
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the analysis was stopped at change %s, and nothing was inconsistent up to there: %w", report.Thousands(uint64(a.Hist.Now())), context.Cause(ctx))
	}
	return a, t, err
}

// feed gives everything to sink. A trace that was cut off has no trailer: one
// is made that says so.
func (rec *recording) feed(ctx context.Context, sink capture.Sink) (*trace.Trailer, error) {
	var ev trace.Event
	var known []trace.StoreSite
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		run, err := rec.r.NextBatch(&ev)
		switch {
		case err == nil && run == nil:
			err = sink.Event(&ev)
		case err == nil:
			if sites := rec.r.Sites(); len(sites) != len(known) || &sites[0] != &known[0] {
				known = sites
				err = sink.Sites(sites)
			}
			if err == nil {
				err = sink.Stores(run)
			}
		case errors.Is(err, io.EOF):
			t, ok := rec.r.Trailer()
			if !ok {
				t.Why = "the trace has no end"
			}
			return &t, nil
		case errors.Is(err, trace.ErrTruncated), errors.Is(err, trace.ErrCorrupt):
			return &trace.Trailer{Why: err.Error()}, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// completed makes a sink that is told what the bytes were when the history begins. It
// reads all of a recording whose beginning was dropped.
func (rec *recording) completed(ctx context.Context, sink capture.Sink) (capture.Sink, error) {
	if rec.prog.Last == nil {
		return sink, nil
	}
	sink, err := contents.Completed(sink, func(first capture.Sink) error {
		_, err := rec.feed(ctx, first)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sink, rec.r.Seek(0)
}

// covers refuses a specification whose C-points, members or globals were not
// recorded: silence would look like health.
func (rec *recording) covers(s *check.Spec) error {
	need := check.Requirements(s)
	var missing []string
	for _, f := range need.Funcs {
		if !rec.watched(f) {
			missing = append(missing, "calls of "+f)
		}
	}
	for _, g := range need.Globals {
		found := false
		for _, have := range rec.prog.Globals {
			found = found || have.Name == g.Name
		}
		if !found {
			missing = append(missing, "the global "+g.Name)
		}
	}
	if len(s.Reaches) > 0 && !rec.prog.Inside {
		missing = append(missing, "what the allocator writes into its own memory")
	}
	for _, l := range need.Lines {
		found := false
		for _, pt := range rec.prog.Points {
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

func (rec *recording) watched(pattern string) bool {
	for _, f := range rec.prog.Funcs {
		name, _, _ := strings.Cut(f.Name, "(")
		base, _, _ := strings.Cut(name, ".")
		want, _, _ := strings.Cut(pattern, "(")
		if f.Name == pattern || name == want || base == want || strings.HasSuffix(name, "::"+want) {
			return true
		}
	}
	for _, im := range rec.symbols.Images {
		if im.Obj == nil || !im.Traced {
			continue
		}
		for _, fn := range im.Obj.FuncsNamed(pattern) {
			for _, f := range rec.prog.Funcs {
				if f.Name == fn.Name {
					return true
				}
			}
		}
	}
	return false
}

// Locate checks a recorded history and names what broke it.
func Locate(ctx context.Context, path string, o AnalysisOptions) (*report.Report, error) {
	return analyseFile(ctx, path, o, false)
}

// Check says what is broken in a trace or in a core file, without suspects.
func Check(ctx context.Context, path, program string, o AnalysisOptions) (*report.Report, error) {
	kind, err := sniff(path)
	if err != nil {
		return nil, err
	}
	if kind == elfFile {
		return checkCore(ctx, path, program, o)
	}
	o.All = true
	return analyseFile(ctx, path, o, true)
}

func analyseFile(ctx context.Context, path string, o AnalysisOptions, noLocate bool) (*report.Report, error) {
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	if o.AllocFree != nil && o.Slice > 0 {
		return nil, errors.New("--alloc-free and --slice do not go together: slice the statement that is found (mgtrace slice)")
	}
	path, err := withoutAllocator(ctx, path, o)
	if err != nil {
		return nil, err
	}
	rec, err := openRecording(path, o)
	if err != nil {
		return nil, err
	}
	defer rec.close()
	a, t, err := rec.analyse(ctx, o, noLocate)
	if err != nil {
		return nil, err
	}
	r := newReport(&rec.prog, t)
	a.Audited(t.Audit)
	if err := a.Finish(ctx, r); err != nil {
		return nil, err
	}
	a.ListUnprobed(r)
	if o.Slice > 0 && !noLocate {
		if err := rec.slices(ctx, path, r, a.Hist, o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

type fileKind int

const (
	otherFile fileKind = iota
	elfFile
)

// sniff tells an ELF file from anything else, which is for package trace to judge.
func sniff(path string) (fileKind, error) {
	f, err := os.Open(path)
	if err != nil {
		return otherFile, err
	}
	defer f.Close()
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err == nil && string(magic[:]) == "\x7fELF" {
		return elfFile, nil
	}
	return otherFile, nil
}
