package inline

import (
	"testing"
)

// Signals come at any point: their handlers see the program's own code and
// registers, what they store is recorded, and faults are where they would be.
func TestSignals(t *testing.T) {
	path := build(t, "signals.c")
	for _, mode := range []string{"timer", "restart", "threads", "nested", "calls", "faults", "blocked", "leave"} {
		for _, segv := range []bool{false, true} {
			name := mode
			if segv {
				name += " by SIGSEGV"
			}
			t.Run(name, func(t *testing.T) {
				r := run{options: Options{Buffer: 64 << 10, sigsegv: segv}}
				if segv && mode == "blocked" {
					t.Skip("documented: a guard that is a SIGSEGV takes the handler of a thread that blocks it")
				}
				r.same(t, path, mode)
			})
		}
	}
}
