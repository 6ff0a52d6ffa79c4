package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mgtrace/session"
)

func newPack(s streams) *cobra.Command {
	var (
		o      session.PackOptions
		asJSON bool
	)
	c := &cobra.Command{
		Use:   "pack TRACE [-o FILE]",
		Short: "Make a trace compact",
		Long: `Compress what was written uncompressed to keep up with the program. The trace holds
the same events, and every command reads it as before. The file is replaced when
the packed one is whole and on disk, not before; a trace whose recording was cut off
is packed as far as it goes.`,
		Example: `  mgtrace pack t.mgt
  mgtrace pack t.mgt -o small.mgt`,
		Args: oneArg("which trace? try: mgtrace pack t.mgt"),
		RunE: func(c *cobra.Command, args []string) error {
			if isTerminal(s.err) {
				o.Progress = percent(s, "packing")
			}
			p, err := session.Pack(args[0], o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(s.out).Encode(p)
			}
			return p.Text(s.err, false)
		},
	}
	c.Flags().StringVarP(&o.Output, "output", "o", "", "write to this `FILE` and leave the trace as it is")
	c.Flags().BoolVar(&asJSON, "json", false, "say what was done as one JSON object")
	return c
}

// percent shows how far something has come.
func percent(s streams, what string) func(done, total int64) {
	var last time.Time
	return func(done, total int64) {
		if done >= total {
			fmt.Fprint(s.err, "\r\x1b[K")
			return
		}
		if now := time.Now(); now.Sub(last) > 200*time.Millisecond {
			last = now
			fmt.Fprintf(s.err, "\r\x1b[Kmgtrace: %s: %d %%", what, 100*done/max(total, 1))
		}
	}
}
