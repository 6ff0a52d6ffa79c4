package engine

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"golang.org/x/sys/unix"

	"mgtrace/inline/hook"
	"mgtrace/target"
	"mgtrace/target/mem"
	"mgtrace/translate"
)

const (
	pageSize = 4096
	lowest   = 64 << 10
	highest  = 0x7fff_ffff_f000

	regionSize = 256 << 20
	// reach is how far a translation may lie from what its code refers to.
	reach = 1<<31 - 1<<20
)

// space is what the engine knows of the process's address space.
type space struct {
	exec []codeRange // what the program believes to be executable: ascending, apart
}

// codeRange is memory that the program believes to be executable.
type codeRange struct {
	lo, hi   uint64
	writable bool // and to which it may write
	shared   bool // what is written to another mapping of it is seen here
	grows    bool // the stack: not all of it is mapped yet
}

func (s *space) addExec(c codeRange) {
	s.dropExec(c.lo, c.hi)
	s.exec = append(s.exec, c)
	slices.SortFunc(s.exec, func(a, b codeRange) int {
		if a.lo < b.lo {
			return -1
		}
		return 1
	})
}

// dropExec is true if something of [lo, hi) was executable.
func (s *space) dropExec(lo, hi uint64) (any bool) {
	var out []codeRange
	for _, c := range s.exec {
		if c.hi <= lo || hi <= c.lo {
			out = append(out, c)
			continue
		}
		any = true
		below, above := c, c
		if below.hi = lo; c.lo < lo {
			out = append(out, below)
		}
		if above.lo = hi; hi < c.hi {
			out = append(out, above)
		}
	}
	s.exec = out
	return any
}

// changes says that the code at pc may change unseen.
func (s *space) changes(pc uint64) bool {
	for i := range s.exec {
		if c := &s.exec[i]; c.lo <= pc && pc < c.hi {
			return c.writable || c.shared
		}
	}
	return false
}

// execFrom is how many bytes of code there may be at pc, at most n.
func (s *space) execFrom(pc uint64, n int) int {
	end := pc
	for i := range s.exec {
		if c := &s.exec[i]; c.lo <= end && end < c.hi {
			end = c.hi
		}
	}
	return int(min(end-pc, uint64(n)))
}

// asWanted turns the mappings of the process into what they would be without the engine:
// code that has lost PROT_EXEC may have become one mapping with what lies beside it.
func (s *space) asWanted(maps []mem.Map) (out []mem.Map) {
	add := func(m mem.Map, lo, hi uint64, exec bool) {
		if lo < hi {
			m.Offset += lo - m.Lo
			m.Lo, m.Hi, m.Exec = lo, hi, exec
			out = append(out, m)
		}
	}
	for _, m := range maps {
		at := m.Lo
		for _, x := range s.exec { // ascending
			if lo, hi := max(x.lo, at), min(x.hi, m.Hi); lo < hi {
				add(m, at, lo, m.Exec)
				add(m, lo, hi, true)
				at = hi
			}
		}
		add(m, at, m.Hi, m.Exec)
	}
	return out
}

// withExec are the system calls that make executable what the program believes to be.
func (s *space) withExec() (reqs []target.SyscallReq) {
	for _, c := range s.exec {
		prot, lo := uint64(unix.PROT_READ|unix.PROT_EXEC), c.lo
		if c.writable {
			prot |= unix.PROT_WRITE
		}
		if c.grows {
			prot, lo = prot|unix.PROT_GROWSDOWN, c.hi-pageSize
		}
		if c.hi < highest {
			reqs = append(reqs, target.SyscallReq{Nr: unix.SYS_MPROTECT, Args: [6]uint64{lo, c.hi - lo, prot}})
		}
	}
	return reqs
}

// region is room for translations.
type region struct {
	addr   uint64
	mem    []byte // our view
	next   int
	blocks []*block // ascending
	trap   uint64   // the int3 of targets without translation
	code   int      // bytes of its routines
	// The routines of the baton, and where they stop for a signal that waits.
	release, acquire, yield uint64
	pending                 [2]uint64
	// The routine of notes, where it stops for a signal and for a full log, and the
	// hook routine itself.
	note, noted, full, hook uint64
}

// inRoutine says that a thread there gives the baton away or waits for it.
func (r *region) inRoutine(a uint64) bool { return r.release <= a && a < r.addr+uint64(r.code) }

func (r *region) inHook(a uint64) bool { return a-r.hook < uint64(len(hook.Code)) }

func (r *region) miss() uint64 { return r.addr }

func (r *region) holds(a uint64) bool { return a-r.addr < uint64(len(r.mem)) }

// find is the block whose translation has an address.
func (r *region) find(a uint64) *block {
	off := uint32(a - r.addr)
	i := sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].at > off }) - 1
	if i < 0 || off >= r.blocks[i].at+r.blocks[i].size {
		return nil
	}
	return r.blocks[i]
}

// region is the one with an address; nil: the address is the program's.
func (e *Engine) region(a uint64) *region {
	for _, r := range e.regions {
		if r.holds(a) {
			return r
		}
	}
	return nil
}

// regionFor is where the code at pc can be translated to.
func (e *Engine) regionFor(pc uint64) *region {
	for _, r := range e.regions {
		if near(r.addr, pc) && near(r.addr+uint64(len(r.mem)), pc) {
			return r
		}
	}
	return nil
}

func near(a, b uint64) bool {
	d := int64(a - b)
	// What code refers to lies with it in its file: 256 MB around it.
	return -reach+256<<20 < d && d < reach-256<<20
}

func (e *Engine) env(r *region) *translate.Env {
	return &translate.Env{Tables: tablesAt, Miss: r.miss(), Release: r.release, Acquire: r.acquire, Note: r.note}
}

// Where the shared memory is put.
const (
	tablesAt = 0x6000_0000
	slotsAt  = 0x2000_0000_0000
	slotRoom = 1 << 36
)

// share makes the shared memory and the routines in it.
func (e *Engine) share(maps []mem.Map) (err error) {
	if e.shared, err = e.proc.Share(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.shared.Mapped()) }()
	if e.tables, err = e.shared.Map(tablesAt, pageUp(translate.TableSize), unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return err
	}
	if err := e.makeRegions(maps); err != nil {
		return err
	}
	for i := range 1 << 16 {
		put64(e.tables[translate.First+8*i:], e.regions[0].miss())
	}
	binary.LittleEndian.PutUint32(e.tables[translate.Next:], 1) // the first thread has the baton
	fillSyscalls(e.tables)
	if e.rec != nil {
		if e.rec.notes, err = e.shareNotes(); err != nil {
			return err
		}
	}
	return e.mapSlots()
}

// makeRegions makes room for translations near all code that is mapped.
func (e *Engine) makeRegions(maps []mem.Map) error {
	for _, m := range maps {
		if !m.Exec || m.Lo >= highest || e.regionFor(m.Lo) != nil {
			continue
		}
		var last error
		for _, at := range places(m.Lo) {
			b, err := e.shared.Map(at, regionSize, unix.PROT_READ|unix.PROT_EXEC)
			if err != nil {
				last = err
				continue
			}
			r := &region{addr: at, mem: b}
			r.routines()
			e.regions = append(e.regions, r)
			last = nil
			break
		}
		if last != nil {
			return last
		}
	}
	if len(e.regions) == 0 {
		return errors.New("the process has no code")
	}
	return nil
}

// places are where a region for the code at lo may lie: below it, since what lies
// above grows (the heap), and not too near, since mappings are added below; for a
// program at a fixed address above its heap's first GB.
func places(lo uint64) (at []uint64) {
	lo &^= 1<<21 - 1
	for _, d := range []uint64{1280 << 20, 1024 << 20, 768 << 20, 512 << 20} {
		if lo > d+1<<20 {
			at = append(at, lo-d)
		}
	}
	for _, d := range []uint64{1024 << 20, 512 << 20} {
		at = append(at, lo+d)
	}
	return at
}

func pageUp(a uint64) uint64 { return (a + pageSize - 1) &^ (pageSize - 1) }
