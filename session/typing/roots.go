package typing

import (
	"slices"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/target/core"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/types"
)

// maxLevels bounds the activations of one stack that are looked at.
const maxLevels = 4096

// Activations are those of a thread, innermost first. find gives the file that is mapped at an address, and its bias.
func Activations(regs *mem.Regs, find func(pc uint64) (f *objfile.File, bias uint64, ok bool), m mem.Memory) []objfile.Level {
	return objfile.Unwind(unwindRegs(regs), maxLevels, find, func(addr uint64, b []byte) bool {
		n, _ := m.ReadMemory(b, addr) // n tells
		return n == len(b)
	})
}

func unwindRegs(r *mem.Regs) (out objfile.Regs) {
	for i := range out.R {
		if v, ok := r.DWARF(i); ok {
			out.Set(i, v)
		}
	}
	return out
}

// Roots are the blocks to which typed pointers lead from static memory, then
// those to which only variables on a stack do. Those may be uninitialised: what
// they lead to must have the type's size.
func Roots(m mem.Memory, symbols *symbol.Table, blocks []core.Block, stacks [][]objfile.Level) []trace.Root {
	r := &rootWalk{symbols: symbols, m: m, of: map[uint64]string{}, names: map[*types.Type]string{}, blocks: map[uint64]uint64{}}
	for _, b := range blocks {
		r.blocks[b.Addr] = b.Size
	}
	for _, im := range symbols.Images {
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
	for _, levels := range stacks {
		for i := range levels {
			r.level(&levels[i])
		}
	}
	return r.list
}

// rootWalk collects roots.
type rootWalk struct {
	symbols *symbol.Table
	m       mem.Memory
	files   []*objfile.File
	blocks  map[uint64]uint64 // sizes
	exact   bool              // only blocks of the type's own size
	of      map[uint64]string // type that a block has already
	names   map[*types.Type]string
	list    []trace.Root
}

// level follows the variables of one activation.
func (r *rootWalk) level(level *objfile.Level) {
	im, ok := r.symbols.Image(trace.Addr(level.Lookup()))
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
func (r *rootWalk) object(addr uint64, t *types.Type) { EachPointer(addr, t, r.cell) }

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
		if to := t.Elem.Elem; to != nil && to.HasMembers() && !r.exact {
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
