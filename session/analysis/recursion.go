package analysis

import (
	"cmp"
	"encoding/binary"
	"slices"

	"mgtrace/faultloc"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/session/rerun"
	"mgtrace/trace"
)

// A function that calls itself for each node to which a node leads never comes to an end if they lead in a circle: its stack is full then.
// The calls on the stack hold the nodes, each in its frame or in a register that the next call has kept; where the compiler has inlined calls
// into one another, those of several:
//
//	walk(a)  walk(b)  walk(c)  walk(a)  walk(b)  …  the stack is full
//	   a+16 ──▶ b+8 ───▶ c+16 ──▶ a

// Limits of what is looked at.
const (
	maxRecursed  = 256 // calls on the stack
	fewRecursed  = 8   // of one function
	maxInFrame   = 16  // blocks to which one call holds pointers
	maxLinked    = 512 // bytes of a block in which there may be links
	maxLinkTries = 1 << 12
)

// recursed are the links of the circle of nodes along which a function has called itself until the stack was full, the one first that
// closed it: it was stored last, or nothing has stored it at all.
func (a *Analysis) recursed(at mgpp.Timestamp) []faultloc.Read {
	d := &a.died
	if !d.stackFull() || d.stack.Base == 0 {
		return nil
	}
	calls := a.recursion(at)
	if len(calls) == 0 {
		return nil
	}
	c := circling{linkTo: linker(a.Hist.At(at), rerun.Words(a.program(nil), at))}
	// The innermost calls may be beside the circle: for the NULL that a node of it also leads to, or for a tree that hangs on it.
	for k := range calls {
		c.calls = calls[k:]
		for _, node := range c.calls[0].nodes {
			if links := c.circle(0, []uint64{node}, nil); links != nil {
				return a.closing(links, at)
			}
		}
	}
	return nil
}

// recursion is one call of a function on the stack.
type recursion struct {
	pc    trace.Addr // where it has made the next call
	nodes []uint64   // blocks to which it holds pointers, by where these begin
}

// recursion are the calls of the function that has most calls on the stack, the innermost first; none if these are few.
func (a *Analysis) recursion(at mgpp.Timestamp) (calls []recursion) {
	d := &a.died
	levels := objfile.Unwind(d.regs, maxRecursed, a.Symbols.File, d.stack.Read)
	begin, n := make([]trace.Addr, len(levels)), map[trace.Addr]int{}
	most := trace.Addr(0)
	for i := range levels {
		if b, ok := a.Symbols.Begin(trace.Addr(levels[i].Lookup())); ok {
			begin[i] = b
			if n[b]++; n[b] > n[most] {
				most = b
			}
		}
	}
	if n[most] < fewRecursed {
		return nil
	}
	view := a.Hist.At(at)
	for i := range levels {
		if begin[i] != most || i+1 == len(levels) {
			continue
		}
		c := recursion{pc: trace.Addr(levels[i].Lookup())}
		hold := func(v uint64) {
			id, ok := view.NodeAt(trace.Addr(v))
			if node, _ := view.Node(id); ok && uint64(node.Start) == v && len(c.nodes) < maxInFrame && !slices.Contains(c.nodes, v) {
				c.nodes = append(c.nodes, v)
			}
		}
		r := &levels[i].Regs
		for n, v := range r.R[:16] {
			if r.Known>>n&1 != 0 {
				hold(v)
			}
		}
		var word [8]byte
		for sp := r.SP(); sp < levels[i+1].Regs.SP() && d.stack.Read(sp, word[:]); sp += 8 {
			hold(binary.LittleEndian.Uint64(word[:]))
		}
		calls = append(calls, c)
	}
	return calls
}

// link is a word in a block by which a call went from there to the next one's.
type link struct {
	pc   trace.Addr
	addr uint64
}

// circling is the search for a circle.
type circling struct {
	calls  []recursion
	linkTo func(from, to uint64) uint64 // where in a block a pointer to another one lies; 0: there is none
	tries  int
}

// circle follows the calls outwards, from a block that the innermost held: each held one, or several, that lead to that of the call before
// it. It has come round where a block is the same again. way are the blocks, the last of which call k held, and by are the links between them.
func (c *circling) circle(k int, way []uint64, by []link) []link {
	for outer := k; outer <= k+1 && outer < len(c.calls); outer++ {
		for _, from := range c.calls[outer].nodes {
			if c.tries++; c.tries > maxLinkTries {
				return nil
			}
			addr := c.linkTo(from, way[len(way)-1])
			if addr == 0 {
				continue
			}
			by := append(slices.Clip(by), link{c.calls[outer].pc, addr})
			if i := slices.Index(way, from); i >= 0 {
				if c.along(way[i:]) {
					return by[i:]
				}
				continue
			}
			if links := c.circle(outer, append(slices.Clip(way), from), by); links != nil {
				return links
			}
		}
	}
	return nil
}

// along: the calls went along some blocks, as far as they are known: each holds one of them. Where most hold another block as well, that no
// other call holds, they went along those, and have handed on what may well be linked in a circle.
func (c *circling) along(blocks []uint64) bool {
	holding := map[uint64]int{}
	for _, call := range c.calls {
		if !slices.ContainsFunc(call.nodes, func(n uint64) bool { return slices.Contains(blocks, n) }) {
			return false
		}
		for _, n := range call.nodes {
			holding[n]++
		}
	}
	apart := 0
	for _, call := range c.calls {
		if slices.ContainsFunc(call.nodes, func(n uint64) bool { return holding[n] == 1 && !slices.Contains(blocks, n) }) {
			apart++
		}
	}
	return 2*apart <= len(c.calls)
}

// linker finds where in a block a pointer to another one lies, by what a word there held when it was written, or when the block was allocated.
func linker(view mgpp.View, word func(addr uint64) uint64) func(from, to uint64) uint64 {
	known := map[[2]uint64]uint64{}
	return func(from, to uint64) uint64 {
		addr, ok := known[[2]uint64{from, to}]
		if ok {
			return addr
		}
		id, _ := view.NodeAt(trace.Addr(from))
		if n, ok := view.Node(id); ok {
			for off := uint64(0); off+8 <= min(n.Size, maxLinked) && addr == 0; off += 8 {
				if word(from+off) == to {
					addr = from + off
				}
			}
		}
		known[[2]uint64{from, to}] = addr
		return addr
	}
}

// closing are links as the locator asks for them, the newest first; before them those that nothing has written since the block was
// allocated.
func (a *Analysis) closing(links []link, at mgpp.Timestamp) (out []faultloc.Read) {
	for _, l := range links {
		r := faultloc.Read{PC: l.pc, Addr: trace.Addr(l.addr), Size: 8, Of: -1, Before: at}
		if id, ok := a.Hist.NodeAtTime(r.Addr, at); ok {
			r.Born = a.Hist.Node(id).Birth
		}
		out = append(out, r)
	}
	age := func(r faultloc.Read) mgpp.Timestamp {
		if t := a.Hist.LastWrite(r.Addr, 8, at); t > r.Born {
			return at - t
		}
		return 0
	}
	slices.SortStableFunc(out, func(x, y faultloc.Read) int { return cmp.Compare(age(x), age(y)) })
	return out
}
