package bpf

import (
	"fmt"
	"os"
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

// watchOver begins it.
func (e *Engine) watchOver() *stripping {
	s := &stripping{pid: e.pid, places: e.inherited()}
	s.look(e, func(image int, of []inherited) { s.places[image] = of })
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
	s.look(e, func(image int, of []inherited) { whole = whole && len(of) == len(s.places[image]) })
	s.sure = remain
	return whole
}

// look tells of each image that is mapped which of its places have a breakpoint.
func (s *stripping) look(e *Engine, tell func(image int, with []inherited)) {
	tid, ok := anotherThread(s.pid)
	if !ok {
		return
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return
	}
	defer mem.Close()
	maps, err := readMaps(tid)
	if err != nil {
		return
	}
	for i, im := range e.plan.Images {
		of, err := findImage(tid, im.Path, maps)
		if err != nil || len(of.maps) == 0 {
			continue
		}
		var with []inherited
		for _, m := range of.maps {
			if m.write || m.shared { // the kernel puts none in there
				continue
			}
			_ = eachPiece(m, s.places[i], func(code []byte, at uint64, places []inherited) error {
				if _, err := mem.ReadAt(code, int64(at)); err != nil {
					with = append(with, places...) // it can not be asked
					return nil
				}
				for _, p := range places {
					if code[p.offset-places[0].offset] == int3 {
						with = append(with, p)
					}
				}
				return nil
			})
		}
		tell(i, with)
	}
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
