package mgpp

import (
	"encoding/binary"
	"slices"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// Without returns the graph of v in which operation t stored nothing: its bytes
// read as they were before it, where no later operation had overwritten them
// by v's time. It stacks, so that several operations can be undone. Births,
// deaths and resizes stay as they were: undoing them is not supported.
func (h *History) Without(v View, t Timestamp) View {
	switch v := v.(type) {
	case *patched:
		return &patched{h.Without(v.View, t), v.addr, v.data}
	case *snapshot:
		undone := append(slices.Clip(v.without()), uint32(min(t, maxTime)))
		return &snapshot{h: v.h, t: v.t, undone: &undone}
	}
	return &snapshot{h: h, t: h.clip(v.Time()), undone: &[]uint32{uint32(min(t, maxTime))}}
}

// With returns the graph of v in which the bytes at addr are data, stored at
// v's time: a pointer among them leads to the node that lives there then. The
// view keeps data.
func With(v View, addr trace.Addr, data []byte) View {
	return &patched{v, addr, data}
}

// patched is a view with other bytes in one place.
type patched struct {
	View
	addr trace.Addr
	data []byte
}

// overlap returns which bytes of [addr, addr+n) are replaced, and by what.
func (p *patched) overlap(addr trace.Addr, n int) (from int, data []byte) {
	lo, hi := max(addr, p.addr), min(addr+trace.Addr(n), p.addr+trace.Addr(len(p.data)))
	if lo >= hi {
		return 0, nil
	}
	return int(lo - addr), p.data[lo-p.addr : hi-p.addr]
}

func (p *patched) Read(addr trace.Addr, b *Bytes) bool {
	if !p.View.Read(addr, b) {
		return false
	}
	if i, data := p.overlap(addr, len(b.Data)); data != nil {
		copy(b.Data[i:], data)
		setAll(b.Written[i:i+len(data)], true)
		b.Newest = p.Time()
	}
	return true
}

func (p *patched) Target(addr trace.Addr, as coded.Pointer) Target {
	if _, data := p.overlap(addr, 8); data == nil {
		return p.View.Target(addr, as)
	}
	var buf [8]byte
	b := Bytes{Data: buf[:]}
	if !p.Read(addr, &b) || slices.Contains(b.Written, false) {
		return Target{}
	}
	r := Target{State: Null, Value: as.Decode(binary.LittleEndian.Uint64(buf[:]), uint64(addr)), Since: p.Time()}
	if r.Value == 0 {
		return r
	}
	r.State = Wild
	if id, ok := p.NodeAt(trace.Addr(r.Value)); ok {
		n, _ := p.Node(id)
		r.State, r.Node, r.Offset = Points, id, r.Value-uint64(n.Start)
	} else if id, ok := p.NodeAt(trace.Addr(r.Value - 1)); ok {
		r.Past = id
	}
	return r
}
