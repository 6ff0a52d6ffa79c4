package live

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"mgtrace/flow"
	"mgtrace/report"
	"mgtrace/session/contents"
	"mgtrace/trace"
)

// Summary says what was recorded.
type Summary struct {
	Program string `json:"program"`
	Engine  string `json:"engine"`
	File    string `json:"file,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"` // of the file
	Events  uint64 `json:"events"`          // stores among them
	Stores  uint64 `json:"stores"`
	Traps   uint64 `json:"traps"` // stores that were caught by a trap
	// Tactics count the sites that the engine inside the process probed in one way each.
	Tactics  []trace.Tactic `json:"tactics,omitempty"`
	Unprobed int            `json:"unprobed_sites"` // stores in the code that could not be probed
	Complete bool           `json:"complete"`
	Why      string         `json:"why,omitempty"` // why it is not complete
	Warnings []string       `json:"warnings,omitempty"`
	Flow     *flow.Summary  `json:"flow,omitempty"` // the executed instructions; nil: not recorded
	Exit     string         `json:"exit"`           // how the program ended

	Lost error `json:"-"` // why the file ends before the program does; nil: it does not
}

// Print writes the summary, as JSON or in a sentence.
func (s *Summary) Print(w io.Writer, asJSON bool) error {
	if asJSON {
		b, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", b)
		return err
	}
	where := ""
	if s.File != "" {
		where = fmt.Sprintf(", in %s (%s bytes)", s.File, report.Thousands(uint64(s.Bytes)))
	}
	_, err := fmt.Fprintf(w, "mgtrace: recorded %s events, %s stores%s; the program ended with %s\n",
		report.Thousands(s.Events), report.Thousands(s.Stores), where, s.Exit)
	if err == nil && s.Complete && s.Stores == 0 && s.Events > 0 {
		_, err = fmt.Fprintln(w, "mgtrace: no store of the program's own code was met: what a library stores that has no debug information is recorded with --module NAME")
	}
	if err == nil && s.Flow != nil {
		err = printFlow(w, s.Flow)
	}
	if err == nil && !s.Complete {
		_, err = fmt.Fprintf(w, "mgtrace: warning: the recording is partial: %s\n", s.Why)
	}
	for _, warning := range s.Warnings {
		if err == nil {
			_, err = fmt.Fprintf(w, "mgtrace: warning: %s\n", warning)
		}
	}
	return err
}

func (l *Program) summary(t trace.Trailer, exit string) (*Summary, error) {
	stats := l.eng.Stats()
	s := &Summary{
		Program: l.Prog.Path, Engine: l.Prog.Engine, File: l.o.Record, Events: l.events, Stores: l.stores, Traps: stats.Traps,
		Tactics: stats.Tactics, Unprobed: len(l.Prog.Unprobed),
		Complete: t.Complete, Why: t.Why, Warnings: l.Prog.Warnings, Exit: exit, Flow: l.full.summary(),
	}
	if cut := l.cut.Load(); cut != nil {
		s.Lost = *cut
		s.Complete = false
		why := fmt.Sprintf("it ends before the program does (%v)", s.Lost)
		if s.Why != "" {
			why += "; " + s.Why
		}
		s.Why = why
	}
	if s.File != "" {
		info, err := os.Stat(s.File)
		if err != nil {
			return nil, err
		}
		s.Bytes = info.Size()
	}
	return s, nil
}

// maxKept bounds the memory that a recording keeps for its audit, bytes. Of a trace
// that may take a limited number of bytes it is a quarter at most: it pushes out
// history.
const maxKept = 256 << 20

func (l *Program) maxKept() uint64 {
	if l.o.Last > 0 {
		return min(maxKept, uint64(l.o.Last)/4)
	}
	return maxKept
}

// keepMemory has the recording hold what the live blocks contain when the program
// is held at its crash or end: an analysis compares it with the history.
func (l *Program) keepMemory() {
	live := contents.NewSet()
	l.sinks = append(l.sinks, live)
	l.onStop = func(read func([]byte, trace.Addr) int) {
		left := l.maxKept()
		buf := make([]byte, trace.MemoryChunk)
		for _, addr := range live.Addrs() {
			size := live.Size(addr)
			if size > left {
				l.warn("memory was not kept for an audit beyond %d MB", l.maxKept()>>20)
				break
			}
			left -= size
			for at := uint64(0); at < size; at += trace.MemoryChunk {
				ev := trace.Event{Kind: trace.KindMemory, Addr: addr + trace.Addr(at), Size: min(trace.MemoryChunk, size-at), Wall: -1}
				ev.Data = buf[:read(buf[:ev.Size], ev.Addr)]
				if err := l.emit(&ev); err != nil {
					return // the recording has failed, and says so
				}
			}
		}
		_ = l.emit(&trace.Event{Kind: trace.KindMemory, Wall: -1})
	}
}

// emit gives an event to all sinks. The caller holds l.mu.
func (l *Program) emit(ev *trace.Event) error {
	for _, s := range l.sinks {
		if err := s.Event(ev); err != nil {
			return err
		}
	}
	return nil
}

// printFlow prints what was recorded of the executed instructions.
func printFlow(w io.Writer, s *flow.Summary) error {
	if s.Instructions == 0 {
		_, err := fmt.Fprintf(w, "mgtrace: no executed instructions: the part that was asked for was never reached (%s)\n", s.File)
		return err
	}
	_, err := fmt.Fprintf(w, "mgtrace: %s executed instructions with %s accesses to memory, in %s (%s bytes, %.2f an instruction)\n",
		report.Thousands(s.Instructions), report.Thousands(s.Accesses), s.File, report.Thousands(s.Bytes), s.PerInsn)
	return err
}
