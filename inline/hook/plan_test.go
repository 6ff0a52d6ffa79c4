package hook_test

import (
	"testing"

	"mgtrace/inline/hook"
	"mgtrace/probe"
	"mgtrace/x86"
)

// The functions of the test plan: entry at 0x1000 × (index + 1), a RET 0x10
// behind it; "tail" ones have a jump at +0x20 too.
const (
	fMalloc = iota
	fCalloc
	fRealloc
	fPosix
	fStrdup
	fFree
	fNew   // in the program: operator new, jumps to malloc
	fGet   // pool_get(count), declared
	fWatch // watched
	fMemcpy
	fMemcpyChk // jumps to memcpy
	fStrcpy
	fStrcat
	fRead // result in bytes
	fFread
	fStpcpy
	fSnprintf
	fMutex
	fQsort
	fOwn  // a writer in the program itself
	fRecv // around a system call
	fGetline
	fSplit
	fSscanf
	fVscanf
	fWait   // it waits for another thread
	fResize // pool_resize(p, size), declared
)

// The stores of the test plan, at 0x100 × (index + 1) of the program.
const (
	sMovs  = iota // rep movsq
	sStosb        // stosb
	sMask         // vmaskmovps [rbx+rcx*4+16], 32 bytes
	sBit          // bts [rbx], eax
	sCond         // cmpccxadd [rbx], 8 bytes
	sState        // fxsave [rbx]
)

func testPlan() (*probe.Plan, map[uint64]bool) {
	p := &probe.Plan{Images: []*probe.Image{
		{Path: "prog", Traced: true, Bias: progCode},
		{Path: "libc", Bias: libCode},
	}}
	tails := map[uint64]bool{}
	for i, f := range []probe.Func{
		fMalloc:    {Name: "malloc", Role: probe.RoleMalloc, Size: 1},
		fCalloc:    {Name: "calloc", Role: probe.RoleCalloc, Count: 1, Size: 2},
		fRealloc:   {Name: "realloc", Role: probe.RoleRealloc, Ptr: 1, Size: 2},
		fPosix:     {Name: "posix_memalign", Role: probe.RolePosix, Ptr: 1, Size: 3},
		fStrdup:    {Name: "strdup", Role: probe.RoleStrdup},
		fFree:      {Name: "free", Role: probe.RoleFree, Ptr: 1},
		fNew:       {Name: "new", Role: probe.RoleMalloc, Size: 1},
		fGet:       {Name: "pool_get", Role: probe.RoleMalloc, Fixed: 24, Declared: true},
		fWatch:     {Name: "watch", Role: probe.RoleWatch},
		fMemcpy:    {Name: "memcpy", Role: probe.RoleWriter, Dst: 1, Len: 3, Extent: probe.ExtentArg},
		fMemcpyChk: {Name: "memcpy_chk", Role: probe.RoleWriter, Dst: 1, Len: 3, Extent: probe.ExtentArg},
		fStrcpy:    {Name: "strcpy", Role: probe.RoleWriter, Dst: 1, Extent: probe.ExtentString},
		fStrcat:    {Name: "strcat", Role: probe.RoleWriter, Dst: 1, Extent: probe.ExtentAppend},
		fRead:      {Name: "get", Role: probe.RoleWriter, Dst: 2, Extent: probe.ExtentResult},
		fFread:     {Name: "fread", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentResultProduct},
		fStpcpy:    {Name: "stpcpy", Role: probe.RoleWriter, Dst: 1, Extent: probe.ExtentReturned},
		fSnprintf:  {Name: "snprintf", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentBounded},
		fRecv:      {Name: "recv", Role: probe.RoleWriter, Dst: 2, Extent: probe.ExtentCall},
		fGetline:   {Name: "getline", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentLine},
		fSplit:     {Name: "strtok_r", Role: probe.RoleWriter, Dst: 3, Extent: probe.ExtentSplit},
		fSscanf:    {Name: "sscanf", Role: probe.RoleWriter, Dst: 2, Extent: probe.ExtentFormat},
		fVscanf:    {Name: "vscanf", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentFormat},
		fMutex:     {Name: "mutex", Role: probe.RoleWriter, Dst: 1, Fixed: 40, Extent: probe.ExtentFixed, Acquires: true},
		fWait:      {Name: "join", Role: probe.RoleWait},
		fQsort:     {Name: "qsort", Role: probe.RoleWriter, Dst: 1, Len: 2, Count: 3, Extent: probe.ExtentProduct},
		fOwn:       {Name: "own", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentArg},
		fResize:    {Name: "pool_resize", Role: probe.RoleRealloc, Ptr: 1, Size: 2, Declared: true},
	} {
		at := uint64(i+1) * 0x1000
		site := func(addr uint64) probe.Site { return probe.Site{Image: 1, Addr: addr, Offset: addr} }
		if i == fNew || i == fGet || i == fWatch || i == fOwn || i == fResize {
			site = func(addr uint64) probe.Site { return probe.Site{Addr: addr, Offset: addr} }
		}
		f.Entry = site(at)
		f.Returns = []probe.Site{site(at + 0x10), site(at + 0x20)}
		tails[at+0x20] = true
		p.Funcs = append(p.Funcs, f)
	}
	fixed := x86.Store{Operand: x86.Operand{Base: x86.NoReg, Index: x86.NoReg}, Value: x86.NoReg}
	effect := func(change func(*x86.Store)) x86.Store {
		e := fixed
		change(&e)
		return e
	}
	for i, e := range []x86.Store{
		sMovs:  effect(func(e *x86.Store) { e.Base, e.Width, e.Shape, e.Rep = x86.RDI, 8, x86.ShapeString, true }),
		sStosb: effect(func(e *x86.Store) { e.Base, e.Width, e.Shape, e.Addr32 = x86.RDI, 1, x86.ShapeString, true }),
		sMask: effect(func(e *x86.Store) {
			e.Base, e.Index, e.Scale, e.Disp, e.Width, e.Shape = rbx, x86.RCX, 4, 16, 32, x86.ShapeMasked
		}),
		sBit: effect(func(e *x86.Store) { e.Base, e.Width, e.Shape, e.Value, e.RMW = rbx, 4, x86.ShapeBit, x86.RAX, true }),
		sCond: effect(func(e *x86.Store) {
			e.Base, e.Width, e.Shape, e.Atomic, e.RMW = rbx, 8, x86.ShapeCond, true, true
		}),
		sState: effect(func(e *x86.Store) { e.Base, e.Width, e.Shape = rbx, 512, x86.ShapeMasked }),
	} {
		at := uint64(i+1) * 0x100
		p.Stores = append(p.Stores, probe.Store{Site: probe.Site{Addr: at, Offset: at}, Effect: e})
	}
	return p, tails
}

// TestPlain: stores inside an operator that keeps books are held back, and its calls can not
// be told by what trampolines look at; those of the C++ library can.
func TestPlain(t *testing.T) {
	for _, plain := range []bool{false, true} {
		plan, _ := testPlan()
		plan.Funcs[fNew].Plain = plain
		if whole := hook.New(plan, func(int) (lo, hi uint64) { return 0, 0 }, nil).Whole(fNew); whole != plain {
			t.Errorf("plain %v: whole %v", plain, whole)
		}
	}
}
