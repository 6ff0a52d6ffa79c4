package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"mgtrace/session"
)

func newAttach(s streams) *cobra.Command {
	var (
		an     analysisFlags
		ca     captureFlags
		win    windowFlags
		out    outputFlags
		record string
	)
	c := &cobra.Command{
		Use:   "attach [flags] PID",
		Short: "Watch a process that runs already, and let it go again",
		Long: `Watch a process that runs already, as run watches a program, until it ends or
crashes, or until you let it go: by Ctrl-C, SIGTERM or --timeout. Then it runs on
as it was, and the report tells what was seen meanwhile. The process is never
ended by mgtrace.

The blocks of glibc's malloc that were there before are found by their headers;
their types, by the typed pointers of static memory and of stacks that lead to
them. Nobody is accused of what was broken before.

Which processes one may attach to is the kernel's decision: mgtrace doctor.`,
		Example: `  mgtrace attach 4711
  mgtrace attach $(pidof server) --spec list.cons --timeout 30s
  mgtrace attach 4711 --spec list.cons --last 2GB
  mgtrace attach 4711 -o t.mgt --spec list.cons`,
		Args: needProcess,
		RunE: func(c *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid <= 0 {
				return fmt.Errorf("%q is not the number of a process: mgtrace attach $(pidof NAME)", args[0])
			}
			if !isKeeper() {
				return inFront(c.Context(), s, pid)
			}
			ctx, log, err := keeping(c.Context())
			if err != nil {
				return err
			}
			if err := out.check(); err != nil {
				return err
			}
			capture, err := ca.options(s, out.verbose)
			if err != nil {
				return err
			}
			capture.Undo = log
			o := session.RunOptions{Analysis: out.wants(an.options()), Capture: capture, Record: record}
			if err := win.apply(&o); err != nil {
				return err
			}
			hugePages(forHistory)
			collectLate()
			r, err := session.Attach(ctx, pid, o)
			if err != nil {
				return err
			}
			return finish(r, &out, s.err)
		},
	}
	an.add(c)
	ca.addCommon(c)
	win.add(c)
	out.add(c)
	addRepeated(c, &ca.cpoints, "cpoint", "watch this `FUNCTION` as a C-point (repeatable)")
	addRepeated(c, &ca.globals, "global", "record this object in static memory, `NAME` or FILE:NAME (repeatable)")
	c.Flags().StringVarP(&record, "output", "o", "", "record the history to `FILE` as well")
	c.Flags().BoolVar(&ca.watch, "watch", false, "stop the program at its first inconsistent C-point, alive, for a debugger")
	c.Flags().Lookup("timeout").Usage = "let the process go after this time and report (30s, 5m)"
	return c
}

func needProcess(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("which process? try: mgtrace attach PID --spec FILE")
	}
	return nil
}
