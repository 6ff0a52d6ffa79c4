package trace

import (
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// blocksAhead is how many blocks wait to be written, at most: some chunks of a megabyte,
// of two blocks or more.
const blocksAhead = 8

// outlet compresses blocks and writes them, in the order in which it gets them: at once,
// or while its user goes on.
type outlet struct {
	w      io.Writer
	zstd   *zstd.Encoder
	packed []byte // scratch
	ahead  int    // blocks that may wait; 0: each is written at once

	mu      sync.Mutex
	changed *sync.Cond // what follows; nil: nothing has waited yet
	queue   []waiting
	writing bool // a goroutine writes the queue
	err     error
	idle    [][]byte // memory for blocks
}

// waiting is a block that is to be written: its payload lies in buf behind room for a
// header, not compressed.
type waiting struct {
	kind  blockType
	codec codec // codecZstd: if that makes it shorter
	count uint32
	buf   []byte
}

// newEncoder returns one. On the stores of real programs the slower levels save a
// twentieth and take half as long again, or three times as long.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
}

var emptyHeader [blockHeader]byte // read-only

// room returns memory for a block, which begins with room for its header.
func (o *outlet) room() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b []byte
	if n := len(o.idle); n > 0 {
		b, o.idle = o.idle[n-1], o.idle[:n-1]
	}
	return append(b[:0], emptyHeader[:]...)
}

// put writes a block, or has it written soon: then an error may be that of one before.
// The block's memory is the outlet's from then on.
func (o *outlet) put(x waiting) error {
	if o.ahead == 0 {
		err := o.pack(x)
		o.idle = append(o.idle, x.buf)
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = sync.NewCond(&o.mu)
	}
	for len(o.queue) >= o.ahead && o.err == nil {
		o.changed.Wait()
	}
	if o.err != nil {
		return o.err
	}
	o.queue = append(o.queue, x)
	if !o.writing {
		o.writing = true
		go o.drain()
	}
	return nil
}

// drain writes the queue.
func (o *outlet) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 {
		x := o.queue[0]
		o.mu.Unlock()
		err := o.pack(x)
		o.mu.Lock()
		o.queue = o.queue[:copy(o.queue, o.queue[1:])]
		o.idle = append(o.idle, x.buf)
		if err != nil {
			o.err, o.queue = err, nil
		}
		o.changed.Broadcast()
	}
	o.writing = false
	o.changed.Broadcast()
}

// wait returns when everything has been written.
func (o *outlet) wait() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.changed.Wait()
	}
	return o.err
}

// pack compresses a block and writes it.
func (o *outlet) pack(x waiting) error {
	raw := x.buf[blockHeader:]
	b := block{kind: x.kind, codec: x.codec, raw: uint32(len(raw)), count: x.count}
	if b.codec == codecZstd {
		o.packed = o.zstd.EncodeAll(raw, append(o.packed[:0], emptyHeader[:]...))
		if len(o.packed) < len(x.buf) {
			return o.write(b, o.packed)
		}
		b.codec = codecRaw
	}
	return o.write(b, x.buf)
}

// write writes a block, whose payload as it is in the file lies in buf behind room for the
// header, with one Write.
func (o *outlet) write(b block, buf []byte) error {
	b.length, b.sum = uint32(len(buf)-blockHeader), checksum(buf[blockHeader:])
	b.appendHeader(buf[:0])
	n, err := o.w.Write(buf)
	if err == nil && n < len(buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}
