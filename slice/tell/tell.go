package tell

import (
	"cmp"
	"fmt"
	"slices"

	"mgtrace/report"
	"mgtrace/slice"
)

// Place is where an instruction stands.
type Place struct {
	File, Path string
	Line       int
	Near       bool // it has no line: Line is that of the code before
	Function   string
	Source     string // the text of the line
	Address    string // how it is called without a line
	Module     string // the file that it is in
	Own        bool   // the program's own code, not a library's
	Linker     bool   // the dynamic linker's
}

// Program knows what addresses are called.
type Program interface {
	Place(pc uint64) Place
	Kernel(slice.Cause) string // "system call read"
	// Value is what the program calls the value that a link is about, "" if that is not
	// known: "page#1.room", "n".
	Value(Link) string
}

// Link is a dependence of an instruction on another one.
type Link struct {
	Kind    slice.EdgeKind
	Use     uint64     // address of the instruction that depends on the other; 0: none
	Def     uint64     // address of that; 0: none
	Instant uint64     // of that
	Regs    slice.Regs // through which it does, unless it is through memory
}

// Options say what to tell.
type Options struct {
	Criterion string
	Forward   bool
	Most      int  // statements, and a third as many functions of libraries; 0: all
	All       bool // library code by lines too, not folded by functions
}

// teller makes an answer.
type teller struct {
	x     *slice.Index
	s     *slice.Slice
	p     Program
	o     Options
	named map[uint64]Place
	out   *report.Slice
	rows  map[string]*row
	ids   map[string]int
}

// row is a statement in the making.
type row struct {
	report.SliceStatement
	key  string
	near slice.Node
}

// Slice tells a slice.
func Slice(x *slice.Index, s *slice.Slice, p Program, o Options) (*report.Slice, error) {
	t := &teller{x: x, s: s, p: p, o: o, named: map[uint64]Place{}, rows: map[string]*row{}, ids: map[string]int{}}
	t.out = &report.Slice{
		Criterion: o.Criterion, Forward: o.Forward, Recorded: x.End - min(x.End, 1), Instructions: s.Ops, Statements: []report.SliceStatement{},
	}
	if s.Options.NoAddress {
		t.out.Left = append(t.out.Left, "address")
	}
	if s.Options.NoControl {
		t.out.Left = append(t.out.Left, "control")
	}
	rows := t.statements()
	for i, r := range rows {
		r.ID = i + 1
		t.ids[r.key] = r.ID
	}
	own := 0
	for own < len(rows) && rows[own].Module == "" {
		own++
	}
	t.out.Total, t.out.Folded = own, len(rows)-own
	if o.Most > 0 {
		libraries := rows[own:]
		rows = append(rows[:min(own, o.Most):own], libraries[:min(len(libraries), (o.Most+2)/3)]...)
	}
	for _, r := range rows {
		if err := t.way(r); err != nil {
			return nil, err
		}
		if r.Module != "" && !o.All {
			if err := t.caller(r); err != nil {
				return nil, err
			}
		}
		t.out.Statements = append(t.out.Statements, r.SliceStatement)
	}
	t.uses()
	t.notes()
	return t.out, nil
}

func (t *teller) place(pc uint64) Place {
	p, ok := t.named[pc]
	if !ok {
		p = t.p.Place(pc)
		t.named[pc] = p
	}
	return p
}

// statement returns the key of the statement of an op, and what it is called.
func (t *teller) statement(piece *slice.Piece, pc uint64) (string, report.SliceStatement) {
	switch {
	case piece.Code != nil:
	case piece.Cause.Kind == slice.Fault:
		pc = piece.Cause.PC
	default:
		k := t.p.Kernel(piece.Cause)
		if piece.Cause.Kind == slice.Syscall && piece.Cause.PC != 0 && !t.o.All {
			// How a library comes to where it lies is of little interest.
			if p := t.place(piece.Cause.PC - 1); p.Linker {
				return "library:" + p.Module + ":" + k, report.SliceStatement{Function: k, Module: p.Module}
			}
		}
		return "kernel:" + k, report.SliceStatement{Kernel: k}
	}
	p := t.place(pc)
	st := report.SliceStatement{File: p.File, Path: p.Path, Line: p.Line, Near: p.Near, Function: p.Function, Source: p.Source}
	switch {
	case (!p.Own || p.File == "") && !t.o.All:
		st = report.SliceStatement{Function: p.Function, Module: p.Module}
		return "library:" + p.Module + ":" + p.Function, st
	case p.File == "" || p.Line == 0:
		st.Address = p.Address
		return "at:" + p.Address, st
	}
	return fmt.Sprintf("%s:%d %t", p.Path, p.Line, p.Near), st
}

// statements are those of the slice, the nearest first.
func (t *teller) statements() []*row {
	type end struct {
		n    uint64
		near string
	}
	var memory, registers end
	for _, st := range t.s.Stats() { // the nearest first
		t.out.Code++
		key, what := t.statement(st.Piece, st.PC())
		r := t.rows[key]
		if r == nil {
			r = &row{SliceStatement: what, key: key, near: st.Nearest}
			r.Distance, r.Instant, r.Thread = st.Distance, st.Instant, st.Thread
			t.rows[key] = r
		}
		if r.Kernel != "" || r.Module != "" {
			r.Count += st.Count
		} else {
			r.Count = max(r.Count, st.Count)
		}
		for _, b := range []struct {
			e *end
			n uint64
		}{{&memory, st.BeforeMemory}, {&registers, st.BeforeRegister}} {
			if b.n > 0 {
				if b.e.n == 0 {
					b.e.near = r.Short()
				}
				b.e.n += b.n
			}
		}
	}
	if !t.o.Forward {
		if memory.n > 0 {
			t.out.Ends = append(t.out.Ends, report.SliceEnd{What: "memory that nothing in the recording wrote: constants, initial data, or older", Count: memory.n, Near: memory.near})
		}
		if registers.n > 0 {
			t.out.Ends = append(t.out.Ends, report.SliceEnd{What: "registers from before the recording", Count: registers.n, Near: registers.near})
		}
	}
	rows := make([]*row, 0, len(t.rows))
	for _, r := range t.rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *row) int {
		if a.Module == "" != (b.Module == "") {
			return map[bool]int{true: -1, false: 1}[a.Module == ""] // libraries last
		}
		if c := cmp.Compare(a.Distance, b.Distance); c != 0 {
			return c
		}
		return cmp.Compare(b.near, a.near)
	})
	return rows
}

// Of a long way the middle is not told.
const (
	wayHead = 4
	wayTail = 3
)

// way finds how the criterion depends on a statement: the statements on the path,
// each once where several ops of it follow one another.
func (t *teller) way(r *row) error {
	path, whole := t.s.Path(r.near)
	r.Cut = !whole
	var steps []report.SliceStep
	last := ""
	library := false
	var before slice.At
	for i, h := range path {
		at, err := t.x.At(h.Node)
		if err != nil {
			return err
		}
		link, err := t.link(h, at, i, path, before)
		if err != nil {
			return err
		}
		before = at
		key, what := t.statement(at.Piece, at.PC())
		inLibrary := what.Module != ""
		if key == last || inLibrary && library && i < len(path)-1 {
			continue
		}
		last, library = key, inLibrary
		steps = append(steps, report.SliceStep{Where: what.Short(), How: h.Kind.String(), Value: t.value(link), ID: t.ids[key]})
	}
	if len(steps) < 2 {
		return nil
	}
	r.How, r.Value = steps[len(steps)-1].How, steps[len(steps)-1].Value
	steps = steps[1 : len(steps)-1]
	if n := len(steps); n > wayHead+wayTail+1 {
		left := report.SliceStep{Where: fmt.Sprintf("… %d more statements …", n-wayHead-wayTail), How: steps[wayHead].How}
		steps = slices.Concat(steps[:wayHead], []report.SliceStep{left}, steps[n-wayTail:])
	}
	r.Way = steps
	return nil
}

// link is the dependence between op i of a path and the one before it.
func (t *teller) link(h slice.Hop, at slice.At, i int, path []slice.Hop, before slice.At) (l Link, err error) {
	if i == 0 || h.Kind == slice.ByControl {
		return Link{Kind: slice.ByControl}, nil
	}
	use, def := slice.Node(path[i-1].Node), h.Node
	useAt, defAt := before, at
	if t.o.Forward {
		use, def, useAt, defAt = def, use, defAt, useAt
	}
	l = Link{Kind: h.Kind, Use: useAt.PC(), Def: defAt.PC(), Instant: defAt.Instant}
	if h.Kind != slice.ByMemory {
		l.Regs, err = t.x.Through(use, def)
	}
	return l, err
}

// value is what a link is about; of a branch, nothing.
func (t *teller) value(l Link) string {
	if l.Kind == slice.ByControl {
		return ""
	}
	return t.p.Value(l)
}

// uses tells of each statement that is listed which of the others it uses directly.
func (t *teller) uses() {
	listed := map[string]*report.SliceStatement{}
	at := map[int]*report.SliceStatement{}
	for i := range t.out.Statements {
		at[t.out.Statements[i].ID] = &t.out.Statements[i]
	}
	for key, id := range t.ids {
		if st := at[id]; st != nil {
			listed[key] = st
		}
	}
	for _, st := range t.s.Stats() {
		key, what := t.statement(st.Piece, st.PC())
		if listed[key] == nil {
			continue
		}
		for _, u := range st.Users {
			by, _ := t.statement(u.Piece, u.Piece.PC(u.Op))
			user := listed[by]
			step := report.SliceStep{Where: what.Short(), How: u.Kind.String(), ID: t.ids[key]}
			if user == nil || by == key || slices.Contains(user.Uses, step) {
				continue
			}
			user.Uses = append(user.Uses, step)
		}
	}
}

// callerSteps bounds the search for a caller.
const callerSteps = 1 << 20

// caller finds the program's statement in whose call library code was executed.
func (t *teller) caller(r *row) error {
	return t.x.Callers(r.near, callerSteps, func(pc uint64) bool {
		p := t.place(pc)
		if !p.Own || p.File == "" {
			return true
		}
		r.Caller = &report.Place{File: p.File, Line: p.Line, Function: p.Function, Text: p.Source}
		return false
	})
}

// notes say where the slice may be too large or too small.
func (t *teller) notes() {
	d := t.x.Doubts
	note := func(n uint64, one, many, what string) {
		if n > 0 {
			t.out.Notes = append(t.out.Notes, report.Plural(int(n), one, many)+what)
		}
	}
	note(d.Lost, "gap", "gaps", " in the recording: what is older than a gap has no origin")
	note(d.Unwound, "activation was", "activations were", " left without a return (exceptions, longjmp)")
	note(uint64(d.Unknown), "branch leads", "branches lead", " to code that is not known: what follows may seem to depend on it")
	note(uint64(d.Partial), "indirect jump has", "indirect jumps have", " targets that are not known: what follows in the function seems to depend on it")
}
