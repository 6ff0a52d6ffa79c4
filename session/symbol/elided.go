package symbol

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/slice/cfg"
	"mgtrace/trace"
	"mgtrace/types"
	"mgtrace/x86"
)

// Member is a field that code assigns to as a member of something, or elements of it.
type Member struct {
	Name    string
	Element bool
	Classes string // the instances of templates that it is a member of, see Instances
}

// Instances are the instances of templates, by their plain names, in which something lies at an offset of an object of a type, a
// line each: of a vector's members in a node that vector, and its bases that have arguments.
func Instances(t *types.Type, off int64) string {
	var out []string
	for t != nil {
		if t.Kind == types.Array && t.Elem != nil && t.Elem.Size > 0 {
			t, off = t.Elem, off%t.Elem.Size
			continue
		}
		if _, _, rest, instance := cxxname.CutTemplate(t.Name); instance {
			if class := cxxname.Plain(strings.TrimSuffix(t.Name, rest)); !slices.Contains(out, class) {
				out = append(out, class)
			}
		}
		i := slices.IndexFunc(t.Members, func(m types.Member) bool {
			return m.Type != nil && m.Offset >= 0 && m.Offset <= off && off < m.Offset+m.Type.Size
		})
		if i < 0 {
			break
		}
		t, off = t.Members[i].Type, off-t.Members[i].Offset
	}
	return strings.Join(out, "\n")
}

// MemberOf is the member that a C path ends in.
func MemberOf(path string) Member {
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	return Member{Name: name, Element: strings.HasSuffix(path, "]")}
}

// WholesOf are the members on a C path that its last is a part of.
func WholesOf(path string) (out []string) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		name, _, _ = strings.Cut(name, "[")
		out = append(out, name)
	}
	return out
}

// Begin is where the machine function begins that an address is in.
func (s *Table) Begin(pc trace.Addr) (trace.Addr, bool) {
	im, ok := s.Image(pc)
	if !ok || im.Obj == nil {
		return 0, false
	}
	fn, ok := im.Obj.FuncAt(uint64(pc - im.Bias))
	return im.Bias + trace.Addr(fn.Addr), ok
}

// Elided finds a statement that assigns a member by its text, in the machine function with an
// entry or in one that is inlined there, though no instruction there stores it: the compiler
// keeps the value in a register, or has found that nothing reads it. stored tells the fields
// of the stores that ran, by instruction; any other may store the member. A store counts that
// stands at another line (Assign). Statements to which control can not have come since do not count, nor, once the member was
// written, those that assign it in a variable of the function alone.
func (s *Table) Elided(entry trace.Addr, m Member, stored map[trace.Addr][]string, since Since) (file string, line int, ok bool) {
	c := s.function(entry)
	if c == nil {
		return "", 0, false
	}
	came := s.came(c, since)
	does := map[statement]bool{}
	var lineless []uint64 // stores that may be those of any statement
	for _, in := range c.insts {
		ran, mine := in.stores(m, stored, c.bias)
		if !mine {
			continue
		}
		frames := s.storing(c.bias+trace.Addr(in.at), m, stored)
		if ran && (len(frames) == 0 || frames[0].Line == 0) {
			lineless = append(lineless, in.at)
		}
		for _, f := range frames {
			does[statement{file: f.File, line: f.Line}] = true
		}
	}
	copied := since.Written && c.once(uint64(since.Store-c.bias))
	return first(s.meaning(c, m, func(k statement, p *part) bool {
		return came(k, nil) && !does[statement{file: k.file, line: k.line}] && !c.leads(p.code, lineless) && !c.joined(k, m, stored) && !s.eitherWay(c, k, p, m, stored) &&
			!(copied && s.ofVariable(c, k, p, m))
	}))
}

// Shared finds the statements that assign a member by their text, in the machine function with an
// instruction or in one that is inlined there, and at which no instruction stores it: the compiler has found
// that memory holds the value already, or has made one store of several that paths which meet have in common. A
// store into static memory is one of a member that lies elsewhere only if a member of that name lies there: then
// it is that of the static object which the text means.
func (s *Table) Shared(pc trace.Addr, m Member, static bool, stored map[trace.Addr][]string) []objfile.Frame {
	entry, _ := s.Begin(pc)
	c := s.function(entry)
	if c == nil {
		return nil
	}
	does := map[statement]bool{}
	for _, in := range c.insts {
		if _, mine := in.stores(m, stored, c.bias); !mine || in.static && !static && c.member(in.target).Name != m.Name {
			continue
		}
		for _, f := range s.storing(c.bias+trace.Addr(in.at), m, stored) {
			does[statement{file: f.File, line: f.Line}] = true
		}
	}
	var out []objfile.Frame
	for _, k := range s.meaning(c, m, func(k statement, _ *part) bool {
		return !does[statement{file: k.file, line: k.line}] && (m.Classes == "" || !c.callsAt(k)) // or the operator= of a smart pointer stores it
	}) {
		f := objfile.Frame{File: k.file, Line: k.line, Function: k.function}
		if !slices.Contains(out, f) && len(out) < maxMerged {
			out = append(out, f)
		}
	}
	return out
}

// first is the first of some statements.
func first(list []meant) (file string, line int, ok bool) {
	if len(list) == 0 {
		return "", 0, false
	}
	return list[0].file, list[0].line, true
}

// Pending finds a statement that assigns a member by its text, and whose value may still have to be
// stored at an instruction of the machine function: a way leads there from the statement, and no
// store of it lies on that way. In each place where a function is inlined its statements have
// stores of their own; one behind the loop that this place is in comes late, as the compiler
// keeps the value in a register until then, and so does one that lies behind the instruction with others of the
// function before it. Statements to which control can not have come since do not count.
func (s *Table) Pending(pc trace.Addr, m Member, stored map[trace.Addr][]string, since Since) (file string, line int, ok bool) {
	entry, _ := s.Begin(pc)
	c := s.function(entry)
	if c == nil {
		return "", 0, false
	}
	_, does := s.assigners(c, m, stored)
	came := s.came(c, since)
	return first(s.meaning(c, m, func(k statement, p *part) bool {
		stores, from := does[k], p.code
		if !came(k, stores) {
			return false
		}
		if len(stores) > 0 {
			if k.calls == "" {
				return false
			}
			if from = p.looped(c.loops, stores); from == nil {
				return c.behind(uint64(pc-c.bias), p, stores)
			}
		}
		return c.flow == nil || c.flow.Reached(from, func(at uint64) bool { return slices.Contains(stores, at) })[uint64(pc-c.bias)]
	}))
}

// Overdue finds a statement of an inlined function that assigns a member by its text, that may have been executed
// since an instruction of the machine function stored the member, and that has no store where it stands: nothing
// reads what it would store. Statements to which control can not have come since do not count.
func (s *Table) Overdue(last trace.Addr, m Member, stored map[trace.Addr][]string, since Since) (file string, line int, ok bool) {
	entry, _ := s.Begin(last)
	c := s.function(entry)
	if c == nil || c.flow == nil {
		return "", 0, false
	}
	stores, does := s.assigners(c, m, stored)
	at := uint64(last - c.bias)
	came := s.came(c, since)
	unstored := c.flow.Reached([]uint64{at}, func(pc uint64) bool { return pc != at && slices.Contains(stores, pc) })
	return first(s.meaning(c, m, func(k statement, p *part) bool {
		return k.calls != "" && len(does[k]) == 0 && came(k, nil) && slices.ContainsFunc(p.code, func(at uint64) bool { return unstored[at] })
	}))
}

// storing are the places of the statements of which an instruction may be the store of a member.
func (s *Table) storing(pc trace.Addr, m Member, stored map[trace.Addr][]string) []objfile.Frame {
	frames := s.Frames(pc)
	out := slices.Concat(frames, s.Merged(pc))
	if also := s.meantBy(pc, frames, stored[pc], m.Name); also != nil {
		out = append(out, also[0])
	}
	return out
}

// assigners finds the instructions that store a member, and of each statement, in the place where it is inlined,
// those that are its own: at its line, by the line table or by what they assign (Assign), and those that
// stand at another line of its function, though that does not assign the member (meantBy).
func (s *Table) assigners(c *function, m Member, stored map[trace.Addr][]string) (all []uint64, of map[statement][]uint64) {
	of = map[statement][]uint64{}
	for _, in := range c.insts {
		if _, mine := in.stores(m, stored, c.bias); !mine {
			continue
		}
		all = append(all, in.at)
		pc := c.bias + trace.Addr(in.at)
		frames := s.Frames(pc)
		for i, f := range frames {
			k := statement{f.File, f.Line, place(frames[i+1:])}
			of[k] = append(of[k], in.at)
		}
		if also := s.meantBy(pc, frames, stored[pc], m.Name); also != nil {
			k := statement{also[0].File, also[0].Line, place(also[1:])}
			of[k] = append(of[k], in.at)
		}
	}
	return all, of
}

// Since is what is known of the way that control has come since a member was last stored: what memory holds
// is what the store means, but for a statement that has been executed after it.
type Since struct {
	// Store is the instruction that stored it, or that has the block allocated of which nobody has written the member.
	Store trace.Addr
	// Written: it has stored the member, which was written.
	Written bool
	// Passed says that control may have come to an instruction since. nil: to all.
	Passed func(pc trace.Addr) bool
}

// came says of statements of a machine function, each in the place where it is inlined, whether control may have come to
// one since a store. Ways begin at the store; in a function that may have been entered anew since, or that was waiting for a call
// which did the store, there too. What is asked is the code of the outermost call around a statement. Some of it has to have
// a place of its own: compilers put elsewhere what neither writes, calls nor branches, and the statement's own store.
func (s *Table) came(c *function, since Since) func(k statement, stores []uint64) bool {
	if c.flow == nil || since.Passed == nil {
		return func(statement, []uint64) bool { return true }
	}
	reached := map[uint64]bool{}
	entry := c.entry
	var from []uint64
	i, here := c.inst(uint64(since.Store - c.bias))
	if fn, ok := c.obj.FuncAt(entry); !here || !ok || fn.Base != "main" {
		from = append(c.calls(), entry)
	}
	if here {
		from = append(from, c.insts[i].at)
		for ; i >= 0 && c.runs(i); i-- { // what stands before it may be of a statement behind it
			reached[c.insts[i].at] = true
		}
	}
	begins := map[uint64]bool{}
	for _, at := range from {
		begins[at], reached[at] = true, true
	}
	unpassed := func(at uint64) bool { return !begins[at] && !since.Passed(c.bias+trace.Addr(at)) }
	for at := range c.flow.Reached(from, unpassed) {
		reached[at] = reached[at] || !unpassed(at)
	}
	known := c.flow.Reached([]uint64{entry}, func(uint64) bool { return false }) // but for what exceptions lead to
	known[entry] = true
	return func(k statement, stores []uint64) bool {
		placed := false
		for _, i := range c.outer[outermost(k.calls)] {
			in := &c.insts[i]
			if reached[in.at] || !known[in.at] {
				return true
			}
			placed = placed || (in.store || in.branches || in.calls) && !slices.Contains(stores, in.at)
		}
		return !placed
	}
}

// calls are the instructions of a machine function that call another.
func (c *function) calls() (at []uint64) {
	for _, in := range c.insts {
		if in.calls {
			at = append(at, in.at)
		}
	}
	return at
}

// inst finds the instruction that an address is in.
func (c *function) inst(at uint64) (i int, ok bool) {
	i, ok = slices.BinarySearchFunc(c.insts, at, func(in inst, at uint64) int { return cmp.Compare(in.at, at) })
	if !ok {
		i--
	}
	return i, i >= 0 && at < c.insts[i].at+uint64(c.insts[i].len)
}

// runs says that control comes to an instruction by the one before it alone.
func (c *function) runs(i int) bool {
	if i == 0 {
		return false
	}
	before := &c.insts[i-1]
	return before.at+uint64(before.len) == c.insts[i].at && !before.branches && !c.targets[c.insts[i].at]
}

// meant is a statement with the name of its function.
type meant struct {
	file     string
	line     int
	function string
}

// meaning finds the statements that assign a member by their text and of which a question
// is true, in order.
func (s *Table) meaning(c *function, m Member, ask func(statement, *part) bool) (out []meant) {
	if m.Name == "" { // an element of a block that is an array has no name to look for
		return nil
	}
	assigns := m.assigned()
	others := c.others(m)
	for in, p := range c.parts {
		if p.frame == nil {
			continue
		}
		first, body := s.expanded(p.frame, c)
		choices := 0 // of the preprocessor that are open
		for i, line := range body {
			k := statement{in.file, first + i, in.calls}
			if d := directive().FindStringSubmatch(line.text); d != nil && d[1] == "if" {
				choices++
			} else if d != nil && d[1] == "endif" {
				choices--
			}
			// What the preprocessor leaves out has no instructions at all, nor what it makes nothing of by another definition of a
			// macro. What the compiler leaves out may have none, but neither has a loop over elements of which it has made a call of memmove.
			if others(p.frame.Function, line.all()) {
				continue // of another instance's object
			}
			may, must := line.assigned(assigns)
			if may && (must || len(c.code(k)) > 0) && (choices <= 0 && !m.Element || len(c.obj.LineAddrs(k.file, k.line)) > 0) && ask(k, p) {
				out = append(out, meant{k.file, k.line, p.frame.Function})
			}
		}
	}
	slices.SortFunc(out, func(a, b meant) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line)) })
	return out
}

// others says of a function and a line of its text whether that assigns the member of the function's own object only, and this is of another
// instance of a template than the member's: what a vector of numbers does to its end concerns no vector of pointers. That names of instances can be
// compared is known where the machine function has one of the member's own in it.
func (c *function) others(m Member) func(function, text string) bool {
	own := map[string]string{} // by template
	for class := range strings.SplitSeq(m.Classes, "\n") {
		template, _, _, _ := cxxname.CutTemplate(class)
		own[template] = class
		if strings.Count(m.Classes, template+"<") > 1 { // one in another: which of them is meant is not known
			delete(own, template)
		}
	}
	here := false
	for _, p := range c.parts {
		if p.frame != nil {
			template, class := instanceOf(p.frame.Function)
			here = here || class != "" && own[template] == class
		}
	}
	if !here {
		return func(string, string) bool { return false }
	}
	mine := regexp.MustCompile(`\bthis\s*->\s*(\w+\s*\.\s*)*` + regexp.QuoteMeta(m.Name) + `\b`)
	name := regexp.MustCompile(`\b` + regexp.QuoteMeta(m.Name) + `\b`)
	return func(function, text string) bool {
		template, class := instanceOf(function)
		return own[template] != "" && class != own[template] && len(mine.FindAllString(text, -1)) == len(name.FindAllString(text, -1))
	}
}

// instanceOf is the template, and its instance by the plain name, of which a function is a member; "" where there is none.
func instanceOf(function string) (template, class string) {
	template, _, rest, ok := cxxname.CutTemplate(function)
	name, _, _ := strings.Cut(rest, "(")
	if !ok || !strings.HasPrefix(rest, "::") || strings.ContainsAny(name, " &*") { // what begins with the type that it returns
		return "", ""
	}
	return template, cxxname.Plain(strings.TrimSuffix(function, rest))
}

// line is one of a function's body, with what its macros stand for: each of the meanings, where there are several.
type line struct {
	text     string
	meanings []string
}

// all is the line and all that it may mean.
func (l *line) all() string { return l.text + " ; " + strings.Join(l.meanings, " ; ") }

// assigned says whether a line assigns something by one of its meanings, and by all of them.
func (l *line) assigned(something *regexp.Regexp) (may, must bool) {
	if something.MatchString(l.text) {
		return true, true
	}
	must = len(l.meanings) > 0
	for _, text := range l.meanings {
		is := something.MatchString(text)
		may, must = may || is, must && is
	}
	return may, must
}

// expanded is the body of a function.
func (s *Table) expanded(f *objfile.Frame, c *function) (first int, lines []line) {
	k := inlined{file: f.File, declared: f.Declared}
	if s.bodies[k] == nil {
		_, body := s.body(f)
		macros := s.Sources.Macros(f.File, c.files)
		lines := make([]line, len(body))
		for i := range body {
			lines[i] = line{body[i], macros.Expand(body[i:])}
		}
		s.bodies[k] = lines
	}
	return f.Declared, s.bodies[k]
}

// function is a machine function.
type function struct {
	entry uint64
	files []string // of the program's sources
	obj   *objfile.File
	bias  trace.Addr
	insts []inst // by address
	parts map[inlined]*part
	nodes bool       // variables in its frame are nodes
	flow  *cfg.Graph // nil where it is not known where all jumps lead
	loops []cfg.Loop
	outer map[string][]int // the instructions of the outermost calls that are inlined, by where these are, as of insts; of "" all
	// targets are those of its jumps.
	targets map[uint64]bool
}

type inst struct {
	at     uint64
	len    int
	frames []objfile.Frame
	// branches: control may go on elsewhere than behind it, calls left aside.
	branches, calls bool
	store           bool // to other memory than the stack, unless nodes are there
	static          bool // to an address that does not depend on registers: target
	target          uint64
}

// member is what lies at an address in static memory, if it is a member of a variable there.
func (c *function) member(addr uint64) Member {
	v, ok := c.obj.GlobalAt(addr)
	if !ok || v.Type == nil {
		return Member{}
	}
	for _, f := range v.Type.Scalars() {
		if at := addr - uint64(v.Loc.Offset); uint64(f.Offset) <= at && at < uint64(f.Offset+f.Size) {
			return MemberOf(f.Path)
		}
	}
	return Member{}
}

// stores says whether an instruction stores a member, and whether it ran: then it is known.
func (in *inst) stores(m Member, stored map[trace.Addr][]string, bias trace.Addr) (ran, mine bool) {
	fields, ran := stored[bias+trace.Addr(in.at)]
	return ran, slices.Contains(fields, m.Name) || !ran && in.store
}

// function reads the machine function with an entry, nil if that can not be.
func (s *Table) function(entry trace.Addr) *function {
	c, known := s.functions[entry]
	if !known {
		c = s.read(entry)
		s.functions[entry] = c
	}
	return c
}

func (s *Table) read(entry trace.Addr) *function {
	im, ok := s.Image(entry)
	if !ok || im.Obj == nil {
		return nil
	}
	fn, ok := im.Obj.FuncAt(uint64(entry - im.Bias))
	if !ok {
		return nil
	}
	fn.Ranges = slices.SortedFunc(slices.Values(fn.Ranges), func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) }) // a cold part may lie ahead
	c := &function{entry: fn.Addr, files: im.Obj.SourceFiles(), obj: im.Obj, bias: im.Bias, parts: map[inlined]*part{}, targets: map[uint64]bool{}, outer: map[string][]int{}}
	c.nodes = s.Frame != nil && s.Frame(im.Path, fn.Addr)
	direct := true
	for at, in := range im.Insts(&fn) {
		if in == nil {
			return nil
		}
		direct = direct && (in.Kind != x86.KindJmp || in.Direct)
		jumps := in.Kind == x86.KindJmp || in.Kind == x86.KindJcc
		if jumps && in.Direct {
			c.targets[in.Target] = true
		}
		i := inst{at: at, len: int(in.Len), branches: jumps || in.Kind == x86.KindRet || in.Kind == x86.KindStop, calls: in.Kind == x86.KindCall, frames: im.Obj.Frames(at), store: in.Effect == x86.EffectStore && (in.Store.Base != x86.RSP || c.nodes), static: in.Store.Absolute()}
		if i.target = uint64(in.Store.Disp); in.Store.RIPRelative {
			i.target += at + uint64(in.Len)
		}
		c.add(i)
	}
	if direct {
		c.flow = cfg.Explore(fn.Addr, machine{im.Obj, &fn})
		c.loops = c.flow.Loops()
	}
	return c
}

// add takes the next instruction.
func (c *function) add(in inst) {
	c.outer[""] = append(c.outer[""], len(c.insts))
	if n := len(in.frames); n > 1 {
		at := place(in.frames[n-1:])
		c.outer[at] = append(c.outer[at], len(c.insts))
	}
	c.insts = append(c.insts, in)
	for i := range in.frames {
		f := &in.frames[i]
		k := inlined{f.File, f.Declared, place(in.frames[i+1:])}
		if c.parts[k] == nil {
			c.parts[k] = &part{}
		}
		c.parts[k].code = append(c.parts[k].code, in.at)
		if f.Line > 0 {
			c.parts[k].frame = f
		}
	}
}

// inlined is a function in a machine function, at one place of those where it is inlined.
type inlined struct {
	file     string
	declared int
	calls    string // where it is inlined, see place; "" for the machine function itself
}

// statement is a line of it.
type statement struct {
	file  string
	line  int
	calls string
}

// part is the code of an inlined function.
type part struct {
	frame *objfile.Frame  // of one of its instructions that have a line
	whole map[string]bool // its variables, and whether each is a structure itself; nil: they were not looked for
	code  []uint64        // its instructions, with those of what is inlined into it
}

// place names the place at which a function is inlined by the frames around it.
func place(around []objfile.Frame) string {
	var b strings.Builder
	for _, f := range around {
		fmt.Fprintf(&b, "%s:%d:%d ", f.File, f.Line, f.Column)
	}
	return b.String()
}

// outermost is the last of the places that place has named: that in the machine function itself.
func outermost(calls string) string {
	calls = strings.TrimSuffix(calls, " ")
	if i := strings.LastIndexByte(calls, ' '); i >= 0 {
		calls = calls[i+1:]
	}
	if calls != "" {
		calls += " "
	}
	return calls
}

// looped returns what is of the function in the loop into which it is inlined, if the stores
// stand outside of that. A loop that is all the function's own is none that it is inlined into.
func (p *part) looped(loops []cfg.Loop, stores []uint64) (in []uint64) {
	for _, l := range loops { // inner ones first
		in = in[:0]
		for _, at := range p.code {
			if l.Contains(at) {
				in = append(in, at)
			}
		}
		if len(in) > 0 && len(in) < l.Len() {
			if slices.ContainsFunc(stores, l.Contains) {
				return nil
			}
			return in
		}
	}
	return nil
}

// leads says whether a way may lead from one of some instructions to one of others.
func (c *function) leads(from, to []uint64) bool {
	if len(to) == 0 || c.flow == nil {
		return len(to) > 0
	}
	reached := c.flow.Reached(from, func(uint64) bool { return false })
	return slices.ContainsFunc(to, func(at uint64) bool { return reached[at] })
}

// behind says whether all of some stores lie behind an instruction, on every way to them, and some of the
// part that they are of before it: the compiler has moved them there.
func (c *function) behind(pc uint64, p *part, stores []uint64) bool {
	if c.flow == nil {
		return false
	}
	entry := c.entry
	before := c.flow.Reached([]uint64{entry}, func(at uint64) bool { return at == pc })
	before[entry], before[pc] = true, false
	in := func(at uint64) bool { return before[at] }
	return !slices.ContainsFunc(stores, in) && slices.ContainsFunc(p.code, in)
}

// joined says whether a statement has its store of a member in common with another one, at whose line it stands: ways
// from code of the one and of the other lead to it, and neither passes through code of the other statement.
//
//	17	n->kind = odd(key);     jmp  1:                    line 17
//	19	n->kind = even(key);    1: mov %rax,0x10(%rbx)     line 19
func (c *function) joined(k statement, m Member, stored map[trace.Addr][]string) bool {
	mine := c.code(k)
	if c.flow == nil || len(mine) == 0 {
		return false
	}
	for _, in := range c.insts {
		if ran, stores := in.stores(m, stored, c.bias); !ran || !stores {
			continue
		}
		at := func(pc uint64) bool { return pc == in.at }
		apart := func(code, others []uint64) []uint64 { // what leads to the store past the others; compilers move code of both to where they part
			return slices.DeleteFunc(slices.Clone(code), func(pc uint64) bool {
				ways := c.flow.Reached([]uint64{pc}, at)
				return pc == in.at || !ways[in.at] || slices.ContainsFunc(others, func(other uint64) bool { return ways[other] })
			})
		}
		for i, f := range in.frames {
			if f.File != k.file || f.Line == k.line || f.Line == 0 || place(in.frames[i+1:]) != k.calls {
				continue
			}
			theirs := apart(c.code(statement{f.File, f.Line, k.calls}), mine)
			if len(theirs) > 0 && len(apart(mine, theirs)) > 0 {
				return true
			}
		}
	}
	return false
}

// code is what there is of a statement, in the place where it is inlined.
func (c *function) code(k statement) (out []uint64) {
	for _, in := range c.insts {
		for i, f := range in.frames {
			if f.File == k.file && f.Line == k.line && place(in.frames[i+1:]) == k.calls {
				out = append(out, in.at)
			}
		}
	}
	return out
}

// callsAt: a statement calls another machine function.
func (c *function) callsAt(k statement) bool {
	return slices.ContainsFunc(c.insts, func(in inst) bool {
		return in.calls && slices.ContainsFunc(in.frames, func(f objfile.Frame) bool { return f.File == k.file && f.Line == k.line })
	})
}

// machine is the code of a function, for its loops.
type machine struct {
	obj *objfile.File
	fn  *objfile.Func
}

// At implements cfg.Code.
func (m machine) At(pc uint64) (cfg.Inst, bool) {
	in, err := x86.Decode(m.obj.Code(pc, x86.MaxLen), pc)
	if err != nil {
		return cfg.Inst{}, false
	}
	out := cfg.Inst{Len: uint8(in.Len), Target: in.Target}
	switch in.Kind {
	case x86.KindCall:
		out.Kind = cfg.Call
		if to, ok := m.obj.FuncAt(in.Target); in.Direct && ok && to.NoReturn {
			out.Kind = cfg.Stop
		}
	case x86.KindRet:
		out.Kind = cfg.Return
	case x86.KindJmp:
		if out.Kind = cfg.Jump; !in.Direct {
			out.Kind = cfg.Indirect
		}
	case x86.KindJcc:
		out.Kind = cfg.Cond
	case x86.KindStop:
		out.Kind = cfg.Stop
	}
	return out, true
}

// Targets implements cfg.Code.
func (machine) Targets(uint64) ([]uint64, bool) { return nil, false }

// Entry implements cfg.Code: all that is not the function's is another one's.
func (m machine) Entry(pc uint64) bool { return !m.fn.Contains(pc) }

// assigned matches code that assigns the member.
func (m Member) assigned() *regexp.Regexp {
	if m.Element {
		return assigns(ofMember, m.Name, index)
	}
	return assigns(ofMember, m.Name, "")
}
