package trace

import (
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"sort"
)

// directory is the blocks of a trace as an index keeps them, which holds little of each:
//
//	the headers of the first and the last | how many blocks, their fingerprint, events, chunks, 1 if there are segments |
//	for every listStep-th block where its header lies, and the events before |
//	how many blocks know something, and for each twice how far it is behind the one before, 1 more if it is tables |
//	how many are pieces of attachments, and for each how far it is behind the one before, and its name
//
// From the marks on the headers are read in the trace. Numbers behind the marks are varints.
type directory struct {
	r                   io.ReaderAt // the trace
	blocks, chunks      int
	fingerprint, events uint64
	segmented           bool
	marks               []byte
	known               []uint32 // twice the number of a block, 1 more if it is tables
	pieces              map[string][]int

	step int       // whose headers were read last
	read []located // these, from its first on
}

const (
	// listStep: to read the headers of as many blocks takes some microseconds.
	listStep      = 8
	markBytes     = 8 + 8
	directoryHead = 2*blockHeader + 4 + 8 + 8 + 4 + 1
)

// Directory returns what OpenWith opens the trace faster with; nil if the trace is not one
// whole file.
func (t *Reader) Directory() []byte {
	t.findPieces()
	if t.damage != nil || t.trailer == nil {
		return nil
	}
	names := map[int]string{}
	for name, blocks := range t.pieces {
		for _, i := range blocks {
			names[i] = name
		}
	}
	var first, last block
	var marks, known, pieces []byte
	var behind [2]int // the last that knows, and the last piece
	knows, end, whole := 0, int64(fileHeader), true
	events := uint64(0)
	err := t.blocks.each(func(i int, x located) {
		if last = x.block; i == 0 {
			first = last
		}
		whole = whole && x.at == end+blockHeader // none is left out
		if i%listStep == 0 {
			marks = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(marks, uint64(end)), events)
		}
		end = x.at + int64(x.length)
		switch {
		case x.kind == blockEvents:
			events += uint64(x.count)
		case x.kind.knows():
			n := uint64(i-behind[0]) << 1
			if x.kind == blockTables {
				n |= 1
			}
			known = binary.AppendUvarint(known, n)
			behind[0] = i
			knows++
		case x.kind == blockAttachment:
			pieces = binary.AppendUvarint(pieces, uint64(i-behind[1]))
			pieces = append(binary.AppendUvarint(pieces, uint64(len(names[i]))), names[i]...)
			behind[1] = i
		}
	})
	if err != nil || !whole {
		return nil
	}
	b := last.appendHeader(first.appendHeader(nil))
	b = binary.LittleEndian.AppendUint32(b, uint32(t.blocks.len()))
	b = binary.LittleEndian.AppendUint64(b, t.Fingerprint())
	b = binary.LittleEndian.AppendUint64(b, t.eventCount)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.chunkCount))
	segmented := byte(0)
	if t.segmented {
		segmented = 1
	}
	b = append(append(b, segmented), marks...)
	b = append(binary.AppendUvarint(b, uint64(knows)), known...)
	return append(binary.AppendUvarint(b, uint64(len(names))), pieces...)
}

// parseDirectory is the inverse of Directory; nil if it is not that of the first size bytes of r:
// of its size, with the same first and last block, whose headers have the checksums of what they
// hold.
func parseDirectory(b []byte, r io.ReaderAt, size int64) *directory {
	if len(b) < directoryHead {
		return nil
	}
	le, at := binary.LittleEndian, 2*blockHeader
	d := &directory{r: r, blocks: int(le.Uint32(b[at:])), fingerprint: le.Uint64(b[at+4:]), events: le.Uint64(b[at+12:]), chunks: int(le.Uint32(b[at+20:])), segmented: b[at+24] != 0, step: -1}
	n := (d.blocks + listStep - 1) / listStep * markBytes
	if d.blocks == 0 || n > len(b)-directoryHead {
		return nil
	}
	d.marks = b[directoryHead:][:n]
	c := cursor{buf: b[directoryHead+n:]}
	d.known = make([]uint32, c.count(1))
	last := uint64(0)
	for i := range d.known {
		x := c.plain()
		last += x >> 1
		c.bad = c.bad || last >= uint64(d.blocks)
		d.known[i] = uint32(last<<1 | x&1)
	}
	d.pieces = map[string][]int{}
	last = 0
	for range c.count(2) {
		last += c.plain()
		c.bad = c.bad || last >= uint64(d.blocks)
		name := string(c.take(c.plain()))
		d.pieces[name] = append(d.pieces[name], int(last))
	}
	if c.bad || len(c.buf) > 0 {
		return nil
	}
	for k, i := range [2]int{0, d.blocks - 1} {
		x, err := d.get(i)
		if err != nil || string(x.appendHeader(nil)) != string(b[k*blockHeader:][:blockHeader]) || i > 0 && x.at+int64(x.length) != size {
			return nil
		}
	}
	return d
}

// mark is where the header of the first block of a step lies, and the events before it.
func (d *directory) mark(step int) (at int64, events uint64) {
	b := d.marks[step*markBytes:]
	return int64(binary.LittleEndian.Uint64(b)), binary.LittleEndian.Uint64(b[8:])
}

// get reads the header of a block, and of those before it in its step.
func (d *directory) get(i int) (located, error) {
	if d.step != i/listStep {
		d.step, d.read = i/listStep, d.read[:0]
	}
	for i%listStep >= len(d.read) {
		end, _ := d.mark(d.step)
		if n := len(d.read); n > 0 {
			end = d.read[n-1].at + int64(d.read[n-1].length)
		}
		var head [blockHeader]byte
		if end < int64(fileHeader) {
			return located{}, ErrCorrupt
		}
		if _, err := d.r.ReadAt(head[:], end); err != nil && !errors.Is(err, io.EOF) {
			return located{}, err
		}
		b, err := parseHeader(head[:])
		if err != nil {
			return located{}, err
		}
		d.read = append(d.read, located{b, end + blockHeader})
	}
	return d.read[i%listStep], nil
}

// before is the first block of the last step that begins at or before event n, and the events
// before it.
func (d *directory) before(n uint64) (block int, events uint64) {
	step := sort.Search(len(d.marks)/markBytes, func(i int) bool {
		_, events := d.mark(i)
		return events > n
	}) - 1
	_, events = d.mark(max(step, 0))
	return max(step, 0) * listStep, events
}

// knowledge gives the blocks of [from, to) that know something, and whether they are tables.
func (d *directory) knowledge(from, to int) iter.Seq2[int, bool] {
	return func(yield func(int, bool) bool) {
		for k := sort.Search(len(d.known), func(k int) bool { return int(d.known[k]>>1) >= from }); k < len(d.known); k++ {
			if i := int(d.known[k] >> 1); i >= to || !yield(i, d.known[k]&1 != 0) {
				return
			}
		}
	}
}
