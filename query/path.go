package query

import (
	"fmt"
	"strconv"
	"strings"
)

// Path names a cell: where it begins, and the way from there by field names.
type Path struct {
	Root Root
	// Steps lead through fields and elements; pointers on the way are followed.
	Steps []Step
	text  string
}

// Root is where a path begins: one of a global, a node, and an address.
type Root struct {
	Global string // "root" of "::root"
	Node   string // "qdtree" of "qdtree#17"
	Number int    // 17
	Addr   uint64
}

// Step is a field by its name, or, if that is "", an element by its number.
type Step struct {
	Field string
	Index int64
	begin int // of it in the text
}

func (p Path) String() string { return p.text }

// before is the text of the path in front of step n.
func (p Path) before(n int) string {
	if n < len(p.Steps) {
		return p.text[:p.Steps[n].begin]
	}
	return p.text
}

// PathError says what is wrong with a path, and where.
type PathError struct {
	Path   string
	Offset int
	Msg    string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("%s: %s at %q (write ADDRESS, ::GLOBAL or NODE#N, then .FIELD and [N]: qdtree#17.child[0])", e.Path, e.Msg, e.Path[e.Offset:])
}

// ParsePath reads "0x55d1…", "::root.child[2].point" or "qdtree#17->child[0]".
func ParsePath(s string) (Path, error) {
	s = strings.TrimSpace(s)
	p := Path{text: s}
	rest, err := p.root(s)
	if err != nil {
		return Path{}, err
	}
	for rest != "" {
		if rest, err = p.step(rest); err != nil {
			return Path{}, err
		}
	}
	return p, nil
}

func (p *Path) fail(rest, msg string, a ...any) (string, error) {
	return "", &PathError{Path: p.text, Offset: len(p.text) - len(rest), Msg: fmt.Sprintf(msg, a...)}
}

// root reads where the path begins.
func (p *Path) root(s string) (rest string, err error) {
	if s == "" {
		return p.fail(s, "which cell?")
	}
	if s[0] >= '0' && s[0] <= '9' {
		n := 2
		for n < len(s) && isHex(s[n]) {
			n++
		}
		a, err := strconv.ParseUint(s[:min(n, len(s))], 0, 64)
		if err != nil || !strings.HasPrefix(s, "0x") && !strings.HasPrefix(s, "0X") {
			return p.fail(s, "an address is hexadecimal, 0x…,")
		}
		p.Root.Addr = a
		return s[n:], nil
	}
	if name, ok := strings.CutPrefix(s, "::"); ok {
		n := nameEnd(name)
		if n == 0 {
			return p.fail(name, "the name of a global is missing")
		}
		p.Root.Global = name[:n]
		return name[n:], nil
	}
	hash := strings.IndexByte(s, '#')
	if hash < 0 {
		return p.fail(s, "a global begins with ::, and a node has a number, list#3,")
	}
	n := hash + 1
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	number, err := strconv.ParseInt(s[hash+1:n], 10, 32)
	if hash == 0 || err != nil || number < 1 {
		return p.fail(s, "a node is its type and a number from 1, list#3,")
	}
	p.Root.Node, p.Root.Number = strings.TrimSpace(s[:hash]), int(number)
	return s[n:], nil
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// nameEnd is how long the name at the beginning of s is: of C or C++, with
// scopes and what stands in angle brackets.
func nameEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth > 0 || c == '_' || c == '$' || c == '~' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case c == ':' && i+2 < len(s) && s[i+1] == ':':
			i++
		default:
			return i
		}
	}
	return len(s)
}

// step reads one step.
func (p *Path) step(s string) (rest string, err error) {
	st := Step{begin: len(p.text) - len(s)}
	switch {
	case s[0] == '[':
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return p.fail(s, "] is missing")
		}
		if st.Index, err = strconv.ParseInt(strings.TrimSpace(s[1:end]), 0, 64); err != nil || st.Index < 0 {
			return p.fail(s, "an element has a number")
		}
		rest = s[end+1:]
	case s[0] == '.' || strings.HasPrefix(s, "->"):
		name := strings.TrimPrefix(strings.TrimPrefix(s, "."), "->")
		if s[0] == '.' {
			name = s[1:]
		}
		n := nameEnd(name)
		if n == 0 {
			return p.fail(s, "the name of a field is missing")
		}
		st.Field, rest = name[:n], name[n:]
	default:
		return p.fail(s, ". or [ was expected")
	}
	p.Steps = append(p.Steps, st)
	return rest, nil
}
