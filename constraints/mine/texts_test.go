package mine

import (
	"slices"
	"testing"

	"mgtrace/types"
)

// TestTexts: arrays of characters and pointers to such are texts; bytes, single characters, and arrays of texts are none. Characters beyond ASCII come last.
func TestTexts(t *testing.T) {
	d, errs := types.ParseC(`struct node { char name[8]; unsigned char bytes[8]; char kind; char *text; char *lines[4]; struct { char tag[2]; } in; int n; };`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got, want := textsOf(d.Lookup("node")), []string{"name[0]", "text[0]", "in.tag[0]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if a, z := unsignedChar('z'), unsignedChar(-28); a >= z {
		t.Errorf("%v is not before %v", a, z)
	}
}
