package hook_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/inline/layout"
)

// filter turns the shadow table on, as trampolines have it.
func (m *machine) filter(lengths bool, config uint64) {
	m.poke(processAt+layout.Config, layout.ConfigFilter|config)
	m.poke(processAt+layout.Shadow, shadowAt)
	if lengths {
		m.poke(processAt+layout.Lengths, lengthsAt)
	}
	m.write(processAt+layout.OpenByte, []byte{4, 0})
}

// granules shows the shadow table from the heap on: o open, . closed.
func (m *machine) granules(n int) string {
	var b strings.Builder
	for _, v := range m.read(shadowAt+heap>>4, n) {
		b.WriteByte(map[byte]byte{0: '.', 4: 'o'}[v])
	}
	return b.String()
}

// verdict is an entry of the table of verdicts.
type verdict struct {
	ret        uint64
	says, base uint64
	offset     int32
	bp         int16
}

// verdicts puts entries into a table, as the tracer does.
func (m *machine) verdicts(entries int, list ...verdict) {
	table := make([]uint64, 2*entries)
	for _, v := range list {
		i := int(v.ret*layout.VerdictHash>>layout.VerdictShift) & (entries - 1)
		for table[2*i] != 0 {
			i = (i + 1) & (entries - 1)
		}
		table[2*i], table[2*i+1] = v.ret, uint64(uint32(v.offset))|uint64(uint16(v.bp))<<32|v.base<<48|v.says<<56
	}
	var b []byte
	for _, v := range table {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	m.write(verdictAt, b)
	m.poke(processAt+layout.Verdicts, verdictAt)
	m.poke(processAt+layout.VerdictMask, uint64(entries-1))
}

// What glibc keeps behind a block is opened with it, and is no other block's.
func TestShadowBehind(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<20)
	m.filter(false, layout.ConfigBehind)
	for _, s := range []struct {
		name string
		do   func()
		want string
	}{
		{"24 bytes", func() { m.malloc(caller, heap, 24) }, "oo......"},
		{"32 bytes", func() { m.malloc(caller, heap+32, 32) }, "ooooo..."},
		{"40 bytes behind it", func() { m.malloc(caller, heap+80, 40) }, "oooooooo"},
	} {
		s.do()
		if diff := cmp.Diff(s.want, m.granules(8)); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
	}
}

// The shadow table follows allocations and frees.
func TestShadow(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<20)
	m.filter(true, 0)
	for _, s := range []struct {
		name string
		do   func()
		want string
	}{
		{"24 bytes", func() { m.malloc(caller, heap, 24) }, "oo.............."},
		{"a neighbour", func() { m.malloc(caller, heap+32, 33) }, "ooooo..........."},
		{"free the first", func() { m.free(caller, heap) }, "..ooo..........."},
		{"again", func() { m.free(caller, heap) }, "..ooo..........."},
		{"not a block", func() { m.free(caller, heap+48) }, "..ooo..........."},
		{"size 0", func() { m.malloc(caller, heap, 0) }, "o.ooo..........."},
		{"grows where it is", func() { m.realloc(caller, heap+32, 80, heap+32) }, "o.ooooo........."},
		{"shrinks", func() { m.realloc(caller, heap+32, 1, heap+32) }, "o.o............."},
		{"moves", func() { m.realloc(caller, heap+32, 40, heap+96) }, "o.....ooo......."},
		{"fails", func() { m.realloc(caller, heap+96, 1<<40, 0) }, "o.....ooo......."},
		{"frees", func() { m.realloc(caller, heap+96, 0, 0) }, "o..............."},
		{"no memory", func() { m.malloc(caller, 0, 16) }, "o..............."},
		{"a call that does not matter", func() {
			m.verdicts(64, verdict{ret: caller + 1, says: layout.SaysClosed}, verdict{ret: caller + 2, says: layout.SaysClosed})
			m.malloc(caller+2, heap, 64)
		}, "................"},
		{"one that does", func() { m.malloc(caller, heap+64, 16) }, "....o..........."},
		{"the block again for the other", func() { m.malloc(caller+1, heap+64, 16) }, "................"},
		{"pool objects share a granule", func() {
			m.call(fGet, sp0, caller)
			m.ret(fGet, 0, sp0, heap+128)
			m.call(fGet, sp0, caller)
			m.ret(fGet, 0, sp0, heap+128+24)
			m.call(fGet, sp0, caller+1) // does not matter; its last granule may belong to another
			m.ret(fGet, 0, sp0, heap+128)
		}, ".........oo....."},
		{"posix_memalign", func() {
			m.call(fPosix, sp0, caller, heap+0x800, 16, 16)
			m.poke(heap+0x800, heap)
			m.ret(fPosix, 0, sp0, 0)
		}, "o........oo....."},
		{"strdup", func() {
			m.call(fStrdup, sp0, caller, heap)
			m.text(heap+16, "sixteen letters!")
			m.ret(fStrdup, 0, sp0, heap+16)
		}, "ooo......oo....."},
	} {
		s.do()
		if got := m.granules(len(s.want)); got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.name, got, s.want)
		}
	}
	m.log()
}

// A block of any size is opened and closed to its last granule.
func TestShadowLengths(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<20)
	m.filter(true, 0)
	for _, size := range []uint64{1, 16, 17, 127 * 16, 128 * 16, 129 * 16, 0x30000} {
		m.call(fMalloc, sp0, caller, size)
		m.ret(fMalloc, 0, sp0, heap)
		n := int(size+15) / 16
		if got, want := m.granules(n+8), strings.Repeat("o", n)+"........"; got != want {
			t.Errorf("%d bytes: %s", size, got)
		}
		m.call(fFree, sp0, caller, heap)
		if got := m.granules(n + 8); strings.Trim(got, ".") != "" {
			t.Errorf("%d bytes, freed: %s", size, got)
		}
		m.ret(fFree, 0, sp0, 0)
	}
	m.log()
}

// A held thread goes on when its word has changed, and has its record by then.
func TestHold(t *testing.T) {
	plan, tails := testPlan()
	m := newMachine(t, plan, tails, 1<<16)
	number := m.tables.Add(m.sites, m.at(0x9000), progCode+0x9000, true)
	m.write(sitesAt, m.tables.Sites)
	m.command('k', blockAt+layout.Held)
	m.regs[rsp] = sp0
	m.hook(number, 0)
	if n := m.peek(blockAt+layout.Held) & 0xffffffff; n != 2 {
		t.Errorf("the word is %d", n)
	}
	want := []string{fmt.Sprintf("stop 9000 pc 409000 sp %x = 0 from 0 (0 0)", uint64(sp0))}
	if d := cmp.Diff(want, m.log()); d != "" {
		t.Error(d)
	}
}
