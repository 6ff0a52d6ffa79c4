package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"mgtrace/session/ask"
)

func main() {
	b := bench{}
	var traces string
	flag.StringVar(&b.mgtrace, "mgtrace", "./mgtrace", "the `program` to measure")
	flag.StringVar(&b.changes, "changes", "100000000", "that the recorded program makes, about")
	flag.IntVar(&b.rounds, "rounds", 11, "how often each query is asked")
	flag.StringVar(&b.dir, "dir", "", "`directory` to work in; default: a temporary one")
	flag.StringVar(&traces, "trace", "", "measure these traces instead (a glob `pattern`); their indexes are made anew")
	flag.BoolVar(&b.keep, "keep", false, "with -trace: ask only, with the index that is there")
	flag.IntVar(&b.thesisRounds, "thesis-rounds", 3, "how often each of the thesis's programs is run in each way")
	only := flag.String("thesis", "", "only the thesis's programs whose names match this `regexp`; - for none of them")
	flag.Parse()
	if err := b.all(traces, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench/mgpp:", err)
		os.Exit(1)
	}
}

type bench struct {
	mgtrace, changes, dir string
	rounds, thesisRounds  int
	keep                  bool
}

// all measures a long history, and the programs of the thesis.
func (b *bench) all(traces, only string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "mgtrace-bench-*"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	if only == "" || only == "-" || traces != "" {
		if err := b.run(traces); err != nil || traces != "" || only == "-" {
			return err
		}
	}
	return b.thesis(match)
}

func (b *bench) run(pattern string) error {
	if pattern != "" {
		paths, err := filepath.Glob(pattern)
		for _, p := range paths {
			if err == nil {
				err = b.measure(p)
			}
		}
		return err
	}
	source, prog, path := filepath.Join(b.dir, "churn.c"), filepath.Join(b.dir, "churn"), filepath.Join(b.dir, "churn.mgt")
	churn, err := sources.ReadFile("testdata/churn.c")
	if err == nil {
		err = os.WriteFile(source, churn, 0o644)
	}
	if err != nil {
		return err
	}
	if out, err := exec.Command("gcc", "-g", "-O2", "-o", prog, source).CombinedOutput(); err != nil {
		return fmt.Errorf("gcc: %w\n%s", err, out)
	}
	if _, err := b.step("record", "record", "--global", "root", "--global", "queue", "-o", path, prog, "--", b.changes); err != nil {
		return err
	}
	return b.measure(path)
}

// step runs mgtrace once and prints what it took.
func (b *bench) step(what string, args ...string) (out []byte, err error) {
	c := exec.Command(b.mgtrace, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	began := time.Now()
	if out, err = c.Output(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	u := c.ProcessState
	peak := int64(0)
	if r, ok := u.SysUsage().(*syscall.Rusage); ok {
		peak = r.Maxrss << 10
	}
	fmt.Printf("%-34s %8.2f s, %6.2f s of processor time, at most %d MB of memory\n", what, time.Since(began).Seconds(), (u.UserTime() + u.SystemTime()).Seconds(), peak>>20)
	return out, nil
}

func (b *bench) measure(path string) error {
	if !b.keep {
		if err := b.make(path); err != nil {
			return err
		}
	}
	info, err := b.info(path)
	if err != nil {
		return err
	}
	return b.ask(path, info)
}

// make packs the trace and makes its index.
func (b *bench) make(path string) error {
	_ = os.Remove(path + ".idx") // it may not be there
	small := filepath.Join(filepath.Dir(path), "packed.mgt")
	defer os.Remove(small)
	if _, err := b.step("pack", "pack", path, "-o", small); err != nil {
		return err
	}
	if _, err := b.step("make the index (first question)", "info", path, "--json", "--index"); err != nil {
		return err
	}
	changes, err := b.info(path)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d changes\n", path, changes)
	for _, f := range []struct{ what, path string }{{"trace", path}, {"packed", small}, {"index", path + ".idx"}} {
		s, err := os.Stat(f.path)
		if err != nil {
			return err
		}
		fmt.Printf("%-34s %13d bytes, %5.2f a change\n", f.what, s.Size(), float64(s.Size())/float64(max(changes, 1)))
	}
	return nil
}

// info returns how many changes a trace has.
func (b *bench) info(path string) (changes uint64, err error) {
	out, err := exec.Command(b.mgtrace, "info", path, "--json").Output()
	if err != nil {
		return 0, err
	}
	var info struct {
		Changes uint64 `json:"changes"`
	}
	err = json.Unmarshal(out, &info)
	return info.Changes, err
}

// question is asked at a time, as a process and inside of one; ask is nil for info.
type question struct {
	what string
	args func(at uint64) []string
	ask  func(q *ask.Queries, at uint64) error
}

// ask asks the trace.
func (b *bench) ask(path string, changes uint64) error {
	first := "block#1"
	for _, name := range []string{"::root", "tree#1"} {
		if exec.Command(b.mgtrace, "who", path, name).Run() == nil {
			first = name
			break
		}
	}
	fmt.Printf("%-34s %21s %18s %21s %18s\n", "", "inside, fastest/median", "processor", "process", "processor")
	for _, q := range []question{
		{"who (a cell that changes often)",
			func(at uint64) []string { return []string{"who", path, first, "--at", fmt.Sprint(at), "-n", "1"} },
			func(q *ask.Queries, at uint64) error { return q.Who(first, fmt.Sprint(at), 1) }},
		{"who, five writers, by a path",
			func(at uint64) []string { return []string{"who", path, first + "->left", "--at", fmt.Sprint(at)} },
			func(q *ask.Queries, at uint64) error { return q.Who(first+"->left", fmt.Sprint(at), 5) }},
		{"who, at the end",
			func(uint64) []string { return []string{"who", path, first, "-n", "1"} },
			func(q *ask.Queries, _ uint64) error { return q.Who(first, "end", 1) }},
		{"history of a node",
			func(uint64) []string { return []string{"history", path, "tree#1000"} },
			func(q *ask.Queries, _ uint64) error { return q.History("tree#1000", "end", 50) }},
		{"snapshot, 60 nodes",
			func(at uint64) []string { return []string{"snapshot", path, "--node", first, "--at", fmt.Sprint(at)} },
			func(q *ask.Queries, at uint64) error {
				return q.Snapshot(context.Background(), ask.SnapshotOptions{Node: first, At: fmt.Sprint(at), Max: 60})
			}},
		diff(path, 100),
		diff(path, 1000),
		{"info", func(uint64) []string { return []string{"info", path} }, nil},
	} {
		if err := b.query(path, q, changes); err != nil {
			fmt.Printf("%-34s %v\n", q.what, err)
		}
	}
	return nil
}

// diff asks what so many changes did.
func diff(path string, n uint64) question {
	times := func(at uint64) string { return fmt.Sprintf("%d,%d", at, at+n) }
	return question{fmt.Sprintf("diff of %d changes", n),
		func(at uint64) []string { return []string{"snapshot", path, "--diff", times(at)} },
		func(q *ask.Queries, at uint64) error {
			return q.Snapshot(context.Background(), ask.SnapshotOptions{Diff: times(at), Max: 60})
		}}
}

// query asks one question many times, from a tenth of the run to nine tenths: what an answer
// costs depends on where it lies in its part of the trace.
func (b *bench) query(path string, x question, changes uint64) error {
	var inside, insideProcessor, process, processor []time.Duration
	for i := range b.rounds {
		at := changes/10 + changes*8/10*uint64(i)/uint64(max(b.rounds-1, 1))
		c := exec.Command(b.mgtrace, x.args(at)...)
		began := time.Now()
		if err := c.Run(); err != nil {
			return err
		}
		process = append(process, time.Since(began))
		processor = append(processor, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		began = time.Now()
		used := ownProcessor()
		if x.ask == nil {
			if err := ask.Info(io.Discard, path, ask.InfoOptions{}); err != nil {
				return err
			}
		} else {
			q, err := ask.Open(path, ask.Options{Out: io.Discard})
			if err != nil {
				return err
			}
			q.Quick()
			err = x.ask(q, at)
			q.Close()
			if err != nil {
				return err
			}
		}
		inside = append(inside, time.Since(began))
		insideProcessor = append(insideProcessor, ownProcessor()-used)
	}
	fmt.Printf("%-34s", x.what)
	for _, d := range [][]time.Duration{inside, insideProcessor, process, processor} {
		slices.Sort(d)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		fmt.Printf(" %7.1f /%7.1f ms", ms(d[0]), ms(d[b.rounds/2]))
	}
	fmt.Println()
	return nil
}

// ownProcessor is the processor time that this process has taken so far.
func ownProcessor() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
