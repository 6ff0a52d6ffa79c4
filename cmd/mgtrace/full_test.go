package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mgtrace/flow"
	"mgtrace/trace"
)

// executed is one instruction of a flow.
type executed struct {
	pc  trace.Addr
	mem []flow.Mem
}

func (e executed) String() string { return fmt.Sprintf("%#x %#x", uint64(e.pc), e.mem) }

// recording is one of a program with all that it executes, at fixed addresses: what several
// tests look at is recorded once.
func (p program) recording(t *testing.T, engine, bin string) (file string) {
	t.Helper()
	words := append([]string{"record", "--full", "--engine", engine, bin}, p.flags...)
	if p.spec != "" {
		words = append(words, "--spec", p.spec)
	}
	command := tool(t)
	file, err := builds.once("t.mgt", strings.Join(words, " "), func(file string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "setarch", append([]string{"--addr-no-randomize", command}, append(words, "-o", file)...)...)
		return cmd.CombinedOutput()
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// full records a program with all that it executes, and returns the instructions, the
// first having instant 1, and the events.
func (p program) full(t *testing.T, engine, bin string) (insts []executed, evs []trace.Event, others map[flow.Kind][]flow.Record) {
	t.Helper()
	file := p.recording(t, engine, bin)
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var e trace.Event
		if err := r.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, e)
	}
	f, err := flow.Open(flow.Path(file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if end, ok := f.Trailer(); !ok || !end.Complete {
		t.Errorf("%s: the flow is incomplete: %s", engine, end.Why)
	}
	others = map[flow.Kind][]flow.Record{}
	err = f.Scan(0, func(rec *flow.Record) error {
		if rec.Kind != flow.Exec {
			o := *rec
			o.Thread = 0 // another one in each run
			o.Mem = append([]flow.Mem(nil), rec.Mem...)
			others[rec.Kind] = append(others[rec.Kind], o)
			return nil
		}
		b, mem := f.Block(rec.Block), rec.Mem
		for i := int(rec.From); i < int(rec.From)+int(rec.N); i++ {
			n := int(b.Insts[i].NMem)
			in := executed{b.PC(i), append([]flow.Mem(nil), mem[:n]...)}
			if code := b.Bytes(i); n == 1 && code[0] == 0x0f && (code[1] == 0xae || code[1] == 0xc7) && in.mem[0].Size >= 512 {
				in.mem[0].Size = 0 // xsave and xrstor: the one engine tells how much, the other how much at most
			}
			insts = append(insts, in)
			mem = mem[n:]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return insts, evs, others
}

// TestFullInstants: an event's instant is that of its instruction, which touched what
// the event says.
func TestFullInstants(t *testing.T) {
	t.Parallel()
	needTracing(t)
	for _, p := range programsIn(t, "testdata/engines") {
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			bin := p.compile(t, "-O1", "-pthread", "-w")
			insts, evs, _ := p.full(t, "translate", bin)
			stores := 0
			for i := range evs {
				e := &evs[i]
				if e.Kind != trace.KindStore {
					continue
				}
				stores++
				if e.Instant == 0 || int(e.Instant) > len(insts) {
					t.Fatalf("a store at %#x has instant %d of %d", uint64(e.PC), e.Instant, len(insts))
				}
				in := insts[e.Instant-1]
				hit := false
				for _, m := range in.mem {
					hit = hit || m.Addr <= e.Addr && uint64(e.Addr)+e.Size <= uint64(m.Addr)+uint64(m.Size)
				}
				if in.pc != e.PC || !hit {
					t.Fatalf("a store at %#x to %#x, %d bytes, has the instant of %v", uint64(e.PC), uint64(e.Addr), e.Size, in)
				}
			}
			t.Logf("%d instructions, %d stores", len(insts), stores)
		})
	}
}

// TestFullEngines: both engines record the same instructions with the same addresses.
func TestFullEngines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("single steps cost tens of microseconds an instruction")
	}
	needTracing(t)
	for _, p := range programsIn(t, "testdata/engines") {
		switch p.name() {
		case "list", "vectors", "signals", "syscalls":
		default:
			continue
		}
		t.Run(p.name(), func(t *testing.T) {
			t.Parallel()
			bin := p.compile(t, "-O1", "-pthread", "-w")
			got, evs, others := p.full(t, "translate", bin)
			want, wantEvs, wantOthers := p.full(t, "step", bin)
			for i := range want {
				if i >= len(got) || fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
					is := "the end"
					if i < len(got) {
						is = got[i].String()
					}
					t.Fatalf("instruction %d of %d: %v, want %v, after %v", i, len(want), is, want[i], want[max(i-1, 0)])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d instructions, want %d", len(got), len(want))
			}
			for i := range min(len(evs), len(wantEvs)) {
				if evs[i].Kind != wantEvs[i].Kind || evs[i].PC != wantEvs[i].PC || evs[i].Instant != wantEvs[i].Instant {
					t.Fatalf("event %d: %v at %#x, instant %d; want %v at %#x, instant %d", i, evs[i].Kind, uint64(evs[i].PC), evs[i].Instant,
						wantEvs[i].Kind, uint64(wantEvs[i].PC), wantEvs[i].Instant)
				}
			}
			if a, b := fmt.Sprint(others[flow.Signal]), fmt.Sprint(wantOthers[flow.Signal]); a != b {
				t.Errorf("signals %s\nwant %s", a, b)
			}
			if a, b := defined(others[flow.Define]), defined(wantOthers[flow.Define]); a != b {
				t.Errorf("definitions %s\nwant %s", a, b)
			}
		})
	}
}

// defined are the definitions that say of some memory that it was written, but for new
// mappings and sigaltstack: only the translating engine tells of those.
func defined(all []flow.Record) (s string) {
	for _, r := range all {
		maps := r.Cause == flow.BySyscall && slices.Contains([]uint64{unix.SYS_MMAP, unix.SYS_BRK, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_SIGALTSTACK}, r.Number)
		if len(r.Mem) > 0 && !maps {
			s += fmt.Sprintf("%d %d %#x at %d\n", r.Cause, r.Number, r.Mem, r.Instant)
		}
	}
	return s
}

// TestFullSignals: what is told of at sites is told once, wherever signals lead the
// program away; without them it is as much.
func TestFullSignals(t *testing.T) {
	t.Parallel()
	needTracing(t)
	bin := filepath.Join(t.TempDir(), "p")
	if out, err := exec.Command("gcc", "-w", "-O1", "-g", "-fno-builtin", "-o", bin, "testdata/flow/ticks.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kinds := func(flags ...string) map[trace.Kind]int {
		_, evs, _ := program{flags: flags}.full(t, "translate", bin)
		n := map[trace.Kind]int{}
		var last trace.Instant
		for i := range evs {
			switch e := &evs[i]; e.Kind {
			case trace.KindStore, trace.KindBulk, trace.KindAlloc, trace.KindFree:
				n[e.Kind]++
				if e.Instant < last {
					t.Fatalf("event %d has instant %d, behind %d", i, e.Instant, last)
				}
				last = e.Instant
			}
		}
		return n
	}
	quiet, busy := kinds(), kinds("signals")
	if d := cmp.Diff(quiet, busy); d != "" {
		t.Errorf("with signals (+) other events than without (-):\n%s", d)
	}
	if quiet[trace.KindAlloc] < 2000 || quiet[trace.KindBulk] < 4000 || quiet[trace.KindStore] < 8000 {
		t.Errorf("%v", quiet)
	}
}

// TestFullRefused: of a program that can not be translated to its end, what came before
// is recorded, and both files say why there is no more.
func TestFullRefused(t *testing.T) {
	t.Parallel()
	needCapture(t)
	dir := t.TempDir()
	bin := filepath.Join(dir, "p")
	if out, err := exec.Command("gcc", "-w", "-O1", "-g", "-fno-builtin", "-o", bin, "testdata/flow/refused.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		flags  []string
		blocks int
	}{{nil, 20}, {[]string{"now"}, 10}} {
		file := filepath.Join(dir, fmt.Sprint(c.blocks))
		cmd := exec.CommandContext(t.Context(), tool(t), append([]string{"record", "--full", "--engine", "translate", "-o", file, bin}, c.flags...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		checkInstants(t, file)
		r, err := trace.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		f, err := flow.Open(flow.Path(file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		of, _ := r.Trailer()
		end, _ := f.Trailer()
		const why = "uses the GS base"
		whole := c.flags == nil
		if of.Complete != whole || end.Complete != whole || strings.Contains(of.Why, why) == whole || strings.Contains(end.Why, why) == whole ||
			strings.Contains(string(out), "partial") == whole {
			t.Errorf("complete %v and %v: %s: %s\n%s", of.Complete, end.Complete, of.Why, end.Why, out)
		}
		n := 0
		var e trace.Event
		for err = r.Next(&e); err == nil; err = r.Next(&e) {
			if e.Kind == trace.KindAlloc && e.Size == 100 {
				n++
			}
		}
		if err != io.EOF || n != c.blocks {
			t.Errorf("%d blocks, want %d (%v)", n, c.blocks, err)
		}
	}
}
