package ask

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mgtrace/flow"
	"mgtrace/report"
	"mgtrace/session/recording"
)

// infoFlow sums executed instructions up.
type infoFlow struct {
	flow.Summary
	Part     string `json:"part,omitempty"`
	Complete bool   `json:"complete"`
	Why      string `json:"incomplete_because,omitempty"`
	// Missing says where instructions are missing, by the reason.
	Missing []missing `json:"missing,omitempty"`
}

// missing counts gaps of one reason.
type missing struct {
	Why          string `json:"why"`
	Gaps         uint64 `json:"gaps"`
	Instructions uint64 `json:"instructions"` // as far as it is known how many
	Unknown      uint64 `json:"unknown"`      // gaps of which it is not
}

// missingOf reads the gaps of a flow: only the chunks that have some.
func missingOf(r *flow.Reader) (out []missing, err error) {
	c, err := r.NewChunkReader()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var rec flow.Record
	for i, chunk := range r.Chunks() {
		if chunk.Gaps == 0 {
			continue
		}
		if err := c.Read(i); err != nil {
			return out, err
		}
		for k := range c.Len() {
			if c.At(k, &rec); rec.Kind != flow.Gap {
				continue
			}
			n := slices.IndexFunc(out, func(m missing) bool { return m.Why == rec.Why })
			if n < 0 {
				n = len(out)
				out = append(out, missing{Why: rec.Why})
			}
			m := &out[n]
			m.Gaps++
			m.Instructions += rec.Size
			if rec.Size == 0 {
				m.Unknown++
			}
		}
	}
	return out, nil
}

// flowInfo is what info tells of the executed instructions; nil: there are none. What
// can not be read is said, and no reason to be silent of the rest.
func flowInfo(rec *recording.Recording) *infoFlow {
	path := rec.Path
	i := &infoFlow{Summary: flow.Summary{File: flow.Path(path)}}
	r, err := rec.Flow()
	if errors.Is(err, recording.ErrNoFlow) {
		return nil
	}
	if err != nil {
		i.Why = err.Error()
		return i
	}
	defer r.Close()
	i.Part = r.Head().Part
	var gaps, accesses, bytes uint64
	for _, c := range r.Chunks() {
		gaps += uint64(c.Gaps)
		accesses += uint64(c.Accesses)
	}
	if info, err := os.Stat(flow.Path(path)); err == nil {
		bytes = uint64(info.Size())
	}
	i.Summary = *flow.Summarise(flow.Path(path), bytes, r.Insts(), accesses, r.Blocks(), gaps)
	t, _ := r.Trailer()
	i.Complete, i.Why = t.Complete, t.Why
	err = r.Err()
	if err == nil {
		i.Missing, err = missingOf(r)
	}
	if err != nil {
		i.Complete, i.Why = false, err.Error()
	}
	return i
}

func (i *infoFlow) text(b *strings.Builder) {
	if i.Instructions == 0 && i.Why != "" {
		fmt.Fprintf(b, "executed  nothing that can be read: %s\n", i.Why)
		return
	}
	fmt.Fprintf(b, "executed  %s instructions of %s blocks of code, %s accesses to memory; %.2f bytes each\n",
		report.Thousands(i.Instructions), report.Thousands(uint64(i.Blocks)), report.Thousands(i.Accesses), i.PerInsn)
	if i.Part != "" {
		fmt.Fprintf(b, "  only    %s\n", i.Part)
	}
	for _, m := range i.Missing {
		n := report.Thousands(m.Instructions) + " instructions"
		if m.Unknown > 0 {
			n = "instructions"
		}
		fmt.Fprintf(b, "  missing %s in %s: %s\n", n, report.Plural(int(m.Gaps), "place", "places"), m.Why)
	}
	if !i.Complete {
		fmt.Fprintf(b, "  partial %s\n", i.Why)
	}
}
