package patch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"mgtrace/parallel"
	"mgtrace/x86"
)

// Why a site stays as it is.
var (
	ErrNotInstruction = errors.New("no instruction of the given ranges and length begins there")
	ErrTwice          = errors.New("given twice")
	ErrPinned         = errors.New("its bytes must stay: control may enter it elsewhere, or another patch needs them")
	ErrNoSpace        = errors.New("no free memory in reach")
)

// planner is the state of Make.
type planner struct {
	code   []Code
	images []*image
	space  *space
	emit   Emitter
	plan   *Plan
	made   []made
	arena  []byte // where the bytes of trampolines are appended that are no site's

	*image // the one at work
	dense  *dense
	// The site at work, and what is evicted for it.
	patched, evicted target
}

// Make plans the patches for the sites. The code is sorted by address; neither
// it nor the free ranges overlap themselves or each other.
//
// As in the paper, sites are patched from the highest address down, so that the
// bytes behind a site, which a pun reads, have their last values.
func Make(code []Code, sites []Site, free []Range, e Emitter) (*Plan, error) {
	if err := check(code, free); err != nil {
		return nil, err
	}
	p := &planner{code: code, emit: e, space: newSpace(free, code), plan: &Plan{TacticOf: make([]Tactic, len(sites))}}
	for i := range code {
		p.images = append(p.images, newImage(&code[i]))
	}
	sweep(p.images)
	order := make([]int32, len(sites))
	total, sizes := 0, sizesOf(sites, e)
	for i := range sites {
		order[i] = int32(i)
		total += sizes[i].bytes
	}
	slices.SortStableFunc(order, func(a, b int32) int { return compare(sites[b].Addr, sites[a].Addr) })
	order = p.admit(sites, order)
	at := 0
	for i := len(p.images) - 1; i >= 0; i-- {
		p.image = p.images[i]
		p.dense = newDense(p.space, p.image.Code, total)
		for ; at < len(order) && sites[order[at]].Addr >= p.Addr; at++ {
			p.plan.TacticOf[order[at]] = p.site(&sites[order[at]], sizes[order[at]])
		}
	}
	return p.plan, p.finish()
}

// batch is how many sites one goroutine takes at once.
const batch = 1 << 10

// size is what Emitter.Size says of a site.
type size struct {
	bytes int
	err   error
}

func sizesOf(sites []Site, e Emitter) []size {
	sizes := make([]size, len(sites))
	parallel.Batches(len(sites), batch, func(from, to int) {
		for i := from; i < to; i++ {
			s := &sizes[i]
			s.bytes, s.err = e.Size(sites[i].ID)
			if s.err == nil && s.bytes <= 0 {
				s.err = fmt.Errorf("the emitter gives it %d bytes", s.bytes)
			}
		}
	})
	return sizes
}

func check(code []Code, free []Range) error {
	for i := range code {
		c := &code[i]
		if c.end() < c.Addr || c.end() > 1<<63 {
			return fmt.Errorf("code at %#x: beyond the address space", c.Addr)
		}
		if i > 0 && c.Addr < code[i-1].end() {
			return fmt.Errorf("code at %#x: not sorted, or overlaps", c.Addr)
		}
		for n, f := range c.Funcs {
			if f.Hi < f.Lo || n > 0 && f.Lo < c.Funcs[n-1].Hi {
				return fmt.Errorf("instructions at %#x: not a range, not sorted, or overlaps", f.Lo)
			}
		}
		for _, f := range free {
			if f.Lo < c.end() && c.Addr < f.Hi {
				return fmt.Errorf("code at %#x: lies in free memory", c.Addr)
			}
		}
	}
	f := slices.Clone(free)
	slices.SortFunc(f, func(a, b Range) int { return compare(a.Lo, b.Lo) })
	for i := range f {
		if f[i].Hi < f[i].Lo || f[i].Hi > 1<<63 || i > 0 && f[i].Lo < f[i-1].Hi {
			return fmt.Errorf("free memory at %#x: not a range, or overlaps", f[i].Lo)
		}
	}
	return nil
}

// admit marks the bytes of the sites and returns those that are instructions.
func (p *planner) admit(sites []Site, order []int32) []int32 {
	out := order[:0]
	i := len(p.images) - 1
	for n, o := range order {
		s := &sites[o]
		for i >= 0 && s.Addr < p.images[i].Addr {
			i--
		}
		if n > 0 && len(out) > 0 && sites[out[len(out)-1]].Addr == s.Addr {
			p.refuse(s, ErrTwice)
			continue
		}
		if i < 0 || s.Addr >= p.images[i].end() || s.Len <= 0 {
			p.refuse(s, ErrNotInstruction)
			continue
		}
		m := p.images[i]
		off := int(s.Addr - m.Addr)
		if int(m.state[off]&lenMask) != s.Len {
			p.refuse(s, ErrNotInstruction)
			continue
		}
		for b := off; b < off+s.Len; b++ {
			m.state[b] |= pending
		}
		out = append(out, o)
	}
	return out
}

func (p *planner) refuse(s *Site, err error) {
	p.plan.Tactics[Refused]++
	p.plan.Refusals = append(p.plan.Refusals, Refusal{s.ID, s.Addr, err})
}

// site patches one site, and counts.
func (p *planner) site(s *Site, size size) Tactic {
	t, err := p.try(s, size)
	if err != nil {
		p.refuse(s, err)
		return Refused
	}
	p.plan.Tactics[t]++
	return t
}

func (p *planner) try(s *Site, size size) (Tactic, error) {
	off := int(s.Addr - p.Addr)
	for i := off; i < off+s.Len; i++ {
		p.state[i] &^= pending
	}
	in, err := p.inst(off)
	if err != nil {
		return Refused, err
	}
	if size.err != nil {
		return Refused, size.err
	}
	lo, hi := refers(&in, s.Addr)
	x := &p.patched
	*x = target{
		off: off, len: s.Len, room: p.unlocked(off, s.Len), in: in, site: s,
		size: size.bytes, reach: around(lo, hi, size.bytes), hop: around(lo, hi, JumpLen),
	}
	if p.state[off]&prefixed != 0 {
		x.skip = 1
	}
	if x.room == 0 {
		return Refused, ErrPinned
	}
	t, err := p.jump(x)
	if t == Refused && err == nil {
		t, err = p.successor(x, false)
	}
	if t == Refused && err == nil {
		t, err = p.neighbour(x)
	}
	if t == Refused && err == nil {
		t, err = p.successor(x, true)
	}
	if t == Refused && err == nil {
		t, err = p.trap(x)
	}
	return t, err
}

// target is an instruction that is to be replaced by a jump to its trampoline.
type target struct {
	off, len int
	room     int // bytes from off on that may change
	skip     int // prefixes that the jump needs at least
	in       x86.Inst
	site     *Site // nil: an instruction to evict
	size     int   // upper bound for its trampoline
	reach    window
	hop      window // the same for a hop
}

func (x *target) addr(m *image) uint64 { return m.Addr + uint64(x.off) }

// evictable returns the instruction at off as one to evict. Only what the sweep
// surely knows, what can be relocated and what no branch enters can be. The
// result is valid until the next call.
func (p *planner) evictable(off int) (*target, bool) {
	if off < 0 || off >= len(p.state) {
		return nil, false
	}
	st := p.state[off]
	n := int(st & lenMask)
	if n == 0 || st&prefixed != 0 || !p.clear(off, n, locked|pending|doubtful) {
		return nil, false
	}
	in, err := p.inst(off)
	if err != nil || Relocatable(&in) != nil {
		return nil, false
	}
	addr := p.Addr + uint64(off)
	lo, hi := refers(&in, addr)
	size := MaxRelocated(&in)
	if Continues(&in) {
		size += JumpLen
	}
	p.evicted = target{off: off, len: n, room: n, in: in, size: size,
		reach: around(lo, hi, size), hop: around(lo, hi, JumpLen)}
	return &p.evicted, true
}

// trap puts a breakpoint on the site, and on what follows its LOCK prefix if a
// branch leads there.
func (p *planner) trap(x *target) (Tactic, error) {
	at, ok := p.dense.find(x.size, x.reach)
	if !ok {
		return Refused, ErrNoSpace
	}
	if err := p.place(x, spot{at: at}); err != nil {
		return Refused, err
	}
	for i := 0; i <= x.skip && i < x.room; i++ {
		p.new[x.off+i] = 0xcc
		p.lock(x.off+i, 1)
		p.plan.Traps = append(p.plan.Traps, Breakpoint{x.addr(p.image) + uint64(i), x.site.ID, at})
	}
	return Trap, nil
}

// finish makes the trampolines of sites, sorts what was made and finds the bytes that
// differ.
func (p *planner) finish() error {
	pl := p.plan
	slices.SortFunc(p.made, func(a, b made) int { return compare(a.Addr, b.Addr) })
	if err := p.fill(); err != nil {
		return err
	}
	slices.SortFunc(pl.Traps, func(a, b Breakpoint) int { return compare(a.Addr, b.Addr) })
	for _, m := range p.images {
		m.differ(func(a, b int) {
			pl.Patches = append(pl.Patches, Patch{m.Addr + uint64(a), m.new[a:b:b], m.Bytes[a:b:b]})
		})
	}
	pl.Pages = p.space.inUse()
	return nil
}

// differ tells the runs of bytes that are not as they were.
func (m *image) differ(f func(a, b int)) {
	const stride = 64
	for i := 0; i < len(m.new); {
		if end := i + stride; end <= len(m.new) && bytes.Equal(m.new[i:end], m.Bytes[i:end]) {
			i = end
			continue
		}
		for end := min(i+stride, len(m.new)); i < end; i++ {
			if m.new[i] == m.Bytes[i] {
				continue
			}
			a := i
			for i < len(m.new) && m.new[i] != m.Bytes[i] {
				i++
			}
			f(a, i)
		}
	}
}
