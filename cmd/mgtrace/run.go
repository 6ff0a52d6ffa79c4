package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mgtrace/session"
	"mgtrace/session/live"
)

func newRun(s streams) *cobra.Command {
	var (
		an       analysisFlags
		ca       captureFlags
		win      windowFlags
		out      outputFlags
		passExit bool
		record   string
		sl       sliceFlags
	)
	c := &cobra.Command{
		Use:   "run [flags] PROG [flags] [-- ARGS...]",
		Short: "Run a program, check its structures, and name what broke them",
		Long: `Run a program under watch. Its standard streams, terminal and signals are its
own; the report goes to standard error or to --report FILE. Without --spec only
memory faults are checked: overruns, writes into freed memory, double free.

Flags stand before or after PROG; PROG's own arguments after --.`,
		Example: `  mgtrace run ./prog --spec quadtree.cons
  mgtrace run ./prog --spec quadtree.cons -- -v input.txt
  mgtrace run --slice --spec list.cons ./prog
  mgtrace run --watch --spec list.cons ./prog
  mgtrace run --html r.html ./prog --spec list.cons
  mgtrace run --json --report r.json --sarif r.sarif ./prog --spec list.cons < input
  mgtrace run --follow exec=ls --spec ls.cons ./run-tests.sh`,
		Args: needProgram,
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			capture, err := ca.options(s, out.verbose)
			if err != nil {
				return err
			}
			o := session.RunOptions{Program: args[0], Args: args[1:], Analysis: sl.apply(s, out.wants(an.options())), Capture: capture, Record: record}
			if sl.slice && ca.watch {
				return errors.New("--slice needs the whole run, --watch stops it: which?")
			}
			if err := an.allocFree.check(); err != nil {
				return err
			}
			if err := win.apply(&o); err != nil {
				return err
			}
			hugePages(forHistory)
			collectLate()
			r, exit, err := session.Run(c.Context(), o)
			if err != nil {
				return err
			}
			err = finish(r, &out, s.err)
			live.AwaitStopped(c.Context(), r)
			var status exitStatus
			if passExit && (err == nil || errors.As(err, &status)) {
				return exitStatus(exit)
			}
			return err
		},
	}
	an.add(c)
	an.allocFree.add(c)
	ca.add(c)
	win.add(c)
	out.add(c)
	sl.add(c)
	c.Flags().BoolVar(&passExit, "pass-exit", false, "exit with the program's own status (128 + signal if it was killed)")
	c.Flags().StringVarP(&record, "output", "o", "", "record the history to `FILE` as well")
	c.Flags().BoolVar(&ca.watch, "watch", false, "stop the program at its first inconsistent C-point, alive, for a debugger")
	return c
}

func newRecord(s streams) *cobra.Command {
	var (
		ca      captureFlags
		win     windowFlags
		an      analysisFlags
		output  string
		verbose bool
		asJSON  bool
		discard bool
		full    bool
		around  string
	)
	c := &cobra.Command{
		Use:   "record -o FILE [flags] PROG [flags] [-- ARGS...]",
		Short: "Run a program and record its history for later analysis",
		Long: `Record the history of a program's heap to a file. Every analysis works from the
file, on another machine and without the program: what debug information the
reports need travels in it.

A specification or --cpoint says which functions to watch; without, the crash and
the end of the program are its only C-points.

With --full every executed instruction is recorded as well, library code included,
with the addresses of its memory accesses, into a second file FILE.flow. --from, --to,
--after and --around then say for which part of the run that is done; the history of
the heap is whole.`,
		Example: `  mgtrace record -o t.mgt ./prog -- input.txt
  mgtrace record --full -o t.mgt --around insert ./prog
  mgtrace record -o t.mgt --spec quadtree.cons ./prog
  mgtrace record -o t.mgt --cpoint insert --cpoint delete ./prog
  mgtrace record -o t.mgt --last 2GB ./server
  mgtrace record -o t.mgt --from insert --after 500 --to insert ./prog`,
		Args: needProgram,
		RunE: func(c *cobra.Command, args []string) error {
			if (output == "") != discard {
				return errors.New("say where to record to: -o FILE (or --discard, to see what recording costs)")
			}
			capture, err := ca.options(s, verbose)
			if err != nil {
				return err
			}
			o := session.RunOptions{Program: args[0], Args: args[1:], Capture: capture, Analysis: an.options(), Record: output}
			if err := win.apply(&o); err != nil {
				return err
			}
			if discard && o.Last > 0 {
				return errors.New("--last says how much to keep, --discard to keep nothing: which?")
			}
			o.Capture.Full, o.Capture.Around = full, around
			if around != "" && !full {
				return errors.New("--around limits which instructions --full records: add --full")
			}
			hugePages(forPlan)
			collectUsual()
			sum, err := session.Record(c.Context(), o)
			if err != nil {
				return err
			}
			if err := sum.Print(s.err, asJSON); err != nil || sum.Lost == nil {
				return err
			}
			return exitStatus(statusFailed) // the file is not what was asked for
		},
	}
	ca.add(c)
	win.add(c)
	an.addDirs(c)
	c.Flags().StringVar(&an.spec, "spec", "", "record what this specification needs (a .cons `FILE`)")
	c.Flags().StringVarP(&output, "output", "o", "", "the trace `FILE` to write")
	c.Flags().BoolVar(&discard, "discard", false, "keep nothing of what is recorded")
	c.Flags().BoolVar(&asJSON, "json", false, "say what was recorded as one JSON object")
	addRepeated(c, &ca.cpoints, "cpoint", "watch this `FUNCTION` as a C-point (repeatable)")
	addRepeated(c, &ca.globals, "global", "record this object in static memory, `NAME` or FILE:NAME (repeatable)")
	c.Flags().BoolVar(&full, "full", false, "record every executed instruction too, into FILE.flow")
	c.Flags().StringVar(&around, "around", "", "with --full: only the instructions within calls of this `FUNCTION`")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "say more: the engine, the plan")
	return c
}

func needProgram(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
		return fmt.Errorf("which program? try: %s", example)
	}
	return nil
}
