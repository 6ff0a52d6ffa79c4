// Package memtest is the one test suite for all kinds of mem.Memory: a live
// process, a core file, and the fake.
//
//	memtest.Run(t, process, memtest.Case{Addr: a, Data: want, Hole: h})
//
// It tests reading only; how the memory came to be is the caller's affair.
package memtest

import (
	"bytes"
	"errors"
	"testing"

	"mgtrace/target/mem"
)

// Case is memory with known contents.
type Case struct {
	Addr uint64 // where Data lies
	Data []byte // at least 16 bytes
	Hole uint64 // an address that is not mapped; the byte below it is
}

// Run holds m to the contract of mem.Memory.
func Run(t *testing.T, m mem.Memory, c Case) {
	t.Helper()
	t.Run("whole", func(t *testing.T) { readWhole(t, m, c) })
	t.Run("parts", func(t *testing.T) { readParts(t, m, c) })
	t.Run("empty", func(t *testing.T) {
		if n, err := m.ReadMemory(nil, c.Hole); n != 0 || err != nil {
			t.Errorf("reading nothing: %d, %v", n, err)
		}
	})
	t.Run("hole", func(t *testing.T) { readHole(t, m, c) })
	t.Run("end of address space", func(t *testing.T) {
		n, err := m.ReadMemory(make([]byte, 64), ^uint64(0)-15)
		if n != 0 || !errors.Is(err, mem.ErrUnreadable) {
			t.Errorf("got %d, %v; want 0 and ErrUnreadable", n, err)
		}
	})
}

func readWhole(t *testing.T, m mem.Memory, c Case) {
	got := make([]byte, len(c.Data))
	if n, err := m.ReadMemory(got, c.Addr); n != len(got) || err != nil {
		t.Fatalf("got %d, %v; want %d bytes", n, err, len(got))
	}
	if !bytes.Equal(got, c.Data) {
		t.Errorf("got % x, want % x", got, c.Data)
	}
}

func readParts(t *testing.T, m mem.Memory, c Case) {
	for off := range c.Data {
		for _, size := range []int{1, 3, 8} {
			if off+size > len(c.Data) {
				continue
			}
			got := make([]byte, size)
			if n, err := m.ReadMemory(got, c.Addr+uint64(off)); n != size || err != nil {
				t.Fatalf("%d bytes at +%d: %d, %v", size, off, n, err)
			}
			if !bytes.Equal(got, c.Data[off:off+size]) {
				t.Errorf("%d bytes at +%d: % x", size, off, got)
			}
		}
	}
}

func readHole(t *testing.T, m mem.Memory, c Case) {
	if n, err := m.ReadMemory(make([]byte, 8), c.Hole); n != 0 || !errors.Is(err, mem.ErrUnreadable) {
		t.Errorf("in the hole: got %d, %v; want 0 and ErrUnreadable", n, err)
	}
	n, err := m.ReadMemory(make([]byte, 8), c.Hole-1)
	var unreadable *mem.UnreadableError
	if n != 1 || !errors.As(err, &unreadable) {
		t.Fatalf("into the hole: got %d, %v; want 1 and an UnreadableError", n, err)
	}
	if unreadable.Addr != c.Hole {
		t.Errorf("the error names %#x, want %#x", unreadable.Addr, c.Hole)
	}
}
