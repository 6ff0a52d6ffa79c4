package sarif

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"mgtrace/report"
)

// Options are what the report does not know.
type Options struct {
	Version string // of mgtrace
	Root    string // absolute; files below it get relative paths. "": none do
}

const (
	schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	base   = "%SRCROOT%"
)

// Write writes the report.
func Write(w io.Writer, r *report.Report, o Options) error {
	b := builder{r: r, o: o, rules: map[string]int{}}
	for i := range r.CPoints {
		b.point(&r.CPoints[i])
	}
	out := run{
		Tool:        tool{driver{Name: "mgtrace", Version: o.Version, Rules: b.list}},
		Invocations: []invocation{b.invocation()},
		Results:     b.results,
		ColumnKind:  "unicodeCodePoints",
	}
	if o.Root != "" {
		out.Bases = map[string]artifact{base: {URI: fileURL(strings.TrimSuffix(filepath.ToSlash(o.Root), "/") + "/")}}
	}
	if out.Results == nil {
		out.Results = []result{}
	}
	if out.Tool.Driver.Rules == nil {
		out.Tool.Driver.Rules = []rule{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(log{Schema: schema, Version: "2.1.0", Runs: []run{out}})
}

type builder struct {
	r       *report.Report
	o       Options
	list    []rule
	rules   map[string]int // index in list
	results []result
}

// rule returns the index of a constraint's.
func (b *builder) rule(in *report.Inconsistency) int {
	i, ok := b.rules[in.Constraint]
	if !ok {
		i = len(b.list)
		b.rules[in.Constraint] = i
		r := rule{ID: in.Constraint}
		if in.Source != "" {
			r.Short = &message{in.Constraint + " of the specification"}
			r.Full = &message{in.Source}
		}
		b.list = append(b.list, r)
	}
	return i
}

// point makes the results of a C-point: its suspects, or if there are none what
// is broken.
func (b *builder) point(c *report.CPoint) {
	var broken, reasons []string
	for i := range c.Inconsistencies {
		in := &c.Inconsistencies[i]
		b.rule(in)
		if !slices.Contains(broken, in.Constraint) {
			broken = append(broken, in.Constraint)
		}
		reasons = append(reasons, in.Constraint+": "+in.Reason)
	}
	found := location{Physical: b.physical(c.Path, c.Line, 0, nil), Message: &message{c.Title()}}
	if c.Function != "" {
		found.Logical = []logical{{c.Function, "function"}}
	}
	for i := range c.Suspects {
		b.suspect(c, &c.Suspects[i], broken, reasons, found)
	}
	if len(c.Suspects) > 0 {
		return
	}
	for i := range c.Inconsistencies {
		in := &c.Inconsistencies[i]
		res := result{
			RuleID: in.Constraint, RuleIndex: b.rule(in), Level: "error", Rank: 100,
			Message:      message{fmt.Sprintf("%s. Found %s.", capital(in.Reason), c.Where())},
			Fingerprints: fingerprint(in.Constraint, c.Kind, c.Function),
			Properties:   properties{Broken: broken},
		}
		if found.Physical != nil || found.Logical != nil {
			res.Locations = []location{found}
		}
		b.results = append(b.results, res)
	}
}

func (b *builder) suspect(c *report.CPoint, s *report.Suspect, broken, reasons []string, found location) {
	level := "note"
	if s.Rank == 1 {
		level = "error"
	}
	id := ruleOf(s, broken)
	text := []string{s.Why}
	if s.Change != "" && !s.Missing() { // there the sentence says it
		text = append(text, "The change: "+s.Change+".")
	}
	text = append(text, fmt.Sprintf("Suspect %d of %d for %s.", s.Rank, len(c.Suspects), strings.Join(reasons, "; ")))
	at := location{Physical: b.physical(s.Path, s.Line, s.Column, s.Context), Logical: []logical{{orAddress(s.Function, s.Address), "function"}}}
	related := []location{}
	if found.Physical != nil || found.Logical != nil {
		found.ID = 1
		related = append(related, found)
	}
	if p := s.Outermost(); p != nil {
		related = append(related, location{ID: len(related) + 1, Message: &message{"through " + p.Function + " at " + place(p)}, Logical: []logical{{p.Function, "function"}}})
	}
	for i := range s.Inlined {
		p := &s.Inlined[i]
		related = append(related, location{ID: len(related) + 1, Message: &message{"inlined into " + p.Function + " at " + place(p)}, Logical: []logical{{p.Function, "function"}}})
	}
	b.results = append(b.results, result{
		RuleID: id, RuleIndex: b.rule(&report.Inconsistency{Constraint: id}), Level: level, Rank: 100 / float64(max(s.Rank, 1)),
		Message:      message{strings.Join(text, " ")},
		Locations:    []location{at},
		Related:      related,
		Flows:        b.flows(c, s),
		Fingerprints: fingerprint(id, s.Kind, filepath.Base(s.Path), s.Function, s.Source),
		Properties:   properties{Kind: s.Kind, Change: s.Change, Evidence: s.Evidence, Broken: broken},
	})
}

// ruleOf is the constraint that stands for a suspect: the first broken one that it
// contributed to.
func ruleOf(s *report.Suspect, broken []string) string {
	for _, c := range s.Contributes {
		if slices.Contains(broken, c) {
			return c
		}
	}
	if len(broken) > 0 {
		return broken[0]
	}
	return "inconsistency"
}

// flows are the steps to the C-point, by thread (3.36): all for the first
// suspect, else the beginning, the suspect's own and the end.
func (b *builder) flows(c *report.CPoint, s *report.Suspect) []codeFlow {
	var threads []threadFlow
	for i := range c.Steps {
		st := &c.Steps[i]
		ends := i == 0 || i == len(c.Steps)-1
		if s.Rank != 1 && !ends && st.Suspect != s.Rank {
			continue
		}
		at := location{Physical: b.physical(st.Path, st.Line, st.Column, nil), Message: &message{words(st)}}
		if st.Function != "" {
			at.Logical = []logical{{st.Function, "function"}}
		}
		importance := "unimportant"
		if ends || st.Suspect > 0 {
			importance = "essential"
		}
		id := fmt.Sprint(st.Thread)
		if st.Thread == 0 {
			id = fmt.Sprint(s.Thread)
		}
		k := slices.IndexFunc(threads, func(t threadFlow) bool { return t.ID == id })
		if k < 0 {
			k = len(threads)
			threads = append(threads, threadFlow{ID: id})
		}
		threads[k].Locations = append(threads[k].Locations, flowLocation{Order: i + 1, Importance: importance, Location: at})
	}
	if threads == nil {
		return nil
	}
	return []codeFlow{{Message: message{"What changed the structure since it was last found whole"}, Threads: threads}}
}

func words(st *report.Step) string {
	switch {
	case st.Place != "":
		return st.Place
	case st.LeftOut > 0:
		return fmt.Sprintf("%s (%s; %s before it not listed)", st.Change, st.When, report.Plural(st.LeftOut, "change", "changes"))
	}
	return fmt.Sprintf("%s (%s)", st.Change, st.When)
}

// physical is a place in a file, nil if there is none.
func (b *builder) physical(path string, line, column int, context []report.Line) *physical {
	if path == "" {
		return nil
	}
	p := &physical{Artifact: b.artifact(path)}
	if line <= 0 {
		return p
	}
	p.Region = &region{StartLine: line}
	for _, l := range context {
		if l.Line == line {
			p.Region.StartColumn = characters(l.Text, column)
			p.Region.Snippet = &message{l.Text}
		}
	}
	if n := len(context); n > 0 {
		var text []string
		for _, l := range context {
			text = append(text, l.Text)
		}
		p.Context = &region{StartLine: context[0].Line, EndLine: context[n-1].Line, Snippet: &message{strings.Join(text, "\n")}}
	}
	return p
}

// characters turns a column of the debug information, which counts bytes, into
// one that counts code points; 0 if there is none.
func characters(line string, column int) int {
	if column < 1 || column > len(line) {
		return 0
	}
	return utf8.RuneCountInString(line[:column-1]) + 1
}

func (b *builder) artifact(path string) artifact {
	if b.o.Root != "" {
		if rel, err := filepath.Rel(b.o.Root, path); err == nil && filepath.IsLocal(rel) {
			return artifact{URI: relativeURL(filepath.ToSlash(rel)), Base: base}
		}
	}
	if !filepath.IsAbs(path) {
		return artifact{URI: relativeURL(filepath.ToSlash(path))}
	}
	return artifact{URI: fileURL(filepath.ToSlash(path))}
}

func fileURL(path string) string { return "file://" + escape(path) }

// relativeURL is a relative reference: a colon in its first segment would make a
// scheme of what precedes it (RFC 3986, section 4.2).
func relativeURL(path string) string {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ":") {
		path = "./" + path
	}
	return escape(path)
}

// escape makes a path part of a URL: all but pchar and "/" becomes %XX (RFC 3986,
// section 3.3).
func escape(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("/-._~!$&'()*+,;=:@", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// invocation tells how the run ended, and what is missing.
func (b *builder) invocation() invocation {
	in := invocation{Successful: true, ExitCode: b.r.Status(), Description: b.r.Headline()}
	note := func(level, text string) {
		in.Notifications = append(in.Notifications, notification{level, message{text}})
	}
	for _, w := range b.r.Why {
		note("error", "the report is partial: "+w)
	}
	if n := b.r.Events.Dropped; n > 0 {
		note("error", report.Plural(int(n), "event", "events")+" lost")
	}
	if g := b.r.Begins; g != nil {
		note("warning", "the history does not begin with the program: "+g.Why)
	}
	if a := b.r.Audit; a != nil && a.Unseen > 0 {
		note("warning", "writes that were not seen changed "+report.Plural(int(a.Unseen), "byte", "bytes"))
	}
	for _, w := range b.r.Warnings {
		note("warning", w)
	}
	if b.r.Exit != nil {
		note("note", b.r.Exit.String())
	}
	return in
}

// fingerprint tells a result from others, in other versions of the source too:
// lines may move, and numbers of nodes differ from run to run.
func fingerprint(parts ...string) map[string]string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return map[string]string{"mgtrace/v1": hex.EncodeToString(sum[:16])}
}

func place(p *report.Place) string {
	if p.File == "" {
		return "an unknown line"
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

func orAddress(function, address string) string {
	switch {
	case function != "":
		return function
	case address != "":
		return address
	}
	return "unknown"
}

func capital(s string) string {
	if s == "" {
		return "Inconsistent"
	}
	r, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(string(r)) + s[n:]
}
