package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"mgtrace/session/ask"
)

// queryFlags are those of every command that asks a trace.
type queryFlags struct {
	an     analysisFlags
	out    outputFlags
	memory memoryFlag
	index  bool
}

// memoryFlag is --memory.
type memoryFlag struct{ text string }

func (f *memoryFlag) add(c *cobra.Command) {
	c.Flags().StringVar(&f.text, "memory", "", "take no more memory than this `SIZE` (512MB); what needs more is refused")
}

// keep parses the limit and has the process keep it.
func (f *memoryFlag) keep() (ask.MemoryLimit, error) {
	if f.text == "" {
		return 0, nil
	}
	n, err := parseSize(f.text)
	if err != nil {
		return 0, fmt.Errorf("--memory: %w", err)
	}
	if n < leastMemory {
		return 0, fmt.Errorf("--memory %s: at least 64MB", f.text)
	}
	m := ask.MemoryLimit(n)
	m.Keep()
	return m, nil
}

// leastMemory is what packing takes, and the start of any question.
const leastMemory = 64e6

func (f *queryFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.an.spec, "spec", "", "take types and their names from this specification (a .cons `FILE`); else from debug information")
	c.Flags().BoolVar(&f.out.json, "json", false, "print one JSON object")
	c.Flags().StringVar(&f.out.color, "color", "auto", "colours: auto, always or never (auto heeds NO_COLOR)")
	c.Flags().BoolVar(&f.index, "index", false, "make an index beside the trace also if it is short")
	f.memory.add(c)
	f.an.addDirs(c)
	f.an.allocFree.add(c)
}

// ask opens the trace and has it asked.
func (f *queryFlags) ask(s streams, path string, question func(*ask.Queries) error) error {
	if err := f.out.check(); err != nil {
		return err
	}
	if err := f.an.allocFree.check(); err != nil {
		return err
	}
	memory, err := f.memory.keep()
	if err != nil {
		return err
	}
	an := f.an.options()
	o := ask.Options{Files: an.Files, Spec: an.Spec, AllocFree: an.AllocFree, JSON: f.out.json, Color: f.out.colored(s.out), Out: s.out, Index: f.index, Progress: progress(s, "making the index "+path+".idx"), Memory: memory}
	return ask.Ask(path, o, func(q *ask.Queries) error {
		q.Quick()
		for _, w := range q.Warnings() {
			fmt.Fprintf(s.err, "mgtrace: %s\n", w)
		}
		return question(q)
	})
}

const timeHelp = `a change number, end, crash, "call N of F", "return N of F", "line FILE:LINE#N", +1.5s after the start, or 15:04:05.25`

func newWho(s streams) *cobra.Command {
	var (
		f    queryFlags
		at   string
		most int
	)
	c := &cobra.Command{
		Use:   "who TRACE EXPR|ADDRESS [--at TIME]",
		Short: "Say which statement wrote a cell last, and before that, and before that",
		Long: `Say which statements wrote a cell of memory, the last one first: with source line,
value before and after, thread, time and call.

EXPR is a path by field names. It begins with a node, which is its type and its
number in order of birth (qdtree#17), or with a global (::root, if it was recorded
with --global or named by the specification). Pointers on the way are followed as
they were at the time that is asked about.

TIME is ` + timeHelp + `.`,
		Example: `  mgtrace who t.mgt 'qdtree#17.child[0]'
  mgtrace who t.mgt '::root.child[2].point' --at crash
  mgtrace who t.mgt 0x55d108d582d0 --at 'call 511 of insert' -n 20`,
		Args: exactly(2, "which trace, and which cell? try: mgtrace who t.mgt 'NODE#1.FIELD'"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.ask(s, args[0], func(q *ask.Queries) error { return q.Who(args[1], at, most) })
		},
	}
	f.add(c)
	c.Flags().StringVar(&at, "at", "end", "the `TIME` from which to look back")
	c.Flags().IntVarP(&most, "number", "n", 5, "tell at most `N` writers; 0: all")
	return c
}

func newHistory(s streams) *cobra.Command {
	var (
		f    queryFlags
		at   string
		most int
	)
	c := &cobra.Command{
		Use:   "history TRACE NODE",
		Short: "Tell what a node lived through: birth, every change, death, with statements",
		Long: `Tell what a node lived through, in order of time. NODE is its type and number
(qdtree#17), an address in it, or a path: to a pointer to it (::root.child[2]) or to a
field of it.

TIME is ` + timeHelp + `.`,
		Example: `  mgtrace history t.mgt qdtree#17
  mgtrace history t.mgt '::root.child[2]' --at crash -n 0`,
		Args: exactly(2, "which trace, and which node? try: mgtrace history t.mgt NODE#1"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.ask(s, args[0], func(q *ask.Queries) error { return q.History(args[1], at, most) })
		},
	}
	f.add(c)
	c.Flags().StringVar(&at, "at", "end", "tell up to this `TIME`")
	c.Flags().IntVarP(&most, "number", "n", 50, "tell the `N` newest changes; 0: all")
	return c
}

func newSnapshot(s streams) *cobra.Command {
	var (
		f queryFlags
		o ask.SnapshotOptions
	)
	c := &cobra.Command{
		Use:   "snapshot TRACE [--at TIME | --diff T1,T2]",
		Short: "Show the memory graph at a time, or what changed between two",
		Long: `Show the memory graph at a time: its nodes with their fields, as text, JSON, SVG or
DOT; or with --diff what changed between two times. It needs no specification.

TIME is ` + timeHelp + `.`,
		Example: `  mgtrace snapshot t.mgt --at crash
  mgtrace snapshot t.mgt --at 'return 5 of insert' -o tree.svg
  mgtrace snapshot t.mgt --node qdtree#1 --json
  mgtrace snapshot t.mgt --diff 'call 5 of insert,return 5 of insert'`,
		Args: exactly(1, "which trace? try: mgtrace snapshot t.mgt --at crash"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.Diff != "" && c.Flags().Changed("at") {
				return errors.New("--at shows one time, --diff two: which?")
			}
			return f.ask(s, args[0], func(q *ask.Queries) error { return q.Snapshot(c.Context(), o) })
		},
	}
	f.add(c)
	c.Flags().StringVar(&o.At, "at", "end", "the `TIME`")
	c.Flags().StringVar(&o.Diff, "diff", "", "what changed between these times, `T1,T2`")
	c.Flags().StringVar(&o.Node, "node", "", "this `NODE` and what it leads to, nearest first (qdtree#3)")
	c.Flags().StringVar(&o.Type, "type", "", "nodes of this `TYPE` only")
	c.Flags().IntVar(&o.Max, "max", 60, "at most this many nodes; 0: all")
	addForm(c, &o.Form)
	return c
}

// addForm adds the flags of an answer that can be drawn.
func addForm(c *cobra.Command, f *ask.Form) {
	c.Flags().StringVarP(&f.Path, "output", "o", "", "draw to `FILE`, .svg or .dot")
	c.Flags().BoolVar(&f.SVG, "svg", false, "draw as SVG")
	c.Flags().BoolVar(&f.DOT, "dot", false, "draw in Graphviz's language")
}
