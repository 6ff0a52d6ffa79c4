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
	Points  []int // indices in Plan.Points
	Leave   []int // indices in Plan.Funcs
	Landing bool  // one of Plan.Landings
	Stack   bool  // one of Plan.Stacks
	Tail    bool  // Leave: by a jump to another function, whose result will be the result
}

// Sites merges a plan into distinct sites, sorted by image and offset.
// Functions that are left through a uretprobe have no Leave site.
func Sites(plan *probe.Plan) []Site {
	m := merger{at: make(map[key]int)}
	for i := range plan.Stores {
		s := &plan.Stores[i]
		if s.AfterOnly {
			m.site(s.After).Locked = i
			continue
		}
		m.site(s.Site).Store = i
		if s.After != (probe.Site{}) {
			m.site(s.After).After = true
		}
	}
	for i := range plan.Funcs {
		f := &plan.Funcs[i]
		e := m.site(f.Entry)
		e.Enter = append(e.Enter, i)
		for _, r := range f.Returns {
			l := m.site(r)
			l.Leave = append(l.Leave, i)
			l.Tail = isTail(plan, r)
		}
	}
	for _, l := range plan.Landings {
		m.site(l).Landing = true
	}
	for _, s := range plan.Stacks {
		m.site(s).Stack = true
	}
	for i := range plan.Points {
		p := m.site(plan.Points[i].Site)
		p.Points = append(p.Points, i)
	}
	slices.SortFunc(m.sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Offset, b.Offset))
	})
	return m.sites
}

type key struct {
	image  int
	offset uint64
}

type merger struct {
	at    map[key]int
	sites []Site
}

// site returns the site at s, which is valid until the next call.
func (m *merger) site(s probe.Site) *Site {
	k := key{s.Image, s.Offset}
	i, ok := m.at[k]
	if !ok {
		i = len(m.sites)
		m.at[k] = i
		m.sites = append(m.sites, Site{Site: s, Store: -1, Locked: -1})
	}
	return &m.sites[i]
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
