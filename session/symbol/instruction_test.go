package symbol

import (
	"slices"
	"testing"

	"mgtrace/trace"
	"mgtrace/x86"
)

// TestReaches: a register leads to where an instruction reaches memory, and what that stores there does not.
func TestReaches(t *testing.T) {
	const text = `__attribute__((naked, used)) void code(void)
{
	__asm__("mov %rsi, 24(%r8)\n\tmov %rax, (%rax)\n\tmov 8(%rbx,%rcx,8), %rdx\n\tadd %rax, %rbx\n\tret");
}
int main(void) { return 0; }
`
	s, _ := built(t, text, "gcc", "-O1", "-g")
	im := &s.Images[0]
	var got []string
	for _, f := range im.Obj.Funcs() {
		for at := f.Addr; f.Name == "code" && len(got) < 4; {
			in, err := x86.Decode(im.Obj.Code(at, x86.MaxLen), at)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := s.Instruction(im.Bias + trace.Addr(at))
			for _, n := range s.Reaches(im.Bias + trace.Addr(at)) {
				text += " by " + [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8"}[n]
			}
			got = append(got, text)
			at += uint64(in.Len)
		}
	}
	want := []string{
		"mov qword ptr [r8+0x18], rsi by r8", "mov qword ptr [rax], rax by rax",
		"mov rdx, qword ptr [rbx+8*rcx+0x8] by rbx by rcx", "add rbx, rax",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestCalledBefore: a function of another file is known by the stub that is called; one of the same file, and what is no call, is none.
func TestCalledBefore(t *testing.T) {
	const text = `void abort(void);
__attribute__((noinline)) void own(void) { __asm__(""); }
__attribute__((used)) void code(int n) { own(); if (n) abort(); }
int main(void) { code(0); return 0; }
`
	s, _ := built(t, text, "gcc", "-O1", "-g", "-fno-reorder-blocks-and-partition")
	im := &s.Images[0]
	var got []string
	for _, f := range im.Obj.Funcs() {
		for at := f.Addr; f.Name == "code" && at < f.Addr+f.Size; {
			in, err := x86.Decode(im.Obj.Code(at, x86.MaxLen), at)
			if err != nil {
				t.Fatal(err)
			}
			at += uint64(in.Len)
			if name := s.CalledBefore(im.Bias + trace.Addr(at)); name != "" {
				got = append(got, name)
			}
		}
	}
	if !slices.Equal(got, []string{"abort"}) {
		t.Errorf("%q", got)
	}
}
