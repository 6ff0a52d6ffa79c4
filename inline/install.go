package inline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"golang.org/x/sys/unix"

	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/patch"
	"mgtrace/target"
	"mgtrace/target/mem"
)

// sharingLimit is how long a child may share the memory (vfork) before the engine
// is taken out all the same.
const sharingLimit = 2 * time.Second

// spareSites are hook sites kept free for images that are mapped later: their
// system calls.
const spareSites = 256

// Behind the hook routine lies an int3, where threads are caught that return
// from it.
const int3 = 0xcc

var (
	catch     = uint64(len(hook.Code)) // offset of the int3
	hookPages = pageUp(catch + 1)
)

// share makes the shared memory, and puts the hook routine into the process.
func (e *Engine) share() error {
	e.tables = hook.New(e.plan, func(i int) (lo, hi uint64) {
		if e.images[i] == nil {
			return 0, 0
		}
		return e.images[i].extent()
	}, e.opts.Matter.Members)
	sizes := e.tableSizes()
	a, err := newArena(e.proc, sizes.end, uint64(e.opts.Buffer), e.opts.Threads)
	if err != nil {
		return err
	}
	e.arena = a
	base := a.base + layout.ProcessSize
	e.at = tableAddrs{base + sizes.sites, base + sizes.stores, base + sizes.funcs, base + sizes.syscalls, base + sizes.verdicts, base + sizes.late, base + sizes.paths, base + sizes.barren, base + sizes.named, base + sizes.end}
	if a.guards, err = newGuards(e.proc, e.opts.sigsegv); err != nil {
		return err
	}
	a.guards.watch(e.reached, e.fail)
	if e.hook, err = e.proc.Syscall(unix.SYS_MMAP, 0, hookPages,
		unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0); err != nil {
		return fmt.Errorf("map the hook routine: %w", err)
	}
	if err := e.proc.WriteMemory(append(slices.Clone(hook.Code), int3), e.hook); err != nil {
		return fmt.Errorf("write the hook routine: %w", err)
	}
	if err := e.fillProcess(); err != nil {
		return err
	}
	if e.opts.Filter {
		if err := e.filterStores(); err != nil {
			e.warnings = append(e.warnings, fmt.Sprintf("all stores are recorded: %v", err))
		}
	}
	return e.noteShared()
}

// reached is told that a thread waits at its guard page. Let go on without a
// buffer, because none was free, it comes back here; then the reader pokes it.
func (e *Engine) reached(tid int) {
	e.streams.Lock()
	for _, s := range e.arena.slots {
		if s.tid == tid && s.starved {
			e.streams.Unlock()
			return
		}
	}
	e.streams.Unlock()
	e.stops.Add(1)
	_ = e.proc.Poke(tid) // it has ended meanwhile
}

// tableSizes lays the tables out one behind the other; each entry is where one
// begins.
func (e *Engine) tableSizes() (t tableAddrs) {
	hooks, complex := spareSites, 0
	for i := range e.sites {
		if hook.Needs(e.plan, &e.sites[i]) {
			hooks++
		}
		if s := e.sites[i].Store; s >= 0 && layout.Complex(&e.plan.Stores[s].Effect) {
			complex++
		}
	}
	for i, im := range e.images {
		if im != nil && entersKernel(im.Image, e.plan, i) {
			hooks += len(im.syscalls())
		}
	}
	align := func(n int) uint64 { return uint64(n+63) &^ 63 }
	t.stores = t.sites + align(hooks*layout.SiteSize)
	t.funcs = t.stores + align(complex*layout.StoreDescSize)
	t.syscalls = t.funcs + align(len(e.tables.Funcs))
	t.verdicts = t.syscalls + align(len(hook.Syscalls()))
	t.late = t.verdicts + verdicts*layout.VerdictSize
	t.paths = t.late + layout.LateTable
	t.barren = t.paths
	if e.opts.Stack > 0 {
		t.barren += hook.PathsSize
	}
	t.named = t.barren
	if len(e.opts.Matter.Members) > 0 {
		t.named += align(layout.BarrenSize)
	}
	t.end = t.named + uint64(len(e.opts.Matter.Named))*16
	return t
}

// fillProcess fills the process block in.
func (e *Engine) fillProcess() error {
	brk, err := e.proc.Syscall(unix.SYS_BRK, 0)
	if err != nil {
		return err
	}
	a := e.arena
	*a.process(layout.Sites) = e.at.sites
	*a.process(layout.Stores) = e.at.stores
	*a.process(layout.Funcs) = e.at.funcs
	*a.process(layout.Syscalls) = e.at.syscalls
	*a.process(layout.Break) = brk
	binary.LittleEndian.PutUint32(a.mem[layout.StackBytes:], uint32(e.opts.Stack)&^7)
	*a.process(layout.MaxData) = uint64(e.opts.MaxData)
	copy(a.mem[e.at.funcs-a.base:], e.tables.Funcs)
	copy(a.mem[e.at.syscalls-a.base:], hook.Syscalls())
	return nil
}

// install maps and writes the trampolines of a unit, and then the patches. The
// process is held.
func (e *Engine) install(u *unit) error { return e.installWith(u, e.proc.Syscalls) }

// installWith is install with the system calls made by syscalls.
func (e *Engine) installWith(u *unit, syscalls func([]target.SyscallReq) error) error {
	if at := e.at.sites + uint64(len(e.tables.Sites)); at > e.at.stores {
		return fmt.Errorf("%d hook sites are too many", len(e.tables.Sites)/layout.SiteSize)
	}
	copy(e.arena.mem[e.at.sites-e.arena.base:], e.tables.Sites)
	copy(e.arena.mem[e.at.stores-e.arena.base:], e.tables.Stores)
	runs := pageRuns(u.plan.Trampolines)
	if err := e.noteUnit(u, runs); err != nil {
		return err
	}
	reqs := make([]target.SyscallReq, len(runs))
	for i, r := range runs {
		reqs[i] = target.SyscallReq{Nr: unix.SYS_MMAP, Args: [6]uint64{r.Lo, r.Hi - r.Lo, unix.PROT_READ | unix.PROT_EXEC,
			unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0}}
	}
	failed := syscalls(reqs)
	for i, r := range runs {
		at, err := reqs[i].Result, reqs[i].Err
		if err == nil && at != 0 { // to be taken away again, also if another one fails
			u.mapped = append(u.mapped, patch.Range{Lo: at, Hi: at + r.Hi - r.Lo})
		}
		if failed == nil && (err != nil || at != r.Lo) {
			failed = fmt.Errorf("map trampolines at %#x: %#x, %w", r.Lo, at, err)
		}
	}
	e.regions.mapped = append(e.regions.mapped, u.mapped...)
	if failed != nil {
		return failed
	}
	if err := writeTrampolines(e.proc, u.plan.Trampolines); err != nil {
		return err
	}
	// A forked child has no use for them, and to copy a thousand mappings takes the kernel
	// longer than all else in a fork. Where it is not granted the child has them.
	for i, r := range runs {
		reqs[i] = target.SyscallReq{Nr: unix.SYS_MADVISE, Args: [6]uint64{r.Lo, r.Hi - r.Lo, unix.MADV_DONTFORK}}
	}
	if err := syscalls(reqs); err != nil {
		return err
	}
	var err error
	if e := e.proc.Do(func() { err = e.patch(u) }); e != nil {
		return e
	}
	return err
}

// patch writes the patches of a unit. From then on its trampolines are used.
func (e *Engine) patch(u *unit) error {
	for i := range u.plan.Tactics {
		e.tactics[i] += u.plan.Tactics[i]
	}
	e.units = append(e.units, u)
	e.regions.add(u)
	u.drops = u.untouched(e.proc)
	if err := writePatches(e.proc, u.plan.Patches, patched, false); err != nil {
		return err
	}
	for i := range u.drops {
		u.drops[i].own = u.drops[i].count(e.proc)
	}
	return nil
}

// near is how far apart two pieces may be that are mapped or written at once:
// what lies between costs address space but no memory.
const near = 64 << 10

// pageRuns covers the trampolines by few ranges of pages.
func pageRuns(list []patch.Trampoline) []patch.Range {
	var runs []patch.Range
	for i := range list {
		lo := list[i].Addr &^ (pageSize - 1)
		hi := pageUp(list[i].Addr + uint64(len(list[i].Bytes)))
		if n := len(runs); n > 0 && lo <= runs[n-1].Hi+near {
			runs[n-1].Hi = max(runs[n-1].Hi, hi)
			continue
		}
		runs = append(runs, patch.Range{Lo: lo, Hi: hi})
	}
	return runs
}

// writeTrampolines writes trampolines page by page.
func writeTrampolines(p *target.Process, list []patch.Trampoline) error {
	var buf []byte
	for i := 0; i < len(list); {
		at := list[i].Addr
		buf = buf[:0]
		for ; i < len(list) && (len(buf) == 0 || list[i].Addr < pageUp(at+uint64(len(buf)))); i++ {
			for at+uint64(len(buf)) < list[i].Addr {
				buf = append(buf, 0xcc)
			}
			buf = append(buf, list[i].Bytes...)
		}
		if err := p.WriteMemory(buf, at); err != nil {
			return fmt.Errorf("write trampolines: %w", err)
		}
	}
	return nil
}

// code is memory whose instructions can be changed.
type code interface {
	mem.Memory
	WriteMemory(b []byte, addr uint64) error
}

// closeBy is how far apart two patches may be that are written at once: reading
// what lies between is cheaper than another system call.
const closeBy = 512

// writePatches changes code, whose process stands still. With check, only where there
// is the original or the patch, or half of it (a tracer was killed while it wrote):
// a library may have been closed, and something else be there.
func writePatches(m code, list []patch.Patch, to func(*patch.Patch) []byte, check bool) error {
	var buf []byte
	for i := 0; i < len(list); {
		lo, hi, j := list[i].Addr, list[i].Addr, i
		for ; j < len(list) && list[j].Addr < hi+closeBy; j++ {
			hi = list[j].Addr + uint64(len(list[j].New))
		}
		buf = slices.Grow(buf[:0], int(hi-lo))[:hi-lo]
		_, err := m.ReadMemory(buf, lo)
		switch {
		case err == nil:
		case check && errors.Is(err, mem.ErrUnreadable):
			i = j
			continue
		default:
			return fmt.Errorf("patch the code: %w", err)
		}
		changed := false
		for ; i < j; i++ {
			at := buf[list[i].Addr-lo:]
			if !check || isEither(at, &list[i]) {
				copy(at, to(&list[i]))
				changed = true
			}
		}
		if !changed {
			continue
		}
		if err := m.WriteMemory(buf, lo); err != nil {
			return fmt.Errorf("patch the code: %w", err)
		}
	}
	return nil
}

// isEither says whether each byte of the code is that of the patch or the original's.
func isEither(code []byte, p *patch.Patch) bool {
	for i, b := range code[:len(p.New)] {
		if b != p.New[i] && b != p.Old[i] {
			return false
		}
	}
	return true
}

func patched(p *patch.Patch) []byte  { return p.New }
func original(p *patch.Patch) []byte { return p.Old }

// remove takes everything out of the process. It is left held if it was.
func (e *Engine) remove() error {
	release, err := e.proc.Hold()
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // nothing to release: it has ended
	// What was made before the process was held has a copy of the patches, or
	// uses them.
	if err := e.proc.TellParked(); err != nil {
		return err
	}
	// Whoever does not give the memory back in time is dealt with below.
	_ = e.proc.EndSharing(sharingLimit)
	if err := e.proc.TellParked(); err != nil {
		return err
	}
	if e.removed {
		return nil // the program was replaced by another
	}
	var away []int
	var perr error
	if err := e.proc.Do(func() { away, perr = e.unpatchAll() }); err != nil {
		return err
	}
	if perr != nil {
		return perr // trampolines must stay where a thread may still use them
	}
	if err := e.proc.SetInterceptor(nil); err != nil {
		return err
	}
	if len(away) > 0 {
		e.warnings = append(e.warnings, fmt.Sprintf("threads %v wait in the kernel (vfork) and come back to a trampoline: trampolines and buffers stay in the process, unused after that", away))
		return e.nothingToUndo()
	}
	reqs := []target.SyscallReq{{Nr: unix.SYS_MUNMAP, Args: [6]uint64{e.arena.base, e.arena.size()}}}
	if e.hook != 0 {
		reqs = append(reqs, target.SyscallReq{Nr: unix.SYS_MUNMAP, Args: [6]uint64{e.hook, hookPages}})
	}
	if e.shadow != 0 {
		reqs = append(reqs, target.SyscallReq{Nr: unix.SYS_MUNMAP, Args: [6]uint64{e.shadow, shadowSize}})
	}
	for _, r := range e.regions.mapped {
		reqs = append(reqs, target.SyscallReq{Nr: unix.SYS_MUNMAP, Args: [6]uint64{r.Lo, r.Hi - r.Lo}})
	}
	return errors.Join(e.proc.Syscalls(reqs), e.nothingToUndo())
}

// unpatchAll brings the threads out of the trampolines, and the code back. away
// are those that can not be stopped before they are back from the kernel.
func (e *Engine) unpatchAll() (away []int, err error) {
	var outside []*target.Stopped
	for tid, s := range e.of {
		th, err := e.proc.Thread(tid)
		if err != nil {
			if target.RunState(tid) == 'D' { // uninterruptible: it will execute another instruction of the program
				away = append(away, tid)
			}
			continue
		}
		if err := e.leave(th, s); err != nil && !killed(err) {
			return nil, fmt.Errorf("thread %d can not be brought out of its trampoline: %w", tid, err)
		}
		outside = append(outside, th)
	}
	// Not before all are outside: on an error everything is as it was.
	for _, th := range outside {
		regs, err := th.Regs()
		if err != nil {
			continue
		}
		regs.GSBase = 0
		if err := th.SetRegs(regs); err != nil {
			return nil, err
		}
	}
	for _, u := range e.units {
		if err := writePatches(e.proc, u.plan.Patches, original, true); err != nil {
			return nil, err
		}
	}
	e.units = nil
	clear(e.of) // their memory goes
	return away, nil
}

// regions finds what an address of the process is.
type regions struct {
	mapped []patch.Range // what was mapped for trampolines
	tramps []region      // sorted
	traps  map[uint64]uint64
}

// region is one trampoline.
type region struct {
	*patch.Trampoline
	unit *unit
}

func (r *regions) add(u *unit) {
	for i := range u.plan.Trampolines {
		r.tramps = append(r.tramps, region{&u.plan.Trampolines[i], u})
	}
	slices.SortFunc(r.tramps, func(a, b region) int {
		if a.Addr < b.Addr {
			return -1
		}
		return 1
	})
	if r.traps == nil {
		r.traps = make(map[uint64]uint64)
	}
	for _, t := range u.plan.Traps {
		r.traps[t.Addr] = t.Trampoline
	}
}

// drop forgets a unit.
func (r *regions) drop(u *unit) {
	r.tramps = slices.DeleteFunc(r.tramps, func(t region) bool { return t.unit == u })
	r.mapped = slices.DeleteFunc(r.mapped, func(m patch.Range) bool { return slices.Contains(u.mapped, m) })
	for _, t := range u.plan.Traps {
		delete(r.traps, t.Addr)
	}
}

// find returns the trampoline that contains an address.
func (r *regions) find(addr uint64) (region, bool) {
	i := sort.Search(len(r.tramps), func(i int) bool { return r.tramps[i].Addr > addr })
	if i == 0 {
		return region{}, false
	}
	t := r.tramps[i-1]
	return t, addr-t.Addr < uint64(len(t.Bytes))
}
