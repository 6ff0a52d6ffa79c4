package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"mgtrace/report"
)

// sliced compares where one can begin when a mutant has died: at the first suspect, or
// at the crash. Nil slices are of mutants that no one is suspected of.
type sliced struct {
	Suspect *sliceSize `json:"suspect,omitempty"`
	Crash   *sliceSize `json:"crash"`
}

// sliceSize is what a slice has of the program's own statements.
type sliceSize struct {
	Statements   int    `json:"statements"`
	Instructions uint64 `json:"instructions"` // executed ones, of libraries too
	Fault        bool   `json:"fault"`        // the true statement, or the place of one that is missing, is in it
}

// slices records a mutant with all that it executes, if it dies, and slices from both.
func (c *campaign) slices(ctx context.Context, s *subject, m *mutant, dir string, w workload) (*sliced, error) {
	bin, err := s.compile(ctx, dir, "sliced", "-O0")
	if err != nil {
		return nil, err
	}
	code, _, err := execute(ctx, bin, w.args())
	if err != nil || code <= 128 || code == 128+int(syscall.SIGKILL) { // that is execute's limit of time
		return nil, err
	}
	trace := bin + ".mgt"
	args := append([]string{"record", "--full", "--timeout", "2m", "-o", trace, "--spec", s.spec, bin, "--"}, w.args()...)
	if text, err := exec.CommandContext(ctx, c.binary, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mgtrace record --full: %w\n%s", err, text)
	}
	out := &sliced{}
	if out.Crash, err = c.slice(ctx, m, trace, "crash"); err != nil || out.Crash == nil {
		return nil, err // with other addresses it lives
	}
	out.Suspect, err = c.slice(ctx, m, trace, "--spec", s.spec, "--suspect", "1")
	return out, err
}

// slice computes one slice; nil if there is nothing to begin with.
func (c *campaign) slice(ctx context.Context, m *mutant, trace string, criterion ...string) (*sliceSize, error) {
	cmd := exec.CommandContext(ctx, c.binary, append([]string{"slice", "--json", "-n", "0", trace}, criterion...)...)
	cmd.Dir = filepath.Dir(trace)
	var text, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &said
	if err := cmd.Run(); err != nil {
		for _, none := range []string{"there is none of that number", "there is nothing to slice from", "the program did not crash"} {
			if strings.Contains(said.String(), none) {
				return nil, nil
			}
		}
		return nil, fmt.Errorf("mgtrace slice %s: %w\n%s", criterion, err, said.Bytes())
	}
	var a report.Slice
	if err := json.Unmarshal(text.Bytes(), &a); err != nil {
		return nil, err
	}
	return &sliceSize{
		Statements: a.Total, Instructions: a.Instructions,
		Fault: slices.ContainsFunc(a.Statements, func(st report.SliceStatement) bool { return st.Line > 0 && m.names(st.Line) }),
	}, nil
}

// printSlices writes the table of slices: their sizes on average, and in how many the
// fault is.
func printSlices(w io.Writer, outcomes []*outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "program\tcrashes\tsuspected\tfrom the suspect: statements\tinstructions\tfault in it\tfrom the crash: statements\tinstructions\tfault in it\t\n")
	var all []*sliced
	row := func(name string, of []*sliced) {
		var suspects, crashes []*sliceSize
		for _, x := range of {
			if x.Suspect != nil {
				suspects = append(suspects, x.Suspect)
				crashes = append(crashes, x.Crash)
			}
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t\n", name, len(of), len(suspects), sizes(suspects), sizes(crashes))
	}
	for _, o := range outcomes {
		var of []*sliced
		for _, x := range o.Trials {
			if x.Slices != nil {
				of = append(of, x.Slices)
			}
		}
		row(o.Program, of)
		all = append(all, of...)
	}
	row("all", all)
	t.Flush()
}

// sizes is "statements, instructions, fault in it".
func sizes(of []*sliceSize) string {
	statements, instructions, fault := 0, 0.0, 0
	for _, x := range of {
		statements += x.Statements
		instructions += float64(x.Instructions)
		if x.Fault {
			fault++
		}
	}
	return fmt.Sprintf("%s\t%s\t%d", ratio(float64(statements), len(of)), ratio(instructions, len(of)), fault)
}
