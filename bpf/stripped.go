package bpf

import (
	"fmt"
	"os"
	"slices"
	"strconv"
)

// The filter of a link wants the memory of the process's first thread, and that has none any more once it has ended
// (uprobe_multi_link_filter in kernel/trace/bpf_trace.c). As long as nobody asks, the breakpoints stay. But where anybody's probe goes at the same
// place, in malloc say, the kernel asks all filters there, and takes the breakpoint out of the program as well: what
// its other threads do then makes no record. So from the end of the first thread on nothing is delivered that was not in
// the ring when all breakpoints were seen in place: one that was taken out does not come back.

// stripping watches over the breakpoints of a process whose first thread has ended.
type stripping struct {
	pid    int
	places [][]inherited // with a breakpoint when it had ended, by image
	sure   int           // bytes of the ring that were there at the last look
}

// watchOver begins it; nil: no other thread is left.
func (e *Engine) watchOver() *stripping {
	if _, ok := anotherThread(e.pid); !ok {
		return nil
	}
	s := &stripping{pid: e.pid, places: e.inherited()}
	type place struct {
		image int
		at    inherited
	}
	none := map[place]bool{} // have had none
	s.lacking(e, func(image int, p inherited) { none[place{image, p}] = true })
	for i := range s.places {
		s.places[i] = slices.DeleteFunc(s.places[i], func(p inherited) bool { return none[place{i, p}] })
	}
	return s
}

// whole reports whether a record, with which so many bytes leave the ring and behind which so many remain, is
// one of all that there were. Where the memory is gone there is nothing to ask.
func (s *stripping) whole(e *Engine, size, remain int) bool {
	if s.sure >= size {
		s.sure -= size
		return true
	}
	whole := true
	s.lacking(e, func(int, inherited) { whole = false })
	s.sure = remain
	return whole
}

// lacking tells of the places that are mapped, can be read, and have no breakpoint.
func (s *stripping) lacking(e *Engine, tell func(image int, p inherited)) {
	tid, ok := anotherThread(s.pid)
	if !ok {
		return
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return
	}
	defer mem.Close()
	_ = e.eachPiece(tid, s.places, func(image int, code []byte, at uint64, places []inherited) error {
		if _, err := mem.ReadAt(code, int64(at)); err != nil {
			return nil // it can not be asked
		}
		for _, p := range places {
			if code[p.offset-places[0].offset] != int3 {
				tell(image, p)
			}
		}
		return nil
	})
}

// anotherThread is one of a process that is not the first.
func anotherThread(pid int) (tid int, ok bool) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, false
	}
	for _, e := range list {
		if tid, err := strconv.Atoi(e.Name()); err == nil && tid != pid {
			return tid, true
		}
	}
	return 0, false
}
