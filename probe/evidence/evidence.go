package evidence

import (
	"fmt"
	"sync"

	"mgtrace/objfile"
	"mgtrace/types"
)

// Evidence is the type of the blocks that an allocation site allocates.
type Evidence struct {
	Type   *types.Type // nil: nothing is known, or the evidence contradicts itself
	Array  bool        // the code allocates many of them
	Offset int64       // bytes of the block before the first: an allocator's header, the count of new[]
	Why    string      // for reports: what told, or why nothing did
}

// Frame is a return address on the stack of an allocation, as a virtual address
// of the file that it lies in. File is nil where that is not known.
type Frame struct {
	File *objfile.File
	Addr uint64
}

// Source returns a line of a source file, from 1, if it is at hand.
type Source func(file string, line int) (text string, ok bool)

// Finder finds evidence and remembers it. It may be used concurrently.
type Finder struct {
	source Source // may be nil

	mu       sync.Mutex
	sites    map[Frame]*Told
	accesses map[Frame]*Evidence
	statics  statics
}

// NewFinder returns a Finder that reads source text through source, which may be nil.
func NewFinder(source Source) *Finder {
	return &Finder{source: source, sites: map[Frame]*Told{}, accesses: map[Frame]*Evidence{}, statics: statics{}}
}

// MaxFrames is how many wrappers around an allocator are looked through.
const MaxFrames = 16

// ForStack returns what an allocation with this stack allocates: return
// addresses, innermost first. Frames are asked outwards as long as each only
// passes the new pointer on to its caller.
func (f *Finder) ForStack(stack []Frame) Evidence {
	weak := Evidence{Why: "no code of the allocation is known"}
	offset := int64(0)
	for i, fr := range stack {
		if i == MaxFrames {
			break
		}
		if fr.File == nil {
			return orNone(weak, "the allocation is in a module that is not known")
		}
		s := f.ForFrame(fr)
		e := s.Evidence
		e.Offset += offset
		switch {
		case s.Certain:
			return e
		case e.Type != nil && weak.Type == nil:
			weak = e
		}
		if !s.Passes {
			return orNone(weak, s.Why)
		}
		offset += s.PassesAt
	}
	return orNone(weak, "the pointer is passed through every frame as void *")
}

func orNone(weak Evidence, why string) Evidence {
	if weak.Type != nil {
		return weak
	}
	return Evidence{Why: why}
}

// Told is what one frame shows by itself.
type Told struct {
	Evidence
	// Certain: its callers know nothing better. It is not if it handled raw memory, or
	// put a header before what it returned. With no type: two were found.
	Certain  bool
	Passes   bool  // the new pointer can be the function's result…
	PassesAt int64 // …or this many bytes behind it is
}

// certain reports whether a type that a frame shows does not give way to what its
// callers show.
func (s *Told) certain() bool {
	t := s.Type
	return t != nil && !isByte(t) && !(s.Passes && s.PassesAt > 0 && s.PassesAt >= t.Size)
}

// ForFrame returns what one frame of a stack shows.
func (f *Finder) ForFrame(fr Frame) Told {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sites[fr]
	if s == nil {
		s = f.examine(fr)
		s.Certain = s.Certain || s.certain()
		f.sites[fr] = s
	}
	return *s
}

// examine judges one frame: by the code, then by the source text.
func (f *Finder) examine(fr Frame) *Told {
	w := newWalk(fr.File, fr.Addr, f.statics)
	if f.source != nil {
		w.assigned = func() [][]string {
			text, _, _ := f.statementOf(fr)
			return membersAssigned(text)
		}
	}
	w.run()
	s := &Told{Passes: w.returned, PassesAt: w.returnOffset}
	if of := ofString(fr.File, fr.Addr); of != nil {
		s.Evidence = Evidence{Type: of, Why: "allocated by a string of the C++ library", Array: true}
		s.Certain = true
		return s
	}
	found := w.findings
	code, agreed := combine(found)
	if name, t := allocatorType(fr.File, fr.Addr-1); t != nil && !(agreed && folded(code, t)) {
		found = append(found, finding{t: t, why: "allocated by " + name})
		code, agreed = combine(found)
	}
	if name, t := madeType(fr.File, fr.Addr-1); t != nil && w.mayAskFor(t.Size) && w.asks() && !(agreed && folded(code, t)) {
		found = append(found, finding{t: t, why: "made by " + name})
		code, agreed = combine(found)
	}
	if name, t := ofLibrary(fr.File, fr.Addr-1); t != nil {
		found = append(found, finding{t: t, why: "allocated by " + name})
		code, agreed = combine(found)
	}
	text, textWhy, clear := f.fromSource(fr, w.callee)
	switch {
	case !agreed:
		s.Certain = true
		s.Why = "contradictory evidence: " + contradiction(found)
		return s
	case code.t == nil && (text == nil || !clear):
		s.Why = "the type of the new pointer is not seen"
		return s
	case code.t == nil || isByte(code.t) && text != nil && clear:
		code = finding{t: text, why: textWhy}
	case text != nil && clear && !same(text, code.t) && !isByte(text):
		larger := container(text, code.t)
		if larger == nil {
			s.Certain = true
			s.Why = fmt.Sprintf("contradictory evidence: %s, but %s", code.why, textWhy)
			return s
		}
		if larger == text {
			code = finding{t: text, why: textWhy}
		}
	}
	s.Evidence = Evidence{Type: code.t, Offset: code.offset, Why: code.why, Array: w.many(code.t, code.offset)}
	return s
}

// folded reports whether the allocator of a type may stand for that of what was found.
// Optimising compilers make functions that are alike one (-fipa-icf): to allocate elements
// of one size is the same code, and has the name of one of the types. What is done with
// the pointer tells then.
func folded(code finding, allocator *types.Type) bool {
	return code.t != nil && code.offset == 0 && !isByte(code.t) && code.t.Size == allocator.Size &&
		!same(code.t, allocator) && container(code.t, allocator) == nil
}

// finding is one thing that tells a type.
type finding struct {
	t      *types.Type
	offset int64 // of the object in the block
	why    string
}

// combine returns the one finding on which all agree, none if there is none.
// Bytes yield to anything else; of types that begin with one another the
// larger is meant.
func combine(found []finding) (finding, bool) {
	var best finding
	for _, f := range found {
		switch {
		case best.t == nil || isByte(best.t) && !isByte(f.t):
			best = f
		case isByte(f.t) || same(best.t, f.t) && best.offset == f.offset:
		case best.offset != f.offset:
			return finding{}, false
		default:
			switch larger := container(best.t, f.t); larger {
			case nil:
				return finding{}, false
			case f.t:
				best = f
			}
		}
	}
	return best, true
}

func contradiction(found []finding) string {
	for _, a := range found {
		for _, b := range found {
			if _, ok := combine([]finding{a, b}); !ok {
				return a.why + ", but " + b.why
			}
		}
	}
	return "types differ"
}
