package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"mgtrace/mgpp"
)

// What an index can be besides good.
var (
	ErrStale   = errors.New("the index is of another trace") // or of another state of this one
	ErrCorrupt = errors.New("the index is damaged")
)

// A file is the magic with the version, tables and lists, and at the end the
// description of it all as JSON, its length and checksum, where the trace's directory
// lies, which is wanted before the description, and the magic again.
const (
	magic     = "mgtindex"
	version   = 16
	tail      = 4 + 4 + blobBytes + len(magic)
	blobBytes = 8 + 8 + 4
	maxNow    = 1<<31 - 1 // as of mgpp.History
)

// description says what lies where.
type description struct {
	Version  int                  `json:"version"`
	Of       uint64               `json:"of"` // fingerprint of the trace
	Now      mgpp.Timestamp       `json:"now"`
	Events   uint64               `json:"events"`
	Nodes    int                  `json:"nodes"`
	Kinds    []uint64             `json:"kinds"` // events by trace.Kind
	Crash    *mgpp.Timestamp      `json:"crash,omitempty"`
	Tables   map[string]tableMeta `json:"tables"`
	Origins  blob                 `json:"origins"`
	Lives    blob                 `json:"lives"`
	Chunks   blob                 `json:"chunks"` // each chunkBytes: operations before, first event
	Names    blob                 `json:"names"`  // of its events, by their numbers in it
	Notes    json.RawMessage      `json:"notes,omitempty"`
	Moves    int                  `json:"moves"`              // nodes that a realloc moved
	CallsOf  []int                `json:"calls_of,omitempty"` // how many of each function
	Groups   int                  `json:"groups"`
	MaxLevel int                  `json:"max_level"`         // of cover, that is used
	Overlap  bool                 `json:"overlap,omitempty"` // objects in static memory may overlap
	Long     uint64               `json:"long"`              // bytes that a long write has at least
}

// blob is bytes in the file.
type blob struct {
	At  int64  `json:"at"`
	Len int64  `json:"len"`
	Sum uint32 `json:"sum"`
}

func (o *output) blob(b []byte) (blob, error) {
	x := blob{o.at, int64(len(b)), crc32.Checksum(b, castagnoli)}
	_, err := o.Write(b)
	return x, err
}

func (x blob) read(f io.ReaderAt) ([]byte, error) {
	if x.Len < 0 || x.Len > 1<<32 {
		return nil, ErrCorrupt
	}
	b := make([]byte, x.Len)
	if _, err := f.ReadAt(b, x.At); err != nil && err != io.EOF {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli) != x.Sum {
		return nil, ErrCorrupt
	}
	return b, nil
}

func (o *output) head() error {
	_, err := o.Write(binary.LittleEndian.AppendUint32([]byte(magic), version))
	return err
}

// end writes the description, and where the trace's directory lies.
func (o *output) end(d *description, trace blob) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	sum := crc32.Checksum(b, castagnoli)
	n := uint32(len(b))
	b = binary.LittleEndian.AppendUint32(b, n)
	b = binary.LittleEndian.AppendUint32(b, sum)
	b = binary.LittleEndian.AppendUint64(b, uint64(trace.At))
	b = binary.LittleEndian.AppendUint64(b, uint64(trace.Len))
	b = binary.LittleEndian.AppendUint32(b, trace.Sum)
	b = append(b, magic...)
	if _, err := o.Write(b); err != nil {
		return err
	}
	return o.w.Flush()
}

// ending reads the end of an index of size bytes, from the description's length on.
func ending(f io.ReaderAt, size int64) ([]byte, error) {
	b := make([]byte, min(size, int64(tail)))
	if _, err := f.ReadAt(b, size-int64(len(b))); err != nil && err != io.EOF {
		return nil, err
	}
	if len(b) < tail || string(b[len(b)-len(magic):]) != magic {
		return nil, fmt.Errorf("%w: it has no end", ErrCorrupt)
	}
	return b, nil
}

// directory reads the trace's directory.
func directory(f io.ReaderAt, size int64) ([]byte, error) {
	end, err := ending(f, size)
	if err != nil {
		return nil, err
	}
	le, at := binary.LittleEndian, end[8:]
	x := blob{int64(le.Uint64(at)), int64(le.Uint64(at[8:])), le.Uint32(at[16:])}
	if x.Len > size {
		return nil, ErrCorrupt
	}
	return x.read(f)
}

// describe reads the description of an index of size bytes.
func describe(f io.ReaderAt, size int64) (*description, error) {
	end, err := ending(f, size)
	if err != nil {
		return nil, err
	}
	n, sum := int64(binary.LittleEndian.Uint32(end)), binary.LittleEndian.Uint32(end[4:])
	if n > size-int64(tail) {
		return nil, ErrCorrupt
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, size-int64(tail)-n); err != nil && err != io.EOF {
		return nil, err
	}
	if crc32.Checksum(text, castagnoli) != sum {
		return nil, ErrCorrupt
	}
	d := &description{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if d.Version != version {
		return nil, fmt.Errorf("%w: version %d", ErrStale, d.Version)
	}
	return d, nil
}

// The tables, with their columns. Those in brackets sort a table.
const (
	// [first event] [ops before] ops of each event: runs of events alike
	tabKept = "kept"
	// [word] [chunk] time since the chunk began, value, masks: what a chunk left in memory
	tabCells = "cells"
	// [time] [first address] end: long writes, of which each is the words between only
	tabLongs = "longs"
	// [word] [0] value, known: what memory held before the history
	tabImages = "images"
	// [birth] [number] start, size at last, death, what (the bits below, and the origin),
	// moved from or the number of the global, group, how many of the group up to it
	tabNodes = "nodes"
	// [level and number] [time] node, with what is asked of it mostly: how far before the
	// end of the memory's first granule it starts, its size at last, its death, what (the
	// bits, and its group): which memory became whose
	tabCover = "cover"
	// [number] [offset] length and checksum of its record in Origins
	tabOrigins = "origins"
	// [group] [node]
	tabGroups = "of-group"
	// [node] [time] size: of nodes that were resized, their birth first
	tabResizes = "resizes"
	// [time] [node]: deaths that their event does not tell
	tabDeaths = "deaths"
	// [time] [node]: all deaths
	tabEnds = "ends"
	// [pc] [chunk] operations
	tabPCs = "pcs"
	// [pc] [0] operations
	tabTotals = "totals"
	// [function] [number] from, to + 1 (0: open), thread
	tabCalls = "calls"
)

// Bits of a node's column "what".
const (
	bitZeroed = 1 << iota
	bitFixed
	bitTracked
	bitBefore
	bitResized
	bitMoved
	whatBits = 6
	whatMask = 1<<whatBits - 1
)

// packMasks codes the masks of a cell so that a word that was written as a whole has 0.
func packMasks(c *cell) uint64 {
	return uint64(^c.touched) | uint64(c.touched^c.own)<<8 | uint64(c.own^c.known)<<16
}

// unpackMasks returns the bytes of a word that were written, as in cell.
func unpackMasks(v uint64) (touched, own, known uint8) {
	touched = ^uint8(v)
	own = touched ^ uint8(v>>8)
	return touched, own, own ^ uint8(v>>16)
}

// A cover is a range of 16 << 2l bytes, at a multiple of that: level l.
const (
	levels    = 24
	levelBits = 58 // of a key: what stands below the level
)

func coverKey(level int, addr uint64) uint64 {
	return uint64(level)<<levelBits | addr>>(4+2*level)
}

// firstGranule is the end of the first 16 bytes of a cover: a node that it lies in starts
// before.
func firstGranule(key uint64) uint64 {
	level := key >> levelBits
	return key&(1<<levelBits-1)<<(4+2*level) + 16
}

// eachCover cuts [lo, hi), rounded to 16 bytes, into covers.
func eachCover(lo, hi uint64, f func(level int, key uint64)) {
	lo, hi = lo&^15, (max(hi, lo+1)+15)&^15
	for lo < hi {
		l := 0
		for l+1 < levels {
			n := uint64(16) << (2 * (l + 1))
			if lo%n != 0 || lo+n > hi {
				break
			}
			l++
		}
		f(l, coverKey(l, lo))
		lo += 16 << (2 * l)
	}
}
