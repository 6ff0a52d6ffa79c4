package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Exit statuses beside those of report.Status.
const (
	statusOK     = 0
	statusFailed = 2
)

// streams are mgtrace's own standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
	quits    *quits
}

// exitStatus is an "error" that carries an exit status of its own: the report
// has been printed, there is nothing more to say.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Main runs mgtrace and returns its exit status.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	shown, told := &printable{to: out}, &printable{to: errw}
	defer func() { _ = errors.Join(shown.Flush(), told.Flush()) }()
	quits := heedQuit()
	defer quits.stop()
	cmd := newRoot(streams{in, shown, told, quits}, args)
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(shown)
	cmd.SetErr(told)
	err := misnamed(cmd, args)
	if err == nil {
		err = cmd.ExecuteContext(context.Background())
	}
	var status exitStatus
	switch {
	case err == nil:
		return statusOK
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintf(told, "mgtrace: %v\n", err)
	return statusFailed
}

// misnamed says that a command has no such one below it. cobra shows what there are, and
// that ends with 0, as if nothing were found.
func misnamed(root *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == "completion" {
		root.InitDefaultCompletionCmd(args...)
	}
	c, rest, err := root.Find(args)
	if err != nil || c == root || c.Runnable() || len(rest) == 0 || rest[0] == "help" || strings.HasPrefix(rest[0], "-") {
		return nil // whatever is wrong, cobra says it
	}
	return fmt.Errorf("unknown command %q for %q: see %s --help", rest[0], c.CommandPath(), c.CommandPath())
}

// commands are all that there are, in the order in which they are told. Read-only.
var commands = []struct {
	name string
	make func(streams) *cobra.Command
}{
	{"run", newRun}, {"attach", newAttach}, {"record", newRecord}, {"locate", newLocate}, {"overflow", newOverflow},
	{"check", newCheck}, {"render", newRender}, {"who", newWho}, {"history", newHistory}, {"snapshot", newSnapshot},
	{"slice", newSlice}, {"info", newInfo}, {"instructions", newInstructions}, {"pack", newPack}, {"spec", newSpec}, {"doctor", newDoctor},
}

// programsOwn says of a flag that a command does not know where those of the traced program stand.
func programsOwn(c *cobra.Command, err error) error {
	if !strings.Contains(c.Use, "[-- ARGS...]") {
		return err
	}
	return fmt.Errorf("%w; what is the program's own goes behind --: %s PROG -- ARGS", err, c.CommandPath())
}

// newRoot makes the root with the command that the arguments name, or with all if they
// name none: the flags of all commands take half a millisecond, a tenth of a question.
func newRoot(s streams, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "mgtrace",
		Short: "Find the statement that broke a heap data structure",
		Long: `mgtrace watches a native x86-64 program run, keeps the history of its heap, and
checks what you say a healthy structure looks like. Where it is not healthy any
more, mgtrace goes back through the history and names the statements that broke
it, in order of suspicion, with the structure before and after as a picture.

Exit status: 0 nothing found, 1 inconsistency found, 2 could not run, 3 the
program crashed and no inconsistency was found.`,
		Example: `  mgtrace run ./prog --spec quadtree.cons
  mgtrace run ./prog --spec quadtree.cons -- -v input.txt
  mgtrace attach 4711 --spec quadtree.cons
  mgtrace record -o t.mgt ./prog && mgtrace locate t.mgt --spec quadtree.cons
  mgtrace who t.mgt 'qdtree#1.child[0]'
  mgtrace record --full -o t.mgt ./prog && mgtrace slice t.mgt --spec quadtree.cons --suspect 1
  mgtrace doctor`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.SetFlagErrorFunc(programsOwn)
	for _, c := range commands {
		if len(args) > 0 && args[0] == c.name {
			root.AddCommand(c.make(s))
			return root
		}
	}
	for _, c := range commands {
		root.AddCommand(c.make(s))
	}
	return root
}
