package probe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAllocator(t *testing.T) {
	for _, c := range []struct {
		text string
		want Allocator
		ok   bool
	}{
		{"obstack_get", Allocator{Func: "obstack_get", Size: 1}, true},
		{" pool_get ( size = 2 ) ", Allocator{Func: "pool_get", Size: 2}, true},
		{"get(size=1, count=2)", Allocator{Func: "get", Size: 1, Count: 2}, true},
		{"get(count=2, size=1)", Allocator{Func: "get", Size: 1, Count: 2}, true},
		{"node_new(fixed=0x20)", Allocator{Func: "node_new", Fixed: 32}, true},
		{"node_new(bytes=32)", Allocator{Func: "node_new", Fixed: 32}, true},
		{"0x401136=malloc", Allocator{Func: "0x401136", Like: "malloc"}, true},
		{"0x401136=posix_memalign", Allocator{Func: "0x401136", Like: "posix_memalign"}, true},
		{"0x401136=banana", Allocator{}, false},
		{"0x401136=malloc(size=1)", Allocator{}, false},
		{"", Allocator{}, false},
		{"(size=1)", Allocator{}, false},
		{"get(size=1", Allocator{}, false},
		{"get(size=0)", Allocator{}, false},
		{"get(size=7)", Allocator{}, false},
		{"get(count=2)", Allocator{}, false},
		{"get(size)", Allocator{}, false},
		{"get(size=x)", Allocator{}, false},
		{"get(size=-1)", Allocator{}, false},
		{"get(size=99999999999999999999)", Allocator{}, false},
		{"get(width=1)", Allocator{}, false},
	} {
		got, err := ParseAllocator(c.text)
		if (err == nil) != c.ok {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		} else if d := cmp.Diff(c.want, got); c.ok && d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
	}
}

func TestParseFree(t *testing.T) {
	for _, c := range []struct {
		text string
		want Allocator
		ok   bool
	}{
		{"pool_put", Allocator{Free: "pool_put", FreeArg: 1}, true},
		{"pool_put(2)", Allocator{Free: "pool_put", FreeArg: 2}, true},
		{"0x401200", Allocator{Free: "0x401200", FreeArg: 1}, true},
		{"", Allocator{}, false},
		{"pool_put(0)", Allocator{}, false},
		{"pool_put(7)", Allocator{}, false},
		{"pool_put(x)", Allocator{}, false},
		{"pool_put(1", Allocator{}, false},
	} {
		got, err := ParseFree(c.text)
		if (err == nil) != c.ok {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		} else if d := cmp.Diff(c.want, got); c.ok && d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
	}
}
