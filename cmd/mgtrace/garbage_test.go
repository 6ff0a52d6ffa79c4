package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// As more is in use the collector waits less, down to what is usual.
func TestCollectLate(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	percent := func() uint64 {
		m := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(m)
		return m[0].Value.Uint64()
	}
	(&late{room: 64 << 20, most: latePercent}).begin()
	if got := percent(); got <= usualPercent {
		t.Errorf("with little in use: %d %%", got)
	}
	kept := make([]byte, 128<<20)
	for end := time.Now().Add(patience); percent() != usualPercent; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("with much in use: %d %%", percent())
		}
		runtime.GC() // what notices is run behind it
	}
	runtime.KeepAlive(kept)
}

func TestPercentFor(t *testing.T) {
	const mb, gb = 1 << 20, 1 << 30
	for _, c := range []struct {
		live, room uint64
		most, want int
	}{
		{gb / 8, gb, latePercent, 300},
		{gb / 2, gb, latePercent, 200},
		{gb, gb, latePercent, 100},
		{8 * gb, gb, latePercent, 100},
		{gb / 8, gb, usualPercent, 100},
		// A small heap may grow to 64 MB, if there is room for as much.
		{0, gb, usualPercent, 1500},
		{0, gb, latePercent, 1500},
		{8 * mb, gb, usualPercent, 700},
		{16 * mb, gb, latePercent, 300},
		{48 * mb, gb, usualPercent, 100},
		{0, 24 * mb, usualPercent, 500},
		{0, 0, usualPercent, 100},
	} {
		if got := percentFor(c.live, c.room, c.most); got != c.want {
			t.Errorf("%d bytes in use, room for %d, at most %d %%: %d %%, want %d", c.live, c.room, c.most, got, c.want)
		}
	}
}

// The limits of this process count as far as the heap, which grows by 64 MB, can make use of them.
func TestHeapRoom(t *testing.T) {
	for n, want := range map[uint64]uint64{0: 32 << 20, 80 << 20: 32 << 20, 96 << 20: 96 << 20, 1 << 30: 992 << 20} {
		if got := heapRoom(n); got != want {
			t.Errorf("of %d MB: %d MB, want %d", n>>20, got>>20, want>>20)
		}
	}
	status := "Name:\ta\nVmPeak:\t    9000 kB\nVmSize:\t    8000 kB\nVmData:\t     300 kB\n"
	if a, d, none := kilobytes(status, "VmSize:"), kilobytes(status, "VmData:"), kilobytes(status, "VmLck:"); a != 8000<<10 || d != 300<<10 || none != 0 {
		t.Errorf("mapped: %d, %d, %d", a, d, none)
	}
}

// What a control group allows counts, or one that it lies in, of either version.
func TestFreeMemory(t *testing.T) {
	const meminfo = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"nothing is known": {nil, 0},
		"no group":         {map[string]string{"proc/meminfo": meminfo}, 8000000 << 10},
		"no limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 8000000 << 10},
		"version 2, the outer group": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "500000000\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 500000000},
		"version 2, in a namespace": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "500000000\n",
		}, 500000000},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu:/x\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "400000000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 400000000},
		"version 2, of which some is used": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "500000000\n",
			"sys/fs/cgroup/a/memory.current": "300000000\n", "sys/fs/cgroup/a/memory.stat": "anon 100000000\ninactive_file 150000000\n",
		}, 350000000},
		"version 1, used up": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "400000000\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "400000001\n", "sys/fs/cgroup/memory/a/memory.stat": "inactive_file 7\ntotal_inactive_file 1\n",
		}, 0},
		"version 1, mounted where its path is not": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:hugetlb,memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "400000000\n",
		}, 400000000},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if got := freeMemory(root); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}
