package types

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mgtrace/cxxname"
)

// Error is one message about C text.
type Error struct {
	Offset    int // bytes into the text
	Line, Col int // from 1; columns in characters
	Msg       string
}

func (e Error) Error() string { return strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Col) + ": " + e.Msg }

// tokKind classifies a token of C.
type tokKind uint8

const (
	tokEOF tokKind = iota
	tokIdent
	tokNumber
	tokString
	tokPunct
	tokBad
)

type token struct {
	kind  tokKind
	text  string // as written
	pos   int    // bytes into the text
	value int64  // tokNumber
	msg   string // tokBad: what is wrong
}

// describe names the token as an error message does.
func (t token) describe() string {
	if t.kind == tokEOF {
		return "the end"
	}
	return "`" + t.text + "`"
}

// punctuators of more than one character, longest first.
var punctuators = [...]string{"<<=", ">>=", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "::", "->"}

// lex splits C text into tokens. Comments are those of C and, from # to the
// end of a line, of the constraint language.
func lex(src string) []token {
	var out []token
	for i := 0; ; {
		i = skipSpace(src, i)
		t := lexOne(src, i)
		out = append(out, t)
		if t.kind == tokEOF {
			return out
		}
		i += len(t.text)
	}
}

func skipSpace(src string, i int) int {
	for i < len(src) {
		switch c := src[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			i++
		case c == '#' || strings.HasPrefix(src[i:], "//"):
			end := strings.IndexByte(src[i:], '\n')
			if end < 0 {
				return len(src)
			}
			i += end
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				return len(src)
			}
			i += end + 4
		default:
			return i
		}
	}
	return i
}

func lexOne(src string, i int) token {
	if i >= len(src) {
		return token{kind: tokEOF, pos: len(src)}
	}
	rest := src[i:]
	switch c := rest[0]; {
	case cxxname.IsWord(c) && (c < '0' || c > '9') && c < utf8.RuneSelf:
		return token{kind: tokIdent, text: rest[:wordEnd(rest)], pos: i}
	case c >= '0' && c <= '9':
		return lexNumber(rest[:wordEnd(rest)], i)
	case c == '\'':
		return lexChar(rest, i)
	case c == '"':
		if end := strings.IndexAny(rest[1:], "\"\n"); end >= 0 && rest[1+end] == '"' {
			return token{kind: tokString, text: rest[:end+2], pos: i}
		}
		return token{kind: tokBad, text: rest[:1], pos: i, msg: "a string without end"}
	}
	for _, p := range punctuators {
		if strings.HasPrefix(rest, p) {
			return token{kind: tokPunct, text: p, pos: i}
		}
	}
	if strings.IndexByte("{}()[];,:*=+-/%<>&|^~!?.", rest[0]) >= 0 {
		return token{kind: tokPunct, text: rest[:1], pos: i}
	}
	_, n := utf8.DecodeRuneInString(rest)
	return token{kind: tokBad, text: rest[:n], pos: i, msg: "`" + rest[:n] + "` is not C"}
}

func wordEnd(s string) int {
	n := 0
	for n < len(s) && cxxname.IsWord(s[n]) {
		n++
	}
	return n
}

// lexNumber reads an integer constant: decimal, 0x, 0b or octal, with suffixes.
func lexNumber(text string, pos int) token {
	digits := strings.TrimRight(text, "uUlL")
	v, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", "?"), 0, 64)
	if err != nil || strings.HasPrefix(digits, "0o") || strings.HasPrefix(digits, "0O") {
		return token{kind: tokBad, text: text, pos: pos, msg: "`" + text + "` is not an integer"}
	}
	return token{kind: tokNumber, text: text, pos: pos, value: int64(v)}
}

// lexChar reads a character constant such as 'a' or '\n'.
func lexChar(rest string, pos int) token {
	if len(rest) > 1 && rest[1] != '\'' && rest[1] != '\n' {
		r, _, tail, err := strconv.UnquoteChar(rest[1:], '\'')
		if err == nil && strings.HasPrefix(tail, "'") {
			return token{kind: tokNumber, text: rest[:len(rest)-len(tail)+1], pos: pos, value: int64(int8(r))}
		}
		if strings.HasPrefix(rest, `'\0'`) { // the one octal escape that everyone writes
			return token{kind: tokNumber, text: rest[:4], pos: pos}
		}
	}
	return token{kind: tokBad, text: rest[:1], pos: pos, msg: "a character constant without end"}
}

// position returns the line and column of a byte offset.
func position(src string, offset int) (line, col int) {
	before := src[:min(offset, len(src))]
	start := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[start:])
}
