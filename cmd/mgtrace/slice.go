package main

import (
	"errors"

	"github.com/spf13/cobra"

	"mgtrace/session"
	"mgtrace/session/ask"
	"mgtrace/session/slicing"
)

func newSlice(s streams) *cobra.Command {
	var (
		f       queryFlags
		o       slicing.Options
		suspect int
	)
	c := &cobra.Command{
		Use:   "slice TRACE CRITERION | --suspect N",
		Short: "Say where a value came from: the statements that it was computed by",
		Long: `Say where a value came from: all statements that it was computed by, or that decided
about it, back to the beginning, with the shortest way from each to the value. The
trace needs its instructions beside it (mgtrace record --full).

CRITERION is what was stored in a cell (as mgtrace who takes it: qdtree#17.child[0],
::root, 0x55d108d582d0), a register before an execution of an instruction
(rax@0x401234#3; without # the last one; the address is that in the process, or as
objdump has it of the program) or at the crash (rax@crash), the instruction that was
executed at an instant (@12345), or crash: what the instruction that the program died
of had been given, and what led to it. --suspect N is the change of the N-th suspect
that mgtrace locate lists with the same specification.

Code of libraries is folded to one line for each function.

TIME is ` + timeHelp + `.`,
		Example: `  mgtrace slice t.mgt --spec quad.cons --suspect 1
  mgtrace slice t.mgt 'qdtree#17.child[0]' --at crash --no-address
  mgtrace slice t.mgt rax@0x401234#3 --forward
  mgtrace slice t.mgt crash
  mgtrace slice t.mgt '::table.size' -o size.svg`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return errors.New("which trace? try: mgtrace slice t.mgt CRITERION")
			case len(args) > 2:
				return errors.New("one trace, and one criterion: put it in quotes if it has spaces")
			case suspect == 0 && len(args) == 1:
				return errors.New("where does which value come from? try: mgtrace slice " + args[0] + " 'NODE#1.FIELD', or --spec FILE --suspect 1")
			case suspect != 0 && len(args) == 2:
				return errors.New("--suspect and a criterion: which of them?")
			case suspect < 0:
				return errors.New("--suspect N: suspects are counted from 1")
			case suspect != 0 && f.an.spec == "":
				return errors.New("--suspect needs the specification that accuses it: --spec FILE")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Progress = progress(s, "making the index "+args[0]+".slice")
			criterion := ""
			if len(args) == 2 {
				criterion = args[1]
			}
			return f.ask(s, args[0], func(q *ask.Queries) error {
				return session.Slice(c.Context(), q, args[0], criterion, suspect, f.an.options(), o)
			})
		},
	}
	f.add(c)
	c.Flags().IntVar(&suspect, "suspect", 0, "begin with the change of suspect `N` of the specification's report")
	c.Flags().StringVar(&o.At, "at", "end", "the `TIME` at which to look at the cell")
	c.Flags().BoolVar(&o.Forward, "forward", false, "say what depends on the value instead")
	c.Flags().BoolVar(&o.NoAddress, "no-address", false, "leave out what only tells where in memory a value lies")
	c.Flags().BoolVar(&o.NoControl, "no-control", false, "leave out branches that only decide whether a statement is executed")
	c.Flags().BoolVar(&o.All, "all", false, "show the code of libraries line by line")
	c.Flags().IntVarP(&o.Most, "number", "n", 30, "show at most `N` statements, the nearest; 0: all")
	addForm(c, &o.Form)
	return c
}
