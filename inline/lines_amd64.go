package inline

import "unsafe"

// evict has every cache give up the lines of b, which will be written again by a thread on
// another processor. Where two processors hold a line the thread waits for it; from
// memory its prefetch brings it in time: docs/design/inline.md, "What the reader has read".
func evict(b []byte) {
	if len(b) > 0 && canEvict {
		evictLines(unsafe.Pointer(&b[0]), uintptr(len(b)))
	}
}

var canEvict = hasCLFLUSHOPT()

// evictLines executes CLFLUSHOPT on each line of n bytes.
//
//go:noescape
func evictLines(at unsafe.Pointer, n uintptr)

// hasCLFLUSHOPT asks CPUID: leaf 7, EBX bit 23 (Intel manual, volume 2, CPUID).
func hasCLFLUSHOPT() bool
