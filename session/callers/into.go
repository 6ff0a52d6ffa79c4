package callers

import (
	"slices"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// Into returns the calls, and the jumps in place of one, by which functions whose source is known, one
// of them or what that can lead to, enter code without source by which an instruction is reached: a
// statement of a library, and the lines that may have asked for it. Only direct calls are
// followed, so others may lead there too.
func (g *Graph) Into(from, pc trace.Addr) (calls []trace.Addr) {
	target, _, ok := g.entry(pc)
	if !ok {
		return nil
	}
	sites, _ := g.reached(from, func(f *function) ([]call, bool) { return f.calls, true }, g.defined) // what is left out may lead there too
	work := []trace.Addr{target}
	leads := map[trace.Addr]bool{target: true}
	for ; len(work) > 0; work = work[1:] {
		for _, s := range sites[work[0]] {
			switch {
			case s.taken:
			case !g.sourceless(s.caller):
				if !slices.Contains(calls, s.at) {
					calls = append(calls, s.at)
				}
			case !leads[s.caller]:
				leads[s.caller] = true
				work = append(work, s.caller)
			}
		}
	}
	slices.Sort(calls)
	return calls
}

// Asked are the calls, and the jumps in place of one, by one of which a function whose source is known had code without source run that an
// instruction belongs to, as [Graph.Into] tells them; of an instruction with source that itself. None: it is not known, or there are too many.
func (g *Graph) Asked(from, pc trace.Addr) []trace.Addr {
	entry, _, known := g.entry(pc)
	if !known || !g.sourceless(entry) {
		return []trace.Addr{pc}
	}
	way := [2]trace.Addr{from, entry}
	calls, known := g.asked[way]
	if !known {
		if calls = g.Into(from, pc); len(calls) > maxAsked {
			calls = nil
		}
		g.asked[way] = calls
	}
	return calls
}

// maxAsked bounds the calls of which one may have led into a library.
const maxAsked = 8

// sourceless: of a function the source is not known.
func (g *Graph) sourceless(entry trace.Addr) bool {
	f := g.symbols.Frames(entry)
	return len(f) == 0 || f[0].File == ""
}

// defined is the entry of the function that a stub of the procedure linkage table stands for, if a
// traced file has it; else what was given.
func (g *Graph) defined(entry trace.Addr) trace.Addr {
	im, ok := g.symbols.Image(entry)
	if !ok || im.Obj == nil {
		return entry
	}
	name := im.Obj.Import(uint64(entry - im.Bias))
	if name == "" {
		return entry
	}
	if to, known := g.exports[name]; known {
		return to
	}
	to := entry
	for _, other := range g.symbols.Images {
		if other.Obj == nil || !other.Traced {
			continue
		}
		found := other.Obj.FuncsLinked(func(linkage string) bool { return linkage == name })
		if i := slices.IndexFunc(found, func(f objfile.Func) bool { return f.Size > 0 }); i >= 0 {
			to = other.Bias + trace.Addr(found[i].Addr)
			break
		}
	}
	g.exports[name] = to
	return to
}
