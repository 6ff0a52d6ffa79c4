package session

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"mgtrace/flow"
	"mgtrace/report"
	"mgtrace/session/live"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/x86"
)

// errNoFlow: a trace was recorded without instructions.
var errNoFlow = errors.New("no executed instructions were recorded: record again with --full")

// openFlow opens the executed instructions of a trace.
func openFlow(path string, prog *trace.Program) (*flow.Reader, error) {
	if prog.Flow == "" {
		return nil, fmt.Errorf("%s: %w", path, errNoFlow)
	}
	r, err := flow.Open(flow.Path(path))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the executed instructions of %s lie in a file beside it, which is missing: %w", path, err)
	case err != nil:
		return nil, err
	case r.Head().Trace != prog.Flow:
		return nil, errors.Join(fmt.Errorf("%s is of another recording than %s: bring the file back that was written with it", flow.Path(path), path), r.Close())
	}
	return r, nil
}

// infoFlow sums executed instructions up.
type infoFlow struct {
	live.FlowSummary
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
func flowInfo(path string, prog *trace.Program) *infoFlow {
	i := &infoFlow{FlowSummary: live.FlowSummary{File: flow.Path(path)}}
	r, err := openFlow(path, prog)
	if errors.Is(err, errNoFlow) {
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
	i.FlowSummary = *live.SummariseFlow(flow.Path(path), bytes, r.Insts(), accesses, r.Blocks(), gaps)
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

// InstructionOptions say which executed instructions to list.
type InstructionOptions struct {
	From  uint64 // instant of the first
	Count int    // at most so many
	At    string // a time of the history instead of From: up to its instruction
	JSON  bool   // one object a line
}

// Instructions lists executed instructions, and what happened between them.
func Instructions(w io.Writer, path string, o InstructionOptions) error {
	rec, err := openRecording(path, AnalysisOptions{})
	if err != nil {
		return err
	}
	defer rec.close()
	r, err := openFlow(path, &rec.prog)
	if err != nil {
		return err
	}
	defer r.Close()
	first := max(trace.Instant(o.From), 1)
	if o.At != "" {
		at, err := instantOf(path, o.At)
		if err != nil {
			return err
		}
		first = at - min(at, trace.Instant(o.Count)) + 1
	}
	b := bufio.NewWriter(w)
	l := lister{w: b, r: r, symbols: rec.symbols, first: first, last: first + trace.Instant(o.Count) - 1, json: o.JSON}
	err = r.Scan(first, l.record)
	return errors.Join(err, b.Flush())
}

// instantOf is the instant of the operation at a time of the history.
func instantOf(path, at string) (trace.Instant, error) {
	q, err := OpenQueries(path, QueryOptions{})
	if err != nil {
		return 0, err
	}
	defer q.Close()
	t, err := q.time(at)
	if err != nil {
		return 0, err
	}
	op := q.answers.History().Op(t)
	if op.Instant == 0 {
		return 0, fmt.Errorf("%s is change %s of the history, whose instruction was not recorded: another part of the run was, or none of its threads made it", at, report.Thousands(uint64(t)))
	}
	return op.Instant, nil
}

// lister prints records.
type lister struct {
	w           *bufio.Writer
	r           *flow.Reader
	symbols     *symbol.Table
	first, last trace.Instant
	json        bool
}

// executed is an instruction, or what happened before it.
type executed struct {
	Instant  trace.Instant    `json:"instant"`
	Thread   trace.ThreadID   `json:"thread"`
	PC       string           `json:"pc,omitempty"`
	Function string           `json:"function,omitempty"`
	File     string           `json:"file,omitempty"`
	Line     int              `json:"line,omitempty"`
	Code     string           `json:"instruction,omitempty"`
	Accesses []executedAccess `json:"accesses,omitempty"`
	Event    string           `json:"event,omitempty"`
	where    string
}

type executedAccess struct {
	Do   string `json:"do"` // r, w, rw
	Addr string `json:"addr"`
	Size uint32 `json:"size"`
}

func (l *lister) record(rec *flow.Record) error {
	if rec.Instant > l.last {
		return flow.ErrStop
	}
	if rec.Kind != flow.Exec {
		return l.print(&executed{Instant: rec.Instant, Thread: rec.Thread, Event: rec.String()})
	}
	b := l.r.Block(rec.Block)
	base := int(b.Insts[rec.From].Access)
	for i := range int(rec.N) {
		k := int(rec.From) + i
		at := rec.Instant + trace.Instant(i)
		if at < l.first || at > l.last {
			continue
		}
		pc := b.PC(k)
		x := &executed{
			Instant: at, Thread: rec.Thread, PC: fmt.Sprintf("%#x", uint64(pc)), Code: x86.Text(b.Bytes(k), uint64(pc)),
			where: l.symbols.Address(pc),
		}
		if f, _, _ := l.symbols.Where(pc); f.File != "" {
			x.Function, x.File, x.Line = f.Function, f.File, f.Line
		}
		n := b.Insts[k]
		for j := int(n.Access); j < int(n.Access)+int(n.NMem); j++ {
			m := rec.Mem[j-base]
			do := ""
			if b.Accesses[j].Flags&flow.Reads != 0 {
				do = "r"
			}
			if b.Accesses[j].Flags&flow.Writes != 0 {
				do += "w"
			}
			x.Accesses = append(x.Accesses, executedAccess{do, fmt.Sprintf("%#x", uint64(m.Addr)), m.Size})
		}
		if err := l.print(x); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) print(x *executed) error {
	if l.json {
		return json.NewEncoder(l.w).Encode(x)
	}
	if x.Event != "" {
		_, err := fmt.Fprintf(l.w, "%12s %7s  %s\n", "", thread(x.Thread), x.Event)
		return err
	}
	line := ""
	if x.File != "" {
		line = fmt.Sprintf("%s:%d", symbol.Short(x.File), x.Line)
	}
	var mem strings.Builder
	for _, a := range x.Accesses {
		fmt.Fprintf(&mem, "  %s %s+%d", a.Do, a.Addr, a.Size)
	}
	_, err := fmt.Fprintln(l.w, strings.TrimRight(fmt.Sprintf("%12d %7s  %-28s %-20s %-36s%s", x.Instant, thread(x.Thread), x.where, line, x.Code, mem.String()), " "))
	return err
}

func thread(id trace.ThreadID) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprint(id)
}
