package engine

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/capture/observe"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/probe"
	"mgtrace/translate"
)

// Where what the hook routine works by lies in the process: its process block, then
// its tables, each with room for more than a program has.
const (
	notesAt    = tablesAt + (translate.TableSize+pageSize-1)&^(pageSize-1)
	noteSites  = layout.ProcessSize
	noteStores = noteSites + maxNotes*layout.SiteSize
	noteCalls  = noteStores + maxNotes*layout.StoreDescSize
	noteFuncs  = noteCalls + 1<<16
	notesSize  = noteFuncs + maxFuncs*layout.FuncSize

	maxNotes = 1 << 21
	maxFuncs = 1 << 16
)

// notes is what the hook routine of the in-process engine (package inline/hook) knows
// of a plan. Translations call it at sites: it follows allocators and writers, and notes
// what is wanted in the thread's log.
type notes struct {
	plan   *probe.Plan
	sites  []capture.Site
	tables *hook.Tables
	mem    []byte // our view of what lies at notesAt
}

// shareNotes maps the routine's process block and tables.
func (e *Engine) shareNotes() (n *notes, err error) {
	n = new(notes)
	n.mem, err = e.shared.Map(notesAt, pageUp(notesSize), unix.PROT_READ|unix.PROT_WRITE)
	return n, err
}

// begin tells the routine of a plan.
func (n *notes) begin(plan *probe.Plan, sites []capture.Site, o observe.DeliveryOptions) error {
	n.plan, n.sites = plan, sites
	n.tables = hook.New(plan, func(int) (lo, hi uint64) { return 0, 0 }, nil)
	if len(n.tables.Funcs) > maxFuncs*layout.FuncSize {
		return fmt.Errorf("there are more than %d functions", maxFuncs)
	}
	for _, w := range []struct{ at, v uint64 }{
		{layout.Sites, notesAt + noteSites}, {layout.Stores, notesAt + noteStores}, {layout.Syscalls, notesAt + noteCalls},
		{layout.Funcs, notesAt + noteFuncs}, {layout.MaxData, uint64(o.MaxData)},
	} {
		put64(n.mem[w.at:], w.v)
	}
	binary.LittleEndian.PutUint32(n.mem[layout.StackBytes:], uint32(o.Stack)&^7)
	copy(n.mem[noteCalls:noteFuncs], hook.Syscalls())
	return nil
}

// mapped tells where the files of the plan are now.
func (n *notes) mapped(images []observe.Image) {
	t := hook.New(n.plan, func(i int) (lo, hi uint64) { return images[i].Code[0], images[i].Code[1] }, nil)
	copy(n.mem[noteFuncs:], t.Funcs)
}

// add numbers a site, whose instruction lies at pc. stores: the routine records its
// store.
func (n *notes) add(site int, pc uint64, stores bool) (uint32, error) {
	sites, descs := len(n.tables.Sites), len(n.tables.Stores)
	if sites == maxNotes*layout.SiteSize || descs == maxNotes*layout.StoreDescSize {
		return 0, fmt.Errorf("there are more than %d sites", maxNotes)
	}
	i := n.tables.AddStore(n.sites, site, pc, stores)
	copy(n.mem[noteSites+sites:], n.tables.Sites[sites:])
	copy(n.mem[noteStores+descs:], n.tables.Stores[descs:])
	return uint32(i), nil
}

// pc is where the instruction of a numbered site lies.
func (n *notes) pc(number int) uint64 {
	return binary.LittleEndian.Uint64(n.tables.Sites[number*layout.SiteSize+layout.SitePC:])
}

// wanted says whether a site is one for the routine, its store aside: calls that threads
// wait in are of no interest, since one thread at a time runs.
func (n *notes) wanted(s *capture.Site) bool {
	for _, calls := range [...][]int{s.Enter, s.Leave} {
		for _, f := range calls {
			if n.plan.Funcs[f].Role != probe.RoleWait {
				return true
			}
		}
	}
	return len(s.Points) > 0 || s.Landing || s.Stack
}
