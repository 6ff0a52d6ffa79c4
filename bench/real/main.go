package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"mgtrace/bench/real/debian"
	"mgtrace/report"
)

func main() {
	var b bench
	flag.StringVar(&b.mgtrace, "mgtrace", "./mgtrace", "the `command` to try")
	flag.StringVar(&b.engine, "engine", "auto", "as in mgtrace run")
	flag.StringVar(&b.optimise, "optimise", "-O2", "how the programs are built")
	dir := flag.String("dir", "out/real", "where they are built")
	testdata := flag.String("testdata", "testdata/real", "specifications, inputs, faults")
	run := flag.String("run", "", "only programs that match this regular `expression`")
	flag.Parse()
	if err := b.all(os.Stdout, *dir, *testdata, *run); err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1)
	}
}

type bench struct {
	mgtrace, engine, optimise string
	workshop                  *debian.Workshop
}

var errMissed = errors.New("a healthy program was accused, or a fault was not named")

func (b *bench) all(out io.Writer, dir, testdata, run string) error {
	var err error
	if b.workshop, err = debian.Open(dir, testdata); err != nil {
		return err
	}
	if b.mgtrace, err = filepath.Abs(b.mgtrace); err != nil {
		return err
	}
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "program\tstructure\tstatements\tstores\tC-points\tfault\tsuspects\trank")
	missed := false
	for _, p := range debian.Programs {
		if !wanted.MatchString(p.Name) {
			continue
		}
		rows, err := b.program(p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, r := range rows {
			missed = missed || r.missed
			fmt.Fprintln(table, strings.Join(r.cells, "\t"))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if missed {
		return errMissed
	}
	return nil
}

type row struct {
	cells  []string
	missed bool
}

// program gives the healthy program's row and one for each fault.
func (b *bench) program(p debian.Program) ([]row, error) {
	faults, err := b.workshop.Faults(p)
	if err != nil {
		return nil, err
	}
	built, err := b.workshop.Build(p, b.optimise, nil)
	if err != nil {
		return nil, err
	}
	statements, err := b.statements(p, built)
	if err != nil {
		return nil, err
	}
	healthy, err := b.run(p, built)
	if err != nil {
		return nil, err
	}
	found := fmt.Sprint(suspects(healthy))
	rows := []row{{
		cells: []string{p.Name, p.Structure, statements, fmt.Sprint(healthy.Events.Delivered),
			fmt.Sprint(healthy.Checked.CPoints), "none", found, ""},
		missed: healthy.Found(),
	}}
	for _, f := range faults {
		r, err := b.fault(p, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) fault(p debian.Program, f debian.Fault) (row, error) {
	built, err := b.workshop.Build(p, b.optimise, &f)
	if err != nil {
		return row{}, err
	}
	r, err := b.run(p, built)
	if err != nil {
		return row{}, err
	}
	rank, err := built.Rank(r)
	if err != nil {
		return row{}, err
	}
	shown := fmt.Sprint(rank)
	if rank == 0 {
		shown = "-"
	}
	return row{
		cells:  []string{p.Name, "", "", "", "", f.Name, fmt.Sprint(suspects(r)), shown},
		missed: rank == 0,
	}, nil
}

// suspects counts those of the first inconsistent C-point.
func suspects(r *report.Report) int {
	if !r.Found() {
		return 0
	}
	return len(r.CPoints[0].Suspects)
}

// run runs a program under mgtrace in a directory of its own.
func (b *bench) run(p debian.Program, built debian.Built) (*report.Report, error) {
	dir, err := os.MkdirTemp("", "real")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := b.workshop.MakeInput(p, dir); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "report.json")
	args := append([]string{"run", "--engine", b.engine, "--json", "--report", file, "--timeout", "10s",
		"--spec", b.workshop.Spec(p)}, p.Flags...)
	args = append(args, built.Binary, "--")
	cmd := exec.Command(b.mgtrace, append(args, b.workshop.Args(p)...)...)
	cmd.Dir = dir
	out, runErr := cmd.CombinedOutput()
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errors.Join(runErr, err), out)
	}
	var r report.Report
	return &r, json.Unmarshal(text, &r)
}

var counted = regexp.MustCompile(`\((\d+) statements?\)`)

// statements is the length of the specification, as spec check counts.
func (b *bench) statements(p debian.Program, built debian.Built) (string, error) {
	out, err := exec.Command(b.mgtrace, "spec", "check", b.workshop.Spec(p), built.Binary).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("spec check: %w: %s", err, out)
	}
	m := counted.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("spec check does not count: %s", out)
	}
	return string(m[1]), nil
}
