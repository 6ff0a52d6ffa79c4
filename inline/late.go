package inline

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"mgtrace/inline/layout"
	"mgtrace/inline/log"
	"mgtrace/inline/patch"
	"mgtrace/target"
	"mgtrace/target/mem"
)

// Libraries that the program opens while it runs. The dynamic linker calls an
// empty function whenever the list of libraries is about to change or has
// changed, for debuggers (glibc, elf/dl-debug.c). A breakpoint there tells when
// to look at the mappings: a new library has not been relocated yet, and no
// thread executes it.

// linkerCalls is the address of that function; 0: there is none, or it is not
// empty.
func (e *Engine) linkerCalls() (uint64, error) {
	at, err := e.proc.LinkerNotify()
	if err != nil || at == 0 {
		return 0, err
	}
	var b [6]byte
	if _, err := e.proc.ReadMemory(b[:], at); err != nil {
		return 0, err
	}
	body := strings.TrimPrefix(string(b[:]), "\xf3\x0f\x1e\xfa") // endbr64
	body = strings.TrimPrefix(body, "\xf3")                      // rep
	if body[0] != 0xc3 {                                         // ret
		return 0, nil
	}
	return at, nil
}

// awaitLibraries makes ready for libraries of the plan that are not mapped yet:
// the linker's function stays as it is in the plan of patches. To be called
// before that is made.
func (e *Engine) awaitLibraries() error {
	if !slices.Contains(e.images, nil) {
		return nil
	}
	at, err := e.linkerCalls()
	if err != nil {
		return err
	}
	if at == 0 {
		e.warnings = append(e.warnings, "the dynamic linker does not say when it opens a library: those that are not there yet are not recorded")
		return nil
	}
	e.notify = at
	for _, im := range e.images {
		if im != nil {
			im.keepOut(at)
		}
	}
	return nil
}

// keepOut has no instruction of the function at an address displaced.
func (im *image) keepOut(addr uint64) {
	for i := range im.code {
		im.code[i].Funcs = slices.DeleteFunc(im.code[i].Funcs, func(r patch.Range) bool { return r.Lo <= addr && addr < r.Hi })
	}
}

// breakpoint is a unit of its own: forked children and an end of recording find
// it among the patches.
func (e *Engine) breakpoint() (*unit, error) {
	old := make([]byte, 1)
	if _, err := e.proc.ReadMemory(old, e.notify); err != nil {
		return nil, err
	}
	return &unit{plan: &patch.Plan{Patches: []patch.Patch{{Addr: e.notify, New: []byte{int3}, Old: old}}}}, nil
}

// librariesChanged is called with a thread that has run into the breakpoint. It returns from
// the linker's function at once: a tracer that is killed while it looks at a library leaves the
// thread where it can go on.
func (e *Engine) librariesChanged(th *target.Stopped) {
	regs, err := th.Regs()
	if err != nil {
		return // killed meanwhile
	}
	back, err := mem.ReadUint64(th, regs.RSP)
	if err != nil {
		e.fail(err)
		return
	}
	regs.RIP = back
	regs.RSP += 8
	if th.SetRegs(regs) != nil {
		return // killed meanwhile
	}
	if err := e.placeLibraries(th); err != nil {
		e.fail(fmt.Errorf("a library that the program opens: %w", err))
	}
}

// placeLibraries patches the libraries that have appeared and forgets those that
// are gone.
func (e *Engine) placeLibraries(th *target.Stopped) error {
	maps, err := e.proc.Maps()
	if err != nil {
		return nil // it is ending
	}
	for i := range e.images {
		old := e.images[i]
		if old != nil && !e.late(i) {
			continue
		}
		lo, mapped := imageAt(e.plan.Images[i], maps)
		if old != nil && (!mapped || lo != old.bias) {
			if err := e.forget(th, i); err != nil {
				return err
			}
			old = nil
		}
		if old == nil && mapped {
			if err := e.add(th, i, maps); err != nil {
				return err
			}
		}
	}
	return nil
}

// late says whether an image was opened while the program ran.
func (e *Engine) late(i int) bool {
	return slices.ContainsFunc(e.units, func(u *unit) bool { return u.late && slices.Contains(u.images, e.images[i]) })
}

// add patches an image that has been mapped.
func (e *Engine) add(th *target.Stopped, i int, maps []mem.Map) error {
	im, err := locate(e.plan.Images[i], maps, e.proc)
	if err != nil || im == nil {
		return err
	}
	if len(im.code) == 0 {
		return nil // its code is not mapped yet
	}
	e.setImage(i, im)
	u, err := e.makeUnit([]int{i})
	if err != nil {
		e.setImage(i, nil)
		return err
	}
	u.late = true
	if err := e.ask(context.Background(), request{then: func(r *reader) error { return r.extend(i, im) }}); err != nil {
		return err
	}
	return e.installWith(u, func(reqs []target.SyscallReq) error {
		for k := range reqs {
			reqs[k].Result, reqs[k].Err = th.Syscall(reqs[k].Nr, reqs[k].Args[:]...)
		}
		return nil
	})
}

// forget takes the unit of an image away whose code is not mapped any more. What is known by addresses of it is
// forgotten too: another library may come to lie there.
func (e *Engine) forget(th *target.Stopped, i int) error {
	lo, hi := e.plan.Images[i].File.LoadRange()
	bias := e.images[i].bias
	err := e.ask(context.Background(), request{then: func(*reader) error {
		if e.known != nil {
			e.opts.Unwind.Forget()
			e.known.forget()
		}
		e.unsay(bias+lo, bias+hi)
		if e.opts.Libraries != nil {
			e.opts.Libraries.Closed(i)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	k := slices.IndexFunc(e.units, func(u *unit) bool { return u.late && slices.Contains(u.images, e.images[i]) })
	u := e.units[k]
	e.units = slices.Delete(e.units, k, k+1)
	e.regions.drop(u)
	for n := range e.places {
		if e.places[n].unit == u {
			e.places[n] = hookPlace{}
		}
	}
	e.setImage(i, nil)
	for _, r := range u.mapped {
		if _, err := th.Syscall(unix.SYS_MUNMAP, r.Lo, r.Hi-r.Lo); err != nil {
			return fmt.Errorf("trampolines: %w", err)
		}
	}
	return e.opts.Undo.Drop(u.undo)
}

// setImage notes where an image is, or that it is nowhere.
func (e *Engine) setImage(i int, im *image) {
	e.streams.Lock()
	e.images[i] = im
	e.streams.Unlock()
}

// static is the static data whose stores are not wanted.
func (e *Engine) static() (out []log.Range) {
	if e.opts.Static {
		return nil
	}
	for _, s := range unwanted(e.images, e.plan) {
		out = append(out, log.Range{Lo: s[0], Hi: s[1]})
	}
	return out
}

// numbered returns the number of a hook site that was given out before for the
// same place of an image, now mapped so that its instruction lies at pc.
func (e *Engine) numbered(key placeKey, pc uint64) (int, bool) {
	n, ok := e.numbers[key]
	if ok {
		binary.LittleEndian.PutUint64(e.tables.Sites[n*layout.SiteSize+layout.SitePC:], pc)
	}
	return n, ok
}

// placeKey is a hook site's place in a file: a site of the plan has only one
// hook, and a system call is none of those.
type placeKey struct {
	image int
	addr  uint64
}
