package syntax

import (
	"strings"
	"testing"
)

// TestDocs parses the examples of the reference manual: the code blocks that
// hold statements, and the forms in the tables that end with a semicolon.
func TestDocs(t *testing.T) {
	n := 0
	parse := func(src string) {
		n++
		_, errs := Parse("docs/language.md", src)
		for _, e := range errs {
			t.Error(e.Format(src))
		}
	}
	for i, part := range strings.Split(read(t, "../../docs/language.md"), "```") {
		if i%2 == 1 {
			if !strings.Contains(part, "[guard =>]") { // the pattern of a constraint
				parse(part)
			}
			continue
		}
		for _, line := range strings.Split(part, "\n") {
			for j, code := range strings.Split(line, "`") {
				if j%2 == 1 && strings.HasPrefix(line, "|") && strings.HasSuffix(code, ";") {
					parse(code)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d examples found", n)
	}
}
