package emit

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/inline/patch"
	"mgtrace/x86"
)

var update = flag.Bool("update", false, "write the golden files anew")

var _ patch.Emitter = (*Maker)(nil)

// listing is a trampoline with what its positions mean.
func listing(t *testing.T, m *Maker, at uint64) string {
	t.Helper()
	code, err := m.Emit(nil, 0, at)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for off := 0; off < len(code); {
		in, err := x86.Decode(code[off:], at+uint64(off))
		if err != nil {
			t.Fatalf("offset %d: %v", off, err)
		}
		p, ok := m.Where(0, at, off)
		if !ok {
			t.Fatalf("offset %d: no position", off)
		}
		for inside := 1; inside < in.Len; inside++ {
			if _, ok := m.Where(0, at, off+inside); ok {
				t.Errorf("offset %d is inside an instruction and has a position", off+inside)
			}
		}
		fmt.Fprintf(&b, "%4d  %-46s%s\n", off, x86.Text(code[off:], at+uint64(off)), meaning(&p))
		off += in.Len
	}
	return b.String()
}

// meaning is a position in one line.
func meaning(p *Position) string {
	var w []string
	add := func(yes bool, format string, args ...any) {
		if yes {
			w = append(w, fmt.Sprintf(format, args...))
		}
	}
	add(true, "%x", p.PC)
	add(p.Executed, "executed")
	add(!p.Clean, "unclean")
	add(p.Partial, "partial")
	add(p.Called, "called")
	add(p.Undo == UndoSize, "undo %d", p.Size)
	for _, h := range p.Held {
		if h.OnStack && len(p.Held) > 3 {
			add(h.Reg == p.Held[0].Reg, "%d held on hook stack", len(p.Held))
			continue
		}
		add(true, "r%d=%+#x", h.Reg, h.Off)
	}
	add(p.Flags == FlagsSlot, "flags in slot")
	add(p.Fault == FaultProgram, "fault: program")
	add(p.Fault == FaultLog, "fault: log, reload %d, skip %d", p.Reload, p.Skip)
	add(p.Fault == FaultOperand, "fault: operand, skip %d", p.Skip)
	return strings.Join(w, "; ")
}

func TestGolden(t *testing.T) {
	filter := Options{Filter: Filter{On: true, Shadow: shadowAt}}
	for _, c := range []struct {
		name, code string
		opt        Options
		hook       int
		after      bool
	}{
		{"register", "488907", Options{}, None, false},                 // mov [rdi], rax
		{"immediate", "c7471001000000", Options{}, None, false},        // mov dword [rdi+16], 1
		{"index", "4a8934e0", Options{}, None, false},                  // mov [rax+r12*8], rsi
		{"high", "886708", Options{}, None, false},                     // mov [rdi+8], ah
		{"global", "48890511111100", Options{}, None, false},           // mov [rip+0x111111], rax
		{"rmw", "8343f001", Options{}, None, false},                    // add dword [rbx-16], 1
		{"vector", "0f114708", Options{}, None, false},                 // movups [rdi+8], xmm0
		{"x87", "db3f", Options{}, None, false},                        // fstp tbyte [rdi]
		{"locked", "f0ff4e08", Options{}, None, false},                 // lock dec dword [rsi+8]
		{"xchg", "8707", Options{}, None, false},                       // xchg [rdi], eax
		{"xadd-self", "f0480fc100", Options{}, None, false},            // lock xadd [rax], rax
		{"cmpxchg", "f00fb117", Options{}, None, false},                // lock cmpxchg [rdi], edx
		{"cmpxchg16b", "f0480fc70f", Options{}, None, false},           // lock cmpxchg16b [rdi]
		{"strict", "488907", Options{Strict: true}, None, false},       // mov [rdi], rax
		{"strict-rmw", "8343f001", Options{Strict: true}, None, false}, // add dword [rbx-16], 1
		{"filter", "488907", filter, None, false},
		{"filter-index", "4a8934e0", filter, None, false},
		{"filter-rmw", "8343f001", filter, None, false},
		{"filter-vector", "0f114708", filter, None, false},
		{"hook", "55", Options{}, 3, false}, // push rbp
		{"hook-store", "488907", Options{}, 3, false},
		{"complex", "f3a4", Options{}, 4, false}, // rep movsb
		{"syscall", "0f05", Options{}, 5, true},
		{"call", "e800010000", Options{}, 6, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := maker(t, c.code, c.opt, c.hook, c.after)
			beginsAgain(t, m, 0x500000)
			got := listing(t, m, 0x500000)
			file := filepath.Join("testdata", c.name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// beginsAgain: who begins a record again comes to Reload with registers changed. They
// must be known to be held elsewhere there, or a signal would find them as they are.
func beginsAgain(t *testing.T, m *Maker, at uint64) {
	t.Helper()
	for off, p := range m.positions(0, at) {
		if p.Fault != FaultLog || p.Reload < 0 {
			continue
		}
		again, ok := m.Where(0, at, p.Reload)
		if !ok {
			t.Fatalf("offset %d: nothing at Reload, %d", off, p.Reload)
		}
		for _, h := range p.Held {
			if !slices.Contains(again.Held, h) {
				t.Errorf("offset %d: register %d is held, at Reload (%d) it is not", off, h.Reg, p.Reload)
			}
		}
	}
}

// maker has one site at 0x400000.
func maker(t testing.TB, code string, opt Options, hook int, after bool) *Maker {
	t.Helper()
	b, err := hex.DecodeString(code)
	if err != nil {
		t.Fatal(err)
	}
	opt.Relocate = relocate
	s := Site{PC: 0x400000, Code: b, Tag: None, Hook: hook, After: after}
	if in, err := x86.Decode(b, s.PC); err == nil && in.Effect == x86.EffectStore {
		s.Tag = 0x77
	}
	return New([]Site{s}, opt)
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"no store", "4889c7", "no store"},
		{"thread-local", "6448890425 00000000", "no store"},
		{"complex without hook", "f3aa", "hook routine"},
		{"unsupported", "0fae27", "no store"}, // xsave [rdi]
		{"cut", "4889", "cut off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := maker(t, strings.ReplaceAll(c.code, " ", ""), Options{}, None, false)
			m.sites[0].Tag = 1
			_, err := m.Emit(nil, 0, 0x500000)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if n, err := m.Size(0); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Size %d of what has no trampoline, error %v, want %q in it", n, err, c.want)
			}
			if _, ok := m.Where(0, 0x500000, 0); ok {
				t.Error("a position in what has no trampoline")
			}
		})
	}
	m := maker(t, "c3", Options{}, 1, true)
	if _, err := m.Emit(nil, 0, 0x500000); err == nil {
		t.Error("a hook behind a return was accepted")
	}
}

// TestSyscallPosition: a thread behind the system call has executed it, and
// the routine has not been told. (The kernel saves RFLAGS in R11, so stepping
// would show there: it is not executed step by step.)
func TestSyscallPosition(t *testing.T) {
	m := maker(t, "0f05", Options{}, 1, true)
	code, err := m.Emit(nil, 0, 0x500000)
	if err != nil {
		t.Fatal(err)
	}
	off := strings.Index(string(code), "\x0f\x05") + 2
	p, ok := m.Where(0, 0x500000, off)
	want := Position{PC: 0x400002, Executed: true, Reload: -1, Skip: -1}
	if !ok || !cmp.Equal(p, want) {
		t.Errorf("position %+v, want %+v", p, want)
	}
}

// TestSize: the bound holds wherever the trampoline lies.
func TestSize(t *testing.T) {
	for _, code := range []string{"488907", "48890511111100", "e800010000", "ff1511111100", "7405", "e2f0", "0f05", "f3a4", "c3"} {
		m := maker(t, code, Options{}, 1, code == "0f05")
		size, err := m.Size(0)
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		for _, at := range []uint64{0x400010, 0x10000, 0x30000000, 0x7fff0000} {
			got, err := m.Emit(nil, 0, at)
			if err != nil {
				t.Fatalf("%s at %#x: %v", code, at, err)
			}
			if len(got) > size {
				t.Errorf("%s at %#x: %d bytes, Size %d", code, at, len(got), size)
			}
		}
	}
}

func TestStatusFlags(t *testing.T) {
	// AH: SF ZF 0 AF 0 PF 1 CF; AL: OF.
	if got := StatusFlags(0x246, 0xd7<<8|1); got != 0xa06|0xd1 {
		t.Errorf("flags %#x", got)
	}
	if got := StatusFlags(0xad7, 0x02<<8); got != 0x202 {
		t.Errorf("flags %#x", got)
	}
}

// FuzzEmit: whatever the bytes, a trampoline decodes into the instructions that
// have positions, or there is none.
func FuzzEmit(f *testing.F) {
	for _, s := range []string{"488907", "f0480fc100", "f3a4", "0f114708", "62f17c48114701"} {
		b, _ := hex.DecodeString(s)
		f.Add(b, byte(0))
		f.Add(b, byte(7))
	}
	f.Fuzz(func(t *testing.T, code []byte, kind byte) {
		if len(code) > x86.MaxLen {
			return
		}
		opt := Options{Strict: kind&1 != 0, Filter: Filter{On: kind&2 != 0, Shadow: shadowAt}, Relocate: relocate}
		s := Site{PC: 0x400000, Code: code, Tag: int(kind) - 1, Hook: int(kind)/2 - 1, After: kind&8 != 0}
		m := New([]Site{s}, opt)
		out, err := m.Emit(nil, 0, 0x500000)
		if err != nil {
			return
		}
		if n, err := m.Size(0); err != nil || n < len(out) {
			t.Fatalf("Size %d, %v, %d bytes", n, err, len(out))
		}
		next := 0
		for off, p := range m.positions(0, 0x500000) {
			if off != next {
				return // behind data of a relocated branch
			}
			in, err := x86.Decode(out[off:], 0x500000+uint64(off))
			if err != nil {
				t.Fatalf("% x: offset %d of % x: %v", code, off, out, err)
			}
			if p.Fault == FaultLog && (p.Reload < 0 || p.Reload > off || p.Skip < 0) {
				t.Fatalf("% x: offset %d: %+v", code, off, p)
			}
			if p.Clean && p.Called || p.Undo != UndoNone && p.Executed {
				t.Fatalf("% x: offset %d: %+v", code, off, p)
			}
			next = off + in.Len
		}
		if next != len(out) {
			t.Fatalf("% x: positions end at %d of %d", code, next, len(out))
		}
	})
}

func BenchmarkEmit(b *testing.B) {
	m := maker(b, "4a8934e0", Options{}, None, false)
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = m.Emit(buf[:0], 0, 0x500000); err != nil {
			b.Fatal(err)
		}
	}
}
