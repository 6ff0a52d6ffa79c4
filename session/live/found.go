package live

import (
	"slices"

	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/session/typing"
	"mgtrace/target/core"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/types"
)

// found is what a process has when recording begins.
type found struct {
	l      *Program
	blocks []core.Block // in use, by address
	stacks []stack      // of its threads
}

// stack is the activations of a thread, innermost first.
type stack struct {
	thread trace.ThreadID
	levels []objfile.Level
}

// maxLevels bounds the activations of one stack that are looked at.
const maxLevels = 4096

// find looks at the heap and the stacks of the process, which is held, and says
// in the program's description what is there.
func (l *Program) find() (*found, error) {
	maps, err := l.proc.Maps()
	if err != nil {
		return nil, err
	}
	f := &found{l: l}
	heap := core.Blocks(l.proc, maps)
	f.blocks = heap.InUse()
	b := &trace.Before{Blocks: len(f.blocks)}
	for _, x := range f.blocks {
		b.Bytes += x.Size
	}
	switch {
	case len(heap.Problems) > 0:
		b.Unknown = "heap: " + heap.Problems[0]
	case len(f.blocks) == 0:
		b.Unknown = "no heap of glibc's malloc was found, and blocks of other allocators can not be listed"
	}
	if err := f.unwind(); err != nil {
		return nil, err
	}
	b.Roots = f.roots()
	l.Prog.Before = b
	return f, nil
}

// unwind finds the activations of all threads.
func (f *found) unwind() error {
	tids, err := f.l.proc.Threads()
	if err != nil {
		return err
	}
	read := func(addr uint64, b []byte) bool {
		n, _ := f.l.proc.ReadMemory(b, addr) // n tells
		return n == len(b)
	}
	for _, tid := range tids {
		regs, err := f.l.proc.Regs(tid)
		if err != nil {
			continue // in an uninterruptible sleep, or ending
		}
		f.stacks = append(f.stacks, stack{trace.ThreadID(tid), objfile.Unwind(unwindRegs(&regs), maxLevels, f.l.file, read)})
	}
	return nil
}

// file is the file that is mapped at an address.
func (l *Program) file(pc uint64) (*objfile.File, uint64, bool) {
	im, ok := l.Symbols.Image(trace.Addr(pc))
	if !ok || im.Obj == nil {
		return nil, 0, false
	}
	return im.Obj, uint64(im.Bias), true
}

func unwindRegs(r *mem.Regs) (out objfile.Regs) {
	for i := range out.R {
		if v, ok := r.DWARF(i); ok {
			out.Set(i, v)
		}
	}
	return out
}

// openCalls are the calls of watched functions that have not returned, each
// thread's outermost first.
func (f *found) openCalls(plan *probe.Plan) []probe.OpenCall {
	watched := map[trace.Addr]int{}
	for i := range plan.Funcs {
		if fn := &plan.Funcs[i]; fn.Role == probe.RoleWatch {
			watched[trace.Addr(plan.Images[fn.Entry.Image].Bias+fn.Entry.Addr)] = i
		}
	}
	var out []probe.OpenCall
	for _, s := range f.stacks {
		for k := len(s.levels) - 2; k >= 0; k-- {
			level, caller := &s.levels[k], &s.levels[k+1]
			file, bias, ok := f.l.file(level.Lookup())
			if !ok {
				continue
			}
			fn, ok := file.FuncAt(level.Lookup() - bias)
			entry := trace.Addr(bias + fn.Addr)
			if i, is := watched[entry]; ok && is && !(level.Exact && trace.Addr(level.Regs.PC()) == entry) {
				out = append(out, probe.OpenCall{Thread: s.thread, Func: i, SP: caller.Regs.SP() - 8, Ret: caller.Regs.PC()})
			}
		}
	}
	return out
}

// roots are the blocks to which typed pointers lead from static memory, then
// those to which only variables on a stack do. Those may be uninitialised: what
// they lead to must have the type's size.
func (f *found) roots() []trace.Root {
	r := &rootWalk{f: f, m: f.l.proc, of: map[uint64]string{}, names: map[*types.Type]string{}, blocks: map[uint64]uint64{}}
	for _, b := range f.blocks {
		r.blocks[b.Addr] = b.Size
	}
	for _, im := range f.l.Symbols.Images {
		if !im.Traced || im.Obj == nil {
			continue
		}
		r.files = append(r.files, im.Obj)
		for _, g := range im.Obj.Globals() {
			if g.Loc.Kind == objfile.LocStatic && g.Type != nil {
				r.object(uint64(im.Bias)+uint64(g.Loc.Offset), g.Type)
			}
		}
	}
	r.exact = true
	for _, s := range f.stacks {
		for i := range s.levels {
			r.level(&s.levels[i])
		}
	}
	return r.list
}

// rootWalk collects roots.
type rootWalk struct {
	f      *found
	m      mem.Memory
	files  []*objfile.File
	blocks map[uint64]uint64 // sizes
	exact  bool              // only blocks of the type's own size
	of     map[uint64]string // type that a block has already
	names  map[*types.Type]string
	list   []trace.Root
}

// level follows the variables of one activation.
func (r *rootWalk) level(level *objfile.Level) {
	im, ok := r.f.l.Symbols.Image(trace.Addr(level.Lookup()))
	if !ok || !im.Traced || im.Obj == nil {
		return
	}
	regs := &level.Regs
	for _, v := range im.Obj.Variables(level.Lookup() - uint64(im.Bias)) {
		if v.Type == nil {
			continue
		}
		known := v.Loc.Reg >= 0 && v.Loc.Reg < len(regs.R) && regs.Known>>v.Loc.Reg&1 != 0
		at := uint64(v.Loc.Offset)
		if known {
			at += regs.R[v.Loc.Reg]
		}
		switch v.Loc.Kind {
		case objfile.LocReg:
			if known {
				r.value(regs.R[v.Loc.Reg], v.Type)
			}
		case objfile.LocRegValue:
			if known {
				r.value(at, v.Type)
			}
		case objfile.LocRegOffset:
			if known {
				r.object(at, v.Type)
			}
		case objfile.LocIndirect:
			if to, err := mem.ReadUint64(r.m, at); known && err == nil {
				r.object(to, v.Type)
			}
		case objfile.LocStatic:
			r.object(uint64(im.Bias)+uint64(v.Loc.Offset), v.Type)
		}
	}
}

// object follows the pointers of one object.
func (r *rootWalk) object(addr uint64, t *types.Type) { typing.EachPointer(addr, t, r.cell) }

func (r *rootWalk) cell(addr uint64, t *types.Type) {
	if v, err := mem.ReadUint64(r.m, addr); err == nil {
		r.value(v, t)
	}
}

// value follows one pointer. A block of pointers (a table) is followed here, and is a root if
// static memory tells it, since the specification may declare it; a structure is a root.
func (r *rootWalk) value(v uint64, t *types.Type) {
	if !t.IsPointerTo() || t.Elem.Size <= 0 {
		return
	}
	v &^= 7
	size, ok := r.blocks[v]
	if !ok || r.of[v] != "" || uint64(t.Elem.Size) > size {
		return
	}
	switch t.Elem.Kind {
	case types.Pointer:
		r.of[v] = "*"
		if to := t.Elem.Elem; to != nil && (to.Kind == types.Struct || to.Kind == types.Union) && !r.exact {
			if name := r.name(to); name != "" {
				r.list = append(r.list, trace.Root{Addr: trace.Addr(v), Type: name + " *"})
			}
		}
		for at := uint64(0); at+8 <= size; at += 8 {
			r.cell(v+at, t.Elem)
		}
	case types.Struct, types.Union:
		name := r.name(t.Elem)
		if name == "" || r.exact && core.Usable(uint64(t.Elem.Size)) != size {
			return
		}
		r.of[v] = name
		r.list = append(r.list, trace.Root{Addr: trace.Addr(v), Type: name})
	}
}

// name is a name by which the type is found: its own, or a typedef's.
func (r *rootWalk) name(t *types.Type) string {
	if t.Name != "" {
		return t.Name
	}
	name, ok := r.names[t]
	if !ok {
		for _, f := range r.files {
			for _, n := range f.Universe().Names() {
				if name == "" && slices.Contains(f.Universe().Lookup(n), t) {
					name = n
				}
			}
		}
		r.names[t] = name
	}
	return name
}
