package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// MemoryFault is a statement that wrote where it must not, or freed what it
// must not: an inconsistency at its own statement.
//
// Only what no correct program does is a fault. A write is out of bounds if it
// begins inside a live block and runs past its end (of a block of 0 bytes where that begins), or lies in the few bytes
// right behind or before one where the allocator keeps its own; a base register
// says nothing by itself, since it may hold an index.
type MemoryFault struct {
	Time   mgpp.Timestamp // the operation; of a free, the last operation before it
	Thread trace.ThreadID
	PC     trace.Addr
	Kind   string      // "bounds", "use after free", "double free", "invalid free"
	Node   mgpp.NodeID // the block concerned
	Obj    graph.ObjID // its object, 0 if it is of no declared type
	Reason string
}

// behind is how many bytes after a block are never another block's: malloc
// keeps at least the size of the next block there (glibc, malloc.c,
// "Chunk header").
const behind = 8

// header is how many bytes before a block are no other block's: malloc keeps the
// block's own size there.
const header = 8

// granted is how many bytes behind a block an allocator may grant, or a fourth of the block if
// that is more: it rounds up to a chunk or a class of sizes, or to pages.
const granted = 4096

// MemoryFaults returns the memory faults of the history so far, in order of
// time. The slice grows; it is the checker's.
func (c *Checker) MemoryFaults() []MemoryFault {
	c.g.Advance()
	if h, ok := c.hist.(faultHistory); ok {
		for {
			t, ok := h.Doubtful(c.doubtful)
			if !ok {
				break
			}
			c.doubtful++
			c.judge(c.hist.Op(t), c.hist.At(t))
		}
		list := h.Anomalies()
		for ; c.anomalies < len(list); c.anomalies++ {
			c.badFree(&list[c.anomalies])
		}
	}
	return c.faults
}

// faultHistory is what a history tells about memory faults.
type faultHistory interface {
	// Anomalies are frees that did not fit, among others.
	Anomalies() []mgpp.Anomaly
	// Doubtful returns the i-th of the writes that may have gone beyond a
	// live block.
	Doubtful(i int) (mgpp.Timestamp, bool)
}

// judge looks at a write, after which v is the history's view.
func (c *Checker) judge(op mgpp.Op, v mgpp.View) {
	if op.Kind != mgpp.OpStore && op.Kind != mgpp.OpBulk || op.Size == 0 {
		return
	}
	if op.Node == 0 {
		if op.Other != 0 {
			c.strayWrite(op, v)
		}
		return
	}
	if c.spec.MemoryFaults.NoBounds {
		return
	}
	n, ok := v.Node(op.Node)
	if !ok || n.Tracked {
		return
	}
	end := n.Start + trace.Addr(n.Size)
	none := n.Size == 0 && op.Addr == n.Start && standard(n.Alloc) // not a byte was asked for
	if op.Addr < n.Start || op.Addr >= end && !none || op.Addr+trace.Addr(op.Size) <= end {
		return
	}
	over := uint64(op.Addr) + op.Size - uint64(end)
	into := c.into(v, end, over)
	if into == "" && perhaps(&n) {
		return
	}
	if c.options.Granted && into == "" && over <= max(granted, n.Size/4) {
		return
	}
	c.fault(op, "bounds", n, fmt.Sprintf("%s writes %s past the end of %s%s", writer(op), bytesText(over), c.blockName(n, op.Addr), into))
}

// perhaps says that a block may be none: a process that was attached to had two words at the beginning of a page that look
// like the header of a chunk which malloc had from the kernel alone (target/core, Mapped). So do those of others now and then,
// in hundreds of megabytes that they had from the kernel themselves (Java's).
func perhaps(n *mgpp.Node) bool {
	const page, header = 4096, 16
	return n.Before && n.Start%page == header && (n.Size+header)%page == 0
}

// strayWrite judges a write that hits no live block.
func (c *Checker) strayWrite(op mgpp.Op, v mgpp.View) {
	n := c.then(v, op.Other)
	if n.ID == 0 || n.Global != 0 || n.Tracked || !standard(n.Alloc) {
		return
	}
	end := n.Start + trace.Addr(n.Size)
	dead := n.Death != 0 && n.Death <= op.Time
	if before, ok := c.rightBehind(op, v); dead && ok && before.Birth >= n.Death { // it has the memory now
		n, end, dead = before, before.Start+trace.Addr(before.Size), false
	}
	switch {
	case dead && c.options.Granted && c.givenSince(op, v, n.Death):
	case dead && op.Addr >= n.Start && op.Addr < end:
		if !c.spec.MemoryFaults.NoUseAfterFree {
			c.fault(op, "use after free", n, fmt.Sprintf("%s writes %s into %s, which is freed", writer(op), bytesText(op.Size), c.blockName(n, op.Addr)))
		}
	case dead || c.spec.MemoryFaults.NoBounds || c.options.Granted:
	case op.Addr >= end && op.Addr < end+behind && perhaps(&n):
	case op.Addr >= end && op.Addr < end+behind:
		c.fault(op, "bounds", n, fmt.Sprintf("%s writes %s right behind %s", writer(op), bytesText(op.Size), c.blockName(n, n.Start)))
	default:
		if next, ok := c.header(op, v); ok && !perhaps(&next) {
			c.fault(op, "bounds", next, fmt.Sprintf("%s writes %s right before %s", writer(op), bytesText(op.Size), c.blockName(next, next.Start)))
		}
	}
}

// rightBehind returns the live block right behind which a write begins.
func (c *Checker) rightBehind(op mgpp.Op, v mgpp.View) (mgpp.Node, bool) {
	for d := trace.Addr(1); d <= behind; d++ {
		if id, ok := v.NodeAt(op.Addr - d); ok {
			n, ok := v.Node(id)
			return n, ok && n.Global == 0 && !n.Tracked && standard(n.Alloc)
		}
	}
	return mgpp.Node{}, false
}

// givenSince: what a write hit may have been granted to the live block in front of it, beyond what was
// asked for, since what lay there died.
func (c *Checker) givenSince(op mgpp.Op, v mgpp.View, death mgpp.Timestamp) bool {
	n, ok := inFront(op, v)
	end := n.Start + trace.Addr(n.Size)
	if !ok || n.Global != 0 || n.Tracked || !standard(n.Alloc) || uint64(op.Addr)+op.Size > uint64(end)+rounded(n.Size) {
		return false
	}
	was, lived := c.hist.At(death).Node(n.ID)
	return !lived || was.Size != n.Size
}

// rounded is how many bytes beyond those asked for are a block's own, where nothing else tells: glibc rounds up to
// 16 bytes less the 8 of the header, and leaves a rest of 16 to it that is too small for a chunk (malloc.c,
// "request2size", MINSIZE); others have classes of sizes, each larger by a fourth at most.
func rounded(asked uint64) uint64 {
	own := max(24, (asked+8+15)&^15-8) + 16
	return max(own-asked, asked/4)
}

// inFront returns the live block that ends nearest in front of a write, as far away as a block may be rounded. Each block
// has an address that 8 divides; one that is rounded by more than a page is larger than four of these.
func inFront(op mgpp.Op, v mgpp.View) (mgpp.Node, bool) {
	const page, most = 4096, 1 << 20
	at, step := op.Addr&^7, trace.Addr(8)
	for d := trace.Addr(0); d < most && d <= at; d += step {
		if id, ok := v.NodeAt(at - d); ok {
			return v.Node(id)
		}
		if d == page {
			step = page
		}
	}
	return mgpp.Node{}, false
}

// Stray reports that a write hit no block, though it lies near one of the C library's
// that is alive: no certain fault, since nothing says whose that memory is.
func (c *Checker) Stray(op mgpp.Op) bool {
	if op.Node != 0 || op.Other == 0 {
		return false
	}
	n := c.hist.Node(op.Other)
	return n.ID != 0 && n.Global == 0 && !n.Tracked && standard(n.Alloc)
}

// header returns the live block in whose header a write that hits no block ends.
func (c *Checker) header(op mgpp.Op, v mgpp.View) (mgpp.Node, bool) {
	for next := op.Addr + trace.Addr(op.Size); next < op.Addr+trace.Addr(op.Size)+header; next++ {
		id, ok := v.NodeAt(next)
		if !ok {
			continue
		}
		n, ok := v.Node(id)
		return n, ok && n.Start == next && n.Global == 0 && !n.Tracked && standard(n.Alloc)
	}
	return mgpp.Node{}, false
}

// badFree judges a free that did not fit the history. A block that was never
// seen may have been allocated before recording began: that is no fault.
func (c *Checker) badFree(a *mgpp.Anomaly) {
	if c.spec.MemoryFaults.NoDoubleFree {
		return
	}
	op := mgpp.Op{Time: a.Time, Thread: a.Thread, PC: a.PC, Name: a.Name}
	n := c.hist.Node(a.Node)
	how := a.Name
	if how == "" {
		how = "free"
	}
	switch a.Kind {
	case mgpp.FreeTwice:
		c.fault(op, "double free", n, fmt.Sprintf("%s of %s, which is freed already", how, c.blockName(n, a.Addr)))
	case mgpp.FreeInside:
		if !StandardFree(a.Name) && (n.Global != 0 || standard(n.Alloc)) {
			return // so a pool of the program's own is filled, out of its array or chunk
		}
		c.fault(op, "invalid free", n, fmt.Sprintf("%s of an address inside %s", how, c.blockName(n, a.Addr)))
	}
}

// Aborted takes note of the program's having ended itself in a statement of a thread. If that freed what never was a block, the last
// thing that the thread freed so, the allocator did not know it either. It reports whether that is so.
func (c *Checker) Aborted(thread trace.ThreadID, pc trace.Addr) bool {
	h, ok := c.hist.(faultHistory)
	if !ok {
		return false
	}
	list := h.Anomalies()
	i := len(list) - 1
	for i >= 0 && list[i].Thread != thread {
		i--
	}
	if i < 0 || list[i].Kind != mgpp.FreeUnknown || list[i].PC != pc || !StandardFree(list[i].Name) {
		return false
	}
	a := &list[i]
	c.Refused(mgpp.Op{Time: a.Time, Thread: a.Thread, PC: a.PC, Name: a.Name}, a.Addr)
	return true
}

// Refused takes note of a free of what no allocator has given out, with which the C library has ended the program.
func (c *Checker) Refused(op mgpp.Op, addr trace.Addr) {
	if !c.spec.MemoryFaults.NoDoubleFree {
		c.fault(op, "invalid free", mgpp.Node{}, fmt.Sprintf("%s of %#x, which no allocator has given out", cmp.Or(op.Name, "free"), uint64(addr)))
	}
}

func (c *Checker) fault(op mgpp.Op, kind string, n mgpp.Node, reason string) {
	o := c.g.FormerAt(n.ID, uint64(n.Start))
	if o == 0 {
		o = c.g.Former(n.ID)
	}
	if t := c.g.Object(o).Type; t != nil && slices.Contains(c.spec.MemoryFaults.Except, t) && kind == "bounds" {
		return
	}
	f := MemoryFault{Time: op.Time, Thread: op.Thread, PC: op.PC, Kind: kind, Node: n.ID, Obj: o, Reason: reason}
	i, _ := slices.BinarySearchFunc(c.faults, f.Time+1, func(f MemoryFault, t mgpp.Timestamp) int { return cmp.Compare(f.Time, t) })
	c.faults = slices.Insert(c.faults, i, f)
}

// into says what lies behind a block.
func (c *Checker) into(v mgpp.View, end trace.Addr, over uint64) string {
	for a := end; a < end+trace.Addr(min(over, 64)); a++ {
		if id, ok := v.NodeAt(a); ok {
			return ", into " + c.blockName(c.then(v, id), a)
		}
	}
	return ""
}

// then is a block as it was in a view, where it was alive: realloc may have made it larger or smaller since.
func (c *Checker) then(v mgpp.View, id mgpp.NodeID) mgpp.Node {
	if n, ok := v.Node(id); ok {
		return n
	}
	return c.hist.Node(id)
}

func (c *Checker) blockName(n mgpp.Node, addr trace.Addr) string {
	if o := c.g.FormerAt(n.ID, uint64(addr)); o != 0 {
		return c.g.Name(o)
	}
	return fmt.Sprintf("the block of %s at %#x", bytesText(n.Size), uint64(n.Start))
}

func writer(op mgpp.Op) string {
	if op.Name != "" {
		return op.Name
	}
	return "a store"
}

func bytesText(n uint64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// standard reports whether memory of an allocator is nobody's business once it
// is freed: a pool of the program's own may well write there.
func standard(alloc string) bool {
	switch alloc {
	case "malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc", "strdup", "strndup":
		return true
	}
	return strings.HasPrefix(alloc, "operator new") || strings.HasPrefix(alloc, "_Zn")
}

// StandardFree: what frees is no function of the program's own that was declared, but the
// C library's or one that replaces it under a prefix.
func StandardFree(name string) bool {
	for _, prefix := range [...]string{"__interceptor_", "___interceptor_", "je_", "tc_", "mi_", "__libc_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	switch name {
	case "", "free", "cfree", "free_sized", "free_aligned_sized", "realloc", "reallocarray", "dallocx", "sdallocx":
		return true
	}
	return strings.HasPrefix(name, "operator delete") || strings.HasPrefix(name, "_Zd")
}

// onlyBase reports whether a type stands for those that derive from it, and for no nodes.
func (c *Checker) onlyBase(t *check.NodeType) bool {
	ranges := slices.ContainsFunc(c.spec.Constraints, func(k *check.Constraint) bool {
		return slices.ContainsFunc(k.Vars, func(v check.Var) bool { return v.Type == t })
	})
	return !ranges && slices.ContainsFunc(c.spec.Types, func(u *check.NodeType) bool { return u != t && u.Is(t) && c.g.EverBorn(u) })
}

// Unborn reports whether a type has had no node, nor is one that others derive from which have.
func (c *Checker) Unborn(t *check.NodeType) bool {
	return !c.g.Ever(t) && !c.onlyBase(t)
}

// hostOf is a type of which there were nodes, and that has one as a member, with the member's path: the nodes of a list of the C++ library have their
// elements in them. nil: there is none.
func (c *Checker) hostOf(t *check.NodeType) (*check.NodeType, string) {
	for _, u := range c.spec.Types {
		if u == t || u.Layout == nil || t.Layout == nil || t.Layout.Name == "" || !c.g.EverBorn(u) {
			continue
		}
		path, _ := u.Layout.PathTo(func(part *types.Type, _ bool) bool {
			return part.HasMembers() && part.Name == t.Layout.Name && part.Size == t.Layout.Size
		})
		if path != "" {
			return u, path
		}
	}
	return nil, ""
}

// Warnings returns what the user should know at the end, since silence would
// look like health: types never allocated, guards that never held, C-points
// never reached.
func (c *Checker) Warnings(s *Schedule) []string {
	c.g.Advance()
	var out []string
	for _, t := range c.spec.Types {
		if c.Unborn(t) {
			say := fmt.Sprintf("alloc %s at FUNCTION; says which blocks are of it", t.Name)
			if host, path := c.hostOf(t); host != nil {
				say = fmt.Sprintf("it is a member of %s: embed %s in %s at %s; makes nodes of these", host.Name, t.Name, host.Name, path)
			}
			out = append(out, fmt.Sprintf("type %s was never allocated, as far as debug information tells: nothing of it was checked (%s)", t.Name, say))
		}
	}
	out = append(out, c.CutOff()...)
	for i := range c.infos {
		k := &c.infos[i]
		if k.Guard != nil && !k.acyclic && !c.held[i] && !forbids(k.Body) {
			out = append(out, fmt.Sprintf("%s: the guard never held: %s", k.Label, k.Guard.Text()))
		}
	}
	if s == nil {
		return out
	}
	for i, p := range c.spec.CPoints {
		if s.reached[i] || p.Mark {
			continue
		}
		if never := fmt.Sprintf("C-point %s was never reached", cpointName(p)); !slices.Contains(out, never) { // for several types it is several
			out = append(out, never)
		}
	}
	return out
}

// forbids: what a guard asks for must never be, `X ->> X => FALSE`.
func forbids(body check.Expr) bool {
	k, ok := body.(*check.Const)
	return ok && !k.IsFloat && k.Int == 0
}

// CutOff tells of types that an allocator gives too few bytes, as the specification says how many these are.
func (c *Checker) CutOff() (out []string) {
	if !slices.ContainsFunc(c.spec.Allocators, func(a check.Allocator) bool { return a.Bytes > 0 }) {
		return nil
	}
	seen := map[*check.NodeType]bool{} // one is enough: the blocks of such an allocator are alike
	for o := graph.ObjID(1); int(o) <= c.g.Objects() && len(seen) < len(c.spec.Types); o++ {
		b := c.g.Object(o)
		if b.Host == 0 || b.Type == nil || b.Type.Array || b.Type.Layout == nil || seen[b.Type] {
			continue
		}
		seen[b.Type] = true
		for _, a := range c.spec.Allocators {
			if n := b.Type.Layout.Size; a.Bytes > 0 && uint64(a.Bytes) == b.Size && a.Bytes < n {
				out = append(out, fmt.Sprintf("%s has %d bytes, and blocks of it %d, as %s(bytes=%d) says: what lies beyond is undefined", b.Type.Name, n, a.Bytes, a.Func, a.Bytes))
			}
		}
	}
	return out
}

func cpointName(p check.CPoint) string {
	if p.Func == "" {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	switch {
	case p.Entry && !p.Exit:
		return p.Func + ":entry"
	case p.Exit && !p.Entry:
		return p.Func + ":exit"
	}
	return p.Func
}
