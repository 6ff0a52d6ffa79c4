package main

import "strings"

// token is a piece of C source. Comments, white space and preprocessor lines are
// none.
type token struct {
	text     string
	from, to int // bytes, half-open
	line     int // from 1
}

// tokenize splits C source. It knows as much of C as programs/ uses: no trigraphs,
// no line splices within tokens.
func tokenize(src string) []token {
	var out []token
	line := 1
	for i := 0; i < len(src); {
		from := i
		switch c := src[i]; {
		case c == '\n':
			line++
			i++
			continue
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
			continue
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			if end < 0 {
				return out
			}
			line += strings.Count(src[i:i+2+end], "\n")
			i += end + 4
			continue
		case strings.HasPrefix(src[i:], "//"):
			for i < len(src) && src[i] != '\n' {
				i++
			}
			continue
		case c == '"' || c == '\'':
			for i++; i < len(src) && src[i] != c; i++ {
				if src[i] == '\\' {
					i++
				}
			}
			i++
		case isWord(c):
			for i < len(src) && isWord(src[i]) {
				i++
			}
		default:
			i += operator(src[i:])
		}
		i = min(i, len(src))
		out = append(out, token{src[from:i], from, i, line})
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// operator returns the length of the operator at the beginning of s.
func operator(s string) int {
	for _, op := range []string{"<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="} {
		if strings.HasPrefix(s, op) {
			return len(op)
		}
	}
	return 1
}

// closing returns the index of the bracket that closes the one at i.
func closing(toks []token, i int) int {
	depth := 0
	for ; i < len(toks); i++ {
		switch toks[i].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(toks) - 1
}
