package eval

import (
	"path"
	"strings"
)

// named reports whether a function's demangled name is meant by the name that
// a specification uses: the name alone, qualified or not, with its parameters
// where overloads are told apart; "*" stands for anything.
func named(pattern, name string) bool {
	pattern, name = squeeze(pattern), squeeze(name)
	if pattern == name {
		return true
	}
	pbase, pargs := cutArgs(pattern)
	nbase, nargs := cutArgs(name)
	if pargs != "" && pargs != "(*)" && nargs != "" && pargs != nargs {
		return false
	}
	nbase = dropClone(nbase)
	if match(pbase, nbase) || match("*::"+pbase, nbase) {
		return true
	}
	plain := dropTemplates(nbase)
	return plain != nbase && (match(pbase, plain) || match("*::"+pbase, plain))
}

// squeeze removes spaces, except one between two words.
func squeeze(s string) string {
	fields := strings.Fields(s)
	out := ""
	for _, f := range fields {
		if out != "" && wordy(out[len(out)-1]) && wordy(f[0]) {
			out += " "
		}
		out += f
	}
	return out
}

func wordy(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// cutArgs splits "f(int)" into "f" and "(int)".
func cutArgs(s string) (base, args string) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth <= 0 && i > 0 && !strings.HasSuffix(s[:i], "operator") {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

// dropClone removes the suffix of a compiler's copy: ".isra.0", "[clone …]".
func dropClone(s string) string {
	if i := strings.Index(s, "[clone"); i > 0 {
		s = strings.TrimSpace(s[:i])
	}
	for _, c := range [...]string{".isra", ".constprop", ".part", ".cold", ".lto_priv"} {
		if i := strings.Index(s, c); i > 0 {
			s = s[:i]
		}
	}
	return s
}

// dropTemplates removes template arguments.
func dropTemplates(s string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '<':
			depth++
		case s[i] == '>' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// match matches a pattern with "*".
func match(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(s, head) {
		return false
	}
	if !star {
		return s == pattern
	}
	for i := len(head); i <= len(s); i++ {
		if match(rest, s[i:]) {
			return true
		}
	}
	return false
}

// sameFile reports whether a file as the specification names it is one that
// debug information names.
func sameFile(spec, file string) bool {
	spec, file = path.Clean(spec), path.Clean(file)
	return spec == file || strings.HasSuffix(file, "/"+spec)
}
