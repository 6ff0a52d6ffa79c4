package bpf

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mgtrace/probe"
	"mgtrace/trace"
)

// line formats an event as the test programs say it; "" for those of which they
// say nothing. heap tells which writes count.
func (r *result) line(e *trace.Event, heap func(trace.Addr) bool) string {
	null := func(a trace.Addr) string {
		if a == 0 {
			return "(nil)"
		}
		return fmt.Sprintf("%#x", uint64(a))
	}
	switch e.Kind {
	case trace.KindAlloc:
		s := fmt.Sprintf("alloc %s %#x %d", e.Name, uint64(e.Addr), e.Size)
		if e.Flags&trace.FlagZeroed != 0 {
			s += " zeroed"
		}
		return s
	case trace.KindFree:
		return fmt.Sprintf("free %#x", uint64(e.Addr))
	case trace.KindRealloc:
		return fmt.Sprintf("realloc %#x %#x %d", e.Aux, uint64(e.Addr), e.Size)
	case trace.KindRefused:
		return fmt.Sprintf("refused %s %s %d", e.Name, null(e.Addr), e.Size)
	case trace.KindBulk:
		if heap(e.Addr) {
			return fmt.Sprintf("bulk %s %#x %x", e.Name, uint64(e.Addr), e.Data)
		}
	case trace.KindSyscall:
		if heap(e.Addr) {
			return fmt.Sprintf("sys %d %#x %x", e.Aux, uint64(e.Addr), e.Data)
		}
	case trace.KindStore:
		if heap(e.Addr) {
			return fmt.Sprintf("store %#x %x", uint64(e.Addr), e.Data)
		}
	}
	return ""
}

// compare checks that the recording shows what the program said.
func (r *result) compare(t *testing.T) {
	t.Helper()
	var lo, hi trace.Addr
	for _, e := range r.of(trace.KindAlloc, trace.KindRealloc) {
		if lo == 0 || e.Addr < lo {
			lo = e.Addr
		}
		hi = max(hi, e.Addr+trace.Addr(e.Size))
	}
	var got []string
	for i := range r.events {
		if s := r.line(&r.events[i], func(a trace.Addr) bool { return lo <= a && a < hi && a < 0x7f0000000000 }); s != "" {
			got = append(got, s)
		}
	}
	want := strings.Split(strings.TrimSpace(r.output), "\n")
	for i, w := range want {
		want[i], _, _ = strings.Cut(w, " stack ")
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
			t.Fatalf("line %d:\n got %.300s\nwant %.300s", i, g, w)
		}
	}
}

// names resolves return addresses in the program to functions.
func (r *result) names(t *testing.T, p *planner, pcs []trace.Addr, bias uint64) []string {
	t.Helper()
	var out []string
	for _, pc := range pcs {
		for _, s := range p.symbols(0) {
			if at := uint64(pc) - 1 - bias; elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value <= at && at < s.Value+s.Size {
				out = append(out, s.Name)
				break
			}
		}
	}
	return out
}

func TestAllocators(t *testing.T) {
	needEngine(t)
	path := build(t, "alloc.c", "-no-pie")
	p := newPlanner(t, path, libc).allocators()
	r := record(t, path, &p.plan, Options{})
	r.compare(t)
	allocs := r.of(trace.KindAlloc)
	last := allocs[len(allocs)-1]
	if got, want := r.names(t, p, last.Stack, 0), []string{"inner", "outer", "main", "_start"}; !slices.Equal(got, want) {
		t.Errorf("stack of the last allocation: %v, want %v (%x)", got, want, last.Stack)
	}
	if last.PC != last.Stack[0] {
		t.Errorf("PC %#x is not the innermost return address %#x", last.PC, last.Stack[0])
	}
	for _, e := range r.of(trace.KindFree, trace.KindRealloc) {
		if got := r.names(t, p, e.Stack, 0); !slices.Equal(got, []string{"main", "_start"}) {
			t.Errorf("stack of %v: %v", e.Kind, got)
		}
	}
}

func TestWriters(t *testing.T) {
	needEngine(t)
	path := build(t, "writers.c")
	// The stores of copy are probed: a writer hides its own.
	p := newPlanner(t, path, libc).stores("copy", "main").allocators()
	for name, f := range map[string]probe.Func{
		"copy":       {Dst: 1, Len: 3, Extent: probe.ExtentArg},
		"copyMuch":   {Dst: 1, Len: 3, Extent: probe.ExtentArg},
		"copyString": {Dst: 1, Extent: probe.ExtentString},
		"append":     {Dst: 1, Extent: probe.ExtentAppend},
		"copyEnd":    {Dst: 1, Extent: probe.ExtentReturned},
		"bounded":    {Dst: 1, Len: 2, Extent: probe.ExtentBounded},
		"sprintf":    {Dst: 1, Extent: probe.ExtentString},
	} {
		f.Role = probe.RoleWriter
		p.function(name, f)
	}
	r := record(t, path, &p.plan, Options{})
	// The allocation itself is not what this is about.
	r.output = r.line(&r.of(trace.KindAlloc)[0], nil) + "\n" + r.output
	r.compare(t)
}
