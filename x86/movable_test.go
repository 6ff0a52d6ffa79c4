package x86

import "testing"

func TestMovable(t *testing.T) {
	for _, c := range []struct {
		text, code string
		movable    bool
		names      []Reg // of R8 to R15
	}{
		{"mov [rdi+8], rax", "\x48\x89\x47\x08", true, nil},
		{"mov [r9+r10*2], r11", "\x4f\x89\x1c\x51", true, []Reg{9, 10, 11}},
		{"add r15, 8", "\x49\x83\xc7\x08", true, []Reg{15}},
		{"push r12", "\x41\x54", true, []Reg{12}},
		{"mov r8d, 1", "\x41\xb8\x01\x00\x00\x00", true, []Reg{8}},
		{"bswap r14", "\x49\x0f\xce", true, []Reg{14}},
		{"movups [rdi], xmm9", "\x44\x0f\x11\x0f", true, []Reg{9}}, // r9 as far as the encoding goes
		{"movss [rdi], xmm0", "\xf3\x0f\x11\x07", true, nil},
		{"cqo", "\x48\x99", true, nil},
		{"imul rax, rcx", "\x48\x0f\xaf\xc1", true, nil},
		{"xorps xmm0, xmm0", "\x0f\x57\xc0", true, nil},
		{"movntps [rdi], xmm0", "\x0f\x2b\x07", true, nil},
		{"not rax", "\x48\xf7\xd0", true, nil},
		{"div rcx", "\x48\xf7\xf1", false, nil},
		{"idiv cl", "\xf6\xf9", false, nil},
		{"addsd xmm0, xmm1", "\xf2\x0f\x58\xc1", false, nil},
		{"cvttsd2si rax, xmm0", "\xf2\x48\x0f\x2c\xc0", false, nil},
		{"fld1", "\xd9\xe8", false, nil},
		{"mov rax, [rip+8]", "\x48\x8b\x05\x08\x00\x00\x00", true, nil},
		{"mov r9, [rip+8]", "\x4c\x8b\x0d\x08\x00\x00\x00", true, []Reg{9}},
		{"mov rax, [eip+8]", "\x67\x48\x8b\x05\x08\x00\x00\x00", false, nil},
		{"lea rax, [rip+8]", "\x48\x8d\x05\x08\x00\x00\x00", true, nil},
		{"mov rax, fs:[0x28]", "\x64\x48\x8b\x04\x25\x28\x00\x00\x00", false, nil},
		{"mov rax, gs:[0]", "\x65\x48\x8b\x04\x25\x00\x00\x00\x00", false, nil},
		{"lock inc [rdi]", "\xf0\xff\x07", false, nil},
		{"rep stosq", "\xf3\x48\xab", false, nil},
		{"movsb", "\xa4", false, nil},
		{"syscall", "\x0f\x05", false, nil},
		{"sysenter", "\x0f\x34", false, nil},
		{"int 0x80", "\xcd\x80", false, nil},
		{"popfq", "\x9d", false, nil},
		{"leave", "\xc9", false, nil},
		{"std", "\xfd", false, nil},
		{"xbegin", "\xc7\xf8\x00\x00\x00\x00", false, nil},
		{"wrgsbase rax", "\xf3\x48\x0f\xae\xd8", false, nil},
		{"vmovups [rdi], xmm0", "\xc5\xf8\x11\x07", false, nil},
		{"jmp", "\xeb\x00", false, nil},
		{"call", "\xe8\x00\x00\x00\x00", false, nil},
		{"ud2", "\x0f\x0b", false, nil},
		{"jz", "\x74\x00", false, nil},
	} {
		in, err := Decode([]byte(c.code), 0x1000)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if got := in.Movable(); got != c.movable {
			t.Errorf("%s: movable %v", c.text, got)
		}
		for r := Reg(8); c.movable && r < 16; r++ {
			want := false
			for _, n := range c.names {
				want = want || n == r
			}
			if got := in.MayName(r); got != want {
				t.Errorf("%s: names r%d: %v", c.text, r, got)
			}
		}
	}
}
