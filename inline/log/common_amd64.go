package log

import (
	"unsafe"

	"mgtrace/trace"
)

const assembled = true

// commonAssembled does what common does. A third of that loop's time was waiting for the log, which
// another processor has just written: this one fetches it ahead, which Go can not say.
//
//go:noescape
func commonAssembled(r, to unsafe.Pointer, most uintptr, forms unsafe.Pointer, mask uintptr, o *others) (on unsafe.Pointer, at, left uintptr)

// What common_amd64.s takes for granted: else this does not compile.
var _ = [1]int{}[unsafe.Sizeof(trace.StoreRec{})-32|unsafe.Offsetof(trace.StoreRec{}.Site)|unsafe.Offsetof(trace.StoreRec{}.Addr)-8|
	unsafe.Offsetof(trace.StoreRec{}.Base)-16|unsafe.Offsetof(trace.StoreRec{}.Value)-24|unsafe.Sizeof(zone{})-32]
