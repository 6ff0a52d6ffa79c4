package slice

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// ErrIndex says that an index is damaged, or of something else. Make it again.
var ErrIndex = errors.New("not an index of this run")

// Index is the dependences of a run: for each use its definition. It is in a file;
// in memory are its pieces and its directory, a byte for every step.
type Index struct {
	Doubts
	Steps StepID
	End   uint64 // the instant after the last
	Key   [16]byte

	r      io.ReaderAt
	pieces []*Piece
	dir    []byte
	data   uint64 // where the steps end

	window   []byte // a part of the file
	windowAt uint64
}

// dirEntry is the length of a segment's entry in the directory, in bytes.
const dirEntry = 20

// windowLen is how much of the file is read at a time, in bytes: segments in a row
// are asked for one after the other.
const windowLen = 1 << 18

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
	pieces, n, table, dir, dirSum := f[0], f[1], f[2], f[3], f[4]
	if string(head[:len(indexMagic)]) != indexMagic || f[14] != uint64(crc32.ChecksumIEEE(foot[:footLen-8])) ||
		pieces > dir || dir > end || pieces < uint64(len(head)) || n > dir-pieces {
		return nil, ErrIndex
	}
	x.Steps, x.End, x.data = StepID(f[5]), f[6], pieces
	x.Doubts = Doubts{f[7], f[8], f[9], int(f[10]), int(f[11]), int(f[12]), f[13]}
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
	return x, x.readPieces(raw, n, s)
}

func (x *Index) readPieces(raw []byte, n uint64, s Source) error {
	c := cursor{b: raw}
	for i := range n {
		id := uint32(i + 1)
		if code := c.uvarint(); code != 0 {
			from, n := c.uvarint(), c.uvarint()
			k := s.Code(uint32(code))
			if k == nil || n == 0 || from+n > uint64(len(k.Insts)) || c.bad {
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

// segment is decoded steps.
type segment struct {
	first StepID
	steps []stepDeps
	by    []StepID // definitions of units, four for each group: see groupDef
	mem   []Node   // definitions of memory, for all reads in order
	reads []uint32 // where those of a read end in mem
}

// stepDeps is what a step depends on.
type stepDeps struct {
	piece   *Piece
	thread  uint32
	instant uint64
	control StepID
	groups  uint32 // index of its first group: by[groups*4:]
	reads   uint32 // index of its first read
	nreads  uint32
}

// definitions of memory read r of the segment.
func (g *segment) memory(r uint32) []Node {
	lo := uint32(0)
	if r > 0 {
		lo = g.reads[r-1]
	}
	return g.mem[lo:g.reads[r]]
}

// units returns the steps that defined the units of a step's group.
func (g *segment) units(d *stepDeps, group uint16) *[4]StepID {
	at := (int(d.groups) + int(group)) * 4
	return (*[4]StepID)(g.by[at : at+4])
}

func segmentOf(s StepID) int { return int((s - 1) >> segmentBits) }

func (x *Index) segments() int { return len(x.dir) / dirEntry }

// instant is that of a segment's first step.
func (x *Index) instant(i int) uint64 { return binary.LittleEndian.Uint64(x.dir[i*dirEntry+8:]) }

// bytes returns the encoded segment i.
func (x *Index) bytes(i int) ([]byte, error) {
	lo, hi := binary.LittleEndian.Uint64(x.dir[i*dirEntry:]), x.data
	if i+1 < x.segments() {
		hi = binary.LittleEndian.Uint64(x.dir[(i+1)*dirEntry:])
	}
	if lo > hi || hi > x.data {
		return nil, ErrIndex
	}
	if lo < x.windowAt || hi > x.windowAt+uint64(len(x.window)) {
		// The window ends with what is asked for, or a little later: slices go backwards.
		from := uint64(0)
		if hi > windowLen*3/4 {
			from = hi - windowLen*3/4
		}
		from = min(from, lo)
		to := min(max(hi, from+windowLen), x.data)
		if uint64(cap(x.window)) < to-from {
			x.window = make([]byte, to-from)
		}
		x.window = x.window[:to-from]
		if _, err := x.r.ReadAt(x.window, int64(from)); err != nil {
			x.window = x.window[:0]
			return nil, err
		}
		x.windowAt = from
	}
	return x.window[lo-x.windowAt : hi-x.windowAt], nil
}

// decode fills g with segment i.
func (x *Index) decode(i int, g *segment) error {
	raw, err := x.bytes(i)
	if err != nil {
		return err
	}
	g.first = StepID(i<<segmentBits + 1)
	g.steps, g.by, g.mem, g.reads = g.steps[:0], g.by[:0], g.mem[:0], g.reads[:0]
	c := cursor{b: raw}
	thread := binary.LittleEndian.Uint32(x.dir[i*dirEntry+16:])
	instant := x.instant(i)
	for s := g.first; s <= min(x.Steps, g.first+segmentLen-1); s++ {
		head := c.uvarint()
		if head&1 != 0 {
			thread = uint32(c.uvarint())
		}
		id := head >> 1
		if id == 0 || id > uint64(len(x.pieces)) || c.bad {
			return fmt.Errorf("%w: step %d", ErrIndex, s)
		}
		p := x.pieces[id-1]
		d := stepDeps{piece: p, thread: thread, groups: uint32(len(g.by) / 4), reads: uint32(len(g.reads))}
		d.control = back(s, c.uvarint())
		d.nreads = uint32(len(p.reads))
		if p.Code == nil {
			instant += c.uvarint()
			d.nreads = uint32(min(c.uvarint(), uint64(len(raw))))
		}
		d.instant = instant
		instant += uint64(p.N)
		for _, k := range p.groups {
			g.group(&c, s, k.mask)
		}
		for range d.nreads {
			g.read(&c, s)
		}
		g.steps = append(g.steps, d)
	}
	if c.bad {
		return fmt.Errorf("%w: segment %d", ErrIndex, i)
	}
	return nil
}

// back is the step at a distance before s.
func back(s StepID, distance uint64) StepID {
	if distance == 0 || distance >= uint64(s) {
		return 0
	}
	return s - StepID(distance)
}

func (g *segment) group(c *cursor, s StepID, mask uint8) {
	v := c.uvarint()
	if v&1 == 0 {
		def := back(s, v>>1)
		g.by = append(g.by, def, def, def, def)
		return
	}
	var by [4]StepID
	for i := range by {
		if mask&(1<<i) != 0 {
			by[i] = back(s, c.uvarint())
		}
	}
	g.by = append(g.by, by[:]...)
}

func (g *segment) read(c *cursor, s StepID) {
	for !c.bad {
		v := c.uvarint()
		d := v >> 2
		switch {
		case d == 0 && v&noDefinition != 0:
		case d == 0:
			g.mem = append(g.mem, 0)
		default:
			op := uint64(0)
			if v&opFollows != 0 {
				op = c.uvarint()
			}
			if d > uint64(s) || op >= maxPieceOps {
				c.bad = true
				break
			}
			g.mem = append(g.mem, node(s-StepID(d-1), uint16(op)))
		}
		if v&moreDefinitions == 0 {
			break
		}
	}
	g.reads = append(g.reads, uint32(len(g.mem)))
}
