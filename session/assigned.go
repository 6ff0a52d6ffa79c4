package session

import (
	"regexp"
	"slices"
	"strings"

	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/trace"
)

// A compiler that merges stores, or moves them to where paths meet, leaves some without a
// line of their own. The line table then has them at the line of the instruction before,
// or of another store of the group:
//
//	100	job->mate = machine;          13fa  mov %rdx,0x10(%rdi)    line 102
//	102	graph.matched++;
//
// What is stored tells better: the field has a name, and the text of the function a
// statement that assigns it. The line table is believed where a statement begins at the
// instruction, as without optimisation it always does, and where the text of its line may
// store to the field.

// assigned is a store's place by what it assigns.
type assigned struct {
	frames []objfile.Frame
	field  string
	line   int // what the line table says
}

// Limits of the search for the statements of stores.
const (
	maxAssigned = 1 << 20 // newest operations whose instructions are looked at
	maxBody     = 2000    // lines of a function
)

// storing is an instruction that stores, with the fields that it writes.
type storing struct {
	pc     trace.Addr
	fields []string
}

// assignStores finds the statements of the stores of the history that the line table has
// at a line that does not do them.
func (a *Analysis) assignStores() {
	cells := locatorCells{a.graph}
	seen := map[trace.Addr]bool{}
	var stores []storing
	now := a.hist.Now()
	for t := now; t > 0 && now-t < maxAssigned; t-- {
		kind, pc := a.hist.Statement(t)
		if kind != mgpp.OpStore || pc == 0 || seen[pc] {
			continue
		}
		op, v := a.hist.Op(t), a.hist.At(t)
		if op.Base != 0 && !a.within(op.Base, op.Addr, v) {
			continue // out of bounds, it hits a field that is not meant
		}
		seen[op.PC] = true
		x := storing{pc: op.PC}
		for at := op.Addr; at < op.Addr+trace.Addr(op.Size); {
			c, ok := cells.Cell(at, v)
			if !ok {
				break
			}
			if name := lastName(c.Path); name != "" && !slices.Contains(x.fields, name) {
				x.fields = append(x.fields, name)
			}
			at = c.Addr + trace.Addr(c.Size)
		}
		stores = append(stores, x)
	}
	a.symbols.assign(stores)
}

// within: an address is in the object that another one is in.
func (a *Analysis) within(base, addr trace.Addr, v mgpp.View) bool {
	cells := locatorCells{a.graph}
	o := cells.At(addr, v)
	return o != 0 && cells.At(base, v) == o
}

// lastName is the name of the innermost field of a path: "next" of "link[1].next".
func lastName(path string) string {
	path = path[strings.LastIndexByte(path, '.')+1:]
	name, _, _ := strings.Cut(path, "[")
	return name
}

// assign notes the statements of stores that the line table has elsewhere. Of several that
// assign the field it is the nearest of those that no other store is at.
func (s *Symbols) assign(stores []storing) {
	type place struct {
		file string
		line int
	}
	taken := map[place]bool{}
	var homeless []storing
	for _, x := range stores {
		frames := s.Frames(x.pc)
		if own(frames) != 0 {
			continue
		}
		text, ok := s.sources.Line(frames[0].File, frames[0].Line)
		if ok && frames[0].Within && !mayStore(text, x.fields) {
			homeless = append(homeless, x)
		} else {
			taken[place{frames[0].File, frames[0].Line}] = true
		}
	}
	for _, x := range homeless {
		frames := s.Frames(x.pc)
		for i := range frames {
			f := &frames[i]
			if line, field := s.assigning(f, x.fields, func(n int) bool { return taken[place{f.File, n}] }); line > 0 {
				moved := slices.Clone(frames[i:])
				moved[0].Line, moved[0].Column = line, 0
				s.assigned[x.pc] = assigned{moved, field, frames[0].Line}
				break
			}
		}
	}
}

// assigning is the line nearest to a frame's in its function that assigns one of the
// fields, if possible one that is not taken; 0 if there is none.
func (s *Symbols) assigning(f *objfile.Frame, fields []string, taken func(line int) bool) (best int, of string) {
	first, body := s.body(f)
	for _, field := range fields {
		for k, text := range body {
			n := first + k
			if !assigns(text, field, true) {
				continue
			}
			if best == 0 || taken(best) && !taken(n) || taken(best) == taken(n) && abs(n-f.Line) < abs(best-f.Line) {
				best, of = n, field
			}
		}
	}
	return best, of
}

func abs(n int) int { return max(n, -n) }

// body returns the lines of a frame's function, from its declaration to the brace that
// closes it; nil if they are not known.
func (s *Symbols) body(f *objfile.Frame) (first int, lines []string) {
	if f.Declared == 0 || f.Line < f.Declared {
		return 0, nil
	}
	depth, open := 0, false
	for n := f.Declared; n-f.Declared < maxBody; n++ {
		text, ok := s.sources.Line(f.File, n)
		if !ok {
			return 0, nil
		}
		lines = append(lines, text)
		for _, c := range code(text) {
			switch {
			case c == '{':
				depth, open = depth+1, true
			case c == '}':
				depth--
			case c == ';' && !open: // a declaration only
				return 0, nil
			}
		}
		if open && depth <= 0 {
			return f.Declared, lines
		}
	}
	return 0, nil
}

var (
	literals  = regexp.MustCompile(`"(\\.|[^"\\])*"|'(\\.|[^'\\])*'|/\*.*?\*/|//.*`)
	operators = `\s*(=([^=]|$)|\+\+|--|([-+*/%|&^]|<<|>>)=)`
	// through is an assignment through a pointer, or to an element: to any field.
	through = regexp.MustCompile(`(^|[;{}(]|\()\s*\*[^=;]*[^=!<>;]=[^=]|\]` + operators)
	// macro is what looks like the use of one.
	macro = regexp.MustCompile(`\b[A-Z][A-Z0-9_]*\s*\(`)
	// bulk is a call of what copies memory, as compilers expand it.
	bulk = regexp.MustCompile(`\b(mem|str|bcopy|bzero|swap|exchange)\w*\s*\(`)
)

// code is a line without its literals and comments.
func code(text string) string { return literals.ReplaceAllString(text, "") }

// mayStore: a line's text may store to one of the fields.
func mayStore(text string, fields []string) bool {
	text = code(text)
	return len(fields) == 0 || through.MatchString(text) || macro.MatchString(text) || bulk.MatchString(text) ||
		slices.ContainsFunc(fields, func(f string) bool { return assigns(text, f, false) })
}

// assigns: a line's text has an assignment to a field; of a member only, if so wanted.
func assigns(text, field string, member bool) bool {
	before := `(^|\W)`
	if member {
		before = `(->|\.)\s*`
	}
	q := regexp.QuoteMeta(field)
	return regexp.MustCompile(before + q + `\s*(\[[^=]*\])?` + operators + `|(\+\+|--)[\w\s.>()*-]*\b` + q + `\b`).MatchString(code(text))
}
