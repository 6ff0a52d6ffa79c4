package bpf

import (
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
