package probe

import (
	"slices"

	"mgtrace/objfile"
	"mgtrace/x86"
)

// planStores adds the stores of one traced image to the plan.
func (b *builder) planStores(image int) {
	s := b.sweeps[image]
	frames := s.frames()
	library := b.library[image]
	locals := b.frameCodes(image)
	b.plan.Filtered += s.unwanted
	b.plan.Stores = slices.Grow(b.plan.Stores, len(s.stores))
	for i := range s.stores {
		c := &s.stores[i]
		byFrame := c.store.Base == x86.RBP && frames[c.home]
		switch {
		case library[c.home]:
			b.plan.Library++
		case c.effect == x86.EffectStore && !b.orders(&c.store) && byFrame && c.store.Index == x86.NoReg &&
			!hitsLocal(s.file, locals, c.addr, &c.store):
			b.plan.Filtered++
		default:
			b.planStore(image, s, c, byFrame || c.store.Base == x86.RSP)
		}
	}
}

// wanted leaves out the stores that can not reach the heap by their operand
// alone: thread-local data, the stack through rsp and static data, unless a declared
// object lies there, or the store orders threads.
func (b *builder) wanted(image int) func(addr uint64, in *x86.Inst) bool {
	locals := b.frameCodes(image)
	return func(addr uint64, in *x86.Inst) bool {
		if in.Effect == x86.EffectUnknown {
			return true
		}
		st := &in.Store
		switch {
		case st.Segment != 0:
			return false
		case b.orders(st):
			return true
		case st.Base == x86.RSP && st.Index == x86.NoReg && st.Shape != x86.ShapeBit:
			return hitsLocal(b.plan.Images[image].File, locals, addr, st)
		case st.Absolute():
			at := uint64(st.Disp)
			if st.RIPRelative {
				at += addr + uint64(st.Len)
			}
			return b.hitsGlobal(image, at, uint64(st.Width))
		}
		return true
	}
}

// orders says that a store is one that other threads may wait for, wherever it writes, and that
// the engine must know of it: it sees no other order.
func (b *builder) orders(st *x86.Store) bool { return st.Atomic && b.options.InProcess }

func (b *builder) hitsGlobal(image int, addr, size uint64) bool {
	for _, g := range b.request.Globals {
		if b.plan.ImageOf(g.Path) == image && addr < g.Addr+g.Size && g.Addr < addr+size {
			return true
		}
	}
	return false
}

// frames says for each range whether rbp is the frame pointer wherever the
// range uses it: its function sets rbp from rsp, and changes it in no other
// way. Parts of a function that lie elsewhere count with it.
func (s *sweep) frames() []bool {
	owner := s.owners()
	type facts struct{ frame, other bool }
	of := map[int]facts{}
	for i, r := range s.ranges {
		f := of[owner[i]]
		f.frame, f.other = f.frame || r.frame, f.other || r.rbpOther || r.bad
		of[owner[i]] = f
	}
	frames := make([]bool, len(s.ranges))
	for i := range s.ranges {
		f := of[owner[i]]
		frames[i] = f.frame && !f.other
	}
	return frames
}

// owners gives each range the index of the range that holds its function's
// entry: itself, except for unlikely parts.
func (s *sweep) owners() []int {
	owner := make([]int, len(s.ranges))
	for i := range owner {
		owner[i] = i
	}
	for _, fn := range s.file.Funcs() {
		if len(fn.Ranges) < 2 {
			continue
		}
		first := s.home(fn.Ranges[0][0])
		for _, r := range fn.Ranges[1:] {
			if i := s.home(r[0]); i >= 0 && first >= 0 {
				owner[i] = first
			}
		}
	}
	return owner
}

// planStore plans one store, whose operand leads from the function's frame or does not, or says why it can not be captured.
func (b *builder) planStore(image int, s *sweep, c *candidate, frame bool) {
	site, ok := b.site(image, c.addr)
	switch {
	case !ok:
		b.unprobed(site, s, "not backed by the file")
		return
	case !s.starts.has(c.addr):
		b.unprobed(site, s, "data among the code: not certain to be an instruction")
		return
	case restartable(s.restartable, c.addr):
		b.unprobed(site, s, "in a restartable sequence (rseq), which the kernel knows by where it is executed")
		return
	case c.effect == x86.EffectUnknown:
		b.unprobed(site, s, "unknown instruction that may write memory")
		return
	case c.store.Shape == x86.ShapeUnsupported:
		b.unprobed(site, s, "what it writes where can not be told from general registers")
		return
	}
	if b.options.InProcess {
		b.plan.Stores = append(b.plan.Stores, Store{Site: site, Effect: c.store, Frame: frame})
		return
	}
	in, _ := s.inst(c.addr) // it begins there
	after, follows := b.after(image, s, c.addr+uint64(in.Len))
	if probeable, reason := in.KernelProbeable(); !probeable {
		if why := s.notOnlyAfter(&in, c, after.Addr, follows); why != "" {
			b.unprobed(site, s, reason+"; "+why)
			return
		}
		b.plan.Stores = append(b.plan.Stores, Store{Site: site, Effect: in.Store, Frame: frame, After: after, AfterOnly: true})
		return
	}
	st := Store{Site: site, Effect: in.Store, Frame: frame}
	if in.Store.Source == x86.SourceMemory && follows {
		st.After = after
	}
	b.plan.Stores = append(b.plan.Stores, st)
}

// restartable says whether an address lies in one of the sequences.
func restartable(list []objfile.Restartable, addr uint64) bool {
	return slices.ContainsFunc(list, func(r objfile.Restartable) bool { return r.Start <= addr && addr < r.End })
}

// after is the first site behind a store that can be probed: at next, or behind
// nops there that can not.
func (b *builder) after(image int, s *sweep, next uint64) (Site, bool) {
	for {
		in, ok := s.inst(next)
		if !ok {
			return Site{}, false
		}
		if ok, _ := in.KernelProbeable(); ok {
			return b.site(image, next)
		}
		if !in.IsNop() {
			return Site{}, false
		}
		next += uint64(in.Len)
	}
}

// notOnlyAfter says why a store that can not be probed can not be captured
// behind itself, at after, either; "" if it can. There its address must still be known
// and nothing else may lead there: no direct branch, no jump table, no entry
// of a function. Landing pads of exceptions are not looked at: no compiler
// was seen to fall through into one from such a store, and a hit too many
// would only report bytes as they are.
func (s *sweep) notOnlyAfter(in *x86.Inst, c *candidate, after uint64, follows bool) string {
	if in.Store.Shape == x86.ShapeMasked || in.Store.Shape == x86.ShapeString {
		return "and the bytes before it are not known"
	}
	for r := x86.RAX; r < 16; r++ {
		if in.Store.Uses(r) && in.Clobbers(r) {
			return "and it changes the register that holds its address"
		}
	}
	if !follows {
		return "and the instruction behind it can not be probed either"
	}
	if r := &s.ranges[c.home]; r.indirect {
		r.indirect = false // once
		s.markTables(int(c.home))
	}
	if after != c.addr+uint64(in.Len) { // the engine takes it for the next
		return "and the nop behind it can not be probed either"
	}
	if s.targets.has(after) || after >= s.ranges[c.home].hi {
		return "and the instruction behind it is reached in other ways too"
	}
	return ""
}

func (b *builder) unprobed(site Site, s *sweep, reason string) {
	text := x86.Text(s.file.Code(site.Addr, x86.MaxLen), site.Addr)
	b.plan.Unprobed = append(b.plan.Unprobed, Unprobed{Site: site, Instruction: text, Reason: reason})
}

// site makes a site of an address of an image; not ok if the file does not
// back it.
func (b *builder) site(image int, addr uint64) (Site, bool) {
	off, ok := b.plan.Images[image].File.Offset(addr)
	return Site{Image: image, Addr: addr, Offset: off}, ok
}
