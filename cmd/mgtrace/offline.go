package main

import (
	"errors"

	"github.com/spf13/cobra"

	"mgtrace/session"
)

func newLocate(s streams) *cobra.Command {
	var (
		an  analysisFlags
		out outputFlags
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
			r, err := session.Locate(c.Context(), args[0], out.wants(an.options()))
			if err != nil {
				return err
			}
			return finish(r, &out, s.out)
		},
	}
	an.add(c)
	an.addTimeout(c)
	out.add(c)
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
			r, err := session.Check(c.Context(), args[0], program, out.wants(an.options()))
			if err != nil {
				return err
			}
			return finish(r, &out, s.out)
		},
	}
	an.add(c)
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
			o.Out = s.out
			return session.Render(c.Context(), args[0], an.options(), o)
		},
	}
	c.Flags().StringVar(&an.spec, "spec", "", "the types to draw (a .cons `FILE`)")
	an.addDirs(c)
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
	c := &cobra.Command{
		Use:     "info TRACE",
		Short:   "Say what a trace holds",
		Example: `  mgtrace info t.mgt`,
		Args:    exactly(1, "which trace? try: mgtrace info t.mgt"),
		RunE: func(c *cobra.Command, args []string) error {
			o := session.InfoOptions{JSON: json, Events: events, Index: index, Progress: progress(s, "making the index "+args[0]+".idx")}
			return session.Info(s.out, args[0], o)
		},
	}
	c.Flags().BoolVar(&json, "json", false, "print one JSON object")
	c.Flags().BoolVar(&index, "index", false, "make an index beside the trace also if it is short")
	c.Flags().BoolVar(&events, "events", false, "print every event as a line of text")
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
