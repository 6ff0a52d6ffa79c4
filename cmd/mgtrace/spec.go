package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

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
		RunE: func(_ *cobra.Command, args []string) error {
			program := ""
			if len(args) == 2 {
				program = args[1]
			}
			summary, err := specfile.Describe(args[0], program, debugDirs)
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
