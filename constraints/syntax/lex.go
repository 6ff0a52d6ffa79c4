package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is a file's text.
type source struct {
	name string
	text string
}

// lex splits the whole text. What is no token becomes tokIllegal: only the
// parser knows whether it stands where tokens matter (the names of C++
// functions and C declarations are taken as text).
func lex(s *source) []token {
	l := &lexer{source: s, line: 1, col: 1}
	var toks []token
	for {
		l.space(&toks)
		t := l.next()
		toks = append(toks, t)
		if t.kind == tokEOF {
			return toks
		}
	}
}

type lexer struct {
	*source
	off int

	at        int // where line and col are those of
	line, col int
}

// pos returns the position of a byte offset, which never decreases.
func (l *lexer) pos(off int) Pos {
	for l.at < off {
		_, n := utf8.DecodeRuneInString(l.text[l.at:])
		if l.text[l.at] == '\n' {
			l.line, l.col = l.line+1, 0
		}
		l.at += n
		l.col++
	}
	return Pos{File: l.name, Line: l.line, Col: l.col}
}

func (l *lexer) make(kind tokenKind, lo int, text string) token {
	return token{kind: kind, text: text, pos: l.pos(lo), lo: lo, hi: l.off}
}

// space skips white space and comments; a comment without end is an illegal token.
func (l *lexer) space(toks *[]token) {
	for l.off < len(l.text) {
		rest := l.text[l.off:]
		switch {
		case rest[0] == '#' || strings.HasPrefix(rest, "//"):
			l.off += lineLen(rest)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				lo := l.off
				l.off = len(l.text)
				*toks = append(*toks, l.make(tokIllegal, lo, "this comment has no end: `*/` is missing"))
				return
			}
			l.off += end + 4
		default:
			r, n := utf8.DecodeRuneInString(rest)
			if !unicode.IsSpace(r) && r != '\ufeff' {
				return
			}
			l.off += n
		}
	}
}

func lineLen(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

func (l *lexer) next() token {
	lo := l.off
	if lo >= len(l.text) {
		return l.make(tokEOF, lo, "")
	}
	c := l.text[lo]
	switch {
	case c >= '0' && c <= '9':
		l.number()
		return l.make(tokNumber, lo, l.text[lo:l.off])
	case c == '"' || c == '\'':
		return l.quoted(c)
	}
	if n := identLen(l.text[lo:]); n > 0 {
		l.off += n
		return l.make(tokIdent, lo, l.text[lo:l.off])
	}
	for _, p := range puncts {
		if strings.HasPrefix(l.text[lo:], p.src) {
			l.off += len(p.src)
			return l.make(tokPunct, lo, p.text)
		}
	}
	r, n := utf8.DecodeRuneInString(l.text[lo:])
	l.off += n
	if r == utf8.RuneError {
		return l.make(tokIllegal, lo, "this is not UTF-8 text")
	}
	return l.make(tokIllegal, lo, fmt.Sprintf("`%c` has no meaning here", r))
}

func identLen(s string) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r == utf8.RuneError || !(r == '_' || unicode.IsLetter(r) || n > 0 && unicode.IsDigit(r)) {
			break
		}
		n += size
	}
	return n
}

// number takes digits, letters (0x1f, 1e9) and a decimal point that is not
// part of "..". What the text is worth is decided by the parser.
func (l *lexer) number() {
	hex := strings.HasPrefix(l.text[l.off:], "0x") || strings.HasPrefix(l.text[l.off:], "0X")
	for l.off < len(l.text) {
		c := l.text[l.off]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
			l.off++
		case c == '.' && l.off+1 < len(l.text) && l.text[l.off+1] >= '0' && l.text[l.off+1] <= '9':
			l.off++
		case (c == '+' || c == '-') && !hex && (l.text[l.off-1] == 'e' || l.text[l.off-1] == 'E'):
			l.off++
		default:
			return
		}
	}
}

// quoted takes "text" or 'c', without escapes but \\ and the quote itself.
func (l *lexer) quoted(q byte) token {
	lo := l.off
	var text strings.Builder
	for l.off++; l.off < len(l.text) && l.text[l.off] != '\n'; l.off++ {
		c := l.text[l.off]
		if c == q {
			l.off++
			if q == '"' {
				return l.make(tokString, lo, text.String())
			}
			return l.char(lo, text.String())
		}
		if c == '\\' && l.off+1 < len(l.text) && (l.text[l.off+1] == q || l.text[l.off+1] == '\\') {
			l.off++
			c = l.text[l.off]
		}
		text.WriteByte(c)
	}
	return l.make(tokIllegal, lo, fmt.Sprintf("the closing `%c` is missing on this line", q))
}

func (l *lexer) char(lo int, s string) token {
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) || n == 0 {
		return l.make(tokIllegal, lo, "a character in single quotes is expected, such as 'a'; text stands in double quotes")
	}
	return l.make(tokNumber, lo, fmt.Sprint(int(r)))
}
