package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "capture:", err)
		os.Exit(2)
	}
}

func run() error {
	b := &bench{}
	flag.StringVar(&b.binary, "mgtrace", "mgtrace", "the `program` to measure")
	flag.StringVar(&b.engine, "engine", "inline", "the engine of everything, disk and spec")
	flag.IntVar(&b.rounds, "n", 3, "`rounds`, of which medians are taken")
	flag.DurationVar(&b.limit, "limit", 120*time.Second, "stop a run after this time")
	only := flag.String("run", "", "only programs whose name matches this `regexp`")
	skip := flag.String("skip", "", "leave out these `columns` (separated by commas)")
	divide := flag.Int("divide", 1, "do only one part in this `number` of the work")
	quick := flag.Bool("quick", false, "-divide 20 -n 1 -limit 10s: does everything run?")
	jsonFile := flag.String("json", "", "write the numbers to this `file` too")
	work := flag.String("work", "bench/capture/work", "the `directory` with the programs' sources")
	tmp := flag.String("tmp", "", "make the temporary directory in this one; the traces need some gigabytes")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *quick {
		*divide, b.rounds, b.limit = 20, 1, 10*time.Second
	}
	if b.rounds < 1 || *divide < 1 {
		return errors.New("-n and -divide are at least 1")
	}
	b.columns = slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return slices.Contains(strings.Split(*skip, ","), c.name)
	})
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	source, err := filepath.Abs(*work)
	if err != nil {
		return err
	}
	if b.binary, err = filepath.Abs(b.binary); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp(*tmp, "mgtrace-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	b.trace = filepath.Join(b.dir, "trace.mgt")
	version, err := exec.Command(b.binary, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", b.binary, err)
	}
	help, _ := exec.Command(b.binary, "record", "--help").Output()
	b.recordJSON = strings.Contains(string(help), "--json")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := &report{
		Machine: machine(), Mgtrace: strings.TrimSpace(string(version)), Date: time.Now().UTC().Format(time.DateOnly),
		Rounds: b.rounds, LimitS: b.limit.Seconds(), Divided: *divide, columns: b.columns,
	}
	for _, p := range programs {
		if !wanted.MatchString(p.name) || ctx.Err() != nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", p.name)
		row, err := b.one(ctx, p, source, *divide)
		if err != nil {
			return err
		}
		r.Programs = append(r.Programs, row)
	}
	r.Means = means(b.columns, r.Programs)
	r.StartMs, r.StartNotes = b.start(ctx)
	r.print(os.Stdout)
	if *jsonFile == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*jsonFile, append(text, '\n'), 0o666)
}

// one makes a program's work, measures it and removes the work.
func (b *bench) one(ctx context.Context, p program, source string, divide int) (*row, error) {
	w := &workshop{source: source}
	var err error
	if w.dir, err = os.MkdirTemp(b.dir, "work-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(w.dir)
	c, err := p.make(w, max(1, p.scale/divide))
	if err != nil {
		return &row{Program: p.name, Reason: err.Error()}, nil
	}
	if c.dir == "" {
		c.dir = w.dir
	}
	return b.program(ctx, p.name, c), nil
}

// machine names what the numbers were measured on.
func machine() string {
	cpu := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(text); m != nil {
			cpu = string(m[1])
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%s, %d processors, Linux %s", cpu, runtime.NumCPU(), strings.TrimSpace(string(kernel)))
}
