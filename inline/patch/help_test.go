package patch

import (
	"fmt"

	"mgtrace/x86"
)

// testEmitter's trampolines are some nops, the displaced instruction and the
// jump back.
type testEmitter struct {
	code  []Code
	addrs []uint64 // per site ID
	nops  int
	span  int // what it says that each trampoline stands for; 0: the instruction
}

func (e *testEmitter) Size(site int) (int, error) {
	_, err := e.Emit(nil, site, e.addrs[site])
	return e.nops + 40, err
}

func (e *testEmitter) Emit(buf []byte, site int, at uint64) ([]byte, error) {
	start := len(buf)
	for range e.nops - site%7 {
		buf = append(buf, 0x90)
	}
	addr := e.addrs[site]
	in, err := x86.Decode(bytesAt(e.code, addr), addr)
	if err != nil {
		return buf, err
	}
	buf, err = Relocate(buf, e.code, addr, at+uint64(len(buf)-start))
	if err != nil {
		return buf, err
	}
	return Jump(buf, at+uint64(len(buf)-start), addr+uint64(max(in.Len, e.span)))
}

func (e *testEmitter) Span(site int) int {
	in, _ := x86.Decode(bytesAt(e.code, e.addrs[site]), e.addrs[site])
	return max(in.Len, e.span)
}

// emitterFor gives the sites IDs in order.
func emitterFor(code []Code, sites []Site, nops int) *testEmitter {
	e := &testEmitter{code: code, nops: nops}
	for i := range sites {
		sites[i].ID = i
		e.addrs = append(e.addrs, sites[i].Addr)
	}
	return e
}

// heapStore says that a store may write to the heap: what the engine patches.
func heapStore(in *x86.Inst) bool {
	s := &in.Store
	return in.Effect == x86.EffectStore && !s.Absolute() && s.Base != x86.RSP && s.Index != x86.RSP && s.Segment == 0
}

// sitesOf sweeps the code for the instructions that want says.
func sitesOf(code []Code, want func(in *x86.Inst) bool) []Site {
	var sites []Site
	for _, c := range code {
		for _, f := range c.Funcs {
			for pc := f.Lo; pc < f.Hi; {
				in, err := x86.Decode(c.Bytes[pc-c.Addr:f.Hi-c.Addr], pc)
				if err != nil {
					pc++
					continue
				}
				if want(&in) {
					sites = append(sites, Site{Addr: pc, Len: in.Len})
				}
				pc += uint64(in.Len)
			}
		}
	}
	return sites
}

func percent(n, of int) string { return fmt.Sprintf(" %.2f %%", 100*float64(n)/float64(max(of, 1))) }
