package bpf

import (
	"encoding/binary"
	"errors"

	"mgtrace/capture"
	"mgtrace/trace"
)

// Sizes of struct record and struct stop in kernel/shared.h, bytes.
const (
	recordSize = 64
	stopSize   = 13 * 8
)

var errRecord = errors.New("malformed record")

// recordOps translates record kinds.
var recordOps = [...]capture.Op{
	1: capture.Store, 2: capture.Bulk, 3: capture.Syscall, 4: capture.Stop, 5: capture.Return,
	6: capture.Map, 7: capture.Unmap, 8: capture.Break, 9: capture.Thread, 10: capture.ThreadExit,
	11: capture.Fork, 12: capture.Exec, 13: capture.Signal, 14: capture.Exit,
	15: capture.Found, 16: codeMapped, 17: capture.Passed,
}

// codeMapped is of a record that is no hit, R_CODE: Addr, Size; Index: the file's device; Base: its inode; Offset: pages.
const codeMapped = ^capture.Op(0)

// decode fills h from a record of the ring. h's slices point into b. start is
// the time of the recording's beginning, CLOCK_MONOTONIC.
func decode(b []byte, start uint64, h *capture.Hit) error {
	if len(b) < recordSize {
		return errRecord
	}
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
	u64 := func(i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
	kind, n := int(b[0]), int(binary.LittleEndian.Uint16(b[2:]))
	if kind == 0 || kind >= len(recordOps) || n > len(b)-recordSize {
		return errRecord
	}
	*h = capture.Hit{
		Op:     recordOps[kind],
		Flags:  capture.HitFlags(b[1]),
		Index:  int(int32(u32(4))),
		Thread: trace.ThreadID(u32(8)),
		Offset: uint64(u32(12)),
		Wall:   int64(u64(16) - start),
		PC:     u64(24),
		SP:     u64(32),
		Addr:   u64(40),
		Size:   u64(48),
		Base:   u64(56),
	}
	payload := b[recordSize : recordSize+n]
	switch h.Op {
	case capture.Stop:
		return decodeStop(payload, h)
	case capture.Return:
		h.Result = h.Addr
	case capture.Fork:
		h.Flags = capture.Sharing(h.Base != 0)
	default:
		h.Data = payload
	}
	return nil
}

func decodeStop(p []byte, h *capture.Hit) error {
	if len(p) < stopSize {
		return errRecord
	}
	u64 := func(i int) uint64 { return binary.LittleEndian.Uint64(p[8*i:]) }
	h.Result = h.Addr
	r := &h.Regs
	r.Ret = u64(0)
	for i := range r.Args {
		r.Args[i] = u64(1 + i)
	}
	r.BX, r.BP, r.R12, r.R13, r.R14, r.R15 = u64(7), u64(8), u64(9), u64(10), u64(11), u64(12)
	h.Stack = p[stopSize:]
	return nil
}
