package inline

import (
	"testing"

	"mgtrace/target/mem"
	"mgtrace/trace"
)

// memory replays a recording: what the bytes of live blocks must be.
type memory struct {
	blocks map[trace.Addr]block
	pages  map[trace.Addr]*page
}

type block struct {
	size uint64
	pc   trace.Addr // who asked for it
}

// page is what is known of a page of memory.
type page struct {
	data  [pageSize]byte
	known [pageSize]bool
}

func newMemory() *memory {
	return &memory{blocks: make(map[trace.Addr]block), pages: make(map[trace.Addr]*page)}
}

func (m *memory) take(e *trace.Event) {
	switch e.Kind {
	case trace.KindAlloc:
		m.birth(e.Addr, e.Size, e.PC)
		if e.Flags&trace.FlagZeroed != 0 {
			m.write(e.Addr, make([]byte, e.Size))
		}
	case trace.KindFree:
		delete(m.blocks, e.Addr)
	case trace.KindRealloc:
		old := trace.Addr(e.Aux)
		n := min(e.Size, m.blocks[old].size)
		data, known := m.read(old, n)
		delete(m.blocks, old)
		m.birth(e.Addr, e.Size, e.PC)
		for i, k := range known {
			if k {
				m.write(e.Addr+trace.Addr(i), data[i:i+1])
			}
		}
	case trace.KindStore, trace.KindBulk, trace.KindSyscall:
		m.write(e.Addr, e.Data)
	case trace.KindUnread:
		m.forget(e.Addr, e.Size)
	}
}

func (m *memory) birth(at trace.Addr, size uint64, pc trace.Addr) {
	m.blocks[at] = block{size, pc}
	m.forget(at, size)
}

// each calls f for the pieces of a range that lie in one page each.
func (m *memory) each(at trace.Addr, n uint64, f func(p *page, from, to int, off uint64)) {
	for off := uint64(0); off < n; {
		a := at + trace.Addr(off)
		p := m.pages[a/pageSize]
		if p == nil {
			p = new(page)
			m.pages[a/pageSize] = p
		}
		from := int(a % pageSize)
		to := int(min(pageSize, uint64(from)+n-off))
		f(p, from, to, off)
		off += uint64(to - from)
	}
}

func (m *memory) forget(at trace.Addr, n uint64) {
	m.each(at, n, func(p *page, from, to int, _ uint64) { clear(p.known[from:to]) })
}

func (m *memory) write(at trace.Addr, data []byte) {
	m.each(at, uint64(len(data)), func(p *page, from, to int, off uint64) {
		copy(p.data[from:to], data[off:])
		for i := from; i < to; i++ {
			p.known[i] = true
		}
	})
}

func (m *memory) read(at trace.Addr, n uint64) (data []byte, known []bool) {
	data, known = make([]byte, n), make([]bool, n)
	m.each(at, n, func(p *page, from, to int, off uint64) {
		copy(data[off:], p.data[from:to])
		copy(known[off:], p.known[from:to])
	})
	return data, known
}

// audit compares the live blocks that own code asked for with real memory: how
// many bytes are known and how many of them differ.
func (m *memory) audit(t testing.TB, own func(trace.Addr) bool, read func([]byte, uint64) (int, error)) (known, differ int) {
	for at, b := range m.blocks {
		if !own(b.pc) {
			continue
		}
		have := make([]byte, b.size)
		if _, err := read(have, uint64(at)); err != nil {
			t.Errorf("block %#x: %v", uint64(at), err)
			continue
		}
		data, ok := m.read(at, b.size)
		for i := range ok {
			if !ok[i] {
				continue
			}
			known++
			if have[i] != data[i] {
				if differ++; differ < 10 {
					t.Logf("block %#x (%d bytes, by %#x), offset %d: memory has %#x, the history %#x", uint64(at), b.size, uint64(b.pc), i, have[i], data[i])
				}
			}
		}
	}
	return known, differ
}

// mappedFiles lists the files that a process has mapped with code.
func mappedFiles(maps []mem.Map) []string {
	var out []string
	for _, m := range maps {
		if m.Exec && m.File() {
			out = append(out, m.Path)
		}
	}
	return out
}
