package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"mgtrace/report"
	"mgtrace/session"
)

func newOverflow(s streams) *cobra.Command {
	var (
		an       analysisFlags
		ca       captureFlags
		out      outputFlags
		passExit bool
		record   string
	)
	c := &cobra.Command{
		Use:   "overflow [flags] PROG|TRACE [flags] [-- ARGS...]",
		Short: "Find accesses that leave the heap block whose address they use",
		Long: `Follow the address of every heap block through registers and memory, by each executed
instruction, and name the accesses through an address of one block that hit another
one or none, that leave the array in a structure that they were computed for, or that
use a block after its free. The program runs slowly, instruction by instruction; a
recording made by record --full is looked at without running anything.`,
		Example: `  mgtrace overflow ./prog -- input.txt
  mgtrace overflow --sarif r.sarif ./prog
  mgtrace record --full -o t.mgt ./prog && mgtrace overflow t.mgt`,
		Args: needProgram,
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if strings.HasSuffix(args[0], ".mgt") {
				if len(args) > 1 || record != "" {
					return errors.New("a recording takes no arguments and is not recorded again")
				}
				r, err := session.Overflow(c.Context(), args[0], an.options())
				if err != nil {
					return err
				}
				return finish(r, &out, s.out)
			}
			capture, err := ca.options(s, out.verbose)
			if err != nil {
				return err
			}
			var r *report.Report
			r, exit, err := session.RunOverflow(c.Context(), session.RunOptions{Program: args[0], Args: args[1:], Analysis: an.options(), Capture: capture, Record: record})
			if err != nil {
				return err
			}
			err = finish(r, &out, s.err)
			var status exitStatus
			if passExit && (err == nil || errors.As(err, &status)) {
				return exitStatus(exit)
			}
			return err
		},
	}
	an.addDirs(c)
	ca.add(c)
	out.add(c)
	c.Flags().BoolVar(&passExit, "pass-exit", false, "exit with the program's own status (128 + signal if it was killed)")
	c.Flags().StringVarP(&record, "output", "o", "", "keep the recording in `FILE`, and its instructions in FILE.flow")
	return c
}
