package trace

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	flushBytes = 1 << 19     // of columns of events
	flushAfter = time.Second // what a killed writer may lose
	pieceBytes = 1 << 20     // of an attachment
)

// Writer writes a trace. Events are collected and written in blocks: when
// enough have come, or a second after the first of them. What has been written
// is readable whatever happens to the writer. After an error (a full disk)
// every call returns that error, with Apart one of the next calls and Flush and
// Finish at the latest; the file is good up to its last whole block.
//
// A Writer may be used by several goroutines.
type Writer struct {
	mu   sync.Mutex
	out  outlet
	err  error // sticky
	done bool

	timer    *time.Timer
	armed    bool
	rows     int    // events and runs collected
	count    uint64 // events and stores collected
	buffered int    // bytes in columns, about
	most     int    // bytes of stores and columns after which they are written; 0: the usual
	kinds    []byte
	columns  [NumKinds][numFields]column // columns[0]: those of all kinds
	run      run
	bare     int           // stores before the next one with an instant, which have none
	stores   *storeEncoder // nil: none yet
	sites    siteTable
	sitesOut int // sites that have been written
	// siteStacks are the stacks, by index, of those of allocators that have not been.
	siteStacks []uint64
	tables     writerTables
	index      indexWriter
	attached   map[string]bool
	raw        []byte // scratch
}

// run is the run of stores that is not a row yet.
type run struct {
	n      uint64
	thread ThreadID
	wall   int64
}

// column is the coded values of one field of one kind.
type column struct {
	buf  []byte
	prev uint64
	any  uint64 // or of all values: a column of zeros is not stored
}

func (c *column) delta(v uint64) {
	d := zigzag(v - c.prev)
	c.prev = v
	c.any |= v
	c.put(d)
}

func (c *column) plain(v uint64) {
	c.any |= v
	c.put(v)
}

func (c *column) put(v uint64) {
	if v < 0x80 {
		c.buf = append(c.buf, byte(v))
		return
	}
	c.buf = binary.AppendUvarint(c.buf, v)
}

func (c *column) reset() { c.buf, c.prev, c.any = c.buf[:0], 0, 0 }

// NewWriter begins a trace of the program. An error of writing its head comes
// with the next call.
func NewWriter(w io.Writer, p Program) *Writer {
	t := newWriter(w)
	if t.err == nil {
		t.writeJSON(blockProgram, 0, p)
	}
	return t
}

// Apart is for a program that waits: blocks are written on a goroutine of their own, while
// more is collected, and chunks with runs of stores are not compressed at all. Flush and
// Finish wait until everything has been written.
func (t *Writer) Apart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out.ahead = blocksAhead
}

// newWriter begins a file.
func newWriter(w io.Writer) *Writer {
	t := &Writer{
		out:      outlet{w: w},
		attached: map[string]bool{},
		tables:   writerTables{strings: map[string]uint64{"": 0}, stacks: map[string]uint64{"": 0}},
	}
	t.index.reset()
	t.timer = time.AfterFunc(time.Hour, t.onTimer)
	t.timer.Stop()
	if t.out.zstd, t.err = newEncoder(); t.err != nil {
		return t
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	_, t.err = w.Write(head)
	return t
}

func (t *Writer) writeJSON(k blockType, count uint64, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		t.err = err
		return
	}
	t.writeBlock(k, count, b)
}

// writeBlock writes one block, compressed.
func (t *Writer) writeBlock(k blockType, count uint64, raw []byte) {
	t.put(k, codecZstd, count, append(t.out.room(), raw...))
}

// put gives a block away, whose payload lies behind room for a header.
func (t *Writer) put(k blockType, c codec, count uint64, buf []byte) {
	if t.err != nil {
		return
	}
	n := len(buf) - blockHeader
	if n > maxBlock {
		t.err = fmt.Errorf("%s block of %d bytes is too long", blockSpecs[k].name, n)
		return
	}
	t.err = t.out.put(waiting{k, c, uint32(count), buf})
}

var errFinished = errors.New("trace is finished already") // read-only

// Held is a Writer that one goroutine has for itself, so that it takes the lock once for
// many calls.
type Held Writer

// Hold waits for what others do with the writer and keeps them off it until Release.
func (t *Writer) Hold() *Held {
	t.mu.Lock()
	return (*Held)(t)
}

// Release ends what Hold began.
func (t *Writer) Release() { t.mu.Unlock() }

// Write is Writer.Write.
func (h *Held) Write(e *Event) error { return (*Writer)(h).write(e) }

// WriteStores is Writer.WriteStores.
func (h *Held) WriteStores(s *Stores) error { return (*Writer)(h).writeStores(s) }

// AddSites is Writer.AddSites.
func (h *Held) AddSites(sites []StoreSite) (first uint32, err error) {
	return (*Writer)(h).addSites(sites)
}

// Write appends an event; fields that its kind does not use are not stored.
// Data longer than 32 MB is divided: of an image or a global the rest follows
// as images, of a write only the first part is kept, as FlagPartial says.
func (t *Writer) Write(e *Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write(e)
}

func (t *Writer) write(e *Event) error {
	switch {
	case t.err != nil:
		return t.err
	case t.done:
		return errFinished
	case !e.Kind.valid():
		return fmt.Errorf("event of unknown kind %d", e.Kind)
	case len(e.Data) > maxData:
		t.divide(e)
	default:
		t.add(e)
	}
	t.flushSoon()
	return t.err
}

// flushSoon flushes if enough has been collected, else when the time comes.
func (t *Writer) flushSoon() {
	if t.buffered >= flushBytes || t.most > 0 && t.pending() >= int64(t.most) {
		t.flush()
	} else if !t.armed {
		t.armed = true
		t.timer.Reset(flushAfter)
	}
}

func (t *Writer) divide(e *Event) {
	part := *e
	part.Data = e.Data[:maxData]
	if e.Kind != KindImage && e.Kind != KindGlobal {
		part.Flags |= FlagPartial
		t.add(&part)
		return
	}
	if e.Kind == KindImage {
		part.Size = maxData
	}
	t.add(&part)
	rest := Event{Kind: KindImage, Thread: e.Thread, Wall: e.Wall, PC: e.PC}
	for off := maxData; off < len(e.Data); off += len(rest.Data) {
		t.flush()
		rest.Addr, rest.Data = e.Addr+Addr(off), e.Data[off:min(len(e.Data), off+maxData)]
		rest.Size = uint64(len(rest.Data))
		t.add(&rest)
	}
}

// add appends the event to its columns.
func (t *Writer) add(e *Event) {
	if t.buffered+len(e.Data) > flushBytes && t.count > 0 {
		t.flush()
	}
	t.closeRun()
	t.count++
	t.row(byte(e.Kind), e.Thread, e.Wall)
	t.columns[0][fieldInstant].delta(uint64(e.Instant))
	t.index.pages.markEvent(e)
	c := &t.columns[e.Kind]
	c[fieldFlags].delta(uint64(e.Flags))
	c[fieldPC].delta(uint64(e.PC))
	fs := kindSpecs[e.Kind].fields
	size := e.Size
	if fs.has(fieldData) {
		c[fieldData].plain(uint64(len(e.Data)))
		c[fieldBytes].buf = append(c[fieldBytes].buf, e.Data...)
		size -= uint64(len(e.Data))
	}
	if fs.has(fieldAddr) {
		c[fieldAddr].delta(uint64(e.Addr))
	}
	if fs.has(fieldSize) {
		c[fieldSize].delta(size)
	}
	if fs.has(fieldBase) {
		c[fieldBase].plain(codeBase(uint64(e.Addr), uint64(e.Base)))
	}
	if fs&rare != 0 {
		t.addRare(e, c, fs)
	}
	t.buffered += 16 + len(e.Data)
}

// row begins a row of the columns.
func (t *Writer) row(kind byte, thread ThreadID, wall int64) {
	t.rows++
	t.kinds = append(t.kinds, kind)
	t.columns[0][fieldThread].delta(uint64(thread))
	t.columns[0][fieldWall].delta(uint64(wall))
	t.index.wall.mark(wall)
}

// rare are the fields that stores do not have.
const rare = fieldSet(1<<fieldAux | 1<<fieldSP | 1<<fieldRet | 1<<fieldName | 1<<fieldStack | 1<<fieldArgs)

func (t *Writer) addRare(e *Event, c *[numFields]column, fs fieldSet) {
	if fs.has(fieldAux) {
		c[fieldAux].delta(e.Aux)
	}
	if fs.has(fieldSP) {
		c[fieldSP].delta(uint64(e.SP))
	}
	if fs.has(fieldRet) {
		c[fieldRet].delta(e.Ret)
	}
	if fs.has(fieldName) {
		c[fieldName].plain(t.tables.string(e.Name))
	}
	if fs.has(fieldStack) {
		c[fieldStack].plain(t.tables.stack(e.Stack))
		t.buffered += 8
	}
	if fs.has(fieldArgs) {
		c[fieldArgs].plain(uint64(len(e.Args)))
		for _, a := range e.Args {
			c[fieldArgs].plain(a)
		}
		t.buffered += 5 * len(e.Args)
	}
}

// codeBase codes a base relative to the address: for most instructions that is
// a small constant. The one base whose code would not fit 64 bits does not
// differ from 0 in any program.
func codeBase(addr, base uint64) uint64 {
	if base == 0 {
		return 0
	}
	return zigzag(addr-base) + 1
}

func decodeBase(addr, code uint64) uint64 {
	if code == 0 {
		return 0
	}
	return addr - unzigzag(code-1)
}

// Flush writes what has been collected.
func (t *Writer) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	return t.written()
}

// written waits until all blocks are.
func (t *Writer) written() error {
	t.err = cmp.Or(t.err, t.out.wait())
	return t.err
}

func (t *Writer) onTimer() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
}

func (t *Writer) flush() {
	if t.armed {
		t.timer.Stop()
		t.armed = false
	}
	t.closeRun()
	if t.rows == 0 || t.err != nil || t.done {
		return
	}
	t.flushTables()
	t.flushSites()
	packed := codecZstd
	if runs := t.flushStores(); runs && t.out.ahead > 0 {
		packed = codecRaw
	}
	if c := &t.columns[0][fieldInstants]; c.any != 0 {
		t.clothe(c)
	}
	t.bare = 0
	raw := binary.AppendUvarint(t.out.room(), uint64(t.rows))
	raw = appendColumn(raw, 0, fieldKind, t.kinds)
	for k := range t.columns {
		for f := range t.columns[k] {
			c := &t.columns[k][f]
			if c.any != 0 || field(f) == fieldBytes {
				raw = appendColumn(raw, k, field(f), c.buf)
			}
			c.reset()
		}
	}
	t.put(blockEvents, packed, t.count, raw)
	t.rows, t.count, t.buffered, t.kinds = 0, 0, 0, t.kinds[:0]
	if t.index.endChunk() {
		t.flushIndex()
	}
}

func appendColumn(b []byte, kind int, f field, data []byte) []byte {
	if len(data) == 0 {
		return b
	}
	b = append(b, byte(kind), byte(f))
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

// Finish writes what is left and the trailer, which makes the trace whole. It
// does not close the underlying writer.
func (t *Writer) Finish(x Trailer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done {
		return errFinished
	}
	t.flush()
	t.flushIndex()
	if t.err == nil {
		t.writeJSON(blockTrailer, 0, x)
	}
	t.done = true
	return t.written()
}
