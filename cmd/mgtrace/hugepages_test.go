package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel has been asked for the heap's pages, and nothing of it is in use.
func TestAdviseHeap(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the kernel has no huge pages: ", err)
	}
	inUse := func() uint64 {
		m := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(m)
		return m[0].Value.Uint64()
	}
	const n = 256 << 20
	before := inUse()
	at, err := adviseHeap(n)
	if err != nil {
		t.Fatal(err)
	}
	if now := inUse(); now > before+n/2 {
		t.Errorf("%d bytes are in use, %d were before", now, before)
	}
	if flags := mappingFlags(t, at); !strings.Contains(" "+flags+" ", " hg ") {
		t.Errorf("the heap's mapping has the flags %q, want hg among them", flags)
	}
}

// Memory that is made ready is there before it is used.
func TestReady(t *testing.T) {
	used := make([]byte, 64<<20) // that much is more than enough for what is made ready
	b, err := unix.Mmap(-1, 0, 4*hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, at, 1, unix.MADV_POPULATE_WRITE); errno == unix.EINVAL {
		t.Skip("Linux 5.14 is the first that does it")
	}
	ready(at, at+3*hugePage)
	runtime.KeepAlive(used)
	there := make([]byte, len(b)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, at, uintptr(len(b)), uintptr(unsafe.Pointer(unsafe.SliceData(there)))); errno != 0 {
		t.Fatal(errno)
	}
	for i, v := range there {
		if want := i*os.Getpagesize() < 3*hugePage; v&1 == 1 != want && i > 0 {
			t.Fatalf("page %d of %d is there: %v", i, len(there), !want)
		}
	}
}

// mappingFlags are the flags of the mapping that an address of this process lies in.
func mappingFlags(t *testing.T, at uintptr) string {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inside := false
	for s := bufio.NewScanner(f); s.Scan(); {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= at && at < hi
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && inside {
			return flags
		}
	}
	t.Fatalf("no mapping has the address %#x", at)
	return ""
}

func TestHugePagesGiven(t *testing.T) {
	for name, c := range map[string]struct {
		given, overcommit string
		want              bool
	}{
		"asked for":       {"always [madvise] never\n", "0\n", true},
		"given anyway":    {"[always] madvise never\n", "0\n", false},
		"never given":     {"always madvise [never]\n", "0\n", false},
		"unknown":         {"", "0\n", false},
		"all is counted":  {"always [madvise] never\n", "2\n", false},
		"counted? no one": {"always [madvise] never\n", "", false},
	} {
		root := t.TempDir()
		for file, text := range map[string]string{
			"sys/kernel/mm/transparent_hugepage/enabled": c.given,
			"proc/sys/vm/overcommit_memory":              c.overcommit,
		} {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got := hugePagesGiven(root); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
