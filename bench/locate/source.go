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
	enums  map[string][]string // by name
	funcs  []function
}

// field is a member of a structure.
type field struct {
	in      string // structure
	name    string
	points  string // the structure that it points to, "" for a number
	enum    string
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
	s := &source{text: text, toks: tokenize(code), enums: map[string][]string{}}
	for i := 0; i < len(s.toks); i++ {
		switch {
		case s.at(i) == "struct" && s.at(i+2) == "{":
			end := closing(s.toks, i+2)
			s.structure(s.at(i+1), i+3, end)
			i = end
		case s.at(i) == "enum" && s.at(i+2) == "{":
			end := closing(s.toks, i+2)
			for k := i + 3; k < end; k++ {
				if s.at(k-1) == "{" || s.at(k-1) == "," {
					s.enums[s.at(i+1)] = append(s.enums[s.at(i+1)], s.at(k))
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

// structure reads the members between braces.
func (s *source) structure(name string, from, to int) {
	for i := from; i < to; {
		end := i
		for end < to && s.at(end) != ";" {
			end++
		}
		base := field{in: name}
		k := i + 1
		if s.at(i) == "struct" {
			base.points = s.at(i + 1)
			k = i + 2
		} else if s.at(i) == "enum" {
			base.enum = s.at(i + 1)
			k = i + 2
		}
		for ; k < end; k++ {
			f := base
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
				f.points = ""
			}
			s.fields = append(s.fields, f)
			for k < end && s.at(k) != "," {
				k++
			}
		}
		i = end + 1
	}
}

// field returns the first member of this name.
func (s *source) field(name string) (field, bool) {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return s.fields[i], true
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
		if s.at(i) != "struct" || s.at(i+2) != "*" {
			continue
		}
		points := s.at(i + 1)
		for k := i + 2; k < to; {
			if s.at(k) == "*" && s.at(k+1) != "*" {
				f.pointers[s.at(k+1)] = points
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
			if s.at(k) != "," || s.at(k+1) != "*" {
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
		case "if", "for", "while":
			close := closing(s.toks, i+1)
			st.kind, st.keyword, st.to = controlStmt, t, close+1
			f.stmts = append(f.stmts, st)
			bare = s.at(close+1) != "{"
			i = close + 1
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
		case "return", "break", "continue", "struct", "int", "enum", "const", "static", ";":
			st.kind = otherStmt
		}
		f.stmts = append(f.stmts, st)
		bare = false
		i = end + 1
	}
}

// end returns the last token of the statement that begins at i.
func (s *source) end(i int) int {
	switch s.at(i) {
	case "{":
		return closing(s.toks, i)
	case "if", "for", "while":
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
	op      int // token of =, +=, -=, ++ or --
	base    int // end of the tokens of what the member is of
	member  int // token of its name
	index   int // token of its [, 0 if there is none
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
		x := store{statement: st, fn: f}
		depth := 0
		for i := st.from; i < st.to && x.op == 0; i++ {
			switch t := s.at(i); t {
			case "(", "[":
				if t == "[" && depth == 0 {
					x.index = i
				}
				depth++
			case ")", "]":
				depth--
			case "=", "+=", "-=", "++", "--":
				if depth == 0 && i > st.from {
					x.op = i
				}
			case "->", ".":
				if depth == 0 {
					x.base, x.member, x.index = i, i+1, 0
				}
			}
		}
		if x.op == 0 || x.member == 0 {
			continue
		}
		var ok bool
		if x.field, ok = s.field(s.at(x.member)); !ok {
			continue
		}
		x.rhsFrom, x.rhsTo = x.op+1, st.to-1
		out = append(out, x)
	}
	return out
}
