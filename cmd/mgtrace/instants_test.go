package main

import (
	"errors"
	"io"
	"testing"

	"mgtrace/flow"
	"mgtrace/trace"
)

// TestInstants: the instruction that an event names by its instant is the one that did
// it. A store's has its address and writes what it wrote; a call's is the first of the
// function; what a system call wrote has the call's.
func TestInstants(t *testing.T) {
	t.Parallel()
	needTracing(t)
	for _, engine := range []string{"step", "translate"} {
		for _, p := range programsIn(t, "testdata/engines") {
			switch p.name() {
			case "list", "signals", "vectors", "atomics":
			case "strings", "syscalls", "threads", "writers":
				if engine == "step" { // thousands of steps; TestStepEngine has them
					continue
				}
			default:
				continue
			}
			t.Run(engine+"/"+p.name(), func(t *testing.T) {
				t.Parallel()
				bin := p.compile(t, "-O1", "-pthread", "-w")
				checkInstants(t, p.recording(t, engine, bin))
			})
		}
	}
}

// checkInstants compares the events of a full recording with its instructions.
func checkInstants(t *testing.T, file string) {
	t.Helper()
	f, err := flow.Open(flow.Path(file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type executed struct {
		pc     trace.Addr
		thread trace.ThreadID
		writes []flow.Mem
	}
	at := []executed{{}} // by instant
	type place struct {
		pc     trace.Addr
		thread trace.ThreadID
	}
	last := map[place]trace.Instant{} // when a thread was at an instruction last
	err = f.Scan(0, func(r *flow.Record) error {
		if r.Kind == flow.Define && r.Cause == flow.BySyscall && len(at) > 1 { // behind the exec
			maker := len(at) - 1
			for ; at[maker].thread != r.Thread; maker-- {
			}
			at[maker].writes = append(at[maker].writes, r.Mem...)
		}
		if r.Kind != flow.Exec {
			return nil
		}
		b, mem := f.Block(r.Block), r.Mem
		for i := int(r.From); i < int(r.From)+int(r.N); i++ {
			x := executed{pc: b.PC(i), thread: r.Thread}
			n := b.Insts[i]
			for k, m := range mem[:n.NMem] {
				if b.Accesses[int(n.Access)+k].Flags&flow.Writes != 0 {
					x.writes = append(x.writes, m)
				}
			}
			mem = mem[n.NMem:]
			last[place{x.pc, x.thread}] = trace.Instant(len(at))
			at = append(at, x)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stores, others, bad := 0, 0, 0
	var before trace.Instant
	for {
		var e trace.Event
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e.Instant >= trace.Instant(len(at)) {
			t.Fatalf("of %d instructions: %s", len(at)-1, trace.Format(e))
		}
		x := &at[e.Instant]
		wrote := false
		for _, m := range x.writes {
			wrote = wrote || e.Addr >= m.Addr && uint64(e.Addr)+e.Size <= uint64(m.Addr)+uint64(m.Size)
		}
		ok := true
		switch e.Kind {
		case trace.KindStore:
			stores++
			ok = x.pc == e.PC && x.thread == e.Thread && wrote
		case trace.KindSyscall:
			// PC is where it returns to, or the library's function that made it.
			ok = x.thread == e.Thread && wrote && last[place{e.PC, e.Thread}] > e.Instant
		case trace.KindAlloc, trace.KindFree, trace.KindRealloc, trace.KindBulk, trace.KindCall, trace.KindReturn, trace.KindLine:
			others++
			ok = e.Flags&trace.FlagBefore != 0 || e.Instant != 0 && x.thread == e.Thread
			if e.Kind == trace.KindCall || e.Kind == trace.KindLine {
				ok = ok && x.pc == e.PC
			}
		default:
			continue
		}
		if e.Kind != trace.KindStore && e.Kind != trace.KindBulk && e.Kind != trace.KindSyscall && e.Instant != 0 { // writes inside a declared allocator are told when it returns
			ok = ok && e.Instant >= before
			before = e.Instant
		}
		if !ok {
			if bad++; bad < 8 {
				t.Errorf("behind instant %d, the instruction at %#x of thread %d, which wrote %x: %s", before, uint64(x.pc), x.thread, x.writes, trace.Format(e))
			}
		}
	}
	if stores == 0 || others == 0 {
		t.Errorf("%d stores and %d other events were looked at", stores, others)
	}
}
