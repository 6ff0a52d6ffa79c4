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
		memory memoryFlag
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
		Args: exactly(1, "which trace? try: mgtrace pack t.mgt"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := memory.keep(); err != nil {
				return err
			}
			o.Progress = progress(s, "packing")
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
	memory.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "say what was done as one JSON object")
	return c
}

// progress shows on a terminal how far something has come; elsewhere it is nil.
func progress(s streams, what string) func(done, total int64) {
	if !isTerminal(s.err) {
		return nil
	}
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
