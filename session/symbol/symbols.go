package symbol

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"mgtrace/objfile"
	"mgtrace/trace"
	"mgtrace/types"
	"mgtrace/x86"
)

// Image is a mapped file with its symbols. Obj is nil where it could not be
// read; addresses in it then have no names.
type Image struct {
	trace.Module
	Obj *objfile.File
	Err error // of Load: why there is no Obj
}

// Insts are the instructions of a function of the file, piece by piece, with the virtual address
// of each; nil is one that is not known, and the rest of its piece is left out.
func (im *Image) Insts(fn *objfile.Func) iter.Seq2[uint64, *x86.Inst] {
	return func(yield func(uint64, *x86.Inst) bool) {
		for _, r := range fn.Ranges {
			code, at := im.Obj.Code(r[0], int(r[1]-r[0])), r[0]
			for len(code) > 0 {
				in, err := x86.Decode(code, at)
				if err != nil {
					if !yield(at, nil) {
						return
					}
					break
				}
				if !yield(at, &in) {
					return
				}
				code, at = code[in.Len:], at+uint64(in.Len)
			}
		}
	}
}

// Table turns addresses of the process into functions and source lines. It
// caches by address; it is not safe for concurrent use.
type Table struct {
	Images  []Image      // by Lo
	last    atomic.Int32 // index of the image that was asked for last; unwinding asks while others do
	frames  map[trace.Addr][]objfile.Frame
	Sources *Sources
	// Frame says of a function, by its file and its virtual address there, that variables in its frame are nodes, as "local" declares:
	// stores to the frame are asked for as others are. nil: no function's are.
	Frame func(path string, entry uint64) bool
	// assigned are the stores that the line table has at a line that does not do them.
	assigned map[trace.Addr]assigned
	merged   map[trace.Addr][]objfile.Frame // by store: what else it does, see merge
	wholes   map[trace.Addr][]string        // Store.Wholes
	// functions are those of which Elided or Pending was asked, by their entries; nil where code is unknown.
	functions map[trace.Addr]*function
	bodies    map[inlined][]line // of functions by where they are declared, see expanded
}

// New makes a table of mapped files.
func New(images []Image, sources *Sources) *Table {
	sort.Slice(images, func(i, j int) bool { return images[i].Lo < images[j].Lo })
	return &Table{Images: images, frames: map[trace.Addr][]objfile.Frame{}, Sources: sources, assigned: map[trace.Addr]assigned{}, merged: map[trace.Addr][]objfile.Frame{}, wholes: map[trace.Addr][]string{}, functions: map[trace.Addr]*function{}, bodies: map[inlined][]line{}}
}

// Add takes over a module that was mapped later.
func (s *Table) Add(im Image) {
	s.Images = append(s.Images, im)
	sort.Slice(s.Images, func(i, j int) bool { return s.Images[i].Lo < s.Images[j].Lo })
	clear(s.frames)
}

// Overlaps says whether a file has some of the addresses from lo to hi.
func (s *Table) Overlaps(lo, hi trace.Addr) bool {
	return slices.ContainsFunc(s.Images, func(im Image) bool { return im.Lo < hi && lo < im.Hi })
}

// Image returns the image that contains pc.
func (s *Table) Image(pc trace.Addr) (*Image, bool) {
	if i := int(s.last.Load()); i < len(s.Images) && s.Images[i].Lo <= pc && pc < s.Images[i].Hi {
		return &s.Images[i], true
	}
	i := sort.Search(len(s.Images), func(i int) bool { return s.Images[i].Hi > pc })
	if i == len(s.Images) || pc < s.Images[i].Lo {
		return nil, false
	}
	s.last.Store(int32(i))
	return &s.Images[i], true
}

// File is the file that is mapped at an address, and where.
func (s *Table) File(pc uint64) (f *objfile.File, bias uint64, ok bool) {
	im, ok := s.Image(trace.Addr(pc))
	if !ok || im.Obj == nil {
		return nil, 0, false
	}
	return im.Obj, uint64(im.Bias), true
}

// Frames returns the source positions of an address, inlined ones innermost
// first; nil if nothing is known.
func (s *Table) Frames(pc trace.Addr) []objfile.Frame {
	if a, ok := s.assigned[pc]; ok {
		return a.frames
	}
	if f, ok := s.frames[pc]; ok {
		return f
	}
	var f []objfile.Frame
	if im, ok := s.Image(pc); ok && im.Obj != nil {
		f = im.Obj.Frames(uint64(pc - im.Bias))
	}
	s.frames[pc] = f
	return f
}

// Where names an address: its innermost frame in the user's own code, if there is one,
// the frames around it, and the text of its line.
func (s *Table) Where(pc trace.Addr) (f objfile.Frame, outer []objfile.Frame, source string) {
	frames := s.Frames(pc)
	if len(frames) == 0 {
		return objfile.Frame{}, nil, ""
	}
	i := max(0, own(frames))
	f = frames[i]
	if f.File != "" {
		source, _ = s.Sources.Line(f.File, f.Line)
	}
	return f, frames[i+1:], strings.TrimSpace(source)
}

// LineBefore is the line of the code before an instruction that has none, as of what a compiler has moved or merged,
// in the same function: 0 if there is none.
func (s *Table) LineBefore(pc trace.Addr) (file string, line int) {
	im, ok := s.Image(pc)
	if !ok || im.Obj == nil {
		return "", 0
	}
	return im.Obj.LineBefore(uint64(pc - im.Bias))
}

// own is the index of the innermost frame in the user's own code, -1 if there is none: of a statement, if there is one of those.
func own(frames []objfile.Frame) int {
	users := func(f objfile.Frame) bool { return f.File != "" && !objfile.SystemHeader(f.File) }
	if i := slices.IndexFunc(frames, func(f objfile.Frame) bool { return users(f) && !f.Implicit }); i >= 0 {
		return i
	}
	return slices.IndexFunc(frames, users)
}

// Library reports that a statement is in a library's header, or in a file without debug information
// where another has some, and that nothing tells for which of the user's own it ran.
func (s *Table) Library(pc trace.Addr) bool {
	frames := s.Frames(pc)
	if len(frames) > 0 && frames[0].File != "" {
		return own(frames) < 0
	}
	im, ok := s.Image(pc)
	return ok && im.Obj != nil && !im.Obj.HasDWARF() && slices.ContainsFunc(s.Images, func(im Image) bool {
		return im.Traced && im.Obj != nil && im.Obj.HasDWARF()
	})
}

// EntryName names the function that begins at an address, as a pointer to it leads there; "" where none is known to.
func (s *Table) EntryName(addr trace.Addr) string {
	im, ok := s.Image(addr)
	if !ok || im.Obj == nil {
		return ""
	}
	f, ok := im.Obj.FuncAt(uint64(addr - im.Bias))
	if !ok || f.Addr != uint64(addr-im.Bias) {
		return ""
	}
	return f.Name
}

// Own is the innermost address in the user's own code, of the calls of a stack (their
// return addresses), innermost first: of a statement, if there is one of those. Without one it is
// the innermost in the program, or else of all.
func (s *Table) Own(stack []trace.Addr) trace.Addr {
	traced, implicit := trace.Addr(0), trace.Addr(0)
	for _, ret := range stack {
		im, ok := s.Image(ret - 1)
		if !ok || !im.Traced {
			continue
		}
		frames := s.Frames(ret - 1)
		switch i := own(frames); {
		case i >= 0 && !frames[i].Implicit:
			return ret - 1
		case i >= 0 && implicit == 0:
			implicit = ret - 1
		case traced == 0:
			traced = ret - 1
		}
	}
	if implicit != 0 {
		return implicit
	}
	if traced != 0 {
		return traced
	}
	return stack[0] - 1
}

// Within returns the frames of a library's headers inside the one by which Where names
// pc, and the stack of calls around that. pc is Own of the stack, if there is one.
func (s *Table) Within(pc trace.Addr, stack []trace.Addr) (frames []objfile.Frame, around []trace.Addr) {
	for len(stack) > 0 {
		ret := stack[0]
		if stack = stack[1:]; ret-1 == pc {
			break
		}
		if im, ok := s.Image(ret - 1); ok && im.Traced {
			frames = append(frames, s.Frames(ret-1)...)
		}
	}
	at := s.Frames(pc)
	return append(frames, at[:max(0, own(at))]...), stack
}

// Statement identifies the statement of an address: its source line if there
// is one, else its instruction. Two addresses of a line are one statement.
func (s *Table) Statement(pc trace.Addr) string {
	if f, _, _ := s.Where(pc); f.File != "" && f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%#x", uint64(pc))
}

// Function names the function in whose text the statement of an address stands; "" where it has none.
func (s *Table) Function(pc trace.Addr) string {
	f, _, _ := s.Where(pc)
	if f.File == "" {
		return ""
	}
	return f.File + ":" + f.Function
}

// Place names the statement of an address shortly: "list.c:15".
func (s *Table) Place(pc trace.Addr) string {
	if f, _, _ := s.Where(pc); f.File != "" {
		return fmt.Sprintf("%s:%d", Short(f.File), f.Line)
	}
	return s.Address(pc)
}

// Address names an address without source lines: "split+0x1c (quad)".
func (s *Table) Address(pc trace.Addr) string {
	im, ok := s.Image(pc)
	if !ok {
		return fmt.Sprintf("%#x", uint64(pc))
	}
	at := uint64(pc - im.Bias)
	name := filepath.Base(im.Path)
	if im.Obj != nil {
		if fn, ok := im.Obj.FuncAt(at); ok {
			return fmt.Sprintf("%s+%#x (%s)", fn.Name, at-fn.Addr, name)
		}
	}
	return fmt.Sprintf("%s+%#x", name, at)
}

// Entry is where the function of the program's own begins that has this name, if one alone has.
func (s *Table) Entry(name string) (entry trace.Addr, ok bool) {
	for i := range s.Images {
		im := &s.Images[i]
		if !im.Traced || im.Obj == nil {
			continue
		}
		for _, fn := range im.Obj.FuncsNamed(name) {
			if fn.Name != name {
				continue
			}
			if ok {
				return 0, false
			}
			entry, ok = im.Bias+trace.Addr(fn.Addr), true
		}
	}
	return entry, ok
}

// Exported is where the dynamic linker finds a name: in the first file that defines it for others.
func (s *Table) Exported(name string) (at trace.Addr, ok bool) {
	for i := range s.Images {
		if im := &s.Images[i]; im.Obj != nil {
			if addr, ok := im.Obj.Exported(name); ok {
				return im.Bias + trace.Addr(addr), true
			}
		}
	}
	return 0, false
}

// TypeNamed finds a type of the program by its name in C, a pointer too.
func (s *Table) TypeNamed(name string) *types.Type {
	if to, ok := strings.CutSuffix(name, "*"); ok {
		t := &types.Type{Kind: types.Pointer, Size: 8}
		if to = strings.TrimSpace(to); to != "void" {
			t.Elem = s.TypeNamed(to)
		}
		return t
	}
	for _, traced := range []bool{true, false} {
		for _, im := range s.Images {
			if im.Obj == nil || im.Traced != traced {
				continue
			}
			for _, t := range im.Obj.Universe().Lookup(name) {
				if t.Size > 0 {
					return t
				}
			}
		}
	}
	return nil
}

// Short drops the directories of a source path that the user knows anyway.
func Short(file string) string {
	if file == "" {
		return ""
	}
	return filepath.Base(file)
}
