package evidence

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/types"
)

func TestTypesInStatement(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"p = malloc(sizeof(struct node));", "node"},
		{"p = malloc(sizeof (struct node *) * n);", "node *"},
		{"p = malloc(sizeof *p);", "*p"},
		{"p = calloc(n, sizeof(*p));", "*p"},
		{"p = malloc(sizeof *p->next);", "*p.next"},
		{"h->v = realloc(h->v, n * sizeof *h->v);", "*h.v"},
		{"h->v = realloc(h->v, n * sizeof(h->v[0]));", "h.v[]"},
		{"v.e = calloc(n, sizeof(**v.rows[i + f(1)]));", "**v.rows[]"},
		{"p = malloc(sizeof node);", ""},
		{"p = malloc(sizeof h->);", ""},
		{"p[i] = malloc(sizeof *p[i]);", "*p[]"},
		{"p[a[i]][j] = malloc(sizeof(*p[a[i]][j]));", "*p[][]"},
		{"p = malloc(sizeof *p[i]->next);", "*p[].next"},
		{"p = malloc(sizeof *p[i", ""},
		{"p = (struct node *)malloc(n);", "node"},
		{"p = (node **) xmalloc(n * sizeof(node *));", "node *"},
		{"p = malloc(sizeof(struct node) + n * sizeof(int));", "node"},
		{"p = malloc(n * sizeof p->more[0] + sizeof *p);", "*p"},
		{"a = malloc(sizeof(A)); b = malloc(sizeof(B));", "A|B"},
		{"return new Node{v, next};", "Node"},
		{"p = new ns::Tree<int, long>::Leaf(k);", "ns::Tree<int,long>::Leaf"},
		{"p = new (std::nothrow) Pod[n];", "Pod"},
		{"p = new unsigned int[3];", "unsigned int"},
		{"auto p = static_cast<Node *>(malloc(n));", ""},
		{"p = pool_get();", ""},
		{`puts("new Node"); p = malloc(8);`, ""},
		{"p = (x * y)(z);", ""},
		{"sizeof", ""},
		{"new", ""},
		{"(", ""},
	} {
		if got := strings.Join(typesInStatement(c.text), "|"); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestMembersAssigned(t *testing.T) {
	for text, want := range map[string]string{
		"list = parent->value.list = make(type)": "parent.value.list",
		"AT(r)->leaf.bits = xmalloc(32)":         "leaf.bits",
		"h.of[i + 1].rows[j] = malloc(n)":        "h.of.rows",
		"a->p = b.q = malloc(n)":                 "a.p|b.q",
		"(*v).u.kid = malloc(n)":                 "u.kid",
		"p = malloc(n)":                          "",
		"p[i] = malloc(n)":                       "",
		"if (a->n == b.n) p = malloc(n)":         "",
		"a->n += size(n)":                        "",
		"a->n != f(n)":                           "",
		"= f(n)":                                 "",
	} {
		var got []string
		for _, path := range membersAssigned(text) {
			got = append(got, strings.Join(path, "."))
		}
		if got := strings.Join(got, "|"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestCallOf(t *testing.T) {
	const line = "e = malloc(sizeof *e); e->key = strdup(k); e->next = 0;"
	for callee, want := range map[string]string{
		"malloc":  "e = malloc(sizeof *e)",
		"strdup":  " e->key = strdup(k)",
		"":        line,
		"xmalloc": line,
	} {
		if got := callOf(callee, line); got != want {
			t.Errorf("%s: %q, want %q", callee, got, want)
		}
	}
}

func TestStatementAt(t *testing.T) {
	const line = "if (n) { e = malloc(sizeof *e); ADD(table, e); } else f(\"\",\n\te);\n"
	for column, want := range map[int]string{
		0:   line,
		1:   "if (n) { e = malloc(sizeof *e)", // the condition's: what it stands before is no harm
		14:  " e = malloc(sizeof *e)",
		33:  " ADD(table, e)",
		54:  " else f(\"\",\n\te)",
		999: line,
	} {
		if got := statementAt(line, column); got != want {
			t.Errorf("%d: %q, want %q", column, got, want)
		}
	}
}

func TestEnclosing(t *testing.T) {
	for function, want := range map[string]string{
		"ns::Tree<a::b>::insert(c::d const&)": "ns::Tree<a::b>|ns",
		"main":                                "",
		"void ns::f<int>(int)":                "ns",
		"(anonymous namespace)::f()":          "",
	} {
		if diff := cmp.Diff(want, strings.Join(enclosing(function), "|")); diff != "" {
			t.Error(function, diff)
		}
	}
}

func TestAllocatorArgument(t *testing.T) {
	for function, want := range map[string]string{
		"std::__new_allocator<std::_Rb_tree_node<std::pair<int const, int> > >::allocate(unsigned long, void const*)": "std::_Rb_tree_node<std::pair<int const, int> >",
		"__gnu_cxx::new_allocator<Node>::allocate(unsigned long, void const*)":                                        "Node",
		"std::allocator<Node>::allocate(unsigned long)":                                                               "Node",
		"std::allocator<Node>::deallocate(unsigned long)":                                                             "",
		"std::__new_allocator<broken":                                                                                 "",
	} {
		if got := allocatorArgument(function); got != want {
			t.Errorf("%s: %s", function, got)
		}
	}
}

func TestMadeArgument(t *testing.T) {
	for function, want := range map[string]string{
		"std::make_unique<Pair>": "Pair",
		"std::__detail::_MakeUniq<Pair>::__single_object std::make_unique<Pair>()":                          "Pair",
		"std::__detail::_MakeUniq<Box<int, 2> >::__single_object std::make_unique<Box<int, 2>, int&>(int&)": "Box<int, 2>",
		"std::__1::unique_ptr<Pair> std::__1::make_unique<Pair, 0>()":                                       "Pair",
		"std::__detail::_MakeUniq<Pair []>::__array std::make_unique<Pair []>(unsigned long)":               "Pair []",
		"own::std::make_unique<Pair>()":            "",
		"std::make_unique_for_overwrite<Pair>()":   "",
		"std::make_unique<broken":                  "",
		"f(std::__detail::_MakeUniq<Pair>, Other)": "",
	} {
		if got := madeArgument(function); got != want {
			t.Errorf("%s: %q", function, got)
		}
	}
}

func declare(t *testing.T, src string) *types.Decls {
	t.Helper()
	d, errs := types.ParseC(src)
	for _, e := range errs {
		t.Fatal(e)
	}
	return d
}

func TestPointerPlaces(t *testing.T) {
	d := declare(t, `struct a { int n; struct a *next; struct { struct a *l; struct b *r; } k; };
		struct b { struct a *slot[4]; union { struct a *p; struct a *q; long n; } u; union { struct a *p; struct b *q; } v; struct a all[3]; struct b *tail[]; };`)
	b := d.Lookup("b")
	for _, c := range []struct {
		off, stride int64
		want        string
	}{
		{0, 0, "a"}, {24, 0, "a"}, {4, 0, ""}, {8, 8, "a"}, {32, 0, "a"}, {40, 0, ""},
		{56, 0, "a"}, {56 + 32, 0, "a"}, {56, 32, "a"}, {72, 32, "b"}, {72, 8, ""},
		{144, 0, "b"}, {144 + 80, 0, "b"}, {144, 8, "b"}, {0, 1, ""},
	} {
		got := ""
		if p := pointerAt(b, c.off, c.stride); p != nil {
			got = p.String()
		}
		if got != c.want {
			t.Errorf("at %d + n*%d: %q, want %q", c.off, c.stride, got, c.want)
		}
	}
	a := d.Lookup("a")
	if p := throughPointer(a, 8+5*a.Size, 0, nil); p != a {
		t.Errorf("next of the sixth: %v", p)
	}
	if p := throughPointer(a, 8-a.Size, a.Size, nil); p != a {
		t.Errorf("next of some element: %v", p)
	}
}

func TestCombine(t *testing.T) {
	d := declare(t, "struct base { int tag; }; struct derived { struct base b; long x; }; struct other { char c; };")
	base, derived, other := d.Lookup("base"), d.Lookup("derived"), d.Lookup("other")
	char := other.Members[0].Type
	for _, c := range []struct {
		found []finding
		want  *types.Type
		ok    bool
	}{
		{nil, nil, true},
		{[]finding{{t: base}, {t: base}}, base, true},
		{[]finding{{t: base}, {t: derived}}, derived, true},
		{[]finding{{t: derived}, {t: base}}, derived, true},
		{[]finding{{t: char}, {t: base}, {t: char}}, base, true},
		{[]finding{{t: char}}, char, true},
		{[]finding{{t: base}, {t: other}}, nil, false},
		{[]finding{{t: base}, {t: base, offset: 8}}, nil, false},
	} {
		got, ok := combine(c.found)
		if got.t != c.want || ok != c.ok {
			t.Errorf("%v: %v, %v", c.found, got, ok)
		}
	}
}
