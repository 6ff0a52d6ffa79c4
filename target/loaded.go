package target

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"mgtrace/target/mem"
)

const int3 = 0xcc

// RunToLoaded runs the program from its exec to where all libraries that it is
// linked with are mapped and relocated and none of their constructors has run:
// the dynamic linker's call of _dl_debug_state with r_debug.r_state
// RT_CONSISTENT, the interface between ld.so and debuggers (glibc elf/link.h).
// A static program is ready at its exec. Where the dynamic linker has no such
// function, the program runs to its entry point: constructors of libraries may
// have run by then. To be called before Run.
func (p *Process) RunToLoaded(ctx context.Context) error { return p.RunToLoadedBy(ctx, p.RunTo) }

// RunToLoadedBy is RunToLoaded of a program that an engine lets run.
func (p *Process) RunToLoadedBy(ctx context.Context, run Runner) error {
	auxv, err := p.Auxv()
	if err != nil {
		return err
	}
	linker, err := p.findLinker(auxv)
	if err != nil {
		return err
	}
	if linker == nil {
		return nil
	}
	entry := auxv[mem.AuxEntry]
	for {
		at, err := run(ctx, entry, linker.notify)
		if err != nil {
			return fmt.Errorf("while its libraries are loaded: %w", err)
		}
		if at == entry || linker.consistent(p) {
			return nil
		}
		// Go on from the breakpoint by stopping where the function returns
		// to: nothing has to be executed in place.
		regs, err := p.Regs(p.PID())
		if err != nil {
			return err
		}
		back, err := mem.ReadUint64(p, regs.RSP)
		if err != nil {
			return fmt.Errorf("return address of _dl_debug_state: %w", err)
		}
		if _, err := run(ctx, back); err != nil {
			return fmt.Errorf("while its libraries are loaded: %w", err)
		}
	}
}

// Runner lets a process run until a thread is about to execute the instruction at one of
// some addresses, and returns which.
type Runner func(ctx context.Context, addrs ...uint64) (uint64, error)

// LinkerNotify is the address of the dynamic linker's _dl_debug_state, which it
// calls before and after each change of the list of libraries; 0: there is none.
func (p *Process) LinkerNotify() (uint64, error) {
	auxv, err := p.Auxv()
	if err != nil {
		return 0, err
	}
	l, err := p.findLinker(auxv)
	if err != nil || l == nil {
		return 0, err
	}
	return l.notify, nil
}

// linker is the dynamic linker's interface for debuggers.
type linker struct {
	notify uint64 // address of _dl_debug_state
	debug  uint64 // address of struct r_debug; 0: unknown
}

// stateOffset is that of r_state in struct r_debug; RT_CONSISTENT is 0.
const stateOffset = 24

// consistent reports whether the list of libraries is complete. A linker that
// does not say so has only the one notification, at the end.
func (l *linker) consistent(p *Process) bool {
	if l.debug == 0 {
		return true
	}
	state, err := mem.ReadUint32(p, l.debug+stateOffset)
	return err == nil && state == 0
}

// loading reports whether the dynamic linker of a process is at work, or has not begun yet, as far as it tells.
func (p *Process) loading() bool {
	auxv, err := p.Auxv()
	if err != nil {
		return false
	}
	l, err := p.findLinker(auxv)
	if err != nil || l == nil || l.debug == 0 {
		return false
	}
	version, err := mem.ReadUint32(p, l.debug)
	return err == nil && (version == 0 || !l.consistent(p))
}

// findLinker looks the interface up in the dynamic symbols of the program's
// interpreter, or of the program if that is ld.so itself. nil: there is none to
// wait for.
func (p *Process) findLinker(auxv mem.Auxv) (*linker, error) {
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	base := auxv[mem.AuxBase]
	inside := base
	if base == 0 {
		inside = auxv[mem.AuxEntry]
	}
	m, ok := mem.FindMap(maps, inside)
	if !ok || !m.File() {
		return nil, fmt.Errorf("nothing is mapped at %#x, where the dynamic linker should be", inside)
	}
	// As the process sees it: it may live in another mount namespace.
	f, err := elf.Open(filepath.Join("/proc", strconv.Itoa(p.PID()), "root", m.Path))
	if err != nil {
		return nil, fmt.Errorf("dynamic linker: %w", err)
	}
	defer f.Close()
	if base == 0 {
		if f.Type == elf.ET_DYN {
			base = auxv[mem.AuxEntry] - f.Entry
		}
	} else if f.Type == elf.ET_EXEC {
		base = 0
	}
	return p.readLinker(f, base, auxv[mem.AuxBase] == 0)
}

func (p *Process) readLinker(f *elf.File, base uint64, static bool) (*linker, error) {
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, fmt.Errorf("dynamic linker: %w", err)
	}
	at := make(map[string]uint64)
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			at[s.Name] = base + s.Value
		}
	}
	l := &linker{notify: at["_dl_debug_state"], debug: at["_r_debug"]}
	if l.notify == 0 && static {
		return nil, nil
	}
	if pointer := at["_dl_debug_addr"]; l.debug == 0 && pointer != 0 { // musl
		// Not yet relocated, it reads as an address of the file, or NULL.
		if v, err := mem.ReadUint64(p, pointer); err == nil && v > base {
			l.debug = v
		}
	}
	return l, nil
}

// RunTo is a Runner: it sets breakpoints, and leaves all threads stopped. To be called
// before Run, and of one-thread programs that do not fork meanwhile: a child would
// inherit them. Addresses that are 0 are none.
func (p *Process) RunTo(ctx context.Context, addrs ...uint64) (at uint64, err error) {
	e := p.do(func() { at, err = p.t.runTo(ctx, addrs) })
	return at, errors.Join(e, err)
}

// RunToHalt runs the program until [Stopped.Halt] is called, and leaves all threads
// stopped then. To be called before Run.
func (p *Process) RunToHalt(ctx context.Context) error {
	_, err := p.RunTo(ctx)
	return err
}

// Halt has RunToHalt return. The thread stays where it stands.
func (s *Stopped) Halt() {
	if s.t.trapped == nil {
		s.t.trapped = s.th
	}
}

func (t *tracer) runTo(ctx context.Context, addrs []uint64) (uint64, error) {
	if t.run != nil {
		return 0, errors.New("target: RunTo while Run is active")
	}
	if err := t.hold(); err != nil {
		return 0, err
	}
	for _, addr := range addrs {
		if addr == 0 {
			continue
		}
		if err := t.setTrap(addr); err != nil {
			return 0, errors.Join(err, t.clearTraps())
		}
	}
	t.unhold()
	err := t.pump(ctx, 0, func() bool { return t.trapped != nil || t.status != nil })
	if t.status != nil {
		return 0, fmt.Errorf("%w: %s", ErrExited, *t.status)
	}
	held := t.hold()
	if err = errors.Join(err, held, t.clearTraps()); err != nil {
		return 0, err
	}
	th := t.trapped
	t.trapped = nil
	regs, err := getRegs(th.tid)
	return regs.RIP, err
}

// setTrap puts a breakpoint at addr. The process is held.
func (t *tracer) setTrap(addr uint64) error {
	if _, ok := t.traps[addr]; ok {
		return nil
	}
	var old [1]byte
	if _, err := t.memory.ReadMemory(old[:], addr); err != nil {
		return fmt.Errorf("breakpoint: %w", err)
	}
	if err := poke(t.live(), addr, []byte{int3}); err != nil {
		return err
	}
	t.traps[addr] = old[0]
	return nil
}

// clearTraps takes all breakpoints away. A thread may have run into one and not
// yet have reported that: spent lets onTrap know.
func (t *tracer) clearTraps() error {
	var errs []error
	for addr, old := range t.traps {
		if err := poke(t.live(), addr, []byte{old}); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
		delete(t.traps, addr)
		t.spent[addr] = true
	}
	return errors.Join(errs...)
}
