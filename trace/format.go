package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The file: magic, version, then blocks to the end. docs/trace-format.md is
// generated from these tables and constants.

const (
	magic = "mgtrace\x00"
	// Versions are two bits apart, so that a bit that is flipped is noticed.
	version = 7
	older   = 4 // the same without blocks of allocators
	oldest  = 2 // the same without blocks of calls

	fileHeader  = len(magic) + 4
	blockHeader = 24

	// maxBlock bounds both lengths of a block, so that a damaged file can not
	// make a reader allocate more.
	maxBlock = 1 << 26
	// maxData is the longest data of one event; Writer divides longer ones.
	maxData = 1 << 25
)

// Errors of reading, one for each decision that a caller makes.
var (
	ErrNotTrace  = errors.New("not a mgtrace file")
	ErrVersion   = errors.New("trace of another version")
	ErrTruncated = errors.New("trace was cut off")
	ErrCorrupt   = errors.New("trace is damaged")
)

// blockType says what a block holds. Its numbers are part of the format;
// readers skip types that they do not know.
type blockType uint8

const (
	blockProgram blockType = iota + 1
	blockTables
	blockEvents
	blockAttachment
	blockTrailer
	blockSites
	blockStores
	blockIndex
	blockSegment
	blockBegin
	blockCalls
	blockAllocs
	blockEnd
)

type blockSpec struct{ name, doc string }

// blockSpecs is the table of block types. Read-only.
var blockSpecs = [blockEnd]blockSpec{
	blockProgram:    {"program", "a Program as JSON; the first block"},
	blockTables:     {"tables", "strings and stacks that are new with the next events block: their number, then each string (length, bytes); their number, then each stack (length, addresses as differences, zigzag). Indices count on from block to block; string 0 and stack 0 are empty and not stored"},
	blockEvents:     {"events", "the number of events, then columns to the end: kind (0: all kinds), field, length, bytes. A column that is missing holds zeros. Kind 255 is a run of stores, which has thread, wall and a number of stores"},
	blockAttachment: {"attachment", "one piece of a named file: length of the name, name, 1 if it is the last piece else 0, bytes"},
	blockTrailer:    {"trailer", "a Trailer as JSON; the last block. Without one the file was cut off"},
	blockSites:      {"sites", "store instructions that are new with the next stores block: their number, then for each pc (as the difference from the one before, zigzag), width, flags, form of the base (0: none, 1: the address minus a constant, 2: in each store) and that constant (zigzag). Numbers count on from block to block, those of calls among them, from 0"},
	blockStores:     {"stores", "the stores of the runs of the next events block. See below"},
	blockIndex:      {"index", "for each chunk since the last index (count: how many): the first wall clock and what the last is later, both zigzag; then the number of runs of pages touched and for each what lies between it and the one before and its length less 1. A page is 4096 bytes and its number is taken modulo 32768. Stores count where they begin. May be missing"},
	blockSegment:    {"segment", "a Segment as JSON (count: its number). Strings, stacks and sites are counted from the beginning again. The chunks up to the next begin block say what was there when the segment began: they are read in the first segment of a trace only"},
	blockBegin:      {"begin", "nothing: what was there has been told"},
	blockCalls:      {"calls", "calls of library functions that are new with the next stores block, each as far as it writes so many bytes, from its destination argument on: their number, then for each the return address (as the difference from the one before, zigzag), width, length of the function's name, name. They are numbered as sites are, and what they write stands among the stores of runs: as an event it is bulk"},
	blockAllocs:     {"allocators", "calls of allocators and of free that are new with the next stores block: their number, then for each the return address (as the difference from the one before, zigzag), kind, flags, stack (index in the table of stacks), length of the function's name, name. They are numbered as sites are and stand among the stores of runs, with a width of 8 and no base: as events they are of their kind, at that address, and the value is the size, of a free 0"},
}

// codec says how a payload is compressed.
type codec uint8

const (
	codecRaw codec = iota
	codecZstd
	codecEnd
)

// block is a block's header.
type block struct {
	kind   blockType
	codec  codec
	raw    uint32 // bytes, uncompressed
	length uint32 // bytes in the file
	count  uint32 // of what a reader wants to count without the payload: events; chunks of an index
	sum    uint32 // CRC-32C of the payload as it is in the file
}

func checksum(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) // the table is made once by the library
}

// appendHeader appends the header's 24 bytes; the last four are the CRC-32C of
// the others, so that a reader may trust the lengths before it has the payload.
func (k block) appendHeader(b []byte) []byte {
	n := len(b)
	b = append(b, byte(k.kind), byte(k.codec), 0, 0)
	for _, v := range []uint32{k.raw, k.length, k.count, k.sum} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b[n:]))
}

// parseHeader is the inverse of appendHeader for exactly blockHeader bytes.
func parseHeader(b []byte) (block, error) {
	if binary.LittleEndian.Uint32(b[20:]) != checksum(b[:20]) {
		return block{}, fmt.Errorf("%w: a block's header does not match its checksum", ErrCorrupt)
	}
	le := binary.LittleEndian
	k := block{blockType(b[0]), codec(b[1]), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])}
	if k.raw > maxBlock || k.length > maxBlock {
		return block{}, fmt.Errorf("%w: a block of %d bytes", ErrCorrupt, max(k.raw, k.length))
	}
	return k, nil
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }
