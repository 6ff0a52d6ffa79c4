package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A kept trial is a directory NAME-NUMBER with the mutant's source, its recordings
// and trialFile. The first of a program also has what was counted apart.
const (
	trialFile   = "trial.json"
	outcomeFile = "outcome.json"
)

// kept moves a trial's directory to where it is kept, if it is to be.
func (c *campaign) kept(t *trial, dir string, o *outcome) error {
	if c.keep == "" {
		return nil
	}
	to := filepath.Join(c.keep, fmt.Sprintf("%s-%d", t.Program, t.Number))
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.Rename(dir, to); err != nil {
		return err
	}
	counts := *o
	counts.Trials = nil
	if err := writeJSON(filepath.Join(c.keep, t.Program+"-"+outcomeFile), counts); err != nil {
		return err
	}
	return writeJSON(filepath.Join(to, trialFile), t)
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// again analyses the kept recordings of one program.
func (c *campaign) again(ctx context.Context, s *subject) (*outcome, error) {
	o := &outcome{Program: s.name, Lines: strings.Count(s.source.text, "\n")}
	if err := readJSON(filepath.Join(c.from, s.name+"-"+outcomeFile), o); err != nil {
		return nil, err
	}
	for n := 1; ctx.Err() == nil; n++ {
		at := filepath.Join(c.from, fmt.Sprintf("%s-%d", s.name, n))
		t := &trial{}
		if err := readJSON(filepath.Join(at, trialFile), t); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, err
		}
		t.Runs = nil
		endSpec, err := withoutPoints(s.spec, at)
		if err != nil {
			return nil, err
		}
		for _, level := range c.Levels {
			runs, err := c.located(ctx, s, t, filepath.Join(at, "mutant"+level+".mgt"), endSpec, level)
			if err != nil {
				return nil, err
			}
			t.Runs = append(t.Runs, runs...)
		}
		c.log("%s %d: %s", s.name, n, t.describe())
		o.Trials = append(o.Trials, t)
	}
	return o, ctx.Err()
}
