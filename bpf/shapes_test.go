package bpf

import (
	"fmt"
	"strings"
	"testing"
)

// Every shape of store is captured with its address and bytes; what wrote
// nothing is not. The program says itself what it wrote.
func TestShapes(t *testing.T) {
	needEngine(t)
	path := build(t, "shapes.c")
	plan := newPlanner(t, path, libc).stores("run").allocators().plan
	r := record(t, path, &plan, Options{})
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
	t.Log(fmt.Sprintf("%+v", r.stats))
}
