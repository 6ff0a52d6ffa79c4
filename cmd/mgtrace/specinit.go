package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mgtrace/session"
)

func newSpecInit(s streams) *cobra.Command {
	var (
		ca      captureFlags
		an      analysisFlags
		names   []string
		merge   string
		output  string
		asJSON  bool
		verbose bool
	)
	c := &cobra.Command{
		Use:   "init [flags] PROG [flags] [-- ARGS...]",
		Short: "Write a first specification from what held in a healthy run",
		Long: `Run a program that is healthy, and write a specification of what held of its
structures there: their shape, orders, balance, counts, and the functions that left
them whole. Each line says how often it held. Read it, and delete what is not meant.

The specification goes to standard output, and what the program prints there to
standard error; with -o FILE the program has its standard output to itself.

Without --type the only structure is taken that the run allocates and that has
pointers to its own kind.

With --merge FILE the types, allocators and members that a specification declares are
taken from it, and what held beside its constraints is written behind its text.`,
		Example: `  mgtrace spec init ./prog --type qdtree -o quadtree.cons
  mgtrace spec init ./prog --type tree --type node -- input.txt
  mgtrace spec init ./prog --merge tree.cons -o tree.cons
  mgtrace spec init ./prog --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("which program? try: mgtrace spec init ./prog --type NAME")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			capture, err := ca.options(s, verbose)
			if err != nil {
				return err
			}
			if output != "" {
				if err := writable(output); err != nil {
					return fmt.Errorf("write the specification: %w", err)
				}
			}
			o := session.InitOptions{Program: args[0], Args: args[1:], Types: names, Base: merge, Dirs: an.options(), Capture: capture}
			if verbose || isTerminal(s.err) {
				o.Note = func(what string) { fmt.Fprintf(s.err, "mgtrace: %s\n", what) }
			}
			if output == "" {
				o.Stdout = os.Stderr // standard output is the specification's
			}
			return specInit(c.Context(), s, o, output, asJSON)
		},
	}
	ca.addCommon(c)
	an.addDirs(c)
	addRepeated(c, &names, "type", "the structure's `NAME` in the program: a struct, typedef or class (repeatable)")
	c.Flags().StringVar(&merge, "merge", "", "a specification's `FILE`: write it, and behind it what held that it does not say")
	c.Flags().StringVarP(&output, "output", "o", "", "the `FILE` to write; else standard output")
	c.Flags().BoolVar(&asJSON, "json", false, "print all facts as one JSON object, those that are not stated too")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "say more: the engine, the plan, what is being done")
	return c
}

func specInit(ctx context.Context, s streams, o session.InitOptions, output string, asJSON bool) error {
	r, err := session.InitSpec(ctx, o)
	if err != nil {
		return err
	}
	if r.Partial && len(r.Facts) == 0 {
		return session.ErrNothingKnown
	}
	text := r.Text(filepath.Base(o.Program))
	if o.Base != "" {
		own, err := os.ReadFile(o.Base)
		if err != nil {
			return err
		}
		text = strings.TrimRight(string(own), "\n") + "\n\n" + text
	}
	if asJSON {
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		text = string(b) + "\n"
	}
	if output == "" {
		_, err = fmt.Fprint(s.out, text)
	} else {
		err = writeWhole(output, func(f *os.File) error { // with --merge it may be the user's own text
			_, err := f.WriteString(text)
			return err
		})
	}
	if err == nil && r.Partial {
		fmt.Fprintln(s.err, "mgtrace: interrupted: what was written is only what was known by then")
		err = exitStatus(statusFailed)
	}
	return err
}
