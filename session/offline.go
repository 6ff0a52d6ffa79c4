package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"mgtrace/report"
	"mgtrace/session/allocfree"
	"mgtrace/session/analysis"
	"mgtrace/session/ask"
	"mgtrace/session/recording"
	"mgtrace/session/slicing"
	"mgtrace/session/specfile"
	"mgtrace/trace"
)

// analyse checks the specification on the whole recording.
func analyse(ctx context.Context, rec *recording.Recording, o AnalysisOptions, noLocate bool) (*analysis.Analysis, *trace.Trailer, error) {
	a, t, err := analyseOnce(ctx, rec, o, noLocate, true)
	if !errors.Is(err, analysis.ErrEnded) {
		return a, t, err
	}
	if err := rec.Reader.Seek(0); err != nil {
		return nil, nil, err
	}
	return analyseOnce(ctx, rec, o, noLocate, false)
}

// analyseOnce reads the recording; if cutsShort, not beyond where it seems to have no end.
func analyseOnce(ctx context.Context, rec *recording.Recording, o AnalysisOptions, noLocate, cutsShort bool) (*analysis.Analysis, *trace.Trailer, error) {
	spec, err := specfile.Load(o.Spec, rec.Program())
	if err != nil {
		return nil, nil, err
	}
	if err := rec.Covers(spec); err != nil {
		return nil, nil, err
	}
	ao := o.analysis()
	ao.NoLocate, ao.CutsShort = noLocate, cutsShort
	a := analysis.New(spec, &rec.Prog, rec.Symbols, ao)
	checks, stop := ctx, func() {}
	if o.Timeout > 0 {
		checks, stop = context.WithTimeout(ctx, mostChecking(o.Timeout))
	}
	defer stop()
	a.Heed(checks)
	a.JudgeLast(func() context.Context { return ctx })
	a.Warn(rec.Warned...)
	sink, err := rec.Completed(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	t, err := rec.Feed(ctx, sink)
	if err == nil && a.Interrupted() {
		err = context.Cause(ctx)
	}
	if err == nil {
		a.Heed(ctx)
	}
	if err != nil && ctx.Err() != nil && a.FoundAny() {
		return a, &trace.Trailer{Why: "the analysis was stopped"}, nil // what was found is worth telling
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the analysis was stopped at change %s, and nothing was inconsistent up to there: %w", report.Thousands(uint64(a.Hist.Now())), context.Cause(ctx))
	}
	return a, t, err
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
	path, err := allocfree.Path(ctx, path, o.Files, o.AllocFree)
	if err != nil {
		return nil, err
	}
	rec, err := recording.Open(path, o.Files)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	a, t, err := analyse(ctx, rec, o, noLocate)
	if err != nil {
		return nil, err
	}
	r := analysis.NewReport(&rec.Prog, t)
	a.Audited(t.Audit)
	a.Own, a.Shared = t.Own, t.Shared
	if err := a.Finish(ctx, r); err != nil {
		return nil, err
	}
	a.ListUnprobed(r)
	if o.Slice > 0 && !noLocate {
		cells, err := ask.NamesIn(rec, o.Spec, a.Hist)
		if err != nil {
			return nil, err
		}
		err = slicing.Suspects(ctx, rec, r, cells, o.Slice, slicing.Options{Most: o.SliceMost, NoAddress: o.NoAddress, Progress: o.Indexing})
		if _, whole := rec.Reader.Trailer(); err != nil && (ctx.Err() != nil || whole && !ask.NoRoom(err)) {
			return nil, err
		}
		if err != nil { // a disk is full, or was: what broke is worth telling all the same
			r.Warnings = append(r.Warnings, fmt.Sprintf("no slice: %v", err))
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
