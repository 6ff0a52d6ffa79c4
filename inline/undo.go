package inline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"mgtrace/inline/emit"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/inline/patch"
	"mgtrace/probe"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/target/undo"
	"mgtrace/x86"
)

// undoEntry is what the engine notes in Options.Undo before it changes the process:
// enough for another process to make an engine that can do one thing, to be taken out.
type undoEntry struct {
	Shared *undoShared
	Unit   *undoUnit
}

// undoShared is noted when the memory is there that the threads use; with it the file
// of that memory, and the userfaultfd: as long as somebody has it, threads wait at
// their guard pages and do not write what lies behind.
type undoShared struct {
	Base, Size, Head, Buffer uint64 // of the arena
	Sites, SitesEnd          uint64 // the hook routine's table, in the process
	Hook, Shadow             uint64
	Strict, Hold             bool
	Filter                   emit.Filter
}

// undoUnit is a unit before it is installed. The original code is what lies there,
// with Old where the patches are.
type undoUnit struct {
	Code        []patch.Range
	Sites       []emit.Site // without Code
	Patches     []patch.Patch
	Trampolines []patch.Trampoline
	Traps       []patch.Breakpoint
	Mapped      []patch.Range
}

// noteShared notes what share has made.
func (e *Engine) noteShared() error {
	if e.opts.Undo == nil {
		return nil
	}
	a := e.arena
	files := []*os.File{a.shared.File()}
	if a.guards.fault != nil {
		files = append(files, a.guards.fault.File())
	}
	_, err := e.noteUndo(undoEntry{Shared: &undoShared{
		Base: a.base, Size: a.size(), Head: a.head, Buffer: a.buffer,
		Sites: e.at.sites, SitesEnd: e.at.stores, Hook: e.hook, Shadow: e.shadow,
		Strict: e.opts.Strict, Hold: e.opts.Hold, Filter: e.filter,
	}}, files...)
	return err
}

// noteUnit notes a unit whose trampolines will lie in the ranges.
func (e *Engine) noteUnit(u *unit, mapped []patch.Range) error {
	if e.opts.Undo == nil {
		return nil
	}
	n := &undoUnit{Sites: slices.Clone(u.sites), Patches: u.plan.Patches, Trampolines: u.plan.Trampolines, Traps: u.plan.Traps, Mapped: mapped}
	for i := range n.Sites {
		n.Sites[i].Code = nil
	}
	for _, im := range u.images {
		for _, c := range im.code {
			n.Code = append(n.Code, patch.Range{Lo: c.Addr, Hi: c.Addr + uint64(len(c.Bytes))})
		}
	}
	var err error
	u.undo, err = e.noteUndo(undoEntry{Unit: n})
	return err
}

func (e *Engine) noteUndo(entry undoEntry, files ...*os.File) (uint64, error) {
	b, err := json.Marshal(&entry)
	if err != nil {
		return 0, fmt.Errorf("undo log: %w", err)
	}
	n, err := e.opts.Undo.Put(b, files...)
	e.undo = append(e.undo, n)
	return n, err
}

// nothingToUndo says that the process is as it was, or gone.
func (e *Engine) nothingToUndo() error {
	var errs []error
	for _, n := range e.undo {
		errs = append(errs, e.opts.Undo.Drop(n))
	}
	e.undo = nil
	return errors.Join(errs...)
}

// TakeBack takes an engine out of a process, which must be held, whose tracer has been
// killed: entries are what that has left of its Options.Undo. The process may have run
// on meanwhile. What it has recorded is lost. Of the children, processes that were being made,
// each with memory of its own, it is taken out as well.
func TakeBack(p *target.Process, children []*target.Process, entries []undo.Entry) error {
	e := &Engine{proc: p, of: map[int]*slot{}, plan: &probe.Plan{}, done: make(chan struct{})}
	close(e.done)        // nobody reads the log
	e.opts.Static = true // and nobody asks which stores are wanted
	var noted []*undoUnit
	for _, entry := range entries {
		var u undoEntry
		if err := json.Unmarshal(entry.Description, &u); err != nil {
			return fmt.Errorf("undo log: %w", err)
		}
		switch {
		case u.Unit != nil:
			noted = append(noted, u.Unit)
		case u.Shared != nil && len(entry.Files) > 0:
			if err := e.inherit(u.Shared, entry.Files[0]); err != nil {
				return err
			}
			defer func() { _ = unix.Munmap(e.arena.mem) }()
		default:
			return errors.New("undo log: an entry says nothing")
		}
	}
	if e.arena != nil {
		for _, n := range noted {
			if err := e.inheritUnit(n); err != nil {
				return err
			}
		}
		if err := e.findThreads(); err != nil {
			return err
		}
		for _, c := range children {
			if err := e.disown(c); err != nil {
				return fmt.Errorf("process %d: %w", c.PID(), err)
			}
		}
		if err := p.SetInterceptor((*interceptor)(e)); err != nil {
			return err
		}
		if err := e.remove(); err != nil {
			return err
		}
	}
	return errors.Join(append([]error{e.failure}, p.Unshare())...)
}

// inherit takes over the shared memory.
func (e *Engine) inherit(s *undoShared, file *os.File) error {
	mem, err := unix.Mmap(int(file.Fd()), 0, int(s.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("map the shared memory: %w", err)
	}
	a := &arena{base: s.Base, mem: mem, head: s.Head, buffer: s.Buffer, guards: &guards{proc: e.proc}}
	for i := 0; a.head+slotsSize(i+1, a.buffer) <= s.Size; i++ {
		a.slots = append(a.slots, a.slotAt(i))
	}
	e.arena, e.at = a, tableAddrs{sites: s.Sites, stores: s.SitesEnd}
	e.hook, e.shadow, e.filter = s.Hook, s.Shadow, s.Filter
	e.opts.Strict, e.opts.Hold = s.Strict, s.Hold
	e.tables = &hook.Tables{Sites: slices.Clone(mem[s.Sites-s.Base : s.SitesEnd-s.Base])}
	return nil
}

// inheritUnit makes a unit as it was.
func (e *Engine) inheritUnit(n *undoUnit) error {
	u := &unit{sites: n.Sites, plan: &patch.Plan{Patches: n.Patches, Trampolines: n.Trampolines, Traps: n.Traps}}
	im := &image{}
	for _, r := range n.Code {
		c := patch.Code{Addr: r.Lo, Bytes: make([]byte, r.Hi-r.Lo)}
		k, _ := e.proc.ReadMemory(c.Bytes, r.Lo) // a closed library: nobody is in its trampolines
		c.Bytes = c.Bytes[:k]
		for _, p := range n.Patches {
			if off := p.Addr - r.Lo; off < uint64(k) {
				copy(c.Bytes[off:], p.Old)
			}
		}
		im.code = append(im.code, c)
	}
	u.images = []*image{im}
	if len(n.Trampolines) == 0 && len(n.Patches) == 1 {
		e.notify = n.Patches[0].Addr // breakpoint made it
	}
	for i := range u.sites {
		s := &u.sites[i]
		s.Code = im.at(s.PC)
		if s.Hook != emit.None {
			for len(e.places) <= s.Hook {
				e.places = append(e.places, hookPlace{})
			}
			e.places[s.Hook] = hookPlace{u, i}
		}
		if in, err := x86.Decode(s.Code, s.PC); err == nil && s.Tag != emit.None {
			for len(e.plan.Stores) <= s.Tag {
				e.plan.Stores = append(e.plan.Stores, probe.Store{})
			}
			e.plan.Stores[s.Tag].Effect = in.Store
		}
	}
	u.maker = emit.New(u.sites, emit.Options{Strict: e.opts.Strict, Filter: e.filter, Relocate: relocate})
	maps, err := e.proc.Maps()
	if err != nil {
		return err
	}
	for _, r := range n.Mapped {
		if mapsCode(maps, r) { // else it was not mapped yet, or not any more
			u.mapped = append(u.mapped, r)
		}
	}
	e.regions.mapped = append(e.regions.mapped, u.mapped...)
	e.units = append(e.units, u)
	e.regions.add(u)
	return nil
}

// mapsCode says whether there is code of no file at a range.
func mapsCode(maps []mem.Map, r patch.Range) bool {
	m, ok := mem.FindMap(maps, r.Lo)
	return ok && r.Hi <= m.Hi && m.Exec && !m.Write && m.Path == ""
}

// findThreads finds the threads that have slots, which GS tells, and the buffers that
// they write to. One that has just been made has that of its maker.
func (e *Engine) findThreads() error {
	tids, err := e.proc.Threads()
	if err != nil {
		return err
	}
	var failed error
	for _, tid := range tids {
		err := e.proc.Do(func() {
			th, err := e.proc.Thread(tid)
			if err != nil {
				return // it is ending
			}
			regs, err := th.Regs()
			if err != nil {
				return
			}
			if e.trapped(regs.RIP - 1) {
				// The tracer was told of the int3, and killed before it did anything.
				regs.RIP--
				failed = errors.Join(failed, th.SetRegs(regs))
			}
			for _, s := range e.arena.slots {
				switch s := *s; {
				case s.base != regs.GSBase:
				case s.owner() != tid:
					failed = errors.Join(failed, e.begins(th, &regs))
				default:
					s.tid = tid
					if s.get(layout.End) == s.base+s.guard[1] {
						s.cur = 1
					}
					e.of[tid] = &s
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return failed
}

// trapped says whether there is an int3 at an address. Who is behind it has executed it: it
// lies on the first byte of a store, or of a function that only returns.
func (e *Engine) trapped(addr uint64) bool {
	_, ok := e.regions.traps[addr]
	return ok || addr == e.notify && addr != 0
}

// begins has a new thread or process begin without a slot.
func (e *Engine) begins(th *target.Stopped, regs *mem.Regs) error {
	e.behindCall(regs)
	regs.GSBase = 0
	return th.SetRegs(*regs)
}

// disown has a child begin as if there were no engine, if it has not begun yet.
func (e *Engine) disown(c *target.Process) error {
	var failed error
	err := c.Do(func() {
		th, err := c.Thread(c.PID())
		if err != nil {
			return // it has been killed
		}
		regs, err := th.Regs()
		if err != nil || regs.GSBase-e.arena.base >= e.arena.size() {
			return
		}
		failed = errors.Join(e.begins(th, &regs), e.restore(th))
	})
	return errors.Join(err, failed)
}
