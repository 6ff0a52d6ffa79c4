package mem_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/target/mem"
	"mgtrace/target/mem/memtest"
)

func TestFake(t *testing.T) {
	data := []byte("0123456789abcdefghijklmnop")
	memtest.Run(t, mem.NewFake(
		mem.Segment{Addr: 0x1010, Data: data[16:]}, // adjacent, out of order
		mem.Segment{Addr: 0x1000, Data: data[:16]},
		mem.Segment{Addr: 0x9000, Data: nil},
	), memtest.Case{Addr: 0x1000, Data: data, Hole: 0x1000 + uint64(len(data))})
	if _, err := mem.ReadUint64(&mem.Fake{}, 0); !errors.Is(err, mem.ErrUnreadable) {
		t.Errorf("empty memory: %v", err)
	}
}

func TestParseMaps(t *testing.T) {
	got, err := mem.ParseMaps(strings.NewReader(`
5581e2c4d000-5581e2c4f000 r-xp 00002000 fe:00 131 /usr/bin/a name  with spaces
5581e2c50000-5581e2c51000 rw-p 00003000 fe:00 131                        /usr/bin/gone (deleted)
5581e3a00000-5581e3a21000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000021000 rw-s 00000000 00:01 7                          /line\012break
7f0000021000-7f0004000000 ---p 00000000 00:00 0 
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`[1:]))
	if err != nil {
		t.Fatal(err)
	}
	want := []mem.Map{
		{Lo: 0x5581e2c4d000, Hi: 0x5581e2c4f000, Read: true, Exec: true, Offset: 0x2000, Inode: 131, Path: "/usr/bin/a name  with spaces"},
		{Lo: 0x5581e2c50000, Hi: 0x5581e2c51000, Read: true, Write: true, Offset: 0x3000, Inode: 131, Path: "/usr/bin/gone", Deleted: true},
		{Lo: 0x5581e3a00000, Hi: 0x5581e3a21000, Read: true, Write: true, Path: "[heap]"},
		{Lo: 0x7f0000000000, Hi: 0x7f0000021000, Read: true, Write: true, Shared: true, Inode: 7, Path: "/line\nbreak"},
		{Lo: 0x7f0000021000, Hi: 0x7f0004000000},
		{Lo: 0xffffffffff600000, Hi: 0xffffffffff601000, Exec: true, Path: "[vsyscall]"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if m, ok := mem.FindMap(got, 0x7f0000020fff); !ok || m.Inode != 7 {
		t.Errorf("found %+v, %v", m, ok)
	}
	if m, ok := mem.FindMap(got, 0x7f0004000000); ok {
		t.Errorf("found %+v at an address that is not mapped", m)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add("1000-2000 rw-p 00000000 00:00 0 [heap]\n")
	f.Add("2000-1000 rw-p 0 0 0\n")
	f.Add("x")
	f.Fuzz(func(t *testing.T, text string) {
		maps, _ := mem.ParseMaps(strings.NewReader(text))
		for _, m := range maps {
			if m.Hi < m.Lo {
				t.Errorf("%+v", m)
			}
		}
	})
}

func TestRegs(t *testing.T) {
	r := mem.Regs{RAX: 1, RSP: 7, R15: 15, RIP: 16, GS: 99, EFlags: 0x246}
	back, err := mem.DecodeRegs(r.Encode())
	if err != nil || back != r {
		t.Errorf("%+v, %v", back, err)
	}
	for n, want := range map[int]uint64{0: 1, 7: 7, 15: 15, 16: 16} {
		if got, ok := r.DWARF(n); !ok || got != want {
			t.Errorf("register %d is %d, %v", n, got, ok)
		}
	}
	if _, ok := r.DWARF(17); ok {
		t.Error("there is a register 17")
	}
	if _, err := mem.DecodeRegs(make([]byte, 100)); err == nil {
		t.Error("100 bytes are registers")
	}
}

func TestAuxv(t *testing.T) {
	word := func(v byte) []byte { return append([]byte{v}, make([]byte, 7)...) }
	var b []byte
	for _, v := range []byte{mem.AuxEntry, 5, mem.AuxBase, 6, 0, 0, mem.AuxUID, 1} {
		b = append(b, word(v)...)
	}
	if d := cmp.Diff(mem.Auxv{mem.AuxEntry: 5, mem.AuxBase: 6}, mem.ParseAuxv(b)); d != "" {
		t.Error(d)
	}
	if v := mem.ParseAuxv(b[:20]); len(v) != 1 {
		t.Errorf("cut off: %v", v)
	}
}
