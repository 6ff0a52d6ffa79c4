package main

import (
	"slices"
	"strings"
)

// source is a C program as far as a mutation must understand it.
type source struct {
	text   string
	toks   []token
	fields []field
	types  map[string]typeName // by typedef
	enums  map[string][]string // by name
	funcs  []function
}

// typeName is what a typedef stands for, as far as it concerns structures.
type typeName struct {
	structure string // its tag, or the typedef's own name if it has none; "": no structure
	enum      string
	pointer   bool // to the structure
}

// field is a member of a structure.
type field struct {
	in      string // structure
	name    string
	points  string // the structure that it points to, "" for a number
	enum    string
	part    string // the structure that it is itself, "" for another
	array   string // its dimension as written, "" if it is none
	pointer bool
}

// alike: a value of the one may be stored into the other.
func (f field) alike(g field) bool {
	return f.pointer == g.pointer && f.points == g.points && f.enum == g.enum && (f.array == "") == (g.array == "")
}

// function is one that may be broken.
type function struct {
	name     string
	from, to int               // tokens of its body, half-open, without the braces
	pointers map[string]string // local variables and parameters: name → structure
	stmts    []statement       // in the order of the source
}

type statementKind int

const (
	exprStmt    statementKind = iota
	controlStmt               // if, for, while: from the keyword to the end of its head
	otherStmt                 // return, break, a declaration
)

// statement is one, or the head of one.
type statement struct {
	kind     statementKind
	from, to int // tokens, half-open; an expression's semicolon is in it
	line     int
	depth    int // of braces
	block    int // the token of the brace that it is directly in, -1: it depends on a head without braces
	// controlStmt:
	keyword string
}

// judgePart begins what is the judge's own and not to be broken.
const judgePart = "/* The judge's own view"

// parse finds structures, functions and statements.
func parse(text string) *source {
	code := text
	if i := strings.Index(text, judgePart); i >= 0 {
		code = text[:i]
	}
	s := &source{text: text, toks: tokenize(code), types: map[string]typeName{}, enums: map[string][]string{}}
	s.typedefs()
	for i := 0; i < len(s.toks); i++ {
		switch {
		case s.at(i) == "struct" && s.opens(i) > 0:
			open := s.opens(i)
			end := closing(s.toks, open)
			s.structure(s.tag(i), open+1, end)
			i = end
		case s.at(i) == "enum" && s.opens(i) > 0:
			open := s.opens(i)
			end := closing(s.toks, open)
			for k := open + 1; k < end; k++ {
				if s.at(k-1) == "{" || s.at(k-1) == "," {
					s.enums[s.tag(i)] = append(s.enums[s.tag(i)], s.at(k))
				}
			}
			i = end
		case s.at(i) == "(" && i > 0:
			end := closing(s.toks, i)
			if s.at(end+1) == "{" {
				last := closing(s.toks, end+1)
				f := function{name: s.at(i - 1), from: end + 2, to: last, pointers: map[string]string{}}
				s.locals(&f, i, last)
				s.statements(&f)
				s.funcs = append(s.funcs, f)
				i = last
			} else {
				i = end
			}
		case s.at(i) == "{":
			i = closing(s.toks, i)
		}
	}
	return s
}

func (s *source) at(i int) string {
	if i < 0 || i >= len(s.toks) {
		return ""
	}
	return s.toks[i].text
}

// code is the text of tokens [from, to).
func (s *source) code(from, to int) string {
	if from >= to {
		return ""
	}
	return s.text[s.toks[from].from:s.toks[to-1].to]
}

// opens returns the token of the brace behind a struct, union or enum; 0: there is none.
func (s *source) opens(i int) int {
	for k := i + 1; k <= i+2; k++ {
		if s.at(k) == "{" {
			return k
		}
	}
	return 0
}

// tag is the name of the structure or enumeration at a token that has a body; of one without
// a tag it is that of its typedef.
func (s *source) tag(i int) string {
	if open := s.opens(i); open == i+1 {
		return s.at(closing(s.toks, open) + 1)
	}
	return s.at(i + 1)
}

// typedefs notes what names stand for, wherever they are declared.
func (s *source) typedefs() {
	for i := range s.toks {
		if s.at(i) != "typedef" {
			continue
		}
		kind, k := s.at(i+1), i+3
		tag := s.at(i + 2)
		switch {
		case kind == "struct" || kind == "enum":
			if open := s.opens(i + 1); open > 0 {
				tag, k = s.tag(i+1), closing(s.toks, open)+1
			}
		case s.types[kind] != typeName{}: // of a typedef
			tag, k = s.types[kind].structure, i+2
			kind = "struct"
		default:
			continue
		}
		t := typeName{structure: tag}
		if kind == "enum" {
			t = typeName{enum: tag}
		}
		for ; k < len(s.toks) && s.at(k) != ";" && s.at(k) != "("; k++ {
			switch s.at(k) {
			case "*":
				t.pointer = true
			case ",":
				t.pointer = false
			default:
				s.types[s.at(k)] = t
			}
		}
	}
}

// typeAt reads a type at a token, and returns the token behind it.
func (s *source) typeAt(i int) (t typeName, next int) {
	for s.at(i) == "const" || s.at(i) == "volatile" || s.at(i) == "static" {
		i++
	}
	switch s.at(i) {
	case "struct":
		t, next = typeName{structure: s.at(i + 1)}, i+2
	case "enum":
		t, next = typeName{enum: s.at(i + 1)}, i+2
	case "unsigned", "signed", "long", "short":
		for next = i + 1; slices.Contains(numbers, s.at(next)); next++ {
		}
	default:
		t, next = s.types[s.at(i)], i+1
	}
	for s.at(next) == "const" {
		next++
	}
	return t, next
}

// numbers are words of types that are no structures.
var numbers = []string{"unsigned", "signed", "long", "short", "int", "char", "float", "double", "void", "bool", "size_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int8_t", "int16_t", "int32_t", "int64_t"}

// structure reads the members between braces.
func (s *source) structure(name string, from, to int) {
	for i := from; i < to; {
		if (s.at(i) == "struct" || s.at(i) == "union") && s.opens(i) > 0 { // without a name: its members are those of the whole
			open := s.opens(i)
			end := closing(s.toks, open)
			if s.at(end+1) == ";" {
				s.structure(name, open+1, end)
			}
			for i = end; i < to && s.at(i) != ";"; i++ {
			}
			i++
			continue
		}
		end := i
		for end < to && s.at(end) != ";" {
			end++
		}
		t, k := s.typeAt(i)
		base := field{in: name, points: t.structure, enum: t.enum}
		for ; k < end; k++ {
			f := base
			f.pointer = t.pointer
			for s.at(k) == "*" {
				f.pointer = true
				k++
			}
			f.name = s.at(k)
			if s.at(k+1) == "[" {
				close := closing(s.toks, k+1)
				f.array = s.code(k+2, close)
				k = close
			}
			if !f.pointer {
				f.points, f.part = "", base.points
			}
			if isWord(f.name[0]) { // no pointer to a function
				s.fields = append(s.fields, f)
			}
			for k < end && s.at(k) != "," {
				k++
			}
		}
		i = end + 1
	}
}

// field returns the member of this name: of the structure in, if that is known, else the first.
func (s *source) field(in, name string) (field, bool) {
	var first *field
	for i := range s.fields {
		switch f := &s.fields[i]; {
		case f.name != name:
		case f.in == in:
			return *f, true
		case first == nil:
			first = f
		}
	}
	if first == nil {
		return field{}, false
	}
	return *first, true
}

// of tells which structure the expression of tokens [from, to) is of, or points to: that of a
// variable, or of members behind it. "" where that is not known.
func (s *source) of(f *function, from, to int) string {
	for s.at(from) == "(" && closing(s.toks, from) == to-1 {
		from, to = from+1, to-1
	}
	in := f.pointers[s.at(from)]
	for i := from + 1; i < to && in != ""; {
		switch s.at(i) {
		case "[":
			i = closing(s.toks, i) + 1
		case "->", ".":
			m, ok := s.field(in, s.at(i+1))
			if !ok || m.in != in {
				return ""
			}
			if in = m.points; in == "" {
				in = m.part
			}
			i += 2
		default:
			return ""
		}
	}
	return in
}

// siblings are the other members of the same structure that hold the like.
func (s *source) siblings(f field) []field {
	var out []field
	for _, g := range s.fields {
		if g.in == f.in && g.name != f.name && g.alike(f) {
			out = append(out, g)
		}
	}
	return out
}

// locals notes the variables and parameters that point to structures.
func (s *source) locals(f *function, from, to int) {
	for i := from; i < to; i++ {
		if s.at(i-1) == "struct" || s.at(i) == "const" || s.at(i) == "static" {
			continue
		}
		typ, next := s.typeAt(i)
		if typ.structure == "" || s.at(next) != "*" && !typ.pointer {
			continue
		}
		for k := next; k < to; {
			switch {
			case typ.pointer && k < to && s.at(k) != "*" && isWord(s.at(k)[0]):
				f.pointers[s.at(k)] = typ.structure
				k++
			case s.at(k) == "*" && s.at(k+1) != "*" && isWord(s.at(k + 1)[0]):
				f.pointers[s.at(k+1)] = typ.structure
				k += 2
			}
			for depth := 0; k < to; k++ { // over the initial value
				switch t := s.at(k); {
				case t == "(" || t == "[":
					depth++
				case depth > 0 && (t == ")" || t == "]"):
					depth--
					continue
				}
				if depth == 0 && strings.Contains(",;)", s.at(k)) {
					break
				}
			}
			if s.at(k) != "," || s.at(k+1) != "*" && (!typ.pointer || s.at(k+2) != "," && s.at(k+2) != ";" && s.at(k+2) != "=") {
				break
			}
			k++
		}
	}
}

// statements finds the statements of a function.
func (s *source) statements(f *function) {
	var blocks []int
	blocks = append(blocks, f.from-1)
	bare := false // the next statement depends on a head without braces
	for i := f.from; i < f.to; {
		st := statement{from: i, line: s.toks[i].line, depth: len(blocks), block: blocks[len(blocks)-1]}
		if bare {
			st.block = -1
		}
		switch t := s.at(i); t {
		case "{":
			blocks = append(blocks, i)
			bare = false
			i++
			continue
		case "}":
			blocks = blocks[:len(blocks)-1]
			bare = false
			i++
			continue
		case "else", "do":
			bare = s.at(i+1) != "{"
			i++
			continue
		case "case", "default":
			i = s.behindLabel(i)
			continue
		case "if", "for", "while", "switch":
			close := closing(s.toks, i+1)
			st.kind, st.keyword, st.to = controlStmt, t, close+1
			f.stmts = append(f.stmts, st)
			bare = s.at(close+1) != "{"
			i = close + 1
			continue
		}
		if s.labelled(i) {
			i = s.behindLabel(i)
			continue
		}
		end := i
		for depth := 0; end < f.to; end++ {
			switch s.at(end) {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
			if depth == 0 && s.at(end) == ";" {
				break
			}
		}
		st.to = end + 1
		switch s.at(i) {
		case "return", "break", "continue", "goto", "struct", "int", "enum", "const", "static", ";":
			st.kind = otherStmt
		default:
			if s.declares(i) {
				st.kind = otherStmt
			}
		}
		f.stmts = append(f.stmts, st)
		bare = false
		i = end + 1
	}
}

// labelled: the token is a label.
func (s *source) labelled(i int) bool {
	return isWord(s.at(i)[0]) && s.at(i+1) == ":"
}

// behindLabel is the token behind a label.
func (s *source) behindLabel(i int) int {
	for i < len(s.toks) && s.at(i) != ":" {
		i++
	}
	return i + 1
}

// declares: the statement at a token begins with the name of a type.
func (s *source) declares(i int) bool {
	name := s.at(i)
	return slices.Contains(numbers, name) || s.types[name] != typeName{} && (s.at(i+1) == "*" || isWord(s.at(i + 1)[0]))
}

// end returns the last token of the statement that begins at i.
func (s *source) end(i int) int {
	switch s.at(i) {
	case "{":
		return closing(s.toks, i)
	case "if", "for", "while", "switch":
		e := s.end(closing(s.toks, i+1) + 1)
		if s.at(i) == "if" && s.at(e+1) == "else" {
			return s.end(e + 2)
		}
		return e
	}
	for depth := 0; i < len(s.toks); i++ {
		switch s.at(i) {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case ";":
			if depth == 0 {
				return i
			}
		}
	}
	return len(s.toks) - 1
}

// store is an assignment to a member of something in memory.
type store struct {
	statement
	fn      *function
	left    int    // the first token of what is stored to
	sign    string // =, +=, -=, ++ or --
	op      int    // the token behind what is stored to: of the sign, if it is not in front
	base    int    // end of the tokens of what the member is of
	member  int    // token of its name
	index   int    // token of its [, 0 if there is none
	field   field
	rhsFrom int
	rhsTo   int
}

// stores finds the assignments in a function.
func (s *source) stores(f *function) []store {
	var out []store
	for _, st := range f.stmts {
		if st.kind != exprStmt {
			continue
		}
		x := store{statement: st, fn: f, left: st.from}
		prefix := s.at(st.from) == "++" || s.at(st.from) == "--"
		if prefix {
			x.left, x.sign = st.from+1, s.at(st.from)
		}
		depth := 0
		for i := x.left; i < st.to && x.op == 0; i++ {
			switch t := s.at(i); t {
			case "(", "[":
				if t == "[" && depth == 0 {
					x.index = i
				}
				depth++
			case ")", "]":
				depth--
			case "=", "+=", "-=", "++", "--":
				if depth == 0 && i > x.left {
					x.op, x.sign = i, t
				}
			case "->", ".":
				if depth == 0 {
					x.base, x.member, x.index = i, i+1, 0
				}
			}
		}
		if prefix && x.op == 0 && s.at(x.left) != "*" {
			x.op = st.to - 1
		}
		if x.op == 0 || x.member == 0 {
			continue
		}
		var ok bool
		if x.field, ok = s.field(s.of(f, x.left, x.base), s.at(x.member)); !ok {
			continue
		}
		x.rhsFrom, x.rhsTo = min(x.op+1, st.to-1), st.to-1
		out = append(out, x)
	}
	return out
}
