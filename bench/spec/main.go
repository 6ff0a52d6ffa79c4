package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mgtrace/constraints/mine"
	"mgtrace/session"
	"mgtrace/session/live"
	"mgtrace/session/mining"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "spec:", err)
		os.Exit(2)
	}
}

// bench is what all measurements share.
type bench struct {
	dir     string // for binaries and proposed specifications
	seed    uint64
	others  int
	times   int
	each    int
	verbose bool
}

func run() error {
	b := &bench{}
	programs := flag.String("programs", "bench/locate/programs", "the `directory` with NAME.c and NAME.cons")
	only := flag.String("run", "", "only programs whose name matches this `regexp`")
	flag.Uint64Var(&b.seed, "seed", 1, "the `seed` of the run that specifications are made from")
	flag.IntVar(&b.others, "others", 5, "other `runs` that may refute them")
	flag.IntVar(&b.times, "times", 6, "`operations` after which corruptions are tried")
	flag.IntVar(&b.each, "each", 250, "`corruptions` after each")
	flag.BoolVar(&b.verbose, "v", false, "list the constraints of all classes")
	keep := flag.String("o", "", "leave the proposed specifications in this `directory`")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	specs, err := filepath.Glob(filepath.Join(*programs, "*.cons"))
	if err != nil {
		return err
	}
	if len(specs) == 0 {
		return fmt.Errorf("%s has no specifications", *programs)
	}
	if b.dir = *keep; b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "mgtrace-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var rows []*row
	for _, s := range specs {
		name := strings.TrimSuffix(filepath.Base(s), ".cons")
		if !wanted.MatchString(name) {
			continue
		}
		fmt.Fprintln(os.Stderr, name)
		r, err := b.measure(ctx, name, strings.TrimSuffix(s, ".cons")+".c", s)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, r)
	}
	print(os.Stdout, rows, b.verbose)
	return nil
}

// row is what was measured of one program.
type row struct {
	name                              string
	found, partly, missed, untried    []string
	proposed                          int
	more, refuted                     []string
	breaking, caught                  int
	points, pointsFound, pointsBeside int
	seconds                           float64
}

var (
	typeName = regexp.MustCompile(`(?m)^type (\w+)`)
	cpoints  = regexp.MustCompile(`(?m)^cpoint ([^;]*);`)
)

// args are those of the workload: seed, base, operations.
func args(seed uint64) []string { return []string{fmt.Sprint(seed), "300", "200"} }

func (b *bench) measure(ctx context.Context, name, source, hand string) (*row, error) {
	binary := filepath.Join(b.dir, name)
	if out, err := exec.CommandContext(ctx, "gcc", "-g", "-O0", "-o", binary, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("gcc: %w\n%s", err, out)
	}
	text, err := os.ReadFile(hand)
	if err != nil {
		return nil, err
	}
	var types []string
	for _, m := range typeName.FindAllStringSubmatch(string(text), -1) {
		types = append(types, m[1])
	}
	began := time.Now()
	res, err := session.InitSpec(ctx, session.InitOptions{
		Program: binary, Args: args(b.seed), Types: types, Capture: live.CaptureOptions{Engine: "auto"},
	})
	if err != nil {
		return nil, err
	}
	r := &row{name: name, seconds: time.Since(began).Seconds()}
	proposed := filepath.Join(b.dir, name+".cons")
	if err := os.WriteFile(proposed, []byte(res.Text(name)), 0o666); err != nil {
		return nil, err
	}
	r.functions(string(text), res)
	c, err := session.CompareSpecs(ctx, session.CompareOptions{
		Program: binary, Args: args(b.seed + 1000),
		Comparison: mining.Comparison{Reference: hand, Other: proposed, Times: b.times, Each: b.each, Seed: b.seed},
	})
	if err != nil {
		return nil, err
	}
	r.classify(c)
	return r, b.refute(ctx, r, binary, proposed)
}

// functions compares C-points.
func (r *row) functions(hand string, res *mine.Result) {
	var want []string
	for _, m := range cpoints.FindAllStringSubmatch(hand, -1) {
		for _, f := range strings.Split(m[1], ",") {
			want = append(want, strings.TrimSpace(f))
		}
	}
	r.points = len(want)
	for _, c := range res.CPoints {
		switch {
		case !c.Chosen:
		case slices.Contains(want, c.Func):
			r.pointsFound++
		default:
			r.pointsBeside++
		}
	}
}

// classify sorts the constraints of both sides.
func (r *row) classify(c *mine.Comparison) {
	r.breaking, r.caught = c.Breaking, c.Caught
	for _, k := range c.Constraints[:len(c.Constraints)-1] { // the last stands for attributes
		switch {
		case k.Broken == 0:
			r.untried = append(r.untried, k.Label)
		case k.Caught == k.Broken:
			r.found = append(r.found, k.Label)
		case k.Caught == 0:
			r.missed = append(r.missed, k.Label)
		default:
			r.partly = append(r.partly, fmt.Sprintf("%s %d/%d", k.Label, k.Caught, k.Broken))
		}
	}
	r.proposed = len(c.Others) - 1
	for _, o := range c.Others {
		if o.Alone > 0 {
			r.more = append(r.more, o.Label)
		}
	}
}

// refute runs the program with other seeds under the proposed specification.
func (b *bench) refute(ctx context.Context, r *row, binary, spec string) error {
	for i := range b.others {
		rep, _, err := session.Run(ctx, session.RunOptions{
			Program: binary, Args: args(b.seed + 2000 + uint64(i)), Analysis: session.AnalysisOptions{Spec: spec, All: true},
			Capture: live.CaptureOptions{Engine: "auto"},
		})
		if err != nil {
			return err
		}
		for _, p := range rep.CPoints {
			for _, inc := range p.Inconsistencies {
				if !slices.Contains(r.refuted, inc.Constraint) {
					r.refuted = append(r.refuted, inc.Constraint)
				}
			}
		}
	}
	return nil
}

// print writes the table.
func print(w io.Writer, rows []*row, verbose bool) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| structure\t| by hand\t| found\t| partly\t| missed\t| caught\t| proposed\t| more\t| refuted\t| C-points\t| s\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		fmt.Fprintf(t, "| %s\t| %d\t| %d\t| %d\t| %d\t| %s\t| %d\t| %d\t| %d\t| %d of %d (%d)\t| %.1f\t|\n", strings.ReplaceAll(r.name, "-", " "),
			len(r.found)+len(r.partly)+len(r.missed)+len(r.untried), len(r.found), len(r.partly), len(r.missed), percent(r.caught, r.breaking),
			r.proposed, len(r.more), len(r.refuted), r.pointsFound, r.points, r.pointsBeside, r.seconds)
	}
	t.Flush()
	fmt.Fprintln(w)
	for _, r := range rows {
		list(w, r.name, "partly", r.partly)
		list(w, r.name, "missed", r.missed)
		list(w, r.name, "not tried", r.untried)
		list(w, r.name, "refuted", r.refuted)
		if verbose {
			list(w, r.name, "found", r.found)
			list(w, r.name, "more", r.more)
		}
	}
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

func list(w io.Writer, name, what string, items []string) {
	if len(items) > 0 {
		fmt.Fprintf(w, "* %s, %s: %s\n", strings.ReplaceAll(name, "-", " "), what, strings.Join(items, ", "))
	}
}
