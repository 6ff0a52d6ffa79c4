//go:build !amd64

package log

import "unsafe"

const assembled = false

func commonAssembled(r, to unsafe.Pointer, most uintptr, forms unsafe.Pointer, mask uintptr, o *others) (on unsafe.Pointer, at, left uintptr) {
	return common(r, to, most, forms, mask, o)
}
