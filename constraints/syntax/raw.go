package syntax

import (
	"strconv"
	"strings"
)

// Functions of C++ and C types are taken as text: std::map<int, int>::insert,
// operator<, entry *. This file reads and takes apart such text.

// raw reads text up to a comma, a semicolon, or one of the words (always
// "if"), outside brackets. A quoted text stands for itself.
func (p *parser) raw(what string, words ...string) string {
	t := p.tok()
	if t.kind == tokString {
		p.next()
		if next := p.tok().text; next == "(" || next == ":" { // "Node::operator new"(size=1), "List::push":exit
			return t.text + p.raw(what, words...)
		}
		return t.text
	}
	lo := t.lo
	end := lo + rawLen(p.src.text[lo:], append(words, "if"))
	for p.tok().kind != tokEOF && p.tok().lo < end {
		p.next()
	}
	text := strings.Join(strings.Fields(p.src.text[lo:end]), " ")
	if text == "" {
		p.unexpected(what)
	}
	return text
}

// rawLen is the length of the text at the start of s that raw takes.
func rawLen(s string, words []string) int {
	var open []byte
	i := 0
	for i < len(s) {
		if n := identLen(s[i:]); n > 0 {
			w := s[i : i+n]
			if len(open) == 0 && i > 0 && isSpace(s[i-1]) && contains(words, w) {
				return i
			}
			if i += n; w == "operator" {
				i += operatorLen(s[i:])
			}
			continue
		}
		c := s[i]
		switch {
		case c == ';' || c == '#' || c == '\n' && len(open) == 0:
			return i
		case strings.HasPrefix(s[i:], "//") || strings.HasPrefix(s[i:], "/*"):
			return i
		case c == ',' && len(open) == 0:
			return i
		case strings.IndexByte("(<[{", c) >= 0:
			open = append(open, closer(c))
		case len(open) > 0 && c == open[len(open)-1]:
			open = open[:len(open)-1]
		}
		i++
	}
	return i
}

// operatorLen is the length of the punctuation of operator<, operator(), ….
func operatorLen(s string) int {
	if strings.HasPrefix(s, "()") || strings.HasPrefix(s, "[]") {
		return 2
	}
	n := 0
	for n < len(s) && strings.IndexByte("<>=!+-*/%&|^~", s[n]) >= 0 {
		n++
	}
	return n
}

func closer(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '<':
		return '>'
	case '[':
		return ']'
	}
	return '}'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// splitSuffix splits "f:exit" at its last single colon.
func splitSuffix(s string) (head, tail string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", false
	}
	head, tail = strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
	if head == "" || head[len(head)-1] == ':' || identLen(tail)+digitLen(tail) != len(tail) {
		return s, "", false
	}
	return head, tail, true
}

func digitLen(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// splitLine splits "quad.c:24".
func splitLine(s string) (file string, line int, ok bool) {
	head, tail, ok := splitSuffix(s)
	n, err := strconv.Atoi(tail)
	if !ok || err != nil {
		return "", 0, false
	}
	return head, n, true
}

// splitFile splits "file.c:head"; file is "" if there is none.
func splitFile(s string) (file, name string) {
	if head, tail, ok := splitSuffix(s); ok {
		return head, tail
	}
	return "", s
}

// splitCall splits "f(args)" at its last parentheses.
func splitCall(s string) (fn, args string) {
	i := strings.LastIndexByte(s, '(')
	if i < 0 || !strings.HasSuffix(s, ")") {
		return s, ""
	}
	return strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1 : len(s)-1])
}

func splitList(s string) []string {
	var list []string
	for _, x := range strings.Split(s, ",") {
		if x = strings.TrimSpace(x); x != "" {
			list = append(list, x)
		}
	}
	return list
}

func splitEqual(s string) (key, val string) {
	key, val, _ = strings.Cut(s, "=")
	return strings.TrimSpace(key), strings.TrimSpace(val)
}
