package evidence

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/objfile"
	"mgtrace/types"
)

// TestHanded asks of each field of a structure which functions of another file get its address.
func TestHanded(t *testing.T) {
	for _, opt := range []string{"-O0", "-O2"} {
		dir := t.TempDir()
		exe := filepath.Join(dir, "prog")
		compile(t, "gcc", opt, "-g", "-fPIC", "-shared", "-Wl,-z,lazy", "-o", exe, "testdata/handed.c") // what it calls is nowhere
		f, err := objfile.Open(exe, objfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var node *types.Type
		for _, fn := range f.FuncsNamed("all") {
			node = f.Params(fn.Addr)[0].Type.Elem
		}
		list := NewFinder(nil).Handed(f, func(linkage string) bool { return strings.HasPrefix(linkage, "takes_") })
		got := map[string]string{}
		for _, s := range node.Scalars() {
			var by []string
			for _, h := range list {
				surely, perhaps := h.Covers(node, s.Offset)
				switch {
				case surely:
					by = append(by, h.Linkage)
				case perhaps:
					by = append(by, h.Linkage+"?")
				}
			}
			got[s.Path] = strings.Join(by, " ")
		}
		// Of struct pos alone the number of one is not known, and its second word is its own.
		want := map[string]string{
			"next": "takes_node?", "key": "takes_number takes_node?", "other": "takes_node?", "last": "takes_node?",
			"pos.x": "takes_pos takes_node?", "pos.y": "takes_pos takes_number takes_node?",
		}
		for _, i := range []string{"0", "1", "2"} {
			want["many["+i+"].x"] = "takes_pos takes_pos takes_node?"
			want["many["+i+"].y"] = "takes_pos takes_number takes_pos takes_node?"
		}
		for _, i := range strings.Fields("0 1 2 3 4 5 6 7") {
			want["name["+i+"]"] = "takes_text takes_node?"
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", opt, d)
		}
	}
}
