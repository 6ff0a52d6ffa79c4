package report

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"mgtrace/cxxname"
)

// TextOptions say how the text form looks.
type TextOptions struct {
	Color   bool
	Verbose bool // all fields, all unprobed sites, notes
}

// Text writes the report for a person.
func (r *Report) Text(w io.Writer, o TextOptions) error {
	p := &printer{w: w, o: o}
	for i := range r.CPoints {
		p.cpoint(&r.CPoints[i])
	}
	p.summary(r)
	return p.err
}

// printer keeps the first error, so that the functions below read as text.
type printer struct {
	w   io.Writer
	o   TextOptions
	err error
}

func (p *printer) f(format string, a ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, a...)
	}
}

// ANSI colours: SGR parameters of ECMA-48.
const (
	bold   = "1"
	red    = "1;31"
	yellow = "33"
	dim    = "2"
	green  = "32"
)

func (p *printer) paint(sgr, s string) string {
	if !p.o.Color || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (p *printer) cpoint(c *CPoint) {
	p.f("%s\n", p.paint(bold, c.Title()))
	if c.Temporary {
		p.f("  (possibly temporary: the function that changes it was still running)\n")
	}
	for i := range c.Inconsistencies {
		p.inconsistency(&c.Inconsistencies[i], c.Repeated(i))
	}
	for _, n := range c.Notes {
		p.f("  note: %s\n", n)
	}
	switch len(c.Suspects) {
	case 0:
	case 1:
		p.f("\n%s\n", p.paint(bold, "Suspect:"))
	default:
		p.f("\n%s\n", p.paint(bold, "Suspects, most likely first:"))
	}
	for i := range c.Suspects {
		p.suspect(&c.Suspects[i], c.Fault != Crash && !c.tells(c.Suspects[i].Change))
	}
	if len(c.Pictures) > 0 {
		p.f("\nPictures: %s\n", strings.Join(c.Pictures, " "))
	}
	p.f("\n")
}

// Title is the C-point in words: "quad.c:62: at the return of insert, call 6 (change 412)".
func (c *CPoint) Title() string {
	var b strings.Builder
	if c.File != "" {
		fmt.Fprintf(&b, "%s:%d: ", c.File, c.Line)
	}
	total := 0
	for _, i := range c.Inconsistencies {
		total += max(1, i.Total)
	}
	if c.Fault != "" {
		b.WriteString(c.Fault)
	} else {
		fmt.Fprintf(&b, "%s %s", Plural(total, "inconsistency", "inconsistencies"), c.Where())
	}
	if c.Timestamp > 0 {
		fmt.Fprintf(&b, " (change %s)", Thousands(c.Timestamp))
	}
	return b.String()
}

// Where is the place of the C-point in the run: "at the return of insert, call 6".
func (c *CPoint) Where() string {
	var at string
	switch {
	case c.Core:
		at = "in the core file"
	case c.Kind == "crash":
		at = "at the crash"
	case c.Kind == "exit":
		at = "at the end of the program"
	case c.Kind == "entry":
		at = "at the entry of " + c.Function
	case c.Kind == "return":
		at = "at the return of " + c.Function
	default:
		at = "at this line"
	}
	if c.Call > 0 {
		at += ", call " + Thousands(uint64(c.Call))
	}
	return at
}

// Repeated reports whether the inconsistency is of the same constraint as the one
// before it: its text need not be shown again.
func (c *CPoint) Repeated(i int) bool {
	return i > 0 && c.Inconsistencies[i].Constraint == c.Inconsistencies[i-1].Constraint
}

func (p *printer) inconsistency(i *Inconsistency, repeated bool) {
	more := ""
	if i.Total > 1 {
		more = fmt.Sprintf("  (one of %s alike)", Thousands(uint64(i.Total)))
	}
	p.f("\n  %s %s%s\n", p.paint(red, i.Constraint+":"), i.Reason, p.paint(dim, more))
	if i.Source != "" && !repeated {
		p.f("      %s\n", p.paint(dim, i.Source))
	}
	if i.Since != "" {
		p.f("      %s\n", i.Since)
	}
	for _, s := range i.Sources {
		p.f("      the edges of %s: %s\n", s.Name, s.Value)
	}
	for _, v := range i.Values {
		p.values(v)
	}
}

// values prints a node's fields, folded to a few lines unless verbose.
func (p *printer) values(v NodeValues) {
	var b strings.Builder
	fields := Fold(v.Fields)
	if !p.o.Verbose {
		fields = shorten(fields)
	}
	for n, f := range fields {
		if n == 16 && !p.o.Verbose {
			fmt.Fprintf(&b, ", … %d more", len(fields)-n)
			break
		}
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", f.Name, f.Value)
	}
	p.f("      %s at %s: %s\n", v.Node, v.Addr, b.String())
}

// fewElements is how many elements of an array are printed before the other fields of its node.
const fewElements = 8

// shorten leaves the first elements of each array, so that there is room for what lies behind it: "count[8..63] …".
func shorten(fields []Field) []Field {
	var out []Field
	for i := 0; i < len(fields); {
		array, _, _ := elements(fields[i].Name)
		n, end := i+1, 0
		for ; array != "" && n < len(fields); n++ {
			is, _, last := elements(fields[n].Name)
			if is != array {
				break
			}
			end = last
		}
		if n-i <= fewElements+1 || n == len(fields) {
			out = append(out, fields[i:n]...)
		} else {
			_, first, _ := elements(fields[i+fewElements].Name)
			out = append(out, fields[i:i+fewElements]...)
			out = append(out, Field{fmt.Sprintf("%s[%d..%d]", array, first, end), "…"})
		}
		i = n
	}
	return out
}

// elements takes "key[3]" and "key[3..7]" apart; array is "" of what is neither.
func elements(name string) (array string, first, last int) {
	array, rest, ok := strings.Cut(name, "[")
	from, to, isRange := strings.Cut(strings.TrimSuffix(rest, "]"), "..")
	if !isRange {
		to = from
	}
	first, err := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if !ok || err != nil || err2 != nil || !strings.HasSuffix(rest, "]") {
		return "", 0, 0
	}
	return array, first, last
}

// Fold makes one field of neighbouring elements of an array with the same value,
// "key[3..7] never written", of such words of a node without a type, "+16..+40 0", and of
// the characters of a string, `name "task18"`, with what lies behind its end in the array, and of the members of a C++ string.
func Fold(fields []Field) []Field {
	var out []Field
	for i := 0; i < len(fields); {
		if f, n := stdString(fields[i:]); n > 0 {
			out = append(out, f)
			i += n
			continue
		}
		if s, n := stringOf(fields[i:]); n > 0 {
			array, _, _ := element(fields[i].Name)
			out = append(out, Field{array, strconv.Quote(s)})
			i += n
			for i < len(fields) && isElement(fields[i].Name, array) {
				i++ // what lies behind the string's end says nothing
			}
			continue
		}
		array, first, ok := element(fields[i].Name)
		n := i + 1
		for ok && n < len(fields) && fields[n].Value == fields[i].Value {
			if a, k, is := element(fields[n].Name); !is || a != array || k != first+n-i {
				break
			}
			n++
		}
		f := fields[i]
		if n > i+2 { // two are as short as a range
			if array == "" {
				f.Name += ".." + fields[n-1].Name
			} else {
				f.Name = fmt.Sprintf("%s[%d..%d]", array, first, first+n-i-1)
			}
			i = n
		} else {
			i++
		}
		out = append(out, f)
	}
	return out
}

// stringOf reads a string that fields begin with: the characters of an array, from its first
// to the zero behind them. n is how many fields that are, 0 if it is none.
func stringOf(fields []Field) (s string, n int) {
	var b strings.Builder
	for i, f := range fields {
		array, index, ok := element(f.Name)
		first, _, _ := element(fields[0].Name)
		if !ok || index != i || array != first {
			return "", 0
		}
		if f.Value == "0" && i > 0 {
			return b.String(), i + 1
		}
		code, quoted, isChar := strings.Cut(f.Value, " '")
		c, err := strconv.Atoi(code)
		if !isChar || err != nil || !printable(c) || !strings.HasSuffix(quoted, "'") {
			return "", 0
		}
		b.WriteByte(byte(c))
	}
	return "", 0
}

// printable: a character of a text, as ASCII has them.
func printable(c int) bool { return c >= ' ' && c <= '~' }

// element takes "key[3]" apart. The words of a node without a type, "+24", are elements of
// an array without a name.
func element(name string) (array string, index int, ok bool) {
	if offset, word := strings.CutPrefix(name, "+"); word {
		n, err := strconv.Atoi(offset)
		return "", n / 8, err == nil && n%8 == 0
	}
	array, rest, ok := strings.Cut(name, "[")
	if !ok || !strings.HasSuffix(rest, "]") {
		return "", 0, false
	}
	index, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	return array, index, err == nil
}

// isElement: a name is that of an element of an array.
func isElement(name, of string) bool {
	array, _, ok := element(name)
	return ok && array == of
}

// Place is where a suspect's statement is: "quad.c:69:12", or its address.
func (s *Suspect) Place() string {
	if s.File == "" {
		return s.Address
	}
	return position(s.File, s.Line, s.Column)
}

// position is written as compilers do; a column or line of 0 is not known.
func position(file string, line, column int) string {
	if line == 0 {
		return file
	}
	if column == 0 {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// fully is how many suspects of a C-point are shown with the lines around theirs.
const fully = 3

// readable is how long a function's name may be, in bytes: those of templates are whole with -v.
const readable = 160

func (p *printer) function(name string) string {
	if p.o.Verbose {
		return name
	}
	return cxxname.Brief(name, readable)
}

// tells: of a memory fault the change of the statement that did it is what is reported.
func (c *CPoint) tells(change string) bool {
	return c.Fault != "" && slices.ContainsFunc(c.Inconsistencies, func(i Inconsistency) bool { return i.Reason == change })
}

// suspect prints one, with its change where that was not told already.
func (p *printer) suspect(s *Suspect, change bool) {
	verb := ""
	if s.Kind == "omitted" {
		verb = " (a store is missing here)"
	}
	switch s.Change {
	case FreeMissing:
		verb = " (a free is missing here)"
	case CallMissing:
		verb = " (a call is missing here)"
	}
	p.f("\n  %d. %s: in %s%s\n", s.Rank, p.paint(bold, s.Place()), orUnknown(p.function(s.Function)), verb)
	if l := s.Outermost(); l != nil {
		p.f("       through %s at %s\n", p.function(l.Function), position(l.File, l.Line, 0))
	}
	for _, l := range s.Inlined {
		p.f("       inlined into %s at %s\n", p.function(l.Function), position(l.File, l.Line, 0))
	}
	for _, l := range s.Callers {
		p.f("       called from %s at %s\n", p.function(l.Function), position(l.File, l.Line, 0))
	}
	if len(s.Context) > 0 && (s.Rank <= fully || p.o.Verbose) {
		for _, l := range s.Context {
			mark := " "
			text := fmt.Sprintf("%5d | %s", l.Line, expandTabs(l.Text))
			if l.Line == s.Line {
				mark, text = ">", p.paint(yellow, text)
			}
			p.f("     %s %s\n", mark, text)
		}
	} else if s.Source != "" {
		p.f("     > %5d | %s\n", s.Line, p.paint(yellow, s.Source))
	}
	if s.Why != "" {
		p.f("     %s\n", p.paint(bold, s.Why))
	}
	if change {
		p.change(s)
	}
	for _, e := range s.Also {
		p.f("     - %s\n", e)
	}
	if s.Slice != nil {
		p.f("\n")
		p.slice(s.Slice)
	}
}

// wide is a line that is too long for a change and its time, letters.
const wide = 100

func (p *printer) change(s *Suspect) {
	switch {
	case s.Missing(): // the sentence says it
	case s.When != "" && len(s.Change)+len(s.When) <= wide:
		p.f("     %s  (%s)\n", s.Change, s.When)
	default:
		for _, l := range []string{s.Change, s.When} {
			if l != "" {
				p.f("     %s\n", l)
			}
		}
	}
}

func (p *printer) summary(r *Report) {
	for _, w := range r.Warnings {
		p.f("%s %s\n", p.paint(yellow, "warning:"), w)
	}
	if p.o.Verbose {
		for _, n := range r.Notes {
			p.f("note: %s\n", n)
		}
		for _, u := range r.Unprobed {
			p.f("unprobed: %s:%d: %s: %s\n", u.File, u.Line, u.Function, u.Text)
		}
	}
	if a := r.Audit; a != nil && a.Unseen > 0 {
		p.f("%s writes that mgtrace did not see changed %s of %s in %s; they accuse nobody\n", p.paint(yellow, "audit:"),
			Plural(int(a.Unseen), "byte", "bytes"), Thousands(a.Bytes), Plural(a.Nodes, "node", "nodes"))
		shown := len(a.Where)
		if !p.o.Verbose {
			shown = min(shown, maxAudited)
		}
		for _, w := range a.Where[:shown] {
			p.f("  %s\n", w)
		}
		if more := len(a.Where) - shown; more > 0 {
			p.f("  %d more with -v\n", more)
		}
		if len(a.Libraries) > 0 {
			p.f("  stores of %s are not recorded: with --module %s they are\n", strings.Join(a.Libraries, ", "), a.Libraries[0])
		}
	}
	if !r.Complete {
		p.f("%s this report is partial: %s\n", p.paint(yellow, "warning:"), strings.Join(r.Why, "; "))
	}
	p.f("mgtrace: %s: %s\n", r.Program, p.verdict(r))
	if r.Exit != nil {
		p.exit(r.Exit)
	}
	if r.unexplained() && r.Followed == nil {
		p.f("mgtrace: reads and writes of freed memory or beyond a block: mgtrace overflow; where the bad value came from: mgtrace record --full, then mgtrace slice ... crash\n")
	}
	if s := r.Stopped; s != nil {
		p.f("mgtrace: look at it with %s, let it go on with %s\n", s.Debug, s.Continue)
	}
}

// maxAudited is of how many fields it is shown that they were changed by what mgtrace did not see.
const maxAudited = 4

// maxThreads is of how many threads it is shown where they were.
const maxThreads = 8

// exit says more of the program's end.
func (p *printer) exit(e *Exit) {
	if s := e.Stopped(); s != "" {
		p.f("mgtrace: %s\n", s)
	}
	for _, t := range e.Threads[:min(len(e.Threads), maxThreads)] {
		p.f("mgtrace: %s\n", t.String(len(e.Threads) > 1))
	}
	if more := len(e.Threads) - maxThreads; more > 0 {
		p.f("mgtrace: and %s; --json names all\n", Plural(more, "thread", "threads"))
	}
}

// String is where a thread was, in words. named: it is one of several.
func (t *Thread) String(named bool) string {
	s := "it was"
	if named {
		s = fmt.Sprintf("thread %d was", t.Thread)
	}
	s += fmt.Sprintf(" in %s at %s", orUnknown(t.Function), position(t.File, t.Line, 0))
	for i, c := range t.Callers {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprintf(" called from %s at %s", c.Function, position(c.File, c.Line, 0))
	}
	return s
}

// unexplained: the program died of itself, and nothing is inconsistent but what may just have been on its way then.
func (r *Report) unexplained() bool {
	if r.Exit == nil || r.Exit.Held != "" || !slices.Contains(ownFault, r.Exit.Died()) {
		return false
	}
	return !slices.ContainsFunc(r.CPoints, func(c CPoint) bool { return c.Fault != Crash && !(c.Kind == "crash" && c.Temporary) })
}

// ownFault are the signals by which a program dies of itself.
var ownFault = []string{"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"}

// Verdict is the outcome in one sentence, with what was done to reach it.
func (r *Report) Verdict() string { return (&printer{}).verdict(r) }

// Headline is the outcome in a few words.
func (r *Report) Headline() string {
	switch {
	case r.Found():
		return r.CPoints[0].Title()
	case r.Status() == statusCrashed:
		return "died of " + r.Exit.Died() + ", no inconsistency found"
	case r.Followed != nil:
		return "no access left its block"
	case r.Checked.CPoints == 0:
		return "nothing was checked"
	}
	return "no inconsistency found"
}

// verdict is the last line: everything in one sentence.
func (p *printer) verdict(r *Report) string {
	var parts []string
	switch {
	case r.Found():
		n := len(r.CPoints)
		found := fmt.Sprintf("inconsistent at %s", Plural(n, "point", "points"))
		if r.Followed != nil {
			found = Plural(n, "memory fault", "memory faults")
		}
		parts = append(parts, p.paint(red, found))
	case r.Followed != nil:
		parts = append(parts, p.paint(green, "no access left its block"))
	case r.Checked.CPoints == 0:
		parts = append(parts, p.paint(yellow, "nothing was checked"))
	case r.Checked.Spec == "":
		parts = append(parts, p.paint(green, "no memory fault found (nothing else is checked without --spec)"))
	default:
		parts = append(parts, p.paint(green, "no inconsistency found"))
	}
	if r.Followed == nil {
		parts = append(parts, fmt.Sprintf("%s checked", Plural(r.Checked.CPoints, "C-point", "C-points")))
	}
	if r.Checked.Partly > 0 {
		parts = append(parts, fmt.Sprintf("%s of them in part (another thread was at work there)", Thousands(uint64(r.Checked.Partly))))
	}
	if f := r.Followed; f != nil {
		parts = append(parts, Plural(int(f.Instructions), "instruction", "instructions")+" followed", Plural(f.Blocks, "heap block", "heap blocks"))
	} else {
		parts = append(parts, Plural(int(r.Events.Changes), "change", "changes"))
	}
	if objs := objectList(r.Checked.Objects); objs != "" {
		parts = append(parts, objs)
	}
	if r.Events.Dropped > 0 {
		parts = append(parts, p.paint(red, Plural(int(r.Events.Dropped), "event", "events")+" lost"))
	}
	if r.Events.UnprobedSites > 0 {
		parts = append(parts, Plural(r.Events.UnprobedSites, "store", "stores")+" could not be probed")
	}
	switch {
	case r.Stopped != nil:
		parts = append(parts, fmt.Sprintf("process %d is stopped there", r.Stopped.PID))
	case r.Exit != nil:
		parts = append(parts, r.Exit.String())
	}
	return strings.Join(parts, ", ")
}

// Stopped says which instruction could not be executed, and what it was given; "" if that is not known.
func (e *Exit) Stopped() string {
	if e.Instruction == "" || !slices.Contains(ownFault, e.Died()) || e.Died() == "SIGABRT" {
		return ""
	}
	var given []string
	for _, r := range e.Registers {
		switch {
		case !r.Read:
		case r.Leads != "":
			given = append(given, fmt.Sprintf("%s leading to %s", r.Name, r.Leads))
		default:
			given = append(given, r.Name+" "+r.Value)
		}
	}
	s := "the program could not execute " + e.Instruction
	if len(given) > 0 {
		s += ", with " + strings.Join(given, ", ")
	}
	if e.StackFull {
		s += ": the stack was full"
	}
	return s
}

// String is the program's end in words.
func (e *Exit) String() string {
	switch {
	case e.Held != "" && e.File != "":
		return fmt.Sprintf("stopped by mgtrace (%s) at %s:%d", e.Held, e.File, e.Line)
	case e.Held != "":
		return "stopped by mgtrace (" + e.Held + ")"
	case e.Handled != "":
		was := Exit{Signal: e.Signal, Status: e.Status}
		return fmt.Sprintf("%s, after it had handled %s at %s:%d", was.String(), e.Handled, e.File, e.Line)
	case e.Signal != "" && e.File != "":
		return fmt.Sprintf("the program died of %s at %s:%d", e.Signal, e.File, e.Line)
	case e.Signal != "" && e.Where != "":
		return fmt.Sprintf("the program died of %s in %s", e.Signal, e.Where)
	case e.Signal != "":
		return "the program died of " + e.Signal
	case e.Status != nil:
		return fmt.Sprintf("the program exited with %d", *e.Status)
	}
	return "the program's end was not seen"
}

func objectList(m map[string]int) string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %s", Thousands(uint64(m[n])), n)
	}
	return strings.Join(names, ", ")
}

// Thousands writes n with commas: 48,112.
func Thousands(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Sentence makes one of words: "It freed the block."
func Sentence(words string) string { return strings.ToUpper(words[:1]) + words[1:] + "." }

// Plural writes n with its noun: "1 byte", "48,112 bytes".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(uint64(n)) + " " + many
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown function"
	}
	return s
}

func expandTabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
