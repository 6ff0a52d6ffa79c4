package capture

import (
	"testing"

	"mgtrace/probe"
	"mgtrace/trace"
)

// What a library's allocator writes with memcpy is its own business; what strdup
// copies is the program's.
func TestBulkInsideAllocator(t *testing.T) {
	for _, tt := range []struct {
		name     string
		role     probe.Role
		declared bool
		kept     int
	}{
		{"realloc", probe.RoleRealloc, false, 0},
		{"strdup", probe.RoleStrdup, false, 1},
		{"pool_get", probe.RoleMalloc, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := &probe.Plan{
				Images: []*probe.Image{{}},
				Funcs: []probe.Func{
					{Name: tt.name, Role: tt.role, Declared: tt.declared, Size: 2, Entry: probe.Site{Addr: 0x10, Offset: 0x10}, Returns: []probe.Site{{Addr: 0x20, Offset: 0x20}}},
					{Name: "memcpy", Role: probe.RoleWriter, Entry: probe.Site{Addr: 0x30, Offset: 0x30}},
				},
			}
			sites := Sites(plan)
			index := func(addr uint64) int {
				for i := range sites {
					if sites[i].Addr == addr {
						return i
					}
				}
				t.Fatalf("no site at %#x", addr)
				return -1
			}
			kept := 0
			a := New(plan, sites, nil, func(ev *trace.Event) error {
				if ev.Kind == trace.KindBulk {
					kept++
				}
				return nil
			})
			for _, h := range []Hit{
				{Op: Stop, Index: index(0x10), Thread: 7, SP: 0x7000, Regs: Regs{Ret: 0x99, Args: [6]uint64{0x500, 8}}},
				{Op: Bulk, Index: 1, Thread: 7, SP: 0x6f00, Addr: 0x600, Size: 4, Data: []byte("abc\x00")},
				{Op: Stop, Index: index(0x20), Thread: 7, SP: 0x7000, Result: 0x600},
			} {
				if err := a.Hit(&h); err != nil {
					t.Fatal(err)
				}
			}
			if kept != tt.kept {
				t.Errorf("%d writes reported, want %d", kept, tt.kept)
			}
		})
	}
}
