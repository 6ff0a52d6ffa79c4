package types

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const qdtree = `struct qdtree { int x, y; unsigned color : 1, : 3, depth : 10; struct { struct qdtree *up; union { int i; void *p; }; } link;
	struct qdtree *child[4]; struct { short tag; }; char tail[]; };`

func TestFind(t *testing.T) {
	x := parse(t, qdtree).Lookup("qdtree")
	for _, c := range []struct{ path, want string }{
		{"y", "4 int"},
		{"depth", "8.4:10 unsigned int"},
		{"link.up", "16 qdtree *"},
		{"link.p", "24 void *"},
		{"child", "32 qdtree *[4]"},
		{"child[3]", "56 qdtree *"},
		{"tag", "64 short"},
		{"tail[100]", "166 char"},
		{"childs", "0: no field `childs` in qdtree; did you mean `child`?"},
		{"link.pp", "4: no field `pp` in struct {…}; did you mean `up`?"},
		{"link.zzz", "4: no field `zzz` in struct {…}; it has up, i, p"},
		{"child[4]", "5: index 4 is outside `child`, which has 4 elements"},
		{"child[x]", "5: `x` is not a number"},
		{"child[0", "5: `]` is missing"},
		{"link.up.x", "7: `link.up` is a pointer (qdtree *): what it points to is not part of this type"},
		{"x.y", "1: int has no fields, so no `y`"},
		{"x[0]", "1: `x` is no array (it is int)"},
		{"", "0: a field name is missing"},
		{"link.", "4: a field name is expected at ``"},
		{"child[0]x", "8: `.` or `[` expected at `x`"},
	} {
		got := ""
		switch p, err := x.Find(c.path); {
		case err != nil:
			got = fmt.Sprintf("%d: %v", err.(*PathError).Offset, err)
		case p.BitSize > 0:
			got = fmt.Sprintf("%d.%d:%d %s", p.Offset, p.BitOffset, p.BitSize, p.Type)
		default:
			got = fmt.Sprintf("%d %s", p.Offset, p.Type)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
	}
}

// class builds what debug information says of
//
//	struct B1 { int a, x; }; struct B2 { virtual ~B2(); int b; };
//	struct D : B1, B2, virtual V { int x; D *next; };
func class() *Type {
	num := &Type{Kind: Int, Name: "int", Size: 4, Signed: true}
	vptr := &Type{Kind: Pointer, Size: 8, Elem: &Type{Kind: Pointer, Size: 8}}
	b1 := &Type{Kind: Struct, Name: "B1", Size: 8, Members: []Member{{Name: "a", Type: num}, {Name: "x", Type: num, Offset: 4}}}
	b2 := &Type{Kind: Struct, Name: "B2", Size: 16, Members: []Member{{Name: "_vptr.B2", Type: vptr, VTable: true}, {Name: "b", Type: num, Offset: 8}}}
	v := &Type{Kind: Struct, Name: "V", Size: 4, Members: []Member{{Name: "v", Type: num}}}
	d := &Type{Kind: Struct, Name: "D", Size: 40}
	d.Members = []Member{{Name: "x", Type: num, Offset: 24}, {Name: "next", Type: &Type{Kind: Pointer, Size: 8, Elem: d}, Offset: 32},
		{Type: b2, Offset: 0, Base: true}, {Type: b1, Offset: 16, Base: true}, {Type: v, Offset: -1, Base: true}}
	return d
}

func TestBases(t *testing.T) {
	d := class()
	want := "_vptr.B2 0 void **\nb 8 int\na 16 int\nB1::x 20 int\nx 24 int\nnext 32 D *\n"
	if diff := cmp.Diff(want, fields(d)); diff != "" {
		t.Error(diff)
	}
	for _, s := range d.Scalars() {
		if p, err := d.Find(s.Path); err != nil || p.Offset != s.Offset {
			t.Errorf("%s: %v, %v", s.Path, p, err)
		}
	}
	if p, err := d.Find("B1.x"); err != nil || p.Offset != 20 {
		t.Errorf("B1.x: %v, %v", p, err)
	}
	if ptrs := d.PointerFields(); len(ptrs) != 1 || ptrs[0].Path != "next" {
		t.Errorf("pointers: %v", ptrs)
	}
	if got := strings.Join(d.MemberNames(), " "); got != "x next _vptr.B2 b a" {
		t.Errorf("names: %s", got)
	}
}

// TestHidden: of two bases that have a field of one name each is meant by its own name, in any spacing; without its template arguments
// only where there is one of that name.
func TestHidden(t *testing.T) {
	hook := func(name string) *Type {
		x := &Type{Kind: Struct, Name: name, Size: 8}
		x.Members = []Member{{Name: "next", Type: &Type{Kind: Pointer, Size: 8, Elem: x}}}
		return x
	}
	job := &Type{Kind: Struct, Name: "Job", Size: 24, Members: []Member{
		{Type: hook("Hook<Job, 0>"), Base: true}, {Type: hook("Hook<Job, 1>"), Offset: 8, Base: true}, {Type: hook("ns::Link<Job>"), Offset: 16, Base: true}}}
	for name, want := range map[string]int64{
		"next": 0, "Hook<Job, 0>::next": 0, "Hook<Job, 1>::next": 8, "Hook<Job,1>::next": 8, "ns::Link<Job>::next": 16, "ns::Link::next": 16,
		"Hook::next": -1, "Hook<Job, 2>::next": -1, "Hook<Job, 1>::prev": -1,
	} {
		if _, offset, ok := job.Member(name); ok != (want >= 0) || ok && offset != want {
			t.Errorf("%s: %d, %t, want %d", name, offset, ok, want)
		}
	}
}

func TestPointerFields(t *testing.T) {
	x := parse(t, "struct x { union { struct x *l; struct { long pad; struct x *r; } p; void *v; } u; int big[1000000]; struct { struct x *a[2]; } s; };").Lookup("x")
	var got []string
	for _, s := range x.PointerFields() {
		got = append(got, fmt.Sprintf("%s@%d %v", s.Path, s.Offset, s.Union))
	}
	if diff := cmp.Diff("u.l@0 true u.p.r@8 true s.a[0]@4000016 false s.a[1]@4000024 false", strings.Join(got, " ")); diff != "" {
		t.Error(diff)
	}
	if n := x.NumScalars(); n != 1+1000000+2 {
		t.Errorf("%d scalars", n)
	}
	for n, want := range map[int64]string{1: "u", 2: "big[0]", 65536: "big[65534]", 65537: "big[65535]", 1000001: "big[999999]", 1000003: "s.a[1]"} {
		if s, ok := x.ScalarN(n); !ok || s.Path != want {
			t.Errorf("X[%d] is %q", n, s.Path)
		}
	}
	if _, ok := x.ScalarN(1000004); ok {
		t.Error("a field beyond the last")
	}
}

// TestSharedMembers holds the walk to time proportional to what it finds.
func TestSharedMembers(t *testing.T) {
	src := "struct x0 { };"
	for i := range 60 {
		src += fmt.Sprintf("struct x%d { struct x%d a, b; };", i+1, i)
	}
	x := parse(t, src+"struct x { struct x60 a; char c; };").Lookup("x")
	if len(x.Scalars()) != 1 || len(x.PointerFields()) != 0 {
		t.Error(fields(x))
	}
}

func TestRead(t *testing.T) {
	d := parse(t, `enum color { RED, BLACK }; struct x { int8_t i8; uint16_t u16; __int128 wide; unsigned __int128 uwide; long double ld; _Float128 q;
		_Float16 h; float f; bool b; enum color c; int one : 1; unsigned odd : 31; char ch; void *p; union { char raw[20]; } u; };`)
	x := d.Lookup("x")
	for _, c := range []struct {
		field string
		bytes []byte
		want  string
	}{
		{"i8", []byte{0xff}, "-1"},
		{"u16", []byte{0xff, 0xff}, "65535"},
		{"u16", []byte{0xff}, "undefined"},
		{"wide", append([]byte{0xfe}, repeat(15, 0xff)...), "-2"},
		{"wide", append(repeat(15, 0), 0x80), "-170141183460469231731687303715884105728"},
		{"uwide", repeat(16, 0xff), "340282366920938463463374607431768211455"},
		{"ld", []byte{0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0x40, 9, 9, 9, 9, 9, 9}, "3"},
		{"ld", []byte{0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0x40}, "3"}, // all that a store writes
		{"ld", []byte{0, 0, 0, 0, 0, 0, 0, 0xc0, 0}, "undefined"},
		{"q", append(repeat(13, 0), 0x80, 0, 0xc0), "-3"},
		{"h", []byte{0x00, 0x3e}, "1.5"},
		{"f", []byte{0xcd, 0xcc, 0xcc, 0x3d}, "0.1"},
		{"b", []byte{1}, "true"},
		{"b", []byte{7}, "7"},
		{"c", []byte{1, 0, 0, 0}, "BLACK"},
		{"c", []byte{9, 0, 0, 0}, "9"},
		{"one", []byte{1}, "-1"},
		{"odd", []byte{0xfe, 0xff, 0xff, 0xff}, "2147483647"},
		{"ch", []byte("a"), "97 'a'"},
		{"p", repeat(8, 0), "NULL"},
		{"p", []byte{0xc0, 0xd2, 0x55, 0, 0, 0, 0, 0}, "0x55d2c0"},
		{"u", append([]byte{1, 2}, repeat(18, 0)...), "0x201…"},
	} {
		p, err := x.Find(c.field)
		if err != nil {
			t.Fatal(err)
		}
		s := Scalar{Type: p.Type, Offset: p.Offset, Size: p.Type.Size, BitOffset: p.BitOffset, BitSize: p.BitSize}
		if got := Read(s, c.bytes).String(); got != c.want {
			t.Errorf("%s % x: got %s, want %s", c.field, c.bytes, got, c.want)
		}
	}
}

func repeat(n int, b byte) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

// TestX87 holds the conversion to math/big's, which rounds correctly.
func TestX87(t *testing.T) {
	for _, c := range []struct {
		mantissa uint64
		top      uint16
	}{{1 << 63, 16383}, {math.MaxUint64, 16383}, {0xc90fdaa22168c235, 16384}, {1<<63 | 1, 0x8000 | 16000}, {0, 0}, {1 << 63, 0x7ffe}} {
		want := new(big.Float).SetUint64(c.mantissa)
		want.SetMantExp(want, int(c.top&0x7fff)-16383-63)
		if c.top&0x8000 != 0 {
			want.Neg(want)
		}
		if f, _ := want.Float64(); x87(c.mantissa, c.top) != f {
			t.Errorf("%x %x: %v, want %v", c.mantissa, c.top, x87(c.mantissa, c.top), f)
		}
	}
	if !math.IsNaN(x87(1, 5)) || !math.IsInf(x87(1<<63, 0xffff), -1) {
		t.Error("special values")
	}
}

func BenchmarkDecode(b *testing.B) {
	x := &Type{Kind: Int, Size: 4, Signed: true}
	data := []byte{1, 2, 3, 4}
	b.ReportAllocs()
	for b.Loop() {
		if v := x.Decode(data, 0, 0); v.Lo == 0 {
			b.Fatal(v)
		}
	}
}
