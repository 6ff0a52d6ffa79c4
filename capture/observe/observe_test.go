package observe

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/capture"
	"mgtrace/probe"
	"mgtrace/target/mem"
	"mgtrace/x86"
)

// memory is a page at 0x1000, and a stack's at 0x7000.
type memory map[uint64]byte

func (m memory) ReadMemory(buf []byte, addr uint64) (int, error) {
	for i := range buf {
		at := addr + uint64(i)
		if page := at &^ 0xfff; page != 0x1000 && page != 0x7000 {
			return i, &mem.UnreadableError{Addr: at}
		}
		buf[i] = m[at]
	}
	return len(buf), nil
}

func (m memory) put(addr uint64, b ...byte) {
	for i, c := range b {
		m[addr+uint64(i)] = c
	}
}

func (m memory) word(addr, v uint64) { m.put(addr, binary.LittleEndian.AppendUint64(nil, v)...) }

// world is a program of two files: 0 at 0x40000, whose stores are recorded, and a
// library at 0x50000 to 0x60000.
type world struct {
	memory
	o    *Observer
	hits []capture.Hit
}

// What the plan has: functions at 0x100 of the library, each 0x10 long with its RET in the
// last byte, and stores of the program.
func newWorld(t *testing.T, funcs []probe.Func, stores ...x86.Store) *world {
	t.Helper()
	w := &world{memory: memory{}}
	plan := &probe.Plan{Images: []*probe.Image{{Path: "p", Traced: true, Bias: 0x40000}, {Path: "l", Bias: 0x50000}}}
	for i, f := range funcs {
		at := uint64(0x100 + 0x10*i)
		f.Entry = probe.Site{Image: 1, Addr: at, Offset: at}
		f.Returns = []probe.Site{{Image: 1, Addr: at + 0xf, Offset: at + 0xf}}
		plan.Funcs = append(plan.Funcs, f)
	}
	for i, e := range stores {
		at := uint64(0x10 * i)
		plan.Stores = append(plan.Stores, probe.Store{Site: probe.Site{Addr: at, Offset: at}, Effect: e})
	}
	images := []Image{{Mapped: true, Bias: 0x40000, Data: [][2]uint64{{0x1f00, 0x2000}}}, {Mapped: true, Bias: 0x50000, Code: [2]uint64{0x50000, 0x60000}}}
	sites := capture.Sites(plan)
	// A return is no tail jump: there is no file to say so.
	for i := range sites {
		sites[i].Tail = false
	}
	w.o = New(plan, sites, images, w.memory, Options{}, func(h *capture.Hit) error {
		c := *h
		c.Data = append([]byte(nil), h.Data...)
		w.hits = append(w.hits, c)
		return nil
	})
	w.o.Thread(1, [2]uint64{0x7000, 0x8000})
	return w
}

// entered is a thread that enters function i, called from back.
func (w *world) entered(i int, sp, back uint64, args ...uint64) {
	w.word(sp, back)
	r := mem.Regs{RIP: 0x50100 + uint64(0x10*i), RSP: sp}
	for k, p := range []*uint64{&r.RDI, &r.RSI, &r.RDX} {
		if k < len(args) {
			*p = args[k]
		}
	}
	_ = w.o.Before(1, &r)
}

func (w *world) returns(i int, sp, result uint64) {
	_ = w.o.Before(1, &mem.Regs{RIP: 0x50100 + uint64(0x10*i) + 0xf, RSP: sp, RAX: result})
}

// brief is what the tests compare.
type brief struct {
	Op         capture.Op
	Flags      capture.HitFlags
	Addr, Size uint64
	Data       string
}

func (w *world) check(t *testing.T, want ...brief) {
	t.Helper()
	var got []brief
	for _, h := range w.hits {
		if h.Op != capture.Stop {
			got = append(got, brief{h.Op, h.Flags, h.Addr, h.Size, string(h.Data)})
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

var (
	memcpy = probe.Func{Name: "memcpy", Role: probe.RoleWriter, Dst: 1, Len: 3, Extent: probe.ExtentArg}
	strcat = probe.Func{Name: "strcat", Role: probe.RoleWriter, Dst: 1, Extent: probe.ExtentAppend}
	strdup = probe.Func{Name: "strdup", Role: probe.RoleStrdup}
	malloc = probe.Func{Name: "malloc", Role: probe.RoleMalloc, Size: 1}
	pieces = probe.Func{Name: "pieces", Role: probe.RoleMalloc, Size: 1, Count: 2, Declared: true}
)

func TestWriters(t *testing.T) {
	const outside, library = 0x40050, 0x50050
	t.Run("from outside", func(t *testing.T) {
		w := newWorld(t, []probe.Func{memcpy})
		w.entered(0, 0x7f00, outside, 0x1010, 0, 3)
		w.put(0x1010, []byte("abc")...)
		w.returns(0, 0x7f00, 0x1010)
		w.check(t, brief{capture.Bulk, 0, 0x1010, 3, "abc"})
	})
	t.Run("from its own library", func(t *testing.T) {
		w := newWorld(t, []probe.Func{memcpy})
		w.entered(0, 0x7f00, library, 0x1010, 0, 3)
		w.returns(0, 0x7f00, 0x1010)
		w.check(t)
	})
	t.Run("another one that it jumped to", func(t *testing.T) {
		w := newWorld(t, []probe.Func{strcat, memcpy})
		w.put(0x1010, []byte("ab")...)
		w.entered(0, 0x7f00, outside, 0x1010)
		w.entered(1, 0x7f00, outside, 0x1010, 0, 1)
		w.put(0x1012, []byte("cd")...)
		w.returns(1, 0x7f00, 0)
		w.check(t, brief{capture.Bulk, 0, 0x1012, 3, "cd\x00"})
	})
	t.Run("left by a jump", func(t *testing.T) {
		w := newWorld(t, []probe.Func{memcpy})
		w.entered(0, 0x7e00, outside, 0x1010, 0, 2)
		w.put(0x1010, []byte("xy")...)
		w.returns(0, 0x7f00, 0) // of a frame above
		w.check(t, brief{capture.Bulk, capture.Late, 0x1010, 2, "xy"})
	})
	t.Run("partly unreadable", func(t *testing.T) {
		w := newWorld(t, []probe.Func{memcpy})
		w.entered(0, 0x7f00, outside, 0x1ffe, 0, 4)
		w.returns(0, 0x7f00, 0)
		w.check(t, brief{capture.Bulk, capture.Unread, 0x1ffe, 4, "\x00\x00\x00\x00"})
	})
	t.Run("strdup", func(t *testing.T) {
		w := newWorld(t, []probe.Func{strdup, malloc})
		w.entered(0, 0x7f00, outside, 0x1100)
		w.entered(1, 0x7e00, library, 4)
		w.returns(1, 0x7e00, 0x1010)
		w.put(0x1010, []byte("dup")...)
		w.returns(0, 0x7f00, 0x1010)
		w.check(t, brief{capture.Bulk, 0, 0x1010, 4, "dup\x00"})
		if n := len(w.hits); n != 5 || w.hits[1].Flags != capture.Nested {
			t.Errorf("%d hits, the inner malloc's flags %d", n, w.hits[1].Flags)
		}
	})
}

// TestGiven: what lies in a piece that a declared allocator gives out is told when it does, and of no other one.
func TestGiven(t *testing.T) {
	for _, c := range []struct {
		f      probe.Func
		result uint64
		want   []brief
	}{
		{pieces, 0x1010, []brief{{capture.Found, 0, 0x1010, 4, "ab\x00\x00"}}},
		{pieces, 0, nil}, // it refuses
		{malloc, 0x1010, nil},
	} {
		w := newWorld(t, []probe.Func{c.f})
		w.put(0x1010, []byte("ab")...)
		w.entered(0, 0x7f00, 0x40050, 2, 2)
		w.returns(0, 0x7f00, c.result)
		w.check(t, c.want...)
	}
}

func TestStores(t *testing.T) {
	plain := x86.Store{Operand: x86.Operand{Base: x86.RDI, Index: x86.NoReg}, Width: 4, Len: 3}
	str := x86.Store{Operand: x86.Operand{Base: x86.RDI, Index: x86.NoReg}, Shape: x86.ShapeString, Rep: true, Width: 1, Len: 2}
	cond := x86.Store{Operand: x86.Operand{Base: x86.RDI, Index: x86.NoReg}, Shape: x86.ShapeCond, Lock: true, Atomic: true, Width: 4, Len: 4}
	masked := x86.Store{Operand: x86.Operand{Base: x86.RDI, Index: x86.NoReg}, Shape: x86.ShapeMasked, Width: 4, Len: 4}
	const zero = 1 << 6
	for _, c := range []struct {
		name          string
		store         x86.Store
		before, after mem.Regs
		write         string // at 0x1010, by the instruction
		cancel        bool
		want          []brief
	}{
		{"plain", plain, mem.Regs{RDI: 0x1010}, mem.Regs{}, "abcd", false, []brief{{capture.Store, 0, 0x1010, 4, "abcd"}}},
		{"to the stack", plain, mem.Regs{RDI: 0x7010}, mem.Regs{}, "", false, nil},
		{"to static data", plain, mem.Regs{RDI: 0x1f10}, mem.Regs{}, "", false, nil},
		{"that faults", plain, mem.Regs{RDI: 0x1010}, mem.Regs{}, "", true, nil},
		{"string", str, mem.Regs{RDI: 0x1010, RCX: 3}, mem.Regs{RDI: 0x1013}, "abc", false, []brief{{capture.Store, 0, 0x1010, 3, "abc"}}},
		{"string downwards", str, mem.Regs{RDI: 0x1012, RCX: 3, EFlags: 1 << 10}, mem.Regs{RDI: 0x100f}, "abc", false, []brief{{capture.Store, 0, 0x1010, 3, "abc"}}},
		{"string of nothing", str, mem.Regs{RDI: 0x1010}, mem.Regs{}, "", false, nil},
		{"string that faults in the middle", str, mem.Regs{RDI: 0x1010, RCX: 9}, mem.Regs{RDI: 0x1012, RCX: 7}, "ab", true, []brief{{capture.Store, 0, 0x1010, 2, "ab"}}},
		{"exchange that succeeds", cond, mem.Regs{RDI: 0x1010}, mem.Regs{EFlags: zero}, "abcd", false, []brief{{capture.Store, 0, 0x1010, 4, "abcd"}}},
		{"exchange that fails", cond, mem.Regs{RDI: 0x1010}, mem.Regs{}, "", false, nil},
		{"masked", masked, mem.Regs{RDI: 0x1010}, mem.Regs{}, "a", false, []brief{{capture.Store, capture.Masked, 0x1010, 4, "a\x00\x00\x00\x00\x00\x00\x00"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, nil, c.store)
			c.before.RIP, c.before.RSP = 0x40000, 0x7f00
			_ = w.o.Before(1, &c.before)
			w.put(0x1010, []byte(c.write)...)
			if c.cancel {
				if c.after.RDI == 0 {
					c.after.RDI = c.before.RDI
				}
				_ = w.o.Cancel(1, &c.after)
			} else {
				_ = w.o.After(1, &c.after)
			}
			w.check(t, c.want...)
		})
	}
}

func TestCalls(t *testing.T) {
	w := newWorld(t, nil)
	var wrote [][2]uint64
	call := func(nr, result uint64, args ...uint64) {
		r := mem.Regs{RIP: 0x40000, RSP: 0x7f00, RAX: nr}
		for k, p := range []*uint64{&r.RDI, &r.RSI, &r.RDX} {
			if k < len(args) {
				*p = args[k]
			}
		}
		_ = w.o.BeforeCall(1, &r)
		r.RIP, r.RAX = r.RIP+2, result
		_ = w.o.AfterCall(1, &r, func(addr, size uint64) { wrote = append(wrote, [2]uint64{addr, size}) })
	}
	w.put(0x1010, []byte("read")...)
	call(0, 4, 3, 0x1010, 100)         // read
	call(0, ^uint64(3), 3, 0x1010)     // that fails
	call(39, 7)                        // getpid writes nothing
	call(11, 0, 0x5000, 4096)          // munmap
	call(11, ^uint64(21), 0x5001, 100) // of no page
	call(9, 0x1800, 0, 0x100)          // mmap
	w.word(0x1100, 0x1020)             // readv: 3 bytes, then the rest
	w.word(0x1108, 3)
	w.word(0x1110, 0x1030)
	w.word(0x1118, 9)
	call(19, 5, 3, 0x1100, 2)
	w.check(t,
		brief{capture.Syscall, 0, 0x1010, 4, "read"},
		brief{capture.Unmap, 0, 0x5000, 4096, ""},
		brief{capture.Map, 0, 0x1800, 0x100, ""},
		brief{capture.Syscall, 0, 0x1020, 3, "\x00\x00\x00"},
		brief{capture.Syscall, 0, 0x1030, 2, "\x00\x00"},
	)
	if d := cmp.Diff([][2]uint64{{0x1010, 4}, {0x1800, 0x100}, {0x1020, 3}, {0x1030, 2}}, wrote); d != "" {
		t.Error(d)
	}
}

// What a system call writes is told of the caller of the library's function that makes it.
func TestCallsInWriters(t *testing.T) {
	w := newWorld(t, []probe.Func{{Name: "recv", Role: probe.RoleWriter, Dst: 2, Extent: probe.ExtentCall}})
	read := func(pc, sp uint64) {
		r := mem.Regs{RIP: pc, RSP: sp, RDI: 3, RSI: 0x1010, RDX: 4}
		_ = w.o.BeforeCall(1, &r)
		r.RIP, r.RAX = pc+2, 4
		_ = w.o.AfterCall(1, &r, func(addr, size uint64) {})
	}
	w.entered(0, 0x7f00, 0x40020, 3, 0x1010, 4)
	read(0x50104, 0x7ef0)
	w.returns(0, 0x7f00, 4)
	read(0x40030, 0x7f00) // the program's own
	w.entered(0, 0x7e00, 0x40020, 3, 0x1010, 4)
	read(0x40040, 0x7f00) // after a longjmp out of it
	w.entered(0, 0x7e00, 0x50020, 3, 0x1010, 4)
	read(0x50104, 0x7df0) // the library for itself
	var pcs []uint64
	for _, h := range w.hits {
		pcs = append(pcs, h.PC)
	}
	if d := cmp.Diff([]uint64{0x40020, 0x40032, 0x40042, 0x50106}, pcs); d != "" {
		t.Error(d)
	}
}
