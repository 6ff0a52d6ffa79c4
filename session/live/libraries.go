package live

import (
	"cmp"
	"slices"
	"sort"

	"mgtrace/inline/matter"
	"mgtrace/objfile"
	"mgtrace/trace"
)

// libraries are those of the plan that the program opens while it runs. An address of code is to mean
// one place in one file as long as the history goes. So a library keeps the place by which it was told first, its
// home: where it is opened again elsewhere its addresses are moved there. Where another file has its home already
// at the place that a new library gets, that gets a home beyond what programs can have mapped.
//
// Addresses of data are not moved: they are told as they are.
type libraries struct {
	homes  map[int]uint64               // bias by which an image of the plan is told, by its index
	beyond uint64                       // the next home beyond user space; 0: none was given out
	shifts []shift                      // by address, disjoint: what is not told as it is
	stacks map[*trace.Addr][]trace.Addr // stacks that were moved, by the first word of each, which does not change
}

// shift says how addresses from lo to hi are told: with by added.
type shift struct{ lo, hi, by uint64 }

// cover has the addresses from lo to hi told with by added.
func (s *libraries) cover(lo, hi, by uint64) {
	var kept []shift
	for _, x := range s.shifts {
		if x.lo < lo {
			kept = append(kept, shift{x.lo, min(x.hi, lo), x.by})
		}
		if hi < x.hi {
			kept = append(kept, shift{max(x.lo, hi), x.hi, x.by})
		}
	}
	if by != 0 {
		kept = append(kept, shift{lo, hi, by})
	}
	slices.SortFunc(kept, func(a, b shift) int { return cmp.Compare(a.lo, b.lo) })
	s.shifts = slices.DeleteFunc(kept, func(x shift) bool { return x.lo >= x.hi })
	s.stacks = nil
}

// by is what is added to an address.
func (s *libraries) by(pc uint64) uint64 {
	if len(s.shifts) == 0 {
		return 0
	}
	i := sort.Search(len(s.shifts), func(i int) bool { return pc < s.shifts[i].hi })
	if i < len(s.shifts) && s.shifts[i].lo <= pc {
		return s.shifts[i].by
	}
	return 0
}

// plain: an address is told as it is, and no other one is told by it.
func (s *libraries) plain(pc trace.Addr) bool {
	return !slices.ContainsFunc(s.shifts, func(x shift) bool {
		return uint64(pc)-x.lo < x.hi-x.lo || uint64(pc)-x.by-x.lo < x.hi-x.lo
	})
}

// told is by which address an address is told.
func (s *libraries) told(pc trace.Addr) trace.Addr { return pc + trace.Addr(s.by(uint64(pc))) }

// back is by which address a return address is told: code may end there.
func (s *libraries) back(ret trace.Addr) trace.Addr { return s.told(ret-1) + 1 }

// stack is a stack as it is told. It never changes, as the one given.
func (s *libraries) stack(stack []trace.Addr) []trace.Addr {
	if len(s.shifts) == 0 || len(stack) == 0 {
		return stack
	}
	if out, ok := s.stacks[&stack[0]]; ok && len(out) == len(stack) {
		return out
	}
	out := stack
	if slices.ContainsFunc(stack, func(ret trace.Addr) bool { return s.back(ret) != ret }) {
		out = make([]trace.Addr, len(stack))
		for i, ret := range stack {
			out[i] = s.back(ret)
		}
	}
	if s.stacks == nil {
		s.stacks = map[*trace.Addr][]trace.Addr{}
	}
	s.stacks[&stack[0]] = out
	return out
}

// sites are sites of calls as they are told.
func (s *libraries) sites(sites []trace.StoreSite) []trace.StoreSite {
	if len(s.shifts) == 0 {
		return sites
	}
	sites = slices.Clone(sites)
	for i := range sites {
		sites[i].PC, sites[i].Stack = s.back(sites[i].PC), s.stack(sites[i].Stack)
	}
	return sites
}

// opening is a program to whose libraries an engine tells where they are: capture.Libraries.
type opening Program

// Opened implements capture.Libraries.
func (o *opening) Opened(image int, bias uint64) (moved uint64) {
	l := (*Program)(o)
	in := (*intake)(l)
	in.lock()
	defer in.unlock()
	s, f := &l.libs, l.plan.Images[image].File
	lo, hi := f.LoadRange()
	home, known := s.homes[image]
	if !known {
		home = bias
		if l.Symbols.Overlaps(trace.Addr(bias+lo), trace.Addr(bias+hi)) {
			home = max(s.beyond, trace.UserEnd) - lo
			s.beyond = home + (hi+0xffff)&^0xffff
		}
		if s.homes == nil {
			s.homes = map[int]uint64{}
		}
		s.homes[image] = home
		l.loaded(l.plan.Images[image].Path, home)
	}
	s.cover(bias+lo, bias+hi, home-bias)
	return home - bias
}

// Closed implements capture.Libraries. What comes to lie there and is no library of the plan has no names.
func (o *opening) Closed(image int) {
	l := (*Program)(o)
	in := (*intake)(l)
	in.lock()
	defer in.unlock()
	im := l.plan.Images[image]
	lo, hi := im.File.LoadRange()
	l.libs.cover(im.Bias+lo, im.Bias+hi, nowhere)
}

// nowhere moves an address to where no library has its home.
const nowhere = 1 << 62

// file is the one that is mapped at an address, and where: capture.FindFile.
func (l *Program) file(pc uint64) (f *objfile.File, bias uint64, ok bool) {
	by := l.libs.by(pc)
	f, home, ok := l.Symbols.File(pc + by)
	return f, home - by, ok
}

// loaded: a library that was not there at the start is, with a bias for its code: its addresses have names from then on.
func (l *Program) loaded(path string, bias uint64) {
	for i := range l.late {
		im := l.late[i]
		if im.Path != path {
			continue
		}
		im.Place(trace.Addr(bias))
		l.Symbols.Add(im)
		for i := range l.Prog.Modules {
			if l.Prog.Modules[i].Path == im.Path {
				l.Prog.Modules[i] = im.Module
			}
		}
		l.late = slices.Delete(l.late, i, i+1)
		return
	}
}

// plainly is an engine's filter that is told only of code that has been at one place alone: it goes by addresses as
// the program has them. Of others it knows nothing, and records.
type plainly struct {
	filter
	libs *libraries
}

// Tell implements filter.
func (p plainly) Tell(f matter.Frame) bool {
	return p.libs.plain(trace.Addr(f.Ret-1)) && p.filter.Tell(f)
}

// CloseAlike implements Closer.
func (p plainly) CloseAlike(stack []trace.Addr, size, lo, hi uint64) bool {
	return p.plain(stack) && p.filter.CloseAlike(stack, size, lo, hi)
}

// OpenAlike implements Closer.
func (p plainly) OpenAlike(stack []trace.Addr) {
	if p.plain(stack) {
		p.filter.OpenAlike(stack)
	}
}

func (p plainly) plain(stack []trace.Addr) bool {
	return len(p.libs.shifts) == 0 || !slices.ContainsFunc(stack, func(ret trace.Addr) bool { return !p.libs.plain(ret - 1) })
}
