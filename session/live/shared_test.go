package live

import (
	"slices"
	"testing"

	"mgtrace/target/mem"
	"mgtrace/trace"
)

// TestSharedFiles: a file that is mapped shared is told, once; a private copy, code, a device, memory of no file, and what the C library maps are not.
func TestSharedFiles(t *testing.T) {
	maps := []mem.Map{
		{Lo: 0x1000, Hi: 0x9000, Read: true, Shared: true, Inode: 7, Path: "/var/lib/data.mdb"},
		{Lo: 0x10000, Hi: 0x11000, Read: true, Inode: 8, Path: "/var/lib/copy"},
		{Lo: 0x12000, Hi: 0x13000, Read: true, Exec: true, Shared: true, Inode: 9, Path: "/var/lib/code"},
		{Lo: 0x14000, Hi: 0x15000, Read: true, Write: true, Shared: true, Inode: 10, Path: "/dev/dri/card0"},
		{Lo: 0x16000, Hi: 0x17000, Read: true, Write: true, Shared: true, Inode: 11, Path: "/dev/shm/queue"},
		{Lo: 0x18000, Hi: 0x19000, Read: true, Write: true, Shared: true},
		{Lo: 0x1a000, Hi: 0x1b000, Read: true, Shared: true, Inode: 12, Path: "/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache"},
	}
	var s sharedFiles
	for _, addr := range []trace.Addr{0x1000, 0x2000, 0x10000, 0x12000, 0x14000, 0x16000, 0x18000, 0x1a000, 0x20000} {
		s.note(addr, func() ([]mem.Map, error) { return maps, nil })
	}
	want := []trace.Shared{{Path: "/var/lib/data.mdb", Size: 0x8000}, {Path: "/dev/shm/queue", Size: 0x1000}}
	if !slices.Equal(s.files, want) {
		t.Errorf("%v, want %v", s.files, want)
	}
}
