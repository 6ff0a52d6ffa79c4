package mem

import "encoding/binary"

// Tags of the auxiliary vector that are of use here (getauxval(3)).
const (
	AuxPHDR         = 3  // address of the program headers
	AuxPHEnt        = 4  // size of one
	AuxPHNum        = 5  // their number
	AuxPageSize     = 6  // bytes
	AuxBase         = 7  // where the interpreter (ld.so) is mapped; 0 or absent: none
	AuxEntry        = 9  // entry point of the program
	AuxUID          = 11 // real user
	AuxSecure       = 23 // not 0: the program runs with privileges of its own
	AuxExecFn       = 31 // address of the name that was executed
	AuxSysinfoEHDR  = 33 // the vDSO
	auxEntrySize    = 16
	auxNull         = 0
	maxAuxVectorLen = 1 << 12 // entries; the kernel writes about 25
)

// Auxv is an auxiliary vector: tag to value.
type Auxv map[uint64]uint64

// ParseAuxv reads the form of /proc/PID/auxv and of NT_AUXV: pairs of words up
// to AT_NULL. An incomplete pair at the end is ignored.
func ParseAuxv(b []byte) Auxv {
	v := make(Auxv)
	for n := 0; len(b) >= auxEntrySize && n < maxAuxVectorLen; n++ {
		tag := binary.LittleEndian.Uint64(b)
		if tag == auxNull {
			break
		}
		v[tag] = binary.LittleEndian.Uint64(b[8:])
		b = b[auxEntrySize:]
	}
	return v
}
