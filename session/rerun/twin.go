package rerun

import (
	"slices"

	"mgtrace/constraints/eval"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/replay"
	"mgtrace/trace"
)

// twin is a second history, which begins with the structure as it was when the call began. What
// an experiment did is applied, checked, and taken back.
type twin struct {
	hist    *mgpp.History
	graph   *graph.Graph
	checker *eval.Checker
	spoilt  bool // it is not what it was any more
}

// Limits of a twin.
const (
	maxTwin   = 256     // blocks: all of it is checked once
	maxWorked = 1 << 15 // steps of evaluation, in total
)

// newTwin copies the structure at a time; nil where that can not be done, or something was broken then.
func newTwin(p Program, at mgpp.Timestamp) *twin {
	spec, h := p.Spec, p.History
	if len(spec.Members) > 0 || len(spec.Reaches) > 0 || h.LiveCount(at) > maxTwin {
		return nil
	}
	w := &twin{hist: mgpp.New(mgpp.Options{})}
	w.graph = graph.New(spec, w.hist, p.Typing, graph.Options{Bias: p.Bias, Entry: p.Symbols.EntryName})
	w.checker = eval.NewChecker(spec, w.hist, w.graph, eval.Options{})
	w.checker.Heed(func() bool { return w.checker.Work() > maxWorked })
	v := h.At(at)
	for id := range h.Live(at) {
		n, _ := v.Node(id)
		ev := trace.Event{Kind: trace.KindAlloc, Addr: n.Start, Size: n.Size, Name: n.Alloc, Stack: n.Stack}
		switch {
		case n.Tracked || n.Before:
			return nil
		case n.Global != 0:
			ev = trace.Event{Kind: trace.KindGlobal, Addr: n.Start, Size: n.Size, Name: n.Alloc, Aux: uint64(n.Global)}
		}
		if _, err := w.hist.Apply(&ev); err != nil {
			return nil
		}
	}
	for id := range h.Live(at) {
		n, _ := v.Node(id)
		b := mgpp.Bytes{Data: make([]byte, n.Size)}
		if v.Read(n.Start, &b) && !w.restore(n.Start, &b) {
			return nil
		}
	}
	if w.broken() != 0 || w.checker.Stopped() {
		return nil
	}
	return w
}

// restore writes what is known of some bytes.
func (w *twin) restore(addr trace.Addr, b *mgpp.Bytes) bool {
	for i := 0; i < len(b.Data); {
		k := i
		for k < len(b.Data) && b.Written[k] {
			k++
		}
		if k > i {
			ev := trace.Event{Kind: trace.KindBulk, Addr: addr + trace.Addr(i), Size: uint64(k - i), Data: b.Data[i:k], Name: "memory"}
			if _, err := w.hist.Apply(&ev); err != nil {
				return false
			}
		}
		i = max(k, i+1)
	}
	return true
}

// broken is how many instances are.
func (w *twin) broken() int { return w.checker.CountBroken(w.hist.Now()) }

// healthy reports whether nothing is broken behind some effects, as far as that can be told, and no memory was used that
// is not there.
func (w *twin) healthy(effects []replay.Effect) (ok bool) {
	if w.spoilt {
		return false
	}
	var undo []func() bool
	ok = true
	for i := 0; i < len(effects) && ok; i++ {
		var back func() bool
		if back, ok = w.apply(&effects[i]); back != nil {
			undo = append(undo, back)
		}
	}
	ok = ok && w.broken() == 0 && !w.checker.Stopped()
	for i := len(undo) - 1; i >= 0; i-- {
		w.spoilt = !undo[i]() || w.spoilt
	}
	return ok
}

// apply does one effect, and returns what takes it back.
func (w *twin) apply(e *replay.Effect) (back func() bool, ok bool) {
	v := w.hist.At(w.hist.Now())
	addr := trace.Addr(e.Addr)
	id, lives := v.NodeAt(addr)
	n, _ := v.Node(id)
	do := func(ev trace.Event) bool { _, err := w.hist.Apply(&ev); return err == nil }
	switch e.Kind {
	case replay.Resize:
		return nil, false // it would be another block, to which other pointers lead
	case replay.Alloc:
		if lives {
			return nil, false
		}
		ev := trace.Event{Kind: trace.KindAlloc, PC: trace.Addr(e.PC), Addr: addr, Size: e.Size, Name: e.Name, Stack: addrs(e.Stack)}
		if e.Zeroed {
			ev.Flags = trace.FlagZeroed
		}
		return func() bool { return do(trace.Event{Kind: trace.KindFree, Addr: addr, Name: "free"}) }, do(ev)
	case replay.Free:
		if !lives || n.Start != addr || n.Global != 0 {
			return nil, false
		}
		b := mgpp.Bytes{Data: make([]byte, n.Size)}
		v.Read(addr, &b)
		again := trace.Event{Kind: trace.KindAlloc, Addr: addr, Size: n.Size, Name: n.Alloc, Stack: n.Stack}
		into := w.into(v, id, addr)
		return func() bool {
			ok := do(again) && w.restore(addr, &b)
			for _, cell := range into { // they lead to what lived there when they were stored
				p := mgpp.Bytes{Data: make([]byte, 8)}
				ok = ok && w.hist.At(w.hist.Now()).Read(cell, &p) && w.restore(cell, &p)
			}
			return ok
		}, do(trace.Event{Kind: trace.KindFree, Addr: addr, Name: e.Name})
	}
	if !lives {
		return nil, true // memory that nothing is known of, as static memory that no constraint reads
	}
	if uint64(n.Start)+n.Size < e.Addr+e.Size {
		return nil, false
	}
	b := mgpp.Bytes{Data: make([]byte, e.Size)}
	v.Read(addr, &b)
	return func() bool { return w.restore(addr, &b) }, do(trace.Event{Kind: trace.KindBulk, PC: trace.Addr(e.PC), Addr: addr, Size: e.Size, Data: e.Data, Name: "memory"})
}

// into lists the pointers that lead to a block: edges, and what else nodes have.
func (w *twin) into(v mgpp.View, id mgpp.NodeID, addr trace.Addr) (out []trace.Addr) {
	w.graph.Advance()
	for _, o := range w.graph.At(v, addr) {
		out = append(out, w.graph.Into(o, v, maxInto)...)
	}
	for _, t := range w.graph.Spec().Types {
		if t.Layout == nil || t.Array {
			continue
		}
		fields := t.Layout.PointerFields()
		for _, o := range w.graph.Live(t, v.Time(), nil) {
			for _, s := range fields {
				cell := w.graph.Object(o).Addr + trace.Addr(s.Offset)
				if to := v.Target(cell, coded.Plain); to.State == mgpp.Points && to.Node == id && !slices.Contains(out, cell) {
					out = append(out, cell)
				}
			}
		}
	}
	return out
}

// maxInto bounds the pointers to a block that is freed.
const maxInto = 256

func addrs(in []uint64) []trace.Addr {
	out := make([]trace.Addr, len(in))
	for i, a := range in {
		out[i] = trace.Addr(a)
	}
	return out
}
