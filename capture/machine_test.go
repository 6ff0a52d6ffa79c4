package capture

import (
	"encoding/binary"
	"fmt"
	"strings"

	"mgtrace/probe"
	"mgtrace/trace"
	"mgtrace/x86"
)

// The functions of the test plan, each with its entry at 0x1000 × (index + 1)
// and one return 0x10 further; "tail" variants leave by a jump at +0x20.
const (
	fMalloc = iota
	fCalloc
	fRealloc
	fPosix
	fStrdup
	fFree
	fNew     // operator new, which calls malloc
	fNewA    // operator new[], which jumps to operator new
	fGet     // pool_get(count), declared
	fPut     // pool_put(p), declared
	fInsert  // watched
	fBalance // watched
	fCopy    // writer
	fHome    // has variables that are nodes
	fEnd     // the destructor of one
	fResize  // pool_resize(p, size), declared
)

// homeLocals lie 48 and 24 bytes below the canonical frame address, which is 8 above the stack pointer of the entry.
var homeLocals = []probe.Local{
	{Name: trace.LocalName("home::list"), Offset: -48, Size: 16},
	{Name: trace.LocalName("home::spare"), Offset: -24, Size: 8},
}

func testPlan() *probe.Plan {
	p := &probe.Plan{Images: []*probe.Image{{Path: "prog", Traced: true}}}
	for i, f := range []probe.Func{
		fMalloc:  {Name: "malloc", Role: probe.RoleMalloc, Size: 1, Uretprobe: true},
		fCalloc:  {Name: "calloc", Role: probe.RoleCalloc, Count: 1, Size: 2},
		fRealloc: {Name: "realloc", Role: probe.RoleRealloc, Ptr: 1, Size: 2},
		fPosix:   {Name: "posix_memalign", Role: probe.RolePosix, Ptr: 1, Size: 3},
		fStrdup:  {Name: "strdup", Role: probe.RoleStrdup},
		fFree:    {Name: "free", Role: probe.RoleFree, Ptr: 1},
		fNew:     {Name: "operator new", Role: probe.RoleMalloc, Size: 1},
		fNewA:    {Name: "operator new[]", Role: probe.RoleMalloc, Size: 1},
		fGet:     {Name: "pool_get", Role: probe.RoleMalloc, Fixed: 16, Declared: true},
		fPut:     {Name: "pool_put", Role: probe.RoleFree, Ptr: 1, Declared: true},
		fInsert:  {Name: "insert", Role: probe.RoleWatch, ID: 1},
		fBalance: {Name: "balance", Role: probe.RoleWatch, ID: 2},
		fCopy:    {Name: "memcpy", Role: probe.RoleWriter, Dst: 1, Len: 3},
		fHome:    {Name: "home", Role: probe.RoleFrame, Locals: homeLocals},
		fEnd:     {Name: "List::~List", Role: probe.RoleFrame, Ends: true},
		fResize:  {Name: "pool_resize", Role: probe.RoleRealloc, Ptr: 1, Size: 2, Declared: true},
	} {
		at := uint64(i+1) * 0x1000
		f.Entry = probe.Site{Addr: at, Offset: at}
		f.Returns = []probe.Site{{Addr: at + 0x10, Offset: at + 0x10}, {Addr: at + 0x20, Offset: at + 0x20}}
		p.Funcs = append(p.Funcs, f)
	}
	p.Points = []probe.Point{
		{Site: probe.Site{Addr: 0x500, Offset: 0x500}, ID: 1, Point: trace.Point{Kind: "line"}},
		{Site: probe.Site{Addr: 0x500, Offset: 0x500}, ID: 2, Point: trace.Point{Kind: "inline-entry"}, Frame: probe.Frame{Known: true, Offset: 32}},
		{Site: probe.Site{Addr: 0x510, Offset: 0x510}, ID: 3, Point: trace.Point{Kind: "inline-entry"}, Left: true, Frame: probe.Frame{Known: true, Offset: 16}},
		{Site: probe.Site{Addr: 0x518, Offset: 0x518}, ID: 4, Point: trace.Point{Kind: "inline-exit"}, Left: true},
	}
	p.Ends = []probe.End{{Site: probe.Site{Addr: 0x520, Offset: 0x520}, Frame: probe.Frame{Known: true, Offset: 64}, Locals: homeLocals[:1]}}
	p.Stores = []probe.Store{
		{Site: probe.Site{Addr: 0x600, Offset: 0x600}, Effect: x86.Store{Width: 8}},
		{Site: probe.Site{Addr: 0x608, Offset: 0x608}, Effect: x86.Store{Width: 8, Atomic: true, RMW: true, Old: x86.NoReg}},
	}
	return p
}

// machine plays hits as an engine would report them.
type machine struct {
	plan  *probe.Plan
	sites []Site
	asm   *Assembler
	got   []string
	h     Hit // its Thread is that of the next hits
}

func newMachine(unwind Unwinder) *machine {
	m := &machine{plan: testPlan()}
	m.sites = Sites(m.plan)
	for i := range m.sites {
		m.sites[i].Tail = m.sites[i].Offset&0xff == 0x20
	}
	m.start(unwind)
	m.h.Thread = 1
	return m
}

// start makes the assembler, of the plan as it is now.
func (m *machine) start(unwind Unwinder) {
	m.asm = New(m.plan, m.sites, unwind, func(e *trace.Event) error {
		m.got = append(m.got, show(e))
		return nil
	})
}

func show(e *trace.Event) string {
	var b strings.Builder
	if e.Thread != 1 {
		fmt.Fprintf(&b, "[%d] ", e.Thread)
	}
	fmt.Fprint(&b, e.Kind)
	if e.Name != "" {
		fmt.Fprintf(&b, " %s", e.Name)
	}
	switch e.Kind {
	case trace.KindCall:
		fmt.Fprintf(&b, " %d(%d) sp %d", e.Aux, e.Args[0], e.SP)
	case trace.KindReturn:
		fmt.Fprintf(&b, " %d = %d sp %d", e.Aux, e.Ret, e.SP)
	case trace.KindLine:
		fmt.Fprintf(&b, " %d", e.Aux)
		if e.SP != 0 {
			fmt.Fprintf(&b, " sp %d", e.SP)
		}
	case trace.KindSignal, trace.KindExit, trace.KindFork:
		fmt.Fprintf(&b, " %d", e.Aux)
	case trace.KindRealloc:
		fmt.Fprintf(&b, " %d → %d size %d pc %d", e.Aux, e.Addr, e.Size, e.PC)
	case trace.KindAlloc, trace.KindFree, trace.KindRefused:
		fmt.Fprintf(&b, " %d size %d pc %d", e.Addr, e.Size, e.PC)
	case trace.KindStore, trace.KindBulk, trace.KindSyscall, trace.KindUnread, trace.KindMap, trace.KindUnmap:
		fmt.Fprintf(&b, " %d size %d %x", e.Addr, e.Size, e.Data)
	case trace.KindLost:
		fmt.Fprintf(&b, " %d", e.Size)
	case trace.KindPassed:
		if e.Addr == trace.RegsAddr {
			b.WriteString(" registers")
			for at := range len(e.Data) / 8 {
				fmt.Fprintf(&b, " %d", binary.LittleEndian.Uint64(e.Data[8*at:]))
			}
			break
		}
		fmt.Fprintf(&b, " %d size %d %d", e.Addr, e.Size, e.Data)
	}
	for _, f := range []struct {
		flag trace.Flags
		name string
	}{
		{trace.FlagZeroed, "zeroed"}, {trace.FlagPartial, "partial"}, {trace.FlagUnwound, "unwound"},
		{trace.FlagInline, "inline"}, {trace.FlagLate, "late"}, {trace.FlagAtomic, "atomic"},
		{trace.FlagShares, "shares"},
	} {
		if e.Flags&f.flag != 0 {
			fmt.Fprintf(&b, " %s", f.name)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (m *machine) hit(h Hit) {
	h.Thread = m.h.Thread
	if err := m.asm.Hit(&h); err != nil {
		m.got = append(m.got, "error: "+err.Error())
	}
}

func (m *machine) stop(offset uint64, h Hit) {
	for i := range m.sites {
		if m.sites[i].Offset == offset {
			h.Op, h.Index, h.PC = Stop, i, offset
			m.hit(h)
		}
	}
}

// call enters a function: its return address, at sp, is the next multiple of
// 100 below sp plus 7, so that it tells where it was called from.
func (m *machine) call(f int, sp uint64, args ...uint64) {
	h := Hit{SP: sp, Regs: Regs{Ret: sp*10 + 7}}
	copy(h.Regs.Args[:], args)
	m.stop(uint64(f+1)*0x1000, h)
}

func (m *machine) ret(f int, sp, result uint64) {
	m.stop(uint64(f+1)*0x1000+0x10, Hit{SP: sp, Result: result})
}

func (m *machine) jump(f int, sp uint64) { m.stop(uint64(f+1)*0x1000+0x20, Hit{SP: sp}) }

// whole is a call of an allocator that takes a block and gives another.
func (m *machine) whole(f int, sp, takes, size, gives uint64) {
	m.hit(Hit{Op: Alloc, Index: f, SP: sp, Regs: Regs{Ret: sp*10 + 7}, Addr: takes, Size: size, Result: gives})
}

func (m *machine) uret(f int, sp, result uint64) {
	m.hit(Hit{Op: Return, Index: f, SP: sp, Result: result})
}

func (m *machine) store(sp, addr uint64, data ...byte) {
	m.hit(Hit{Op: Store, SP: sp, Addr: addr, Size: uint64(len(data)), Data: data})
}
