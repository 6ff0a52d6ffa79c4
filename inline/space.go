package inline

import (
	"os"
	"strconv"
	"strings"

	"mgtrace/inline/patch"
	"mgtrace/target"
	"mgtrace/target/mem"
)

const (
	pageSize = 4096
	// Below it the kernel lets nobody map (vm.mmap_min_addr), above it there
	// is no user memory (TASK_SIZE_MAX of x86-64 with four-level tables).
	lowest  = 64 << 10
	highest = 0x7fff_ffff_f000

	// Room that stays the program's: what its heap may grow into from the
	// program break, and its stack downwards. malloc goes on with mmap where
	// brk(2) finds no room. A program at a fixed address reaches only the lowest
	// 2 GB: with 1 GB of them for its heap one store in a thousand of gcc's needs
	// a trap, with this none.
	heapRoom  = 256 << 20
	stackRoom = target.StackRoom
	// Between a mapping and ours, so that neither is mistaken for the other.
	margin = 64 << 10
)

// freeSpace lists what is free in an address space and may be taken for
// trampolines, in ascending order. brk is where the program's heap begins or
// will; 0 if that is not known.
func freeSpace(maps []mem.Map, brk uint64) []patch.Range {
	var free []patch.Range
	gap := func(lo, hi uint64) {
		lo, hi = pageUp(lo+margin), (hi-min(hi, margin))&^(pageSize-1)
		if brk != 0 && lo < brk+heapRoom && brk < hi {
			if lo < brk {
				free = append(free, patch.Range{Lo: lo, Hi: brk &^ (pageSize - 1)})
			}
			lo = pageUp(brk + heapRoom)
		}
		if lo < hi {
			free = append(free, patch.Range{Lo: lo, Hi: hi})
		}
	}
	at := uint64(lowest)
	for _, m := range maps {
		if m.Lo >= highest {
			break
		}
		end := m.Lo
		if m.Path == "[stack]" {
			end -= min(end, stackRoom)
		}
		if end > at {
			gap(at, end)
		}
		at = max(at, m.Hi)
	}
	if at < highest {
		gap(at, highest)
	}
	return free
}

func pageUp(a uint64) uint64 { return (a + pageSize - 1) &^ (pageSize - 1) }

// startBrk is where the heap of a process begins: field 47 of
// /proc/PID/stat (proc(5)), which may be read by who may trace it. 0: unknown.
func startBrk(pid int) uint64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The second field is a name in parentheses, which may hold anything.
	_, rest, ok := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	fields := strings.Fields(rest)
	const behindName = 3 // the first field there is the third
	if !ok || len(fields) <= 47-behindName {
		return 0
	}
	n, err := strconv.ParseUint(fields[47-behindName], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
