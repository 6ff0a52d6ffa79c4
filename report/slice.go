package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Slice is where a value came from: the statements whose executions it depends on,
// the nearest first. A forward slice is what depends on it.
type Slice struct {
	Criterion    string           `json:"criterion"`
	Forward      bool             `json:"forward,omitempty"`
	Left         []string         `json:"left_out,omitempty"` // kinds of dependence that do not count: "address", "control"
	Recorded     uint64           `json:"instructions_recorded"`
	Instructions uint64           `json:"instructions"` // executed ones in the slice, by their parts
	Code         int              `json:"code_addresses"`
	Total        int              `json:"statements_total"` // of the program
	Folded       int              `json:"library_functions_total"`
	Statements   []SliceStatement `json:"statements"`
	Ends         []SliceEnd       `json:"ends,omitempty"`
	Notes        []string         `json:"notes,omitempty"`
}

// SliceStatement is a source line of the program in a slice; or a function of a
// library, folded; or something that the kernel did.
type SliceStatement struct {
	ID       int         `json:"id"` // from 1
	File     string      `json:"file,omitempty"`
	Path     string      `json:"path,omitempty"`
	Line     int         `json:"line,omitempty"`
	Near     bool        `json:"near,omitempty"` // the compiler gives the code no line: Line is that of the code before it
	Function string      `json:"function,omitempty"`
	Source   string      `json:"source,omitempty"`
	Module   string      `json:"module,omitempty"` // of library code
	Address  string      `json:"address,omitempty"`
	Kernel   string      `json:"kernel,omitempty"` // "system call read"
	Caller   *Place      `json:"caller,omitempty"` // of library code: the program's statement that called it
	Count    uint64      `json:"count"`            // executions of it in the slice
	Distance uint32      `json:"distance"`         // dependences from the criterion to the nearest
	Instant  uint64      `json:"instant"`          // of that one
	Thread   uint32      `json:"thread"`
	Way      []SliceStep `json:"way,omitempty"`   // from the criterion to it, without these two
	How      string      `json:"how,omitempty"`   // how the last of the way, or the criterion, depends on it: "memory"
	Value    string      `json:"value,omitempty"` // what that value is called: "page#1.room", "n"
	Cut      bool        `json:"way_cut,omitempty"`

	// Uses are the listed statements whose values it uses directly: its definitions.
	Uses []SliceStep `json:"uses,omitempty"`
}

// SliceStep is a statement on a way of dependences.
type SliceStep struct {
	Where string `json:"where"`
	How   string `json:"how"`             // how the one before depends on it
	Value string `json:"value,omitempty"` // through what: a field, a variable
	ID    int    `json:"id,omitempty"`    // of a statement that is listed
}

// SliceEnd says where values come from that no statement computed.
type SliceEnd struct {
	What  string `json:"what"`
	Count uint64 `json:"count"`
	Near  string `json:"nearest,omitempty"` // the nearest statement that uses it
}

// Where names a statement: "parse.c:31 in header".
func (s *SliceStatement) Where() string {
	switch {
	case strings.HasPrefix(s.Kernel, "unknown"):
		return s.Kernel
	case s.Kernel != "":
		return "the kernel, " + s.Kernel
	case s.Module != "":
		w := s.Module
		if s.Function != "" {
			w = s.Function + " (" + s.Module + ")"
		}
		if s.Caller != nil {
			w += fmt.Sprintf(", called at %s:%d", s.Caller.File, s.Caller.Line)
		}
		return w
	case s.File != "":
		w := s.at()
		if s.Function != "" {
			w += " in " + s.Function
		}
		return w
	}
	return s.Address
}

// Short names a statement as ways do.
func (s *SliceStatement) Short() string {
	switch {
	case s.Kernel != "":
		return s.Kernel
	case s.Module != "":
		return orUnknown(s.Function) + " (" + s.Module + ")"
	case s.File != "":
		return s.at()
	}
	return s.Address
}

// at names a statement with a line: "parse.c:31".
func (s *SliceStatement) at() string {
	w := s.File + ":" + strconv.Itoa(s.Line)
	if s.Near {
		w = "near " + w
	}
	return w
}

// Words tells in a sentence how the criterion depends on a statement.
func (s *SliceStatement) Words(forward bool) string {
	if s.How == "" {
		return ""
	}
	var b strings.Builder
	from := "the value"
	if s.Cut {
		from = "…"
	}
	b.WriteString(from)
	for i, w := range append(s.Way[:len(s.Way):len(s.Way)], SliceStep{Where: "this", How: s.How, Value: s.Value}) {
		if i > 0 {
			b.WriteString(", which")
		}
		b.WriteString(" " + w.Verb(forward) + " " + w.Where)
	}
	return b.String()
}

// Verb links the user of a value and what it depends on; of a forward slice, a
// value and what depends on it.
func (s SliceStep) Verb(forward bool) string {
	named := s.Value != ""
	switch {
	case forward && s.How == "register" && named:
		return "was used, as " + s.Value + ", by"
	case forward && s.How == "memory" && named:
		return "was read from " + s.Value + " by"
	case forward && s.How == "address" && named:
		return "told where, as " + s.Value + ", to"
	case forward:
		return map[string]string{
			"register": "was used by", "memory": "was read by", "address": "told where, to", "control": "decided about",
		}[s.How]
	case s.How == "register" && named:
		return "was computed from " + s.Value + ", set by"
	case s.How == "memory" && named:
		return "was read from " + s.Value + ", written by"
	case s.How == "address" && named:
		return "was found through " + s.Value + ", set by"
	}
	return map[string]string{
		"register": "was computed from a value of", "memory": "was read from what was written by",
		"address": "was found through", "control": "was decided by",
	}[s.How]
}

// Last is how the last of the way, or the criterion, depends on the statement.
func (s *SliceStatement) Last() SliceStep { return SliceStep{How: s.How, Value: s.Value} }

// Text writes the slice for a person.
func (s *Slice) Text(w io.Writer, o TextOptions) error {
	p := &printer{w: w, o: o}
	p.slice(s)
	return p.err
}

func (p *printer) slice(s *Slice) {
	title := "Where it came from: "
	if s.Forward {
		title = "What depends on it: "
	}
	p.f("%s\n", p.paint(bold, title+s.Criterion))
	p.f("  %s in %s of the program, of %s instructions recorded\n",
		Plural(int(s.Instructions), "executed instruction is in the slice,", "executed instructions are in the slice,"),
		Plural(s.Code, "instruction", "instructions"), Thousands(s.Recorded))
	if len(s.Left) > 0 {
		p.f("  left out: dependences by %s\n", strings.Join(s.Left, " and by "))
	}
	own := 0
	for own < len(s.Statements) && s.Statements[own].Module == "" {
		p.sliceStatement(&s.Statements[own], s.Forward)
		own++
	}
	p.more(s.Total-own, "statement", "statements")
	if libraries := s.Statements[own:]; len(libraries) > 0 {
		p.f("\n%s\n", p.paint(bold, "Code of libraries that it went through"))
		for i := range libraries {
			l := &libraries[i]
			p.f("%4d. %s  %s, %s\n", l.ID, l.Where(), Plural(int(l.Count), "instruction", "instructions"), Plural(int(l.Distance), "step away", "steps away"))
		}
		p.more(s.Folded-len(libraries), "function", "functions")
	}
	if len(s.Ends) > 0 {
		p.f("\n%s\n", p.paint(bold, "Where it ends"))
		for _, e := range s.Ends {
			p.f("  %s", e.What)
			if e.Count > 1 {
				p.f(", %s times", Thousands(e.Count))
			}
			if e.Near != "" {
				p.f(", nearest: %s", e.Near)
			}
			p.f("\n")
		}
	}
	for _, n := range s.Notes {
		p.f("%s\n", p.paint(dim, "note: "+n))
	}
}

func (p *printer) more(n int, one, many string) {
	if n > 0 {
		p.f("\n  … and %s further away (-n 0 shows all)\n", Plural(n, one, many))
	}
}

func (p *printer) sliceStatement(s *SliceStatement, forward bool) {
	p.f("\n%4d. %s", s.ID, p.paint(bold, s.Where()))
	p.f("  %s, %s\n", Plural(int(s.Count), "execution", "executions"), Plural(int(s.Distance), "step away", "steps away"))
	if s.Source != "" {
		p.f("        %s\n", expandTabs(s.Source))
	}
	if words := s.Words(forward); words != "" {
		p.f("      %s\n", p.paint(dim, words))
	}
}

// DOT draws the statements that are listed, and the ways from the criterion to
// them, in Graphviz's language. An arrow goes from a value to what it came from, and says
// what that is called, or else how it depends on it.
func (s *Slice) DOT() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph slice {\n  rankdir=TB; node [shape=box, fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=9];\n")
	fmt.Fprintf(&b, "  label=%s; labelloc=t; fontname=Helvetica;\n", quoteDOT(s.Criterion))
	shown := map[int]string{}
	for i := range s.Statements {
		st := &s.Statements[i]
		shown[st.ID] = st.Short()
		style := ""
		switch {
		case st.Distance == 0:
			style = ", style=filled, fillcolor=\"#fde0dc\""
		case st.Module != "" || st.Kernel != "":
			style = ", style=filled, fillcolor=\"#eeeeee\""
		}
		label := st.Where()
		if st.Source != "" {
			label += "\n" + st.Source
		}
		fmt.Fprintf(&b, "  n%d [label=%s%s];\n", st.ID, quoteDOT(label), style)
	}
	drawn := map[string]bool{}
	edge := func(from, to int, w SliceStep) {
		label := w.How
		if w.Value != "" {
			label = w.Value
		}
		e := fmt.Sprintf("  n%d -> n%d [label=%s%s];\n", from, to, quoteDOT(label), map[string]string{"control": ", style=dashed", "address": ", style=dotted"}[w.How])
		if !drawn[e] && shown[from] != "" && shown[to] != "" && from != to {
			drawn[e] = true
			b.WriteString(e)
		}
	}
	for i := range s.Statements {
		st := &s.Statements[i]
		if st.How == "" || s.Statements[0].ID == st.ID {
			continue
		}
		at, gap := s.Statements[0].ID, false
		for _, w := range append(st.Way[:len(st.Way):len(st.Way)], SliceStep{ID: st.ID, How: st.How, Value: st.Value}) {
			if shown[w.ID] == "" {
				gap = true
				continue
			}
			if gap {
				edge(at, w.ID, SliceStep{How: "…"})
			} else {
				edge(at, w.ID, w)
			}
			at, gap = w.ID, false
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func quoteDOT(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
