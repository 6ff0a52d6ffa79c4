package mgpp

import "mgtrace/trace"

// Changed calls f for each range [lo, hi) that an operation undone by Without
// had written: there the view may differ from the history at its time.
func (s *snapshot) Changed(f func(lo, hi trace.Addr)) {
	for _, t := range s.without() {
		if t == 0 || t > s.h.ops.n {
			continue
		}
		if addr, size := s.h.extent(t); size > 0 {
			f(trace.Addr(addr), trace.Addr(addr+size))
		}
	}
}

// Changed calls f for the patched range, and for those of the view beneath.
func (p *patched) Changed(f func(lo, hi trace.Addr)) {
	if v, ok := p.View.(interface{ Changed(func(lo, hi trace.Addr)) }); ok {
		v.Changed(f)
	}
	f(p.addr, p.addr+trace.Addr(len(p.data)))
}
