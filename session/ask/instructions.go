package ask

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"mgtrace/flow"
	"mgtrace/report"
	"mgtrace/session/recording"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/x86"
)

// InstructionOptions say which executed instructions to list.
type InstructionOptions struct {
	From  uint64 // instant of the first
	Count int    // at most so many
	At    string // a time of the history instead of From: up to its instruction
	JSON  bool   // one object a line
}

// Instructions lists executed instructions, and what happened between them.
func Instructions(w io.Writer, path string, o InstructionOptions) error {
	rec, err := recording.Open(path, recording.Files{})
	if err != nil {
		return err
	}
	defer rec.Close()
	r, err := rec.Flow()
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
	l := lister{w: b, r: r, symbols: rec.Symbols, first: first, last: first + trace.Instant(o.Count) - 1, json: o.JSON}
	err = r.Scan(first, l.record)
	return errors.Join(err, b.Flush())
}

// instantOf is the instant of the operation at a time of the history.
func instantOf(path, at string) (trace.Instant, error) {
	q, err := Open(path, Options{})
	if err != nil {
		return 0, err
	}
	defer q.Close()
	t, err := q.Time(at)
	if err != nil {
		return 0, err
	}
	op := q.Answers.History().Op(t)
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
