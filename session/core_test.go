package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/target/core"
	"mgtrace/target/mem"
)

// TestCoreProgram: the program of a core file may have another name now. Another program is not taken
// for it, and a file that is not there is what is said to be missing.
func TestCoreProgram(t *testing.T) {
	const exe, other = "/usr/bin/true", "/usr/bin/false"
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Skip(err)
	}
	renamed := filepath.Join(t.TempDir(), "renamed")
	if err := os.WriteFile(renamed, b, 0o755); err != nil {
		t.Fatal(err)
	}
	f := &core.File{Maps: []mem.Map{{Lo: 0x1000, Hi: 0x9000, Path: exe}, {Lo: 0x7f0000000000, Hi: 0x7f0000001000, Path: "/usr/lib/ld.so"}}}
	for program, want := range map[string]string{
		"": "", exe: "", renamed: "", other: "is not the program that dumped the core file: that was " + exe, "/nowhere/renamed": "no such file",
	} {
		got, _, err := coreImages(f, program, AnalysisOptions{})
		if want == "" && (err != nil || got != exe) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v", program, got, err)
		}
	}
}
