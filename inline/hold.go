package inline

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// holdTick is how often the reader looks for held threads: what a C-point costs
// the program at least.
const holdTick = 50 * time.Microsecond

const futexWake = 1 // FUTEX_WAKE, not private: two processes share the word

// held is the word on which a thread waits at a site with layout.SiteHold: 1.
func (s *slot) held() *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&s.mem[layout.Held]))
}

// letGo ends the wait of a held thread.
func (s *slot) letGo() {
	if s.held().CompareAndSwap(1, 0) {
		// Nobody waits: it is stopped, and looks again when it goes on.
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(s.held())), futexWake, 1, 0, 0, 0)
	}
}

// waitingHeld appends the threads that are held now to list.
func (r *reader) waitingHeld(list []*slot) []*slot {
	for _, s := range r.slots {
		if s.held().Load() == 1 {
			list = append(list, s)
		}
	}
	return list
}

// letGo has the held threads go on of which everything is with the sink.
func (r *reader) letGo(held []*slot) {
	for _, s := range held {
		r.e.streams.Lock()
		tid := s.tid
		r.e.streams.Unlock()
		if !r.merger.Pending(trace.ThreadID(tid)) {
			s.letGo()
		}
	}
}
