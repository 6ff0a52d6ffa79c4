package symbol

import (
	"regexp"
	"slices"
	"strings"
	"sync"

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
// store to the field. Of stores of several branches that it made one, clang says no line.

// assigned is a store's place by what it assigns.
type assigned struct {
	frames []objfile.Frame
	field  string
	line   int // what the line table says
}

// maxBody bounds the search for the statement of a store, lines of a function.
const maxBody = 2000

// Store is an instruction that stores, with the fields that it writes.
type Store struct {
	PC     trace.Addr
	Fields []string
	Wholes []string // the members that these are parts of: a statement may assign such a one as a whole
	Called bool     // the instruction is a call, of what stores: its line is right, whatever its text assigns
}

// Assign notes the statements of stores that the line table has elsewhere. Of several that
// assign the field it is the nearest of those that no other store is at.
func (s *Table) Assign(stores []Store) {
	type place struct {
		file string
		line int
	}
	taken := map[place]bool{}
	var homeless []Store
	for _, x := range stores {
		s.wholes[x.PC] = x.Wholes
		frames := s.Frames(x.PC)
		if own(frames) != 0 {
			continue
		}
		text, ok := s.Sources.Line(frames[0].File, frames[0].Line)
		if frames[0].Line == 0 || ok && frames[0].Within && !x.Called && !s.mayStoreAt(text, x.Fields, x.Wholes, &frames[0]) {
			homeless = append(homeless, x)
		} else {
			taken[place{frames[0].File, frames[0].Line}] = true
		}
	}
	for _, x := range homeless {
		frames := s.Frames(x.PC)
		for i := range frames {
			f := frames[i]
			if f.Line == 0 {
				f.Line = s.nearLine(x.PC, &f)
			}
			busy := func(n int) bool { return taken[place{f.File, n}] }
			if line, field := s.assigning(&f, slices.Concat(x.Fields, x.Wholes), busy); line > 0 {
				moved := slices.Clone(frames[i:])
				moved[0].Line, moved[0].Column = line, 0
				s.assigned[x.PC] = assigned{moved, field, frames[0].Line}
				if frames[0].Line == 0 {
					s.merged[x.PC] = s.others(moved, x.Fields, busy)
				}
				break
			}
		}
	}
	for _, x := range stores {
		if s.merged[x.PC] == nil && !x.Called { // what a call stores, as the operator= of smart pointers does to both, is of its line
			s.merge(x)
		}
	}
}

// nearLine is the line of the instruction before one in the same function that has a line; that
// at which the function is declared if there is none near.
func (s *Table) nearLine(pc trace.Addr, of *objfile.Frame) int {
	for at := pc; at > pc-maxBefore; at-- {
		frames := s.Frames(at)
		if i := slices.IndexFunc(frames, func(f objfile.Frame) bool { return f.File == of.File && f.Declared == of.Declared && f.Line > 0 }); i >= 0 {
			return frames[i].Line
		}
	}
	return of.Declared
}

// maxBefore bounds the search for an instruction with a line, bytes.
const maxBefore = 64

// others are the other lines of a function that assign one of the fields and have no store: the
// compiler has made one store of several, without a line.
func (s *Table) others(frames []objfile.Frame, fields []string, taken func(line int) bool) (out []objfile.Frame) {
	first, body := s.body(&frames[0])
	for k, text := range body {
		f := frames[0]
		if f.Line = first + k; f.Line == frames[0].Line || taken(f.Line) || len(out) == maxMerged {
			continue
		}
		if slices.ContainsFunc(fields, func(field string) bool { return assignment(field, true).MatchString(text) }) {
			out = append(out, f)
		}
	}
	return out
}

// merge notes the statements that the compiler has made one store of:
//
//	45	n->prev = NULL;     movups %xmm0,0x8(%rax)    line 46
//	46	n->next = head;
//
// The line at which the store stands assigns one of its fields, and the others are assigned by
// the nearest lines that do so, in its function or in one that this is inlined into.
func (s *Table) merge(x Store) {
	frames := s.Frames(x.PC)
	if own(frames) != 0 {
		return
	}
	var out []objfile.Frame
	for _, field := range x.Fields {
		if also := s.beside(frames, x.Fields, x.Wholes, field); also != nil && !slices.Contains(out, also[0]) {
			out = append(out, also[0])
		}
	}
	s.merged[x.PC] = out
}

// beside finds the statement of a field that a store writes with others, and stands at the line of one of those: its
// frame, and those around it; nil if there is none.
func (s *Table) beside(frames []objfile.Frame, fields, wholes []string, field string) []objfile.Frame {
	if len(fields) < 2 || len(fields) > maxMerged || len(frames) == 0 {
		return nil
	}
	text, ok := s.Sources.Line(frames[0].File, frames[0].Line)
	text = code(text)
	here := func(field string) bool { return assignment(field, true).MatchString(text) }
	if !ok || here(field) || !slices.ContainsFunc(fields, here) || slices.ContainsFunc(wholes, here) {
		return nil
	}
	return s.nearest(frames, field)
}

// meantBy finds the statement of a field that a store has written at a line whose text can not have done it: the
// nearest that assigns the field, and the frames around it. nil if the line may have, or if there is none.
//
//	7	q->head = q->tail = NULL;    movups %xmm0,(%rax)       line 7
//	8	q->len = 0;                  movl   $0x0,0x10(%rax)
func (s *Table) meantBy(pc trace.Addr, frames []objfile.Frame, fields []string, field string) []objfile.Frame {
	if also := s.beside(frames, fields, s.wholes[pc], field); also != nil || len(frames) == 0 || !slices.Contains(fields, field) {
		return also
	}
	if text, ok := s.Sources.Line(frames[0].File, frames[0].Line); !ok || s.mayStoreAt(text, fields, s.wholes[pc], &frames[0]) {
		return nil
	}
	return s.nearest(frames, field)
}

// mayStoreAt: the text of a line of a function may store to one of the fields, or to what they are parts of.
func (s *Table) mayStoreAt(text string, fields, wholes []string, f *objfile.Frame) bool {
	return mayStore(text, fields, wholes) || s.byReference(text, f) || s.ofThis(text, wholes, f)
}

// ofThis: a line of a member function of C++ assigns to a member as a whole by its name alone, which no variable of the
// function has:
//
//	7	upper = max(a.upper, b.upper);    movlps %xmm0,0x8(%rax)
func (s *Table) ofThis(text string, wholes []string, f *objfile.Frame) bool {
	if !strings.Contains(f.Function, "::") {
		return false
	}
	for _, m := range plainly().FindAllStringSubmatch(code(text), -1) {
		if !slices.Contains(wholes, m[2]) {
			continue
		}
		declares := regexp.MustCompile(`[\w*&>][\s*&]+` + m[2] + `\s*[=;,(){[:]`)
		_, body := s.body(f)
		if !slices.ContainsFunc(body, func(line string) bool { return declares.MatchString(keyword().ReplaceAllString(line, ";")) }) {
			return true
		}
	}
	return false
}

// byReference: a line assigns to a name that its function declares as a reference of C++, which may be to any field:
//
//	7	Node *&slot = key < p->key ? p->left : p->right;
//	8	slot = n;
func (s *Table) byReference(text string, f *objfile.Frame) bool {
	names := plainly().FindAllStringSubmatch(code(text), -1)
	if names == nil {
		return false
	}
	_, body := s.body(f)
	return slices.ContainsFunc(names, func(m []string) bool {
		declared := regexp.MustCompile(`[\w*>]\s*&\s*` + m[2] + `\b`)
		return slices.ContainsFunc(body, declared.MatchString)
	})
}

// nearest is the statement that assigns a field and is nearest to a place, in the innermost of the functions there that
// has one: its frame, and those around it.
func (s *Table) nearest(frames []objfile.Frame, field string) []objfile.Frame {
	for i := range frames {
		if line, _ := s.assigning(&frames[i], []string{field}, func(int) bool { return false }); line > 0 {
			at := slices.Clone(frames[i:])
			at[0].Line, at[0].Column = line, 0
			return at
		}
	}
	return nil
}

// maxMerged bounds the fields of one store that are looked for.
const maxMerged = 8

// Merged returns the statements that the compiler has made one store of with the one at which
// the store stands.
func (s *Table) Merged(pc trace.Addr) []objfile.Frame { return s.merged[pc] }

// Moved tells of a store that stands at a statement by what it assigns: the line that the
// line table gives it, and the field.
func (s *Table) Moved(pc trace.Addr) (line int, field string, ok bool) {
	a, ok := s.assigned[pc]
	return a.line, a.field, ok
}

// assigning is the line nearest to a frame's in its function that assigns one of the
// fields, if possible one that is not taken; 0 if there is none.
func (s *Table) assigning(f *objfile.Frame, fields []string, taken func(line int) bool) (best int, of string) {
	first, body := s.body(f)
	for _, field := range fields {
		assigns := assignment(field, true)
		for k, text := range body {
			n := first + k
			if !assigns.MatchString(text) {
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

// body returns the lines of a frame's function, without literals and comments, from its
// declaration to the brace that closes it; nil if they are not known.
func (s *Table) body(f *objfile.Frame) (first int, lines []string) {
	if f.Declared == 0 || f.Line < f.Declared {
		return 0, nil
	}
	depth, open := 0, false
	var choices []int // depth at each #if that is open: its branches have braces of their own
	for n := f.Declared; n-f.Declared < maxBody; n++ {
		text, ok := s.Sources.Line(f.File, n)
		if !ok {
			return 0, nil
		}
		text = code(text)
		lines = append(lines, text)
		if d := directive().FindStringSubmatch(text); d != nil {
			switch top := len(choices) - 1; {
			case d[1] == "if":
				choices = append(choices, depth)
			case top < 0: // the function is in a branch
			case d[1] == "endif":
				choices = choices[:top]
			default:
				depth = choices[top]
			}
			continue
		}
		for _, c := range text {
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
	literals = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(\\.|[^"\\])*"|'(\\.|[^'\\])*'|/\*.*?\*/|//.*`) })
	// directive begins, changes or ends a choice of the preprocessor.
	directive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*#\s*(if|else|elif|endif)`) })
	operators = `\s*(=([^=]|$)|\+\+|--|([-+*/%|&^]|<<|>>)=)`
	// through is an assignment through a pointer, or to an element: to any field.
	through = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|[;{}(]|\()\s*\*[^=;]*[^=!<>;]=[^=]|\]` + operators)
	})
	// plainly is an assignment to a name by itself.
	plainly = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[;{}():?,]|\belse)\s*([A-Za-z_]\w*)` + operators) })
	// keyword stands before expressions.
	keyword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(else|return|do|throw)\b`) })
	// macro is what looks like the use of one.
	macro = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b[A-Z][A-Z0-9_]*\s*\(`) })
	// bulk is a call of what copies memory, as compilers expand it.
	bulk = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(mem|str|bcopy|bzero|swap|exchange)\w*\s*\(`) })
)

// code is a line without its literals and comments.
func code(text string) string { return literals().ReplaceAllString(text, "") }

// mayStore: a line's text may store to one of the fields, or to what they are parts of.
func mayStore(text string, fields, wholes []string) bool {
	text = code(text)
	return len(fields) == 0 || through().MatchString(text) || macro().MatchString(text) || bulk().MatchString(text) ||
		slices.ContainsFunc(fields, func(f string) bool { return assignment(f, false).MatchString(text) }) ||
		slices.ContainsFunc(wholes, func(f string) bool { return assignment(f, true).MatchString(text) })
}

// What may stand before and behind the name of a field.
const (
	ofMember = `(->|\.)\s*`
	index    = `\s*(\[[^=]*\])?`

	// chosen is the rest of a conditional expression that is assigned to, as C++ can: (left ? x->next : x->prev) = n.
	chosen = `\s*(:[^;=&|?]*)?\)`

	// ahead is an operator before its operand, of which operand is the beginning: "++(*n).", not
	// what stands behind an operand, as in "for (…; i++) if (n->".
	ahead   = `(^|[^\w\]\s]|\b(return|else|do))\s*(\+\+|--)[\s(*]*`
	operand = `(\w+|\s|->|\.|\[[^=\]]*\]|\)\s*(->|\.))*`
)

// assignment matches code that assigns to a field; as to a member only, if so wanted.
func assignment(field string, member bool) *regexp.Regexp {
	before := `(^|\W)`
	if member {
		before = ofMember
	}
	return regexp.MustCompile(textOf(before, field, index) + `|\?[^;=]*` + before + regexp.QuoteMeta(field) + index + chosen + operators)
}

func assigns(before, field, behind string) *regexp.Regexp {
	return regexp.MustCompile(textOf(before, field, behind))
}

// textOf is what assigns matches, of which a larger expression can be made.
func textOf(before, field, behind string) string {
	q := regexp.QuoteMeta(field)
	return before + q + behind + operators + `|` + ahead + operand + `\b` + q + `\b`
}
