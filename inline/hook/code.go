package hook

import _ "embed"

//go:generate go run gen.go

// Code is the hook routine.
//
//go:embed hook.bin
var Code []byte

// fixup is an entry of the exception table: a fault at [from, to) goes on at on.
// Offsets in Code.
type fixup struct{ from, to, on uint32 }

// Fixup returns where the routine goes on after a fault at an offset in Code;
// false if none is expected there.
func Fixup(off uint64) (uint64, bool) {
	for _, f := range &fixups {
		if uint64(f.from) <= off && off < uint64(f.to) {
			return uint64(f.on), true
		}
	}
	return 0, false
}
