package types

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, src string) *Decls {
	t.Helper()
	d, errs := ParseC(src)
	for _, e := range errs {
		t.Fatalf("%v in %s", e, src)
	}
	return d
}

// fields lists the scalars of a type, one "path offset size type" a line.
func fields(t *Type) string {
	var b strings.Builder
	for _, s := range t.Scalars() {
		fmt.Fprintf(&b, "%s %d", s.Path, s.Offset)
		if s.BitSize > 0 {
			fmt.Fprintf(&b, ".%d:%d", s.BitOffset, s.BitSize)
		}
		fmt.Fprintf(&b, " %s\n", s.Type)
	}
	return b.String()
}

func TestScalars(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"btree of the language manual", "struct x { int count; int key[2]; struct x *child[3]; };",
			"count 0 int\nkey[0] 4 int\nkey[1] 8 int\nchild[0] 16 x *\nchild[1] 24 x *\nchild[2] 32 x *\n"},
		{"nested structures", "struct x { struct { int x, y; } pos[2]; struct { char c; }; };",
			"pos[0].x 0 int\npos[0].y 4 int\npos[1].x 8 int\npos[1].y 12 int\nc 16 char\n"},
		{"union is one field", "struct x { union { int i; double d; } u; union { int a; void *b; }; int z; };",
			"u 0 union {…}\na|b 8 union {…}\nz 16 int\n"},
		{"bit-fields", "struct x { unsigned a : 3, : 2, b : 9; long c : 40; };",
			"a 0.0:3 unsigned int\nb 0.5:9 unsigned int\nc 1.6:40 long\n"},
		{"flexible array counts none", "struct x { int height; struct x *next[]; };", "height 0 int\n"},
		{"GNU zero array", "struct x { int height; struct x *next[0]; };", "height 0 int\n"},
		{"function pointers", "struct x { int (*f)(struct x *, int); void (*g[2])(void); int *(*h)[3]; };",
			"f 0 int (*)()\ng[0] 8 void (*)()\ng[1] 16 void (*)()\nh 24 int *(*)[3]\n"},
		{"typedefs and enums", "typedef enum { RED, BLACK } color; typedef struct y { color c; } *yp; struct x { yp a; enum { A = BLACK + 2, B } b; char buf[B]; };",
			"a 0 y *\nb 8 enum {…}\nbuf[0] 12 char\nbuf[1] 13 char\nbuf[2] 14 char\nbuf[3] 15 char\n"},
		{"names of C++ and late definition", "struct n; struct x { n *p; struct n *q; }; struct n { x self; };", "p 0 n *\nq 8 n *\n"},
		{"comments", "# spec comment\nstruct x { /* a */ int a; // b\n };", "a 0 int\n"},
		{"constants", "struct x { char a[sizeof(int *) / 2 == 4 ? 1 << 1 : 9]; char b[(uint8_t)257]; char c['\\n' - 9]; };",
			"a[0] 0 char\na[1] 1 char\nb[0] 2 char\nc[0] 3 char\n"},
		{"multiple dimensions", "struct x { short m[2][2]; };", "m[0][0] 0 short\nm[0][1] 2 short\nm[1][0] 4 short\nm[1][1] 6 short\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := parse(t, c.src).Lookup("x")
			if diff := cmp.Diff(c.want, fields(x)); diff != "" {
				t.Error(diff)
			}
			if n := x.NumScalars(); n != int64(len(x.Scalars())) {
				t.Errorf("NumScalars is %d", n)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"struct x { imt a; };", "1:12: unknown type `imt`; did you mean `int`?"},
		{"struct x { int a; uint32 b;\n  size_tt c; };", "1:19: unknown type `uint32`; did you mean `uint32_t`?|2:3: unknown type `size_tt`; did you mean `size_t`?"},
		{"struct x { struct x a; };", "1:21: the field `a` is a x, which is not defined yet; did you mean a pointer?"},
		{"struct x { int a }", "1:18: expected `;` after the field, found `}`"},
		{"struct x { int a;", "1:18: expected `}` at the end of the struct, found the end"},
		{"struct x { int a; } int b;", "1:21: expected `;` after the declaration, found `int`"},
		{"struct x { int a; } y;", "1:21: expected `;` after the declaration, found `y`"},
		{"typedef struct { int a; };", "1:26: a typedef needs a name"},
		{"struct x { int a[]; int b; };", "1:16: an array without a size must be the last field"},
		{"struct x { int a[1/0]; };", "1:19: division by zero"},
		{"struct x { int a[N]; };", "1:18: `N` is not a known constant"},
		{"struct x { int a[-1]; };", "1:17: an array cannot have -1 elements"},
		{"struct x { int a : 33; };", "1:20: a width of 33 bits; int has 32"},
		{"struct x { float a : 3; };", "1:18: a bit-field of type float"},
		{"struct x { int f(void); };", "1:16: the field `f` is a function; a pointer to one is `(*f)(…)`"},
		{"struct x { int a; char a; };", "1:24: two fields are named `a`"},
		{"struct x { unsigned float a; };", "1:12: `unsigned float` is not a type"},
		{"struct x { int a; }; struct x { int b; };", "1:29: `x` is defined twice"},
		{"struct x : y { int a; };", "1:10: base classes cannot be declared here: such a layout comes from debug information"},
		{"struct x { int a[0x7fffffffffff][64]; };", "an array of"},
		{"struct x { int é; };", "1:16: `é` is not C"},
		{"struct x { int a; }; struct y { imt b; }; struct z { int c; };", "1:33: unknown type"},
	} {
		_, errs := ParseC(c.src)
		var got []string
		for _, e := range errs {
			got = append(got, e.Error())
		}
		if text := strings.Join(got, "|"); !strings.Contains(text, c.want) || strings.Count(text, "|") != strings.Count(c.want, "|") {
			t.Errorf("%s\n got %s\nwant %s", c.src, text, c.want)
		}
	}
}

func TestScopeOverUniverse(t *testing.T) {
	u := NewUniverse(nil)
	u.Add("node", parse(t, "struct node { int a, b; };").Lookup("node"))
	u.AddConst("N", 3)
	d := NewDecls(u)
	defined, errs := d.Parse("struct x { struct node *p; struct node whole; char pad[N]; };")
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	d.Link()
	if len(defined) != 1 || defined[0] != u.Lookup("struct x")[0] {
		t.Errorf("defined %v", defined)
	}
	x := defined[0]
	if x.Members[0].Type.Elem != u.Lookup("node")[0] || x.Members[1].Type != u.Lookup("node")[0] || x.Size != 20+4 {
		t.Errorf("the universe's node was not found: size %d", x.Size)
	}
	// A definition that comes later is the one that pointers lead to.
	if _, errs := d.Parse("struct y { struct z *p; };"); len(errs) > 0 {
		t.Fatal(errs)
	}
	if _, errs := d.Parse("struct z { int last; };"); len(errs) > 0 {
		t.Fatal(errs)
	}
	if z := d.Lookup("y").Members[0].Type.Elem; z != d.Lookup("z") || z.Size != 4 {
		t.Errorf("y.p leads to %v", z)
	}
}

func FuzzParseC(f *testing.F) {
	f.Add("struct btree { int count; int key[2]; struct btree *child[3]; };")
	f.Add("typedef struct { unsigned a:3, :0; union { int i; float f[2][3]; }; int (*fn)(void); } __attribute__((packed)) x;")
	f.Add("enum e : uint8_t { A = 1 << 3, B = sizeof(struct y { int z; }) }; struct x { enum e e; char c[]; };")
	f.Add("struct x { x *p; int a[(((1)))]; } ; struct { struct { struct {")
	f.Fuzz(func(t *testing.T, src string) {
		d, errs := ParseC(src)
		for _, e := range errs {
			if e.Offset < 0 || e.Offset > len(src) || e.Line < 1 || e.Col < 1 || e.Msg == "" {
				t.Errorf("bad error %+v", e)
			}
		}
		d.Link()
		for _, x := range d.tags {
			if x.Size < 0 {
				continue
			}
			list := x.Scalars()
			if n := x.NumScalars(); n <= MaxScalars && n != int64(len(list)) {
				t.Errorf("NumScalars %d, listed %d", n, len(list))
			}
			if x.Kind == Struct && x.Size < 1<<20 {
				b := make([]byte, x.Size)
				for i, s := range list[:min(len(list), 500)] {
					if s.Offset < 0 || s.Offset+s.Size > x.Size {
						t.Fatalf("%s: field %d %+v lies outside", src, i, s)
					}
					if v := Read(s, b[s.Offset:]); !v.Defined() && s.Size > 0 {
						t.Fatalf("%s: field %d %+v is undefined", src, i, s)
					}
				}
			}
			_ = x.String()
			_ = x.PointerFields()
		}
	})
}
