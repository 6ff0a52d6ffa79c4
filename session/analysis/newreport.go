package analysis

import (
	"fmt"
	"strings"

	"mgtrace/report"
	"mgtrace/trace"
)

// NewReport begins a report with what recording tells.
func NewReport(p *trace.Program, t *trace.Trailer) *report.Report {
	r := &report.Report{
		Program: p.Path, Engine: p.Engine, Complete: t.Complete,
		Events: report.Events{
			Delivered: t.Delivered, Dropped: t.Dropped, Stops: t.Stops,
			UnprobedSites: len(p.Unprobed), Sites: p.Sites,
		},
	}
	if t.Why != "" {
		r.Why = append(r.Why, t.Why)
	}
	r.Notes = append(r.Notes, fmt.Sprintf("the engine counted %d records: %d delivered, %d lost", t.Hits, t.Delivered, t.Dropped))
	coverage(r, t.Coverage)
	if t.Stops > 0 && p.Engine == trace.EngineKernel {
		r.Notes = append(r.Notes, fmt.Sprintf("the program was held back %s (SIGSTOP and SIGCONT) so that no event was lost; its sleeps and waits may have ended early with EINTR", report.Plural(int(t.Stops), "time", "times")))
	}
	return r
}

// coverage tells how stores were caught.
func coverage(r *report.Report, c *trace.Coverage) {
	if c == nil {
		return
	}
	r.Coverage = &report.Coverage{Stores: c.Stores, Traps: c.Traps}
	var ways []string
	for _, t := range c.Tactics {
		r.Coverage.Tactics = append(r.Coverage.Tactics, report.Tactic(t))
		ways = append(ways, fmt.Sprintf("%s %d", t.Name, t.Sites))
	}
	r.Notes = append(r.Notes, fmt.Sprintf("%s stores were caught, %s of them by traps; sites by tactic: %s",
		report.Thousands(c.Stores), report.Thousands(c.Traps), strings.Join(ways, ", ")))
}
