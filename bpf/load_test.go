package bpf

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cilium/ebpf"
)

// The kernel's verifier accepts every program.
func TestVerifier(t *testing.T) {
	needEngine(t)
	var o programsObjects
	err := loadProgramsObjects(&o, &ebpf.CollectionOptions{})
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) {
		t.Fatalf("%+v", ve)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOwnStack checks that no program of a uprobe keeps a frame in memory of the processor, where threads that
// are preempted or wait for a page lose theirs to others: see ON_OWN_STACK.
func TestOwnStack(t *testing.T) {
	needEngine(t)
	var o programsObjects
	if err := loadProgramsObjects(&o, nil); err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, p := range []*ebpf.Program{o.OnSite, o.OnUret} {
		if p.Type() != ebpf.Kprobe {
			t.Errorf("%v is no program of a uprobe", p)
		}
		if framesOfProcessor(t, p) {
			t.Errorf("%v has frames in memory of the processor", p)
		}
	}
	// The frames of a program of a tracepoint may lie there: it is not preempted. Kernels before 6.13 have none.
	if !framesOfProcessor(t, o.OnSysExit) {
		t.Skip("this kernel keeps no frame in memory of the processor")
	}
}

// framesOfProcessor says whether a function of the program adds the base of the processor's memory to the frame pointer
// (arch/x86/net/bpf_jit_comp.c, emit_priv_frame_ptr: add %gs:this_cpu_off, %r9).
func framesOfProcessor(t *testing.T, p *ebpf.Program) bool {
	t.Helper()
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	code, ok := info.JitedInsns()
	if !ok {
		t.Skip("the kernel does not show the machine code of programs")
	}
	return bytes.Contains(code, []byte{0x65, 0x4c, 0x03, 0x0c, 0x25})
}
