package inline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/capture"
	"mgtrace/inline/emit"
	"mgtrace/inline/hook"
	"mgtrace/probe"
	"mgtrace/x86"
)

// TestOpens: which calls trampolines note by themselves, and with a shadow table.
func TestOpens(t *testing.T) {
	plan := &probe.Plan{Images: []*probe.Image{{}, {Traced: true}}}
	none := x86.NoReg
	cases := []struct {
		f             probe.Func
		all, filtered *emit.Opening
	}{
		{probe.Func{Name: "malloc", Role: probe.RoleMalloc, Size: 1}, &emit.Opening{At: none, Bytes: x86.RDI}, &emit.Opening{At: none, Bytes: x86.RDI}},
		{probe.Func{Name: "calloc", Role: probe.RoleCalloc, Count: 1, Size: 2}, nil, nil},
		{probe.Func{Name: "realloc", Role: probe.RoleRealloc, Ptr: 1, Size: 2}, &emit.Opening{At: x86.RDI, Bytes: x86.RSI}, nil},
		{probe.Func{Name: "free", Role: probe.RoleFree, Ptr: 1}, nil, nil},
		{probe.Func{Name: "pool_get", Role: probe.RoleMalloc, Size: 1, Declared: true}, nil, nil},
		{probe.Func{Name: "memcpy", Role: probe.RoleWriter, Dst: 1, Len: 3}, &emit.Opening{Writer: true, At: x86.RDI, Bytes: x86.RDX}, &emit.Opening{Writer: true, At: x86.RDI, Bytes: x86.RDX, Closed: true}},
		{probe.Func{Name: "strcpy", Role: probe.RoleWriter, Dst: 1, Extent: probe.ExtentString}, &emit.Opening{Writer: true, At: x86.RDI, Bytes: none}, &emit.Opening{Writer: true, At: x86.RDI, Bytes: none}},
		{probe.Func{Name: "snprintf", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentBounded}, &emit.Opening{Writer: true, At: x86.RDI, Bytes: x86.RSI}, &emit.Opening{Writer: true, At: x86.RDI, Bytes: x86.RSI}},
		{probe.Func{Name: "strcat", Role: probe.RoleWriter, Dst: 1, Extent: probe.ExtentAppend}, nil, nil},
		{probe.Func{Name: "trylock", Role: probe.RoleWriter, Dst: 1, Len: 2, Acquires: true}, nil, nil},
		{probe.Func{Name: "its own strcpy", Role: probe.RoleWriter, Dst: 1, Extent: probe.ExtentString, Entry: probe.Site{Image: 1}}, nil, nil},
	}
	for _, c := range cases {
		plan.Funcs = append(plan.Funcs, c.f)
	}
	e := &Engine{plan: plan, tables: hook.New(plan, func(int) (lo, hi uint64) { return 0, 0 }, nil)}
	for i, c := range cases {
		site := &capture.Site{Enter: []int{i}, Store: -1}
		for filter, want := range map[bool]*emit.Opening{false: c.all, true: c.filtered} {
			e.filter.On = filter
			got := e.opens(site)
			if want != nil {
				want.Index, want.Func = i, 0
			}
			if got != nil {
				got.Func = 0 // where its descriptor lies
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, filter %v: %s", c.f.Name, filter, diff)
			}
		}
	}
}
