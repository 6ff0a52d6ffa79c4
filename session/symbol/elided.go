package symbol

import (
	"cmp"
	"regexp"
	"slices"

	"mgtrace/objfile"
	"mgtrace/trace"
	"mgtrace/x86"
)

// Member is a field that code assigns to as a member of something, or elements of it.
type Member struct {
	Name    string
	Element bool
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
// of the stores that ran, by instruction; any other may store the member. Where moved is set,
// a store counts that stands at another line (Assign), as it does that is done later.
func (s *Table) Elided(entry trace.Addr, m Member, stored map[trace.Addr][]string, moved bool) (file string, line int, ok bool) {
	im, ok := s.Image(entry)
	if !ok || im.Obj == nil {
		return "", 0, false
	}
	fn, ok := im.Obj.FuncAt(uint64(entry - im.Bias))
	if !ok {
		return "", 0, false
	}
	type statement struct {
		file string
		line int
	}
	does := map[statement]bool{}
	functions := map[statement]*objfile.Frame{} // by where they are declared
	for _, r := range fn.Ranges {
		code, at := im.Obj.Code(r[0], int(r[1]-r[0])), r[0]
		for len(code) > 0 {
			in, err := x86.Decode(code, at)
			if err != nil {
				return "", 0, false
			}
			pc, frames := im.Bias+trace.Addr(at), im.Obj.Frames(at)
			for i := range frames {
				if f := &frames[i]; f.Line > 0 {
					functions[statement{f.File, f.Declared}] = f
				}
			}
			if fields, ran := stored[pc]; slices.Contains(fields, m.Name) || !ran && in.Effect == x86.EffectStore && in.Store.Base != x86.RSP {
				if moved {
					frames = slices.Concat(s.Frames(pc), s.Merged(pc))
				}
				if moved && ran && (len(frames) == 0 || frames[0].Line == 0) {
					return "", 0, false // it may be that of any statement
				}
				for _, f := range frames {
					does[statement{f.File, f.Line}] = true
				}
			}
			code, at = code[in.Len:], at+uint64(in.Len)
		}
	}
	assigns := m.assigned()
	var found []statement
	for _, f := range functions {
		first, body := s.body(f)
		for i, text := range body {
			// What the preprocessor leaves out has no instructions at all.
			if k := (statement{f.File, first + i}); assigns.MatchString(text) && !does[k] && len(im.Obj.LineAddrs(k.file, k.line)) > 0 {
				found = append(found, k)
			}
		}
	}
	if len(found) == 0 {
		return "", 0, false
	}
	k := slices.MinFunc(found, func(a, b statement) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line)) })
	return k.file, k.line, true
}

// assigned matches code that assigns the member.
func (m Member) assigned() *regexp.Regexp {
	if m.Element {
		return assigns(ofMember, m.Name, index)
	}
	return assigns(ofMember, m.Name, "")
}
