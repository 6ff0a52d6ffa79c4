package trace

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	flushBytes = 1 << 19     // of columns
	flushAfter = time.Second // what a killed writer may lose
	pieceBytes = 1 << 20     // of an attachment
)

// Writer writes a trace. Events are collected and written in blocks: when
// enough have come, or a second after the first of them. What has been written
// is readable whatever happens to the writer. After an error (a full disk)
// every call returns that error; the file is good up to its last whole block.
//
// A Writer may be used by several goroutines.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	err  error // sticky
	done bool

	zstd     *zstd.Encoder
	timer    *time.Timer
	armed    bool
	events   int
	buffered int // bytes in columns, about
	kinds    []byte
	columns  [NumKinds][numFields]column // columns[0]: those of all kinds
	tables   writerTables
	attached map[string]bool
	raw, out []byte // scratch
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

// writerTables are the strings and stacks so far.
type writerTables struct {
	strings map[string]uint64
	stacks  map[string]uint64
	last    string // the string that was asked for last, and its index
	lastID  uint64
	key     []byte
	newStr  []byte // coded, since the last block
	newStk  []byte
	nStr    uint64
	nStk    uint64
}

// NewWriter begins a trace of the program. An error of writing its head comes
// with the next call.
func NewWriter(w io.Writer, p Program) *Writer {
	t := &Writer{
		w:        w,
		attached: map[string]bool{},
		tables:   writerTables{strings: map[string]uint64{"": 0}, stacks: map[string]uint64{"": 0}},
	}
	t.timer = time.AfterFunc(time.Hour, t.onTimer)
	t.timer.Stop()
	t.zstd, t.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if t.err != nil {
		return t
	}
	head := binary.LittleEndian.AppendUint32([]byte(magic), version)
	if _, t.err = w.Write(head); t.err == nil {
		t.writeJSON(blockProgram, p)
	}
	return t
}

func (t *Writer) writeJSON(k blockType, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		t.err = err
		return
	}
	t.writeBlock(k, b)
}

// writeBlock compresses and writes one block with one Write.
func (t *Writer) writeBlock(k blockType, raw []byte) {
	if t.err != nil {
		return
	}
	if len(raw) > maxBlock {
		t.err = fmt.Errorf("%s block of %d bytes is too long", blockSpecs[k].name, len(raw))
		return
	}
	t.out = append(t.out[:0], make([]byte, blockHeader)...)
	t.out = t.zstd.EncodeAll(raw, t.out)
	b := block{kind: k, codec: codecZstd, raw: uint32(len(raw))}
	if len(t.out)-blockHeader >= len(raw) {
		t.out = append(t.out[:blockHeader], raw...)
		b.codec = codecRaw
	}
	b.length, b.sum = uint32(len(t.out)-blockHeader), checksum(t.out[blockHeader:])
	b.appendHeader(t.out[:0])
	n, err := t.w.Write(t.out)
	if err == nil && n < len(t.out) {
		err = io.ErrShortWrite
	}
	if err != nil {
		t.err = fmt.Errorf("write trace: %w", err)
	}
}

var errFinished = errors.New("trace is finished already") // read-only

// Write appends an event; fields that its kind does not use are not stored.
// Data longer than 32 MB is divided: of an image or a global the rest follows
// as images, of a write only the first part is kept, as FlagPartial says.
func (t *Writer) Write(e *Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
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
	if t.buffered >= flushBytes {
		t.flush()
	} else if !t.armed {
		t.armed = true
		t.timer.Reset(flushAfter)
	}
	return t.err
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
	if t.buffered+len(e.Data) > flushBytes && t.events > 0 {
		t.flush()
	}
	t.events++
	t.kinds = append(t.kinds, byte(e.Kind))
	t.columns[0][fieldThread].delta(uint64(e.Thread))
	t.columns[0][fieldWall].delta(uint64(e.Wall))
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

func (x *writerTables) string(s string) uint64 {
	if s == x.last {
		return x.lastID
	}
	id, ok := x.strings[s]
	if !ok {
		id = uint64(len(x.strings))
		x.strings[s] = id
		x.newStr = append(binary.AppendUvarint(x.newStr, uint64(len(s))), s...)
		x.nStr++
	}
	x.last, x.lastID = s, id
	return id
}

func (x *writerTables) stack(s []Addr) uint64 {
	x.key = x.key[:0]
	prev := Addr(0)
	for _, a := range s {
		x.key = binary.AppendUvarint(x.key, zigzag(uint64(a-prev)))
		prev = a
	}
	id, ok := x.stacks[string(x.key)]
	if !ok {
		id = uint64(len(x.stacks))
		x.stacks[string(x.key)] = id
		x.newStk = append(binary.AppendUvarint(x.newStk, uint64(len(s))), x.key...)
		x.nStk++
	}
	return id
}

// Flush writes what has been collected.
func (t *Writer) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
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
	if t.events == 0 || t.err != nil || t.done {
		return
	}
	t.flushTables()
	raw := binary.AppendUvarint(t.raw[:0], uint64(t.events))
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
	t.raw = raw
	t.events, t.buffered, t.kinds = 0, 0, t.kinds[:0]
	t.writeBlock(blockEvents, raw)
}

func appendColumn(b []byte, kind int, f field, data []byte) []byte {
	if len(data) == 0 {
		return b
	}
	b = append(b, byte(kind), byte(f))
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}

func (t *Writer) flushTables() {
	x := &t.tables
	if x.nStr == 0 && x.nStk == 0 {
		return
	}
	raw := append(binary.AppendUvarint(t.raw[:0], x.nStr), x.newStr...)
	raw = append(binary.AppendUvarint(raw, x.nStk), x.newStk...)
	t.raw = raw
	x.nStr, x.nStk, x.newStr, x.newStk = 0, 0, x.newStr[:0], x.newStk[:0]
	t.writeBlock(blockTables, raw)
}

// Attach stores a file under a name.
func (t *Writer) Attach(name string, r io.Reader) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return t.err
	case t.done:
		return errFinished
	case t.attached[name]:
		return fmt.Errorf("attach %s: there is one of this name", name)
	case len(name) > pieceBytes:
		return fmt.Errorf("attach: a name of %d bytes", len(name))
	}
	t.attached[name] = true
	buf := make([]byte, pieceBytes)
	for last := false; !last; {
		n, err := io.ReadFull(r, buf)
		last = err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return fmt.Errorf("attach %s: %w", name, err)
		}
		t.writePiece(name, last, buf[:n])
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

func (t *Writer) writePiece(name string, last bool, data []byte) {
	raw := append(binary.AppendUvarint(t.raw[:0], uint64(len(name))), name...)
	if last {
		raw = append(raw, 1)
	} else {
		raw = append(raw, 0)
	}
	t.raw = append(raw, data...)
	t.writeBlock(blockAttachment, t.raw)
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
	if t.err == nil {
		t.writeJSON(blockTrailer, x)
	}
	t.done = true
	return t.err
}
