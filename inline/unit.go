package inline

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"mgtrace/capture"
	"mgtrace/inline/emit"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/patch"
	"mgtrace/probe"
	"mgtrace/x86"
)

// unit is what was patched at one time: the images that were there when
// recording began, or one that the program opened later.
type unit struct {
	images []*image
	sites  []emit.Site
	maker  *emit.Maker
	plan   *patch.Plan
	late   bool          // opened later
	mapped []patch.Range // what was mapped for its trampolines
	undo   uint64        // number of its entry in Options.Undo
	drops  []droppable   // of its patches those that go with the pages they lie in, by address
}

// hookPlace is a hook site by its number.
type hookPlace struct {
	unit *unit
	site int // in the unit
}

// collect lists the sites of some images (by index in the plan): those of the
// capture plan, and system calls.
func (e *Engine) collect(u *unit, indices []int) error {
	indices = slices.Clone(indices)
	slices.SortFunc(indices, func(a, b int) int { return cmp.Compare(e.images[a].bias, e.images[b].bias) })
	n := 0
	for _, index := range indices {
		from, to := e.sitesOf(index)
		n += to - from
	}
	u.sites = make([]emit.Site, 0, n+spareSites)
	for _, index := range indices {
		im, begin := e.images[index], len(u.sites)
		for i, to := e.sitesOf(index); i < to; i++ {
			if err := e.addSite(u, i, &e.sites[i]); err != nil {
				return err
			}
		}
		if entersKernel(im.Image, e.plan, index) {
			for _, pc := range im.syscalls() {
				u.sites = append(u.sites, e.syscallSite(index, pc))
			}
		}
		slices.SortFunc(u.sites[begin:], bySitePC)
	}
	slices.SortFunc(u.sites, bySitePC) // mostly they are
	hooks := len(e.places)
	for i := range u.sites {
		if n := u.sites[i].Hook; n != emit.None {
			hooks = max(hooks, n+1)
		}
	}
	e.places = append(e.places, make([]hookPlace, hooks-len(e.places))...)
	for i := range u.sites {
		if n := u.sites[i].Hook; n != emit.None {
			e.places[n] = hookPlace{u, i}
		}
	}
	return nil
}

func bySitePC(a, b emit.Site) int { return cmp.Compare(a.PC, b.PC) }

// sitesOf is where the sites of an image lie among all.
func (e *Engine) sitesOf(image int) (from, to int) {
	behind := func(image int) int {
		return sort.Search(len(e.sites), func(i int) bool { return e.sites[i].Image > image })
	}
	return behind(image - 1), behind(image)
}

// syscallSite is the site of a system call's instruction at pc in the process.
func (e *Engine) syscallSite(image int, pc uint64) emit.Site {
	im := e.images[image]
	end := pc + uint64(len(syscallCode))
	key := placeKey{image, pc - im.bias}
	n, ok := e.numbered(key, end)
	if !ok {
		n = e.tables.AddSyscall(end)
		e.numbers[key] = n
	}
	return emit.Site{PC: pc, Code: im.at(pc), Tag: emit.None, Hook: n, After: true}
}

func (e *Engine) addSite(u *unit, i int, s *capture.Site) error {
	pc := e.images[s.Image].bias + s.Addr
	code := e.images[s.Image].at(pc)
	if _, err := x86.Decode(code, pc); err != nil {
		return fmt.Errorf("%s: no instruction at %#x: %w", e.images[s.Image].Path, s.Addr, err)
	}
	site := emit.Site{PC: pc, Code: code, Tag: emit.None, Hook: emit.None}
	if s.Store >= 0 {
		site.Tag = s.Store
		if layout.Complex(&e.plan.Stores[s.Store].Effect) {
			site.After = true
		}
	}
	if hook.Needs(e.plan, s) {
		key := placeKey{s.Image, s.Addr}
		n, ok := e.numbered(key, pc)
		if !ok {
			n = e.tables.Add(e.sites, i, pc, e.opts.Hold && holds(e.plan, s))
			e.numbers[key] = n
		}
		site.Hook = n
		site.Beside = e.beside(s)
		site.Leaves, site.Frees, site.Opens = e.leaves(s), e.frees(s), e.opens(s)
	}
	u.sites = append(u.sites, site)
	return nil
}

// leaves says what a site leaves that does nothing else. What an allocator jumps to
// at its end is inside of the call still. Where all writers are recorded each return of one
// concerns the hook routine.
func (e *Engine) leaves(s *capture.Site) emit.Leaving {
	all := func(is func(f int) bool) bool {
		return !slices.ContainsFunc(s.Leave, func(f int) bool { return !is(f) })
	}
	declared := func(f probe.Func) bool { return f.Declared }
	switch {
	case len(s.Leave) == 0 || len(s.Enter) > 0 || !onlyCalls(s):
		return emit.Anything
	case all(e.tables.Whole) && slices.ContainsFunc(e.plan.Funcs, declared):
		return emit.Anything // inside of that, it gives out blocks, too
	case all(e.tables.Whole) && s.Tail:
		return emit.Tails
	case s.Tail:
		return emit.Anything
	case all(e.tables.Whole):
		return emit.Allocators
	case e.filter.On && all(func(f int) bool { return e.plan.Funcs[f].Role == probe.RoleWriter }):
		return emit.Writers
	}
	return emit.Anything
}

// beside: a site begins or leaves functions that nobody named, and does nothing else.
func (e *Engine) beside(s *capture.Site) bool {
	named := func(f int) bool { return !e.plan.Funcs[f].Beside }
	if s.Landing && !slices.Contains(e.plan.Behind, s.Site) {
		return false
	}
	return (s.Landing || len(s.Enter)+len(s.Leave) > 0) && len(s.Points) == 0 && s.Store < 0 && !s.Stack && !slices.ContainsFunc(s.Enter, named) && !slices.ContainsFunc(s.Leave, named)
}

// frees says whether a site begins a free of a block of which the tracer need not be told if
// stores to it are not recorded, and does nothing else.
func (e *Engine) frees(s *capture.Site) bool {
	if !e.filter.On || !e.opts.Matter.Forget || len(s.Enter) != 1 || len(s.Leave) > 0 || !onlyCalls(s) {
		return false
	}
	f := &e.plan.Funcs[s.Enter[0]]
	return f.Role == probe.RoleFree && f.Ptr == 1 && e.tables.Whole(s.Enter[0])
}

// argumentRegs are the registers of arguments 1 to 3 (System V ABI, 3.2.3).
var argumentRegs = [...]x86.Reg{x86.RDI, x86.RSI, x86.RDX}

// opens says what a site notes that begins a call and does nothing else: of an allocator that
// is told when it returns and takes or gives a block, or of a function that writes as many
// bytes as an argument says, or as what it returns and has written tell. Where only some blocks
// matter, the routine has more to do when a block is given back, and most that writes as an
// argument says need not be followed to its end.
func (e *Engine) opens(s *capture.Site) *emit.Opening {
	if len(s.Enter) != 1 || len(s.Leave) > 0 || !onlyCalls(s) {
		return nil
	}
	index := s.Enter[0]
	f := &e.plan.Funcs[index]
	o := &emit.Opening{Index: index, At: x86.NoReg, Bytes: x86.NoReg}
	at, bytes := f.Ptr, f.Size
	atEnd := false // how much is written is only known when it returns
	switch {
	case f.Role == probe.RoleWriter:
		if f.Acquires || e.plan.Images[f.Entry.Image].Traced {
			return nil
		}
		o.Writer = true
		at, bytes = f.Dst, f.Len
		switch f.Extent {
		case probe.ExtentArg:
			o.Closed = e.filter.On
		case probe.ExtentString, probe.ExtentReturned:
			atEnd = true
		case probe.ExtentBounded:
		default:
			return nil
		}
	case !e.tables.Whole(index) || f.Role == probe.RoleFree || f.Count > 0 || e.filter.On && f.Ptr > 0:
		return nil
	default:
		o.Func = e.at.funcs + uint64(index)*layout.FuncSize
	}
	if !atEnd && (bytes < 1 || bytes > len(argumentRegs)) || at > len(argumentRegs) || o.Writer && at < 1 {
		return nil
	}
	if at > 0 {
		o.At = argumentRegs[at-1]
	}
	if !atEnd {
		o.Bytes = argumentRegs[bytes-1]
	}
	return o
}

// onlyCalls: nothing but entries and returns of functions is at a site.
func onlyCalls(s *capture.Site) bool {
	return len(s.Points) == 0 && s.Store < 0 && !s.Landing && !s.Stack
}

// holds says whether a C-point may be at a site.
func holds(plan *probe.Plan, s *capture.Site) bool {
	watched := func(f int) bool { return plan.Funcs[f].Role == probe.RoleWatch && !plan.Funcs[f].Beside }
	return len(s.Points) > 0 || slices.ContainsFunc(s.Enter, watched) || slices.ContainsFunc(s.Leave, watched)
}

// makeUnit plans the patches of some images.
func (e *Engine) makeUnit(indices []int) (*unit, error) {
	maps, err := e.proc.Maps()
	if err != nil {
		return nil, err
	}
	return e.planUnit(indices, freeSpace(maps, startBrk(e.proc.PID())))
}

// planUnit is makeUnit where the free memory is known.
func (e *Engine) planUnit(indices []int, free []patch.Range) (*unit, error) {
	u := &unit{}
	for _, i := range indices {
		u.images = append(u.images, e.images[i])
	}
	if err := e.collect(u, indices); err != nil {
		return nil, err
	}
	u.maker = emit.New(u.sites, emit.Options{Strict: e.opts.Strict, Filter: e.filter, Relocate: relocate})
	var err error
	if u.plan, err = patch.Make(u.code(), u.patchSites(), free, u.maker); err != nil {
		return nil, fmt.Errorf("plan the patches: %w", err)
	}
	e.refused(u)
	return u, nil
}

// patchSites are the sites for the planner, which knows them by their index.
func (u *unit) patchSites() []patch.Site {
	sites := make([]patch.Site, 0, len(u.sites))
	for i := range u.sites {
		in, _ := x86.Decode(u.sites[i].Code, u.sites[i].PC) // addSite has
		sites = append(sites, patch.Site{Addr: u.sites[i].PC, Len: in.Len, ID: i})
	}
	return sites
}

func (u *unit) code() []patch.Code {
	var code []patch.Code
	for _, im := range u.images {
		code = append(code, im.code...)
	}
	slices.SortFunc(code, func(a, b patch.Code) int { return cmp.Compare(a.Addr, b.Addr) })
	return patch.WithPadding(code)
}

// relocate is patch.Relocate for the bytes of one instruction.
func relocate(buf, code []byte, from, to uint64) ([]byte, error) {
	return patch.Relocate(buf, []patch.Code{{Addr: from, Bytes: code}}, from, to)
}

// refused reports the sites that can not be patched.
func (e *Engine) refused(u *unit) {
	e.streams.Lock()
	defer e.streams.Unlock()
	for _, r := range u.plan.Refusals {
		s := &u.sites[r.Site]
		if s.Tag < 0 {
			e.warnings = append(e.warnings, fmt.Sprintf("the instruction %s at %#x can not be patched: %v", x86.Text(s.Code, s.PC), s.PC, r.Reason))
			continue
		}
		st := e.plan.Stores[s.Tag]
		e.unprobed = append(e.unprobed, probe.Unprobed{Site: st.Site, Instruction: x86.Text(s.Code, s.PC), Reason: r.Reason.Error()})
	}
}
