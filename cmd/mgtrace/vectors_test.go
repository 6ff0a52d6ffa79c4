package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sparse are the instructions of testdata/flow/vectors.c that it tells of.
var sparse = regexp.MustCompile(`^(addr32 )?v?p?(gather|scatter|compress|expand|maskmov|xlat)|^vmov.*\{k[1-7]\}`)

// TestFullVectors: where instructions access memory whose addresses vector registers and
// masks decide.
func TestFullVectors(t *testing.T) {
	t.Parallel()
	needTracing(t)
	bin := filepath.Join(t.TempDir(), "p")
	// At fixed addresses.
	out, err := exec.Command("gcc", "-O1", "-static", "-no-pie", "-fno-pie", "-o", bin, "testdata/flow/vectors.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	told, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	var lo, hi uint64
	first, want, _ := strings.Cut(string(told), "\n")
	if _, err := fmt.Sscanf(first, "%x %x", &lo, &hi); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(want, "\n"); n < 3 {
		t.Fatalf("%s", want)
	}
	for _, engine := range []string{"step", "translate"} {
		t.Run(engine, func(t *testing.T) {
			var got strings.Builder
			for _, in := range recordFull(t, bin, "--engine", engine) {
				if in.pc < lo || in.pc >= hi || !sparse.MatchString(in.text) {
					continue
				}
				for _, a := range in.accesses {
					if a.size > 0 {
						fmt.Fprintf(&got, "%x %d ", a.addr, a.size)
					}
				}
				got.WriteByte('\n')
			}
			if got.String() != want {
				t.Errorf("%s\nwant\n%s", got.String(), want)
			}
		})
	}
}
