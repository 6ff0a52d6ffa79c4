package main

import (
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
