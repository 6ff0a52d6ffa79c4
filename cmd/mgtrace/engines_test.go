package main

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
//     so one stack may be the beginning of the other; of a signal that the
//     program handles the eBPF engine does not read it;
//   - what getrandom returned, times, and thread and process numbers;
//   - values that several threads write to one place;
//   - how malloc trims the mapping of an arena to its alignment (arena.c,
//     new_heap), which depends on where the mapping is;
//   - stores that the kernel can not probe, which the eBPF engine reports as such
//     (Program.Unprobed);
//   - what a child does in memory that it shares (vfork, posix_spawn): only the
//     in-process engine sees it;
//   - which words of memory led to where a fault was: the engines' own pages are not the same;
//   - the order of events around a fault: see settle.
func TestEngines(t *testing.T) {
	t.Parallel()
	needCapture(t)
	if _, err := exec.LookPath("setarch"); err != nil {
		t.Skip(err)
	}
	all := programsIn(t, "testdata/engines")
	for _, p := range programs(t) {
		if slices.Contains([]string{"avl-recursive", "hash-table", "local-ring", "local-tree", "rbtree", "skip-list", "std-list", "std-map", "tagged-parent"}, p.name()) {
			all = append(all, p)
		}
	}
	for i, p := range all {
		for k, opt := range []string{"-O0", "-O2"} {
			if i%2 != k { // at the levels of optimisation by turns
				continue
			}
			t.Run(p.name()+opt, func(t *testing.T) {
				t.Parallel()
				bin := p.compile(t, opt, "-pthread", "-w")
				inline, ebpf := p.events(t, "inline", bin), p.events(t, "ebpf", bin)
				if n := len(slices.Concat(ebpf.threads...)); n < 10 {
					t.Fatalf("%d events", n)
				}
				for i := range ebpf.threads {
					ebpf.threads[i] = settle(ebpf.threads[i])
				}
				compareThreads(t, inline, ebpf)
			})
		}
	}
}

// events records the program and returns the events of each thread in the
// order in which the threads began, and then what the audit found.
func (p program) events(t *testing.T, engine, bin string) recorded {
	t.Helper()
	file := filepath.Join(t.TempDir(), engine+".mgt")
	args := []string{"--addr-no-randomize", tool(t), "record", "--engine", engine, "-o", file, bin}
	args = append(args, p.flags...)
	if p.spec != "" {
		args = append(args, "--spec", p.spec)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "setarch", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", engine, err, out)
	}
	return eventsOf(t, file)
}

// eventsOf reads what events returns from a complete recording.
func eventsOf(t *testing.T, file string) recorded {
	t.Helper()
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	end, ok := r.Trailer()
	if !ok || !end.Complete {
		t.Errorf("%s: incomplete: %s", filepath.Base(file), end.Why)
	}
	evs := readEvents(t, r)
	n := normalizer{modules: slices.Concat(end.Modules, r.Program().Modules), main: trace.ThreadID(r.Program().PID)}
	rec := recorded{threads: n.lines(evs), unprobed: map[trace.Addr]bool{}, shared: n.shared}
	for _, u := range r.Program().Unprobed {
		rec.unprobed[u.PC] = true
	}
	return rec
}

// readEvents reads all events.
func readEvents(t *testing.T, r *trace.Reader) (all []trace.Event) {
	t.Helper()
	for {
		var e trace.Event
		if err := r.Next(&e); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		e.Data, e.Stack, e.Args = slices.Clone(e.Data), slices.Clone(e.Stack), slices.Clone(e.Args)
		all = append(all, e)
	}
}

// recorded is a recording.
type recorded struct {
	threads  [][]line
	unprobed map[trace.Addr]bool // stores that were not captured, and are reported as such
	shared   map[string]bool     // what several threads wrote to, by line.where
}

// line is an event of a thread in a form that does not depend on where the
// kernel put things. Addresses in the stack and in values are words.
type line struct {
	kind   trace.Kind
	thread int
	late   bool
	pc     trace.Addr
	text   string // everything but what follows
	where  string // what was written to
	data   string
	stack  []string
}

// compareThreads reports the first differences of each thread, between the in-process
// engine and another one.
func compareThreads(t *testing.T, inline, ebpf recorded) {
	t.Helper()
	if len(inline.threads) != len(ebpf.threads) {
		t.Errorf("%d threads in-process, %d with eBPF", len(inline.threads), len(ebpf.threads))
	}
	for i := range min(len(inline.threads), len(ebpf.threads)) {
		a, b := inline.threads[i], ebpf.threads[i]
		a = slices.DeleteFunc(a, func(l line) bool { return ebpf.unprobed[l.pc] })
		b = slices.DeleteFunc(b, func(l line) bool { return inline.unprobed[l.pc] })
		for _, lines := range [][]line{a, b} {
			for i := range lines {
				if l := &lines[i]; inline.shared[l.where] || ebpf.shared[l.where] {
					l.data = "" // its size is in the text
				}
			}
		}
		sameDepth(a, b)
		if diff := cmp.Diff(format(b), format(a)); diff != "" {
			t.Errorf("thread %d (-ebpf +inline):\n%s", i, head(diff, 60))
		}
	}
}

// settle brings the events of the eBPF engine around a fault in order. It reports
// some stores before they execute: one that did not take place has its signal
// right behind it, at the same PC. What a string instruction wrote before it
// faulted is only read behind the signal.
func settle(lines []line) []line {
	var out []line
	for i, l := range lines {
		n := len(out)
		switch {
		case l.kind == trace.KindStore && i+1 < len(lines) && lines[i+1].kind == trace.KindSignal && lines[i+1].pc == l.pc:
		case l.kind == trace.KindStore && l.late && n > 0 && out[n-1].kind == trace.KindSignal && out[n-1].pc == l.pc:
			out = append(out[:n-1], l, out[n-1])
		default:
			out = append(out, l)
		}
	}
	return out
}

// sameDepth cuts each pair of stacks to the depth of the shorter one.
func sameDepth(a, b []line) {
	for i := range min(len(a), len(b)) {
		n := min(len(a[i].stack), len(b[i].stack))
		if n > 0 {
			a[i].stack, b[i].stack = a[i].stack[:n], b[i].stack[:n]
		}
	}
}

func format(lines []line) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join([]string{l.text, l.where, l.data, strings.Join(l.stack, ",")}, " ")
	}
	return out
}

// head is the first n lines of s.
func head(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}
