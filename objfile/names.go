package objfile

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// demangleLimit bounds demangled names to 2^16 characters: short mangled names
// can stand for enormous ones.
const demangleLimit = 16

func demangled(linkage string, o ...demangle.Option) string {
	return demangle.Filter(linkage, append(o, demangle.MaxLength(demangleLimit))...)
}

// cloneSuffixes are what gcc and clang append to the names of functions that
// they derive from others.
var cloneSuffixes = [...]string{".isra", ".constprop", ".part", ".cold", ".lto_priv", ".localalias", ".llvm", ".clone"}

// baseLinkage strips the suffixes of clones: "f.isra.0.cold" is "f".
func baseLinkage(name string) string {
	end := len(name)
	for _, s := range cloneSuffixes {
		if i := strings.Index(name, s); i > 0 && i < end {
			if rest := name[i+len(s):]; rest == "" || rest[0] == '.' {
				end = i
			}
		}
	}
	return name[:end]
}

// isCold says whether a symbol is the unlikely part of a function, which has
// no entry of its own.
func isCold(name string) bool {
	base, found := strings.CutSuffix(strings.TrimRight(name, "0123456789."), ".cold")
	return found && base != ""
}

// pattern is a way to name functions: FuncsNamed describes it.
type pattern struct {
	name     string   // normal, without parameters
	params   []string // normal; nil: any
	anyParam bool     // "(*)"
	qualify  bool     // match a qualified name's last components too
}

func parsePattern(s string) pattern {
	s = strings.TrimSpace(s)
	name, params, has := splitParams(s)
	p := pattern{name: squeeze(name)}
	if has {
		p.params = splitArgs(params)
		if len(p.params) == 1 && p.params[0] == "*" {
			p.anyParam = true
		}
		for i := range p.params {
			p.params[i] = normalParam(p.params[i])
		}
		if len(p.params) == 1 && p.params[0] == "void" {
			p.params = []string{}
		}
	}
	return p
}

// names are the spellings under which a function is found.
type names struct {
	full    string   // qualified, with template arguments, without parameters
	plain   string   // without template arguments
	linkage string   // of the symbol table,
	base    string   // and without a clone's suffix
	params  []string // normal; nil if the name does not say
}

func namesOf(linkage string) names {
	base := baseLinkage(linkage)
	n := names{linkage: linkage, base: base}
	if !strings.HasPrefix(base, "_Z") {
		n.full, n.plain = base, base
		return n
	}
	n.full = squeeze(demangled(base, demangle.NoParams))
	n.plain = squeeze(demangled(base, demangle.NoParams, demangle.NoTemplateParams))
	if _, params, ok := splitParams(demangled(base)); ok {
		n.params = splitArgs(params)
		for i := range n.params {
			n.params[i] = normalParam(n.params[i])
		}
	}
	return n
}

// match says whether a function is meant. With qualify, "insert" means
// "Tree::insert" too.
func (p *pattern) match(n *names) bool {
	if !p.matchName(n.full) && !p.matchName(n.plain) && p.name != n.linkage && p.name != n.base {
		return false
	}
	if p.params == nil || p.anyParam {
		return true
	}
	if n.params == nil || len(n.params) != len(p.params) {
		return false
	}
	for i := range p.params {
		if p.params[i] != "*" && p.params[i] != n.params[i] {
			return false
		}
	}
	return true
}

func (p *pattern) matchName(name string) bool {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	want := strings.ReplaceAll(p.name, "(anonymous namespace)::", "")
	for {
		if glob(want, name) {
			return true
		}
		i := scopeEnd(name)
		if !p.qualify || i < 0 {
			return false
		}
		name = name[i:]
	}
}

// scopeEnd returns the index behind the first "::" outside template arguments
// and parameters, or -1.
func scopeEnd(name string) int {
	depth := 0
	for i := 0; i+1 < len(name); i++ {
		switch name[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ':':
			if depth == 0 && name[i+1] == ':' {
				return i + 2
			}
		}
	}
	return -1
}

// glob matches with "*" for any characters; that of "operator*" is itself.
func glob(pattern, s string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == s
	}
	pattern = strings.ReplaceAll(pattern, "operator*", "operator\x00")
	s = strings.ReplaceAll(s, "operator*", "operator\x00")
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, part := range parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[last])
}

// splitParams cuts a demangled name at its parameter list: the last
// parentheses outside template arguments that are not part of the name.
func splitParams(s string) (name, params string, ok bool) {
	end := strings.LastIndexByte(s, ')')
	if end < 0 {
		return s, "", false
	}
	depth := 0
	for i := end; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth > 0 {
				continue
			}
			inside := s[i+1 : end]
			if inside == "anonymous namespace" || inside == "" && strings.HasSuffix(s[:i], "operator") || strings.HasPrefix(s[end+1:], "::") {
				return s, "", false
			}
			return s[:i], inside, true
		}
	}
	return s, "", false
}

// splitArgs splits at the commas outside brackets.
func splitArgs(s string) []string {
	args := []string{}
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(s[start:]); last != "" || len(args) > 0 {
		args = append(args, last)
	}
	return args
}

// normalParam spells a parameter's type as the demangler does: "const char *"
// is "char const*"; elaborating keywords are dropped.
func normalParam(s string) string {
	s = strings.TrimSpace(s)
	for _, kw := range [...]string{"struct ", "class ", "union ", "enum "} {
		s = strings.TrimPrefix(s, kw)
	}
	if rest, ok := strings.CutPrefix(s, "const "); ok {
		end, depth := len(rest), 0
	scan:
		for i := 0; i < len(rest); i++ {
			switch rest[i] {
			case '<', '(':
				depth++
			case '>', ')':
				depth--
			case '*', '&':
				if depth == 0 {
					end = i
					break scan
				}
			}
		}
		s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest[:end]), "struct ")) + " const" + rest[end:]
	}
	return squeeze(s)
}

// squeeze drops the spaces that do not separate two words.
func squeeze(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' {
			if i == 0 || i+1 == len(s) || !wordByte(s[i-1]) || !wordByte(s[i+1]) {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
