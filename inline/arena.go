package inline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"mgtrace/inline/layout"
	"mgtrace/target"
)

// arena is the memory that the process and the tracer share: the process block
// with the hook routine's tables, and a slot for each thread. It is a memfd that
// the process made, mapped by both, and not inherited by forked children.
//
//	process block | tables … | slot 0 | slot 1 | …
//	slot: thread block | hook stack | buffer 0 | guard | buffer 1 | guard
type arena struct {
	base   uint64 // in the process
	mem    []byte // our view of it
	file   *os.File
	head   uint64 // bytes before the first slot
	buffer uint64 // bytes of a buffer
	guards *guards
	slots  []*slot
	unused []*slot // that had a thread which ended
}

// Where the arena is put: far from what programs, their loaders and sanitizers
// use (asan's shadow ends at 0x1000_7fff_8000).
var arenaPlaces = []uint64{0x2000_0000_0000, 0x2400_0000_0000, 0x2800_0000_0000, 0x3000_0000_0000}

// slotSize is what one thread takes of the arena. Pages that are never touched
// take no memory.
func slotSize(buffer uint64) uint64 {
	return layout.BlockSize + layout.HookStack + 2*(buffer+layout.Guard)
}

// newArena makes the shared memory in the stopped process. tables is the size
// of the hook routine's tables, bytes.
func newArena(p *target.Process, tables, buffer uint64, slots int) (a *arena, err error) {
	a = &arena{head: pageUp(layout.ProcessSize + tables), buffer: pageUp(buffer)}
	size := a.head + uint64(slots)*slotSize(a.buffer)
	fd, err := makeMemfd(p)
	if err != nil {
		return nil, err
	}
	defer func() {
		_, cerr := p.Syscall(unix.SYS_CLOSE, fd)
		if err = errors.Join(err, cerr); err != nil {
			a.close()
			a = nil
		}
	}()
	a.file, err = os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", p.PID(), fd), os.O_RDWR, 0)
	if err != nil {
		return a, fmt.Errorf("shared memory of the process: %w", err)
	}
	if err := a.file.Truncate(int64(size)); err != nil {
		return a, fmt.Errorf("shared memory: %w", err)
	}
	a.mem, err = unix.Mmap(int(a.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return a, fmt.Errorf("map the shared memory: %w", err)
	}
	return a, a.mapInto(p, fd, size)
}

// makeMemfd has the process make a memfd, and returns its descriptor there.
func makeMemfd(p *target.Process) (fd uint64, err error) {
	page, err := p.Syscall(unix.SYS_MMAP, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return 0, fmt.Errorf("map memory in the process: %w", err)
	}
	if err := p.WriteMemory([]byte("mgtrace\x00"), page); err != nil {
		return 0, err
	}
	fd, err = p.Syscall(unix.SYS_MEMFD_CREATE, page, unix.MFD_CLOEXEC)
	if err != nil {
		err = fmt.Errorf("make shared memory in the process: %w", err)
	}
	_, uerr := p.Syscall(unix.SYS_MUNMAP, page, pageSize)
	return fd, errors.Join(err, uerr)
}

// mapInto maps the memfd in the process.
func (a *arena) mapInto(p *target.Process, fd, size uint64) (err error) {
	for _, at := range arenaPlaces {
		a.base, err = p.Syscall(unix.SYS_MMAP, at, size, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED|unix.MAP_NORESERVE|unix.MAP_FIXED_NOREPLACE, fd, 0)
		if err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("map %d MB of shared memory in the process: %w", size>>20, err)
	}
	// A forked child runs without it; a core file need not hold it.
	for _, advice := range []uint64{unix.MADV_DONTFORK, unix.MADV_DONTDUMP} {
		if _, err := p.Syscall(unix.SYS_MADVISE, a.base, size, advice); err != nil {
			return fmt.Errorf("shared memory: %w", err)
		}
	}
	return nil
}

// size is the whole mapping, bytes.
func (a *arena) size() uint64 { return uint64(len(a.mem)) }

func (a *arena) close() {
	if a.mem != nil {
		_ = unix.Munmap(a.mem)
		a.mem = nil
	}
	if a.file != nil {
		_ = a.file.Close()
	}
}

// process returns the word at an offset of the process block.
func (a *arena) process(off uint64) *uint64 { return word(a.mem, off) }

// order is the counter of stamps.
func (a *arena) order() *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(a.process(layout.Order)))
}

// stamp takes a stamp for the tracer.
func (a *arena) stamp() uint64 { return a.order().Add(1) }

// word is a 64-bit word of shared memory; off is a multiple of 8.
func word(mem []byte, off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&mem[off : off+8][0])) }

// errThreads: more threads than slots.
var errThreads = errors.New("the program has more threads at once than can be recorded (ulimit -v may be why)")

// take gives out a slot. th is a stopped thread; nil: the process is held.
func (a *arena) take(th *target.Stopped) (*slot, error) {
	if n := len(a.unused); n > 0 {
		s := a.unused[n-1]
		a.unused = a.unused[:n-1]
		return s, nil
	}
	at := a.head + uint64(len(a.slots))*slotSize(a.buffer)
	if at+slotSize(a.buffer) > a.size() {
		return nil, errThreads
	}
	s := &slot{arena: a, base: a.base + at, mem: a.mem[at : at+slotSize(a.buffer) : at+slotSize(a.buffer)]}
	for i := range s.guard {
		s.at[i] = layout.BlockSize + layout.HookStack + uint64(i)*(a.buffer+layout.Guard)
		s.guard[i] = s.at[i] + a.buffer
		if err := a.guards.protect(th, s.base+s.guard[i], layout.Guard); err != nil {
			return nil, err
		}
	}
	a.slots = append(a.slots, s)
	return s, nil
}

// slot is the memory of one thread. The tracer's goroutine and the reader share
// what is below lock.
type slot struct {
	arena *arena
	base  uint64    // its thread block in the process
	mem   []byte    // our view
	at    [2]uint64 // offsets of the buffers
	guard [2]uint64 // and of what lies behind them
	stream
}

// begin makes the slot a thread's.
func (s *slot) begin(tid int, hook uint64, stack [2]uint64) {
	clear(s.mem[:layout.BlockSize])
	s.stream = stream{tid: tid, stack: stack}
	s.set(layout.Process, s.arena.base)
	s.set(layout.HookSP, s.base+layout.BlockSize+layout.HookStack)
	s.set(layout.HookEntry, hook)
	s.set(layout.StackLo, stack[0])
	s.set(layout.StackHi, stack[1])
	binary.LittleEndian.PutUint32(s.mem[layout.Thread:], uint32(tid))
	s.use(0)
}

// use makes buffer i, which is empty, the one that is written to.
func (s *slot) use(i int) {
	s.cur = i
	atomic.StoreUint64(word(s.mem, layout.Cursor), s.base+s.at[i])
	s.set(layout.End, s.base+s.guard[i])
}

func (s *slot) set(off, v uint64)     { *word(s.mem, off) = v }
func (s *slot) get(off uint64) uint64 { return *word(s.mem, off) }

// cursor is how many bytes of the current buffer are written.
func (s *slot) cursor() uint64 {
	return atomic.LoadUint64(word(s.mem, layout.Cursor)) - s.base - s.at[s.cur]
}

// guarded says whether an address of the process lies behind the current buffer.
func (s *slot) guarded(addr uint64) bool {
	return addr-s.base-s.guard[s.cur] < layout.Guard
}
