package evidence

import (
	"fmt"
	"slices"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/types"
)

// statementLines is how many lines a statement may have.
const statementLines = 6

// fromSource reads the statement of an allocation by a call of callee ("": not known).
// clear says that it names one type only.
func (f *Finder) fromSource(fr Frame, callee string) (t *types.Type, why string, clear bool) {
	if f.source == nil {
		return nil, "", true
	}
	text, at, ok := f.statementOf(fr)
	if !ok {
		return nil, "", true
	}
	names := typesInStatement(callOf(callee, text))
	var name string
	for _, n := range names {
		found := f.resolve(fr, n)
		switch {
		case found == nil:
		case t == nil:
			t, name = found, n
		case !same(t, found):
			return nil, "", false
		}
	}
	if t == nil {
		return nil, "", true
	}
	return t, fmt.Sprintf("`%s` in the source at %s:%d", name, baseName(at.File), at.Line), true
}

// statementOf returns the text of the statement that makes a call, and where it stands.
func (f *Finder) statementOf(fr Frame) (text string, at objfile.Frame, ok bool) {
	frames := fr.File.Frames(fr.Addr - 1)
	if len(frames) == 0 || frames[0].Line == 0 {
		return "", at, false
	}
	at = frames[0]
	return statementAt(f.statement(at.File, at.Line), at.Column), at, true
}

// statement returns the text from a line up to the end of the statement.
func (f *Finder) statement(file string, line int) string {
	var b strings.Builder
	for i := range statementLines {
		text, ok := f.source(file, line+i)
		if !ok {
			break
		}
		if cut := strings.Index(text, "//"); cut >= 0 {
			text = text[:cut]
		}
		b.WriteString(text)
		b.WriteByte('\n')
		if strings.Contains(text, ";") {
			break
		}
	}
	return b.String()
}

// statementAt is the one of several statements of a text that the column (in bytes, from 1, of the text's first line)
// is in: on a line may stand two that allocate, of which one does it by a macro. All are, if the column is not known.
func statementAt(text string, column int) string {
	at := column - 1
	if first := strings.IndexByte(text, '\n'); column <= 0 || at >= len(text) || first >= 0 && at > first {
		return text
	}
	from := strings.LastIndexAny(text[:at], ";{}") + 1
	if end := strings.IndexByte(text[at:], ';'); end >= 0 {
		return text[from : at+end]
	}
	return text[from:]
}

// callOf returns those statements of a text that call a function; all if none does, as
// where a macro calls it.
func callOf(function, text string) string {
	var calling []string
	for s := range strings.SplitSeq(text, ";") {
		if function != "" && slices.Contains(words(s), function) {
			calling = append(calling, s)
		}
	}
	if calling == nil {
		return text
	}
	return strings.Join(calling, ";")
}

// membersAssigned lists the members that a statement assigns, each by the names that lead to it, as far as they are names:
//
//	list = parent->value.list = make(n)    parent value list
//	AT(r)->leaf.rows[i] = make(n)          leaf rows
func membersAssigned(text string) (paths [][]string) {
	toks := words(text)
	for i, t := range toks {
		if t != "=" || i == 0 || i+1 < len(toks) && toks[i+1] == "=" || strings.Contains("=!<>+-*/%&|^", toks[i-1]) {
			continue
		}
		if path := memberBefore(toks[:i]); path != nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// memberBefore reads the member that words end in, without indices; nil if it is none of anything.
func memberBefore(toks []string) (path []string) {
	of := false
	for {
		for len(toks) > 0 && toks[len(toks)-1] == "]" {
			toks = beforeBrackets(toks)
		}
		n := len(toks)
		if n == 0 || !isName(toks[n-1]) {
			break
		}
		path = append(path, toks[n-1])
		if n < 2 || toks[n-2] != "." && toks[n-2] != "->" {
			break
		}
		of, toks = true, toks[:n-2]
	}
	if !of {
		return nil
	}
	slices.Reverse(path)
	return path
}

// oneOf says that a pointer is meant which a statement assigns, by these names. They may begin farther out than the type in which it is
// looked for, or farther in, behind a macro.
func oneOf(assigned [][]string) meant {
	return func(path []string) bool {
		named := slices.DeleteFunc(slices.Clone(path), func(name string) bool { return name == "" }) // anonymous members
		return slices.ContainsFunc(assigned, func(names []string) bool {
			k := min(len(named), len(names))
			return k > 0 && slices.Equal(named[len(named)-k:], names[len(names)-k:])
		})
	}
}

// resolve finds the type that a name in the source means there: "struct T",
// "T *", or an expression as typeOfSizeof writes it.
func (f *Finder) resolve(fr Frame, name string) *types.Type {
	if strings.HasPrefix(name, "*") || strings.ContainsAny(name, ".[") {
		return f.expression(fr, name)
	}
	base := strings.TrimRight(name, "* ")
	stars := strings.Count(name[len(base):], "*")
	found := lookup(fr, base)
	if len(found) == 0 || found[0] == nil || found[0].Size < 0 {
		return nil
	}
	t := found[0]
	for _, other := range found[1:] {
		if !same(t, other) || t.Size != other.Size {
			return nil
		}
	}
	for range stars {
		t = &types.Type{Kind: types.Pointer, Size: 8, Elem: t}
	}
	return t
}

// expression returns the type of an expression that typeOfSizeof wrote: "*p" is what the
// variable p points to, "*p[]" what its elements do, "*h.items" what the member of h
// does, whether h is a structure or a pointer to one. nil if the program has no such.
func (f *Finder) expression(fr Frame, text string) *types.Type {
	toks := words(strings.TrimLeft(text, "*"))
	t := f.variable(fr, toks[0])
	for i := 1; i < len(toks); i++ {
		switch toks[i] {
		case "[":
			t = element(t)
		case ".":
			if t != nil && t.Kind == types.Pointer {
				t = pointee(t)
			}
			if t == nil || i+1 == len(toks) {
				return nil
			}
			i++
			m, _, _ := t.Member(toks[i])
			t = m.Type
		}
	}
	for range strings.IndexFunc(text, func(r rune) bool { return r != '*' }) {
		t = element(t)
	}
	return t
}

// element is what * or [] make of a type.
func element(t *types.Type) *types.Type {
	if t != nil && t.Kind == types.Array {
		return t.Elem
	}
	return pointee(t)
}

// variable returns the type of the variable of that name, as the frame sees it; nil if
// there is none.
func (f *Finder) variable(fr Frame, name string) *types.Type {
	for _, x := range fr.File.Variables(fr.Addr - 1) {
		if x.Name == name {
			return x.Type
		}
	}
	file := ""
	if frames := fr.File.Frames(fr.Addr - 1); len(frames) > 0 {
		file = frames[0].File
	}
	return fr.File.GlobalType(name, file)
}

// lookup finds a type by a name as the function of the frame would: in the
// classes and namespaces that enclose it, from the inside out. The name of a template is that of its instance, in that one's own methods.
func lookup(fr Frame, name string) []*types.Type {
	u := fr.File.Universe()
	if frames := fr.File.Frames(fr.Addr - 1); len(frames) > 0 {
		for _, scope := range enclosing(frames[0].Function) {
			if found := u.Lookup(scope + "::" + name); len(found) > 0 {
				return found
			}
			if plain := cxxname.WithoutArgs(scope); plain != scope && (plain == name || strings.HasSuffix(plain, "::"+name)) {
				if found := u.Lookup(scope); len(found) > 0 {
					return found
				}
			}
		}
	}
	return u.Lookup(name)
}

// enclosing returns the scopes of a demangled function, innermost first:
// "a::b<c::d>" and "a" of "a::b<c::d>::f(e::g)".
func enclosing(function string) []string {
	var scopes []string
	depth := 0
	for i := 0; i < len(function); i++ {
		switch c := function[i]; {
		case c == '<':
			depth++
		case c == '>' && depth > 0:
			depth--
		case depth > 0:
		case c == '(' || c == ' ': // parameters; a result type before a template's name
			if c == '(' {
				return scopes
			}
			function, i, scopes = function[i+1:], -1, nil
		case c == ':' && i+1 < len(function) && function[i+1] == ':':
			scopes = append([]string{function[:i]}, scopes...)
			i++
		}
	}
	return scopes
}

// typesInStatement lists the types that a statement says it allocates: those
// of "new T" and of a cast before a call, else those of each first sizeof
// within a call. None if the statement is not understood.
//
//	p = (struct T *)malloc(n);          struct T
//	p = calloc(n, sizeof(T *));         T *
//	p = malloc(sizeof *p + extra);      *p
//	h->v = realloc(h->v, n * sizeof *h->v);  *h.v
//	p = new (std::nothrow) ns::T(1);    ns::T
func typesInStatement(text string) []string {
	toks := words(text)
	var strong, weak, factors []string
	for i, t := range toks {
		switch {
		case t == "new":
			if name := typeAfterNew(toks[i+1:]); name != "" {
				strong = append(strong, name)
			}
		case t == "sizeof":
			switch name := typeOfSizeof(toks[i+1:]); {
			case name == "":
			case i > 0 && toks[i-1] == "*":
				factors = append(factors, name)
			default:
				weak = append(weak, name)
			}
		case t == "(":
			name, n := typeName(toks[i+1:])
			rest := toks[min(i+1+n, len(toks)):]
			if strings.HasSuffix(name, "*") && len(rest) >= 3 && rest[0] == ")" && isName(rest[1]) && rest[2] == "(" {
				strong = append(strong, strings.TrimSpace(strings.TrimSuffix(name, "*")))
			}
		}
	}
	if len(strong) > 0 {
		return strong
	}
	weak = append(weak, factors...) // n * sizeof(int) + sizeof(struct T)
	if len(weak) > 1 && strings.Count(text, ";") <= 1 && strings.Count(text, "alloc") <= 1 {
		weak = weak[:1] // sizeof(struct T) + n * sizeof(int)
	}
	return weak
}

func typeAfterNew(toks []string) string {
	if len(toks) > 0 && toks[0] == "(" { // placement or nothrow
		depth := 0
		for i, t := range toks {
			if t == "(" {
				depth++
			} else if t == ")" {
				if depth--; depth == 0 {
					toks = toks[i+1:]
					break
				}
			}
		}
	}
	name, _ := typeName(toks)
	return name
}

// typeOfSizeof reads what follows sizeof: a type in parentheses, or an expression, with
// parentheses or without: stars, a variable, indices and members. An expression is
// returned without what stands in its brackets, and with . for ->.
func typeOfSizeof(toks []string) string {
	paren := len(toks) > 0 && toks[0] == "("
	if paren {
		toks = toks[1:]
	}
	if e := objectExpression(toks); e != "" {
		return e
	}
	if !paren {
		return ""
	}
	name, n := typeName(toks)
	if n >= len(toks) || toks[n] != ")" {
		return ""
	}
	return name
}

// objectExpression reads "*p", "*h->items[i]", "h->items[0]" and the like; "" for what
// else there is, a single name among it, which may be a type's.
func objectExpression(toks []string) string {
	var b strings.Builder
	for len(toks) > 0 && toks[0] == "*" {
		b.WriteByte('*')
		toks = toks[1:]
	}
	if len(toks) == 0 || !isName(toks[0]) {
		return ""
	}
	plain := b.Len() == 0
	b.WriteString(toks[0])
	for toks = toks[1:]; len(toks) > 0; plain = false {
		switch {
		case toks[0] == "[":
			if toks = behindBrackets(toks); toks == nil {
				return ""
			}
			b.WriteString("[]")
		case (toks[0] == "." || toks[0] == "->") && len(toks) > 1 && isName(toks[1]):
			b.WriteString("." + toks[1])
			toks = toks[2:]
		case toks[0] == "::" || plain:
			return ""
		default:
			return b.String()
		}
	}
	if plain {
		return ""
	}
	return b.String()
}

// behindBrackets returns what follows the index that the words begin with, nil if it
// does not end.
func behindBrackets(toks []string) []string {
	depth := 0
	for i, t := range toks {
		switch t {
		case "[":
			depth++
		case "]":
			if depth--; depth == 0 {
				return toks[i+1:]
			}
		}
	}
	return nil
}

// beforeBrackets returns what stands before the index that the words end in, nothing if it does not begin.
func beforeBrackets(toks []string) []string {
	depth := 0
	for i, t := range slices.Backward(toks) {
		switch t {
		case "]":
			depth++
		case "[":
			if depth--; depth == 0 {
				return toks[:i]
			}
		}
	}
	return nil
}

// typeName reads a type's name with template arguments and stars; n is how
// many words it has.
func typeName(toks []string) (name string, n int) {
	var b strings.Builder
	angle := 0
	for n < len(toks) {
		t := toks[n]
		switch {
		case t == "<":
			angle++
		case t == ">":
			angle--
		case t == "const" || t == "struct" || t == "class" || t == "union":
			n++
			continue
		case isName(t), t == "::", t == "*", angle > 0 && t == ",":
		default:
			t = ""
		}
		if t == "" || angle < 0 || strings.HasSuffix(b.String(), "*") && t != "*" && angle == 0 {
			break
		}
		if b.Len() > 0 && (isName(t) && isName(toks[n-1]) || t == "*" && angle == 0 && !strings.HasSuffix(b.String(), "*")) {
			b.WriteByte(' ')
		}
		b.WriteString(t)
		n++
	}
	return b.String(), n
}

func isName(t string) bool {
	c := t[0]
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= '0' && c <= '9'
}

// words splits source text into names, numbers and punctuation; string and
// character literals become one word.
func words(text string) []string {
	var out []string
	for i := 0; i < len(text); {
		c := text[i]
		j := i + 1
		switch {
		case c <= ' ':
			i++
			continue
		case isName(text[i:]):
			for j < len(text) && isName(text[j:]) {
				j++
			}
		case c == '"' || c == '\'':
			for j < len(text) && text[j] != c {
				if text[j] == '\\' {
					j++
				}
				j++
			}
			j = min(j+1, len(text))
		case strings.HasPrefix(text[i:], "::") || strings.HasPrefix(text[i:], "->"):
			j = i + 2
		}
		out = append(out, text[i:j])
		i = j
	}
	return out
}

// allocatorType returns the type that a C++ allocator allocates, where the
// call stands in one, itself or inlined.
func allocatorType(f *objfile.File, pc uint64) (name string, t *types.Type) {
	for _, fr := range f.Frames(pc) {
		arg := allocatorArgument(fr.Function)
		if arg == "" {
			continue
		}
		if t := classNamed(f, arg); t != nil {
			return "std::allocator<" + arg + ">", t
		}
	}
	return "", nil
}

// madeType returns the type of the object that std::make_unique makes, where the call at pc is its own: what is seen
// first of a structure may be the "this" of its first member.
func madeType(f *objfile.File, pc uint64) (name string, t *types.Type) {
	frames := f.Frames(pc)
	if len(frames) == 0 {
		return "", nil
	}
	arg := madeArgument(frames[0].Function)
	if arg == "" {
		return "", nil
	}
	return "std::make_unique<" + arg + ">", classNamed(f, arg)
}

// classNamed returns the one type with a name that a function or an object has in its own.
func classNamed(f *objfile.File, name string) *types.Type {
	found := f.Universe().Lookup(name)
	if len(found) == 0 {
		found = f.Universe().Lookup(cxxname.WithoutEnumerators(name))
	}
	if len(found) == 1 && found[0] != nil && found[0].Size > 0 {
		return found[0]
	}
	return nil
}

// classOfTable returns the class to whose objects a pointer to a virtual table belongs.
func classOfTable(f *objfile.File, addr uint64) (name string, t *types.Type) {
	if name = f.ClassOfVTable(addr); name == "" {
		return "", nil
	}
	return name, classNamed(f, name)
}

// allocatorArgument returns T of "std::__new_allocator<T>::allocate(unsigned
// long, void const*)" and its kin.
func allocatorArgument(function string) string {
	for _, class := range [...]string{"std::__new_allocator<", "__gnu_cxx::new_allocator<", "std::allocator<", "__gnu_cxx::__new_allocator<"} {
		if _, rest, ok := strings.Cut(function, class); ok {
			_, args, behind, _ := cxxname.CutTemplate("<" + rest)
			if len(args) > 0 && (strings.HasPrefix(behind, "::allocate(") || behind == "::allocate") {
				return args[0]
			}
		}
	}
	return ""
}

// madeArgument returns T of "… std::make_unique<T, int>(int&&)".
func madeArgument(function string) string {
	for _, maker := range [...]string{"std::make_unique<", "std::__1::make_unique<"} {
		before, rest, ok := strings.Cut(function, maker)
		if !ok || before != "" && !strings.HasSuffix(before, " ") {
			continue
		}
		_, args, behind, _ := cxxname.CutTemplate("<" + rest)
		if len(args) > 0 && (behind == "" || behind[0] == '(') {
			return args[0]
		}
	}
	return ""
}
