package symbol

import (
	"os/exec"
	"path/filepath"
	"testing"

	"mgtrace/objfile"
)

// What gcc has split off a function and inlined into it again is no call of it that would not be seen.
func TestInlinedElsewhere(t *testing.T) {
	out := filepath.Join(t.TempDir(), "split")
	if msg, err := exec.Command("gcc", "-g", "-O2", "-fPIC", "-shared", "-fno-semantic-interposition", "-Dmain=later", "-o", out, "../../probe/testdata/split.c").CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, msg)
	}
	f, err := objfile.Open(out, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rest := false
	for _, in := range f.Inlined("del_min") {
		rest = rest || in.Inner
	}
	if !rest {
		t.Skip("gcc has not split it")
	}
	p := &Program{Objs: []*objfile.File{f}}
	if into, _, line := p.Inlined("del_min"); into != "later" || line != 36 {
		t.Errorf("inlined into %s at line %d, want later at line 36", into, line)
	}
}
