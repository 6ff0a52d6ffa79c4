package objfile

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile/dwarf"
	"mgtrace/types"
)

// Where the virtual base classes of an object lie depends on its class, and stands before that one's virtual table (Itanium C++ ABI, 2.5.2).
// So it is known of a class from which no other one derives: all objects that are of it are of just this class.

// vtable is a class's virtual table.
type vtable struct {
	addr, size uint64
	info       uint64 // the class's type information; 0: not known, or there are several classes of that name
	base       bool   // another class of the file derives from this one
}

// vtables finds the virtual tables of the file's classes, by name.
func (f *File) vtables() map[string]vtable {
	f.vtablesOnce.Do(func() {
		f.vtablesOf = map[string]vtable{}
		objects := f.symbolTable().objects
		infos, bases := map[string]uint64{}, map[uint64]bool{}
		for i := range objects {
			if s := &objects[i]; strings.HasPrefix(s.name, "_ZTI") {
				infos[s.name[len("_ZTI"):]] = s.addr
				for off := uint64(0); off+8 <= min(s.size, maxTable); off += 8 { // a class's lead to those of its bases
					bases[f.pointer(s.addr+off)] = true
				}
			}
		}
		for i := range objects {
			s := &objects[i]
			class, ok := strings.CutPrefix(s.name, "_ZTV")
			if !ok {
				continue
			}
			name := cxxname.Normal(strings.TrimPrefix(cxxname.Demangle(s.name), "vtable for "))
			v := vtable{s.addr, s.size, infos[class], bases[infos[class]]}
			if o, known := f.vtablesOf[name]; known && o.addr != v.addr {
				v = vtable{} // two of one name
			}
			f.vtablesOf[name] = v
		}
	})
	return f.vtablesOf
}

// pointer is the address of this file to which the one in its data at an address leads when the program runs.
func (f *File) pointer(at uint64) uint64 {
	if s, ok := f.Slot(at); ok {
		return s.To
	}
	to, _ := f.word(at)
	return to
}

// maxTable bounds what is read of a virtual table, and of what tells of a type, in bytes.
const maxTable = 1 << 16

// addressPoint is the place in a virtual table to which the pointer leads that lies so far from an object's beginning: behind the way back
// to there, and the type information. 0: it is not known.
func (f *File) addressPoint(v vtable, from int64) uint64 {
	for off := uint64(8); v.info != 0 && off+8 <= min(v.size, maxTable); off += 8 {
		if top, ok := f.word(v.addr + off - 8); ok && int64(top) == -from && f.pointer(v.addr+off) == v.info {
			return v.addr + off + 8
		}
	}
	return 0
}

// word is what the file has at an address.
func (f *File) word(addr uint64) (uint64, bool) {
	b := f.Code(addr, 8)
	if len(b) < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// ClassOfVTable names the class to whose objects a pointer to an address belongs, as that of its virtual table; "" if it is none.
func (f *File) ClassOfVTable(addr uint64) string {
	linkage, off, ok := f.ObjectAt(addr)
	if !ok || !strings.HasPrefix(linkage, "_ZTV") {
		return ""
	}
	name := strings.TrimPrefix(cxxname.Demangle(linkage), "vtable for ")
	if off != 16 && f.addressPoint(f.vtables()[cxxname.Normal(name)], 0) != addr { // more lies before it where there are virtual bases
		return ""
	}
	return name
}

// virtualSlot reads how far before the place to which an object's first word leads the offset of a virtual base stands, of the
// expression "dup, deref, constant, minus, deref, plus"; 0: it is another one.
func virtualSlot(e *dwarf.Entry) int64 {
	const dup, deref, minus, plus, lit0, const1u, const2u, constu = 0x12, 0x06, 0x1c, 0x22, 0x30, 0x08, 0x0a, 0x10
	b := dwarf.NewBuf(e.Block(dwarf.AttrDataMemberLoc), 0)
	if b.U8() != dup || b.U8() != deref {
		return 0
	}
	n := int64(0)
	switch op := b.U8(); {
	case op >= lit0 && op < lit0+32:
		n = int64(op - lit0)
	case op == const1u:
		n = int64(b.U8())
	case op == const2u:
		n = int64(b.U16())
	case op == constu:
		n = int64(b.Uleb())
	}
	if b.U8() != minus || b.U8() != deref || b.U8() != plus {
		return 0
	}
	return n
}

// placeVirtual says where the virtual bases of a class lie: those that it names itself, and those of its other bases.
func (c *converter) placeVirtual(t *types.Type) {
	var named []namedBase
	c.virtualOf(t, 0, 0, func(b namedBase) { named = append(named, b) })
	if len(named) == 0 {
		return
	}
	table := c.file.vtables()[cxxname.Normal(t.Name)]
	if table.base {
		return
	}
	found := map[*types.Type]int64{}
	for _, b := range named {
		point := c.file.addressPoint(table, b.from)
		off, ok := c.file.word(point - uint64(b.slot))
		if at := b.from + int64(off); point != 0 && b.slot > 0 && ok && at >= 0 && at < t.Size {
			found[b.base] = at
		}
	}
	for i := range t.Members {
		if m := &t.Members[i]; m.Base && m.Offset < 0 {
			if at, ok := found[m.Type]; ok {
				m.Offset = at
				delete(found, m.Type)
			}
		}
	}
	own := len(t.Members)
	for base, at := range found {
		t.Members = append(t.Members, types.Member{Type: base, Offset: at, Base: true})
	}
	slices.SortFunc(t.Members[own:], func(a, b types.Member) int { return cmp.Compare(a.Offset, b.Offset) })
}

// namedBase is a virtual base that a class names, or one of its bases that lies so far from its beginning. Where it lies stands so
// far before the place to which the pointer there leads.
type namedBase struct {
	base       *types.Type
	slot, from int64
}

// virtualOf calls f for the virtual bases of a class that lies so far from another one's beginning.
func (c *converter) virtualOf(t *types.Type, from int64, depth int, f func(namedBase)) {
	for i := range t.Members {
		switch m := &t.Members[i]; {
		case !m.Base || m.Type == nil || depth > maxTypeDepth:
		case c.slots[virtualBase{t, m.Type}] != 0:
			f(namedBase{m.Type, c.slots[virtualBase{t, m.Type}], from})
		case m.Offset >= 0:
			c.virtualOf(m.Type, from+m.Offset, depth+1, f)
		}
	}
}

// virtualBase is one that a class names itself.
type virtualBase struct{ of, base *types.Type }
