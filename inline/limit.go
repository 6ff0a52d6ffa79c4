package inline

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"mgtrace/target"
)

// The least that a recording can do with.
const (
	minBuffer  = 64 << 10 // bytes
	minThreads = 16
)

// fit reduces buffers, and then the number of threads, so that the log takes at most
// a quarter of the address space that a limit (RLIMIT_AS) leaves the program and this
// process, which maps it as well.
func (o *Options) fit(p *target.Process) (warning string, err error) {
	room := min(addressSpace(p.PID()), addressSpace(os.Getpid()))
	log := func() uint64 { return slotsSize(o.Threads, uint64(o.Buffer)) }
	if log() <= room/4 {
		return "", nil
	}
	for log() > room/4 && o.Buffer > minBuffer {
		o.Buffer = max(o.Buffer/2, minBuffer)
	}
	for log() > room/4 && o.Threads > minThreads {
		o.Threads = max(o.Threads/2, minThreads)
	}
	if log() > room/4 {
		return "", fmt.Errorf("the limit of memory (RLIMIT_AS, ulimit -v) leaves %d MB, and the log needs %d: raise it", room>>20, log()>>20)
	}
	return fmt.Sprintf("of the %d MB that the limit of memory (RLIMIT_AS, ulimit -v) leaves, the log takes %d, enough for %d threads at once", room>>20, log()>>20, o.Threads), nil
}

// noticeLimit warns of a limit that the program has set itself.
func (e *Engine) noticeLimit() {
	if now := memoryLimit(e.proc.PID()); now < e.limit {
		e.limit = now
		e.warnings = append(e.warnings, fmt.Sprintf("the program has limited its memory to %d MB (RLIMIT_AS), and what this engine has mapped counts: memory may have been refused that the program gets alone; --engine ebpf maps nothing", now>>20))
	}
}

// memoryLimit is the limit of a process's address space.
func memoryLimit(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_AS, nil, &limit) != nil {
		return math.MaxUint64 // what can not be had is refused when it is asked for
	}
	return limit.Cur // RLIM_INFINITY is the largest number
}

// addressSpace is how much address space a process may still take, as far as limits go.
func addressSpace(pid int) uint64 {
	limit := memoryLimit(pid)
	var pages uint64
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)); err == nil {
		_, _ = fmt.Sscan(string(b), &pages) // 0: the same
	}
	return limit - min(limit, pages*pageSize)
}
