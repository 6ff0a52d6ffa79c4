package x86

// State components of xsave by number, bytes (Intel SDM volume 1, chapter 13; CPUID
// leaf 0DH): in the compact form they follow each other.
var stateSizes = [...]uint32{2: 256, 3: 64, 4: 64, 5: 64, 6: 512, 7: 1024, 8: 128, 9: 8, 10: 8, 11: 16, 12: 24, 13: 8, 14: 48, 15: 808, 16: 8, 17: 64, 18: 8192} // read-only

const (
	// StateHeader is where the header of such a state begins: which components it has, and
	// in which form (XSTATE_BV, XCOMP_BV), 8 bytes each.
	StateHeader = 512

	stateLeast   = 576 // with the header
	stateCompact = 1 << 63
	tileData     = 18
)

// StateSize says how long the state is that xsave or one of its like has written, or that
// xrstor has read, by its header: at most, where its form does not tell.
func StateSize(has, compact uint64, most uint32) uint32 {
	if compact&stateCompact == 0 {
		if has>>2 == 0 {
			return stateLeast
		}
		return most // where its parts lie is for the processor to know
	}
	n := uint32(stateLeast)
	for i := 2; i < 63; i++ {
		switch {
		case compact>>i&1 == 0:
		case i >= len(stateSizes):
			return most
		default:
			if i == tileData {
				n = (n + 63) &^ 63 // the only one that is aligned
			}
			n += stateSizes[i]
		}
	}
	return min(n, most)
}
