package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/mine"
	"mgtrace/objfile"
	"mgtrace/session/live"
	"mgtrace/session/mining"
	"mgtrace/session/recording"
	"mgtrace/session/specfile"
	"mgtrace/session/symbol"
)

// InitOptions are all that InitSpec needs.
type InitOptions struct {
	Program string
	Args    []string
	Types   []string // of nodes; none: the one that the run allocates
	Base    string   // a specification's file whose types are mined, and whose constraints are not proposed again; "": none
	Dirs    AnalysisOptions
	Capture live.CaptureOptions
	Stdout  *os.File          // the program's; nil: mgtrace's own
	Note    func(what string) // progress; nil: none
}

// ErrNothingKnown: somebody wanted the search over before it had found anything.
var ErrNothingKnown = errors.New("interrupted before anything was known of the structure")

// InitSpec runs a program that is taken to be healthy, and finds what holds of its
// structures. A signal that asks mgtrace to end while it looks for that ends the search: the result is what is known by then.
func InitSpec(ctx context.Context, o InitOptions) (*mine.Result, error) {
	room, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer room.remove()
	o.Capture.Running = room.while(o.Capture.Running)
	o.Types = withoutKeywords(o.Types)
	var globals []check.Variable
	var locals []check.Local
	run := RunOptions{Program: o.Program, Args: o.Args, Analysis: o.Dirs, Capture: o.Capture, Record: filepath.Join(room.dir, "run.mgt"), stdout: o.Stdout}
	run.Analysis.Spec = o.Base
	run.prepare = func(p *symbol.Program, c *live.CaptureOptions) error {
		if !slices.ContainsFunc(p.Objs, (*objfile.File).HasDWARF) {
			return fmt.Errorf("%s has no debug information, which the layouts come from: compile it with -g", o.Program)
		}
		for _, a := range o.Capture.Allocators {
			if err := errors.Join(specfile.NotInlined(p, a.Func, "--alloc"), specfile.NotInlined(p, a.Free, "--free")); err != nil {
				return err
			}
		}
		globals = mining.LeadingGlobals(p, o.Types)
		for _, g := range globals {
			c.Globals = append(c.Globals, g.Name)
		}
		watched := mining.WorthWatching(p, o.Types)
		c.CPoints = append(c.CPoints, watched...)
		if o.Base == "" { // else that says which variables are nodes
			locals = mining.LeadingLocals(p, watched, o.Types)
			c.Locals = mining.Followable(locals)
		}
		c.StandardLibrary = mining.OfStandardLibrary(p, o.Types)
		return mining.HasTypes(p, o.Types)
	}
	sum, status, held, err := recordBy(ctx, run, live.Launch)
	switch {
	case err != nil:
		return nil, err
	case sum.Lost != nil:
		return nil, fmt.Errorf("the run could not be recorded to its end (%w): name a folder with more room by TMPDIR", sum.Lost)
	case held != "":
		return nil, fmt.Errorf("the run was cut short (%s): a specification needs a healthy run to its end", held)
	case status.Signal != 0:
		return nil, fmt.Errorf("the program was ended by a signal (%s): a specification needs a healthy run; mgtrace run without --spec names memory faults", sum.Exit)
	}
	rec, err := recording.Open(run.Record, o.Dirs.Files)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	ctx, through := room.searching(ctx)
	defer through()
	r, err := mining.Propose(ctx, rec, mining.Options{Types: o.Types, Base: o.Base, Globals: globals, Locals: locals, Allocators: o.Capture.Allocators, Note: o.Note})
	if err != nil && errors.Is(err, context.Cause(ctx)) {
		return nil, ErrNothingKnown
	}
	return r, err
}

// withoutKeywords takes names as they stand in a declaration: "struct item" is item.
func withoutKeywords(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		for _, keyword := range []string{"struct ", "class ", "union "} {
			out[i] = strings.TrimSpace(strings.TrimPrefix(out[i], keyword))
		}
		if out[i] == "" {
			out[i] = name
		}
	}
	return out
}
