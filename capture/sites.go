package capture

import (
	"cmp"
	"slices"

	"mgtrace/probe"
)

// Site is one instruction to probe with all that the plan wants there. An
// engine does it in this order: settle the store that executed before, report
// Locked, enter functions, reach points, leave functions, do its own store.
type Site struct {
	probe.Site
	Store   int   // index in Plan.Stores of its store; -1: none
	Locked  int   // index of the store just before it that can not be probed itself; -1: none
	After   bool  // a store before it is settled here
	Enter   []int // indices in Plan.Funcs
	Points  []int // indices in Plan.Points, and behind these in Plan.Ends
	Leave   []int // indices in Plan.Funcs
	Landing bool  // one of Plan.Landings
	Stack   bool  // the stack is wanted here
	Around  bool  // one of Plan.Stacks
	Tail    bool  // Leave: by a jump to another function, whose result will be the result
}

// Sites merges a plan into distinct sites, sorted by image and offset.
// Functions that are left through a uretprobe have no Leave site.
func Sites(plan *probe.Plan) []Site {
	wishes := wishesOf(plan)
	slices.SortStableFunc(wishes, func(a, b wish) int {
		return cmp.Or(cmp.Compare(a.at.Image, b.at.Image), cmp.Compare(a.at.Offset, b.at.Offset))
	})
	sites := make([]Site, 0, len(wishes))
	for i := range wishes {
		w := &wishes[i]
		n := len(sites) - 1
		if n < 0 || sites[n].Image != w.at.Image || sites[n].Offset != w.at.Offset {
			sites = append(sites, Site{Site: w.at, Store: -1, Locked: -1})
			n++
		}
		w.grant(plan, &sites[n])
	}
	for i := range sites {
		sites[i].order(plan)
	}
	return sites
}

// order puts the calls of a function that is watched and an allocator around what it does to blocks: when it has returned, its
// block is there, and when it is called, the block that it frees.
func (s *Site) order(plan *probe.Plan) {
	watched := func(f int) int {
		if role := plan.Funcs[f].Role; role == probe.RoleWatch || role == probe.RoleFrame {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(s.Enter, func(f, g int) int { return watched(g) - watched(f) })
	slices.SortStableFunc(s.Leave, func(f, g int) int { return watched(f) - watched(g) })
}

// wish is one thing that a plan wants at a site: number index of its kind.
type wish struct {
	at    probe.Site
	kind  wishKind
	index int32
}

type wishKind uint8

const (
	wishStore wishKind = iota
	wishAfter
	wishLocked
	wishEnter
	wishLeave
	wishPoint
	wishLanding
	wishStack
)

func wishesOf(plan *probe.Plan) []wish {
	wishes := make([]wish, 0, len(plan.Stores)+4*len(plan.Funcs)+len(plan.Landings)+len(plan.Stacks)+len(plan.Points))
	add := func(at probe.Site, kind wishKind, index int) { wishes = append(wishes, wish{at, kind, int32(index)}) }
	for i := range plan.Stores {
		s := &plan.Stores[i]
		if s.AfterOnly {
			add(s.After, wishLocked, i)
			continue
		}
		add(s.Site, wishStore, i)
		if s.After != (probe.Site{}) {
			add(s.After, wishAfter, i)
		}
	}
	for i := range plan.Funcs {
		f := &plan.Funcs[i]
		if f.Role != probe.RoleWait { // it matters when it returns
			add(f.Entry, wishEnter, i)
		}
		for _, r := range f.Returns {
			add(r, wishLeave, i)
		}
	}
	for i, l := range plan.Landings {
		add(l, wishLanding, i)
	}
	for i, s := range plan.Stacks {
		add(s, wishStack, i)
	}
	for i := range plan.Points {
		add(plan.Points[i].Site, wishPoint, i)
	}
	for i := range plan.Ends {
		add(plan.Ends[i].Site, wishPoint, len(plan.Points)+i)
	}
	return wishes
}

// grant adds what is wanted to its site.
func (w *wish) grant(plan *probe.Plan, s *Site) {
	switch i := int(w.index); w.kind {
	case wishStore:
		s.Store = i
	case wishAfter:
		s.After = true
	case wishLocked:
		s.Locked = i
	case wishEnter:
		s.Enter = append(s.Enter, i)
	case wishLeave:
		s.Leave = append(s.Leave, i)
		s.Tail = isTail(plan, w.at)
	case wishPoint:
		s.Points = append(s.Points, i)
		s.Stack = s.Stack || i < len(plan.Points) && plan.Points[i].Begins()
	case wishLanding:
		s.Landing = true
	case wishStack:
		s.Stack, s.Around = true, true
	}
}

// isTail says whether the instruction that leaves a function is a jump and not
// a RET (C3, C2, either with a BND or REP prefix).
func isTail(plan *probe.Plan, s probe.Site) bool {
	f := plan.Images[s.Image].File
	if f == nil {
		return false
	}
	code := f.Code(s.Addr, 2)
	if len(code) == 2 && (code[0] == 0xf2 || code[0] == 0xf3) {
		code = code[1:]
	}
	return len(code) > 0 && code[0] != 0xc3 && code[0] != 0xc2
}
