package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	found, err := run()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	case found:
		os.Exit(1)
	}
}

// A soak is the test as a whole.
type soak struct {
	mgtrace       string
	launch        string // command lines with {engine}, {file}, {program}, {pid}
	attach        string
	engine        string
	seed          uint64
	dir           string // temporary
	targets       []*target
	patience      time.Duration // for what ought to end at once
	attachesOfOne int           // how many attachments a target sees

	mu       sync.Mutex
	outcomes map[string]int // what happened how often
	failures []string
}

func run() (found bool, err error) {
	s := &soak{outcomes: map[string]int{}, attachesOfOne: 20}
	flag.StringVar(&s.mgtrace, "mgtrace", "mgtrace", "the `program` to test")
	flag.StringVar(&s.engine, "engine", "auto", "the engine")
	launches := flag.Int("launches", 10_000, "how many launches")
	attaches := flag.Int("attach", 0, "how many attachments")
	parallel := flag.Int("parallel", 2, "how many at once")
	only := flag.String("only", "", "do only `launch:N` or attach:N")
	source := flag.String("targets", "bench/soak/targets", "the `directory` with the targets' sources")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano())%1_000_000, "of all random choices")
	flag.DurationVar(&s.patience, "patience", 20*time.Second, "how long what ought to end may take")
	flag.StringVar(&s.launch, "launch-command", "record --engine {engine} -o {file} {program} --", "mgtrace's arguments of a launch")
	flag.StringVar(&s.attach, "attach-command", "attach -v --engine {engine} -o {file} {pid}", "mgtrace's arguments of an attachment, with -v")
	flag.Parse()
	if flag.NArg() > 0 || *parallel < 1 {
		return false, errors.New("usage: soak [flags]")
	}
	if s.mgtrace, err = filepath.Abs(s.mgtrace); err != nil {
		return false, err
	}
	if s.dir, err = os.MkdirTemp("", "mgtrace-soak-"); err != nil {
		return false, err
	}
	defer func() {
		if !found { // else what failed is kept
			os.RemoveAll(s.dir)
		}
	}()
	fmt.Printf("seed %d\n", s.seed)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.prepare(*source, *launches+*attaches > 0 || *only != ""); err != nil {
		return false, err
	}

	before := look(s.home())
	jobs := jobs(*only, *launches, (*attaches+s.attachesOfOne-1)/s.attachesOfOne)
	if jobs == nil {
		return false, fmt.Errorf("-only %s: want launch:N or attach:N", *only)
	}
	began, done := time.Now(), 0
	queue := make(chan job)
	var workers sync.WaitGroup
	for range *parallel {
		workers.Go(func() {
			for j := range queue {
				s.one(ctx, j)
				s.mu.Lock()
				if done++; done%100 == 0 {
					fmt.Fprintf(os.Stderr, "%d of %d, %d failures, %s\n", done, len(jobs), len(s.failures), time.Since(began).Round(time.Second))
				}
				s.mu.Unlock()
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil {
			break
		}
		queue <- j
	}
	close(queue)
	workers.Wait()

	for _, what := range slices.Sorted(maps.Keys(s.outcomes)) {
		fmt.Printf("%7d  %s\n", s.outcomes[what], what)
	}
	left := before.left(s.home(), len(jobs))
	for _, f := range append(s.failures, left...) {
		fmt.Println("FAILED", f)
	}
	fmt.Println(before.unread())
	fmt.Printf("%d of %d launches and series of attachments, %d failures, %d leaks, seed %d, %s\n",
		done, len(jobs), len(s.failures), len(left), s.seed, time.Since(began).Round(time.Second))
	return len(s.failures)+len(left) > 0, nil
}

// A job is one launch, or one target with a series of attachments.
type job struct {
	kind   string
	number int
}

func jobs(only string, launches, series int) []job {
	if only != "" {
		kind, text, _ := strings.Cut(only, ":")
		var j job
		if _, err := fmt.Sscan(text, &j.number); err != nil || kind != "launch" && kind != "attach" {
			return nil
		}
		j.kind = kind
		return []job{j}
	}
	all := []job{}
	for i := range launches {
		all = append(all, job{"launch", i})
	}
	for i := range series {
		all = append(all, job{"attach", i})
	}
	return all
}

// one does a job in a directory of its own, and keeps the directory if it fails.
func (s *soak) one(ctx context.Context, j job) {
	r := rand.New(rand.NewPCG(s.seed, uint64(j.number)<<1|uint64(len(j.kind)&1)))
	dir := filepath.Join(s.dir, fmt.Sprintf("%s-%d", j.kind, j.number))
	do := s.oneLaunch
	if j.kind == "attach" {
		do = s.oneSeries
	}
	err := do(ctx, r, dir)
	if err == nil {
		os.RemoveAll(dir)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, fmt.Sprintf("%s %d: %v\n       files: %s; repeat: go run ./bench/soak -engine %s -seed %d -only %s:%d",
		j.kind, j.number, err, dir, s.engine, s.seed, j.kind, j.number))
	fmt.Fprintln(os.Stderr, "FAILED", s.failures[len(s.failures)-1])
}

// home is the home directory of all tracers.
func (s *soak) home() string { return filepath.Join(s.dir, "home") }

// count notes what happened in a run.
func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes[what]++
}
