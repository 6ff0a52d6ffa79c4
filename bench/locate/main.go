package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
)

// The programs, in the order of table 4.1 of the thesis.
var programs = []string{
	"circular-list", "ordered-list", "doubly-linked-list", "quad-tree", "avl-tree",
	"b-tree", "red-black-tree", "leftist-heap", "bipartite-graph",
}

// Other structures, which came later: they tell how far what was learnt on the first carries.
var others = []string{
	"lru-cache", "timer-heap", "skip-list", "interval-treap", "word-trie", "arc-graph",
	"fibonacci-heap", "order-book", "bplus-tree", "piece-table", "expression-dag",
}

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "locate:", err)
		os.Exit(2)
	}
}

func command() error {
	c := &campaign{Levels: []string{"-O0", "-O2"}, coverage: true, log: func(string, ...any) {}}
	flag.StringVar(&c.binary, "mgtrace", "mgtrace", "the `program` to measure")
	flag.Uint64Var(&c.Seed, "seed", 1, "of the mutants and of the workload")
	flag.IntVar(&c.Mutants, "n", 10, "`mutants` of each program that break something")
	flag.IntVar(&c.Base, "base", 1000, "`keys` that are inserted first")
	flag.IntVar(&c.Operations, "operations", 500, "inserts and deletes after that")
	flag.StringVar(&c.engine, "engine", "inline", "the engine that records")
	flag.IntVar(&c.workers, "j", runtime.NumCPU(), "programs side by side")
	only := flag.String("run", "", "only programs whose name matches this `regexp`")
	beyond := flag.Bool("others", false, "take structures that are not of the thesis's table 4.1")
	skip := flag.String("skip", "", "leave out coverage, analysis (record only, for -again), -O0 or -O2 (separated by commas)")
	without := flag.String("without", "", "leave `evidence` out of account: counterfactual, repair, habit, missing, unlike, beside, mirror, last, outdated, vain, basis, stale, taken, dropped, lost, doomed, swapped, instead, passed, edited, switched, altered, garbage, used, early, freed, stray, crossed, crash, entered, matched, unasked, renewed, unwritten, tallied, and of habits gap, text, of unlike fields, origin, reached (separated by commas)")
	flag.BoolVar(&c.slicing, "slices", false, "compare slices from the first suspect with slices from the crash, of mutants that die")
	flag.BoolVar(&c.crashes, "crashes", false, "take only mutants that die, and locate without a specification as well")
	healthy := flag.Bool("healthy", false, "run the programs as they are, under both engines, and print accusations")
	seeds := flag.Int("seeds", 5, "`seeds` of -healthy")
	flag.StringVar(&c.keep, "keep", "", "keep mutants and recordings below this `directory`")
	flag.StringVar(&c.from, "again", "", "analyse what -keep has kept in this `directory`, and record nothing")
	profile := flag.String("cpuprofile", "", "write a profile of the processor time to this `file`")
	asJSON := flag.Bool("json", false, "print everything as one JSON object")
	verbose := flag.Bool("v", false, "say what became of each mutant")
	dir := flag.String("programs", "bench/locate/programs", "the `directory` with the programs and workload.h")
	foreign := flag.String("foreign", "", "take the programs of this `directory` instead: each NAME.c that has a NAME.cons")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *without != "" {
		c.Without = strings.Split(*without, ",")
	}
	for s := range strings.SplitSeq(*skip, ",") {
		switch s {
		case "coverage":
			c.coverage = false
		case "analysis":
			c.recordOnly = true
		case "-O0":
			c.Levels = []string{"-O2"}
		case "-O2":
			c.Levels = []string{"-O0"}
		case "":
		default:
			return fmt.Errorf("-skip %s: there are coverage, analysis, -O0 and -O2", s)
		}
	}
	if *verbose {
		c.log = func(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	from, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	if c.binary, err = filepath.Abs(c.binary); err != nil {
		return err
	}
	for _, dir := range []*string{&c.keep, &c.from} { // compilers and mgtrace run elsewhere
		if *dir == "" {
			continue
		}
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	names := programs
	if *beyond {
		names = others
	}
	at := from
	if *foreign != "" {
		if at, err = filepath.Abs(*foreign); err != nil {
			return err
		}
		if names, err = specified(at); err != nil {
			return err
		}
	}
	var subjects []*subject
	for _, name := range names {
		if !wanted.MatchString(name) {
			continue
		}
		s, err := readSubject(at, from, name)
		if err != nil {
			return err
		}
		subjects = append(subjects, s)
	}
	if len(subjects) == 0 {
		return errors.New("no program of that name")
	}
	if c.keep != "" { // on the same file system
		if err := os.MkdirAll(c.keep, 0o777); err != nil {
			return err
		}
	}
	if c.dir, err = os.MkdirTemp(c.keep, "mgtrace-locate-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *healthy {
		return c.printHealthy(ctx, subjects, *seeds)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	outcomes, err := c.all(ctx, subjects)
	if err != nil {
		return err
	}
	if *asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			*campaign
			Programs []*outcome `json:"programs"`
		}{c, outcomes})
	}
	c.print(os.Stdout, outcomes)
	return nil
}

// specified returns the names of the programs in a directory that have a specification.
func specified(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.cons"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, spec := range found {
		name := strings.TrimSuffix(spec, ".cons")
		if _, err := os.Stat(name + ".c"); err == nil {
			names = append(names, filepath.Base(name))
		}
	}
	return names, nil
}

func (c *campaign) printHealthy(ctx context.Context, subjects []*subject, seeds int) error {
	n, found, err := c.healthy(ctx, subjects, []string{"inline", "ebpf"}, seeds)
	if err != nil {
		return err
	}
	fmt.Printf("%d runs of programs that are right, %d accusations\n", n, len(found))
	for _, a := range found {
		fmt.Printf("  %s %s, %s, seed %d: %s\n", a.Program, a.Level, a.Engine, a.Seed, a.Said)
	}
	return nil
}
