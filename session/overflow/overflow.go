package overflow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mgtrace/constraints/check"
	"mgtrace/flow"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/provenance"
	"mgtrace/report"
	"mgtrace/session/analysis"
	"mgtrace/session/recording"
	"mgtrace/session/symbol"
	"mgtrace/trace"
	"mgtrace/types"
)

// Check says which of the recorded instructions left the blocks that they had addresses of.
func Check(ctx context.Context, rec *recording.Recording) (*report.Report, error) {
	f, err := rec.Flow()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := &overflows{rec: rec, flow: f, parts: map[trace.Addr]*types.Type{}, names: map[[2]trace.Addr]string{}, sets: map[[2]trace.Addr]bool{}, a: analysis.New(&check.Spec{}, &rec.Prog, rec.Symbols, analysis.Options{})}
	if err := v.follow(ctx); err != nil {
		return nil, err
	}
	return v.report(), nil
}

// overflows follows the provenance of addresses through a recording.
type overflows struct {
	rec   *recording.Recording
	flow  *flow.Reader
	c     *provenance.Checker
	a     *analysis.Analysis         // for statements and types
	parts map[trace.Addr]*types.Type // by where the blocks were allocated
	names map[[2]trace.Addr]string   // of functions of libraries that were called
	sets  map[[2]trace.Addr]bool     // statements that set a pointer to an array, by where the block was allocated
	// granted is a library that asks what the allocator granted it, where the program does not: what
	// it writes is judged as well. "": there is none.
	granted string
	insts   uint64 // that were followed
}

// grants says that memory behind blocks may be used that was granted beyond what was asked for.
func (v *overflows) grants() bool {
	if v.rec.Prog.Granted != "" { // which a note of the recording tells
		return true
	}
	for _, im := range v.rec.Symbols.Images {
		if im.Obj != nil && im.Obj.Imports("malloc_usable_size") {
			v.granted = im.Path
			return true
		}
	}
	return false
}

// follow takes events and instructions in the order of their instants.
func (v *overflows) follow(ctx context.Context) error {
	allocators, err := v.allocators()
	if err != nil {
		return err
	}
	v.c = provenance.New(provenance.Options{
		Allocator: func(pc trace.Addr) bool { return allocators[pc] },
		Library: func(pc trace.Addr) bool {
			im, ok := v.rec.Symbols.Image(pc)
			return !ok || !im.Traced
		},
		Part: v.part, Meant: v.meant, Array: v.assigned, Granted: v.grants(),
	})
	err = v.rec.Together(ctx, v.flow, v.event, func(r *flow.Record) error {
		if r.Kind == flow.Exec && !v.c.Has(r.Block) {
			v.c.Block(r.Block, v.flow.Block(r.Block))
		}
		if r.Kind == flow.Exec {
			v.insts += uint64(r.N)
		}
		v.c.Record(r)
		return nil
	})
	if errors.Is(err, flow.ErrTruncated) {
		return nil // the report says so
	}
	return err
}

func (v *overflows) event(ev *trace.Event) error {
	switch ev.Kind {
	case trace.KindAlloc, trace.KindFree, trace.KindRealloc:
		v.c.Heap(ev)
	case trace.KindBulk:
		if probe.IsAllocator(ev.Name) {
			v.c.Heap(ev)
		}
	case trace.KindSignal:
		v.a.Signalled(ev)
	case trace.KindExit:
		v.a.Ended(ev)
	}
	return nil
}

// allocators are the entries of the functions that give out and free blocks: the
// standard ones by their linker names, those that the user declared by the names that
// the recording has.
func (v *overflows) allocators() (map[trace.Addr]bool, error) {
	names := map[string]bool{}
	err := v.rec.Each(func(ev *trace.Event) error {
		switch ev.Kind {
		case trace.KindAlloc, trace.KindFree, trace.KindRealloc, trace.KindRefused:
			names[ev.Name] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	at := map[trace.Addr]bool{}
	for _, im := range v.rec.Symbols.Images {
		if im.Obj == nil {
			continue
		}
		for _, fn := range im.Obj.FuncsLinked(probe.IsAllocator) {
			at[im.Bias+trace.Addr(fn.Addr)] = true
		}
		if im.Traced {
			for name := range names {
				for _, fn := range im.Obj.FuncsNamed(name) {
					at[im.Bias+trace.Addr(fn.Addr)] = true
				}
			}
		}
	}
	return at, nil
}

// part is how long the array is that begins off bytes behind the start of a block: of a
// block that debug information gives a structure's type, of which there is one in it.
func (v *overflows) part(n *provenance.Node, off uint64) uint64 {
	t, ok := v.parts[n.BornPC]
	if !ok {
		e := v.a.Typing.Evidence(n.Name, n.BornStack)
		if e.Type != nil && e.Offset == 0 && !e.Array && e.Type.Kind == types.Struct {
			t = e.Type
		}
		v.parts[n.BornPC] = t
	}
	if t == nil || n.Size < uint64(t.Size) || n.Size >= 2*uint64(t.Size) {
		return 0
	}
	f := arrayAt(t, int64(off))
	if f == nil || f.Count < 2 || int64(off)+f.Size >= t.Size { // one at the end may be meant to be longer
		return 0
	}
	return uint64(f.Size)
}

// textual are the functions of the C library whose destination is a text, never a
// structure as a whole.
var textual = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^_*(?:IO_)?(?:st[rp]n?(?:cpy|cat)|strl(?:cpy|cat)|v?sn?printf|v?f?s?scanf|f?gets|v?asprintf|wcs\w+)(?:_chk|_unlocked)?$`)
})

// meant says that a write computed from the start of a structure is one to the array that begins off
// bytes behind it: a function writes text there that was given the address of the structure, or the
// statement names the array. Not one that names what lies where the write is as well, or that
// assigns to something else: s->x[i-3] = s->y[0] writes to x, whatever the compiler adds to s.
func (v *overflows) meant(n *provenance.Node, off, to uint64, indexed bool, pc, call trace.Addr) bool {
	at := pc
	if call != 0 {
		at = call
		if !indexed && textual().MatchString(v.called(pc, call)) {
			return true
		}
	}
	name, there := v.arrayName(n, off), v.arrayName(n, to)
	_, _, source := v.rec.Symbols.Where(at)
	switch {
	case name == "":
		return false
	case named(source, name):
		return writesTo(source, name, there)
	}
	return v.passed(n, at, name, there)
}

// destination is what stands in front of an assignment, and what is incremented.
var destination = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([^;{}=,(]*[^;{}=,(!<>&|^%*/+-])(?:(?:[-+*/%&|^]|<<|>>)?=[^=]|\+\+|--)`)
})

// writesTo says that a line of source that names an array writes to it, rather than to what lies
// there or to something else.
func writesTo(line, array, there string) bool {
	memory, to := false, ""
	for _, m := range destination().FindAllStringSubmatch(line, -1) {
		if strings.ContainsAny(m[1], "[]*.>") {
			memory, to = true, to+m[1]
		}
	}
	if !memory { // a call
		to = line
	}
	return named(to, array) && !(there != array && there != "" && named(to, there))
}

// arrayName is the name of the array that begins off bytes behind the start of a structure, in
// its own one.
func (v *overflows) arrayName(n *provenance.Node, off uint64) string {
	name := v.fieldName(n, off)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// assigned says that the statement at pc sets a variable to the array with which a structure
// begins: p = s->name. The variable is a pointer to scalars as the array has them, and lies
// where it is stored to, which no other does: as without optimisation. An optimising compiler may
// take p for s from then on.
func (v *overflows) assigned(n *provenance.Node, pc trace.Addr, disp int64) bool {
	key := [2]trace.Addr{pc, n.BornPC}
	sets, known := v.sets[key]
	if !known {
		sets = v.part(n, 0) != 0 && v.setsPointer(n, pc, disp)
		v.sets[key] = sets
	}
	return sets
}

func (v *overflows) setsPointer(n *provenance.Node, pc trace.Addr, disp int64) bool {
	elem := arrayAt(v.parts[n.BornPC], 0).Elem
	im, ok := v.rec.Symbols.Image(pc)
	if !ok || im.Obj == nil {
		return false
	}
	var there []objfile.Variable
	for _, x := range im.Obj.Variables(uint64(pc - im.Bias)) {
		if x.Loc == (objfile.Location{Kind: objfile.LocRegOffset, Reg: dwarfRBP, Offset: disp}) {
			there = append(there, x)
		}
	}
	if len(there) != 1 || !pointsTo(&there[0], elem) {
		return false
	}
	_, _, source := v.rec.Symbols.Where(pc)
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(there[0].Name) + `\s*=\s*(?:\([\w\s]+\*\s*\)\s*)?&?[\w\s>.()*\[\]-]*(?:->|\.)\s*` +
		regexp.QuoteMeta(v.arrayName(n, 0)) + `\s*(?:\[\s*0\s*\])?\s*[;,]`).MatchString(source)
}

// dwarfRBP is the number of RBP in debug information (x86-64 psABI, figure 3.36).
const dwarfRBP = 6

// pointsTo says that a variable is a pointer to scalars like elem.
func pointsTo(x *objfile.Variable, elem *types.Type) bool {
	return x.Type.IsPointerTo() && x.Type.Elem.Kind == elem.Kind && x.Type.Elem.Size == elem.Size
}

// passed says that the function that has the statement at was given the array's address:
// the statement names a pointer to scalars as the array has them, and the call of the
// function names the array, or such a pointer again. fill(s->name) says so of a write
// through fill's char *. If the call names what lies where the write is as well, that may be
// what is meant.
func (v *overflows) passed(n *provenance.Node, at trace.Addr, name, there string) bool {
	array := arrayAt(v.parts[n.BornPC], 0)
	if array == nil {
		return false
	}
	stack := before(v.c.Stack())
	if i := slices.Index(stack, at); i >= 0 {
		stack = stack[i+1:]
	}
	for k, pc := range append([]trace.Addr{at}, stack...) {
		im, ok := v.rec.Symbols.Image(pc)
		if !ok || im.Obj == nil || !im.Traced {
			return false
		}
		for i, frame := range v.rec.Symbols.Frames(pc) {
			text, _ := v.rec.Symbols.Sources.Line(frame.File, frame.Line)
			if k+i > 0 && named(text, name) {
				return there == "" || there == name || !named(text, there)
			}
			if !slices.ContainsFunc(im.Obj.Variables(uint64(pc-im.Bias)), func(x objfile.Variable) bool {
				return pointsTo(&x, array.Elem) && named(text, x.Name)
			}) {
				return false
			}
		}
	}
	return false
}

// named says that a name stands in a line of source.
func named(line, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(line)
}

// called is the function that the program called at call and that led to pc.
func (v *overflows) called(pc, call trace.Addr) string {
	key := [2]trace.Addr{pc, call}
	name, ok := v.names[key]
	if !ok {
		name = v.library(&provenance.Fault{PC: pc, Stack: v.c.Stack()})
		v.names[key] = name
	}
	return name
}

// arrayAt returns the array of scalars that begins at an offset of a structure, nil if
// none does.
func arrayAt(t *types.Type, off int64) *types.Type {
	for _, m := range t.Members {
		if m.Offset < 0 || m.BitSize > 0 || m.Type == nil || off < m.Offset || off >= m.Offset+max(m.Type.Size, 1) {
			continue
		}
		switch m.Type.Kind {
		case types.Struct:
			return arrayAt(m.Type, off-m.Offset)
		case types.Array:
			if e := m.Type.Elem; off == m.Offset && e != nil && !e.HasMembers() && e.Kind != types.Array {
				return m.Type
			}
		}
		return nil
	}
	return nil
}

// report makes the report.
func (v *overflows) report() *report.Report {
	t, ok := v.rec.Reader.Trailer()
	if !ok {
		t = trace.Trailer{Why: "the trace was cut off: its writer was killed, or its disk was full"}
	}
	r := analysis.NewReport(&v.rec.Prog, &t)
	for _, f := range v.c.Faults() {
		r.CPoints = append(r.CPoints, v.fault(&f))
	}
	r.Followed = &report.Followed{Instructions: v.insts, Blocks: v.c.Nodes()}
	r.Checked.Objects = map[string]int{}
	r.Exit = v.a.Exit
	r.Notes = append(r.Notes, v.rec.Prog.Notes...)
	if v.granted != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("%s asks how much of its blocks it may use beyond what it asked for (malloc_usable_size): an access behind a block is judged only if it reaches another one", filepath.Base(v.granted)))
	}
	r.Warnings = append(r.Warnings, v.rec.Prog.Warnings...)
	r.Warnings = append(r.Warnings, v.rec.Warned...)
	if n := v.c.Gaps(); n > 0 {
		r.Complete = false
		r.Why = append(r.Why, report.Plural(n, "time", "times")+" instructions are missing; what was known of addresses before is not used behind them")
	}
	if n := v.c.Dropped(); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s more faults are not listed", report.Thousands(n)))
	}
	if ft, ok := v.flow.Trailer(); !ok || !ft.Complete {
		r.Complete = false
		r.Why = append(r.Why, "the recording of the instructions ends early")
	}
	return r
}

// fault describes one fault, as a C-point of the statement that did it.
func (v *overflows) fault(f *provenance.Fault) report.CPoint {
	n := v.c.Node(f.Node)
	n.Size, n.Resized = f.Room, f.Resized
	s := v.statement(f)
	s.Rank, s.Kind, s.Operations, s.Thread = 1, "wrote", int(min(f.Count, 1<<30)), uint32(f.Thread)
	s.Contributes = []string{f.Kind.String()}
	c := report.CPoint{Kind: "line", Fault: f.Kind.String(), Function: s.Function, File: s.File, Path: s.Path, Line: s.Line}
	c.Access = v.access(f, &n)
	s.Change = v.sentence(f, &n, c.Access)
	s.Also = append(s.Also, v.life(&n, "the block")...)
	if f.Other != 0 && f.Other != f.Node {
		o := v.c.Node(f.Other)
		if o.Resized.At > f.Instant {
			o.Resized = provenance.Resize{}
		}
		s.Also = append(s.Also, v.life(&o, "the other block")...)
	}
	s.Evidence = append([]string{evidenceOf(f)}, s.Also...)
	s.Why = report.Sentence(s.Evidence[0])
	nodes := map[string]string{"X": blockText(&n)}
	if f.Other != 0 {
		o := v.c.Node(f.Other)
		nodes["Y"] = blockText(&o)
	}
	c.Inconsistencies = []report.Inconsistency{{Constraint: f.Kind.String(), Nodes: nodes, Reason: s.Change, Total: int(min(f.Count, 1<<30))}}
	c.Suspects = []report.Suspect{s}
	if freed := v.freed(f, &n); freed != nil {
		c.Suspects = append(c.Suspects, *freed)
	}
	return c
}

// freed is the free before a use or another free of the block: it may be the one that
// is wrong.
func (v *overflows) freed(f *provenance.Fault, n *provenance.Node) *report.Suspect {
	if f.Kind != provenance.UseAfterFree && f.Kind != provenance.DoubleFree || n.Died == 0 {
		return nil
	}
	s := v.a.Statement(v.own(n.DiedPC-1, n.DiedStack), nil)
	s.Rank, s.Kind, s.Operations = 2, "wrote", 1
	s.Contributes = []string{f.Kind.String()}
	s.Change = "freed " + blockText(n)
	s.Evidence = []string{"it freed the block before that"}
	return &s
}

// own is the innermost address of a stack that is in the program's own code: its
// statement is the one that a user can change. The stack has return addresses.
func (v *overflows) own(pc trace.Addr, stack []trace.Addr) trace.Addr {
	return v.rec.Symbols.Own(innermost(pc, stack))
}

// innermost puts an instruction in front of the return addresses around it, as if it were
// a call.
func innermost(pc trace.Addr, stack []trace.Addr) []trace.Addr {
	return append([]trace.Addr{pc + 1}, stack...)
}

// before makes addresses inside the calls of return addresses.
func before(stack []trace.Addr) []trace.Addr {
	out := slices.Clone(stack)
	for i := range out {
		out[i]--
	}
	return out
}

// statement is the fault's, or where the program called the library that did it.
func (v *overflows) statement(f *provenance.Fault) report.Suspect {
	pc := f.PC
	if f.Kind == provenance.DoubleFree || f.Kind == provenance.InvalidFree {
		pc--
	}
	at := v.own(pc, f.Stack)
	s := v.a.Statement(at, innermost(pc, f.Stack))
	if at != pc {
		s.Address = v.rec.Symbols.Address(pc)
	}
	return s
}

// library names the function of a library that made the access, "" if the program did.
func (v *overflows) library(f *provenance.Fault) string {
	im, ok := v.rec.Symbols.Image(f.PC)
	if f.Syscall > 0 || !ok || im.Traced || im.Obj == nil {
		return ""
	}
	at := f.PC
	for _, ret := range f.Stack { // the function that the program called
		if im, ok := v.rec.Symbols.Image(ret - 1); ok && im.Traced {
			break
		}
		at = ret - 1
	}
	if im, ok := v.rec.Symbols.Image(at); ok && im.Obj != nil {
		if fn, ok := im.Obj.FuncAt(uint64(at - im.Bias)); ok {
			return plainFunction(fn.Name)
		}
	}
	return filepath.Base(im.Path)
}

// chosen is what glibc calls the variants of a function among which the processor
// chooses: __strcpy_avx2, __memmove_avx_unaligned_erms.
var chosen = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^_*(\w+?)(?:_(?:avx2|avx512|avx|evex512|evex|sse2|sse4_1|sse4_2|ssse3|sse42|erms|unaligned|rtm|no_vzeroupper|back|fma|x86_64))+$`)
})

func plainFunction(name string) string {
	if m := chosen().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	plain := strings.TrimLeft(name, "_")
	if rest, ok := strings.CutPrefix(plain, "isoc99_"); ok { // scanf as C99 has it
		plain = rest
	}
	if textual().MatchString(plain) {
		return plain
	}
	return name
}

// access is the fault as data.
func (v *overflows) access(f *provenance.Fault, n *provenance.Node) *report.Access {
	a := &report.Access{Write: f.Write, Addr: fmt.Sprintf("%#x", uint64(f.Addr)), Size: f.Size, Distance: f.Beyond, Times: f.Count,
		Instant: uint64(f.Instant), Through: v.block(n), By: v.library(f)}
	if f.Syscall > 0 {
		a.By = "system call " + trace.SyscallName(uint64(f.Syscall-1))
	}
	if f.Other != 0 && f.Other != f.Node {
		o := v.c.Node(f.Other)
		b := v.block(&o)
		a.Hit = &b
	}
	if f.Kind == provenance.PartOverflow {
		a.Field, a.FieldSize = v.fieldName(n, f.Part), f.PartLen
	}
	return a
}

func (v *overflows) fieldName(n *provenance.Node, off uint64) string {
	t := v.parts[n.BornPC]
	if t == nil {
		return ""
	}
	path := ""
	for {
		i := slices.IndexFunc(t.Members, func(m types.Member) bool {
			return m.Type != nil && m.Offset >= 0 && int64(off) >= m.Offset && int64(off) < m.Offset+max(m.Type.Size, 1)
		})
		if i < 0 {
			return path
		}
		m := t.Members[i]
		if m.Name != "" {
			if path != "" {
				path += "."
			}
			path += m.Name
		}
		if m.Type.Kind != types.Struct {
			return path
		}
		off -= uint64(m.Offset)
		t = m.Type
	}
}

func (v *overflows) block(n *provenance.Node) report.HeapBlock {
	b := report.HeapBlock{Addr: fmt.Sprintf("%#x", uint64(n.Start)), Size: n.Size, Allocated: v.where(n.BornPC, n.BornStack)}
	if n.Resized.At != 0 {
		w := v.where(n.Resized.PC, n.Resized.Stack)
		b.Resized = &w
	}
	if n.Died != 0 {
		w := v.where(n.DiedPC, n.DiedStack)
		b.Freed = &w
	}
	return b
}

// where is the program's own statement of a call that returned to pc.
func (v *overflows) where(pc trace.Addr, stack []trace.Addr) report.Place {
	at := v.own(pc-1, stack)
	fr, _, text := v.rec.Symbols.Where(at)
	if fr.File == "" {
		return report.Place{Text: v.rec.Symbols.Address(at)}
	}
	return report.Place{File: symbol.Short(fr.File), Line: fr.Line, Function: fr.Function, Text: text}
}

// life says where a block comes from, and where it went.
func (v *overflows) life(n *provenance.Node, what string) []string {
	out := []string{fmt.Sprintf("%s was allocated at %s", what, placeText(v.where(n.BornPC, n.BornStack)))}
	if n.Resized.At != 0 {
		out = append(out, fmt.Sprintf("%s was given its size by realloc at %s", what, placeText(v.where(n.Resized.PC, n.Resized.Stack))))
	}
	switch {
	case n.Moved != 0:
		out = append(out, fmt.Sprintf("%s was moved by realloc at %s", what, placeText(v.where(n.DiedPC, n.DiedStack))))
	case n.Died != 0:
		out = append(out, fmt.Sprintf("%s was freed at %s", what, placeText(v.where(n.DiedPC, n.DiedStack))))
	}
	return out
}

func placeText(p report.Place) string {
	if p.File == "" {
		return p.Text
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

func blockText(n *provenance.Node) string {
	return fmt.Sprintf("a block of %s at %#x", report.Plural(int(n.Size), "byte", "bytes"), uint64(n.Start))
}

// sentence tells the access.
func (v *overflows) sentence(f *provenance.Fault, n *provenance.Node, a *report.Access) string {
	who := a.By
	if who == "" {
		who = "it"
	}
	verb := "reads"
	if f.Write {
		verb = "writes"
	}
	size := report.Plural(int(f.Size), "byte", "bytes")
	switch f.Kind {
	case provenance.DoubleFree:
		return fmt.Sprintf("%s is freed again", blockText(n))
	case provenance.InvalidFree:
		return fmt.Sprintf("%#x is freed, %d bytes into %s", uint64(f.Addr), uint64(f.Addr-n.Start), blockText(n))
	case provenance.UseAfterFree:
		return fmt.Sprintf("%s %s %s of %s, which is freed", who, verb, size, blockText(n))
	case provenance.PartOverflow:
		return fmt.Sprintf("%s %s %s %s of %s, in %s", who, verb, size, distance(f, "the "+report.Thousands(f.PartLen)+" bytes"), a.Field, blockText(n))
	}
	hit := ", where no block is"
	if a.Hit != nil {
		o := v.c.Node(f.Other)
		if hit = ", in " + blockText(&o); o.Died != 0 && o.Died <= f.Instant {
			hit += " that is freed"
		}
	}
	return fmt.Sprintf("%s %s %s %s of %s%s", who, verb, size, distance(f, ""), blockText(n), hit)
}

// distance is where an access lies: "up to 12 bytes behind the end".
func distance(f *provenance.Fault, of string) string {
	if of != "" {
		of = " of " + of
	}
	if f.Beyond < 0 {
		return fmt.Sprintf("%s in front of the start%s", report.Plural(int(-f.Beyond), "byte", "bytes"), of)
	}
	return fmt.Sprintf("up to %s behind the end%s", report.Plural(int(f.Beyond), "byte", "bytes"), of)
}

func evidenceOf(f *provenance.Fault) string {
	switch f.Kind {
	case provenance.Overflow:
		return "its address was computed from one of this block"
	case provenance.PartOverflow:
		return "its address was computed for this field"
	case provenance.UseAfterFree:
		return "its address is one of a block that is freed"
	}
	return "the block is not there to be freed"
}
