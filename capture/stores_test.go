package capture

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/probe"
	"mgtrace/trace"
	"mgtrace/x86"
)

// storePlan is the test plan with stores of several widths, and their sites.
func storePlan() (*probe.Plan, []trace.StoreSite) {
	p := testPlan()
	for _, w := range []int{1, 4, 16, 10} {
		at := uint64(0x610 + 8*len(p.Stores))
		p.Stores = append(p.Stores, probe.Store{Site: probe.Site{Addr: at, Offset: at}, Effect: x86.Store{Width: w}})
	}
	var sites []trace.StoreSite
	for i := range p.Stores {
		s := &p.Stores[i]
		site := trace.StoreSite{PC: trace.Addr(s.Addr), Width: uint8(s.Effect.Width), Base: trace.BaseForm(i % 3), Disp: int64(i % 3 % 2 * 16)}
		if s.Effect.Atomic {
			site.Flags = trace.FlagAtomic | trace.FlagRMW
		}
		sites = append(sites, site)
	}
	for _, w := range []uint8{1, 8, 64} {
		sites = append(sites, trace.CallSite(p.Funcs[fCopy].Name, 9, w))
	}
	return p, sites
}

// player gives the same hits to an assembler, its stores in runs or one by one.
type player struct {
	asm   *Assembler
	plan  *probe.Plan
	sites []trace.StoreSite
	runs  bool
	got   []trace.Event
	whole int // stores that arrived in runs
}

func newPlayer(runs, passed bool) *player {
	p := &player{runs: runs}
	p.plan, p.sites = storePlan()
	p.asm = New(p.plan, Sites(p.plan), nil, func(e *trace.Event) error {
		p.keep(e)
		return nil
	})
	p.asm.Runs(p.sites, nil)
	if passed {
		p.asm.Runs(p.sites, func(s *trace.Stores) error {
			var e trace.Event
			for i := range s.Recs {
				s.Event(i, p.sites, &e)
				p.keep(&e)
			}
			p.whole += len(s.Recs)
			return nil
		})
	}
	return p
}

func (p *player) keep(e *trace.Event) {
	c := *e
	c.Data = append([]byte(nil), e.Data...)
	c.Stack = append([]trace.Addr(nil), e.Stack...)
	c.Args = append([]uint64(nil), e.Args...)
	p.got = append(p.got, c)
}

func (p *player) stores(t *testing.T, s *trace.Stores) {
	if p.runs {
		if err := p.asm.Stores(s); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i := range s.Recs {
		r := &s.Recs[i]
		site := &p.sites[r.Site]
		h := Hit{
			Op: Store, Index: int(r.Site), Thread: s.Thread, Wall: s.Wall, PC: uint64(site.PC),
			Addr: r.Addr, Size: uint64(site.Width), Base: uint64(site.BaseOf(r)),
		}
		if site.IsCall() {
			h.Op, h.Index = Bulk, fCopy
		}
		if site.Width > 8 {
			h.Data = s.Wide[r.Value:][:site.Width]
		} else {
			h.Data = binary.LittleEndian.AppendUint64(nil, r.Value)[:site.Width]
		}
		p.hit(t, h)
	}
}

func (p *player) hit(t *testing.T, h Hit) {
	if err := p.asm.Hit(&h); err != nil {
		t.Fatal(err)
	}
}

// TestRuns: runs give the same events as their stores one by one, whatever is
// open in their thread.
func TestRuns(t *testing.T) {
	for seed := range uint64(50) {
		players := []*player{newPlayer(false, false), newPlayer(true, false), newPlayer(true, true)}
		for _, p := range players {
			play(t, p, rand.New(rand.NewPCG(seed, 7)))
		}
		for _, p := range players[1:] {
			if d := cmp.Diff(players[0].got, p.got); d != "" {
				t.Fatalf("seed %d (-one by one +runs)\n%s", seed, d)
			}
		}
		if players[2].whole == 0 || players[1].whole != 0 {
			t.Errorf("seed %d: %d stores passed as runs", seed, players[2].whole)
		}
	}
}

// play makes hits: runs of stores among calls of allocators, declared and not,
// watched calls, writes in chunks of which some are lost.
func play(t *testing.T, p *player, rnd *rand.Rand) {
	stop := func(th trace.ThreadID, f int, off, sp uint64, h Hit) {
		at := uint64(f+1)*0x1000 + off
		for i := range p.asm.sites {
			if p.asm.sites[i].Offset == at {
				h.Op, h.Index, h.PC, h.SP, h.Thread = Stop, i, at, sp, th
				p.hit(t, h)
			}
		}
	}
	for range 60 {
		th := trace.ThreadID(1 + rnd.IntN(2))
		block := uint64(5000 + 16*rnd.IntN(4))
		switch rnd.IntN(9) {
		case 0:
			h := Hit{Regs: Regs{Ret: 77}}
			h.Regs.Args[0] = block
			stop(th, [...]int{fGet, fPut, fMalloc, fInsert, fFree}[rnd.IntN(5)], 0, 900, h)
		case 1:
			stop(th, [...]int{fGet, fPut, fMalloc, fInsert}[rnd.IntN(4)], 0x10, 900, Hit{Result: block})
		case 2:
			h := Hit{Op: Bulk, Index: fCopy, Thread: th, Addr: block, Size: 6, Data: []byte{1, 2}, Flags: More, PC: 9}
			p.hit(t, h)
			if rnd.IntN(2) == 0 {
				h.Flags, h.Offset, h.Data = 0, 2, []byte{3, 4, 5, 6}
				p.hit(t, h)
			}
		case 3:
			p.hit(t, Hit{Op: ThreadExit, Thread: th})
		default:
			s := trace.Stores{Thread: th, Wall: int64(rnd.IntN(100))}
			for range rnd.IntN(6) {
				r := trace.StoreRec{Site: uint32(rnd.IntN(len(p.sites))), Addr: uint64(4990 + rnd.IntN(100)), Base: uint64(rnd.IntN(5000)), Value: rnd.Uint64()}
				site := &p.sites[r.Site]
				if site.IsCall() {
					s.Calls++
				}
				switch {
				case site.Width > 8:
					r.Value = uint64(len(s.Wide))
					for range site.Width {
						s.Wide = append(s.Wide, byte(rnd.Uint32()))
					}
				case site.Width < 8:
					r.Value &= 1<<(8*site.Width) - 1
				}
				s.Recs = append(s.Recs, r)
			}
			p.stores(t, &s)
		}
	}
}

// TestRunErrors: the sink's error ends the recording; a store that the plan does
// not have is noticed.
func TestRunErrors(t *testing.T) {
	p := newPlayer(true, false)
	full := errors.New("full")
	s := trace.Stores{Thread: 1, Recs: []trace.StoreRec{{Site: 0}}}
	p.asm.Runs(p.sites, func(*trace.Stores) error { return full })
	for range 2 {
		if err := p.asm.Stores(&s); err != full {
			t.Errorf("got %v", err)
		}
	}
	p = newPlayer(true, false)
	s.Recs[0].Site = 99
	if err := p.asm.Stores(&s); err == nil || err.Error() != "run of stores: no index 99 in 9" {
		t.Errorf("got %v", err)
	}
}

// A run costs the same whatever its length.
func BenchmarkRun(b *testing.B) {
	p := newPlayer(true, false)
	p.asm.Runs(p.sites, func(*trace.Stores) error { return nil })
	s := trace.Stores{Thread: 1, Recs: make([]trace.StoreRec, 1024)}
	b.ReportAllocs()
	for b.Loop() {
		if err := p.asm.Stores(&s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(s.Recs)), "ns/store")
}
