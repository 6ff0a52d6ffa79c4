package analysis

import (
	"fmt"

	"mgtrace/target/core"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// LoadCore makes a history of one moment: every block is born, then gets its
// bytes, so that pointers lead to blocks that are there.
func (a *Analysis) LoadCore(m mem.Memory, heap *core.Heap) error {
	blocks := heap.InUse()
	for _, b := range blocks {
		if _, err := a.Hist.Apply(&trace.Event{Kind: trace.KindAlloc, Addr: trace.Addr(b.Addr), Size: b.Size, Name: "malloc"}); err != nil {
			return err
		}
	}
	for _, b := range blocks {
		data := make([]byte, b.Size)
		n, _ := m.ReadMemory(data, b.Addr) // n tells
		if n == 0 {
			continue
		}
		if _, err := a.Hist.Apply(&trace.Event{Kind: trace.KindBulk, Name: "core", Addr: trace.Addr(b.Addr), Size: uint64(n), Data: data[:n]}); err != nil {
			return err
		}
	}
	for i, g := range a.spec.Globals {
		ev := trace.Event{Kind: trace.KindGlobal, Addr: a.Bias() + trace.Addr(g.Addr), Size: uint64(g.Size), Aux: uint64(i + 1), Name: g.Name, Data: make([]byte, g.Size)}
		if _, err := m.ReadMemory(ev.Data, uint64(ev.Addr)); err != nil {
			return fmt.Errorf("read the global %s: %w", g.Name, err)
		}
		if _, err := a.Hist.Apply(&ev); err != nil {
			return err
		}
	}
	return nil
}
