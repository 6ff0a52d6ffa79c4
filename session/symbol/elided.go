package symbol

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mgtrace/objfile"
	"mgtrace/slice/cfg"
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
// a store counts that is done later: one that stands at another line (Assign), in another place
// where the function is inlined, or behind the loop that this place is in.
func (s *Table) Elided(entry trace.Addr, m Member, stored map[trace.Addr][]string, moved bool) (file string, line int, ok bool) {
	im, ok := s.Image(entry)
	if !ok || im.Obj == nil || m.Name == "" { // elements of a block that is an array have no name to look for
		return "", 0, false
	}
	fn, ok := im.Obj.FuncAt(uint64(entry - im.Bias))
	if !ok {
		return "", 0, false
	}
	does := map[statement][]uint64{} // the instructions that store the member
	parts := map[inlined]*part{}
	plain := true // where all jumps lead is known
	for _, r := range fn.Ranges {
		code, at := im.Obj.Code(r[0], int(r[1]-r[0])), r[0]
		for len(code) > 0 {
			in, err := x86.Decode(code, at)
			if err != nil {
				return "", 0, false
			}
			plain = plain && (in.Kind != x86.KindJmp || in.Direct)
			pc, frames := im.Bias+trace.Addr(at), im.Obj.Frames(at)
			for i := range frames {
				f := &frames[i]
				k := inlined{f.File, f.Declared, place(frames[i+1:], moved)}
				if parts[k] == nil {
					parts[k] = &part{}
				}
				parts[k].code = append(parts[k].code, at)
				if f.Line > 0 {
					parts[k].frame = f
				}
			}
			if fields, ran := stored[pc]; slices.Contains(fields, m.Name) || !ran && in.Effect == x86.EffectStore && in.Store.Base != x86.RSP {
				if moved {
					frames = slices.Concat(s.Frames(pc), s.Merged(pc))
				}
				if moved && ran && (len(frames) == 0 || frames[0].Line == 0) {
					return "", 0, false // it may be that of any statement
				}
				for i, f := range frames {
					k := statement{f.File, f.Line, place(frames[i+1:], moved)}
					does[k] = append(does[k], at)
				}
			}
			code, at = code[in.Len:], at+uint64(in.Len)
		}
	}
	var loops []cfg.Loop
	if !moved && plain {
		loops = cfg.Loops(fn.Addr, machine{im.Obj, &fn})
	}
	assigns := m.assigned()
	var found []statement
	for in, p := range parts {
		if p.frame == nil {
			continue
		}
		first, body := s.body(p.frame)
		for i, text := range body {
			k := statement{in.file, first + i, in.calls}
			// What the preprocessor leaves out has no instructions at all.
			if assigns.MatchString(text) && len(im.Obj.LineAddrs(k.file, k.line)) > 0 &&
				(len(does[k]) == 0 || in.calls != "" && p.sunk(does[k], loops)) {
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
	frame *objfile.Frame // of one of its instructions that have a line
	code  []uint64       // its instructions, with those of what is inlined into it
}

// place names the place at which a function is inlined by the frames around it; all places are
// one where they are not told apart.
func place(around []objfile.Frame, alike bool) string {
	if alike {
		return ""
	}
	var b strings.Builder
	for _, f := range around {
		fmt.Fprintf(&b, "%s:%d:%d ", f.File, f.Line, f.Column)
	}
	return b.String()
}

// sunk reports whether the function is inlined into a loop and the stores stand outside of it:
// the compiler keeps the value in a register until the loop ends. A loop that is all the
// function's own is none that it is inlined into.
func (p *part) sunk(stores []uint64, loops []cfg.Loop) bool {
	for _, l := range loops { // inner ones first
		n := 0
		for _, pc := range p.code {
			if l.Contains(pc) {
				n++
			}
		}
		if n > 0 && n < l.Len() {
			return !slices.ContainsFunc(stores, l.Contains)
		}
	}
	return false
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
