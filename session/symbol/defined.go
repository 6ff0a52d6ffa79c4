package symbol

import (
	"path/filepath"
	"regexp"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile"
)

// Defined implements check.Program: the compiler has removed a function, or inlined it and then left nothing of it, and
// some (clang) tell of none of these in the debug information. So the text is asked. Or a macro has given it another name,
// as headers do to keep a library's names apart.
func (p *Program) Defined(pattern string) (file string, line int, as string) {
	name := lastPart(pattern)
	if !identifier.MatchString(name) {
		return "", 0, ""
	}
	for _, file := range p.Files() {
		if objfile.SystemHeader(file) {
			continue
		}
		lines := p.Sources.Lines(file)
		text := make([]string, len(lines))
		for i, l := range lines {
			text[i] = code(l)
		}
		all := strings.Join(text, "\n")
		if at := definedAt(all, name); at > 0 {
			return file, at, p.compiledFrom(file, at, all)
		}
	}
	return "", 0, ""
}

// lastPart is the name of a function in its text: "get" of "Lru<int>::get(int)".
func lastPart(function string) string {
	name, _, _ := strings.Cut(cxxname.WithoutArgs(function), "(")
	return name[strings.LastIndexByte(name, ':')+1:]
}

// compiledFrom is the function that was compiled from what a line of a file defines, if that has another name in the text.
func (p *Program) compiledFrom(file string, line int, text string) string {
	for _, f := range p.Objs {
		for _, fn := range f.Funcs() {
			if fn.Line == line && filepath.Clean(fn.File) == filepath.Clean(file) && definedAt(text, lastPart(fn.Base)) != line {
				return fn.Base
			}
		}
	}
	return ""
}

var identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// definedAt finds the line at which a text defines a function of a name, 0 if it does not: its parameters stand behind
// something that may be a type or a scope, and a body behind them.
func definedAt(text, name string) int {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return 0
		}
		i += at
		at = i + len(name)
		before := strings.TrimRight(text[:i], " \t\n")
		open := strings.TrimLeft(text[at:], " \t\n")
		if before == "" || !strings.ContainsAny(before[len(before)-1:], typeEnds) || len(before) == i && wordEnds(before) || !strings.HasPrefix(open, "(") {
			continue
		}
		if hasBody(open) {
			return 1 + strings.Count(text[:i], "\n")
		}
	}
}

// typeEnds may end what stands before the name of a function that is defined.
const typeEnds = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*&>:"

// wordEnds says that a name goes on before.
func wordEnds(s string) bool { return strings.ContainsAny(s[len(s)-1:], typeEnds[:63]) }

// hasBody says that parameters are followed by the body of their function.
func hasBody(text string) bool {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return followed.MatchString(text[i+1:])
			}
		case ';', '{', '}':
			return false
		}
	}
	return false
}

// followed is the body of a function, behind what may stand before it.
var followed = regexp.MustCompile(`^\s*(const\b|noexcept\b|override\b|final\b|->[\w\s:<>*&,]*|\s)*\{`)
