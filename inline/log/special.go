package log

import (
	"encoding/binary"
	"fmt"

	"mgtrace/capture"
	"mgtrace/inline/layout"
)

// maxUnread bounds what one record may say could not be read, bytes.
const maxUnread = 1 << 26

// specials are the least sizes of special records, by kind.
var specials = [...]int{
	layout.KindStop:  layout.StopSize,
	layout.KindWrite: layout.WriteSize,
	layout.KindNote:  layout.NoteSize,
}

// specialSize returns the size of the special record at the start of r, which
// has at least 16 bytes, and its kind; 0 if it is malformed.
func specialSize(tag uint32, r []byte) (size int, kind uint32) {
	kind = tag - layout.Special
	if tag < layout.Special || int(kind) >= len(specials) || specials[kind] == 0 {
		return 0, 0
	}
	n := binary.LittleEndian.Uint32(r[4:])
	if int64(n) < int64(specials[kind]) || int64(n) > int64(len(r)) || n%4 != 0 {
		return 0, 0
	}
	return int(n), kind
}

// special delivers the special record at the start of r. It returns the bytes
// that it takes; 0 if it is malformed or its place is beyond the limit.
func (m *Merger) special(t *thread, tag uint32, r []byte, limit uint64) (int, state, error) {
	n, kind := specialSize(tag, r)
	if n == 0 {
		return 0, empty, fmt.Errorf("no such record: tag %#x, size %d in %d", tag, binary.LittleEndian.Uint32(r[4:]), len(r))
	}
	place := max(t.place, binary.LittleEndian.Uint64(r[layout.SpecialStamp:]))
	if place > limit {
		t.next = place
		return 0, beyond, nil
	}
	t.place = place
	if err := m.flush(t); err != nil {
		return 0, empty, err
	}
	t.wall = m.clock.Wall(binary.LittleEndian.Uint64(r[layout.SpecialTime:]))
	m.hit = capture.Hit{Thread: t.id, Wall: t.wall}
	var err error
	r = r[:n]
	switch kind {
	case layout.KindStop:
		m.stop(r)
	case layout.KindWrite:
		err = m.write(t, r)
	case layout.KindNote:
		err = m.note(t, r)
	}
	if err == nil && m.hit.Op != 0 {
		err = m.event(t, &m.hit)
	}
	if err != nil {
		return 0, empty, err
	}
	return n, empty, nil
}

// event delivers a hit.
func (m *Merger) event(t *thread, h *capture.Hit) error {
	if err := m.flush(t); err != nil {
		return err
	}
	m.stats.Hits++
	return m.sink.Hit(h)
}

func (m *Merger) stop(r []byte) {
	h, u64 := &m.hit, word(r)
	h.Op = capture.Stop
	h.Index = int(binary.LittleEndian.Uint32(r[layout.StopSite:]))
	if binary.LittleEndian.Uint32(r[layout.StopFlags:])&layout.StopNested != 0 {
		h.Flags = capture.Nested
	}
	h.PC, h.SP = u64(layout.StopPC), u64(layout.StopSP)
	h.Result, h.Base = u64(layout.StopResult), u64(layout.StopBlock)
	g := &h.Regs
	g.Ret = u64(layout.StopRegs)
	for i := range g.Args {
		g.Args[i] = u64(layout.StopRegs + 8*(1+i))
	}
	for i, p := range [...]*uint64{&g.BX, &g.BP, &g.R12, &g.R13, &g.R14, &g.R15} {
		*p = u64(layout.StopRegs + 8*(7+i))
	}
	h.Stack = r[layout.StopSize:]
}

// writeOps translates the operations of a KindWrite.
var writeOps = [...]capture.Op{
	layout.WriteStore: capture.Store, layout.WriteBulk: capture.Bulk, layout.WriteSyscall: capture.Syscall,
}

// write leaves m.hit without an operation if the bytes are not wanted.
func (m *Merger) write(t *thread, r []byte) error {
	h, u64 := &m.hit, word(r)
	op := binary.LittleEndian.Uint32(r[layout.WriteOp:])
	flags := binary.LittleEndian.Uint32(r[layout.WriteFlags:])
	n := binary.LittleEndian.Uint32(r[layout.WriteBytes:])
	if op == 0 || int64(op) >= int64(len(writeOps)) {
		return fmt.Errorf("a write of kind %d", op)
	}
	h.Addr, h.Size, h.Base, h.Offset = u64(layout.WriteAddr), u64(layout.WriteLen), u64(layout.WriteBase), u64(layout.WriteOff)
	switch {
	case flags&layout.WriteUnread == 0:
		if uint64(n) > uint64(len(r)-layout.WriteSize) {
			return fmt.Errorf("a write of %d bytes in a record of %d", n, len(r))
		}
		h.Data = r[layout.WriteSize:][:n]
	case n > maxUnread:
		return fmt.Errorf("%d bytes that could not be read", n)
	default:
		if len(m.zeros) < int(n) {
			m.zeros = make([]byte, n)
		}
		h.Data = m.zeros[:n]
	}
	if op == layout.WriteStore && !t.wanted(h.Addr, h.Size) {
		if flags&layout.WriteMore == 0 {
			m.stats.Filtered++
		}
		return nil
	}
	h.Op = writeOps[op]
	for _, f := range [...]struct {
		bit  uint32
		flag capture.HitFlags
	}{
		{layout.WriteLate, capture.Late},
		{layout.WriteMore, capture.More},
		{layout.WriteUnread, capture.Unread},
		{layout.WriteMasked, capture.Masked},
		{layout.WritePartial, capture.Partial},
	} {
		if flags&f.bit != 0 {
			h.Flags |= f.flag
		}
	}
	h.Index = int(binary.LittleEndian.Uint32(r[layout.WriteIndex:]))
	h.PC, h.SP = u64(layout.WritePC), u64(layout.WriteSP)
	return nil
}

func (m *Merger) note(t *thread, r []byte) error {
	h, u64 := &m.hit, word(r)
	op := binary.LittleEndian.Uint32(r[layout.NoteOp:])
	index := binary.LittleEndian.Uint32(r[layout.NoteIndex:])
	addr, size := u64(layout.NoteAddr), u64(layout.NoteLen)
	h.PC, h.SP = u64(layout.NotePC), u64(layout.NoteSP)
	switch op {
	case layout.NoteMap:
		h.Op, h.Addr, h.Size = capture.Map, addr, size
	case layout.NoteUnmap:
		h.Op, h.Addr, h.Size = capture.Unmap, addr, size
	case layout.NoteBreak:
		h.Op, h.Addr, h.Base = capture.Break, addr, u64(layout.NoteBase)
	case layout.NoteReturn:
		h.Op, h.Index, h.Result, h.Base = capture.Return, int(index), addr, u64(layout.NoteBase)
	case layout.NoteLost:
		h.Op, h.Size = capture.Lost, size
	case layout.NoteQuiet:
		t.quiet = index != 0
		t.window = Range{addr, addr + min(size, ^addr)}
	default:
		return fmt.Errorf("a note of kind %d", op)
	}
	return nil
}

// word reads the u64s of a record.
func word(r []byte) func(int) uint64 {
	return func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
}
