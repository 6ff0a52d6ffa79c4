package trace

import (
	"slices"
	"unsafe"
)

// leadingZeros: the processor has LZCNT, as those of 2013 and later do.
var leadingZeros = hasLeadingZeros() // read-only

func hasLeadingZeros() bool

// codeStores is what addPiece does, for the stores before the first one that has several words of
// value but not two, or of these and a base, or is a block of several pages, or none that addPiece takes. It returns how many
// these are, and how many bytes of the last column, which go to more. A value of two words begins
// before wide[pairs].
//
// It is the innermost loop of recording to a file, and half of what that costs, with perl: the
// compiler's has twice as many instructions.
//
//go:noescape
func codeStores(c *storeEncoder, recs *StoreRec, n int, more *byte, wide *byte, pairs uint64) (done, used int)

// addFast takes stores as addPiece does, at most piece, until it meets one that it does not know
// how to, and returns how many. The processor must have LZCNT.
func (c *storeEncoder) addFast(recs []StoreRec, wide []byte) int {
	if len(recs) > full-c.n {
		panic("trace: more stores than a block takes")
	}
	c.extra = slices.Grow(c.extra, piece*maxMore)
	n := len(c.extra)
	pairs := uint64(max(len(wide), 15) - 15)
	done, used := codeStores(c, unsafe.SliceData(recs), len(recs), unsafe.SliceData(c.extra[n:n+1]), unsafe.SliceData(wide), pairs)
	c.extra = c.extra[:n+used]
	return done
}
