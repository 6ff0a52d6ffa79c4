package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mgtrace/session"
	"mgtrace/session/ask"
)

func newLocate(s streams) *cobra.Command {
	var (
		an  analysisFlags
		out outputFlags
		sl  sliceFlags
	)
	c := &cobra.Command{
		Use:   "locate TRACE --spec FILE",
		Short: "Check a recorded history and name what broke the structure",
		Example: `  mgtrace locate t.mgt --spec quadtree.cons
  mgtrace locate t.mgt --spec quadtree.cons --html r.html --sarif r.sarif`,
		Args: exactly(1, "which trace? try: mgtrace locate t.mgt --spec FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if err := an.allocFree.check(); err != nil {
				return err
			}
			if f, err := os.Stat(args[0]); err == nil {
				hugePages(min(forHistory, 6*uint64(f.Size()))) // 20 bytes a change, 3.5 in a packed trace
			}
			collectLate()
			ctx, done := session.Endable(c.Context())
			defer done()
			r, err := session.Locate(ctx, args[0], sl.apply(s, out.wants(an.options())))
			if err != nil {
				return err
			}
			return finish(r, &out, s.out)
		},
	}
	an.add(c)
	an.allocFree.add(c)
	an.addTimeout(c)
	out.add(c)
	sl.add(c)
	return c
}

func newCheck(s streams) *cobra.Command {
	var (
		an      analysisFlags
		out     outputFlags
		program string
	)
	c := &cobra.Command{
		Use:   "check TRACE|CORE --spec FILE",
		Short: "Say which nodes are broken, in a recorded history or a core file",
		Long: `Check a specification without looking for the cause: at every C-point of a
recorded history, or on the heap of a core file, which has no history.`,
		Example: `  mgtrace check t.mgt --spec quadtree.cons
  mgtrace check core.1234 --spec quadtree.cons --program ./prog`,
		Args: exactly(1, "which file? try: mgtrace check t.mgt --spec FILE, or check CORE --spec FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if err := an.allocFree.check(); err != nil {
				return err
			}
			ctx, done := session.Endable(c.Context())
			defer done()
			r, err := session.Check(ctx, args[0], program, out.wants(an.options()))
			if err != nil {
				return err
			}
			return finish(r, &out, s.out)
		},
	}
	an.add(c)
	an.allocFree.add(c)
	an.addTimeout(c)
	out.add(c)
	c.Flags().StringVar(&program, "program", "", "core file: the program that dumped it, if it lies elsewhere now (`FILE`)")
	return c
}

func newRender(s streams) *cobra.Command {
	var (
		an analysisFlags
		o  session.RenderOptions
	)
	c := &cobra.Command{
		Use:   "render TRACE --spec FILE [--at T | --from T --to T | --history]",
		Short: "Draw a structure at a time, its evolution, or the MG++ itself",
		Example: `  mgtrace render t.mgt --spec quadtree.cons --at crash -o crash.svg
  mgtrace render t.mgt --spec quadtree.cons --from 380 --to 412 -o frames/
  mgtrace render t.mgt --spec list.cons --history -o mgpp.svg`,
		Args: exactly(1, "which trace? try: mgtrace render t.mgt --spec FILE --at crash"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := an.allocFree.check(); err != nil {
				return err
			}
			o.Out = s.out
			return session.Render(c.Context(), args[0], an.options(), o)
		},
	}
	c.Flags().StringVar(&an.spec, "spec", "", "the types to draw (a .cons `FILE`)")
	an.addDirs(c)
	an.allocFree.add(c)
	c.Flags().StringVar(&o.At, "at", "end", "the `TIME`: "+timeHelp)
	c.Flags().StringVar(&o.From, "from", "", "draw every change from this time on")
	c.Flags().StringVar(&o.To, "to", "end", "… up to this time")
	c.Flags().StringVar(&o.Node, "node", "", "draw the neighbourhood of this `NODE` only (qdtree#3)")
	c.Flags().IntVar(&o.Max, "max", 60, "draw at most this many nodes; the rest is folded")
	c.Flags().BoolVar(&o.History, "history", false, "draw the MG++ with timestamps and statements")
	c.Flags().StringVarP(&o.Path, "output", "o", "", "the SVG `FILE` (a directory for --from), - or nothing: standard output")
	c.Flags().BoolVar(&o.DOT, "dot", false, "write Graphviz's language instead of SVG")
	return c
}

func newInfo(s streams) *cobra.Command {
	var json, events, index bool
	var memory memoryFlag
	var allocFree allocFreeFlags
	c := &cobra.Command{
		Use:     "info TRACE",
		Short:   "Say what a trace holds",
		Example: `  mgtrace info t.mgt`,
		Args:    exactly(1, "which trace? try: mgtrace info t.mgt"),
		RunE: func(c *cobra.Command, args []string) error {
			limit, err := memory.keep()
			if err == nil {
				err = allocFree.check()
			}
			if err != nil {
				return err
			}
			o := ask.InfoOptions{AllocFree: allocFree.options(), JSON: json, Events: events, Index: index, Progress: progress(s, "making the index "+args[0]+".idx"), Memory: limit,
				Warn: func(w string) { fmt.Fprintf(s.err, "mgtrace: %s\n", w) }}
			return ask.Info(s.out, args[0], o)
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print one JSON object")
	c.Flags().BoolVar(&index, "index", false, "make an index beside the trace also if it is short")
	c.Flags().BoolVar(&events, "events", false, "print every event as a line of text")
	memory.add(c)
	allocFree.add(c)
	return c
}

func newInstructions(s streams) *cobra.Command {
	var o ask.InstructionOptions
	c := &cobra.Command{
		Use:   "instructions TRACE [--from N | --at TIME]",
		Short: "List executed instructions of a full recording",
		Long: `List the instructions that the program executed, in the one order of all threads,
with their source lines and the addresses of their memory accesses (r: read,
w: written), and what happened between them. The trace is one of record --full.`,
		Example: `  mgtrace instructions t.mgt --from 12000 --count 40
  mgtrace instructions t.mgt --at 380`,
		Args: exactly(1, "which trace? try: mgtrace instructions t.mgt --at crash"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.Count < 1 {
				return errors.New("--count is how many instructions to list: 1 at least")
			}
			if o.At != "" && c.Flags().Changed("from") {
				return errors.New("--from and --at both say where to begin: which?")
			}
			return ask.Instructions(s.out, args[0], o)
		},
	}
	c.Flags().Uint64Var(&o.From, "from", 1, "the first one, by its `NUMBER`, from 1")
	c.Flags().StringVar(&o.At, "at", "", "list up to the instruction that made this change of the history: `TIME`, "+timeHelp)
	c.Flags().IntVar(&o.Count, "count", 40, "list at most so many")
	c.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object for each")
	return c
}

// exactly wants n arguments; the hint says which.
func exactly(n int, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return errors.New(hint)
		}
		return nil
	}
}
