package inline

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	shared *target.Shared
	head   uint64 // bytes before the first slot
	buffer uint64 // bytes of a buffer of the first slots
	guards *guards
	slots  []*slot
	unused []*slot // that had a thread which ended
	quiet  bool    // no thread is to tell calls of functions that nobody named
}

// Where the arena is put: far from what programs, their loaders and sanitizers
// use (asan's shadow ends at 0x1000_7fff_8000).
var arenaPlaces = []uint64{0x2000_0000_0000, 0x2400_0000_0000, 0x2800_0000_0000, 0x3000_0000_0000}

// largeSlots have buffers of full size, in which the reader may be late by milliseconds.
// Threads that come later have smaller ones, for all of a buffer may be touched, and
// programs that have hundreds of threads do not run them at the same time.
const largeSlots = 8

// bufferOf is the size of a buffer of slot i; full is that of the first one.
func bufferOf(i int, full uint64) uint64 {
	if i < largeSlots {
		return full
	}
	return pageUp(max(full/4, minBuffer))
}

// slotSize is what a slot takes of the arena. Pages that are never touched take no
// memory.
func slotSize(buffer uint64) uint64 {
	return layout.BlockSize + layout.HookStack + 2*(buffer+layout.Guard)
}

// slotsSize is what the first n slots take.
func slotsSize(n int, full uint64) uint64 {
	first := min(n, largeSlots)
	return uint64(first)*slotSize(full) + uint64(n-first)*slotSize(bufferOf(n, full))
}

// newArena makes the shared memory in the stopped process. tables is the size
// of the hook routine's tables, bytes.
func newArena(p *target.Process, tables, buffer uint64, slots int) (a *arena, err error) {
	a = &arena{head: pageUp(layout.ProcessSize + tables), buffer: pageUp(buffer)}
	size := a.head + slotsSize(slots, a.buffer)
	if a.shared, err = p.Share(); err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, a.shared.Mapped()); err != nil {
			a.close()
			a = nil
		}
	}()
	for _, a.base = range arenaPlaces {
		if a.mem, err = a.shared.Map(a.base, size, unix.PROT_READ|unix.PROT_WRITE); err == nil {
			break
		}
	}
	if errors.Is(err, unix.EFBIG) {
		err = fmt.Errorf("the limit of file size (RLIMIT_FSIZE, ulimit -f) holds for the log in shared memory too: raise it to %d MB, or use --engine ebpf", size>>20)
	}
	return a, err
}

// size is the whole mapping, bytes.
func (a *arena) size() uint64 { return uint64(len(a.mem)) }

func (a *arena) close() {
	a.mem = nil
	if a.shared != nil {
		a.shared.Close()
	}
}

// process returns the word at an offset of the process block.
func (a *arena) process(off uint64) *uint64 { return word(a.mem, off) }

// order is the counter of stamps.
func (a *arena) order() *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(a.process(layout.Order)))
}

// stamp takes a stamp for the tracer: as long as there is one thread, which may be
// taking one without LOCK, that thread's last.
func (a *arena) stamp() uint64 {
	if *a.process(layout.Many) == 0 {
		return a.order().Load()
	}
	return a.order().Add(1)
}

// word is a 64-bit word of shared memory; off is a multiple of 8.
func word(mem []byte, off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&mem[off : off+8][0])) }

// errThreads: more threads than slots.
var errThreads = errors.New("the program has more threads at once than can be recorded (ulimit -v may be why)")

// full: there is no slot to give out.
func (a *arena) full() bool {
	return len(a.unused) == 0 && a.head+slotsSize(len(a.slots)+1, a.buffer) > a.size()
}

// take gives out a slot. th is a stopped thread; nil: the process is held.
func (a *arena) take(th *target.Stopped) (*slot, error) {
	if n := len(a.unused); n > 0 {
		s := a.unused[n-1]
		a.unused = a.unused[:n-1]
		return s, nil
	}
	if a.full() {
		return nil, errThreads
	}
	s := a.slotAt(len(a.slots))
	for i := range s.guard {
		if err := a.guards.protect(th, s.base+s.guard[i], layout.Guard); err != nil {
			return nil, err
		}
	}
	a.slots = append(a.slots, s)
	return s, nil
}

// slotAt is slot i.
func (a *arena) slotAt(i int) *slot {
	at, end := a.head+slotsSize(i, a.buffer), a.head+slotsSize(i+1, a.buffer)
	s := &slot{arena: a, base: a.base + at, mem: a.mem[at:end:end], buffer: bufferOf(i, a.buffer)}
	for i := range s.guard {
		s.at[i] = layout.BlockSize + layout.HookStack + uint64(i)*(s.buffer+layout.Guard)
		s.guard[i] = s.at[i] + s.buffer
	}
	return s
}

// slot is the memory of one thread. The tracer's goroutine and the reader share
// what is below lock.
type slot struct {
	arena  *arena
	base   uint64    // its thread block in the process
	mem    []byte    // our view
	buffer uint64    // bytes of a buffer
	at     [2]uint64 // offsets of the buffers
	guard  [2]uint64 // and of what lies behind them
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
	if s.arena.quiet {
		s.silence()
	}
	s.offer()
}

// silence has the thread tell no more calls of functions that nobody named.
func (s *slot) silence() { atomic.StoreUint32((*uint32)(unsafe.Pointer(&s.mem[layout.Quiet])), 1) }

// silence has no thread tell calls of functions that nobody named any more, be it one that is yet to come.
func (e *Engine) silence() {
	e.streams.Lock()
	defer e.streams.Unlock()
	e.arena.quiet = true
	for _, s := range e.arena.slots {
		s.silence()
	}
}

// use makes buffer i, which is empty, the one that is written to. The thread is stopped.
func (s *slot) use(i int) {
	s.cur = i
	s.set(layout.Next, 0)
	atomic.StoreUint64(word(s.mem, layout.Cursor), s.base+s.at[i])
	s.set(layout.End, s.base+s.guard[i])
}

// offer tells the thread, which may be running, that the other buffer is free: the hook
// routine takes it soon. So a thread whose reader keeps up touches only the beginnings of
// its buffers, and one whose reader is late has the rest of this one and all of the other.
func (s *slot) offer() {
	other := 1 - s.cur
	s.set(layout.NextEnd, s.base+s.guard[other])
	s.set(layout.Turn, s.base+s.at[s.cur]+s.buffer/turnAt)
	atomic.StoreUint64(word(s.mem, layout.Next), s.base+s.at[other])
}

// turnAt: a thread turns to its other buffer when it has written this part of one.
const turnAt = 16

func (s *slot) set(off, v uint64)     { *word(s.mem, off) = v }
func (s *slot) get(off uint64) uint64 { return *word(s.mem, off) }

// owner is the thread whose slot it is.
func (s *slot) owner() int { return int(binary.LittleEndian.Uint32(s.mem[layout.Thread:])) }

// cursor says which buffer is written to, and how many bytes of it are written.
func (s *slot) cursor() (buffer int, n uint64) {
	at := atomic.LoadUint64(word(s.mem, layout.Cursor)) - s.base
	if at >= s.at[1] {
		buffer = 1
	}
	return buffer, at - s.at[buffer]
}

// guarded says whether an address of the process lies behind the current buffer.
func (s *slot) guarded(addr uint64) bool {
	buffer, _ := s.cursor()
	return s.behind(buffer, addr)
}

// outdated says whether it lies behind the other one: the thread touched that guard
// before it got its buffer, and was stopped for something else (a poke) before
// the kernel told of the fault.
func (s *slot) outdated(addr uint64) bool {
	buffer, _ := s.cursor()
	return s.behind(1-buffer, addr)
}

func (s *slot) behind(buffer int, addr uint64) bool {
	return addr-s.base-s.guard[buffer] < layout.Guard
}
