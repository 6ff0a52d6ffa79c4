package x86

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// One line per form: bytes, what is written, text.
const goldens = `
48 89 07                    8 [rdi] = rax                        mov qword ptr [rdi], rax
44 88 6c 24 10              1 [rsp+0x10] = r13                   mov byte ptr [rsp+0x10], r13b
88 61 01                    1 [rcx+0x1] = rax>>8                 mov byte ptr [rcx+0x1], ah
40 88 61 01                 1 [rcx+0x1] = rsp                    mov byte ptr [rcx+0x1], spl
48 c7 43 08 fe ff ff ff     8 [rbx+0x8] = 0xfffffffffffffffe     mov qword ptr [rbx+0x8], -0x2
66 c7 07 34 12              2 [rdi] = 0x1234                     mov word ptr [rdi], 0x1234
c6 05 10 00 00 00 01        1 [rip+0x10] = 0x1                   mov byte ptr [rip+0x10], 0x1
64 48 89 04 25 28 00 00 00  8 fs:0x28 = rax                      mov qword ptr fs:[0x28], rax
67 89 02                    4 [edx] = rax                        mov dword ptr [edx], eax
48 a3 88 77 66 55 44 33 22 11  8 ds:0x1122334455667788 = rax     mov qword ptr [0x1122334455667788], rax
01 04 8a                    4 [rdx+rcx*4] rmw                    add dword ptr [rdx+4*rcx], eax
48 ff 07                    8 [rdi] rmw                          inc qword ptr [rdi]
f7 5d fc                    4 [rbp-0x4] rmw                      neg dword ptr [rbp-0x4]
0f 94 00                    1 [rax]                              setz byte ptr [rax]
48 0f ab 07                 8 [rdi] bit by rax rmw               bts qword ptr [rdi], rax
0f ba 2f 21                 4 [rdi] rmw                          bts dword ptr [rdi], 0x21
48 87 07                    8 [rdi] = rax rmw atomic             xchg qword ptr [rdi], rax
f0 48 0f c1 07              8 [rdi] rmw lock                     lock xadd qword ptr [rdi], rax
f0 48 0f b1 17              8 [rdi] cond rmw lock                lock cmpxchg qword ptr [rdi], rdx
48 0f c7 0f                 16 [rdi] cond rmw                    cmpxchg16b xmmword ptr [rdi]
0f 38 f1 07                 4 [rdi] = rax swapped                movbe dword ptr [rdi], eax
0f c3 07                    4 [rdi] = rax                        movnti dword ptr [rdi], eax
0f 11 40 10                 16 [rax+0x10]                        movups xmmword ptr [rax+0x10], xmm0
66 0f d6 00                 8 [rax]                              movq qword ptr [rax], xmm0
66 0f 3a 17 00 01           4 [rax]                              extractps dword ptr [rax], xmm0, 0x1
66 0f f7 c1                 16 [rdi] masked                      maskmovdqu xmm0, xmm1
c5 fe 7f 07                 32 [rdi]                             vmovdqu ymmword ptr [rdi], ymm0
c4 e3 7d 39 07 01           16 [rdi]                             vextracti128 xmmword ptr [rdi], ymm0, 0x1
c4 e2 7d 8e 07              32 [rdi] masked                      vpmaskmovd ymmword ptr [rdi], ymm0, ymm0
c5 f8 91 07                 2 [rdi]                              kmovw word ptr [rdi], k0
62 f1 7f 48 7f 47 01        64 [rdi+0x40]                        vmovdqu8 zmmword ptr [rdi+0x40], zmm0
62 f1 7f 49 7f 47 01        64 [rdi+0x40] masked
62 f2 7d 48 8a 47 01        64 [rdi+0x4] masked
62 f2 7e 48 31 47 01        16 [rdi+0x10]
62 f2 7d 49 a2 04 87        unsupported [rdi+rax*4]
c4 e3 79 1d 07 00           8 [rdi]
db 7d f0                    10 [rbp-0x10]                        fstp ptr [rbp-0x10], st0
d9 77 10                    28 [rdi+0x10]
df 75 00                    10 [rbp]
0f ae 07                    512 [rdi] masked
0f ae 27                    unsupported [rdi]
f3 48 ab                    8 es:[rdi] = rax string rep          rep stosq qword ptr [rdi]
a4                          1 es:[rdi] string
6d                          4 es:[rdi] string
8f 44 24 08                 8 [rsp+0x10]                         pop qword ptr [rsp+0x8]
66 0f 38 f8 07              64 [rax]
0f 38 f9 07                 4 [rdi] = rax
c4 e2 71 e6 07              4 [rdi] cond rmw atomic
0f 38 fc 07                 4 [rdi] rmw atomic
0f 01 07                    10 [rdi]                             sgdt ptr [rdi]
55                          stack                                push rbp
ff 37                       stack                                push qword ptr [rdi]
e8 00 00 00 00              stack call 0x1005                    call 0x1005
f3 0f 1e fa                 none                                 endbr64
48 8b 07                    none                                 mov rax, qword ptr [rdi]
39 07                       none                                 cmp dword ptr [rdi], eax
0f a3 07                    none                                 bt dword ptr [rdi], eax
ff e0                       none jmp                             jmp rax
75 fe                       none jcc 0x1000
c3                          none ret                             ret
0f 0b                       none stop                            ud2
e3 05                       none jcc 0x1007
c7 f8 05 00 00 00           none jcc 0x100b
8f e9 78 c2 c1              none
0f ae f8                    none                                 sfence
f3 0f 7e 07                 none                                 movq xmm0, qword ptr [rdi]
66 0f 38 2a 07              none                                 movntdqa xmm0, xmmword ptr [rdi]
c5 f8 10 07                 none                                 vmovups xmm0, xmmword ptr [rdi]
06                          unknown instruction
d5 00 89 07                 unknown instruction
48                          instruction cut off
48 89                       instruction cut off
66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90  unknown instruction
`

func TestGoldens(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(goldens), "\n") {
		parts := splitWide(line)
		code, err := hex.DecodeString(strings.ReplaceAll(parts[0], " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		in, err := Decode(code, 0x1000)
		got := meaning(in, err)
		if got != parts[1] {
			t.Errorf("% x: got %q, want %q", code, got, parts[1])
		}
		if err == nil && in.Len != len(code) {
			t.Errorf("% x: length %d", code, in.Len)
		}
		if len(parts) > 2 && Text(code, 0x1000) != parts[2] {
			t.Errorf("% x: text %q, want %q", code, Text(code, 0x1000), parts[2])
		}
	}
}

// splitWide splits where there are two spaces or more.
func splitWide(line string) (parts []string) {
	for _, p := range strings.Split(line, "  ") {
		if p = strings.TrimSpace(p); p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

func meaning(in Inst, err error) string {
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	switch in.Effect {
	case EffectNone:
		b.WriteString("none")
	case EffectStack:
		b.WriteString("stack")
	case EffectUnknown:
		b.WriteString("may write")
	case EffectStore:
		b.WriteString(storeMeaning(&in.Store))
	}
	b.WriteString([...]string{"", " call", " ret", " jmp", " jcc", " stop"}[in.Kind])
	if in.Direct {
		fmt.Fprintf(&b, " %#x", in.Target)
	}
	return b.String()
}

func storeMeaning(s *Store) string {
	var b strings.Builder
	if s.Shape == ShapeUnsupported {
		b.WriteString("unsupported ")
	} else {
		fmt.Fprintf(&b, "%d ", s.Width)
	}
	b.WriteString(operandText(s))
	switch {
	case s.Source == SourceReg:
		b.WriteString(" = " + regNames[s.Value])
		if s.Shift != 0 {
			fmt.Fprintf(&b, ">>%d", s.Shift)
		}
	case s.Source == SourceImm:
		fmt.Fprintf(&b, " = %#x", s.Imm)
	}
	switch s.Shape {
	case ShapeMasked:
		b.WriteString(" masked")
	case ShapeCond:
		b.WriteString(" cond")
	case ShapeBit:
		b.WriteString(" bit by " + regNames[s.Value])
	case ShapeString:
		b.WriteString(" string")
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{s.Rep, " rep"}, {s.Swap, " swapped"}, {s.RMW, " rmw"}, {s.Atomic && !s.Lock, " atomic"}, {s.Lock, " lock"}} {
		if f.on {
			b.WriteString(f.name)
		}
	}
	return b.String()
}

func TestKernelProbeable(t *testing.T) {
	tests := []struct{ code, reason string }{
		{"48 89 07", ""},
		{"f3 48 ab", ""},
		{"0f 38 f1 07", ""},
		{"c5 fc 11 07", ""}, // vmovups
		{"62 f1 7c 48 11 07", ""},
		{"c5 fe 7f 07", "vector instruction that the kernel takes for another"},       // vmovdqu
		{"62 f1 7f 48 7f 07", "vector instruction that the kernel takes for another"}, // vmovdqu8
		{"62 e2 7d 48 7a c6", "vector instruction that the kernel takes for another"}, // vpbroadcastb
		{"c5 fc 57 c0", "vector instruction that the kernel takes for another"},       // vxorps
		{"c5 f8 77", "vector instruction that the kernel takes for another"},          // vzeroupper
		{"c5 f8 c2 d1 01", "vector instruction that the kernel takes for another"},    // vcmpltps
		{"c4 e2 79 9d c8", "vector instruction that the kernel takes for another"},    // vfnmadd132ss
		{"0f c2 c1 01", ""}, // cmpltps
		{"49 90", "xchg that the kernel takes for a nop"},
		{"48 90", ""},
		{"0f 1f 44 00 00", "nop that the kernel replaces by a call"},
		{"0f 1f 40 00", ""},
		{"66 0f 1f 44 00 00", ""},
		{"64 48 89 04 25 28 00 00 00", ""},
		{"f0 48 0f b1 17", "LOCK prefix"},
		{"3e ff e0", "CS, DS, ES or SS prefix"},
		{"c5 f9 d6 07", "vector instruction that the kernel does not single-step"}, // vmovq
		{"c5 fd e7 07", "vector instruction that the kernel does not single-step"}, // vmovntdq
		{"c5 f8 17 07", "vector instruction that the kernel does not single-step"}, // vmovhps
		{"66 0f e7 07", ""},
		{"66 48 e8 00 00 00 00", "branch with an operand-size prefix"}, // call __tls_get_addr
		{"66 0f 11 07", ""},
		{"cc", "instruction that the kernel does not single-step"},
		{"f4", "instruction that the kernel does not single-step"},
		{"8e d0", "mov to SS"},
		{"48", "instruction cut off"},
	}
	for _, tt := range tests {
		code, _ := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		ok, reason := KernelProbeable(code)
		if reason != tt.reason || ok != (reason == "") {
			t.Errorf("%s: %v, %q; want %q", tt.code, ok, reason, tt.reason)
		}
	}
}

func TestVectorOnly(t *testing.T) {
	for code, want := range map[string]bool{
		"62 e2 7d 48 7a c6": true,  // vpbroadcastb esi to zmm16
		"c5 f9 6e c6":       true,  // vmovd esi to xmm0
		"c5 f8 77":          true,  // vzeroupper
		"c5 f9 7e c6":       false, // vmovd xmm0 to esi
		"c5 fe 7f 07":       false, // vmovdqu to memory
		"c4 e2 e8 f5 c9":    false, // bzhi
		"66 0f 6e c6":       false, // the kernel steps over that one
		"48 89 f8":          false,
	} {
		b, _ := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
		in, err := Decode(b, 0)
		if err != nil || in.VectorOnly() != want {
			t.Errorf("%s: %v, %v", code, in.VectorOnly(), err)
		}
	}
}

func TestClobbers(t *testing.T) {
	tests := []struct {
		code string
		want []Reg
	}{
		{"f0 48 0f c1 07", []Reg{RAX}},      // lock xadd [rdi], rax
		{"f0 0f b1 17", []Reg{RAX}},         // lock cmpxchg [rdi], edx
		{"f0 48 0f c7 0f", []Reg{RAX, RDX}}, // lock cmpxchg16b [rdi]
		{"48 87 17", []Reg{RDX}},            // xchg [rdi], rdx
		{"f0 01 17", nil},                   // lock add [rdi], edx
		{"f3 a4", []Reg{RDI, RSI, RCX}},
	}
	for _, tt := range tests {
		code, _ := hex.DecodeString(strings.ReplaceAll(tt.code, " ", ""))
		in, err := Decode(code, 0)
		if err != nil {
			t.Fatal(tt.code, err)
		}
		for r := RAX; r < 16; r++ {
			want := false
			for _, w := range tt.want {
				want = want || w == r
			}
			if got := in.Clobbers(r); got != want {
				t.Errorf("%s: clobbers %s: %v", tt.code, regNames[r], got)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range strings.Split(strings.TrimSpace(goldens), "\n") {
		code, _ := hex.DecodeString(strings.ReplaceAll(splitWide(line)[0], " ", ""))
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		in, err := Decode(code, 0x400000)
		KernelProbeable(code)
		Text(code, 0x400000)
		if err != nil {
			if _, _, _, also := Extent(code, 0x400000); also != err {
				t.Fatalf("% x: Extent says %v", code, also)
			}
			return
		}
		if in.Len < 1 || in.Len > MaxLen || in.Len > len(code) {
			t.Fatalf("% x: length %d", code, in.Len)
		}
		if n, target, direct, err := Extent(code, 0x400000); err != nil || n != in.Len || target != in.Target || direct != in.Direct {
			t.Fatalf("% x: Extent %d, %#x, %v, %v", code, n, target, direct, err)
		}
		again, err := Decode(code[:in.Len], 0x400000)
		if err != nil || again != in {
			t.Fatalf("% x: depends on what follows it", code)
		}
		for r := NoReg; r < 16; r++ {
			in.Clobbers(r)
			in.Store.Uses(r)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	code, _ := hex.DecodeString("488d4701" + "48894708" + "c5fe7f07" + "7510" + "0f1f4000" + "e811223344")
	b.SetBytes(int64(len(code)))
	for b.Loop() {
		for at := 0; at < len(code); {
			in, err := Decode(code[at:], 0)
			if err != nil {
				b.Fatal(err)
			}
			at += in.Len
		}
	}
}
