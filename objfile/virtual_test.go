package objfile

import (
	"fmt"
	"strings"
	"testing"
)

// TestVirtualBases: where the virtual bases of a class lie is what a program says; of classes from which others derive it is not known.
func TestVirtualBases(t *testing.T) {
	for _, c := range []config{{"gcc", "-g -O0"}, {"gcc", "-g -O0 -no-pie"}, {"clang-14", "-g -O0"}} {
		t.Run(c.name(), func(t *testing.T) {
			prog := compile(t, c, t.TempDir(), "virtual.cc")
			f := open(t, prog, Options{})
			at := func(class, field string) string {
				for _, typ := range f.Universe().Lookup(class) {
					if _, off, ok := typ.Member(field); ok {
						return fmt.Sprint(off)
					}
				}
				return "not known"
			}
			want := strings.Fields(run(t, "", prog))
			// Node leads to Owner by its second base alone, whose pointer to a virtual table is another one.
			got := []string{"Node", at("Node", "owner"), at("Node", "id"), "Alone", at("Alone", "owner")}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
			for _, class := range []string{"Named", "Counted"} {
				if got := at(class, "id"); got != "not known" {
					t.Errorf("id of %s is at %s", class, got)
				}
			}
		})
	}
}
