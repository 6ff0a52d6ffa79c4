package probe

import (
	"slices"
	"strings"

	"mgtrace/cxxname"
	"mgtrace/objfile"
	"mgtrace/trace"
	"mgtrace/types"
)

// Where a specification names no function, nobody has said which calls change the structure, and they help to locate a
// fault: between two calls the structure is mostly whole. The program's code tells:
//
//	main ──► run ──► add ──► add_below ──► rotate
//	         part    chosen  (inside of calls that are known)
//
//  1. A function writes if a store of its own can reach the heap where it has a variable that is a node or leads to one,
//     or reaches a declared object in static memory.
//  2. main is no operation, neither is what is called once in all, from there: that is a part of it.
//  3. From main, and from functions that nobody calls by name, calls are followed until they come to a function that
//     writes: that one is chosen. What it calls is inside of its calls.
//
// Nobody has declared these calls' ends to be C-points, and they are none.

// MaxCalls is how many calls of such functions are told. A call takes some 0.5 µs to record, far more than a store, and of
// a program that makes millions nobody has asked for them: from there on none is known.
const MaxCalls = 1 << 16

// maxOperations is how many functions are chosen. Where more would be, the first from main are.
const maxOperations = 64

// unit is a function of a traced file with what it calls.
type unit struct {
	image   int
	fn      objfile.Func
	calls   []int    // units, each call by itself
	callers int      // calls of it from elsewhere
	looped  bool     // one of them lies in a loop
	again   bool     // it calls itself
	changes []uint64 // its stores, and its calls of allocators
}

// planOperations watches the functions whose calls change nodes.
func (b *builder) planOperations() {
	if len(b.request.Operations) == 0 || len(b.plan.Points) > 0 || slices.ContainsFunc(b.plan.Watched, func(f trace.Func) bool { return !f.End }) {
		return
	}
	landings := b.plan.Landings
	units := b.units()
	for _, i := range b.operations(units) {
		b.plan.Operations = append(b.plan.Operations, units[i].fn.Base)
		b.watch(located{units[i].image, units[i].fn})
	}
	for _, l := range b.plan.Landings[len(landings):] {
		if !slices.Contains(landings, l) {
			b.plan.Behind = append(b.plan.Behind, l)
		}
	}
	for i := range b.plan.Funcs {
		if f := &b.plan.Funcs[i]; f.Role == RoleWatch && !b.plan.Watched[f.ID-1].End {
			f.Beside, b.plan.Watched[f.ID-1].Beside = true, true
		}
	}
}

// units are the functions of the traced files, with their calls of each other.
func (b *builder) units() []unit {
	var units []unit
	byLinkage := map[string]int{}
	first := map[int]int{} // by image
	for _, i := range b.traced() {
		first[i] = len(units)
		for _, fn := range b.plan.Images[i].File.Funcs() {
			if _, ok := byLinkage[fn.Linkage]; !ok {
				byLinkage[fn.Linkage] = len(units)
			}
			units = append(units, unit{image: i, fn: fn})
		}
	}
	memory := b.memoryFuncs()
	for _, i := range b.traced() {
		s := b.sweeps[i]
		of := make([]int, len(s.ranges)) // units, by range
		for k := range of {
			of[k] = -1
		}
		for u := first[i]; u < len(units) && units[u].image == i; u++ {
			for _, r := range units[u].fn.Ranges {
				if home := s.home(r[0]); home >= 0 {
					of[home] = u
				}
			}
		}
		loops := map[int][][2]uint64{}
		for _, e := range s.edges {
			if u := of[e.home]; u >= 0 && !e.call && e.to <= e.from && s.home(e.to) == int(e.home) {
				loops[u] = append(loops[u], [2]uint64{e.to, e.from})
			}
		}
		for _, e := range s.edges {
			from, to, name := of[e.home], -1, ""
			if home := s.home(e.to); home >= 0 {
				to = of[home]
			}
			if to < 0 {
				name = s.file.Import(e.to)
				if u, ok := byLinkage[name]; ok && name != "" && units[u].image != i {
					to = u
				}
			}
			if from >= 0 && (memory.names[name] || memory.entries[at{i, e.to}]) {
				units[from].changes = append(units[from].changes, e.from)
				continue
			}
			if from < 0 || to < 0 {
				continue
			}
			if from == to {
				units[to].again = units[to].again || e.call && e.to == units[to].fn.Addr
				continue
			}
			units[from].calls = append(units[from].calls, to)
			units[to].callers++
			units[to].looped = units[to].looped || within(loops[from], e.from)
		}
		for k := range b.plan.Stores {
			st := &b.plan.Stores[k]
			if st.Image != i {
				continue
			}
			if home := s.home(st.Addr); home >= 0 && of[home] >= 0 {
				units[of[home]].changes = append(units[of[home]].changes, st.Addr)
			}
		}
	}
	return units
}

// at is an address in an image.
type at struct {
	image int
	addr  uint64
}

// memoryFuncs are the functions that allocate and free: their entries, and the names by which other files call them.
type memoryFuncs struct {
	entries map[at]bool
	names   map[string]bool
}

func (b *builder) memoryFuncs() memoryFuncs {
	out := memoryFuncs{map[at]bool{}, map[string]bool{}}
	for i := range b.plan.Funcs {
		if f := &b.plan.Funcs[i]; f.Role >= RoleMalloc && f.Role <= RoleFree {
			out.entries[at{f.Entry.Image, f.Entry.Addr}] = true
			for _, name := range strings.Split(f.Name, "/") {
				out.names[name] = true
			}
		}
	}
	return out
}

// operations chooses.
func (b *builder) operations(units []unit) (chosen []int) {
	seen := make([]bool, len(units))
	w := changers{b: b, units: units, known: map[int]bool{}}
	var work []int
	once := map[int]bool{}
	for i := range units {
		if u := &units[i]; u.fn.Name == "main" {
			once[i] = true
			work = append(work, i)
			seen[i] = true
		}
	}
	for i := range units {
		if units[i].callers == 0 && !seen[i] && units[i].fn.Size > 0 {
			seen[i] = true
			work = append(work, i)
		}
	}
	for ; len(work) > 0 && len(chosen) < maxOperations; work = work[1:] {
		u := &units[work[0]]
		if !once[work[0]] && w.writes(work[0]) {
			chosen = append(chosen, work[0])
			continue
		}
		for _, to := range u.calls {
			if seen[to] {
				continue
			}
			seen[to] = true
			if once[work[0]] && units[to].callers == 1 && !units[to].looped && !units[to].again {
				once[to] = true
			}
			work = append(work, to)
		}
	}
	return chosen
}

// maxAsked is how many stores of a function are asked for the variables there.
const maxAsked = 16

// changers knows which functions write.
type changers struct {
	b     *builder
	units []unit
	known map[int]bool
}

// writes: a function changes nodes by itself, or by what it alone calls, and in one place.
func (w *changers) writes(i int) bool {
	is, ok := w.known[i]
	if ok {
		return is
	}
	w.known[i] = false // for who comes here again
	u := &w.units[i]
	is = w.b.changes(u) || slices.ContainsFunc(u.calls, func(to int) bool {
		return w.units[to].callers == 1 && !w.units[to].looped && w.writes(to)
	})
	w.known[i] = is
	return is
}

// changes: one of a function's own stores can change a node.
func (b *builder) changes(u *unit) bool {
	file := b.plan.Images[u.image].File
	if u.fn.File == "" || objfile.SystemHeader(u.fn.File) {
		return false
	}
	step := 1 + len(u.changes)/maxAsked
	for i := 0; i < len(u.changes); i += step {
		if slices.ContainsFunc(file.Variables(u.changes[i]), func(v objfile.Variable) bool { return b.leads(v.Type) }) {
			return true
		}
	}
	return len(u.changes) > 0 && b.leads(file.ReturnType(u.fn.Addr))
}

// leads: a variable of a type is a node, or leads to one, or to what does.
func (b *builder) leads(t *types.Type) bool {
	for t != nil && (t.Kind == types.Pointer || t.Kind == types.Array) {
		t = t.Elem
	}
	is := func(t *types.Type) bool {
		return t != nil && t.Name != "" && slices.Contains(b.request.Operations, cxxname.Plain(t.Name))
	}
	if t == nil || !t.HasMembers() {
		return false
	}
	return is(t) || slices.ContainsFunc(t.PointerFields(), func(s types.Scalar) bool { return s.Type != nil && is(s.Type.Elem) })
}
