package patch

import "mgtrace/x86"

// WithPadding returns the code with its ranges extended by the padding behind
// them: nops, and nothing else, up to the next range. Compilers align functions
// with it and no unwind entry covers it. A return at the end of a function has
// one byte; only bytes behind it that may change get it a jump.
//
// What looks like nops there and is data would have to be constants between two
// functions, executable, and equal to an assembler's padding.
func WithPadding(code []Code) []Code {
	out := make([]Code, len(code))
	for i, c := range code {
		funcs := make([]Range, 0, len(c.Funcs))
		for n, f := range c.Funcs {
			next := c.end()
			if n+1 < len(c.Funcs) {
				next = c.Funcs[n+1].Lo
			}
			if c.nops(f.Hi, next) {
				f.Hi = next
			}
			funcs = append(funcs, f)
		}
		c.Funcs = funcs
		out[i] = c
	}
	return out
}

// maxPadding is the greatest alignment that is taken for padding, in bytes.
const maxPadding = 64

// nops says that [lo, hi) holds whole nops only, and one at least.
func (c *Code) nops(lo, hi uint64) bool {
	if lo < c.Addr || hi > c.end() || lo >= hi || hi-lo > maxPadding {
		return false
	}
	for lo < hi {
		in, err := x86.Decode(c.Bytes[lo-c.Addr:hi-c.Addr], lo)
		if err != nil || !in.IsNop() {
			return false
		}
		lo += uint64(in.Len)
	}
	return true
}
