package session

import (
	"io"
	"os"
	"time"

	"mgtrace/session/allocfree"
	"mgtrace/session/analysis"
	"mgtrace/session/live"
	"mgtrace/session/recording"
	"mgtrace/session/symbol"
)

// AnalysisOptions say what to check and how to show it.
type AnalysisOptions struct {
	Spec     string // specification file; "": memory faults only
	All      bool   // go on after the first inconsistent C-point
	Pictures string // directory for pictures; "": none
	Steps    bool   // list what happened since the last healthy C-point
	Film     bool   // and draw it
	recording.Files
	Timeout   time.Duration           // of the analysis of a recording; 0: none
	Slice     int                     // of so many suspects say where their values came from; needs the recorded instructions
	SliceMost int                     // by at most so many statements; 0: all
	Indexing  func(done, total int64) // told while the index is made that a slice needs; nil: none
	NoAddress bool                    // of these leave out what only tells where a value lies
	// AllocFree has the blocks of a recording found without knowing the allocator; nil: they
	// are those that it has.
	AllocFree *allocfree.Options
	// Locating watches the fault locator; nil: nobody does.
	Locating *analysis.Locating
}

// analysis is what an analysis needs of them.
func (o *AnalysisOptions) analysis() analysis.Options {
	return analysis.Options{Spec: o.Spec, All: o.All, Pictures: o.Pictures, Steps: o.Steps, Film: o.Film, Locating: o.Locating}
}

// RunOptions are all that Run needs.
type RunOptions struct {
	Program  string
	Args     []string
	Analysis AnalysisOptions
	Capture  live.CaptureOptions
	Record   string // trace file to write as well; "": none
	Last     int64  // bytes that the trace may take: only the newest part is kept; 0: all is

	lost   func(error) // nothing more can be written to Record: see live.Options.Lost
	stdout *os.File    // the program's; nil: mgtrace's own
	letGo  func()      // the process that runs already has been let go: signals may end mgtrace again; nil: it was launched
	// prepare adds to what is captured once the program's files are known; nil: nothing.
	prepare func(*symbol.Program, *live.CaptureOptions) error
}

// live is what watching the program needs of them.
func (o *RunOptions) live() live.Options {
	return live.Options{
		Program: o.Program, Args: o.Args, Stdout: o.stdout, Spec: o.Analysis.Spec, SourceDirs: o.Analysis.Files.SourceDirs, DebugDirs: o.Analysis.Files.DebugDirs,
		Record: o.Record, Last: o.Last, Lost: o.lost, Capture: o.Capture, Prepare: o.prepare,
	}
}

// RenderOptions say what to draw of a trace.
type RenderOptions struct {
	At       string
	From, To string
	Node     string
	Max      int
	History  bool
	Path     string
	DOT      bool
	Out      io.Writer
}
