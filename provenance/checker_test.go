package provenance

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/flow"
	"mgtrace/trace"
)

// run executes code by hand: each line is the bytes of an instruction and the addresses
// and sizes of its accesses. RDI is a block of 32 bytes at 0x1000, RSI one of 16 at 0x1020,
// which is freed by a line "free".
func run(t *testing.T, o Options, lines string) []string {
	t.Helper()
	c := New(o)
	th := c.threadOf(1)
	for i, size := range []uint64{32, 16} {
		c.Heap(&trace.Event{Kind: trace.KindAlloc, Thread: 1, Addr: trace.Addr(0x1000 + 0x20*i), Size: size, PC: trace.Addr(i + 1)})
	}
	if !strings.HasPrefix(lines, "alone\n") {
		th.calls = flow.Calls{{Slot: 0x8000, Ret: 0x300001}} // of the program
	}
	lines = strings.TrimPrefix(lines, "alone\n")
	th.general[7], th.general[6] = address(1, atStart), address(2, atStart)
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		if strings.TrimSpace(line) == "free" {
			c.Heap(&trace.Event{Kind: trace.KindFree, Thread: 1, Addr: 0x1020, PC: 9, Instant: trace.Instant(i + 1)})
			continue
		}
		text, accesses, _ := strings.Cut(line, "@")
		code, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(text), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b, err := flow.Piece(trace.Addr(0x400000+16*i), code)
		if err != nil || len(b.Insts) != 1 {
			t.Fatalf("%s: %v, %d instructions", line, err, len(b.Insts))
		}
		r := flow.Record{Kind: flow.Exec, Thread: 1, Block: flow.BlockID(i + 1), N: 1, Instant: trace.Instant(i + 1)}
		for _, a := range strings.Fields(accesses) {
			var m flow.Mem
			if _, err := fmt.Sscanf(a, "%x/%d", &m.Addr, &m.Size); err != nil {
				t.Fatal(err)
			}
			r.Mem = append(r.Mem, m)
		}
		if len(r.Mem) != len(b.Accesses) {
			t.Fatalf("%s: %d accesses, want %d", line, len(r.Mem), len(b.Accesses))
		}
		c.Block(r.Block, &b)
		c.Record(&r)
	}
	var out []string
	for _, f := range c.Faults() {
		verb := "read"
		if f.Write {
			verb = "write"
		}
		out = append(out, fmt.Sprintf("%d: %s %s %d of %d hits %d beyond %d", (int64(f.PC)-0x400000)/16, f.Kind, verb, f.Size, f.Node, f.Other, f.Beyond))
	}
	return out
}

func TestChecker(t *testing.T) {
	library := Options{Library: func(pc trace.Addr) bool { return pc >= 0x400000 }}
	parts := Options{Part: func(n *Node, off uint64) uint64 {
		if n.ID == 1 && off == 8 {
			return 8
		}
		return 0
	}}
	meant := parts
	meant.Meant = func(_ *Node, off, _ uint64, _ bool, _, _ trace.Addr) bool { return off == 8 }
	grants := Options{Granted: true}
	for _, c := range []struct {
		name, lines string
		o           Options
		want        []string
	}{
		{"within", "48 89 47 18 @ 1018/8", Options{}, nil}, // mov [rdi+24], rax
		{"behind, in the next block", "48 89 47 20 @ 1020/8", Options{}, []string{"0: overflow write 8 of 1 hits 2 beyond 8"}},
		{"across the end", "48 89 47 1c @ 101c/8", Options{}, []string{"0: overflow write 8 of 1 hits 2 beyond 4"}},
		{"in front", "48 89 46 f8 @ 1018/8", Options{}, []string{"0: overflow write 8 of 2 hits 1 beyond -8"}},
		{"where nothing is", "48 89 46 20 @ 1040/8", Options{}, []string{"0: overflow write 8 of 2 hits 0 beyond 24"}},
		{"granted", "48 89 46 10 @ 1030/8\n48 8b 46 0c @ 102c/8", grants, nil}, // mov [rsi+16], rax; mov rax, [rsi+12]
		{"more than can be granted", "48 89 86 00 20 00 00 @ 3020/8", grants, []string{"0: overflow write 8 of 2 hits 0 beyond 8184"}},
		{"of the next block, not granted", "48 89 47 1c @ 101c/8", grants, []string{"0: overflow write 8 of 1 hits 2 beyond 4"}},
		{"of what was the next block", "free\n48 89 47 1c @ 101c/8", grants, nil},
		{"in front of what was granted", "48 89 46 f8 @ 1018/8", grants, []string{"0: overflow write 8 of 2 hits 1 beyond -8"}},
		{"read", "48 8b 47 20 @ 1020/8", Options{}, []string{"0: overflow read 8 of 1 hits 2 beyond 8"}},
		{"read by a library", "48 8b 47 20 @ 1020/8", library, nil},
		{"far read by a library", "48 8b 47 20 @ 2020/8", library, []string{"0: overflow read 8 of 1 hits 0 beyond 4104"}},
		{"by a library that nobody called", "alone\n48 89 47 20 @ 1020/8", library, nil},
		{"an aligned vector", "0f 10 46 00 @ 1020/16\n c5 fe 6f 46 00 @ 1020/32", Options{}, nil},
		{"with an index", "c6 04 0f 01 @ 1025/1", Options{}, []string{"0: overflow write 1 of 1 hits 2 beyond 6"}}, // mov [rdi+rcx], 1
		{"through the stack", "57 @ 7ff8/8\n58 @ 7ff8/8\n48 89 40 20 @ 1020/8", Options{}, []string{"2: overflow write 8 of 1 hits 2 beyond 8"}},
		{"through a vector", "66 48 0f 6e c7\n66 48 0f 7e c0\n48 89 40 20 @ 1020/8", Options{}, []string{"2: overflow write 8 of 1 hits 2 beyond 8"}},
		{"p + (q - p)", "48 29 fe\n48 01 f7\n48 89 07 @ 1020/8", Options{}, nil},                                                                       // sub rsi, rdi; add rdi, rsi
		{"less its low bits", "48 89 f9\n83 e1 0f\n48 29 cf\n48 89 47 20 @ 1020/8", Options{}, []string{"3: overflow write 8 of 1 hits 2 beyond 8"}},   // mov rcx, rdi; and ecx, 15; sub rdi, rcx
		{"and less how far it is in", "48 8d 47 08\n29 f8\n48 89 7c 07 20 @ 1028/8", Options{}, []string{"2: overflow write 8 of 1 hits 2 beyond 16"}}, // lea rax, [rdi+8]; sub eax, edi
		{"low halves of two", "89 f0\n29 f8\n48 89 7c 07 20 @ 1040/8", Options{}, nil},                                                                 // mov eax, esi; sub eax, edi
		{"overwritten by a number", "31 ff\n48 89 47 20 @ 1020/8", Options{}, nil},
		{"in ways that nobody follows", "48 0f af f9\n48 89 47 20 @ 1020/8", Options{}, nil}, // imul rdi, rcx
		{"either of two", "48 0f 44 fe\n48 89 07 @ 1020/8", Options{}, nil},                  // cmove rdi, rsi
		{"after free", "48 8b 06 @ 1020/8\nfree\n48 8b 06 @ 1020/8", Options{}, []string{"2: use after free read 8 of 2 hits 0 beyond 0"}},
		{"freed twice", "free\nfree", Options{}, []string{"-262143: double free write 0 of 2 hits 0 beyond 0"}},
		{"an array in a structure", "48 8d 47 08\n48 89 00 @ 1008/8\n48 89 40 04 @ 100c/8", parts, []string{"2: field overflow write 8 of 1 hits 0 beyond 4"}}, // lea rax, [rdi+8]
		{"another field", "48 8d 47 10\n48 89 00 @ 1010/8\n48 89 47 0c @ 100c/8", parts, nil},
		{"a loop over it", "c6 44 0f 08 01 @ 1010/1", meant, []string{"0: field overflow write 1 of 1 hits 0 beyond 1"}}, // mov [rdi+rcx+8], 1
		{"a loop over it, or over another", "c6 44 0f 08 01 @ 1010/1", parts, nil},
		{"an element of it, or of another", "48 8d 44 0f 08\n88 00 @ 1010/1", parts, nil}, // lea rax, [rdi+rcx+8]
		{"an element of it", "48 8d 44 0f 08\n88 00 @ 1010/1", meant, []string{"1: field overflow write 1 of 1 hits 0 beyond 1"}},
		{"behind it, where another begins", "48 8d 47 08\n48 83 c0 10\n88 00 @ 1018/1", parts, nil}, // lea rax, [rdi+8]; add rax, 16
		{"and relative to it", "48 8d 47 08\n88 40 10 @ 1018/1", parts, nil},
		{"or so", "48 01 cf\n48 83 c7 08\n88 07 @ 1010/1", parts, nil}, // add rdi, rcx; add rdi, 8
		{"and it, so", "48 01 cf\n48 83 c7 08\n88 07 @ 1010/1", meant, []string{"2: field overflow write 1 of 1 hits 0 beyond 1"}},
	} {
		if d := cmp.Diff(c.want, run(t, c.o, c.lines)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// A recording may count accesses otherwise than the table of effects does: what is not told is not known, and not
// accused. A tag that was there is gone.
func TestOtherAccesses(t *testing.T) {
	for _, text := range []string{"48894720", "488b4720", "48a5", "c4e2719214c7", "c3", "ff17"} { // mov, mov, movsq, vgatherdps, ret, call
		code, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := flow.Piece(0x400000, code)
		if err != nil || len(whole.Insts) != 1 {
			t.Fatalf("%s: %v, %d instructions", text, err, len(whole.Insts))
		}
		for n := range whole.Insts[0].NMem {
			b := flow.Block{Start: 0x400000, Code: code, Insts: []flow.Inst{{Len: uint8(len(code)), NMem: n}}, Accesses: whole.Accesses[:n]}
			c := New(Options{})
			c.Heap(&trace.Event{Kind: trace.KindAlloc, Thread: 1, Addr: 0x1000, Size: 32, PC: 1})
			th := c.threadOf(1)
			th.general[7] = address(1, atStart)
			c.Block(1, &b)
			c.Record(&flow.Record{Kind: flow.Exec, Thread: 1, Block: 1, N: 1, Instant: 1, Mem: []flow.Mem{{Addr: 0x1020, Size: 8}, {Addr: 0x1020, Size: 8}, {Addr: 0x1020, Size: 8}, {Addr: 0x1020, Size: 8}}[:n:n]})
			if f := c.Faults(); len(f) > 0 {
				t.Errorf("%s with %d accesses: %+v", text, n, f)
			}
			if got := th.general[7]; got != Unknown && got != None {
				t.Errorf("%s with %d accesses: rdi is still %v", text, n, got)
			}
		}
	}
}
