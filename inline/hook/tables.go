package hook

import (
	"encoding/binary"
	"slices"

	"mgtrace/capture"
	"mgtrace/capture/syscalls"
	"mgtrace/inline/layout"
	"mgtrace/inline/matter"
	"mgtrace/probe"
	"mgtrace/x86"
)

// Tables are the descriptors that the routine works by, as they lie in memory.
// Sites and Stores grow while sites are added.
type Tables struct {
	Sites, Stores, Funcs []byte

	plan    *probe.Plan
	members []matter.Member
}

// New describes the functions of a plan. code returns the executable mappings
// of an image, half-open: from there the library calls its own writers. members are the
// calls that make nodes: one of a function at most.
func New(plan *probe.Plan, code func(image int) (lo, hi uint64), members []matter.Member) *Tables {
	t := &Tables{plan: plan, members: members, Funcs: make([]byte, len(plan.Funcs)*layout.FuncSize)}
	for i := range plan.Funcs {
		f := &plan.Funcs[i]
		traced := plan.Images[f.Entry.Image].Traced
		var lo, hi uint64
		if !traced {
			lo, hi = code(f.Entry.Image)
		}
		function(t.Funcs[i*layout.FuncSize:], f, lo, hi, traced, plan.Inside)
	}
	return t
}

// Whole says whether the calls of a function are recorded as a whole, none of its stores
// being held back meanwhile.
func (t *Tables) Whole(f int) bool {
	return t.Funcs[f*layout.FuncSize+layout.FuncFlags]&(layout.FuncWhole|layout.FuncHides) == layout.FuncWhole
}

// Needs says whether a site needs the hook routine.
func Needs(plan *probe.Plan, s *capture.Site) bool {
	return len(s.Enter)+len(s.Points)+len(s.Leave) > 0 || s.Landing || s.Stack || complexStore(plan, s) != nil
}

// complexStore is the store of a site that the routine records; nil if there is
// none.
func complexStore(plan *probe.Plan, s *capture.Site) *x86.Store {
	if s.Store < 0 {
		return nil
	}
	if e := &plan.Stores[s.Store].Effect; layout.Complex(e) {
		return e
	}
	return nil
}

// Add describes site i of sites, whose instruction lies at pc in the process,
// and returns the number of its hook site. hold: the thread is held there.
func (t *Tables) Add(sites []capture.Site, i int, pc uint64, hold bool) int {
	s := &sites[i]
	flags := uint32(0)
	if hold {
		flags = layout.SiteHold
	}
	return t.add(sites, i, pc, flags, complexStore(t.plan, s))
}

// AddStore is Add for who decides which stores the routine records: that of the site, or
// none.
func (t *Tables) AddStore(sites []capture.Site, i int, pc uint64, records bool) int {
	var e *x86.Store
	if records {
		e = &t.plan.Stores[sites[i].Store].Effect
	}
	return t.add(sites, i, pc, 0, e)
}

func (t *Tables) add(sites []capture.Site, i int, pc uint64, more uint32, e *x86.Store) int {
	s := &sites[i]
	flags, alloc, writer := t.flags(s)
	flags |= more
	store := 0
	if e != nil {
		t.Stores = append(t.Stores, storeDesc(s.Store, e)...)
		store = len(t.Stores) / layout.StoreDescSize
	}
	n := t.site(pc, flags, i, store, alloc, writer)
	put32(t.Sites[n*layout.SiteSize:], layout.SiteMember, t.member(s))
	t.frame(n, s)
	for _, f := range s.Enter {
		if t.plan.Funcs[f].Role != probe.RoleWatch {
			continue
		}
		passed := t.Sites[n*layout.SiteSize+layout.SitePassed:]
		if copy(passed, t.plan.Funcs[f].Passed[:]); t.plan.Funcs[f].Floats {
			passed[len(t.plan.Funcs[f].Passed)] = 1
		}
		copy(t.Sites[n*layout.SiteSize+layout.SiteTexts:], t.plan.Funcs[f].Texts[:])
	}
	return n
}

// frame tells where the variables lie that are blocks, of the function that is entered or left at a site.
func (t *Tables) frame(n int, s *capture.Site) {
	for _, f := range slices.Concat(s.Enter, s.Leave) {
		if fn := &t.plan.Funcs[f]; fn.Role == probe.RoleFrame {
			lo, hi := fn.Frame()
			put32(t.Sites[n*layout.SiteSize:], layout.SiteFrameLo, uint32(int32(lo+probe.AfterReturn)))
			put32(t.Sites[n*layout.SiteSize:], layout.SiteFrameHi, uint32(int32(hi+probe.AfterReturn)))
		}
	}
}

// member is what the entries, or else the returns, at a site make a node of.
func (t *Tables) member(s *capture.Site) uint32 {
	if of := t.memberOf(s.Enter, false); of != 0 || s.Tail {
		return of
	}
	return t.memberOf(s.Leave, true)
}

func (t *Tables) memberOf(funcs []int, leave bool) uint32 {
	for _, f := range funcs {
		for _, m := range t.members {
			fn := &t.plan.Funcs[f]
			if fn.Role != probe.RoleWatch || fn.ID != m.Func || leave != (m.Arg == matter.Result) {
				continue
			}
			arg := m.Arg
			if fn.Args != nil && !leave {
				if arg > len(fn.Args) {
					return 0
				}
				arg = fn.Args[arg-1].Reg + 1 // 0: nowhere
			}
			if arg == 0 {
				return 0
			}
			return uint32(arg) | uint32(m.Size)<<4
		}
	}
	return 0
}

// AddSyscall describes a SYSCALL instruction that ends at pc in the process.
func (t *Tables) AddSyscall(pc uint64) int {
	return t.site(pc, layout.SiteSyscall, 0, 0, 0, 0)
}

func (t *Tables) site(pc uint64, flags uint32, index, store, alloc, writer int) int {
	n := len(t.Sites) / layout.SiteSize
	d := make([]byte, layout.SiteSize)
	put64(d, layout.SitePC, pc)
	put32(d, layout.SiteFlags, flags)
	put32(d, layout.SiteIndex, uint32(index))
	put32(d, layout.SiteStore, uint32(store))
	put32(d, layout.SiteAlloc, uint32(alloc))
	put32(d, layout.SiteWriter, uint32(writer))
	t.Sites = append(t.Sites, d...)
	return n
}

// flags says what happens at a site, and which allocator and writer are
// entered there (index + 1). A function that is both is an allocator.
func (t *Tables) flags(s *capture.Site) (flags uint32, alloc, writer int) {
	if len(s.Points) > 0 || s.Landing {
		flags |= layout.SiteStop
	}
	if s.Stack {
		flags |= layout.SiteStop | layout.SiteStack
	}
	for _, f := range s.Enter {
		switch t.plan.Funcs[f].Role {
		case probe.RoleWatch:
			flags |= layout.SiteStop
		case probe.RoleFrame:
			flags |= layout.SiteStop | layout.SiteFrameEnter
		case probe.RoleWriter:
			flags |= layout.SiteWriterEnter
			writer = f + 1
		default:
			flags |= layout.SiteStack | layout.SiteAllocEnter
			alloc = f + 1
		}
	}
	for _, f := range s.Leave {
		switch t.plan.Funcs[f].Role {
		case probe.RoleWatch:
			flags |= layout.SiteStop
		case probe.RoleFrame:
			flags |= layout.SiteStop | layout.SiteFrameLeave
		case probe.RoleWait:
			flags |= layout.SiteOrder
		case probe.RoleWriter:
			flags |= layout.SiteWriterLeave
		default:
			flags |= layout.SiteAllocLeave
		}
	}
	switch {
	case s.Tail:
		flags |= layout.SiteTail
	case len(s.Leave) > 0:
		flags |= layout.SiteReturn
	}
	return flags, alloc, writer
}

func function(d []byte, f *probe.Func, skipLo, skipHi uint64, traced, open bool) {
	put64(d, layout.FuncSkipLo, skipLo)
	put64(d, layout.FuncSkipHi, skipHi)
	put64(d, layout.FuncFixed, f.Fixed)
	d[layout.FuncRole] = role(f.Role)
	d[layout.FuncExtent] = uint8(f.Extent)
	d[layout.FuncPtr] = uint8(f.Ptr)
	d[layout.FuncDst] = uint8(f.Dst)
	d[layout.FuncLen] = uint8(f.Len)
	d[layout.FuncCount] = uint8(f.Count)
	d[layout.FuncBytes] = uint8(f.Size)
	if traced {
		d[layout.FuncFlags] |= layout.FuncTraced
	}
	if f.Declared {
		d[layout.FuncFlags] |= layout.FuncDeclared
	}
	if f.Acquires {
		d[layout.FuncFlags] |= layout.FuncAcquires
	}
	// Stores inside a standard allocator are its own book-keeping. What is
	// recorded inside one of a file that is not traced was called back by it. If its
	// books are asked for (Plan.Inside), it is open.
	standard := allocates(f.Role) && !f.Declared && !open
	if traced && standard && !f.Plain {
		d[layout.FuncFlags] |= layout.FuncHides
	}
	// Nobody needs to know what happens inside the others: what declared ones write
	// is held back, the books may be asked for, and the size of what strdup returns is
	// what it asks malloc for.
	if standard && f.Role != probe.RoleStrdup {
		d[layout.FuncFlags] |= layout.FuncWhole
	}
}

func allocates(r probe.Role) bool {
	return r != probe.RoleWriter && r != probe.RoleWatch && r != probe.RoleWait && r != probe.RoleFrame
}

func role(r probe.Role) uint8 {
	switch r {
	case probe.RolePosix:
		return layout.RolePosix
	case probe.RoleStrdup:
		return layout.RoleStrdup
	case probe.RoleRealloc, probe.RoleReallocArray:
		return layout.RoleRealloc
	case probe.RoleFree:
		return layout.RoleFree
	case probe.RoleWriter:
		return layout.RoleWriter
	}
	return layout.RoleBlock
}

// storeDesc describes a store of the plan.
func storeDesc(index int, e *x86.Store) []byte {
	d := make([]byte, layout.StoreDescSize)
	put64(d, layout.StoreDescDisp, uint64(e.Disp))
	put32(d, layout.StoreDescIndex, uint32(index))
	binary.LittleEndian.PutUint16(d[layout.StoreDescWidth:], uint16(e.Width))
	d[layout.StoreDescLen] = uint8(e.Len)
	d[layout.StoreDescBase] = register(e.Base)
	d[layout.StoreDescIndexR] = register(e.Index)
	d[layout.StoreDescScale] = e.Scale
	d[layout.StoreDescValue] = register(e.Value)
	d[layout.StoreDescShape] = uint8(e.Shape)
	for _, f := range [...]struct {
		on   bool
		flag uint8
	}{
		{e.RIPRelative, layout.StoreDescRIP},
		{e.Addr32, layout.StoreDescAddr32},
		{e.Rep, layout.StoreDescRep},
		{e.Atomic && !e.Lock, layout.StoreDescAtomic},
	} {
		if f.on {
			d[layout.StoreDescFlags] |= f.flag
		}
	}
	return d
}

func register(r x86.Reg) uint8 {
	if r == x86.NoReg {
		return layout.NoReg
	}
	return uint8(r)
}

// Syscalls is the table of system calls.
func Syscalls() []byte {
	const size = 8
	b := make([]byte, layout.SyscallCount*size)
	for nr, d := range syscalls.Writing() {
		e := b[nr*size:]
		e[0], e[1], e[2] = d.Rule, d.Ptr, d.Len
		put32(e, 4, d.Size)
	}
	return b
}

func put32(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
func put64(b []byte, at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
