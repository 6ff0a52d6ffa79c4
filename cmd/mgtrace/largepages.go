package main

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A history grows by gigabytes, and its memory is touched for the first time piece by piece: at
// 4 KB a page the kernel takes as long to hand it out as mgtrace to fill it. Go asks for no larger pages, and
// most distributions give them to those only who ask (transparent_hugepage=madvise).

const (
	mostLarge = 4 << 30 // bytes of the heap that are to lie in large pages
	// leastLarge is too little to be worth it.
	leastLarge = 64 << 20
)

// largePages has the next size bytes that the heap grows by lie in pages of 2 MB, as far as the kernel has
// them. It takes a block of that size, which is never touched, asks for large pages there,
// and gives it back: the heap uses it from then on before it takes other memory.
func largePages(size uint64) {
	if size = min(size, mostLarge); size < leastLarge || !mappable(size) {
		return
	}
	block := make([]byte, size)
	unix.Madvise(block, unix.MADV_HUGEPAGE) // EINVAL: the kernel knows none
	block = nil
	runtime.GC()
}

// mappable reports whether so much memory may be mapped: where it is not, for a limit of the
// process or since the kernel promises no more than it has, Go ends the process.
func mappable(size uint64) bool {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		return false
	}
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	return unix.Munmap(b) == nil
}
