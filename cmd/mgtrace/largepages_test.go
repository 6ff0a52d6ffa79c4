package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// What the heap grows by afterwards lies where large pages were asked for.
func TestLargePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no large pages")
	}
	largePages(1 << 30)
	grown := make([]byte, 768<<20) // more than is left of what the heap has already
	defer runtime.KeepAlive(grown)
	at := uintptr(unsafe.Pointer(&grown[len(grown)/2]))
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	inside, flags := false, ""
	for line := range strings.Lines(string(text)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= at && at < hi
		}
		if f, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			flags = f
		}
	}
	if !strings.Contains(flags, " hg") {
		t.Errorf("flags of the heap at %#x: %q, want hg among them", at, flags)
	}
}
