package core

import (
	"bytes"
	"fmt"
	"io"
)

// Of the ELF specification and linux/elf.h.
const (
	ehdrSize = 64
	phdrSize = 56
	shdrSize = 64
	etCore   = 4
	emX86_64 = 62
	ptLoad   = 1
	ptNote   = 4
	pnXNum   = 0xffff // the number of program headers is in section header 0
)

// headers are the ELF header's essence.
type headers struct {
	progs []prog
	want  int // number of program headers that there should be
}

// prog is a program header.
type prog struct {
	kind, flags       uint32
	offset, addr      uint64
	fileSize, memSize uint64
}

// readHeaders reads the program headers as far as the file goes.
func readHeaders(r io.ReaderAt, size int64) (*headers, error) {
	var e [ehdrSize]byte
	if _, err := r.ReadAt(e[:], 0); err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case size < ehdrSize || !bytes.HasPrefix(e[:], []byte("\x7fELF")):
		return nil, ErrNotCore
	case e[4] != 2 || e[5] != 1 || le.Uint16(e[18:]) != emX86_64:
		return nil, ErrForeign
	case le.Uint16(e[16:]) != etCore:
		return nil, ErrNotCore
	case le.Uint16(e[54:]) != phdrSize:
		return nil, fmt.Errorf("%w: program headers of %d bytes", ErrNotCore, le.Uint16(e[54:]))
	}
	h := &headers{want: int(le.Uint16(e[56:]))}
	if h.want == pnXNum {
		h.want = manyHeaders(r, le.Uint64(e[40:]), size)
	}
	if h.want > maxSegments {
		return nil, fmt.Errorf("%w: %d program headers", ErrNotCore, h.want)
	}
	off := le.Uint64(e[32:])
	for i := range h.want {
		at := off + uint64(i)*phdrSize
		if at < off || at+phdrSize < at || at+phdrSize > uint64(size) {
			break
		}
		var b [phdrSize]byte
		if _, err := r.ReadAt(b[:], int64(at)); err != nil {
			break
		}
		h.progs = append(h.progs, prog{
			kind: le.Uint32(b[0:]), flags: le.Uint32(b[4:]),
			offset: le.Uint64(b[8:]), addr: le.Uint64(b[16:]),
			fileSize: le.Uint64(b[32:]), memSize: le.Uint64(b[40:]),
		})
	}
	return h, nil
}

// manyHeaders is the number of program headers where it does not fit the ELF
// header (elf(5), PN_XNUM): sh_info of the first section header.
func manyHeaders(r io.ReaderAt, off uint64, size int64) int {
	var b [shdrSize]byte
	if off == 0 || off+shdrSize < off || off+shdrSize > uint64(size) {
		return pnXNum
	}
	if _, err := r.ReadAt(b[:], int64(off)); err != nil {
		return pnXNum
	}
	return int(le.Uint32(b[44:]))
}
