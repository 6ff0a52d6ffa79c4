package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
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
