package cxxname

import "strings"

// Normal brings a type's name to the one spelling under which it is found:
// no elaborating keyword in front, no leading "::", no spaces but those that
// separate two words, and const behind what it qualifies
// ("std::pair<int const,int>", as gcc and the demangler write it).
func Normal(name string) string {
	name = strings.TrimPrefix(withoutKeyword(strings.TrimSpace(name)), "::")
	return constBehind(squeeze(name))
}

// withoutKeyword drops an elaborating keyword.
func withoutKeyword(name string) string {
	for _, kw := range [...]string{"struct ", "class ", "union ", "enum "} {
		if rest, ok := strings.CutPrefix(name, kw); ok {
			return strings.TrimSpace(rest)
		}
	}
	return name
}

// squeeze drops the space that does not separate two words.
func squeeze(name string) string {
	if !strings.ContainsAny(name, " \t\n") {
		return name
	}
	b := make([]byte, 0, len(name))
	space := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == ' ' || c == '\t' || c == '\n' {
			space = true
			continue
		}
		if n := len(b); space && n > 0 && IsWord(c) && IsWord(b[n-1]) {
			b = append(b, ' ')
		}
		space = false
		b = append(b, c)
	}
	return string(b)
}

// constBehind moves each "const " in front of the type or of a template argument behind
// the type that it qualifies, whose elaborating keyword it drops.
func constBehind(name string) string {
	const kw = "const "
	for from := 0; ; {
		i := strings.Index(name[from:], kw)
		if i < 0 {
			return name
		}
		i += from
		from = i + len(kw)
		if i > 0 && name[i-1] != '<' && name[i-1] != ',' {
			continue
		}
		end, depth := from, 0
		for ; end < len(name); end++ {
			c := name[end]
			if depth == 0 && strings.IndexByte("*&,>", c) >= 0 {
				break
			}
			switch c {
			case '<':
				depth++
			case '>':
				depth--
			}
		}
		name = name[:i] + withoutKeyword(name[from:end]) + " const" + name[end:]
		from = i // what moved may itself hold one
	}
}

// IsWord says that names of C and C++ may have c in them.
func IsWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// Plain is Normal without what C++ programmers leave out and compilers
// spell in several ways, so that names of a type from a source file, DWARF and the
// demangler compare equal: inline namespaces of the standard libraries, template
// arguments that are the usual defaults, the order of words in integer types, and
// the suffix of integer arguments. It makes keys, not names to be shown:
//
//	std::vector<std::string>
//	std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, …>
//
// are both std::vector<std::basic_string<char>>.
func Plain(name string) string {
	p := plainer{s: Normal(name), between: ","}
	return p.all()
}

// Short is a demangled name as it is shown to people: without what Plain leaves out,
// and with std::string for what it stands for.
//
//	cache::Lru<std::string, int>::put(std::string const&, int)
func Short(name string) string {
	p := plainer{s: name, between: ", ", short: true}
	return p.all()
}

// inlineNamespaces are those of libstdc++ and libc++.
var inlineNamespaces = [...]string{"std::__cxx11::", "std::__1::", "std::_V2::", "std::__ndk1::"}

// usualDefaults begin the trailing arguments of standard templates that are
// left out.
var usualDefaults = [...]string{
	"std::less<", "std::allocator<", "std::hash<", "std::equal_to<", "std::char_traits<", "std::default_delete<",
}

// plainNames are the plain names of what has several.
var plainNames = map[string]string{
	"std::string": "std::basic_string<char>", "std::wstring": "std::basic_string<wchar_t>",
	"std::string_view": "std::basic_string_view<char>", "std::wstring_view": "std::basic_string_view<wchar_t>",
	"std::size_t": "unsigned long", "size_t": "unsigned long",
	"long int": "long", "signed long": "long", "signed long int": "long",
	"long unsigned int": "unsigned long", "unsigned long int": "unsigned long", "long unsigned": "unsigned long",
	"long long int": "long long", "signed long long": "long long",
	"long long unsigned int": "unsigned long long", "unsigned long long int": "unsigned long long",
	"short int": "short", "signed short": "short", "short unsigned int": "unsigned short",
	"unsigned short int": "unsigned short", "unsigned": "unsigned int", "signed": "int", "signed int": "int",
}

// shortNames are the names of specialised templates that people use.
var shortNames = map[string]string{
	"std::basic_string<char>": "std::string", "std::basic_string<wchar_t>": "std::wstring",
	"std::basic_string_view<char>": "std::string_view", "std::basic_string_view<wchar_t>": "std::wstring_view",
}

// plainer reads a name from the left.
type plainer struct {
	s        string
	between  string // arguments
	short    bool   // std::string for std::basic_string<char>
	at       int
	unclosed bool // a bracket has no closing one
}

func (p *plainer) all() string {
	out := p.list()
	if p.unclosed || p.at < len(p.s) { // brackets that do not match: it is no name of C++
		return p.s
	}
	return out
}

// list reads one name, up to the comma or bracket that is not its own.
func (p *plainer) list() string {
	var b strings.Builder
	for p.at < len(p.s) && p.s[p.at] == ' ' {
		p.at++
	}
	start := p.at
	flush := func() {
		b.WriteString(p.piece(p.s[start:p.at], b.Len() == 0))
	}
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case c == '<' && !p.operator(), c == '(':
			flush()
			args, ok := p.args(closing[c])
			if !ok {
				return ""
			}
			if c == '<' {
				args = withoutDefaults(b.String(), args)
			}
			b.WriteByte(c)
			b.WriteString(strings.Join(args, p.between))
			b.WriteByte(closing[c])
			if s, ok := shortNames[b.String()]; ok && p.short {
				b.Reset()
				b.WriteString(s)
			}
			start = p.at
			continue
		case c == ',' || c == ')' || c == '>' && !p.operator():
			flush()
			return strings.TrimRight(b.String(), " ")
		}
		p.at++
	}
	flush()
	return b.String()
}

var closing = map[byte]byte{'<': '>', '(': ')'}

// args reads what stands between the bracket at p.at and its closing one.
func (p *plainer) args(end byte) (args []string, ok bool) {
	for p.at < len(p.s) {
		p.at++ // the bracket, or a comma
		args = append(args, p.list())
		if p.at < len(p.s) && p.s[p.at] != ',' {
			break
		}
	}
	if p.unclosed || p.at >= len(p.s) || p.s[p.at] != end {
		p.unclosed = true
		return nil, false
	}
	p.at++
	return args, true
}

// operator says that the bracket at p.at belongs to an operator's name.
func (p *plainer) operator() bool { return ofOperator(p.s, p.at) }

// operators are those with brackets in their names, longer ones first.
var operators = [...]string{"<=>", "<<=", ">>=", "->*", "<<", "<=", ">>", ">=", "->", "<", ">"}

// ofOperator says that the bracket at an index belongs to an operator's name. Where nothing
// stands between that and its template arguments, "<<" begins them if something follows that
// can be one.
func ofOperator(name string, at int) bool {
	before := strings.TrimRight(name[:at], "<>-=")
	if !strings.HasSuffix(before, "operator") {
		return false
	}
	after := name[len(before):]
	for _, op := range operators {
		if rest, ok := strings.CutPrefix(after, op); ok {
			if op == "<<" && rest != "" && strings.IndexByte("<( ", rest[0]) < 0 {
				op = "<"
			}
			return at < len(before)+len(op)
		}
	}
	return false
}

// piece is the plain form of what stands between brackets.
func (p *plainer) piece(s string, first bool) string {
	if !first {
		return s
	}
	for _, ns := range inlineNamespaces {
		if rest, ok := strings.CutPrefix(s, ns); ok {
			s = "std::" + rest
			break
		}
	}
	if p.short {
		return s
	}
	for full, alias := range shortNames {
		if rest, ok := strings.CutPrefix(s, alias+"::"); ok {
			return full + "::" + rest
		}
	}
	end := strings.IndexAny(s, "*&")
	if end < 0 {
		end = len(s)
	}
	head, constant := strings.CutSuffix(s[:end], " const")
	if plain, ok := plainNames[head]; ok {
		head = plain
	} else if n := strings.TrimRight(head, "ulUL"); n != "" && n != head && strings.Trim(n, "-0123456789") == "" {
		head = n
	}
	if constant && strings.HasSuffix(head, ">") {
		head += "const" // as Normal has it
	} else if constant {
		head += " const"
	}
	return head + s[end:]
}

// withoutDefaults drops the trailing arguments of a standard template that are
// the usual defaults.
func withoutDefaults(template string, args []string) []string {
	if !strings.HasPrefix(template, "std::") {
		return args
	}
	container := containerOf[template]
	usual := func(arg string) bool {
		for _, d := range usualDefaults {
			if strings.HasPrefix(arg, d) {
				return true
			}
		}
		return container != "" && strings.HasPrefix(arg, container)
	}
	for len(args) > 1 && usual(args[len(args)-1]) {
		args = args[:len(args)-1]
	}
	return args
}

// containerOf has the container by default of the standard adaptors.
var containerOf = map[string]string{
	"std::stack": "std::deque<", "std::queue": "std::deque<", "std::priority_queue": "std::vector<",
}

// WithoutArgs drops all template arguments from a name: "Lru<int>::Entry" is
// "Lru::Entry".
func WithoutArgs(name string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case (c == '<' || c == '>') && ofOperator(name, i):
			b.WriteByte(c)
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth <= 0:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Constructs says whether a function is a constructor: it has its class's name.
func Constructs(function string) bool {
	class, name := member(function)
	return name != "" && name == class
}

// Destroys says whether a function is a destructor.
func Destroys(function string) bool {
	_, ok := Destroyed(function)
	return ok
}

// Destroyed is the class of which a function is the destructor, without its scopes.
func Destroyed(function string) (class string, ok bool) {
	_, name := member(function)
	return strings.CutPrefix(name, "~")
}

// member splits off the last two components of a function's name, without arguments.
func member(function string) (class, name string) {
	full, _, _ := splitParams(function)
	class, name, ok := cutLast(WithoutArgs(full))
	if !ok {
		return "", full
	}
	if _, last, ok := cutLast(class); ok {
		class = last
	}
	return class, name
}

func cutLast(name string) (before, last string, ok bool) {
	i := strings.LastIndex(name, "::")
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+2:], true
}

// WithoutEnumerators drops the last template arguments that are numbers of enumeration types, which gcc and
// function names have as "(Policy)2" and clang's type names as an enumerator: "Counted<int>" of
// "Counted<int, (Policy)2>".
func WithoutEnumerators(name string) string {
	for strings.HasSuffix(name, ">") {
		template, args, rest, ok := CutTemplate(name)
		if !ok || rest != "" || len(args) < 2 || !strings.HasPrefix(args[len(args)-1], "(") {
			break
		}
		name = template + "<" + strings.Join(args[:len(args)-1], ", ") + ">"
	}
	return name
}

// Inner is a qualified name without its first scope: "Lru<int>::Entry" of
// "cache::Lru<int>::Entry". ok is false if it has none.
func Inner(name string) (inner string, ok bool) {
	depth := 0
	for i := 0; i+1 < len(name); i++ {
		switch name[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ':':
			if depth == 0 && name[i+1] == ':' {
				return name[i+2:], true
			}
		}
	}
	return name, false
}

// Begins says whether a plain name is the full one but for template arguments, of each
// template all or the last ones: "Map<int>::put" of "Map<int,double,4>::put<char>".
func Begins(name, full string) bool {
	template, args, rest, ok := CutTemplate(full)
	if !ok {
		return name == full
	}
	name, ok = strings.CutPrefix(name, template)
	if !ok {
		return false
	}
	if template, first, after, ok := CutTemplate(name); ok && template == "" {
		if len(first) > len(args) {
			return false
		}
		for i := range first {
			if !Begins(first[i], args[i]) {
				return false
			}
		}
		name = after
	}
	return Begins(name, rest)
}

// CutTemplate cuts a name at its first template arguments: "Map", int and double, "::put" of "Map<int, double>::put". ok is false
// if it has none, or they do not end: template is all of it then.
func CutTemplate(name string) (template string, args []string, rest string, ok bool) {
	p := plainer{s: name}
	depth, start := 0, 0
	for ; p.at < len(name); p.at++ {
		switch c := name[p.at]; {
		case (c == '<' || c == '>') && p.operator():
		case c == '<':
			if depth++; depth == 1 {
				start = p.at
			}
		case c == '>':
			if depth--; depth == 0 {
				return name[:start], splitArgs(name[start+1 : p.at]), name[p.at+1:], true
			}
		}
	}
	return name, nil, "", false
}
