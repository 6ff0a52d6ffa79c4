package native

import (
	"bytes"
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/flow"
	"mgtrace/slice"
	"mgtrace/slice/cfg"
	"mgtrace/trace"
	"mgtrace/x86"
)

var update = flag.Bool("update", false, "write the golden files")

// The golden file has an instruction a line, and its ops: what each writes, and what
// from. Addresses are in brackets.
func TestOps(t *testing.T) {
	const path = "testdata/ops.golden"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(old)) {
		code, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		raw, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b, err := flow.Piece(0x1000, raw)
		if err != nil {
			t.Fatal(err)
		}
		c, unknown := describe(1, &b)
		if unknown != 0 {
			t.Errorf("%s is not in the table", code)
		}
		text := x86.Text(raw, 0x1000)
		fmt.Fprintf(&out, "%s  %s  %s\n", code, text, ops(&c.Insts[0]))
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(old), out.String()); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

func ops(in *slice.Inst) string {
	var parts []string
	for _, o := range in.Ops {
		var dst, src []string
		if !o.Write.Empty() {
			dst = append(dst, x86.RegSet(o.Write).String())
		}
		data := o.Read
		data.AndNot(&o.Addr)
		if !data.Empty() {
			src = append(src, x86.RegSet(data).String())
		}
		for i := range in.Accesses {
			if o.MemWrite&(1<<i) != 0 {
				dst = append(dst, fmt.Sprintf("mem%d", i))
			}
			if o.MemRead&(1<<i) != 0 {
				src = append(src, fmt.Sprintf("mem%d", i))
			}
		}
		if !o.Addr.Empty() {
			src = append(src, "["+x86.RegSet(o.Addr).String()+"]")
		}
		parts = append(parts, strings.Join(dst, " ")+" ← "+strings.Join(src, " "))
	}
	s := strings.Join(parts, "; ")
	if in.Save != 0 {
		s += fmt.Sprintf("; saves %v", x86.Reg(in.Save-1))
	}
	if in.Load != 0 {
		s += fmt.Sprintf("; loads %v", x86.Reg(in.Load-1))
	}
	return s
}

// A flow by hand: two functions, the second of which saves and uses rbx.
//
//	main:  0  mov ebx, 5          bb 05 00 00 00
//	       5  mov edi, 7          bf 07 00 00 00
//	      10  call f              e8 ..
//	      15  lea eax, [rax+rbx]  8d 04 18
//	      18  mov [0x…], eax      89 05 ..
//	      24  hlt                 f4
//	f:    32  push rbx            53
//	      33  lea ebx, [rdi+rdi]  8d 1c 3f
//	      36  mov eax, ebx        89 d8
//	      38  pop rbx             5b
//	      39  ret                 c3
func TestFlow(t *testing.T) {
	code := make([]byte, 40)
	put := func(at int, s string) {
		raw, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		copy(code[at:], raw)
	}
	put(0, "bb 05 00 00 00  bf 07 00 00 00  e8 11 00 00 00  8d 04 18  89 05 00 10 00 00  f4")
	put(32, "53  8d 1c 3f  89 d8  5b  c3")
	const base = 0x1000
	var buf bytes.Buffer
	w := flow.NewWriter(&buf, flow.Head{Trace: "t"})
	exec := func(at int, mem ...flow.Mem) {
		b, err := flow.Piece(trace.Addr(base+at), code[at:])
		if err != nil {
			t.Fatal(err)
		}
		id, err := w.Block(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Exec(1, id, 0, len(b.Insts), mem); err != nil {
			t.Fatal(err)
		}
	}
	const sp = 0x7000
	exec(0, flow.Mem{Addr: sp - 8, Size: 8})
	exec(32, flow.Mem{Addr: sp - 16, Size: 8}, flow.Mem{Addr: sp - 16, Size: 8}, flow.Mem{Addr: sp - 8, Size: 8})
	exec(15, flow.Mem{Addr: 0x2018, Size: 4})
	if err := w.Finish(flow.Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	r, err := flow.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	s := New(r, nil)
	p, err := slice.NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := slice.BuildIndex(&out, p, slice.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := slice.OpenIndex(bytes.NewReader(out.Bytes()), int64(out.Len()), s)
	if err != nil {
		t.Fatal(err)
	}
	if x.Bypassed != 1 || x.Returns != 0 {
		t.Errorf("%+v", x.Doubts)
	}
	n, err := x.Find(10) // mov [0x2018], eax
	if err != nil {
		t.Fatal(err)
	}
	sl, err := x.Backward(context.Background(), slice.Criteria{n}, slice.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var pcs []int
	for _, st := range sl.Stats() {
		pcs = append(pcs, int(st.PC()-base))
	}
	slices.Sort(pcs)
	if d := cmp.Diff([]int{0, 5, 15, 18, 33, 36}, pcs); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	f := cfg.Build(base, s.Static())
	if !f.Contains(base+24) || f.Contains(base+32) {
		t.Error("the graph of main")
	}
}
