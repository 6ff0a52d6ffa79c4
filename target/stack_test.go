package target

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"mgtrace/target/mem"
)

// TestStackOf: nothing that is not the thread's own stack passes for it.
func TestStackOf(t *testing.T) {
	const top = 0x7fff_ffff_f000
	var limit unix.Rlimit
	if err := unix.Prlimit(os.Getpid(), unix.RLIMIT_STACK, nil, &limit); err != nil {
		t.Fatal(err)
	}
	grows := [2]uint64{top - min(limit.Cur, StackRoom), top}
	maps := []mem.Map{
		{Lo: 0x5000_0000, Hi: 0x5010_0000, Path: "[heap]"},
		{Lo: 0x7f00_0000_0000, Hi: 0x7f00_0080_0000},
		{Lo: 0x7f10_0000_0000, Hi: 0x7f10_0000_1000, Path: "/lib/libc.so.6"},
		{Lo: top - 0x21000, Hi: top, Path: "[stack]"},
	}
	near := append(maps[:3:3], mem.Map{Lo: top - 0x40000, Hi: top - 0x30000}, maps[3])
	for _, c := range []struct {
		name   string
		maps   []mem.Map
		sp, fs uint64
		want   [2]uint64
	}{
		{"main thread", maps, top - 0x100, 0x7f10_0000_2000, grows},
		{"main thread, a mapping close below", near, top - 0x100, 0, [2]uint64{top - 0x30000, top}},
		{"thread", maps, 0x7f00_0010_0000, 0x7f00_0020_06c0, [2]uint64{0x7f00_0000_0000, 0x7f00_0020_06c0}},
		{"thread on a stack without its descriptor", maps, 0x7f00_0010_0000, 0x7f00_0000_06c0, [2]uint64{}},
		{"coroutine in the heap", maps, 0x5000_1000, 0x7f00_0020_06c0, [2]uint64{}},
		{"nowhere", maps, 0x1000, 0, [2]uint64{}},
	} {
		got := StackOf(os.Getpid(), c.maps, &mem.Regs{RSP: c.sp, FSBase: c.fs})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
