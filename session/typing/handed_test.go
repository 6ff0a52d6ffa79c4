package typing

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// TestHanded: of what the C library writes most is known, of some only where mgtrace was there from the beginning, and of some nothing; what
// a library that is not recorded writes is not known, unless it is one that allocates.
func TestHanded(t *testing.T) {
	dir := t.TempDir()
	build := func(name, text string, flags ...string) *objfile.File {
		src, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
		if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command("gcc", append(flags, "-w", "-fPIC", "-shared", "-o", out, src)...).CombinedOutput(); err != nil {
			t.Skipf("gcc: %v\n%s", err, text)
		}
		f, err := objfile.Open(out, objfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	images := []symbol.Image{
		{Module: trace.Module{Path: "/bin/prog", Traced: true, Lo: 0x1000, Hi: 0x2000}, Obj: build("prog", `
			struct node { long pad; long at; char addr[16]; long end; long key; };
			void put(struct node *n, const char *s) { time(&n->at); inet_pton(2, s, n->addr); strtol(s, &n->end, 10); fill(&n->key); free(n); }`, "-g", "-O0")},
		{Module: trace.Module{Path: "/lib/libc.so.6", Lo: 0x3000, Hi: 0x4000}, Obj: build("libc", "void time() {} void inet_pton() {} void strtol() {}")},
		{Module: trace.Module{Path: "/lib/libfill.so.1", Lo: 0x5000, Hi: 0x6000}, Obj: build("fill", "void fill() {} void free() {}")},
	}
	node := images[0].Obj.Params(images[0].Obj.FuncsNamed("put")[0].Addr)[0].Type.Elem
	for _, c := range []struct {
		field  string
		unseen []string
		want   string // the library
	}{
		{"pad", nil, ""}, {"at", nil, ""}, {"at", []string{"time"}, "libc.so.6"}, {"addr[3]", nil, "libc.so.6"}, {"end", nil, ""}, {"key", nil, "libfill.so.1"},
	} {
		p, err := node.Find(c.field)
		if err != nil {
			t.Fatal(err)
		}
		h, surely, perhaps := New(&check.Spec{}, symbol.New(images, &symbol.Sources{})).Handed(node, p.Offset, c.unseen)
		if h.Library != c.want || surely != (c.want != "") || perhaps {
			t.Errorf("%s, unseen %q: %q, %t, %t; want %q", c.field, c.unseen, h.Library, surely, perhaps, c.want)
		}
	}
}
