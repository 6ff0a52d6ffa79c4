package log

import (
	"cmp"
	"slices"

	"mgtrace/trace"
)

// Range is a range of addresses, half-open.
type Range struct{ Lo, Hi uint64 }

// Filter says which stores of a thread are wanted: not those to its own stack, to
// static data that nobody asked for, inside an allocator that keeps its own
// books, or of a writer to its destination. A Decoder keeps the last two.
type Filter struct {
	static []Range // sorted, disjoint; shared by all threads
	stack  Range
	window Range // what an open writer writes is reported as a whole
	quiet  bool  // no store is wanted

	// What static data and the stack say of addresses, by zoneOf: most stores go
	// where others went.
	zones [numZones]zone
}

// zone is a range of addresses with one answer.
type zone struct {
	lo, room uint64 // a store of any width at lo … lo+room-1 lies in it
	n        uint64 // its length
	wanted   bool
}

const (
	numZones  = 256
	zoneShift = 16 // static data lies that near to the heap where addresses are not random (setarch -R)
)

// zoneOf is the place in Filter.zones of what is known about addr.
func zoneOf(addr uint64) uintptr { return uintptr(addr >> zoneShift % numZones) }

// sortRanges returns the ranges in order, joined where they touch.
func sortRanges(ranges []Range) []Range {
	s := slices.Clone(ranges)
	slices.SortFunc(s, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	out := s[:0]
	for _, r := range s {
		switch n := len(out); {
		case r.Hi <= r.Lo:
		case n > 0 && r.Lo <= out[n-1].Hi:
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		default:
			out = append(out, r)
		}
	}
	return out
}

// NewFilter returns the filter of a thread with this stack; static is data whose stores
// are not wanted.
func NewFilter(static []Range, stack Range) Filter {
	return Filter{static: sortRanges(static), stack: stack}
}

// SetStatic replaces the static data.
func (f *Filter) SetStatic(static []Range) { f.setStatic(sortRanges(static)) }

func (f *Filter) setStatic(static []Range) {
	f.static = static
	clear(f.zones[:])
}

// known returns the zones that say whether a store is wanted now.
func (f *Filter) known() *[numZones]zone {
	if f.quiet || f.window.Lo < f.window.Hi {
		return &unknown
	}
	return &f.zones
}

var unknown [numZones]zone // read-only

// Wanted says whether a store of width bytes at addr is.
func (f *Filter) Wanted(addr, width uint64) bool {
	switch w := f.window; {
	case f.quiet, addr >= w.Lo && addr < w.Hi && w.Hi-addr >= width:
		return false
	}
	z := &f.zones[zoneOf(addr)]
	if off := addr - z.lo; off >= z.n || z.n-off < width {
		around, wanted := f.around(addr)
		if around.Hi-addr < width {
			return true // it reaches beyond
		}
		n := around.Hi - around.Lo
		*z = zone{lo: around.Lo, n: n, room: max(n, trace.MaxStoreWidth-1) - (trace.MaxStoreWidth - 1), wanted: wanted}
	}
	return z.wanted
}

// around returns the range with one answer that addr lies in, and the answer.
func (f *Filter) around(addr uint64) (gap Range, wanted bool) {
	gap = Range{0, ^uint64(0)}
	for _, r := range [...]Range{f.stack, f.before(addr), f.behind(addr)} {
		switch {
		case r.Hi <= r.Lo:
		case addr < r.Lo:
			gap.Hi = min(gap.Hi, r.Lo)
		case addr >= r.Hi:
			gap.Lo = max(gap.Lo, r.Hi)
		default:
			return r, false
		}
	}
	return gap, true
}

// before returns the static range that begins last at or before addr.
func (f *Filter) before(addr uint64) (r Range) {
	if i := f.index(addr); i > 0 {
		return f.static[i-1]
	}
	return r
}

// behind returns the first static range that begins after addr.
func (f *Filter) behind(addr uint64) (r Range) {
	if i := f.index(addr); i < len(f.static) {
		return f.static[i]
	}
	return r
}

func (f *Filter) index(addr uint64) int {
	i, found := slices.BinarySearchFunc(f.static, addr, func(r Range, a uint64) int { return cmp.Compare(r.Lo, a) })
	if found {
		i++
	}
	return i
}
