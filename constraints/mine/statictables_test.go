package mine

import (
	"testing"

	"mgtrace/constraints/check"
)

// TestNameVariables: the variables of a source file stand by their names, and the nodes of a program that calls these files are none.
func TestNameVariables(t *testing.T) {
	of := func(name string) *maker { return newMaker(&portrait{typ: &check.NodeType{Name: name}}) }
	into := of(ofFile)
	into.compare("capacity all room ==", "", "", "X.room", "==", "X.all.COUNT", 0)
	node := of("file")
	node.scanned(into, "place all at", "", "::all[X.at] == X", &table{name: "all"})
	want := []struct{ text, typ string }{{"::room == ::all.COUNT;", "file"}, {"file X;  ::all[X.at] == X;", "file"}}
	for i, c := range into.out {
		c.nameVariables()
		if c.Text != want[i].text || c.Type != want[i].typ {
			t.Errorf("%q of %s, not %q of %s", c.Text, c.Type, want[i].text, want[i].typ)
		}
	}
	if c := into.out[0]; c.left != "::room" || c.right != "::all.COUNT" {
		t.Errorf("operands %q and %q", c.left, c.right)
	}
}
