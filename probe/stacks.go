package probe

import (
	"cmp"
	"slices"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/parallel"
	"mgtrace/x86"
)

// A function of a library's header that was not inlined (std::unique_ptr<Node>::reset,
// say) stores for whoever called it, and the line that matters is the caller's. Before
// such stores the stack is wanted, but only in functions that have to do with the types
// of interest, since a stack costs a hundred times what a store does.

// StackBytes is how much of a stack is to be captured by default. A few calls tell the
// type of what is allocated; but templates of the C++ library, where their stores are of
// interest or they have not been inlined, call one another a dozen deep.
func (p *Plan) StackBytes() int {
	if len(p.Stacks) > 0 || p.templates {
		return 1024
	}
	return 512
}

// allocatorTemplate begins the name, as linked, of what each container of the C++ library allocates and frees by, where that was not
// inlined: a function of std::allocator_traits<…>.
const allocatorTemplate = "_ZNSt16allocator_traitsI"

// planStacks finds these stores, and the calls of functions that may write in bulk.
func (b *builder) planStacks(image int) {
	file := b.plan.Images[image].File
	b.plan.templates = b.plan.templates || len(file.FuncsLinked(func(linkage string) bool { return strings.HasPrefix(linkage, allocatorTemplate) })) > 0
	if len(b.request.Stacks) == 0 {
		return
	}
	about := b.funcsAbout(file)
	var code [][2]uint64
	for _, fn := range about {
		code = append(code, fn.Ranges...)
	}
	slices.SortFunc(code, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	next := 0 // the stores are in the order of their addresses
	want := func(addr uint64) bool {
		for next < len(code) && code[next][1] <= addr {
			next++
		}
		return next < len(code) && code[next][0] <= addr && inHeaders(file.Frames(addr))
	}
	for i := range b.plan.Stores {
		if s := &b.plan.Stores[i]; s.Image == image && !s.AfterOnly && want(s.Addr) {
			b.plan.Stacks = append(b.plan.Stacks, s.Site)
		}
	}
	s := b.sweeps[image]
	for _, fn := range about {
		for _, r := range fn.Ranges {
			for at := r[0]; at < r[1]; {
				in, err := x86.Decode(file.Code(at, int(r[1]-at)), at)
				if err != nil || in.Len == 0 {
					break
				}
				if site, ok := b.site(image, at); ok && s.starts.has(at) && in.Kind == x86.KindCall && b.callsWriter(image, &in) && inHeaders(file.Frames(at)) {
					b.plan.Stacks = append(b.plan.Stacks, site)
				}
				at += uint64(in.Len)
			}
		}
	}
}

// funcsAbout are the functions in whose names types of interest stand.
func (b *builder) funcsAbout(file *objfile.File) (about []objfile.Func) {
	const batch = 256
	funcs := file.Funcs()
	is := make([]bool, len(funcs))
	parallel.Batches(len(funcs), batch, func(from, to int) {
		for i := from; i < to; i++ {
			is[i] = mentions(funcs[i].Name, b.request.Stacks)
		}
	})
	for i := range funcs {
		if is[i] {
			about = append(about, funcs[i])
		}
	}
	return about
}

// callsWriter reports whether an instruction calls a function that writes in bulk
// (memmove, as std::copy does).
func (b *builder) callsWriter(image int, in *x86.Inst) bool {
	if !in.Direct {
		return false
	}
	name := b.plan.Images[image].File.Import(in.Target)
	return name != "" && slices.ContainsFunc(b.plan.Funcs, func(f Func) bool { return f.Role == RoleWriter && slices.Contains(strings.Split(f.Name, "/"), name) })
}

// mentions: the name of a function has one of the types in it.
func mentions(function string, types []string) bool {
	function = cxxname.Plain(function)
	return slices.ContainsFunc(types, func(t string) bool {
		for rest := function; ; {
			i := strings.Index(rest, t)
			if i < 0 {
				return false
			}
			end := i + len(t)
			if (i == 0 || !word(rest[i-1])) && (end == len(rest) || !word(rest[end])) {
				return true
			}
			rest = rest[end:]
		}
	})
}

func word(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// inHeaders: no frame is in the user's own code.
func inHeaders(frames []objfile.Frame) bool {
	return len(frames) > 0 && !slices.ContainsFunc(frames, func(f objfile.Frame) bool { return f.File == "" || !objfile.SystemHeader(f.File) })
}
