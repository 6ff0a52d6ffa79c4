package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"mgtrace/trace"
)

// dying is a program that dies with a number of its own in each register, by a store that is recorded, or in a handler's
// program by one that it handles.
const dying = `#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void report(int sig) { (void)sig; _exit(0); }
int main(int argc, char **argv)
{
	volatile long *p = malloc(64);
	*p = 1;
	(void)argv;
	if (argc > 1)
		signal(SIGSEGV, report);
	__asm__ volatile(
		"movq $0x5500, %%rax; movq $0x5501, %%rdx; movq $0x5502, %%rcx; movq $0x5503, %%rbx\n"
		"movq $0x5504, %%rsi; movq $0x5505, %%rdi; movq $0x5506, %%rbp; movq $0x5508, %%r8\n"
		"movq $0x5509, %%r9; movq $0x550a, %%r10; movq $0x550b, %%r11; movq $0x550c, %%r12\n"
		"movq $0x550d, %%r13; movq $0x550e, %%r14; movq $0x550f, %%r15\n"
		"movq $0x7777, -64(%%rsp); pushq $0x6666; stc\n"
		"movq %%rax, (%%r15,%%r14,8)" ::: "memory");
	return 0;
}
`

// TestRegisters: what the registers and the stack held is recorded where a program dies, or handles that: by the engines that see it.
func TestRegisters(t *testing.T) {
	t.Parallel()
	needCapture(t)
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "dying.c"), filepath.Join(dir, "dying")
	if err := os.WriteFile(src, []byte(dying), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O1", "-w", "-mno-red-zone", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, x := range []struct {
		name, engine string
		args, more   []string
		none         bool
	}{
		{"inline", "inline", nil, nil, false},
		{"ebpf", "ebpf", nil, nil, false},
		{"full", "translate", nil, []string{"--full"}, false},
		{"inline, handled", "inline", []string{"handle"}, nil, false},
		{"ebpf, handled", "ebpf", []string{"handle"}, nil, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "t.mgt")
			args := slices.Concat([]string{"record", "--engine", x.engine, "-o", file}, x.more, []string{bin}, x.args)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_ = exec.CommandContext(ctx, tool(t), args...).Run() // the recording tells
			r, err := trace.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			all := readEvents(t, r)
			i := slices.IndexFunc(all, func(e trace.Event) bool { return e.Kind == trace.KindSignal })
			if i < 0 {
				t.Fatal("no signal")
			}
			sig := &all[i]
			if x.none {
				if sig.Args != nil || sig.Data != nil {
					t.Errorf("%x: nothing reads these", sig.Args)
				}
				return
			}
			if len(sig.Args) != trace.SignalRegs {
				t.Fatalf("%d registers", len(sig.Args))
			}
			for n, v := range sig.Args[:16] {
				if want := uint64(0x5500 + n); n != 7 && v != want {
					t.Errorf("register %d is %#x, not %#x", n, v, want)
				}
			}
			sp := sig.Args[7]
			if sig.Args[16]&1 == 0 { // stc
				t.Errorf("flags %#x", sig.Args[16])
			}
			if sig.Addr != 0x550f+8*0x550e {
				t.Errorf("fault address %#x", sig.Addr)
			}
			stack := fmt.Sprintf("%x", sig.Data[max(0, int(sp-uint64(sig.Base)))-56:][:64])
			if want := "7777000000000000"; stack[:16] != want || stack[112:128] != "6666000000000000" {
				t.Errorf("the stack is %s", stack)
			}
		})
	}
}
