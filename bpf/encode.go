package bpf

import (
	"mgtrace/capture"
	"mgtrace/probe"
	"mgtrace/x86"
)

// The values of the kernel's maps. Each mirrors a structure of kernel/shared.h;
// TestLayout compares them with the object's type information.
type (
	siteDesc struct { // struct site
		Flags  uint32
		Store  uint32 // index + 1
		Locked uint32 // index + 1
		Alloc  uint32 // index + 1
		Writer uint32 // index + 1
		Passed [6]uint8
		Texts  [6]uint8
	}
	storeDesc struct { // struct store
		Disp                       int64
		Imm                        uint64
		Site                       uint32
		Width, Len                 uint16
		Base, Index, Scale, Seg    uint8
		Shape, Source, Value, Shft uint8
		Flags                      uint32
		_                          uint32
	}
	funcDesc struct { // struct fn
		SkipLo, SkipHi     uint64
		Fixed              uint64
		Role, Extent, Hide uint8
		Ptr, Dst, Len, Cnt uint8
		Uret               uint8
	}
	addrRange struct { // struct range
		Lo, Hi uint64
	}
	counters struct { // struct counters
		Probes, Filtered, Hits, Dropped uint64
	}
)

// Flags of a site, in kernel/shared.h.
const (
	siteEmit = 1 << iota
	siteStack
	siteAllocEnter
	siteAllocLeave
	siteWriterEnter
	siteWriterLeave
	siteTail
	sitePassed
)

// Flags of a store.
const (
	storeRIP = 1 << iota
	storeAddr32
	storeRep
	storeSwap
)

// Roles of an allocator.
const (
	fnPlain = iota
	fnPosix
	fnStrdup
	fnGives
)

const noReg = 0xff

// encodeSite describes a site. A function that is both an allocator and a
// writer is an allocator.
func encodeSite(plan *probe.Plan, s *capture.Site) siteDesc {
	d := siteDesc{Store: uint32(s.Store + 1), Locked: uint32(s.Locked + 1)}
	if len(s.Points) > 0 || s.Landing {
		d.Flags |= siteEmit
	}
	if s.Stack {
		d.Flags |= siteEmit | siteStack
	}
	for _, f := range s.Enter {
		switch plan.Funcs[f].Role {
		case probe.RoleWatch:
			d.Flags |= siteEmit
			d.Passed, d.Texts = plan.Funcs[f].Passed, plan.Funcs[f].Texts
			if d.Passed != [6]uint8{} {
				d.Flags |= sitePassed
			}
		case probe.RoleFrame:
			d.Flags |= siteEmit
		case probe.RoleWriter:
			d.Flags |= siteWriterEnter
			d.Writer = uint32(f + 1)
		default:
			d.Flags |= siteEmit | siteStack | siteAllocEnter
			d.Alloc = uint32(f + 1)
		}
	}
	for _, f := range s.Leave {
		switch plan.Funcs[f].Role {
		case probe.RoleWatch, probe.RoleFrame:
			d.Flags |= siteEmit
		case probe.RoleWriter:
			d.Flags |= siteWriterLeave
		default:
			d.Flags |= siteEmit | siteAllocLeave
		}
		if s.Tail {
			d.Flags |= siteTail
		}
	}
	return d
}

func encodeStore(index int, s *x86.Store) storeDesc {
	d := storeDesc{
		Disp:   s.Disp,
		Imm:    s.Imm,
		Site:   uint32(index),
		Width:  uint16(s.Width),
		Len:    uint16(s.Len),
		Base:   register(s.Base),
		Index:  register(s.Index),
		Scale:  s.Scale,
		Seg:    s.Segment,
		Shape:  uint8(s.Shape),
		Source: uint8(s.Source),
		Value:  register(s.Value),
		Shft:   s.Shift,
	}
	for _, f := range [...]struct {
		on   bool
		flag uint32
	}{{s.RIPRelative, storeRIP}, {s.Addr32, storeAddr32}, {s.Rep, storeRep}, {s.Swap, storeSwap}} {
		if f.on {
			d.Flags |= f.flag
		}
	}
	return d
}

func register(r x86.Reg) uint8 {
	if r == x86.NoReg {
		return noReg
	}
	return uint8(r)
}

// encodeFunc describes a function. skip is the code whose calls of a writer are
// not reported. traced says that stores of the function's file are probed: those
// inside a standard allocator (a static program's) are its own book-keeping; what
// is probed and runs inside one of another file can only be called back by it.
func encodeFunc(f *probe.Func, skip addrRange, traced bool) funcDesc {
	d := funcDesc{
		SkipLo: skip.Lo,
		SkipHi: skip.Hi,
		Fixed:  f.Fixed,
		Extent: uint8(f.Extent),
		Ptr:    uint8(f.Ptr),
		Dst:    uint8(f.Dst),
		Len:    uint8(f.Len),
		Cnt:    uint8(f.Count),
	}
	switch f.Role {
	case probe.RolePosix:
		d.Role = fnPosix
	case probe.RoleStrdup:
		d.Role = fnStrdup
	case probe.RoleMalloc, probe.RoleRealloc:
		if f.Declared {
			d.Role, d.Len = fnGives, uint8(f.Size)
		}
	}
	if f.Role != probe.RoleWriter {
		d.Dst = 0 // on_uret tells writers by it
	}
	if traced && !f.Declared {
		d.Hide = 1
	}
	if f.Uretprobe && len(f.Returns) == 0 {
		d.Uret = 1
	}
	return d
}
