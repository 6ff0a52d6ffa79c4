package callers

import (
	"cmp"
	"slices"

	"mgtrace/trace"
)

// exposed are the functions of the program that a call through a pointer may lead to, also by way of a library: their addresses are
// computed somewhere in the code, lie in data, as those of virtual functions do, or can be asked for by name.
type exposed struct {
	calls []call
	known bool
}

// maxExposing bounds the code that is read for that, bytes.
const maxExposing = 4 << 20

// expose finds them, once.
func (g *Graph) expose() *exposed {
	if g.exposed != nil {
		return g.exposed
	}
	x := &exposed{known: true}
	g.exposed = x
	size := uint64(0)
	seen := map[trace.Addr]bool{}
	for i := range g.symbols.Images {
		im := &g.symbols.Images[i]
		if !im.Traced || im.Obj == nil || !im.Obj.PIE() {
			continue // a library, whose functions call those of the program by what is exposed here
		}
		pointed, ok := im.Obj.Pointed()
		if size += im.Obj.CodeSize(); !ok || size > maxExposing {
			x.known = false
			return x
		}
		add := func(addr uint64) {
			at := im.Bias + trace.Addr(addr)
			if fn, ok := im.Obj.CodeAt(addr); ok && fn.Addr == addr && fn.Name != "_start" && fn.Name != "main" && !seen[at] { // these run once, before all else
				seen[at] = true
				x.calls = append(x.calls, call{to: at, taken: true})
			}
		}
		for _, addr := range pointed {
			add(addr)
		}
		for _, fn := range im.Obj.Funcs() {
			for pc, in := range im.Insts(&fn) {
				if in == nil {
					x.known = false
					return x
				}
				if to, ok := taken(in, pc+uint64(in.Len)); ok {
					add(to)
				}
			}
		}
	}
	slices.SortFunc(x.calls, func(a, b call) int { return cmp.Compare(a.to, b.to) })
	return x
}
