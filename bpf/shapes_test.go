package bpf

import (
	"os/exec"
	"strings"
	"testing"
)

// withoutAddresses removes the second word of each line.
func withoutAddresses(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		f := strings.SplitN(line, " ", 3)
		b.WriteString(f[0] + " " + f[len(f)-1])
	}
	return b.String()
}

// Every shape of store is captured with its address and bytes; what wrote
// nothing is not. The program says itself what it wrote.
func TestShapes(t *testing.T) {
	needEngine(t)
	path := build(t, "shapes.c")
	plan := newPlanner(t, path, libc).stores("run", "runVectors").allocators().plan
	r := record(t, path, &plan, Options{})
	// Probes change nothing: alone it does the same.
	alone, err := exec.Command(path).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := withoutAddresses(r.output), withoutAddresses(string(alone)); got != want {
		t.Fatalf("under probes:\n%s\nalone:\n%s", got, want)
	}
	var want []string
	names := make(map[string]string)
	lo, hi := "", ""
	for line := range strings.Lines(r.output) {
		line, name, _ := strings.Cut(strings.TrimSpace(line), " # ")
		f := strings.Fields(line)
		if lo == "" {
			lo = f[1]
		}
		hi = f[1]
		if f[0] == "S" {
			w := f[1] + " " + f[2]
			want = append(want, w)
			names[w] = name
		}
	}
	var got []string
	for _, w := range r.heapWrites() {
		addr, _, _ := strings.Cut(w, " ")
		if len(addr) == len(lo) && lo <= addr && addr <= hi {
			got = append(got, w)
		}
	}
	for i := 0; i < max(len(got), len(want)); i++ {
		g, w := "", ""
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("write %d (%s):\n got %s\nwant %s\nall:\n%s", i, names[w], g, w, strings.Join(got, "\n"))
		}
	}
	if r.stats.Dropped != 0 {
		t.Errorf("%+v", r.stats)
	}
	t.Logf("%+v", r.stats)
}
