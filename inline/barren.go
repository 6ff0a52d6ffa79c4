package inline

import (
	"bytes"
	"encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"

	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/target"
	"mgtrace/trace"
)

// CloseBarren asks that stores to a part of a block be dropped from now on, of which nothing
// tells that it matters: as the caller has seen it at a time of the run. It is done by the program
// itself, which knows what the block has become meanwhile (inline/hook/c/member.h), when it next
// calls what is watched, or by answerBarren. False: an earlier request is still open. Only one goroutine asks.
func (e *Engine) CloseBarren(block, addr, size uint64, wall int64) bool {
	if !e.opts.Matter.Barren || !e.filter.On || !e.answered() {
		return false
	}
	for _, f := range [...]struct{ off, v uint64 }{
		{layout.BarrenBlock, block}, {layout.BarrenAddr, addr}, {layout.BarrenBytes, size}, {layout.BarrenTime, e.clock.Ticks(wall)},
	} {
		*word(e.arena.mem, e.at.barren-e.arena.base+f.off) = f.v
	}
	atomic.StoreUint32(e.asked(), 1)
	return true
}

// answerBarren answers a request in place of a thread that is stopped outside of the hook routine: code that
// stores much and calls nothing would leave it open.
func (e *Engine) answerBarren(th *target.Stopped) {
	if e.answered() {
		return
	}
	kept, answer := e.arena.mem[e.at.barren-e.arena.base:], uint32(layout.BarrenRefused)
	if lo, hi := hook.Barren(e.arena.mem, kept); lo < hi {
		closed := bytes.Repeat(e.arena.mem[layout.ClosedByte:][:1], int((hi-lo)>>layout.GranuleShift))
		if th.WriteMemory(closed, e.shadow+lo>>layout.GranuleShift) == nil {
			answer = layout.BarrenClosed
		}
	}
	binary.LittleEndian.PutUint32(kept[layout.BarrenAnswer:], answer)
	atomic.StoreUint32(e.asked(), 0)
}

// ClosedBarren says what has become of the last request. done: it is not open any more.
func (e *Engine) ClosedBarren() (closed, done bool) {
	if e.at.barren == 0 || !e.answered() {
		return false, false
	}
	answer := binary.LittleEndian.Uint32(e.arena.mem[e.at.barren-e.arena.base+layout.BarrenAnswer:])
	return answer == layout.BarrenClosed, true
}

func (e *Engine) asked() *uint32 {
	return (*uint32)(unsafe.Pointer(&e.arena.mem[layout.Asked]))
}

func (e *Engine) answered() bool { return atomic.LoadUint32(e.asked()) == 0 }

// CloseAlike has only the bytes from lo to hi of the blocks open from now on that are allocated with
// a stack, and have a size if it is not 0. False: there is no room for it, or the program's calls are
// not known by this stack.
func (e *Engine) CloseAlike(stack []trace.Addr, size, lo, hi uint64) bool {
	entry, number := e.alike(stack)
	if number == 0 || max(size, lo, hi) > math.MaxUint32 || !atomic.CompareAndSwapUint32(entry(0), 0, number|closing) {
		return false
	}
	atomic.StoreUint32(entry(4), uint32(size))
	atomic.StoreUint32(entry(8), uint32(lo))
	atomic.StoreUint32(entry(12), uint32(hi))
	atomic.StoreUint32(entry(0), number)
	return true
}

// closing marks an entry that is not whole yet: no stack has such a number.
const closing = 1 << 31

// OpenAlike takes that back, for blocks that are allocated later.
func (e *Engine) OpenAlike(stack []trace.Addr) {
	if entry, number := e.alike(stack); number != 0 {
		atomic.CompareAndSwapUint32(entry(0), number, 0)
	}
}

// alike is the entry for a stack, whose number is 0 if there is none.
func (e *Engine) alike(stack []trace.Addr) (word func(off uint64) *uint32, number uint32) {
	if !e.opts.Matter.Barren || !e.filter.On || e.known == nil {
		return nil, 0
	}
	number = e.known.number(stack)
	return e.kind(uint64(number) % layout.BarrenKinds), number
}

// kind is an entry for a stack, by its words.
func (e *Engine) kind(i uint64) (word func(off uint64) *uint32) {
	at := e.at.barren - e.arena.base + layout.BarrenAlike + i*layout.BarrenKind
	return func(off uint64) *uint32 { return (*uint32)(unsafe.Pointer(&e.arena.mem[at+off])) }
}
