package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A history only grows: collecting garbage finds little, and costs as much as there is
// history. So it is done as rarely as memory allows.
const (
	usualPercent = 100 // Go's own: as much garbage as is in use
	latePercent  = 300
	// garbageShare is the part of the memory that is free when mgtrace starts that more garbage
	// than usual may take.
	garbageShare = 4
	// What mgtrace may take of that memory at all, in percent, and what it may in any case:
	// where it comes near, garbage is collected more often, and a history ends (session.Run).
	limitPercent = 75
	leastLimit   = 256 << 20
	// leastHeap is how large the heap may become before garbage is collected at all, in bytes: a plan is
	// made of many small collections otherwise, each of which stops all goroutines twice.
	leastHeap = 64 << 20
)

// collectLate has the garbage collector wait longer than usual, as long as what is in use is
// little for this machine and the limits of this process, and limits what is. It holds for the whole process: a program calls
// it once. GOGC and GOMEMLIMIT, if the user has set them, are left as they are.
func collectLate() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	free, most := freeMemory("/"), uint64(math.MaxInt64)
	if free > 0 {
		most = max(free/100*limitPercent, leastLimit)
	}
	if room := groupRoom("/"); room/100*limitPercent < most { // whose limit kills, and says nothing
		most = room / 100 * limitPercent
	}
	if room := roomOf("/"); room < most {
		free, most = room, room
	}
	if most < math.MaxInt64 {
		debug.SetMemoryLimit(int64(most))
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	(&late{room: free / garbageShare, most: latePercent}).begin()
}

// collectUsual is collectLate for who keeps no history: only a small heap is left alone.
func collectUsual() {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		(&late{room: min(freeMemory("/"), roomOf("/")) / garbageShare, most: usualPercent}).begin()
	}
}

// smallHeap is what the runtime takes to be in use at least, bytes (heapMinimum in runtime/mgcpacer.go).
const smallHeap = 4 << 20

// late chooses the percentage anew after each collection.
type late struct {
	room    uint64 // bytes of garbage that may be more than is in use
	most    int    // percent, but for a small heap
	percent int    // in force; 0: none yet
}

func (l *late) begin() {
	if l.room > 0 {
		l.adjust()
	}
}

// collected is an object that is garbage at the next collection.
type collected struct{ late *late }

func (l *late) adjust() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	p := percentFor(live[0].Value.Uint64(), l.room, l.most)
	if p != l.percent {
		l.percent = p
		debug.SetGCPercent(p)
	}
	if p > usualPercent {
		runtime.SetFinalizer(&collected{late: l}, func(c *collected) { c.late.adjust() })
	}
}

// percentFor is how much garbage there may be beside what is in use, in percent of that: as there is room for, but at
// most so much, unless the heap is small.
func percentFor(live, room uint64, most int) int {
	live = max(live, smallHeap)
	late := min(float64(most), 100*float64(room)/float64(live))
	small := 100 * (float64(min(leastHeap, room)) - float64(live)) / float64(live)
	return int(max(usualPercent, late, small))
}

// freeMemory is how many bytes may still be taken, as far as the files of Linux tell that lie
// under a root directory: what the machine has, and what the control groups of this process
// allow. 0: it is not known.
func freeMemory(root string) uint64 {
	meminfo, _ := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	free := kilobytes(string(meminfo), "MemAvailable:") // 0: not known
	return min(free, groupRoom(root))
}

// groupRoom is how many bytes the control groups of this process still allow, all that is in them together: what is used is
// the program's as well. What the kernel takes back by itself, of files that nobody has read lately, does not count.
func groupRoom(root string) uint64 {
	room := uint64(math.MaxUint64)
	for _, group := range memoryGroups(filepath.Join(root, "proc/self/cgroup")) {
		for dir := group; ; dir = filepath.Dir(dir) { // a group is bound by those it lies in
			for _, v := range groupFiles {
				at := filepath.Join(root, v.below, dir)
				most, err := number(filepath.Join(at, v.most))
				if err != nil {
					continue
				}
				used, _ := number(filepath.Join(at, v.used)) // 0: not known
				stat, _ := os.ReadFile(filepath.Join(at, "memory.stat"))
				used -= min(used, counter(string(stat), v.inactive))
				room = min(room, most-min(most, used))
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return room
}

// groupFiles are where the versions of control groups tell of memory (cgroup-v2.rst and cgroup-v1/memory.rst in the
// kernel's documentation). Read-only.
var groupFiles = [2]struct{ below, most, used, inactive string }{
	{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
	{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
}

// counter is the value of a line of memory.stat; 0: it is not there.
func counter(text, name string) uint64 {
	n, _ := strconv.ParseUint(value(text, name, ""), 10, 63)
	return n
}

// value is what stands behind a name on its line, in that unit; "" if there is no such line.
func value(text, name, unit string) string {
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if unit == "" && len(w) == 2 && w[0] == name || len(w) == 3 && w[0] == name && w[2] == unit {
			return w[1]
		}
	}
	return ""
}

// heapStep is what the heap grows by: that much is mapped at once, and counts for limits (heapArenaBytes in
// runtime/malloc.go).
const heapStep = 64 << 20

// roomOf is by how many bytes the heap of this process may grow, as far as its own limits go (RLIMIT_AS, RLIMIT_DATA).
func roomOf(root string) uint64 {
	status, _ := os.ReadFile(filepath.Join(root, "proc/self/status"))
	room := uint64(math.MaxUint64)
	for _, of := range []struct {
		resource int
		mapped   string // what counts for it already
		others   uint64 // which part of the rest is not the heap's: of addresses, the log takes a quarter (inline.Options)
	}{{unix.RLIMIT_AS, "VmSize:", 4}, {unix.RLIMIT_DATA, "VmData:", math.MaxUint64}} {
		var l unix.Rlimit
		if unix.Getrlimit(of.resource, &l) == nil && l.Cur != unix.RLIM_INFINITY {
			left := l.Cur - min(l.Cur, kilobytes(string(status), of.mapped))
			room = min(room, heapRoom(left-left/of.others))
		}
	}
	return room
}

// heapRoom is what the heap can hold where n bytes more may be mapped, a few of them for what the runtime keeps of it. Of
// what is mapped for it already half is taken to be in use.
func heapRoom(n uint64) uint64 { return (n-min(n, heapStep/2))&^(heapStep-1) + heapStep/2 }

// kilobytes is the value of a line of /proc/PID/status or /proc/meminfo, in bytes; 0: it is not known.
func kilobytes(text, name string) uint64 {
	n, _ := strconv.ParseUint(value(text, name, "kB"), 10, 54)
	return n << 10
}

func number(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64) // "max" is none
}

// memoryGroups are the control groups of a process that may limit its memory (cgroups(7),
// "/proc/pid/cgroup"): that of version 2, and that of the controller of version 1.
func memoryGroups(file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		p := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(p) == 3 && strings.HasPrefix(p[2], "/") && (p[1] == "" || strings.Contains(","+p[1]+",", ",memory,")) {
			out = append(out, filepath.Clean(p[2]))
		}
	}
	return out
}
