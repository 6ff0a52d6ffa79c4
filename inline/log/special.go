package log

import (
	"encoding/binary"
	"fmt"

	"mgtrace/capture"
	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// maxUnread bounds what one record may say could not be read, bytes.
const maxUnread = 1 << 26

// specials are the least sizes of special records, by kind.
var specials = [...]int{
	layout.KindStop:  layout.StopSize,
	layout.KindWrite: layout.WriteSize,
	layout.KindNote:  layout.NoteSize,
	layout.KindAlloc: layout.AllocSize,
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

// Decoder makes hits of special records. Its hits are valid until it makes the next.
type Decoder struct {
	Clock    Clock
	Filtered uint64 // stores that are not wanted
	// Known is the stack of a number by which the routine tells it; nil: there is none.
	Known func(number uint32) []trace.Addr

	hits  [layout.KindAlloc + 1]capture.Hit // by kind: what one of them never tells of stays zero
	zeros []byte                            // data of hits that could not be read
}

// Decode decodes the special record of a thread at the start of r, and returns how
// many bytes it takes. The hit is nil if nobody is to know: f has what it says then.
func (d *Decoder) Decode(id trace.ThreadID, f *Filter, r []byte) (h *capture.Hit, size int, err error) {
	if len(r) < shortest {
		return nil, 0, fmt.Errorf("cut off: %d bytes", len(r))
	}
	tag := binary.LittleEndian.Uint32(r)
	n, kind := specialSize(tag, r)
	if n == 0 {
		return nil, 0, noRecord(tag, r)
	}
	h, told, err := d.decode(id, f, kind, r[:n])
	if !told || err != nil {
		h = nil
	}
	return h, n, err
}

func noRecord(tag uint32, r []byte) error {
	return fmt.Errorf("no such record: tag %#x, size %d in %d", tag, binary.LittleEndian.Uint32(r[4:]), len(r))
}

// decode decodes a record of a kind. told: somebody is to know of the hit.
func (d *Decoder) decode(id trace.ThreadID, f *Filter, kind uint32, r []byte) (h *capture.Hit, told bool, err error) {
	h, told = &d.hits[kind], true
	h.Thread, h.Wall = id, d.Clock.Wall(binary.LittleEndian.Uint64(r[layout.SpecialTime:]))
	switch kind {
	case layout.KindStop:
		decodeStop(h, r)
	case layout.KindWrite:
		told, err = d.decodeWrite(h, f, r)
	case layout.KindNote:
		told, err = decodeNote(h, f, r)
	case layout.KindAlloc:
		err = d.decodeAlloc(h, r)
	}
	return h, told, err
}

// special delivers the special record at the start of r. It returns the bytes
// that it takes; 0 if it is malformed or its place is beyond the limit.
func (m *Merger) special(t *thread, tag uint32, r []byte, limit uint64) (int, state, error) {
	n, kind := specialSize(tag, r)
	if n == 0 {
		return 0, empty, noRecord(tag, r)
	}
	place := max(t.place, binary.LittleEndian.Uint64(r[layout.SpecialStamp:]))
	if place > limit {
		t.next = place
		return 0, beyond, nil
	}
	t.place = place
	took, err := false, error(nil)
	switch {
	case kind == layout.KindWrite && m.calls.tell != nil:
		took, err = m.call(t, r[:n])
	case kind == layout.KindAlloc && m.allocs != nil:
		took, err = m.alloc(t, r[:n])
	}
	if took || err != nil {
		return n, empty, err
	}
	if err := m.flush(t); err != nil {
		return 0, empty, err
	}
	h, told, err := m.decoder.decode(t.id, &t.Filter, kind, r[:n])
	t.wall = h.Wall
	if err == nil && told {
		m.stats.Hits++
		err = m.given(m.sink.Hit(h))
	}
	if err != nil {
		return 0, empty, err
	}
	return n, empty, nil
}

// event delivers a hit that the tracer made.
func (m *Merger) event(t *thread, h *capture.Hit) error {
	if err := m.flush(t); err != nil {
		return err
	}
	m.stats.Hits++
	return m.given(m.sink.Hit(h))
}

func decodeStop(h *capture.Hit, record []byte) {
	r := (*[layout.StopSize]byte)(record)
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
	flags := binary.LittleEndian.Uint32(r[layout.StopFlags:])
	h.Op, h.Flags = capture.Stop, 0
	if flags&layout.StopNested != 0 {
		h.Flags |= capture.Nested
	}
	if flags&layout.StopWhole != 0 {
		h.Flags |= capture.Whole
	}
	h.Index = int(binary.LittleEndian.Uint32(r[layout.StopSite:]))
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
	h.Stack = record[layout.StopSize:]
}

func (d *Decoder) decodeAlloc(h *capture.Hit, record []byte) error {
	r := (*[layout.AllocSize]byte)(record)
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
	h.Op = capture.Alloc
	h.Index = int(binary.LittleEndian.Uint32(r[layout.AllocFunc:]))
	h.SP, h.Regs.Ret = u64(layout.AllocSP), u64(layout.AllocRet)
	h.Addr, h.Size, h.Result = u64(layout.AllocPtr), u64(layout.AllocBytes), u64(layout.AllocResult)
	h.Stack, h.Calls = nil, nil
	if number := binary.LittleEndian.Uint32(r[layout.AllocKnown:]); number != 0 {
		if d.Known != nil {
			h.Calls = d.Known(number)
		}
		if h.Calls == nil {
			return fmt.Errorf("no stack has the number %d", number)
		}
		return nil
	}
	if len(record) < layout.AllocStack {
		return nil // and the registers mean nothing
	}
	g := &h.Regs
	for i, p := range [...]*uint64{&g.BX, &g.BP, &g.R12, &g.R13, &g.R14, &g.R15} {
		*p = binary.LittleEndian.Uint64(record[layout.AllocRegs+8*i:])
	}
	h.Stack = record[layout.AllocStack:]
	return nil
}

// writeOps translates the operations of a KindWrite.
var writeOps = [...]capture.Op{
	layout.WriteStore: capture.Store, layout.WriteBulk: capture.Bulk, layout.WriteSyscall: capture.Syscall, layout.WriteFound: capture.Found,
	layout.WritePassed: capture.Passed,
}

// writeFlags translates the flags of a KindWrite, all of them at once.
var writeFlags = func() (table [1 << numWriteFlags]capture.HitFlags) {
	for i, flag := range [numWriteFlags]capture.HitFlags{capture.Late, capture.More, capture.Unread, capture.Masked, capture.Partial} {
		for bits := range table {
			if bits>>i&1 != 0 {
				table[bits] |= flag
			}
		}
	}
	return table
}()

// numWriteFlags is how many flags a KindWrite has, from WriteLate to WritePartial.
const numWriteFlags = 5

// decodeWrite says whether the bytes are wanted.
func (d *Decoder) decodeWrite(h *capture.Hit, f *Filter, record []byte) (told bool, err error) {
	r := (*[layout.WriteSize]byte)(record)
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
	op := binary.LittleEndian.Uint32(r[layout.WriteOp:])
	flags := binary.LittleEndian.Uint32(r[layout.WriteFlags:])
	n := binary.LittleEndian.Uint32(r[layout.WriteBytes:])
	if op == 0 || int64(op) >= int64(len(writeOps)) {
		return false, fmt.Errorf("a write of kind %d", op)
	}
	h.Addr, h.Size, h.Base, h.Offset = u64(layout.WriteAddr), u64(layout.WriteLen), u64(layout.WriteBase), u64(layout.WriteOff)
	switch {
	case flags&layout.WriteUnread == 0:
		if uint64(n) > uint64(len(record)-layout.WriteSize) {
			return false, fmt.Errorf("a write of %d bytes in a record of %d", n, len(record))
		}
		h.Data = record[layout.WriteSize:][:n]
	case n > maxUnread:
		return false, fmt.Errorf("%d bytes that could not be read", n)
	default:
		if len(d.zeros) < int(n) {
			d.zeros = make([]byte, n)
		}
		h.Data = d.zeros[:n]
	}
	if op == layout.WriteStore && !f.Wanted(h.Addr, h.Size) {
		if flags&layout.WriteMore == 0 {
			d.Filtered++
		}
		return false, nil
	}
	h.Op, h.Flags = writeOps[op], writeFlags[flags%uint32(len(writeFlags))]
	h.Index = int(binary.LittleEndian.Uint32(r[layout.WriteIndex:]))
	h.PC, h.SP = u64(layout.WritePC), u64(layout.WriteSP)
	return true, nil
}

// decodeNote says whether there is more to a note than its time and place.
func decodeNote(h *capture.Hit, f *Filter, record []byte) (told bool, err error) {
	r := (*[layout.NoteSize]byte)(record)
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
	op := binary.LittleEndian.Uint32(r[layout.NoteOp:])
	index := binary.LittleEndian.Uint32(r[layout.NoteIndex:])
	addr, size := u64(layout.NoteAddr), u64(layout.NoteLen)
	*h = capture.Hit{Thread: h.Thread, Wall: h.Wall, PC: u64(layout.NotePC), SP: u64(layout.NoteSP)}
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
		f.quiet = index != 0
		f.window = Range{addr, addr + min(size, ^addr)}
	case layout.NoteOrder:
	default:
		return false, fmt.Errorf("a note of kind %d", op)
	}
	return h.Op != 0, nil
}
