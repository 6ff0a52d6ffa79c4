package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"mgtrace/trace"
)

// TestEngines records deterministic programs under both engines. They must
// deliver the same events, thread by thread. The programs run without address
// randomization; what is compared is the text form of each event, with
//
//   - its time and thread left out;
//   - statements, return addresses and static data by file and offset, memory
//     from allocators and mmap by block and offset (in values too): the
//     in-process engine's trampolines lie where the kernel would have put
//     mappings of the program;
//
// and with these differences allowed:
//
//   - FlagLate: the eBPF engine reads some values later than others;
//   - the depth of stacks: the engines capture as many bytes as they can afford,
//     so one stack may be the beginning of the other;
//   - what getrandom returned, times, and thread and process numbers;
//   - values that several threads write to one place, and which of them comes
//     last: they are compared by their length;
//   - how malloc trims the mapping of an arena to its alignment (arena.c,
//     new_heap): that depends on where the mapping is.
func TestEngines(t *testing.T) {
	needCapture(t)
	if _, err := exec.LookPath("setarch"); err != nil {
		t.Skip(err)
	}
	all := programsIn(t, "testdata/engines")
	for _, p := range programs(t) {
		if slices.Contains([]string{"avl-recursive", "hash-table", "rbtree", "skip-list", "std-list", "std-map", "tagged-parent"}, p.name()) {
			all = append(all, p)
		}
	}
	for _, p := range all {
		for _, opt := range []string{"-O0", "-O2"} {
			t.Run(p.name()+opt, func(t *testing.T) {
				t.Parallel()
				bin := p.compile(t, opt, "-pthread", "-w")
				inline, ebpf := p.events(t, "inline", bin), p.events(t, "ebpf", bin)
				if n := len(slices.Concat(ebpf...)); n < 10 {
					t.Fatalf("%d events", n)
				}
				compareThreads(t, inline, ebpf)
			})
		}
	}
}

// events records the program and returns the events of each thread in the
// order in which the threads appeared.
func (p program) events(t *testing.T, engine, bin string) [][]line {
	t.Helper()
	file := filepath.Join(t.TempDir(), engine+".mgt")
	args := []string{"--addr-no-randomize", testBinary(t), "record", "--engine", engine, "-o", file, bin}
	args = append(args, p.flags...)
	if p.spec != "" {
		args = append(args, "--spec", p.spec)
	}
	cmd := exec.Command("setarch", args...)
	cmd.Env = append(cmd.Environ(), asMain+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", engine, err, out)
	}
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	end, ok := r.Trailer()
	if !ok || !end.Complete {
		t.Errorf("%s: incomplete: %s", engine, end.Why)
	}
	var evs []trace.Event
	for {
		var e trace.Event
		if err := r.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		e.Data, e.Stack, e.Args = slices.Clone(e.Data), slices.Clone(e.Stack), slices.Clone(e.Args)
		evs = append(evs, e)
	}
	n := normalizer{modules: slices.Concat(end.Modules, r.Program().Modules)}
	n.findShared(evs)
	return n.threads(evs)
}
