package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mgtrace/session"
	"mgtrace/session/specfile"
)

func newSpec(s streams) *cobra.Command {
	spec := &cobra.Command{
		Use: "spec", Short: "Work with specifications",
		Example: `  mgtrace spec init ./prog --type tree -o tree.cons
  mgtrace spec check tree.cons ./prog`,
	}
	var debugDirs []string
	check := &cobra.Command{
		Use:   "check FILE [PROG]",
		Short: "Check a specification, alone or against a program",
		Example: `  mgtrace spec check quadtree.cons
  mgtrace spec check quadtree.cons ./prog`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New("which specification? try: mgtrace spec check FILE [PROG]")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			program := ""
			if len(args) == 2 {
				program = args[1]
			}
			ctx, done := session.Endable(c.Context())
			defer done()
			summary, err := until(ctx, func() (string, error) { return specfile.Describe(args[0], program, debugDirs) })
			if err != nil {
				return err
			}
			fmt.Fprintln(s.out, summary)
			return nil
		},
	}
	addRepeated(check, &debugDirs, "debug-dir", "look for separate debug files below `DIR` too (repeatable)")
	spec.AddCommand(check, newSpecInit(s))
	return spec
}

// until is what do returns, if it does before the context ends: large debug information takes long to read.
func until(ctx context.Context, do func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := do()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
