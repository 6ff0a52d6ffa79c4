package probe

import (
	"cmp"
	"slices"

	"mgtrace/objfile"
	"mgtrace/x86"
)

// lookBack is how many instructions before an indirect jump are searched for
// the arithmetic of a jump table.
const lookBack = 12

// maxTails bounds the functions that are followed from one by the jumps at
// their ends. Those of libc lead two or three far.
const maxTails = 16

// exits lists where a function is left: RET instructions, and jumps out of it.
// An indirect jump counts as leaving unless it looks like that of a switch.
// Those that the kernel refuses are warned of. Many functions end in the same ones:
// what is returned is kept, and must not be changed.
func (b *builder) exits(l located) []Site {
	key := exitsKey{image: l.image, addr: l.fn.Addr, ranges: len(l.fn.Ranges)}
	if key.ranges > 0 {
		key.end = l.fn.Ranges[0][1]
	}
	sites, ok := b.exitsOf[key]
	if !ok {
		sites = b.findExits(l)
		b.exitsOf[key] = sites
	}
	return sites
}

// exitsKey is a function as exits looks at it, by its ranges or along its paths.
type exitsKey struct {
	image     int
	addr, end uint64
	ranges    int
}

func (b *builder) findExits(l located) []Site {
	var sites []Site
	for _, addr := range b.exitAddrs(l) {
		if site, ok := b.site(l.image, addr); ok {
			if ok, reason := b.options.probeable(b.plan.Images[l.image].File.Code(addr, x86.MaxLen)); !ok {
				b.warn("%s: an exit of %s at %#x can not be probed: %s", b.plan.Images[l.image].Path, l.fn.Name, addr, reason)
				continue
			}
			sites = append(sites, site)
		}
	}
	return sites
}

// finalExits lists the RET instructions behind which a function has returned,
// also those of the functions that it jumps to at its end: vsnprintf of glibc
// consists of such a jump, and realloc of mimalloc of one through the procedure
// linkage table, which is taken to lead to the file's own function. Other indirect
// ones can not be followed.
func (b *builder) finalExits(l located) (sites []Site) {
	s := b.code(l.image)
	seen := map[uint64]bool{}
	work := []located{l}
	for len(work) > 0 && len(seen) < maxTails {
		l := work[0]
		work = work[1:]
		if seen[l.fn.Addr] {
			continue
		}
		seen[l.fn.Addr] = true
		for _, site := range b.exits(l) {
			in, err := x86.Decode(s.file.Code(site.Addr, x86.MaxLen), site.Addr)
			switch {
			case err != nil:
			case in.Kind == x86.KindRet:
				sites = append(sites, site)
			case in.Direct:
				work = append(work, located{l.image, objfile.Func{Addr: throughPLT(s.file, in.Target)}})
			}
		}
	}
	slices.SortFunc(sites, func(a, b Site) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.Compact(sites)
}

// throughPLT is where a jump to addr leads: to a function of the file also if that is
// by a stub.
func throughPLT(f *objfile.File, addr uint64) uint64 {
	name := f.Import(addr)
	if name == "" {
		return addr
	}
	for _, fn := range f.FuncsLinked(func(linkage string) bool { return linkage == name }) {
		return fn.Addr
	}
	return addr
}

// returns lists the instructions with which a function of the library leaves:
// its own exits, and the RET instructions of those that it jumps to.
func (b *builder) returns(l located) []Site {
	sites := slices.Concat(b.exits(l), b.finalExits(l))
	slices.SortFunc(sites, func(a, b Site) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.Compact(sites)
}

// land plans where control is after a function that leaves by jumping to one
// which can not be followed (through the procedure linkage table, a pointer):
// behind the direct calls of it. Who calls it through a pointer is not found.
func (b *builder) land(l located, returns []Site) {
	s := b.sweeps[l.image]
	if s == nil {
		return
	}
	unknown := slices.ContainsFunc(returns, func(r Site) bool {
		in, err := x86.Decode(s.file.Code(r.Addr, x86.MaxLen), r.Addr)
		return err == nil && in.Kind != x86.KindRet
	})
	if !unknown {
		return
	}
	for _, e := range s.edges {
		if !e.call || e.to != l.fn.Addr {
			continue
		}
		in, err := x86.Decode(s.file.Code(e.from, x86.MaxLen), e.from)
		if err != nil {
			continue
		}
		b.landing(l.image, e.from+uint64(in.Len))
	}
}

// returnsTwice are the functions behind whose calls longjmp goes on.
var returnsTwice = map[string]bool{"setjmp": true, "_setjmp": true, "sigsetjmp": true, "__sigsetjmp": true}

// planLandings plans where control may be after an exception or longjmp that has left
// watched functions: at landing pads, and behind calls of setjmp. Such a call
// through a pointer is not found.
func (b *builder) planLandings() {
	if len(b.plan.Watched) == 0 && len(b.request.Locals) == 0 {
		return
	}
	for _, i := range b.traced() {
		s := b.sweeps[i]
		for _, pad := range s.file.LandingPads() {
			b.landing(i, pad)
		}
		twice := map[uint64]bool{}
		for _, fn := range s.file.FuncsLinked(func(name string) bool { return returnsTwice[name] }) {
			twice[fn.Addr] = true // linked in
		}
		for _, e := range s.edges {
			if !e.call || !twice[e.to] && !returnsTwice[s.file.Import(e.to)] {
				continue
			}
			if in, err := x86.Decode(s.file.Code(e.from, x86.MaxLen), e.from); err == nil {
				b.landing(i, e.from+uint64(in.Len))
			}
		}
	}
}

// landing plans a hit where control may come back to, if it can be probed.
func (b *builder) landing(image int, addr uint64) {
	s := b.sweeps[image]
	site, ok := b.site(image, addr)
	if probeable, _ := b.options.probeable(s.file.Code(addr, x86.MaxLen)); ok && probeable && s.starts.has(addr) {
		b.plan.Landings = append(b.plan.Landings, site)
	}
}

func (b *builder) exitAddrs(l located) (addrs []uint64) {
	s := b.code(l.image)
	inside := l.fn.Contains
	var recent recent
	look := func(pc uint64) (next uint64) {
		in, err := x86.Decode(s.file.Code(pc, x86.MaxLen), pc)
		if err != nil {
			return pc + 1
		}
		if leaves(&in, func() []x86.Inst { return recent.decode(s.file) }, inside) {
			addrs = append(addrs, pc)
		}
		recent.add(pc)
		return pc + uint64(in.Len)
	}
	for _, r := range l.fn.Ranges {
		recent.n = 0
		for pc := r[0]; pc < r[1]; {
			pc = look(pc)
		}
	}
	if len(l.fn.Ranges) > 0 {
		return addrs
	}
	body := s.body(l.fn.Addr)
	inside = body.has
	var next uint64
	for pc := range body.all() {
		if pc >= next {
			next = look(pc)
			b.followed(l.image, pc, next)
		}
	}
	return addrs
}

// followed notes an instruction that was found on a path of execution. They come in order.
func (b *builder) followed(image int, lo, hi uint64) {
	im := b.plan.Images[image]
	if k := len(im.Followed); k > 0 && im.Followed[k-1][1] == lo {
		im.Followed[k-1][1] = hi
	} else {
		im.Followed = append(im.Followed, [2]uint64{lo, hi})
	}
}

// recent is where the last lookBack instructions of a piece of code are. Few are looked at.
type recent struct {
	pcs [lookBack]uint64 // by the number of the instruction, modulo lookBack
	n   int              // instructions there were
}

func (r *recent) add(pc uint64) {
	r.pcs[r.n%lookBack] = pc
	r.n++
}

// decode returns the instructions, the newest last.
func (r *recent) decode(f *objfile.File) (list []x86.Inst) {
	for i := max(0, r.n-lookBack); i < r.n; i++ {
		pc := r.pcs[i%lookBack]
		if in, err := x86.Decode(f.Code(pc, x86.MaxLen), pc); err == nil {
			list = append(list, in)
		}
	}
	return list
}

// leaves says that control leaves the function at in, and recent what was before it.
func leaves(in *x86.Inst, recent func() []x86.Inst, inside func(uint64) bool) bool {
	switch {
	case in.Kind == x86.KindRet:
		return true
	case in.Kind == x86.KindJmp || in.Kind == x86.KindJcc:
		if in.Direct {
			return !inside(in.Target)
		}
		return !isSwitch(in, recent())
	}
	return false
}

// isSwitch recognises the indirect jump of a switch: through an indexed table
// in memory, or through a register that was loaded from one or computed by
// adding a distance (gcc and clang: movsxd, add, jmp).
func isSwitch(in *x86.Inst, recent []x86.Inst) bool {
	if op, ok := in.Operand(); ok {
		return op.Index != x86.NoReg
	}
	target, ok := in.JumpsThrough()
	if !ok {
		return false
	}
	for i := len(recent) - 1; i >= 0 && i >= len(recent)-lookBack; i-- {
		prev := &recent[i]
		if prev.Kind == x86.KindCall || prev.Kind == x86.KindRet {
			return false
		}
		if !prev.MayWrite(target) {
			continue
		}
		op, mem := prev.Operand()
		return prev.IsAdd() || mem && op.Index != x86.NoReg
	}
	return false
}

// body finds the code of a function whose size is not known, along the paths
// of execution from its entry. A jump to where calls lead, or before the
// entry, leaves it.
func (s *sweep) body(entry uint64) bitset {
	lo, hi := entry, entry+1<<16
	if i := s.home(entry); i >= 0 {
		hi = min(hi, s.ranges[i].hi)
	}
	if s.called == nil {
		s.called = map[uint64]bool{}
		for _, e := range s.edges {
			if e.call {
				s.called[e.to] = true
			}
		}
	}
	body := newBitset(lo, hi)
	work := []uint64{entry}
	for len(work) > 0 {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		for pc >= lo && pc < hi && !body.has(pc) && (pc == entry || !s.called[pc]) {
			in, err := x86.Decode(s.file.Code(pc, x86.MaxLen), pc)
			if err != nil {
				break
			}
			body.set(pc)
			if in.Direct && in.Kind != x86.KindCall {
				work = append(work, in.Target)
			}
			if in.Kind == x86.KindRet || in.Kind == x86.KindJmp || in.Kind == x86.KindStop {
				break
			}
			pc += uint64(in.Len)
		}
	}
	return body
}
