package mine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxMaybe is how many facts are shown that are not stated, and functions that are no C-points.
const maxMaybe = 12

// Text writes the specification: what is stated, each with a line of words and how
// often it held, then as comments what may be an accident.
func (r *Result) Text(program string) string {
	var b strings.Builder
	verb := "Written"
	if r.header.given != "" {
		verb = "Added"
	}
	fmt.Fprintf(&b, "# %s by mgtrace spec init from one healthy run of %s.\n", verb, program)
	b.WriteString("# It says what held there, which may be less or more than what must hold:\n# read it line by line, and delete what is not meant.\n")
	for _, t := range r.Types {
		fmt.Fprintf(&b, "#   %s: %d allocated; %s%s\n", t.Name, t.Born, t.Shape, r.over(t))
	}
	if r.Partial {
		b.WriteString("#   INTERRUPTED: this is what was known by then; no C-points were chosen.\n")
	}
	fmt.Fprintf(&b, "#   checked at %s, which met it in %s.\n", plural(r.Moments, "C-point", "C-points"), plural(r.States, "state", "different states"))
	if r.Threads > 1 {
		fmt.Fprintf(&b, "#   %d threads changed it, in one of many orders: run it with this some more times.\n", r.Threads)
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "#   %d more were left out, evenly: there were too many.\n", r.Skipped)
	}
	for _, a := range r.said {
		fmt.Fprintf(&b, "#   %s.\n", a)
	}
	for _, v := range r.astray {
		fmt.Fprintf(&b, "#   %s: compile with -O0, or allocate it on the heap, to have it judged too.\n", v)
	}
	if head := r.needed().text(); head != "" {
		b.WriteString("\n" + head)
	}
	r.writeStated(&b)
	r.writePoints(&b)
	r.writeMaybe(&b)
	return b.String()
}

func (r *Result) over(t Type) string {
	if t.Edges == nil {
		return ""
	}
	return " over " + strings.Join(t.Edges, ", ")
}

// needed is the header without what no statement refers to.
func (r *Result) needed() *header {
	h := r.header
	h.given = "" // it stands in the user's file
	h.globals = slices.DeleteFunc(slices.Clone(h.globals), func(g string) bool {
		return !slices.ContainsFunc(r.stated, func(c *candidate) bool { return mentions(c.Text, g) })
	})
	h.arraysFor(r.stated)
	return &h
}

// arraysFor leaves the arrays that candidates need, and one structure if one of them is
// about that.
func (h *header) arraysFor(cands []*candidate) {
	if !slices.ContainsFunc(cands, func(c *candidate) bool { return c.joined }) {
		h.together = nil
	}
	h.types = slices.DeleteFunc(slices.Clone(h.types), func(t typeDecl) bool {
		needs := func(c *candidate) bool { return slices.Contains(c.arrays, t.name) }
		return t.elem != "" && !slices.Contains(h.together, t.name) && !slices.ContainsFunc(cands, needs)
	})
}

// mentions reports whether a statement refers to an object in static memory.
func mentions(text, global string) bool {
	_, after, ok := strings.Cut(text, "::"+global)
	return ok && (after == "" || !strings.ContainsAny(after[:1], "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") || mentions(after, global))
}

// writeStated writes the constraints, each attribute before the first that needs it.
func (r *Result) writeStated(b *strings.Builder) {
	var known []string
	for _, c := range r.stated {
		fmt.Fprintf(b, "\n# %s.\n#   %s\n", capital(c.Words), c.evidence())
		for _, a := range c.attr {
			if !slices.Contains(known, a.text) {
				known = append(known, a.text)
				b.WriteString(a.text + "\n")
			}
		}
		fmt.Fprintf(b, "%s: %s\n", c.Label, c.Text)
	}
}

// evidence says how often a fact held.
func (f *Fact) evidence() string {
	return fmt.Sprintf("held for %d of %s, at %d of %s", f.Held, plural(f.Held+f.Broken, "instance", "instances"),
		f.CPoints-f.CPointsBroken, plural(f.CPoints, "C-point", "C-points"))
}

func capital(s string) string {
	if s == "" {
		return s
	}
	// A name of the program's at the beginning stays as it is.
	if first, _, _ := strings.Cut(s, " "); !slices.Contains([]string{"there", "every", "a", "the", "no", "all", "each", "one", "where", "two", "at", "an", "edges", "search", "heap", "what", "those"}, first) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// writePoints writes the C-points, and in a comment why other functions are none.
func (r *Result) writePoints(b *strings.Builder) {
	if r.Partial {
		return
	}
	fresh := func(c CPoint) bool { return c.Chosen && !r.base.has(c) }
	switch {
	case slices.ContainsFunc(r.CPoints, fresh):
		b.WriteString("\n# Functions that changed the structure and left it whole.\n")
	case len(r.base.points) == 0:
		b.WriteString("\n# No function was found that changed the structure and left it whole: it is checked\n# at the end of the program alone. Name more: cpoint NAME; or cpoint FILE:LINE;\n")
	}
	for _, c := range r.CPoints {
		if !fresh(c) {
			continue
		}
		where := c.Func
		switch {
		case c.Entry && c.Exit:
		case c.Exit:
			where += ":exit"
		default:
			where += ":entry"
		}
		if strings.Contains(where, "#") { // else a comment begins there: {lambda()#1}
			where = strconv.Quote(where)
		}
		fmt.Fprintf(b, "cpoint %s;  # %s\n", where, plural(c.Calls, "call", "calls"))
	}
	if !r.End && !r.base.noEnd {
		b.WriteString("no cpoint end;  # it is not whole then\n")
	}
	n := 0
	for _, c := range r.CPoints {
		if c.Chosen || c.Library || len(c.Broken) == 0 { // nobody makes a C-point of what a library has in its headers
			continue
		}
		if n++; n <= maxMaybe {
			fmt.Fprintf(b, "# not %s: broken there: %s\n", c.Func, strings.Join(c.Broken[:min(4, len(c.Broken))], ", "))
		}
	}
	if n > maxMaybe {
		fmt.Fprintf(b, "# … and %d more: --json lists them.\n", n-maxMaybe)
	}
}

// writeMaybe writes what is not stated, with the reason.
func (r *Result) writeMaybe(b *strings.Builder) {
	if len(r.maybe) == 0 {
		return
	}
	b.WriteString("\n# Perhaps: take away the # of what you mean.\n")
	var known []string
	for _, c := range r.stated {
		for _, a := range c.attr {
			known = append(known, a.text)
		}
	}
	needed := r.needed()
	for _, g := range r.header.globals {
		if !slices.Contains(needed.globals, g) && slices.ContainsFunc(r.maybe, func(c *candidate) bool { return mentions(c.Text, g) }) {
			fmt.Fprintf(b, "# global %s;\n", g)
		}
	}
	all := r.header
	all.arraysFor(append(slices.Clone(r.stated), r.maybe[:min(len(r.maybe), maxMaybe)]...))
	said := needed.arrayText()
	for _, line := range strings.Split(all.arrayText(), "\n") {
		if line != "" && !strings.Contains(said, line) {
			fmt.Fprintf(b, "# %s\n", line)
		}
	}
	for i, c := range r.maybe {
		if i == maxMaybe {
			fmt.Fprintf(b, "# … and %d more: --json lists them.\n", len(r.maybe)-i)
			break
		}
		for _, a := range c.attr {
			if !slices.Contains(known, a.text) {
				known = append(known, a.text)
				fmt.Fprintf(b, "# %s\n", a.text)
			}
		}
		fmt.Fprintf(b, "# %s: %s  # %s\n", c.Label, c.Text, c.Why)
	}
}
