package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// passing runs beside the failing one, as in table 4.1 of the thesis.
const passingRuns = 9

// spectrum is how often each line was executed by runs that fail and that pass.
type spectrum struct {
	fail, pass map[int]int // runs that executed the line
	failed     int
	passed     int
}

// spectrum runs a mutant under gcov. Runs that pass are looked for among other seeds
// and smaller workloads, since some mutants always fail on the whole one.
func (s *subject) spectrum(ctx context.Context, dir string, w workload) (*spectrum, error) {
	bin, err := s.compile(ctx, dir, "covered", "-O0", "--coverage", "-DCOVERAGE", "-DJUDGE")
	if err != nil {
		return nil, err
	}
	out := &spectrum{fail: map[int]int{}, pass: map[int]int{}}
	sizes := [][2]int{{w.base, w.operations}, {w.base, 0}, {100, 50}, {30, 0}, {10, 5}, {5, 2}, {2, 1}, {1, 0}, {0, 0}}
	for try := 0; try < 4*len(sizes) && out.passed < passingRuns || out.failed == 0 && try == 0; try++ {
		size := sizes[try%len(sizes)]
		run := workload{w.seed + uint64(try), size[0], size[1]}
		if try == 0 {
			run = w
		}
		lines, ok, err := s.covered(ctx, dir, bin, run)
		if err != nil {
			return nil, err
		}
		switch {
		case ok:
			out.passed++
			for l := range lines {
				out.pass[l]++
			}
		case out.failed == 0:
			out.failed++
			for l := range lines {
				out.fail[l]++
			}
		}
	}
	return out, nil
}

// covered runs once and returns the lines that were executed.
func (s *subject) covered(ctx context.Context, dir, bin string, w workload) (map[int]bool, bool, error) {
	old, err := filepath.Glob(filepath.Join(dir, "*.gcda"))
	if err != nil {
		return nil, false, err
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			return nil, false, err
		}
	}
	code, _, err := execute(ctx, bin, w.args())
	if err != nil {
		return nil, false, err
	}
	data, err := filepath.Glob(filepath.Join(dir, "*.gcda"))
	if err != nil {
		return nil, false, err
	}
	if len(data) == 0 {
		return nil, code == 0, nil // it died without a word
	}
	cmd := exec.CommandContext(ctx, "gcov", "--json-format", "--stdout", data[0])
	cmd.Dir = dir
	text, err := cmd.Output()
	var refused *exec.ExitError
	if errors.As(err, &refused) && ctx.Err() == nil {
		return nil, code == 0, nil // the mutant has broken its own counts: gcov can not read them
	}
	if err != nil {
		return nil, false, fmt.Errorf("gcov: %w", err)
	}
	var doc struct {
		Files []struct {
			File  string
			Lines []struct {
				Line  int `json:"line_number"`
				Count float64
			}
		}
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&doc); err != nil {
		return nil, false, fmt.Errorf("gcov: %w", err)
	}
	limit := 1 + strings.Count(s.source.text[:max(0, strings.Index(s.source.text, judgePart))], "\n")
	lines := map[int]bool{}
	for _, f := range doc.Files {
		if filepath.Base(f.File) != s.name+".c" {
			continue
		}
		for _, l := range f.Lines {
			if l.Count > 0 && l.Line < limit {
				lines[l.Line] = true
			}
		}
	}
	return lines, code == 0, nil
}

// tarantula and ochiai say how suspicious a line is.
func (s *spectrum) tarantula(line int) float64 {
	if s.fail[line] == 0 {
		return 0
	}
	f := float64(s.fail[line]) / float64(s.failed)
	if s.passed == 0 {
		return 1
	}
	return f / (f + float64(s.pass[line])/float64(s.passed))
}

func (s *spectrum) ochiai(line int) float64 {
	if s.fail[line] == 0 {
		return 0
	}
	f := float64(s.fail[line])
	return f / math.Sqrt(float64(s.failed)*(f+float64(s.pass[line])))
}

// examine returns how many statements are looked at, in the order of suspicion,
// until one of the wanted; of equals half. 0: none of them was executed by a run
// that failed.
func (s *spectrum) examine(score func(int) float64, wanted func(int) bool) float64 {
	best := 0.0
	for l := range s.fail {
		if wanted(l) {
			best = max(best, score(l))
		}
	}
	if best == 0 {
		return 0
	}
	before, equal, good := 0, 0, 0
	for l := range s.fail {
		switch v := score(l); {
		case v > best:
			before++
		case v == best:
			equal++
			if wanted(l) {
				good++
			}
		}
	}
	// The first of good among equal in random order.
	return float64(before) + float64(equal+1)/float64(good+1)
}
