package mem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// ErrUnreadable is the root of every error that says that bytes could not be
// read: not mapped, not in the core file, gone with the process.
var ErrUnreadable = errors.New("memory is not readable")

// Memory reads a program's memory. ReadMemory fills buf from address addr on
// and returns the number of bytes that it read, from the first on; it returns
// an error that wraps ErrUnreadable exactly if n < len(buf). A read that wraps
// past the end of the address space stops there.
type Memory interface {
	ReadMemory(buf []byte, addr uint64) (n int, err error)
}

// UnreadableError says where a read stopped, and why if that is known.
type UnreadableError struct {
	Addr uint64 // first address that could not be read
	Why  string
}

func (e *UnreadableError) Error() string {
	if e.Why == "" {
		return fmt.Sprintf("memory at %#x is not readable", e.Addr)
	}
	return fmt.Sprintf("memory at %#x is not readable: %s", e.Addr, e.Why)
}

// Unwrap makes errors.Is(err, ErrUnreadable) true.
func (e *UnreadableError) Unwrap() error { return ErrUnreadable }

// ReadUint64 reads the little-endian word at addr.
func ReadUint64(m Memory, addr uint64) (uint64, error) {
	var b [8]byte
	if _, err := m.ReadMemory(b[:], addr); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// ReadUint32 reads the little-endian 32-bit word at addr.
func ReadUint32(m Memory, addr uint64) (uint32, error) {
	var b [4]byte
	if _, err := m.ReadMemory(b[:], addr); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

// Segment is a run of bytes at an address.
type Segment struct {
	Addr uint64
	Data []byte
}

// Fake is memory made of segments, for tests. The zero Fake has nothing mapped.
type Fake struct {
	segments []Segment // by address, disjoint
}

// NewFake returns memory that consists of segments, which must not overlap.
// It keeps their bytes: later changes are seen by readers.
func NewFake(segments ...Segment) *Fake {
	s := append([]Segment(nil), segments...)
	sort.Slice(s, func(i, j int) bool { return s[i].Addr < s[j].Addr })
	return &Fake{s}
}

// ReadMemory implements Memory; adjacent segments read as one.
func (f *Fake) ReadMemory(buf []byte, addr uint64) (int, error) {
	n := 0
	for n < len(buf) {
		at := addr + uint64(n)
		i := sort.Search(len(f.segments), func(i int) bool {
			s := f.segments[i]
			return at >= addr && s.Addr+uint64(len(s.Data))-1 >= at && len(s.Data) > 0
		})
		if at < addr || i == len(f.segments) || f.segments[i].Addr > at {
			return n, &UnreadableError{Addr: at, Why: "not mapped"}
		}
		n += copy(buf[n:], f.segments[i].Data[at-f.segments[i].Addr:])
	}
	return n, nil
}
