package query

import (
	"fmt"
	"io"
	"strings"
	"time"

	"mgtrace/report"
)

// printer writes an answer as text.
type printer struct {
	b     strings.Builder
	color bool
}

func (p *printer) f(format string, a ...any) { fmt.Fprintf(&p.b, format, a...) }

// Escape sequences of ECMA-48, 8.3.117.
const (
	bold  = "1"
	dim   = "2"
	reset = "\x1b[0m"
)

func (p *printer) paint(how, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + how + "m" + s + reset
}

func (p *printer) to(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// where names a statement: "list.c:15 in push".
func (x *Place) where() string {
	s := x.Address
	if x.File != "" {
		s = fmt.Sprintf("%s:%d", x.File, x.Line)
		if x.Function != "" {
			s += " in " + x.Function
		}
	}
	for _, in := range x.Inlined {
		s += fmt.Sprintf(" (inlined at %s:%d)", in.File, in.Line)
	}
	return s
}

func (p *printer) change(c *ChangeAnswer) {
	p.f("  %-9s %s", "change "+report.Thousands(c.Change), p.paint(bold, c.Statement.where()))
	if c.Writer != "" && c.Kind != "allocation" && c.Kind != "free" {
		p.f(", by %s", c.Writer)
	}
	p.f("\n      %s\n", c.What)
	if c.Statement.Source != "" {
		p.f("      %s\n", p.paint(dim, "> "+c.Statement.Source))
	}
	p.f("      %s\n", p.paint(dim, c.when()))
	for i, s := range c.Stack {
		if i > 0 && s.File != "" { // the first is the statement
			p.f("      %s\n", p.paint(dim, "called from "+s.where()))
		}
	}
}

// when tells the thread, the wall clock and the call.
func (c *ChangeAnswer) when() string {
	s := fmt.Sprintf("thread %d", c.Thread)
	if c.Wall != nil {
		s += fmt.Sprintf(", %s after the start", time.Duration(*c.Wall).Round(time.Microsecond))
	}
	if c.Call != "" {
		s += ", in " + c.Call
	}
	return s
}

// Text prints who wrote a cell.
func (w *Who) Text(out io.Writer, color bool) error {
	p := &printer{color: color}
	p.f("%s", p.paint(bold, w.Cell))
	if w.Cell != w.Addr {
		p.f(" at %s", w.Addr)
	}
	p.f(", %s", byteCount(w.Size))
	if w.Type != "" {
		p.f(", %s", w.Type)
	}
	at := "at change " + report.Thousands(w.Time)
	if w.Time == w.Now {
		at = "at the end, " + at[len("at "):]
	}
	switch {
	case w.Freed:
		p.f(": its block had been freed %s\n", at)
	case w.Value != "":
		p.f(": %s %s\n", w.Value, at)
	default:
		p.f(", %s\n", at)
	}
	switch {
	case w.Held == "":
	case w.Value == neverWritten:
		p.f("  but memory held %s at the end: from before, or what wrote it was not recorded (code of a library? --module records one)\n", w.Held)
	default:
		p.f("  but memory held %s at the end: what wrote it was not recorded (code of a library? --module records one)\n", w.Held)
	}
	if len(w.Writers) == 0 {
		p.f("  no recorded change has written it\n")
	}
	for i := range w.Writers {
		p.change(&w.Writers[i])
	}
	if w.Left {
		p.f("  … and earlier ones: -n N shows more\n")
	}
	return p.to(out)
}

func (p *printer) node(n *NodeAnswer) {
	p.f("%s at %s, %s", p.paint(bold, n.Name), n.Addr, byteCount(n.Size))
	if n.Type != "" {
		p.f(", %s", n.Type)
	}
	if n.Why != "" {
		p.f(" (%s)", n.Why)
	}
	p.f("\n")
}

// Text prints what a node lived through.
func (l *LifeAnswer) Text(out io.Writer, color bool) error {
	p := &printer{color: color}
	p.node(&l.NodeAnswer)
	switch {
	case l.Before:
		p.f("  it was there when the history began\n")
	case l.Left:
		p.f("  … earlier changes: -n N shows more\n")
	}
	for i := range l.Changes {
		p.change(&l.Changes[i])
	}
	if l.Died == 0 {
		p.f("  it was never freed\n")
	}
	return p.to(out)
}

// Text prints the graph at a time.
func (s *SnapshotAnswer) Text(out io.Writer, color bool) error {
	p := &printer{color: color}
	p.f("change %s: %s\n", report.Thousands(s.Time), count(s.Live, "node lives", "nodes live"))
	for i := range s.Nodes {
		p.node(&s.Nodes[i])
		p.fields("    ", s.Nodes[i].Fields)
	}
	for i := range s.Clusters {
		p.cluster("", &s.Clusters[i])
	}
	if n := s.Live - len(s.Nodes); n > 0 {
		p.f("… and %s: --max N shows more, --node and --type others\n", count(n, "other node", "other nodes"))
	}
	return p.to(out)
}

// fields lists fields, neighbouring elements that hold the same as one.
func (p *printer) fields(indent string, fields []FieldAnswer) {
	plain := make([]report.Field, len(fields))
	for i, f := range fields {
		plain[i] = report.Field{Name: f.Name, Value: f.Value}
	}
	for _, f := range report.Fold(plain) {
		p.f("%s%s %s\n", indent, f.Name, f.Value)
	}
}

// Text prints what changed.
func (d *DiffAnswer) Text(out io.Writer, color bool) error {
	p := &printer{color: color}
	p.f("from change %s to change %s: %s born, %s freed, %s changed", report.Thousands(d.From), report.Thousands(d.To), count(d.In.Born, "node", "nodes"), report.Thousands(uint64(d.In.Died)), report.Thousands(uint64(d.In.Changed)))
	if d.Passing > 0 {
		p.f(", %s born and freed in between", report.Thousands(uint64(d.Passing)))
	}
	p.f("\n")
	for i := range d.Changed {
		n := &d.Changed[i]
		if n.Sizes != nil {
			p.f("  ~ %s: %s → %s\n", p.paint(bold, n.Name), byteCount(n.Sizes[0]), byteCount(n.Sizes[1]))
		}
		for _, f := range n.Fields {
			p.f("  ~ %s: %s → %s", p.paint(bold, join(n.Name, f.Name)), f.Before, f.After)
			if f.By.Change > 0 {
				p.f("  %s", p.paint(dim, fmt.Sprintf("change %s, %s", report.Thousands(f.By.Change), f.By.Statement.where())))
			}
			p.f("\n")
		}
		if n.Left {
			p.f("  ~ %s: and more fields\n", p.paint(bold, n.Name))
		}
	}
	for i := range d.Born {
		n := &d.Born[i]
		p.f("  + %s at %s, %s\n", p.paint(bold, n.Name), n.Addr, byteCount(n.Size))
		p.fields("      ", n.Fields)
	}
	for i := range d.Died {
		p.f("  - %s at %s, %s\n", p.paint(bold, d.Died[i].Name), d.Died[i].Addr, byteCount(d.Died[i].Size))
	}
	for i := range d.Joined {
		p.cluster("  + ", &d.Joined[i])
	}
	for i := range d.Parted {
		p.cluster("  - ", &d.Parted[i])
	}
	if d.Left > 0 {
		p.f("… and %s: --max N shows more\n", count(d.Left, "other node", "other nodes"))
	}
	return p.to(out)
}
