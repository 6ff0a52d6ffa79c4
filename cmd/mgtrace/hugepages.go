package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A plan of a large program takes hundreds of megabytes, made while the program stands
// still, and a history grows by gigabytes: a quarter of the processor time went into the first use of
// memory, a fault for each page of 4 KB. Go itself asks for no huge pages.

// Bytes of the heap that are asked for; beyond, pages are small. To ask costs 15 ms a GB, used or not: Go keeps a table
// of the pages of what it allocates.
const (
	forPlan    = 1 << 30
	forHistory = 2 << 30
)

const (
	leastAhead = 64 << 20 // less is not worth it
	hugePage   = 2 << 20
)

// hugePages has the kernel give the heap pages of 2 MB as it grows by n bytes, or by as much as half of what
// is free, where that is to be asked for and nothing speaks against it. Nothing is taken before it is used.
func hugePages(n uint64) {
	n = min(n, freeMemory("/")/2)
	if n < leastAhead || os.Getenv("GOMEMLIMIT") != "" || !hugePagesGiven("/") || limited(unix.RLIMIT_AS) || limited(unix.RLIMIT_DATA) {
		return
	}
	if at, err := adviseHeap(n); err == nil && runtime.GOMAXPROCS(0) > 1 {
		go ready(at, at+uintptr(n)-hugePage)
	}
}

// How far before the heap its memory is made ready: as a part of what is in use, and at most. A short run is not to
// pay for what it never uses. And how often that is looked after.
const (
	readyShare = 8
	readyAhead = 16 << 20
	readySoon  = 5 * time.Millisecond
	readyLate  = 160 * time.Millisecond
)

// ready makes the memory in [at, end) ready, into which the heap grows from the front, a little before it does: the
// kernel clears it then on another processor than the one that works, for which that was a tenth to a fifth of its
// time.
func ready(at, end uintptr) {
	first, wait := at, readySoon
	for at < end {
		used := heapInUse()
		to := min(end, first+uintptr(used+min(used/readyShare, readyAhead))&^(hugePage-1))
		wait = min(2*wait, readyLate)
		for ; at < to; at += hugePage {
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, at, hugePage, unix.MADV_POPULATE_WRITE); errno != 0 {
				return // before Linux 5.14, or there is no memory
			}
			wait = readySoon
		}
		time.Sleep(wait)
	}
}

// heapInUse is how many bytes of the heap are not given back to the kernel.
func heapInUse() (n uint64) {
	parts := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(parts[:])
	for _, p := range parts {
		n += p.Value.Uint64()
	}
	return n
}

// hugePagesGiven says, as far as the files of Linux tell that lie under a root directory, whether
// there is a point in asking for huge pages, and address space that is not used counts for nothing.
func hugePagesGiven(root string) bool {
	given, _ := os.ReadFile(filepath.Join(root, "sys/kernel/mm/transparent_hugepage/enabled"))
	counted, err := number(filepath.Join(root, "proc/sys/vm/overcommit_memory"))
	const never = 2 // overcommit: what is mapped counts, used or not
	return strings.Contains(string(given), "[madvise]") && err == nil && counted != never
}

func limited(resource int) bool {
	var l unix.Rlimit
	return unix.Getrlimit(resource, &l) != nil || l.Cur != unix.RLIM_INFINITY
}

// adviseHeap lets the heap have n bytes, asks for huge pages there, and takes them back
// before any was touched: the heap grows into what it has. It returns the first address
// that was asked for.
func adviseHeap(n uint64) (at uintptr, err error) {
	if at, err = adviseFresh(n); err == nil {
		debug.FreeOSMemory() // else the collector would think that as much is in use
	}
	return at, err
}

//go:noinline // what it allocates is garbage when it has returned
func adviseFresh(n uint64) (at uintptr, err error) {
	b := make([]byte, n)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage
	b = b[skip : skip+(uintptr(n)-skip)&^(hugePage-1)]
	return uintptr(unsafe.Pointer(unsafe.SliceData(b))), unix.Madvise(b, unix.MADV_HUGEPAGE)
}
