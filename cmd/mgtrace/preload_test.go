package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// preloaded are allocators that users put in place of the C library's.
var preloaded = []string{"libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"}

// TestPreloadedAllocators runs programs with another malloc, which is preloaded into
// mgtrace too: faults are found, and correct programs are silent; under the kernel's probes
// another program with each allocator.
func TestPreloadedAllocators(t *testing.T) {
	t.Parallel()
	chosen := []string{"std-list", "binary-heap", "overrun"}
	for i, name := range preloaded {
		paths, err := filepath.Glob("/usr/lib/*/" + name)
		if err != nil || len(paths) == 0 {
			t.Logf("%s is not installed", name)
			continue
		}
		for _, p := range programs(t) {
			if !slices.Contains(chosen, p.name()) {
				continue
			}
			for _, engine := range []string{"inline", "ebpf"} {
				if engine == "ebpf" && p.name() != chosen[i%len(chosen)] {
					continue
				}
				t.Run(name+"/"+p.name()+"/"+engine, func(t *testing.T) {
					if engine == "ebpf" {
						needCapture(t)
					}
					t.Parallel()
					p := p
					p.env = []string{"LD_PRELOAD=" + paths[0]}
					t.Run("fault", func(t *testing.T) { testFault(t, p, engine, "-O2") })
					t.Run("twin", func(t *testing.T) { testTwin(t, p, engine, "-O2") })
				})
			}
		}
	}
}

// TestNeighbours: what is stored right behind a node is a fault with glibc's malloc, which keeps something of its own there,
// and with others mostly another block's, of which nothing is recorded.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	needTracing(t)
	p := program{source: "testdata/neighbours.c", spec: "testdata/neighbours.cons", build: []string{"gcc"}}
	silent := func(name string, p program, flags ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []string{"-O0", "-DSMALL"} {
				if r := p.run(t, "inline", p.compile(t, append(flags, size)...)); r.status != 0 {
					t.Errorf("%s: status %d\n%s%s", size, r.status, r.stdout, r.stderr)
				}
			}
		})
	}
	silent("glibc", p)
	for _, name := range preloaded {
		if paths, err := filepath.Glob("/usr/lib/*/" + name); err == nil && len(paths) > 0 {
			with := p
			with.env = []string{"LD_PRELOAD=" + paths[0]}
			silent(name, with)
		}
	}
	if _, err := exec.LookPath("musl-gcc"); err == nil {
		static := p
		static.build = []string{"musl-gcc"}
		silent("musl", static, "-static")
	}
	t.Run("fault", func(t *testing.T) {
		t.Parallel()
		r := p.run(t, "inline", p.compile(t, "-O0", "-DFAULT"))
		if r.status != 1 || !slices.Contains(faults(t, p.source), r.report.CPoints[0].Suspects[0].Line) {
			t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
		}
	})
}
