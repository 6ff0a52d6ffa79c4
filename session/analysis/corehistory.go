package analysis

import (
	"fmt"

	"mgtrace/target/core"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// LoadCore makes a history of one moment: every block is there, then gets its
// bytes, so that pointers lead to blocks that are there. It has no C-points.
func (a *Analysis) LoadCore(m mem.Memory, heap *core.Heap) error {
	a.moment = true
	for i, g := range a.spec.Globals { // their bytes come last: they lead to blocks, which must be there
		ev := trace.Event{Kind: trace.KindGlobal, Addr: a.Bias() + trace.Addr(g.Addr), Size: uint64(g.Size), Aux: uint64(i + 1), Name: g.Name}
		if _, err := a.Hist.Apply(&ev); err != nil {
			return err
		}
	}
	blocks := heap.InUse()
	for _, b := range blocks {
		if _, err := a.Hist.Apply(&trace.Event{Kind: trace.KindAlloc, Flags: trace.FlagBefore, Addr: trace.Addr(b.Addr), Size: b.Size, Name: "malloc"}); err != nil {
			return err
		}
	}
	for _, b := range blocks {
		if _, err := a.loadBytes(m, trace.Addr(b.Addr), b.Size); err != nil {
			return err
		}
	}
	for _, g := range a.spec.Globals {
		n, err := a.loadBytes(m, a.Bias()+trace.Addr(g.Addr), uint64(g.Size))
		if err == nil && n < uint64(g.Size) {
			err = mem.ErrUnreadable
		}
		if err != nil {
			return fmt.Errorf("read the global %s: %w", g.Name, err)
		}
	}
	return nil
}

// loadBytes writes what the core file has of some bytes into the history, and says how many
// these are.
func (a *Analysis) loadBytes(m mem.Memory, at trace.Addr, size uint64) (uint64, error) {
	data := make([]byte, size)
	n, _ := m.ReadMemory(data, uint64(at)) // n tells
	if n == 0 {
		return 0, nil
	}
	_, err := a.Hist.Apply(&trace.Event{Kind: trace.KindBulk, Name: "core", Addr: at, Size: uint64(n), Data: data[:n]})
	return uint64(n), err
}
