package slice

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// ErrIndex says that an index is damaged, or of something else. Make it again.
var ErrIndex = errors.New("not an index of this run")

// Index is the dependences of a run: for each use its definition. It is in a file;
// in memory are its pieces, shapes and directory.
type Index struct {
	Doubts
	Steps StepID
	End   uint64 // the instant after the last
	Key   [16]byte

	r      io.ReaderAt
	pieces []*Piece
	ops    uint32   // of all pieces, + 1
	shapes []*shape // by ID - 1; nil: not asked for yet
	dir    []byte
	data   uint64 // where the steps end
	// Of shapes.
	rawShapes [][]byte
	sizes     []shapeSize
	statics   []uint32 // ops of shapes: their numbers among the ops of all pieces
	made      shape    // memory for one in the making

	window   []byte // a part of the file
	windowAt uint64
	reads    uint64  // how much is read next, in bytes
	met      segment // the last one that At was asked for
}

// dirEntry is the length of a segment's entry in the directory, in bytes.
const dirEntry = 24

// How much of the file is read at a time, in bytes: the more, the longer segments in a row
// are asked for one after the other.
const (
	windowLeast = 1 << 14
	windowMost  = 1 << 18
)

// OpenIndex opens an index of the run that the source is of.
func OpenIndex(r io.ReaderAt, size int64, s Source) (*Index, error) {
	x := &Index{r: r}
	if size < int64(len(indexMagic)+len(x.Key)+footLen) {
		return nil, ErrIndex
	}
	head := make([]byte, len(indexMagic)+len(x.Key))
	foot := make([]byte, footLen)
	if _, err := r.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if _, err := r.ReadAt(foot, size-footLen); err != nil {
		return nil, err
	}
	copy(x.Key[:], head[len(indexMagic):])
	var f [footLen / 8]uint64
	for i := range f {
		f[i] = binary.LittleEndian.Uint64(foot[i*8:])
	}
	end := uint64(size - footLen)
	pieces, n, shapes, table, dir, dirSum := f[0], f[1], f[2], f[3], f[4], f[5]
	if string(head[:len(indexMagic)]) != indexMagic || f[15] != uint64(crc32.ChecksumIEEE(foot[:footLen-8])) ||
		pieces > dir || dir > end || pieces < uint64(len(head)) || max(n, shapes) > min(dir-pieces, maxTable) || f[6] > end*segmentLen {
		return nil, ErrIndex
	}
	x.Steps, x.End, x.data = StepID(f[6]), f[7], pieces
	x.Doubts = Doubts{f[8], f[9], f[10], int(f[11]), int(f[12]), int(f[13]), f[14]}
	raw := make([]byte, end-pieces)
	if _, err := r.ReadAt(raw, int64(pieces)); err != nil {
		return nil, err
	}
	x.dir = raw[dir-pieces:]
	raw = raw[:dir-pieces]
	if uint64(crc32.ChecksumIEEE(raw)) != table || uint64(crc32.ChecksumIEEE(x.dir)) != dirSum ||
		uint64(len(x.dir)) != (uint64(x.Steps)+segmentLen-1)/segmentLen*dirEntry {
		return nil, ErrIndex
	}
	c := cursor{b: raw}
	if err := x.readPieces(&c, n, s); err != nil {
		return nil, err
	}
	return x, x.readShapes(&c, shapes)
}

func (x *Index) readPieces(c *cursor, n uint64, s Source) error {
	for i := range n {
		id := uint32(i + 1)
		if code := c.uvarint(); code != 0 {
			from, n := c.uvarint(), c.uvarint()
			k := s.Code(uint32(code))
			if k == nil || n == 0 || n > uint64(len(k.Insts)) || from > uint64(len(k.Insts))-n || c.bad {
				return fmt.Errorf("%w: piece %d has no code", ErrIndex, id)
			}
			x.pieces = append(x.pieces, newPiece(id, k, uint16(from), uint16(n)))
			continue
		}
		cause := Cause{Kind: CauseKind(c.uvarint()), Number: c.varint(), PC: c.uvarint()}
		var reads, writes Regs
		for i := range reads {
			reads[i] = c.uvarint()
		}
		for i := range writes {
			writes[i] = c.uvarint()
		}
		x.pieces = append(x.pieces, newCause(id, cause, &reads, &writes))
	}
	if c.bad {
		return ErrIndex
	}
	x.ops = 1
	for _, p := range x.pieces {
		p.number = x.ops
		x.ops += uint32(len(p.ops))
	}
	return nil
}

// cursor reads numbers. Past the end it gives zeros and is bad.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) uvarint() uint64 {
	if c.at < len(c.b) && c.b[c.at] < 0x80 {
		c.at++
		return uint64(c.b[c.at-1])
	}
	v, n := binary.Uvarint(c.b[min(c.at, len(c.b)):])
	if n <= 0 {
		c.bad = true
		c.at = len(c.b)
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) varint() int64 {
	v := c.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func segmentOf(s StepID) int { return int((s - 1) >> segmentBits) }

func (x *Index) segments() int { return len(x.dir) / dirEntry }

// instant is that of a segment's first step.
func (x *Index) instant(i int) uint64 { return binary.LittleEndian.Uint64(x.dir[i*dirEntry+8:]) }

// more sets how much is read next, of which the farther end is so far from what was read.
func (x *Index) more(away uint64) {
	if away <= x.reads {
		x.reads = min(2*x.reads, windowMost)
	} else {
		x.reads = windowLeast
	}
}

// bytes returns the encoded segment i, until the next one is asked for.
func (x *Index) bytes(i int) ([]byte, error) {
	lo, hi, err := x.extent(i)
	if err != nil {
		return nil, err
	}
	if lo < x.windowAt || hi > x.windowAt+uint64(len(x.window)) {
		from, to := lo, hi
		if end := x.windowAt + uint64(len(x.window)); lo < x.windowAt {
			x.more(x.windowAt - lo)
			from = min(lo, hi-min(hi, x.reads))
		} else {
			x.more(hi - end)
			to = min(max(hi, lo+x.reads), x.data)
		}
		x.window = slices.Grow(x.window[:0], int(to-from))[:to-from]
		if _, err := x.r.ReadAt(x.window, int64(from)); err != nil {
			x.window = x.window[:0]
			return nil, err
		}
		x.windowAt = from
	}
	return x.window[lo-x.windowAt : hi-x.windowAt], nil
}
