package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"mgtrace/probe"
	"mgtrace/session/analysis"
	"mgtrace/session/live"
	"mgtrace/session/symbol"
)

// AnalysisOptions say what to check and how to show it.
type AnalysisOptions struct {
	Spec       string // specification file; "": memory faults only
	All        bool   // go on after the first inconsistent C-point
	Pictures   string // directory for pictures; "": none
	Steps      bool   // list what happened since the last healthy C-point
	Film       bool   // and draw it
	SourceDirs []string
	DebugDirs  []string
	Timeout    time.Duration // of the analysis of a recording; 0: none
	Slice      int           // of so many suspects say where their values came from; needs the recorded instructions
	SliceMost  int           // by at most so many statements; 0: all
	NoAddress  bool          // of these leave out what only tells where a value lies
	// AllocFree has the blocks of a recording found without knowing the allocator; nil: they
	// are those that it has.
	AllocFree *AllocFree
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

	stdout *os.File // the program's; nil: mgtrace's own
	// prepare adds to what is captured once the program's files are known; nil: nothing.
	prepare func(*symbol.Program, *live.CaptureOptions) error
}

// live is what watching the program needs of them.
func (o *RunOptions) live() live.Options {
	return live.Options{
		Program: o.Program, Args: o.Args, Stdout: o.stdout, Spec: o.Analysis.Spec, SourceDirs: o.Analysis.SourceDirs, DebugDirs: o.Analysis.DebugDirs,
		Record: o.Record, Last: o.Last, Capture: o.Capture, Prepare: o.prepare,
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

// InfoOptions say how to print a trace.
type InfoOptions struct {
	Analysis AnalysisOptions // AllocFree only
	JSON     bool
	Events   bool
	Index    bool                    // make an index also where the trace is short
	Progress func(done, total int64) // of making it; nil: none
	Memory   MemoryLimit
}

// errAllocForm says how --alloc is written; ADDR=ROLE gives the behaviour of a
// standard allocator to
// a function without a name.
var errAllocForm = errors.New("write NAME(size=N), NAME(size=N, count=M), NAME(fixed=BYTES) or 0xADDR=malloc (calloc, realloc, free)")

// ParseAllocator parses an allocator as the user writes it: "pool_get(size=2)",
// "0x401136=malloc", "obstack_get". Without a size the first argument is it.
func ParseAllocator(s string) (probe.Allocator, error) {
	name, params, err := splitCall(s)
	if err != nil {
		return probe.Allocator{}, err
	}
	a := probe.Allocator{Func: name}
	if fn, like, ok := strings.Cut(name, "="); ok {
		if params != "" {
			return a, errAllocForm
		}
		return allocatorLike(fn, like)
	}
	if params == "" {
		a.Size = 1
		return a, nil
	}
	for _, p := range strings.Split(params, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 0, 31)
		if !ok || err != nil {
			return a, errAllocForm
		}
		switch strings.TrimSpace(key) {
		case "size":
			a.Size = int(n)
		case "count":
			a.Count = int(n)
		case "fixed":
			a.Fixed = n
		default:
			return a, errAllocForm
		}
	}
	if a.Size > 6 || a.Count > 6 || a.Size == 0 && a.Fixed == 0 {
		return a, errors.New("arguments count from 1 to 6")
	}
	return a, nil
}

// allocatorLike is ADDR=malloc and its kin, for programs without symbols.
func allocatorLike(fn, like string) (probe.Allocator, error) {
	switch like {
	case "malloc", "calloc", "realloc", "free", "reallocarray", "aligned_alloc", "memalign", "posix_memalign", "valloc":
		return probe.Allocator{Func: fn, Like: like}, nil
	}
	return probe.Allocator{}, fmt.Errorf("there is no standard allocator %q", like)
}

// ParseFree parses "pool_put(1)" or "0x401200": what frees, and which argument.
func ParseFree(s string) (probe.Allocator, error) {
	name, params, err := splitCall(s)
	if err != nil {
		return probe.Allocator{}, err
	}
	a := probe.Allocator{Free: name, FreeArg: 1}
	if params != "" {
		n, err := strconv.Atoi(strings.TrimSpace(params))
		if err != nil || n < 1 || n > 6 {
			return a, errors.New("write NAME(N), the N-th argument, from 1 to 6")
		}
		a.FreeArg = n
	}
	return a, nil
}

// splitCall takes "name(params)" apart.
func splitCall(s string) (name, params string, err error) {
	name, params, ok := strings.Cut(strings.TrimSpace(s), "(")
	if ok {
		if !strings.HasSuffix(params, ")") {
			return "", "", errAllocForm
		}
		params = strings.TrimSuffix(params, ")")
	}
	if name = strings.TrimSpace(name); name == "" {
		return "", "", errAllocForm
	}
	return name, params, nil
}
