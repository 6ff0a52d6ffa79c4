package emit

import (
	"debug/elf"
	"os"
	"testing"

	"mgtrace/inline/layout"
	"mgtrace/x86"
)

// TestBinaries makes a trampoline for each store of real programs that may
// reach the heap, and for each return.
func TestBinaries(t *testing.T) {
	for _, path := range []string{"/bin/bash", "/usr/bin/python3", "/usr/bin/gdb", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"} {
		t.Run(path, func(t *testing.T) {
			f, err := elf.Open(path)
			if os.IsNotExist(err) {
				t.Skip("not installed")
			} else if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			text := f.Section(".text")
			code, err := text.Data()
			if err != nil {
				t.Fatal(err)
			}
			m := New(sweep(code, text.Addr), Options{Relocate: relocate})
			var buf []byte
			stores, complex, total := 0, 0, 0
			for i := range m.sites {
				if buf, err = m.Emit(buf[:0], i, m.sites[i].PC+1<<20); err != nil {
					t.Fatal(err)
				}
				if m.sites[i].Tag != None {
					stores++
					total += len(buf)
				}
				if m.sites[i].Hook != None {
					complex++
				}
			}
			if stores == 0 {
				t.Fatal("no stores")
			}
			t.Logf("%d stores, %d trampolines with a hook, %d bytes a store", stores, complex, total/stores)
		})
	}
}

// sweep lists the sites of a piece of code.
func sweep(code []byte, addr uint64) []Site {
	var sites []Site
	for off := 0; off < len(code); {
		in, err := x86.Decode(code[off:], addr+uint64(off))
		if err != nil {
			off++
			continue
		}
		s := Site{PC: addr + uint64(off), Code: code[off:], Tag: None, Hook: None}
		off += in.Len
		st := &in.Store
		switch {
		case in.Kind == x86.KindRet && s.Code[0] == 0xc3:
			s.Hook = 1
		case in.Effect != x86.EffectStore || st.Segment != 0 || st.Shape == x86.ShapeUnsupported || st.Absolute():
			continue
		default:
			s.Tag = len(sites)
			if layout.Complex(st) {
				s.Hook = 2
			}
		}
		sites = append(sites, s)
	}
	return sites
}
