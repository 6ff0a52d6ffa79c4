package objfile

import (
	"bytes"
	"math/rand"
	"testing"

	"mgtrace/objfile/dwarf"
)

// exercise asks a file everything, at a few addresses.
func exercise(f *File) {
	f.HasDWARF()
	f.CodeRanges()
	f.LoadRange()
	f.SourceFiles()
	f.LineAddrs("main.c", 10)
	f.LandingPads()
	f.NearestLine("list.c", 10)
	f.Inlined("scale")
	f.Globals()
	funcs := f.Funcs()
	for i, fn := range funcs {
		if i > 40 {
			break
		}
		f.Params(fn.Addr)
		f.ReturnType(fn.Addr)
		for _, a := range []uint64{fn.Addr, fn.Addr + fn.Size/2} {
			f.Frames(a)
			f.Variables(a)
			f.Code(a, 16)
			var regs Regs
			for r := range regs.R {
				regs.Set(r, 0x7fff0000+uint64(r)*8)
			}
			f.Step(a, &regs, func(addr uint64, b []byte) bool { clear(b); b[0] = 1; return true }, 0)
		}
	}
	for i, name := range f.Universe().Names() {
		if i > 200 {
			break
		}
		for _, t := range f.Universe().Lookup(name) {
			t.Scalars()
		}
	}
	f.Universe().Const("FIRST")
	f.FuncsNamed("push*")
}

// TestCorrupted damages programs at random places, mostly in their debug
// sections, and expects answers of some kind.
func TestCorrupted(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for _, c := range []config{{"gcc", "-g -gdwarf-5 -O2"}, {"gcc", "-g -gdwarf-4 -O2"}, {"clang-14", "-g -gdwarf-5 -O1"}} {
		prog := read(t, compile(t, c, t.TempDir(), cProgram...))
		f, err := Parse("whole", bytes.NewReader(prog))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < rounds; i++ {
			bad := bytes.Clone(prog)
			damage(rnd, f, bad)
			if g, err := Parse("damaged", bytes.NewReader(bad)); err == nil {
				exercise(g)
			}
		}
		for i := 0; i < 20; i++ { // cut off
			if g, err := Parse("cut", bytes.NewReader(prog[:rnd.Intn(len(prog))])); err == nil {
				exercise(g)
			}
		}
	}
}

// damage changes some bytes of one section.
func damage(rnd *rand.Rand, f *File, b []byte) {
	sections := f.main.elf.Sections
	lo, n := 0, len(b)
	if s := sections[rnd.Intn(len(sections))]; rnd.Intn(10) > 0 && s.Size > 0 && s.Offset+s.FileSize <= uint64(len(b)) && s.FileSize > 0 {
		lo, n = int(s.Offset), int(s.FileSize)
	}
	values := []byte{0, 1, 0x7f, 0x80, 0xff}
	for k := rnd.Intn(20) + 1; k > 0; k-- {
		v := byte(rnd.Intn(256))
		if rnd.Intn(2) == 0 {
			v = values[rnd.Intn(len(values))]
		}
		b[lo+rnd.Intn(n)] = v
	}
}

// FuzzSections feeds debug sections to the reader directly.
func FuzzSections(f *testing.F) {
	f.Add([]byte("\x0b\x00\x00\x00\x04\x00\x00\x00\x00\x00\x08\x01a\x00\x00"), []byte("\x01\x11\x01\x03\x08\x00\x00\x00"), []byte("\x00"))
	f.Add([]byte("\x0a\x00\x00\x00\x05\x00\x01\x08\x00\x00\x00\x00\x01\x00"), []byte("\x01\x11\x01\x55\x23\x10\x17\x00\x00\x00"), []byte("\x05\x00\x00\x00\x05\x00\x08\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, info, abbrev, other []byte) {
		if len(info)+len(abbrev)+len(other) > 1<<14 {
			return
		}
		for _, d := range []*dwarf.Data{
			dwarf.New(dwarf.Sections{Info: info, Abbrev: abbrev, Str: other, Line: other, Ranges: other, RngLists: other, Loc: other, LocLists: other, Addr: other, StrOffsets: other}),
			dwarf.NewSplit(dwarf.Sections{Types: info, Info: info, Abbrev: abbrev, Str: other, RngLists: other, Loc: other, LocLists: other}),
		} {
			for _, u := range d.Units() {
				u.Ranges()
				if l := u.Lines(); l != nil {
					l.Row(1)
				}
				u.Walk(u.Root(), func(e *dwarf.Entry, depth int) dwarf.Action {
					e.Ranges()
					e.String(dwarf.AttrName)
					e.ExprAt(dwarf.AttrLocation, 1)
					e.Target(dwarf.AttrType)
					if e.Off%3 == 0 {
						return dwarf.Over
					}
					return dwarf.Into
				})
			}
		}
		dwarf.NewPack(dwarf.Sections{Info: info, Abbrev: abbrev}, other, other).Unit(1)
	})
}

// FuzzFrames feeds call frame information to the unwinder.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("\x14\x00\x00\x00\x00\x00\x00\x00\x01zR\x00\x01\x78\x10\x01\x00\x0c\x07\x08\x90\x01\x00\x00" +
		"\x1c\x00\x00\x00\x1c\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x41\x0e\x10\x86\x02\x0f\x03\x77\x08\x06\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, eh := range []bool{true, false} {
			for _, d := range readFrames(data, 0x2000, eh) {
				tab := d.execute()
				var regs Regs
				for r := range regs.R {
					regs.Set(r, uint64(r)<<8)
				}
				var buf [8]byte
				m := exprMachine{regs: &regs, buf: &buf, mem: func(_ uint64, b []byte) bool { clear(b); return true }}
				for i := range tab.rows {
					cfa, _ := m.cfa(&tab.rows[i], tab)
					for r := range tab.rows[i].regs {
						m.rule(&tab.rows[i].regs[r], tab, r, cfa)
					}
				}
			}
		}
	})
}
