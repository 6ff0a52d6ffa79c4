package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"mgtrace/doctor"
)

func newDoctor(s streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor [PROG]",
		Short: "Say what this machine, kernel and user can do, and how to get the rest",
		Long: `Check what capturing needs, by the engine inside the process and by the kernel's
probes: the kernel, its features, the capabilities of this user; and to which
processes one may attach. With PROG, what is special about that program as well.

Exit status: 0 if one of the engines can capture, else 2.`,
		Example: `  mgtrace doctor
  mgtrace doctor ./prog`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			findings := doctor.Check()
			if len(args) == 1 {
				findings = append(findings, doctor.Program(args[0])...)
			}
			if asJSON {
				e := json.NewEncoder(s.out)
				e.SetIndent("", "  ")
				if err := e.Encode(findings); err != nil {
					return err
				}
			} else {
				printFindings(s, findings)
			}
			for _, f := range findings {
				if f.Required && !f.OK && f.Engine == "" {
					return exitStatus(statusFailed)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return c
}

func printFindings(s streams, findings []doctor.Finding) {
	for _, f := range findings {
		mark := "ok  "
		switch {
		case !f.OK && f.Required:
			mark = "NO  "
		case !f.OK:
			mark = "note"
		}
		engine := ""
		if f.Engine != "" {
			engine = " (--engine " + f.Engine + ")"
		}
		fmt.Fprintf(s.out, "%s  %s%s: %s\n", mark, f.Name, engine, f.Detail)
		if !f.OK && f.Fix != "" {
			fmt.Fprintf(s.out, "      → %s\n", f.Fix)
		}
	}
}
