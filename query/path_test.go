package query

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	field := func(s string) Step { return Step{Field: s} }
	for _, c := range []struct {
		text  string
		root  Root
		steps []Step
		err   string
	}{
		{"0x55d1", Root{Addr: 0x55d1}, nil, ""},
		{"0x55d1.next", Root{Addr: 0x55d1}, []Step{field("next")}, ""},
		{"::root", Root{Global: "root"}, nil, ""},
		{"::root.child[2].point", Root{Global: "root"}, []Step{field("child"), {Index: 2}, field("point")}, ""},
		{"::ns::list<int, 3>->head", Root{Global: "ns::list<int, 3>"}, []Step{field("head")}, ""},
		{"qdtree#17.child[0]", Root{Node: "qdtree", Number: 17}, []Step{field("child"), {}}, ""},
		{"std::map<int, x*>#3->a", Root{Node: "std::map<int, x*>", Number: 3}, []Step{field("a")}, ""},
		{"char *[]#2[0x10]", Root{Node: "char *[]", Number: 2}, []Step{{Index: 16}}, ""},
		{"", Root{}, nil, "which cell?"},
		{"1234", Root{}, nil, "hexadecimal"},
		{"0x", Root{}, nil, "hexadecimal"},
		{"0x12345678123456789", Root{}, nil, "hexadecimal"},
		{"root", Root{}, nil, "begins with ::"},
		{"list#0", Root{}, nil, "from 1"},
		{"list#", Root{}, nil, "from 1"},
		{"#3", Root{}, nil, "from 1"},
		{"::", Root{}, nil, "the name of a global is missing"},
		{"list#3next", Root{}, nil, ". or [ was expected"},
		{"list#3.", Root{}, nil, "the name of a field is missing"},
		{"list#3[x]", Root{}, nil, "an element has a number"},
		{"list#3[-1]", Root{}, nil, "an element has a number"},
		{"list#3[1", Root{}, nil, "] is missing"},
	} {
		p, err := ParsePath(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.text, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		for i := range p.Steps {
			p.Steps[i].begin = 0
		}
		if d := cmp.Diff(c.root, p.Root) + cmp.Diff(c.steps, p.Steps, cmp.AllowUnexported(Step{})); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"0x55d1", "::root.child[2].point", "qdtree#17->child[0]", "a<b>#1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil {
			return
		}
		for i := range p.Steps {
			if !strings.HasPrefix(p.String(), p.before(i)) {
				t.Errorf("%q: step %d begins behind %q", s, i, p.before(i))
			}
		}
	})
}
