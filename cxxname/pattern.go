package cxxname

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// demangleLimit bounds demangled names to 2^16 characters: short mangled names
// can stand for enormous ones.
const demangleLimit = 16

// Demangle returns what a symbol's name stands for, as Short has it.
func Demangle(linkage string) string {
	if !strings.HasPrefix(linkage, "_Z") {
		return demangled(linkage) // Rust, or no mangled name
	}
	return Short(demangled(linkage))
}

func demangled(linkage string, o ...demangle.Option) string {
	return demangle.Filter(linkage, append(o, demangle.MaxLength(demangleLimit))...)
}

// cloneSuffixes are what gcc and clang append to the names of functions that
// they derive from others.
var cloneSuffixes = [...]string{".isra", ".constprop", ".part", ".cold", ".lto_priv", ".localalias", ".llvm", ".clone"}

// BaseLinkage strips the suffixes of clones: "f.isra.0.cold" is "f".
func BaseLinkage(name string) string {
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

// IsCold says whether a symbol is the unlikely part of a function, which has
// no entry of its own.
func IsCold(name string) bool {
	if !strings.Contains(name, ".cold") {
		return false // nearly all, and every pattern asks for each function
	}
	base, found := strings.CutSuffix(strings.TrimRight(name, "0123456789."), ".cold")
	return found && base != ""
}

// Pattern is how a user names functions:
//
//	insert                  a name, demangled, whatever its parameters
//	Tree::insert            qualified
//	insert(int, char *)     one overload
//	List<*>::push           "*" is any characters; List::push is every List's
//	List<int>::push         arguments that follow, as defaults do, can be left out
//	_ZN4Tree6insertEi       a name of the symbol table
//	Lru::get                Lru::get[abi:cxx11], as one is that returns a std::string
//
// Names are compared by Plain: std::string is std::__cxx11::basic_string<…>.
type Pattern struct {
	symbol   string   // what it stands for, if it is the name of a symbol
	name     string   // normal, without parameters
	bare     string   // without ABI tags
	key      string   // its Plain, without them
	last     string   // as lastOf has it
	params   []string // normal; nil: any
	anyParam bool     // "(*)"

	anonymous bool // it names an anonymous namespace
}

// Parse reads a pattern.
func Parse(s string) Pattern {
	s = strings.TrimSpace(s)
	name, params, has := splitParams(s)
	p := Pattern{name: squeeze(withoutResult(name)), anonymous: strings.Contains(name, anonymous)}
	if strings.HasPrefix(s, "_Z") {
		p.symbol = Demangle(s)
	}
	p.bare = untagged(p.name)
	p.key = Plain(p.bare)
	if !strings.HasPrefix(s, "_Z") && !strings.HasPrefix(s, "_R") && !strings.Contains(p.name, ".") { // no symbol, which says it in its own way
		p.last = lastOf(WithoutArgs(p.bare))
	}
	if has {
		p.params = normalParams(params)
		p.anyParam = len(p.params) == 1 && p.params[0] == "*"
		if len(p.params) == 1 && p.params[0] == "void" {
			p.params = []string{}
		}
	}
	return p
}

// Name has the spellings under which a function is found.
type Name struct {
	full    string   // qualified, with template arguments, without parameters
	key     string   // its Plain, without ABI tags
	plain   string   // without template arguments and ABI tags
	last    string   // as lastOf has it
	linkage string   // of the symbol table,
	base    string   // and without a clone's suffix
	params  []string // normal; nil if the name does not say
	later   bool     // what they are is left to parameters: few patterns ask

	anonymous bool // it is in an anonymous namespace
}

// Of is the name of a symbol, or a demangled one.
func Of(linkage string) Name {
	n := of(linkage)
	n.key, n.plain = untagged(n.key), untagged(n.plain)
	n.anonymous, n.last = strings.Contains(n.full, anonymous), lastOf(n.plain)
	return n
}

// untagged drops the tags that gcc appends to the names of what returns or takes types of the newer C++ library,
// and nobody writes: "Lru::get" of "Lru::get[abi:cxx11]".
func untagged(name string) string {
	const tag = "[abi:"
	for {
		i := strings.Index(name, tag)
		if i < 0 {
			return name
		}
		end := strings.IndexByte(name[i:], ']')
		if end < 0 {
			return name
		}
		name = name[:i] + name[i+end+1:]
	}
}

// lastOf is the last component of a name without template arguments; "" of operators, of what has brackets, and of patterns,
// which may be spelt in several ways.
func lastOf(plain string) string {
	last := plain[strings.LastIndexByte(plain, ':')+1:]
	if strings.ContainsAny(last, "*(){}<>") || strings.Contains(plain, "operator") {
		return ""
	}
	return last
}

// anonymous is how the name of a namespace without a name begins.
const anonymous = "(anonymous"

func of(linkage string) Name {
	base := BaseLinkage(linkage)
	n := Name{linkage: linkage, base: base}
	if strings.ContainsAny(linkage, "(<:") {
		return demangledName(n)
	}
	if !strings.HasPrefix(base, "_Z") {
		n.full, n.key, n.plain = base, base, base
		return n
	}
	full, plain := withoutParams(base)
	n.full, n.plain = squeeze(full), squeeze(plain)
	n.key, n.later = Plain(n.full), true
	return n
}

// withoutParams demangles a name without its parameters, and that without template
// arguments.
func withoutParams(base string) (full, plain string) {
	if strings.HasSuffix(base, "E") && strings.Contains(base, "17h") { // may be of old Rust
		return demangled(base, demangle.NoParams), demangled(base, demangle.NoParams, demangle.NoTemplateParams)
	}
	ast, err := demangle.ToAST(base, demangle.NoParams)
	if err != nil {
		return base, base
	}
	limit := demangle.MaxLength(demangleLimit)
	return demangle.ASTToString(ast, limit), demangle.ASTToString(ast, demangle.NoTemplateParams, limit)
}

// parameters are the normal types of the parameters; nil if the name does not say.
func (n *Name) parameters() []string {
	if !n.later {
		return n.params
	}
	if _, params, ok := splitParams(demangled(n.base)); ok {
		return normalParams(params)
	}
	return nil
}

func demangledName(n Name) Name {
	name, _, _ := strings.Cut(n.linkage, " [clone")
	name, params, ok := splitParams(name)
	if ok {
		n.params = normalParams(params)
	}
	n.full = squeeze(withoutResult(name))
	n.key, n.plain = Plain(n.full), WithoutArgs(n.full)
	return n
}

// withoutResult drops the type that the demangler puts in front of the name of a
// template function: "void push<int>". What follows the first operator belongs to the name, and so
// does a "const" behind the parameters of a function that it lies in: "f() const::{lambda()#1}".
func withoutResult(name string) string {
	end := outerOperator(name)
	if end < 0 {
		if !strings.HasSuffix(name, ">") {
			return name
		}
		end = len(name)
	}
	depth := 0
	for i := end - 1; i >= 0; i-- {
		switch name[i] {
		case '>', ')', '}':
			depth++
		case '<', '(', '{':
			depth--
		case ' ':
			if depth == 0 && !strings.HasPrefix(name[i+1:], "const::") {
				return name[i+1:]
			}
		}
	}
	return name
}

// outerOperator is where the first operator is named outside of all brackets, -1: nowhere.
func outerOperator(name string) int {
	depth := 0
	for i := range len(name) {
		switch name[i] {
		case '<', '(', '{':
			depth++
		case '>', ')', '}':
			depth--
		case 'o':
			if depth == 0 && strings.HasPrefix(name[i:], "operator") && (i == 0 || !IsWord(name[i-1])) {
				return i
			}
		}
	}
	return -1
}

// normalParams are the plain names of the parameters' types, as the demangler spells them:
// "char const*" for "const char *".
func normalParams(s string) []string {
	params := splitArgs(s)
	for i := range params {
		params[i] = Plain(params[i])
	}
	return params
}

// Closeness is how much of a function's name a pattern says.
type Closeness int

const (
	Whole  Closeness = iota // all of it
	Ending                  // the last components: "insert" is "Tree::insert"
	Begun                   // these, and the first template arguments of each
	farthest
)

// Closest asks for what a pattern means by ever less of the names, until there is some.
func Closest[T any](find func(Closeness) []T) []T {
	for how := Whole; how < farthest; how++ {
		if found := find(how); len(found) > 0 {
			return found
		}
	}
	return nil
}

// Match says whether the pattern means a function, if it says so much of its name.
func (p *Pattern) Match(n *Name, how Closeness) bool {
	matches := func(want, name string) bool {
		return p.mayMatch(want, n, name, how) && matchName(want, name, how)
	}
	if p.name != n.linkage && p.name != n.base && (p.symbol == "" || p.symbol != n.linkage) &&
		!matches(p.name, n.full) && !matches(p.key, n.key) && !matches(p.bare, n.plain) {
		return false
	}
	if p.params == nil || p.anyParam {
		return true
	}
	params := n.parameters()
	if params == nil || len(params) != len(p.params) {
		return false
	}
	for i := range p.params {
		if p.params[i] != "*" && p.params[i] != params[i] {
			return false
		}
	}
	return true
}

// Find returns the indices of the names that a pattern means: those of which it says most.
func Find(pattern string, names []Name) []int {
	p := Parse(pattern)
	return Closest(func(how Closeness) (found []int) {
		for i := range names {
			if p.Match(&names[i], how) {
				found = append(found, i)
			}
		}
		return found
	})
}

func matchName(want, name string, how Closeness) bool {
	name = strings.ReplaceAll(name, "(anonymous namespace)::", "")
	want = strings.ReplaceAll(want, "(anonymous namespace)::", "")
	for {
		if glob(want, name) || how == Begun && Begins(want, name) {
			return true
		}
		var ok bool
		if name, ok = Inner(name); !ok || how == Whole {
			return false
		}
	}
}

// mayMatch says whether a name ends with what follows the pattern's last "*": most do not,
// and it can match only then. A name in a namespace without a name may be written without
// that. Where template arguments may be left out, the last components have to be the same.
func (p *Pattern) mayMatch(want string, n *Name, name string, how Closeness) bool {
	if how == Begun {
		return p.last == "" || n.last == "" || p.last == n.last
	}
	return n.anonymous || p.anonymous || strings.HasSuffix(name, want[strings.LastIndexByte(want, '*')+1:])
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

// WithoutParams drops the parameters from a demangled name: "Lru<int>::put(int)" is "Lru<int>::put".
func WithoutParams(name string) string {
	name, _, _ = splitParams(name)
	return name
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

// Is says whether a function has a name in full, with its parameters or without.
func Is(function, name string) bool {
	plain, _, _ := strings.Cut(function, "(")
	return plain == name || function == name
}
