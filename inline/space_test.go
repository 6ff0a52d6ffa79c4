package inline

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/inline/patch"
	"mgtrace/target/mem"
)

func TestFreeSpace(t *testing.T) {
	const text, libc, stack = 0x5555_5555_4000, 0x7fff_f7a0_0000, 0x7fff_fffd_e000
	maps := []mem.Map{
		{Lo: text, Hi: text + 0x10000, Path: "/prog"},
		{Lo: libc, Hi: libc + 0x20_0000, Path: "/libc"},
		{Lo: stack, Hi: stack + 0x2_1000, Path: "[stack]"},
	}
	brk := uint64(text + 0x50000)
	want := []patch.Range{
		{Lo: lowest + margin, Hi: text - margin},
		{Lo: text + 0x10000 + margin, Hi: brk},
		{Lo: brk + heapRoom, Hi: libc - margin},
	}
	if diff := cmp.Diff(want, freeSpace(maps, brk)); diff != "" {
		t.Error(diff)
	}
}

// A program that is not position-independent has its heap right behind it.
func TestFreeSpaceLow(t *testing.T) {
	maps := []mem.Map{{Lo: 0x400000, Hi: 0x500000, Path: "/prog"}}
	want := []patch.Range{
		{Lo: lowest + margin, Hi: 0x400000 - margin},
		{Lo: 0x510000, Hi: 0x600000},
		{Lo: 0x600000 + heapRoom, Hi: highest - margin},
	}
	if diff := cmp.Diff(want, freeSpace(maps, 0x600000)); diff != "" {
		t.Error(diff)
	}
}

func TestStartBrk(t *testing.T) {
	if startBrk(os.Getpid()) == 0 {
		t.Error("this process has a program break, and may look at itself")
	}
}
