package hook

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"

	"mgtrace/capture"
	"mgtrace/inline/layout"
)

// PathsSize is what the table of known stacks takes, bytes.
const PathsSize = layout.PathSet << capture.PathBits

// generals are the ModRM numbers of the registers that unwinding is given, by DWARF's: rbx, rbp,
// r12 to r15. 0: it is not given that one.
var generals = [16]uint16{3: 3, 6: 5, 12: 12, 13: 13, 14: 14, 15: 15}

// PutPath puts a path into the table, which begins at an address divisible by 8, while the
// routine may be reading it: as one of those of its set. stack is the number by which the routine
// tells it, not 0. A path that takes more room than there is, or depends on another register, leaves the
// table as it is.
func PutPath(table []byte, key capture.PathKey, way int, p *capture.Path, stack uint32) {
	if len(p.Regs)+len(p.Words) > layout.PathWords || p.End > math.MaxUint16 {
		return
	}
	for _, g := range p.Regs {
		if generals[g.Reg] == 0 {
			return
		}
	}
	for _, w := range p.Words {
		if w.Off > math.MaxUint16 {
			return
		}
	}
	set := table[key.Set()*layout.PathSet:][:layout.PathSet]
	k := set[layout.PathKeys+way*layout.PathKey:][:layout.PathKey]
	seq := (*uint32)(unsafe.Pointer(&k[layout.KeySeq]))
	n := atomic.LoadUint32(seq)
	atomic.StoreUint32(seq, n+1)
	put64(k, 0, key.PC)
	put64(k, layout.KeySP, key.SP)
	put32(k, layout.KeyStack, stack)
	b := set[layout.PathAt+way*layout.PathSize:][:layout.PathSize]
	i := 0
	put := func(where uint16, want uint64) {
		put64(b, layout.PathWant+8*i, want)
		binary.LittleEndian.PutUint16(b[layout.PathWhere+2*i:], where)
		i++
	}
	for _, g := range p.Regs {
		put(generals[g.Reg], g.Want)
	}
	for _, w := range p.Words {
		put(uint16(w.Off), w.Want)
	}
	binary.LittleEndian.PutUint16(b[layout.PathCounts:], uint16(len(p.Regs)|len(p.Words)<<8))
	binary.LittleEndian.PutUint16(b[layout.PathEnd:], uint16(p.End))
	atomic.StoreUint32(seq, n+2)
}

// ForgetPaths has the routine recognise no stack until paths are put in again.
func ForgetPaths(table []byte) {
	for set := 0; set < 1<<capture.PathBits; set++ {
		for way := range capture.PathWays {
			k := table[set*layout.PathSet+layout.PathKeys+way*layout.PathKey:]
			atomic.StoreUint32((*uint32)(unsafe.Pointer(&k[layout.KeyStack])), 0)
		}
	}
}
