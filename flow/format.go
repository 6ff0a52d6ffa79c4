package flow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The file: magic, version, then sections to the end. docs/flow-format.md
// describes it.

const (
	magic   = "mgflow\x00\x00"
	version = 1

	fileHeader    = len(magic) + 4
	sectionHeader = 48

	// maxSection bounds both lengths of a section, so that a damaged file can not
	// make a reader allocate more.
	maxSection = 1 << 26
	// A chunk ends with the record that reaches one of these.
	chunkRecords  = 1 << 18
	chunkAccesses = 1 << 19
	// maxAccesses of a chunk: whose last record has as many as one can have.
	maxAccesses = chunkAccesses + 1<<16
	// maxInsts and maxCode bound a block.
	maxInsts = 1 << 12
	maxCode  = 15 * maxInsts
	// maxStates is how many threads have states of their own in the prediction;
	// others share them.
	maxStates = 32
)

// Errors of reading, one for each decision that a caller makes.
var (
	ErrNotFlow   = errors.New("not a file of executed instructions")
	ErrVersion   = errors.New("executed instructions in a format of another version")
	ErrTruncated = errors.New("the executed instructions were cut off")
	ErrCorrupt   = errors.New("the executed instructions are damaged")
)

type sectionType uint8

const (
	sectionHead    sectionType = iota + 1 // a Head as JSON; the first
	sectionBlocks                         // blocks that are new with the next chunk
	sectionChunk                          // records
	sectionTrailer                        // a Trailer as JSON; the last
)

type codec uint8

const (
	codecRaw codec = iota
	codecZstd
)

// section is a section's header.
type section struct {
	kind    sectionType
	codec   codec
	raw     uint32 // bytes, uncompressed
	length  uint32 // bytes in the file
	sum     uint32 // CRC-32C of the payload as it is in the file
	count   uint32 // of blocks or records
	first   uint64 // chunk: instant of its first instruction
	insts   uint64 // chunk: how many instructions
	lost    uint32 // chunk: how many of its records are gaps
	touches uint32 // chunk: how many accesses
}

func checksum(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) // the table is made once by the library
}

// append appends the header; its last four bytes are the CRC-32C of the others.
func (s *section) append(b []byte) []byte {
	n := len(b)
	le := binary.LittleEndian
	b = append(b, byte(s.kind), byte(s.codec), 0, 0)
	for _, v := range [...]uint32{s.raw, s.length, s.sum, s.count} {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint64(b, s.first)
	b = le.AppendUint64(b, s.insts)
	b = le.AppendUint32(b, s.lost)
	b = le.AppendUint32(b, s.touches)
	return le.AppendUint32(b, checksum(b[n:]))
}

// parseSection is the inverse of append for exactly sectionHeader bytes.
func parseSection(b []byte) (section, error) {
	le := binary.LittleEndian
	if le.Uint32(b[44:]) != checksum(b[:44]) {
		return section{}, fmt.Errorf("%w: a section's header does not match its checksum", ErrCorrupt)
	}
	s := section{
		kind: sectionType(b[0]), codec: codec(b[1]),
		raw: le.Uint32(b[4:]), length: le.Uint32(b[8:]), sum: le.Uint32(b[12:]), count: le.Uint32(b[16:]),
		first: le.Uint64(b[20:]), insts: le.Uint64(b[28:]), lost: le.Uint32(b[36:]), touches: le.Uint32(b[40:]),
	}
	if s.raw > maxSection || s.length > maxSection {
		return section{}, fmt.Errorf("%w: a section of %d bytes", ErrCorrupt, max(s.raw, s.length))
	}
	return s, nil
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }
