package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/flow"
	"mgtrace/trace"
	"mgtrace/x86"
)

// executedInst is an instruction as both sides tell it.
type executedInst struct {
	pc       uint64
	accesses []access
	text     string
}

type access struct {
	do   byte // L, S, or M for both
	addr uint64
	size uint32
}

// TestLackey compares a flow with what Valgrind's tool lackey saw: each instruction and
// each access, with address and size. Two differences are allowed: the stack lies
// elsewhere, and of a locked instruction lackey also tells the load by itself.
func TestLackey(t *testing.T) {
	t.Parallel()
	needTracing(t)
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Skip(err)
	}
	bin := filepath.Join(t.TempDir(), "p")
	out, err := exec.Command("gcc", "-w", "-O1", "-static", "-nostdlib", "-no-pie", "-fno-pie", "-fno-stack-protector",
		"-o", bin, "testdata/flow/freestanding.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, engine := range []string{"step", "translate"} {
		t.Run(engine, func(t *testing.T) { compareLackey(t, lackey(t, bin), recordFull(t, bin, "--engine", engine)) })
	}
}

func compareLackey(t *testing.T, want, got []executedInst) {
	if len(want) < 10000 || len(want) != len(got) {
		t.Fatalf("%d instructions, lackey saw %d", len(got), len(want))
	}
	// The first instruction pushes: where, tells how far the stacks are apart.
	const low = 1 << 28 // below: the program
	apart := got[0].accesses[0].addr - want[0].accesses[0].addr
	for i := range want {
		w, g := &want[i], &got[i]
		for k := range g.accesses {
			if a := &g.accesses[k]; a.addr > low {
				a.addr -= apart
			}
		}
		if strings.HasPrefix(g.text, "lock") {
			w.accesses = slices.DeleteFunc(w.accesses, func(a access) bool { return a.do == 'L' })
		}
		sortAccesses(w.accesses)
		sortAccesses(g.accesses)
		if w.pc != g.pc || !slices.Equal(w.accesses, g.accesses) {
			t.Fatalf("instruction %d, %s:\nlackey %x %x\nflow   %x %x", i+1, g.text, w.pc, w.accesses, g.pc, g.accesses)
		}
	}
}

func sortAccesses(as []access) {
	slices.SortFunc(as, func(a, b access) int { return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.do, b.do)) })
}

// lackey runs a program under Valgrind.
func lackey(t *testing.T, bin string) (out []executedInst) {
	t.Helper()
	text, err := exec.Command("valgrind", "--tool=lackey", "--trace-mem=yes", bin).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		line := s.Text()
		if len(line) < 4 || line[0] == '=' {
			continue
		}
		var do byte
		var a access
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "%c %x,%d", &do, &a.addr, &a.size); err != nil {
			continue // of the report
		}
		if do == 'I' {
			out = append(out, executedInst{pc: a.addr})
		} else if n := len(out); n > 0 {
			a.do = do
			out[n-1].accesses = append(out[n-1].accesses, a)
		}
	}
	return out
}

// recordFull records a program and returns what it executed, in the order of instants.
func recordFull(t *testing.T, bin string, flags ...string) (out []executedInst) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.mgt")
	args := append([]string{"--addr-no-randomize", tool(t), "record", "--full", "-o", file}, flags...)
	cmd := exec.CommandContext(t.Context(), "setarch", append(args, bin)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := flow.Open(flow.Path(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next := trace.Instant(1)
	err = r.Scan(0, func(rec *flow.Record) error {
		if rec.Kind != flow.Exec {
			return nil
		}
		if rec.Instant != next {
			t.Fatalf("instant %d behind %d", rec.Instant, next-1)
		}
		next += trace.Instant(rec.N)
		b := r.Block(rec.Block)
		mem := rec.Mem
		for i := int(rec.From); i < int(rec.From)+int(rec.N); i++ {
			in := executedInst{pc: uint64(b.PC(i)), text: x86.Text(b.Bytes(i), uint64(b.PC(i)))}
			n := b.Insts[i]
			for k, m := range mem[:n.NMem] {
				do := byte('L')
				switch b.Accesses[int(n.Access)+k].Flags & (flow.Reads | flow.Writes) {
				case flow.Writes:
					do = 'S'
				case flow.Reads | flow.Writes:
					do = 'M'
				}
				in.accesses = append(in.accesses, access{do, uint64(m.Addr), m.Size})
			}
			mem = mem[n.NMem:]
			out = append(out, in)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
