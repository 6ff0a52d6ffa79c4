package log

import (
	"cmp"
	"slices"

	"mgtrace/trace"
)

// Range is a range of addresses, half-open.
type Range struct{ Lo, Hi uint64 }

// filter says which stores of a thread are wanted: not those to its own stack, to
// static data that nobody asked for, inside an allocator that keeps its own
// books, or of a writer to its destination. The last answer holds for a whole
// range: most stores go where the one before them went.
type filter struct {
	static []Range // sorted, disjoint; shared by all threads
	stack  Range
	window Range // what an open writer writes is reported as a whole
	quiet  bool  // no store is wanted

	good, bad span // ranges whose answer is known
}

// span is a range by its length, which takes one comparison.
type span struct{ lo, n uint64 }

// inner is the number of addresses from lo on at which a store of any width lies
// in the span.
func (s span) inner() uint64 { return max(s.n, trace.MaxStoreWidth-1) - (trace.MaxStoreWidth - 1) }

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

// reset forgets the known answers: something has changed.
func (f *filter) reset() { f.good, f.bad = span{}, span{} }

// wanted says whether a store of width bytes at addr is.
func (f *filter) wanted(addr, width uint64) bool {
	if off := addr - f.good.lo; off < f.good.n && f.good.n-off >= width {
		return true
	}
	if off := addr - f.bad.lo; off < f.bad.n && f.bad.n-off >= width {
		return false
	}
	if f.quiet {
		return false
	}
	around := Range{0, ^uint64(0)} // the gap that addr lies in
	for _, r := range [...]Range{f.stack, f.window, f.before(addr), f.behind(addr)} {
		switch {
		case r.Hi <= r.Lo:
		case addr < r.Lo:
			around.Hi = min(around.Hi, r.Lo)
		case addr >= r.Hi:
			around.Lo = max(around.Lo, r.Hi)
		case r.Hi-addr >= width:
			f.bad = span{r.Lo, r.Hi - r.Lo}
			return false
		default: // it reaches beyond
			return true
		}
	}
	f.good = span{around.Lo, around.Hi - around.Lo}
	return true
}

// before returns the static range that begins last at or before addr.
func (f *filter) before(addr uint64) (r Range) {
	if i := f.index(addr); i > 0 {
		return f.static[i-1]
	}
	return r
}

// behind returns the first static range that begins after addr.
func (f *filter) behind(addr uint64) (r Range) {
	if i := f.index(addr); i < len(f.static) {
		return f.static[i]
	}
	return r
}

func (f *filter) index(addr uint64) int {
	i, found := slices.BinarySearchFunc(f.static, addr, func(r Range, a uint64) int { return cmp.Compare(r.Lo, a) })
	if found {
		i++
	}
	return i
}
