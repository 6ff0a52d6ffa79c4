package probe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"mgtrace/objfile"
	"mgtrace/trace"
	"mgtrace/types"
	"mgtrace/x86"
)

// watchKey says which functions are one to the user: the clones and inlined
// instances of a function are the function.
type watchKey struct {
	image int
	name  string
}

// planWatched adds the watched functions: entries and exits of every copy, and
// the boundaries of every inlined instance.
func (b *builder) planWatched() error {
	var errs []error
	for _, pattern := range b.request.Watch {
		found := b.find(pattern)
		inlined := b.inlined(pattern)
		if len(found) == 0 && len(inlined) == 0 {
			errs = append(errs, b.unknown(pattern))
			continue
		}
		for _, l := range found {
			if returns := b.watch(l); !returns && !l.fn.NoReturn {
				b.warn("%s never returns as far as its code shows: it has no exit C-point", l.fn.Name)
			}
		}
		for _, l := range inlined {
			b.watchInlined(l)
		}
	}
	return errors.Join(errs...)
}

// watchID numbers a watched function; new says that it is its first copy.
func (b *builder) watchID(image int, name string) (id trace.FuncID, f *trace.Func) {
	key := watchKey{image, name}
	id, ok := b.ids[key]
	if !ok {
		b.plan.Watched = append(b.plan.Watched, trace.Func{Name: name})
		id = trace.FuncID(len(b.plan.Watched))
		b.ids[key] = id
	}
	return id, &b.plan.Watched[id-1]
}

// argsOf is where a function has its first six arguments, nil if they are in the registers in
// order, or nothing is known of them.
func argsOf(file *objfile.File, entry uint64) []Arg {
	var args []Arg
	moved := false
	for i, p := range file.Params(entry) {
		if i == len(objfile.ArgRegs) {
			break
		}
		arg := Arg{Reg: -1}
		switch p.Loc.Kind {
		case objfile.LocReg:
			arg.Reg = slices.Index(objfile.ArgRegs[:], p.Loc.Reg)
		case objfile.LocConst:
			arg.Value = uint64(p.Loc.Offset)
		}
		args = append(args, arg)
		moved = moved || arg.Reg != i
	}
	if !moved {
		return nil
	}
	for i := len(args); i < len(objfile.ArgRegs); i++ {
		args = append(args, Arg{Reg: i})
	}
	return args
}

// Limits of what is told of the stack when a function is entered, bytes.
const (
	maxPassed = 256      // of one object
	unsized   = TextSize // where it is not known how much lies there: a string, void
)

// passedOf says how much a function's pointers are given to work on, where that is text, and whether it is given
// floating-point numbers: Func.Passed, Func.Texts, Func.Floats.
func passedOf(file *objfile.File, entry uint64) (words, texts [len(objfile.ArgRegs)]uint8, floats bool) {
	for _, p := range file.Params(entry) {
		floats = floats || p.Type != nil && p.Type.Size <= 16 && holdsFloat(p.Type)
		reg := slices.Index(objfile.ArgRegs[:], p.Loc.Reg)
		if p.Loc.Kind != objfile.LocReg || reg < 0 || p.Type == nil || p.Type.Kind != types.Pointer {
			continue
		}
		size := int64(unsized)
		if to := p.Type.Elem; to != nil && to.Kind == types.Func {
			size = 0
		} else if to != nil && to.Size > 1 {
			size = min(to.Size, maxPassed)
		}
		words[reg] = uint8((size + 7) / 8)
		texts[reg] = textOf(p.Type.Elem, size)
	}
	return words, texts, floats
}

// textOf says where a pointer leads to text by which is searched: it is to bytes itself, or the first pointer to characters in what
// it leads to, as in a string or a node with a name.
func textOf(to *types.Type, size int64) uint8 {
	if to == nil || to.Kind == types.Void || character(to) {
		return TextHere
	}
	if to.Kind != types.Struct {
		return 0
	}
	for _, s := range to.Scalars() {
		if s.Type.Kind == types.Pointer && s.Type.Elem != nil && character(s.Type.Elem) && s.Offset%8 == 0 && s.Offset+8 <= size {
			return uint8(s.Offset/8 + 1)
		}
	}
	return 0
}

func character(t *types.Type) bool {
	return t.Size == 1 && (t.Kind == types.Int || t.Kind == types.Uint)
}

// holdsFloat: a type is a floating-point number, or has one inside.
func holdsFloat(t *types.Type) bool {
	switch t.Kind {
	case types.Struct, types.Union, types.Array:
		return slices.ContainsFunc(t.Scalars(), func(s types.Scalar) bool { return s.Type.Kind == types.Float })
	}
	return t.Kind == types.Float
}

// watch adds a machine function, and says whether it returns, as far as its code shows.
func (b *builder) watch(l located) (returns bool) {
	name := l.fn.Base
	if name == "" {
		name = l.fn.Name
	}
	id, w := b.watchID(l.image, name)
	if w.File == "" {
		w.File, w.Line = l.fn.File, l.fn.Line
	}
	f := Func{Name: l.fn.Name, ID: id, Role: RoleWatch, File: l.fn.File, Line: l.fn.Line}
	if !b.enter(&f, l) {
		return true
	}
	for _, other := range b.plan.Funcs {
		if other.Role == RoleWatch && other.Entry == f.Entry {
			return true // named twice
		}
	}
	f.Args = argsOf(b.plan.Images[l.image].File, l.fn.Addr)
	f.Passed, f.Texts, f.Floats = passedOf(b.plan.Images[l.image].File, l.fn.Addr)
	f.Returns = b.returns(l)
	b.land(l, f.Returns)
	if len(f.Returns) == 0 {
		w.NoReturn = true
	}
	b.plan.Funcs = append(b.plan.Funcs, f)
	return len(f.Returns) > 0
}

// unknown is the error for a name that nothing has, with the nearest that there are.
func (b *builder) unknown(pattern string) error {
	if strings.HasPrefix(pattern, "0x") {
		return fmt.Errorf("there is no code at %s in %s", pattern, b.plan.Images[0].Path)
	}
	names := b.nearest(pattern)
	if len(names) == 0 {
		return fmt.Errorf("there is no function %q in %s", pattern, b.plan.Images[0].Path)
	}
	return fmt.Errorf("there is no function %q in %s; there is %s", pattern, b.plan.Images[0].Path, strings.Join(names, ", "))
}

// minPart is how long a name is at least of which those are told that contain it.
const minPart = 4

// nearest returns up to three names of functions of the traced images that are
// spelt most like name, or that have it in theirs: a macro may have put something before it.
func (b *builder) nearest(name string) []string {
	name, _, _ = strings.Cut(name, "(")
	best := map[string]int{}
	for _, i := range b.traced() {
		for _, fn := range b.plan.Images[i].File.Funcs() {
			base, _, _ := strings.Cut(fn.Base, "(")
			d := distance(name, base)
			if len(name) >= minPart && strings.Contains(base, name) {
				d = min(d, 2)
			}
			if base != "" && d <= max(2, len(name)/3) {
				best[base] = d
			}
		}
	}
	names := make([]string, 0, len(best))
	for n := range best {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool {
		if best[names[i]] != best[names[j]] {
			return best[names[i]] < best[names[j]]
		}
		return names[i] < names[j]
	})
	return names[:min(3, len(names))]
}

// distance is the number of characters to insert, delete, change or swap with
// their neighbour to get from one name to the other.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var rows [3][65]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, up, upup := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], upup[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}

// instance is an inlined instance in an image.
type instance struct {
	image int
	at    objfile.Inlined
}

func (b *builder) inlined(pattern string) (found []instance) {
	if strings.HasPrefix(pattern, "0x") {
		return nil
	}
	for _, i := range b.traced() {
		for _, in := range b.plan.Images[i].File.Inlined(pattern) {
			if !in.Inner { // its boundaries lie in the middle of a call
				found = append(found, instance{i, in})
			}
		}
	}
	return found
}

// watchInlined adds a point at the entry of an inlined instance, and one
// behind every edge that leaves it.
func (b *builder) watchInlined(l instance) {
	id, w := b.watchID(l.image, l.at.Name)
	s := b.code(l.image)
	where := fmt.Sprintf("the instance of %s that is inlined into %s at %s", l.at.Name, l.at.In, l.at.CallFile)
	if l.at.CallLine > 0 { // clang merges calls of several lines
		where += fmt.Sprintf(":%d", l.at.CallLine)
	}
	point := trace.Point{Function: l.at.Name, Func: id, File: l.at.CallFile, Line: l.at.CallLine}
	if w.File == "" {
		w.File, w.Line = l.at.File, l.at.Line
	}
	if w.File == "" {
		for _, fr := range s.file.Frames(l.at.Entry) {
			if fr.Function == l.at.Name {
				w.File = fr.File
				break
			}
		}
	}
	b.plan.Inlined[id] = append(b.plan.Inlined[id], Instance{l.image, l.at.Ranges})
	point.Kind = "inline-entry"
	entries := s.inlineEntries(l.at)
	named := len(entries) == 0 // by debug information only
	if named {
		entries = append(entries, l.at.Entry)
	}
	first := len(b.plan.Points)
	probed := slices.DeleteFunc(slices.Clone(entries), func(addr uint64) bool { return !b.point(l.image, addr, point) })
	if len(probed) == 0 {
		b.warn("the entry of %s can not be probed", where)
		return
	}
	if len(probed) < len(entries) || named && s.enteredElsewhere(l.at) {
		b.warn("the entry of %s is not among its instructions: calls of it may be missed", where)
	} else if s.unrolled(l.at, entries) {
		b.warn("%s is there several times in a row, as its loop was unrolled: calls of it may be missed", where)
	} else if s.comesBack(l.at, entries) {
		b.warn("%s is come back to in the middle, where it may begin anew: calls of it may be missed", where)
	}
	exits, certain := s.inlineExits(l.at, entries)
	point.Kind = "inline-exit"
	for _, addr := range exits {
		if !b.point(l.image, addr, point) {
			certain = false
		}
	}
	if !certain || len(exits) == 0 {
		b.warn("not every exit of %s is known", where)
		return
	}
	for i := range b.plan.Points[first:] {
		b.plan.Points[first+i].Left = true
	}
}

// point adds a point if its address can be probed.
func (b *builder) point(image int, addr uint64, p trace.Point) bool {
	s := b.code(image)
	site, ok := b.site(image, addr)
	if !ok || len(s.ranges) > 0 && !s.starts.has(addr) {
		return false
	}
	in, err := x86.Decode(s.file.Code(addr, x86.MaxLen), addr)
	if err != nil {
		return false
	}
	if ok, _ := in.KernelProbeable(); !ok && !b.options.InProcess {
		behind := addr + uint64(in.Len)
		return in.IsNop() && !s.targets.has(behind) && b.point(image, behind, p)
	}
	at := Point{Site: site, Point: p}
	if strings.HasPrefix(p.Kind, "inline-") {
		at.Frame = frameAt(s.file, addr)
	}
	b.plan.Points = append(b.plan.Points, at)
	return true
}

// frameAt tells where the frame lies of which an address is an instruction.
func frameAt(file *objfile.File, addr uint64) Frame {
	r, ok := file.Rule(addr)
	return Frame{
		Known: ok && !r.Outermost && (r.CFA == objfile.RegSP || r.CFA == objfile.RegBP),
		ByBP:  r.CFA == objfile.RegBP, Offset: r.Offset,
	}
}

// enteredElsewhere says that the entry of an instance lies before its instructions, as gcc
// has it of one in a loop, and that control gets to them without it.
func (s *sweep) enteredElsewhere(at objfile.Inlined) bool {
	fn, ok := s.file.FuncAt(at.Entry)
	if !ok || within(at.Ranges, at.Entry) {
		return false
	}
	own := s.bridge(at)
	into := func(addr uint64) bool { return addr != at.Entry && within(own, addr) }
	entered := at.Entry // behind what surely runs once the entry has
	s.each(coderange{lo: at.Entry, hi: at.Entry + shortGap}, func(pc uint64, in *x86.Inst) {
		if pc == entered && (in.Kind == x86.KindOther || in.Kind == x86.KindCall) {
			entered += uint64(in.Len)
		}
	})
	elsewhere := false
	for _, r := range fn.Ranges {
		s.each(coderange{lo: r[0], hi: r[1]}, func(pc uint64, in *x86.Inst) {
			if within(own, pc) || at.Entry <= pc && pc < entered {
				return
			}
			jumps := in.Direct && (in.Kind == x86.KindJmp || in.Kind == x86.KindJcc)
			falls := in.Kind != x86.KindJmp && in.Kind != x86.KindRet && in.Kind != x86.KindStop
			elsewhere = elsewhere || jumps && into(in.Target) || falls && into(pc+uint64(in.Len))
		})
	}
	return elsewhere
}

// inlineExits finds the instructions of the containing frame to which control
// passes from an inlined instance: the targets of its jumps, what lies behind
// its ranges and the tails it shares with others, and its RET instructions
// themselves. certain is false if an indirect jump may leave too.
func (s *sweep) inlineExits(at objfile.Inlined, entries []uint64) (exits []uint64, certain bool) {
	_, exits, certain = s.extent(at, entries)
	return exits, certain
}

// extent finds these, and the ranges of an instance with what it shares and what was scheduled
// between them.
func (s *sweep) extent(at objfile.Inlined, entries []uint64) (ranges [][2]uint64, exits []uint64, certain bool) {
	ranges = s.bridge(at)
	certain = true
	var left []uint64
	leave := func(addr uint64) {
		if within(ranges, addr) || slices.Contains(left, addr) {
			return
		}
		if end, shared := s.sharedTail(at, entries, ranges, addr); shared {
			ranges = append(ranges, [2]uint64{addr, end})
			return
		}
		left = append(left, addr)
	}
	for i := 0; i < len(ranges); i++ { // grows: tails that are shared
		r := ranges[i]
		var recent recent
		s.unpadded(r, func(pc uint64, in *x86.Inst) {
			next := pc + uint64(in.Len)
			switch {
			case in.Kind == x86.KindRet, in.Kind == x86.KindJmp && !in.Direct && !isSwitch(in, recent.decode(s.file)):
				exits = append(exits, pc)
			case in.Kind == x86.KindJmp && !in.Direct:
				certain = false
			case in.Kind == x86.KindJmp:
				leave(in.Target)
			case in.Kind == x86.KindJcc:
				leave(in.Target)
				leave(next)
			case in.Kind != x86.KindStop:
				leave(next)
			}
			recent.add(pc)
		})
	}
	for _, addr := range left {
		if !within(ranges, addr) { // a shared tail found later
			exits = append(exits, addr)
		}
	}
	slices.Sort(exits)
	return ranges, exits, certain
}

// sharedTail reports whether an instance that goes on at addr gets from there,
// without a branch, back into itself, but not to an entry, or into the middle of another one beside it,
// and where that ends. A compiler merges what two instances have in common at
// their ends (gcc's cross-jumping), and debug information says of the code that is
// left that it is one's of them: to the other it belongs as well. To code in common
// both come, so at one of them by a jump.
func (s *sweep) sharedTail(at objfile.Inlined, entries []uint64, own [][2]uint64, addr uint64) (end uint64, shared bool) {
	on, joined := true, false
	s.each(coderange{lo: addr, hi: addr + shortGap}, func(pc uint64, in *x86.Inst) {
		joined = joined || s.targets.has(pc)
		switch {
		case !on:
		case slices.Contains(entries, pc): // it is left, and entered again
			on = false
		case within(own, pc):
			end, shared, on = pc, true, false
		case in.Kind == x86.KindJmp && in.Direct && within(own, in.Target) && !slices.Contains(entries, in.Target):
			end, shared, on = pc+uint64(in.Len), true, false
		default:
			for _, other := range s.file.InlinedAt(pc) {
				if on && joined && !within(other.Ranges, at.Entry) { // not around the instance
					end, shared = restOf(other, pc)
					on = false
				}
			}
			on = on && (in.Kind == x86.KindOther || in.Kind == x86.KindCall)
		}
	})
	return end, shared
}

// restOf returns the end of the instance's range that addr lies in, if that is
// code in the middle of the instance: what its entry lies ahead of begins it.
func restOf(at objfile.Inlined, addr uint64) (end uint64, middle bool) {
	for _, r := range at.Ranges {
		if r[0] <= addr && addr < r[1] {
			return r[1], at.Entry < addr || at.Entry >= r[1]
		}
	}
	return 0, false
}

// within reports whether an address lies in one of the half-open ranges.
func within(ranges [][2]uint64, addr uint64) bool {
	return slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= addr && addr < r[1] })
}

// shortGap is how many bytes of a caller's instructions may lie scheduled among
// those of an inlined instance.
const shortGap = 64

// bridge joins ranges between which the compiler only scheduled instructions
// of the caller: a short gap that control runs through and that no jump leads
// out of. Passing it does not leave the instance, unless it is entered anew behind
// it: then the caller has a loop around it.
func (s *sweep) bridge(at objfile.Inlined) [][2]uint64 {
	sorted := append([][2]uint64(nil), at.Ranges...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i][0] < sorted[j][0] })
	var out [][2]uint64
	for _, r := range sorted {
		n := len(out)
		gap := n > 0 && r[0] > out[n-1][1]
		if n > 0 && r[0] >= out[n-1][1] && r[0]-out[n-1][1] <= shortGap && !(gap && r[0] == at.Entry && s.again(at, out[n-1])) && s.straight(out[n-1][1], r[0]) {
			out[n-1][1] = r[1]
			continue
		}
		out = append(out, r)
	}
	return out
}

// among are the instructions of the caller that lie between the ranges of an instance, and do
// not leave it.
func (s *sweep) among(at objfile.Inlined) (gaps [][2]uint64) {
	for _, whole := range s.bridge(at) {
		lo := whole[0]
		for _, r := range slices.SortedFunc(slices.Values(at.Ranges), func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) }) {
			if r[0] < whole[0] || r[0] >= whole[1] {
				continue
			}
			if lo < r[0] {
				gaps = append(gaps, [2]uint64{lo, r[0]})
			}
			lo = max(lo, r[1])
		}
	}
	return gaps
}

// straight says that control runs from lo to hi without branches, and comes there only
// from before lo.
func (s *sweep) straight(lo, hi uint64) bool {
	ok := true
	s.each(coderange{lo: lo, hi: hi}, func(pc uint64, in *x86.Inst) {
		ok = ok && (in.Kind == x86.KindOther || in.Kind == x86.KindCall) && !s.targets.has(pc)
	})
	return ok
}
