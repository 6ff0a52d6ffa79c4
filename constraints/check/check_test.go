package check

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mgtrace/constraints/syntax"
)

func TestTmp(t *testing.T) {
	m, _ := filepath.Glob("../../testdata/specs/*.cons")
	for _, f := range m {
		b, _ := os.ReadFile(f)
		file, errs := syntax.Parse(filepath.Base(f), string(b))
		spec, more := Check(file, nil)
		fmt.Println("=====", f, syntax.Statements(file), len(spec.Constraints))
		for _, e := range append(append(errs, more...), spec.Warnings...) {
			fmt.Print(e.Format(string(b)))
		}
		fmt.Print(syntax.Print(file))
		f2, e2 := syntax.Parse("x", syntax.Print(file))
		if len(e2) > 0 || syntax.Print(f2) != syntax.Print(file) {
			t.Error(f, e2)
		}
	}
}
