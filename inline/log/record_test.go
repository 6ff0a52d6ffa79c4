package log

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/trace"
	"mgtrace/x86"
)

// The stores of the test plan.
const (
	sQuad   = iota // mov [rbx+8], rax
	sLong          // mov [rbx], eax
	sByte          // mov [rbx], al
	sIndex         // mov [rbx+rcx], rax
	sXchg          // xchg [rbx], ax
	sCas           // lock cmpxchg [rbx], rcx
	sVector        // vmovups [rbx+rcx*4+16], ymm0
	sTen           // fstp tbyte [rbx]
	sGlobal        // mov [rip+…], eax
	sString        // rep movsb: by the hook routine
	sPair          // movups [rbx+8], xmm0
)

func testPlan() *probe.Plan {
	p := &probe.Plan{Images: []*probe.Image{{Path: "prog", Traced: true, Bias: 0x400000}}}
	for i, e := range []x86.Store{
		sQuad:   {Operand: x86.Operand{Base: x86.Reg(3), Disp: 8}, Width: 8},
		sLong:   {Operand: x86.Operand{Base: x86.Reg(3)}, Width: 4},
		sByte:   {Operand: x86.Operand{Base: x86.Reg(3)}, Width: 1},
		sIndex:  {Operand: x86.Operand{Base: x86.Reg(3), Index: x86.RCX, Scale: 1}, Width: 8},
		sXchg:   {Operand: x86.Operand{Base: x86.Reg(3)}, Width: 2, RMW: true, Atomic: true},
		sCas:    {Operand: x86.Operand{Base: x86.Reg(3)}, Width: 8, RMW: true, Atomic: true, Lock: true, Shape: x86.ShapeCond},
		sVector: {Operand: x86.Operand{Base: x86.Reg(3), Index: x86.RCX, Scale: 4, Disp: 16}, Width: 32},
		sTen:    {Operand: x86.Operand{Base: x86.Reg(3)}, Width: 10},
		sGlobal: {Operand: x86.Operand{Base: x86.NoReg, RIPRelative: true, Disp: 0x100}, Width: 4},
		sString: {Operand: x86.Operand{Base: x86.RDI}, Width: 1, Shape: x86.ShapeString, Rep: true},
		sPair:   {Operand: x86.Operand{Base: x86.Reg(3), Disp: 8}, Width: 16},
	} {
		if i != sIndex && i != sVector {
			e.Index = x86.NoReg
		}
		at := uint64(0x1000 + 16*i)
		p.Stores = append(p.Stores, probe.Store{Site: probe.Site{Addr: at, Offset: at}, Effect: e})
	}
	return p
}

// storeRecord is the record of a store as a trampoline writes it: what lies
// between the value and its padded width is garbage.
type storeRecord struct {
	index       int
	addr        uint64
	value       []byte
	base, stamp uint64
	wrote       bool // conditional: the zero flag
	since, old  uint64
}

func (r storeRecord) bytes(plan *probe.Plan, strict bool) []byte {
	e := &plan.Stores[r.index].Effect
	parts := layout.PartsOf(e, strict)
	b := binary.LittleEndian.AppendUint32(nil, layout.Tag(r.index, layout.StoreSize(e.Width, parts)))
	addr := r.addr
	if parts.FromBase {
		addr -= uint64(e.Disp)
	}
	b = binary.LittleEndian.AppendUint64(b, addr)
	b = append(b, r.value[:e.Width]...)
	for len(b) < layout.StoreValue+layout.PaddedWidth(e.Width) {
		b = append(b, 0xaa)
	}
	if parts.Base {
		b = binary.LittleEndian.AppendUint64(b, r.base)
	}
	if parts.Stamp {
		b = binary.LittleEndian.AppendUint64(b, r.stamp)
	}
	if parts.Flags {
		flags := uint64(0xffff_ffff_ffff_bfff)
		if r.wrote {
			flags |= 1 << 14
		}
		b = binary.LittleEndian.AppendUint64(b, flags)
	}
	if parts.Old {
		b = binary.LittleEndian.AppendUint64(b, r.since)
		b = binary.LittleEndian.AppendUint64(b, r.old)
	}
	return b
}

// special begins a special record of n bytes.
func special(kind, n int, stamp, time uint64) []byte {
	b := make([]byte, n)
	binary.LittleEndian.PutUint32(b, layout.Special+uint32(kind))
	binary.LittleEndian.PutUint32(b[4:], uint32(n))
	binary.LittleEndian.PutUint64(b[layout.SpecialStamp:], stamp)
	binary.LittleEndian.PutUint64(b[layout.SpecialTime:], time)
	return b
}

// note makes a KindNote.
func note(op int, index uint32, addr, size, stamp uint64) []byte {
	b := special(layout.KindNote, layout.NoteSize, stamp, stamp)
	binary.LittleEndian.PutUint32(b[layout.NoteOp:], uint32(op))
	binary.LittleEndian.PutUint32(b[layout.NoteIndex:], index)
	binary.LittleEndian.PutUint64(b[layout.NoteAddr:], addr)
	binary.LittleEndian.PutUint64(b[layout.NoteLen:], size)
	return b
}

// written makes a KindWrite of a whole write of data.
func written(op, index int, pc, addr uint64, data []byte, stamp, time uint64) []byte {
	b := append(special(layout.KindWrite, layout.WriteSize, stamp, time), data...)
	b = append(b, 0xaa, 0xaa, 0xaa)[:layout.WriteSize+(len(data)+3)&^3]
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[layout.WriteOp:], uint32(op))
	binary.LittleEndian.PutUint32(b[layout.WriteIndex:], uint32(index))
	binary.LittleEndian.PutUint32(b[layout.WriteBytes:], uint32(len(data)))
	binary.LittleEndian.PutUint64(b[layout.WritePC:], pc)
	binary.LittleEndian.PutUint64(b[layout.WriteAddr:], addr)
	binary.LittleEndian.PutUint64(b[layout.WriteLen:], uint64(len(data)))
	binary.LittleEndian.PutUint64(b[layout.WriteBase:], addr)
	return b
}

// recorder is a sink that writes down what it gets.
type recorder struct {
	table *Table
	got   []string

	sites []trace.StoreSite // with calls, as the merger has told; nil: it has not
	calls int               // that came in runs
}

func (s *recorder) tell(fresh []trace.StoreSite) error {
	if s.sites == nil {
		s.sites = slices.Clone(s.table.Sites())
	}
	s.sites = append(s.sites, fresh...)
	return nil
}

func (s *recorder) Stores(run *trace.Stores) error {
	var e trace.Event
	sites := s.table.Sites()
	if s.sites != nil {
		sites = s.sites
	}
	s.calls += run.Calls
	for i := range run.Recs {
		run.Event(i, sites, &e)
		if e.Kind == trace.KindBulk { // as the hit would be told
			s.got = append(s.got, fmt.Sprintf("[%d] hit %d of %s pc %x %x+%d base %x data %x wall %d",
				e.Thread, capture.Bulk, e.Name, uint64(e.PC), uint64(e.Addr), e.Size, uint64(e.Base), e.Data, e.Wall))
			continue
		}
		s.got = append(s.got, fmt.Sprintf("[%d] store %d %x base %x pc %x: %x%s",
			e.Thread, run.Recs[i].Site, uint64(e.Addr), uint64(e.Base), uint64(e.PC), e.Data, flagNames(e.Flags)))
	}
	return nil
}

func flagNames(f trace.Flags) string {
	var b strings.Builder
	if f&trace.FlagAtomic != 0 {
		b.WriteString(" atomic")
	}
	if f&trace.FlagRMW != 0 {
		b.WriteString(" rmw")
	}
	return b.String()
}

func (s *recorder) Hit(h *capture.Hit) error {
	if h.Op == capture.Bulk && h.Index < len(s.table.funcs) {
		s.got = append(s.got, fmt.Sprintf("[%d] hit %d of %s pc %x %x+%d base %x data %x wall %d",
			h.Thread, h.Op, s.table.funcs[h.Index], h.PC, h.Addr, h.Size, h.Base, h.Data, h.Wall))
		return nil
	}
	s.got = append(s.got, fmt.Sprintf("[%d] hit %d index %d %x+%d data %x wall %d", h.Thread, h.Op, h.Index, h.Addr, h.Size, h.Data, h.Wall))
	return nil
}

// join concatenates records.
func join(records ...[]byte) (b []byte) {
	for _, r := range records {
		b = append(b, r...)
	}
	return b
}

func bytesOf(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
