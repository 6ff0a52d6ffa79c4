package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mgtrace/trace"
)

// manyNodes writes the trace of a program that allocates n blocks, each of which it
// writes to and frees before the next but 1000.
func manyNodes(t *testing.T, n int) string {
	path := filepath.Join(t.TempDir(), "many.mgt")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := trace.NewWriter(f, trace.Program{Path: "many"})
	put := func(e trace.Event) {
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		const live = 1000
		at := trace.Addr(0x10000 + i%live*64)
		if i >= live {
			put(trace.Event{Kind: trace.KindFree, PC: 3, Addr: at, Name: "free"})
		}
		put(trace.Event{Kind: trace.KindAlloc, PC: 1, Addr: at, Size: 48, Name: "malloc", Stack: []trace.Addr{2}})
		put(trace.Event{Kind: trace.KindStore, PC: 4, Addr: at + 8, Size: 8, Data: []byte{byte(i), 1, 2, 3, 4, 5, 6, 7}})
	}
	if err := w.Finish(trace.Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	return path
}

// highWater is the most memory that a process has had since its exec(2), bytes; 0 if
// it has ended.
func highWater(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); exe == "" {
		return 0
	}
	text, _, _ := strings.Cut(rest, "kB")
	n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n << 10
}

// TestMemoryLimit makes an index in less memory than the history takes, and has it
// refused in too little. The memory is what the kernel says that the process took.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a trace of three million events")
	}
	path := manyNodes(t, 1_000_000)
	run := func(args ...string) (stderr string, peak int64, err error) {
		c := exec.Command(tool(t), args...)
		var b strings.Builder
		c.Stderr = &b
		if err = c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { err = c.Wait(); close(ended) }()
		// What wait4(2) tells is not less than what this process had when it forked.
		for {
			select {
			case <-ended:
				return b.String(), peak, err
			case <-time.After(time.Millisecond):
				peak = max(peak, highWater(c.Process.Pid))
			}
		}
	}
	for _, limit := range []string{"128MB"} {
		_ = os.Remove(path + ".idx") // it may not be there
		stderr, peak, err := run("info", path, "--json", "--memory", limit)
		if err != nil {
			t.Fatalf("--memory %s: %v\n%s", limit, err, stderr)
		}
		if most, _ := parseSize(limit); peak > most {
			t.Errorf("--memory %s took %d MB", limit, peak/1e6)
		}
		if _, err := os.Stat(path + ".idx"); err != nil {
			t.Errorf("no index was made: %v", err)
		}
		stderr, peak, err = run("who", path, "block#1", "--at", "3", "--memory", "64MB")
		if err != nil || peak > 64e6 {
			t.Errorf("a question with the index took %d MB: %v\n%s", peak/1e6, err, stderr)
		}
	}
	_ = os.Remove(path + ".idx") // it is there
	stderr, peak, err := run("info", path, "--memory", "64MB")
	if err == nil || !strings.Contains(stderr, "Allow about --memory") {
		t.Errorf("a million nodes in 64 MB: %v\n%s", err, stderr)
	}
	if peak > 64e6 {
		t.Errorf("it took %d MB to refuse 64 MB", peak/1e6)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "mgtrace-index-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
