package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"mgtrace/probe"
	"mgtrace/report"
	"mgtrace/report/page"
	"mgtrace/report/sarif"
	"mgtrace/session"
	"mgtrace/session/allocfree"
	"mgtrace/session/live"
	"mgtrace/session/recording"
)

// analysisFlags are those of every command that checks a specification.
type analysisFlags struct {
	spec       string
	all        bool
	pictures   string
	sourceDirs []string
	debugDirs  []string
	timeout    time.Duration // of commands that only analyse
	allocFree  allocFreeFlags
}

func (f *analysisFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.spec, "spec", "", "the constraints that a healthy structure holds (a .cons `FILE`)")
	c.Flags().BoolVar(&f.all, "all", false, "go on after the first inconsistent C-point; list at each what is new there")
	c.Flags().StringVar(&f.pictures, "pictures", "", "draw the structure before and after each suspect, as SVG into `DIR`")
	f.addDirs(c)
}

// addTimeout adds how long an analysis of what is recorded may take.
func (f *analysisFlags) addTimeout(c *cobra.Command) {
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "end the analysis after this time and report what is known by then (30s, 5m)")
}

// sliceFlags ask where the suspects' values came from.
type sliceFlags struct {
	slice     bool
	suspects  int
	most      int
	noAddress bool
}

func (f *sliceFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.slice, "slice", false, "say of the first suspect where its value came from (see mgtrace slice)")
	c.Flags().IntVar(&f.suspects, "slice-suspects", 1, "with --slice: of the first `N` suspects")
	c.Flags().IntVar(&f.most, "slice-most", 20, "with --slice: by at most `N` statements, the nearest; 0: all")
	c.Flags().BoolVar(&f.noAddress, "no-address", false, "with --slice: leave out what only tells where in memory a value lies")
}

func (f *sliceFlags) apply(s streams, o session.AnalysisOptions) session.AnalysisOptions {
	if f.slice {
		o.Slice, o.SliceMost, o.NoAddress = max(f.suspects, 1), f.most, f.noAddress
		o.Indexing = progress(s, "making the index of the instructions")
	}
	return o
}

func (f *analysisFlags) addDirs(c *cobra.Command) {
	addRepeated(c, &f.sourceDirs, "source-dir", "look for source files below `DIR` too (repeatable)")
	addRepeated(c, &f.debugDirs, "debug-dir", "look for separate debug files below `DIR` too, as below /usr/lib/debug (repeatable)")
}

// allocFreeFlags have the blocks of a recording found without knowing the allocator.
type allocFreeFlags struct {
	on         bool
	allocators []string
	heap       []string
}

func (f *allocFreeFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.on, "alloc-free", false, "find the blocks without knowing the allocator, by what addresses are computed from (needs record --full)")
	addRepeated(c, &f.allocators, "allocator", "with --alloc-free: leave out what this function does; `NAME` gives out blocks, NAME(N) takes back its N-th argument (repeatable)")
	addRepeated(c, &f.heap, "heap", "with --alloc-free: this object in static memory is heap too, recorded with --global `NAME` (repeatable)")
}

func (f *allocFreeFlags) check() error {
	if !f.on && len(f.allocators)+len(f.heap) > 0 {
		return errors.New("--allocator and --heap say how blocks are found without knowing the allocator: add --alloc-free")
	}
	return nil
}

func (f *allocFreeFlags) options() *allocfree.Options {
	if !f.on {
		return nil
	}
	return &allocfree.Options{Allocators: f.allocators, Heap: f.heap}
}

func (f *analysisFlags) options() session.AnalysisOptions {
	return session.AnalysisOptions{AllocFree: f.allocFree.options(), Timeout: f.timeout, Spec: f.spec, All: f.all, Pictures: f.pictures, Files: recording.Files{SourceDirs: f.sourceDirs, DebugDirs: f.debugDirs}}
}

// captureFlags are those of the commands that run a program.
type captureFlags struct {
	engine   string
	modules  []string
	allocs   []string
	frees    []string
	cpoints  []string
	globals  []string
	follow   string
	timeout  time.Duration
	progress bool
	plain    bool
	all      bool
	watch    bool
	order    string
}

// add adds them for a program that is launched.
func (f *captureFlags) add(c *cobra.Command) {
	f.addCommon(c)
	c.Flags().StringVar(&f.follow, "follow", "", "`exec=NAME`: wait through shells and wrappers for the program NAME")
	c.Flags().BoolVar(&f.plain, "allow-unprivileged", false, "run setuid and setcap programs without their privileges")
}

// addCommon adds those that a process which runs already has as well.
func (f *captureFlags) addCommon(c *cobra.Command) {
	c.Flags().StringVar(&f.engine, "engine", "auto", "how to capture: `ENGINE` auto, inline (inside the process), ebpf (the kernel's probes), translate (every instruction, by translated code: what --full uses) or step (every instruction, singly: very slow)")
	addRepeated(c, &f.modules, "module", "capture the stores of the shared library `NAME` too (repeatable); those with debug information of their own are, also most that the program opens, but with none")
	addRepeated(c, &f.allocs, "alloc", "an allocator of the program's own: `NAME(size=N)`, argument N being the size; also (size=N, count=M), (size=N, old=M), (bytes=N), or 0xADDR=malloc (repeatable)")
	addRepeated(c, &f.frees, "free", "what frees its blocks: `NAME(N)`, the N-th argument (repeatable)")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "stop the program after this time and report, also where its threads were (30s, 5m)")
	c.Flags().BoolVar(&f.progress, "progress", false, "show progress also where the program prints to the same terminal")
	c.Flags().BoolVar(&f.all, "everything", false, "record every store to the heap, also those that can not matter to the specification (inline)")
	c.Flags().StringVar(&f.order, "order", "sync", "`ORDER` of stores between threads: sync (as locks, atomics and allocators tell) or strict (each store by itself; inline)")
}

func (f *captureFlags) options(s streams, verbose bool) (live.CaptureOptions, error) {
	o := live.CaptureOptions{
		Engine: f.engine, Modules: f.modules, Timeout: f.timeout, CPoints: f.cpoints, Globals: f.globals,
		AllowUnprivileged: f.plain, Everything: f.all, Watch: f.watch, Progress: f.progressTo(s), Running: s.quits.running,
	}
	if verbose {
		o.Log = func(format string, a ...any) { fmt.Fprintf(s.err, "mgtrace: "+format+"\n", a...) }
	}
	switch f.order {
	case "sync":
	case "strict":
		o.Strict = true
	default:
		return o, fmt.Errorf("--order %s: write sync or strict", f.order)
	}
	if f.follow != "" {
		name, ok := strings.CutPrefix(f.follow, "exec=")
		if !ok || name == "" {
			return o, fmt.Errorf("--follow %s: write --follow exec=NAME", f.follow)
		}
		o.Follow = name
	}
	for _, a := range f.allocs {
		al, err := probe.ParseAllocator(a)
		if err != nil {
			return o, fmt.Errorf("--alloc %s: %w", a, err)
		}
		o.Allocators = append(o.Allocators, al)
	}
	for _, a := range f.frees {
		al, err := probe.ParseFree(a)
		if err != nil {
			return o, fmt.Errorf("--free %s: %w", a, err)
		}
		o.Allocators = append(o.Allocators, al)
	}
	return o, nil
}

// progressTo: progress is for a person at a terminal, and must not be mixed
// into what the program itself writes there.
func (f *captureFlags) progressTo(s streams) func(live.Progress) {
	if !isTerminal(s.err) || isTerminal(s.out) && !f.progress {
		return nil
	}
	return func(p live.Progress) {
		if p.Done {
			fmt.Fprint(s.err, "\r\x1b[K")
			return
		}
		fmt.Fprintf(s.err, "\r\x1b[Kmgtrace: %s, %s events, %s/s", p.Elapsed.Round(time.Second), report.Thousands(p.Events), report.Thousands(uint64(p.Rate)))
	}
}

// windowFlags limit what is recorded.
type windowFlags struct {
	from, to, after string
	last            string
}

func (f *windowFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.from, "from", "", "begin the history at the first call of this `FUNCTION`")
	c.Flags().StringVar(&f.to, "to", "", "end the history when a call of this `FUNCTION` returns")
	c.Flags().StringVar(&f.after, "after", "", "begin after so many calls of the --from function (500), or not before a time (10s): `N`")
	c.Flags().StringVar(&f.last, "last", "", "keep only the newest part of the history, at most `SIZE` on disk at any time (2GB, 500MiB)")
}

// apply sets the options.
func (f *windowFlags) apply(o *session.RunOptions) error {
	w := live.Window{From: f.from, To: f.to}
	if f.after != "" {
		if err := w.ParseAfter(f.after); err != nil {
			return err
		}
	}
	o.Capture.Window = w
	if f.last != "" {
		n, err := parseSize(f.last)
		if err != nil {
			return fmt.Errorf("--last: %w", err)
		}
		o.Last = n
	}
	return nil
}

// outputFlags say where a report goes, and in what form.
type outputFlags struct {
	json    bool
	report  string
	html    string
	sarif   string
	color   string
	verbose bool
}

func (f *outputFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.json, "json", false, "print the report as one JSON object")
	c.Flags().StringVar(&f.report, "report", "", "write the report to `FILE`; - is standard output, for --html and --sarif too")
	c.Flags().StringVar(&f.html, "html", "", "write the report as a page with the changes as pictures to `FILE`")
	c.Flags().StringVar(&f.sarif, "sarif", "", "write the report for editors and code review, SARIF 2.1.0, to `FILE`")
	c.Flags().StringVar(&f.color, "color", "auto", "colours: auto, always or never (auto heeds NO_COLOR)")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "say more: the engine, the plan, all fields, every unprobed store")
}

// wants tells the analysis what the forms need.
func (f *outputFlags) wants(o session.AnalysisOptions) session.AnalysisOptions {
	o.Film = f.html != ""
	o.Steps = o.Film || f.sarif != "" || f.json
	return o
}

// write prints the report to w, or to its file, and to the files of its other forms.
func (f *outputFlags) write(r *report.Report, w io.Writer) error {
	print := func(w io.Writer) error {
		if f.json {
			return r.JSON(w)
		}
		return r.Text(w, report.TextOptions{Color: f.colored(w), Verbose: f.verbose})
	}
	forms := []struct {
		file  string
		write func(io.Writer) error
	}{
		{f.report, print},
		{f.html, func(w io.Writer) error { return page.Write(w, r) }},
		{f.sarif, func(w io.Writer) error { return sarif.Write(w, r, sarif.Options{Version: version(), Root: workDir()}) }},
	}
	var errs []error
	for _, form := range forms {
		if form.file != "" {
			if err := toFile(form.file, form.write); err != nil {
				errs = append(errs, fmt.Errorf("write the report: %w", err))
			}
		}
	}
	if f.report == "" || errs != nil { // what a long run has found is not lost with a file
		errs = append(errs, print(w))
	}
	return errors.Join(errs...)
}

// workDir is what paths are relative to, "" if nobody knows.
func workDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// standardOutput is its name in place of a file's.
const standardOutput = "-"

func toFile(path string, write func(io.Writer) error) error {
	form := func(file *os.File) error {
		b := bufio.NewWriter(file)
		shown := &printable{to: b}
		return cmp.Or(write(shown), shown.Flush(), b.Flush()) // each tells the first error again
	}
	if path == standardOutput {
		return form(os.Stdout)
	}
	return writeWhole(path, form)
}

// writable refuses a file that can not be written as things are, without making it: that is
// better known before a long run than behind it.
func writable(path string) error {
	at := path
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		at = filepath.Dir(path)
	} else if err != nil {
		return err
	}
	st, err := os.Stat(at)
	switch {
	case err != nil:
		return err
	case at == path && st.IsDir():
		return fmt.Errorf("%s is a directory", path)
	}
	if err := unix.Access(at, unix.W_OK); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (f *outputFlags) colored(w io.Writer) bool {
	switch f.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

func (f *outputFlags) check() error {
	if f.color != "auto" && f.color != "always" && f.color != "never" {
		return errors.New("--color is auto, always or never")
	}
	for _, file := range []string{f.report, f.html, f.sarif} {
		if file != "" && file != standardOutput {
			if err := writable(file); err != nil {
				return fmt.Errorf("write the report: %w", err)
			}
		}
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := beneath(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// finish prints the report and turns it into the exit status.
func finish(r *report.Report, o *outputFlags, w io.Writer) error {
	if err := o.write(r, w); err != nil {
		return err
	}
	if status := r.Status(); status != statusOK {
		return exitStatus(status)
	}
	return nil
}
