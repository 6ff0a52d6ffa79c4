package probe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/x86"
)

// planFuncs adds allocators and writers: the declared ones, then the standard
// ones of every image.
func (b *builder) planFuncs() error {
	var errs []error
	taken := map[Site]bool{}
	for _, a := range b.request.Allocators {
		errs = append(errs, b.declared(a, taken))
	}
	all := newCatalogue()
	if b.options.InProcess {
		all.addWaiters()
	}
	for i := range b.plan.Images {
		b.standard(i, all, taken)
	}
	if !b.has(RoleMalloc) {
		b.warn("no allocator was found: name the program's own with --alloc")
	}
	return errors.Join(errs...)
}

func (b *builder) has(role Role) bool {
	return slices.ContainsFunc(b.plan.Funcs, func(f Func) bool { return f.Role == role })
}

// declared adds an allocator that the user named.
func (b *builder) declared(a Allocator, taken map[Site]bool) error {
	var errs []error
	if a.Func != "" {
		f := Func{Role: RoleMalloc, Size: a.Size, Count: a.Count, Fixed: a.Fixed, Declared: true}
		if a.Old > 0 {
			f.Role, f.Ptr = RoleRealloc, a.Old
		}
		if a.Like != "" {
			e, ok := newCatalogue()[a.Like]
			if !ok || e.fn.Role == RoleWriter {
				return fmt.Errorf("there is no standard allocator %q", a.Like)
			}
			f = e.fn
			f.Name = a.Like
		}
		errs = append(errs, b.declare(a.Func, f, taken))
	}
	if a.Free != "" {
		errs = append(errs, b.declare(a.Free, Func{Role: RoleFree, Ptr: max(a.FreeArg, 1), Declared: true, Later: a.Later}, taken))
	}
	return errors.Join(errs...)
}

func (b *builder) declare(pattern string, f Func, taken map[Site]bool) error {
	found := b.find(pattern)
	if len(found) == 0 {
		return b.unknown(pattern)
	}
	for _, l := range found {
		g := f
		if g.Name == "" || !strings.HasPrefix(pattern, "0x") {
			g.Name = l.fn.Name
		}
		g.File, g.Line = l.fn.File, l.fn.Line
		if !b.rearranged(&g, l) || !b.enter(&g, l) {
			continue
		}
		g.Returns = b.returns(l)
		if len(g.Returns) == 0 && g.Role != RoleFree {
			if b.options.InProcess {
				b.warn("%s: no return of %s was found: its blocks are not seen", b.plan.Images[l.image].Path, l.fn.Name)
			}
			g.Uretprobe = !b.options.InProcess // better than never to see the block
		}
		taken[g.Entry] = true
		b.plan.Funcs = append(b.plan.Funcs, g)
	}
	return nil
}

// rearranged finds the arguments in a copy that the compiler made of an allocator for some
// of its calls: what is the same in all of them is passed no more, and what follows takes
// its place.
func (b *builder) rearranged(f *Func, l located) bool {
	if cxxname.BaseLinkage(l.fn.Linkage) == l.fn.Linkage {
		return true
	}
	params := b.plan.Images[l.image].File.Params(l.fn.Addr)
	place := func(arg int) objfile.Location {
		if arg > len(params) {
			return objfile.Location{}
		}
		return params[arg-1].Loc
	}
	if f.Size > 0 && place(f.Size).Kind == objfile.LocConst && (f.Count == 0 || place(f.Count).Kind == objfile.LocConst) {
		f.Fixed = uint64(place(f.Size).Offset)
		if f.Count > 0 {
			f.Fixed *= uint64(place(f.Count).Offset)
		}
		f.Size, f.Count = 0, 0
	}
	for _, arg := range []*int{&f.Ptr, &f.Size, &f.Count} {
		if *arg == 0 {
			continue
		}
		loc := place(*arg)
		reg := slices.Index(objfile.ArgRegs[:], loc.Reg)
		if loc.Kind != objfile.LocReg || reg < 0 {
			b.warn("%s is a copy of %s that the compiler made, and takes its arguments in another way: what it does is not seen; -O0 helps, or -fno-ipa-cp -fno-ipa-sra", l.fn.Linkage, l.fn.Base)
			return false
		}
		*arg = reg + 1
	}
	return true
}

// enter fills the entry of a function if it can be probed.
func (b *builder) enter(f *Func, l located) bool {
	im := b.plan.Images[l.image]
	site, ok := b.site(l.image, l.fn.Addr)
	reason := "not backed by the file"
	if ok {
		code := im.File.Code(l.fn.Addr, 2*x86.MaxLen)
		ok, reason = b.options.probeable(code)
		// The vector variants of memset begin by filling a register: behind
		// that, or a nop, the function has still its arguments and its stack pointer.
		if in, err := x86.Decode(code, l.fn.Addr); !ok && err == nil && (in.VectorOnly() || in.IsNop()) {
			if next, _ := x86.KernelProbeable(code[in.Len:]); next {
				site, ok = b.site(l.image, l.fn.Addr+uint64(in.Len))
			}
		}
	}
	if !ok && f.Role == RoleWriter {
		// Those that the kernel's vDSO executes (time, gettimeofday), in a process that was attached to: one that is launched
		// does not find them there (target.hideTimes). An audit finds it if one of them writes into a node.
		b.plan.Notes = append(b.plan.Notes, fmt.Sprintf("what %s writes is not captured: its entry can not be probed: %s", l.fn.Name, reason))
		return false
	}
	if !ok {
		b.warn("%s: the entry of %s at %#x can not be probed: %s", im.Path, l.fn.Name, l.fn.Addr, reason)
		return false
	}
	f.Entry = site
	return true
}

// standard adds the allocators and writers that an image defines. Writers in a
// traced library or program that is not the C library are left out: their
// stores are captured one by one.
func (b *builder) standard(image int, all catalogue, taken map[Site]bool) {
	im := b.plan.Images[image]
	found := im.File.FuncsLinked(func(name string) bool { _, ok := all[name]; return ok })
	host := !im.Traced
	for _, fn := range found {
		host = host || plainName(fn.Linkage) == "memcpy"
	}
	byEntry := map[Site]int{}
	for _, fn := range found {
		e := all[fn.Linkage]
		if e.fn.Role == RoleWriter && !host {
			continue
		}
		l := located{image, fn}
		f := e.fn
		f.Name = plainName(fn.Name)
		if fn.IFunc && !b.resolve(&l) || !b.enter(&f, l) || taken[f.Entry] {
			continue
		}
		if i, ok := byEntry[f.Entry]; ok {
			joinNames(&b.plan.Funcs[i], &f, e.names)
			continue
		}
		f.Uretprobe = !e.unsafe && !b.options.InProcess
		switch {
		case b.options.InProcess && (f.Role == RoleWriter || f.Role == RoleWait):
			f.Returns = b.finalExits(l)
		case e.unsafe && f.Role == RoleWriter:
			f.Returns = b.finalExits(l)
		case b.options.InProcess, e.unsafe:
			f.Returns = b.returns(l)
		}
		byEntry[f.Entry] = len(b.plan.Funcs)
		b.plan.Funcs = append(b.plan.Funcs, f)
	}
	if im.Traced && host {
		b.markLibrary(image)
	}
	if host && b.request.End {
		b.watchEnd(image)
	}
}

// watchEnd watches the C library's exit, which a return from main calls too.
func (b *builder) watchEnd(image int) {
	for _, fn := range b.plan.Images[image].File.FuncsLinked(func(name string) bool { return name == "exit" }) {
		id, w := b.watchID(image, "exit")
		w.End, w.NoReturn = true, true
		f := Func{Name: "exit", ID: id, Role: RoleWatch}
		if b.enter(&f, located{image, fn}) {
			b.plan.Funcs = append(b.plan.Funcs, f)
		}
	}
}

// resolve replaces an IFUNC by the function that its resolver chooses.
func (b *builder) resolve(l *located) bool {
	im := b.plan.Images[l.image]
	if b.options.Resolve == nil {
		b.warn("%s: functions that are chosen at run time (IFUNC: memcpy and others) are not captured", im.Path)
		return false
	}
	addr, err := b.options.Resolve(im, l.fn.Addr)
	if err != nil {
		b.warn("%s: %s is not captured: %v", im.Path, l.fn.Name, err)
		return false
	}
	l.fn.Addr, l.fn.Ranges, l.fn.Size = addr, nil, 0
	return true
}

// joinNames: several names may stand for one function. Of an allocator the one
// that the catalogue has first stays; aliases with leading underscores say
// nothing new; memcpy and memmove are one in glibc, and both are named.
func joinNames(f, other *Func, order string) {
	if f.Role != RoleWriter {
		list := strings.Fields(order)
		if i := slices.Index(list, other.Name); i >= 0 && i < slices.Index(list, f.Name) {
			f.Name = other.Name
		}
		return
	}
	names := strings.Split(f.Name, "/")
	if slices.Contains(names, other.Name) {
		return
	}
	names = append(names, other.Name)
	slices.SortStableFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(underscored(x), underscored(y)), cmp.Compare(x, y))
	})
	names = slices.DeleteFunc(names, func(s string) bool { return underscored(s) == 1 && underscored(names[0]) == 0 })
	f.Name = strings.Join(names, "/")
}

func underscored(name string) int {
	if strings.HasPrefix(name, "_") {
		return 1
	}
	return 0
}

// markLibrary finds the code of the C library in a traced image that contains
// it (a static program, a traced libc): what its allocators and writers
// execute, by direct calls and jumps. What they write is theirs: bookkeeping of
// the heap, or bytes that the call as a whole accounts for.
func (b *builder) markLibrary(image int) {
	s := b.sweeps[image]
	calls := make([][]int32, len(s.ranges))
	for _, e := range s.edges {
		if to := s.home(e.to); to >= 0 && int32(to) != e.home {
			calls[e.home] = append(calls[e.home], int32(to))
		}
	}
	var work []int32
	for i := range b.plan.Funcs {
		f := &b.plan.Funcs[i]
		if f.Entry.Image == image && !f.Declared {
			if home := s.home(f.Entry.Addr); home >= 0 {
				work = append(work, int32(home))
			}
		}
	}
	for len(work) > 0 {
		r := work[len(work)-1]
		work = work[:len(work)-1]
		if !b.library[image][r] {
			b.library[image][r] = true
			work = append(work, calls[r]...)
		}
	}
	if b.request.Inside {
		b.openAllocators(image, calls)
	}
}

// openAllocators takes back from the library's code what its allocators execute,
// but for the writers that they call: those are captured as calls.
func (b *builder) openAllocators(image int, calls [][]int32) {
	s := b.sweeps[image]
	var work []int32
	done := make([]bool, len(s.ranges))
	for i := range b.plan.Funcs {
		f := &b.plan.Funcs[i]
		home := -1
		if f.Entry.Image == image {
			home = s.home(f.Entry.Addr)
		}
		switch {
		case home < 0:
		case f.Role == RoleWriter:
			done[home] = true
		case f.Role >= RoleMalloc && f.Role <= RoleFree:
			work = append(work, int32(home))
		}
	}
	for len(work) > 0 {
		r := work[len(work)-1]
		work = work[:len(work)-1]
		if !done[r] {
			done[r], b.library[image][r] = true, false
			work = append(work, calls[r]...)
		}
	}
}
