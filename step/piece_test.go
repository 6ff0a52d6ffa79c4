package step

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/flow"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

// memory is bytes at address 0x1000.
type memory []byte

func (m memory) ReadMemory(buf []byte, addr uint64) (int, error) {
	if addr < 0x1000 || addr-0x1000 >= uint64(len(m)) {
		return 0, &mem.UnreadableError{Addr: addr}
	}
	n := copy(buf, m[addr-0x1000:])
	if n < len(buf) {
		return n, &mem.UnreadableError{Addr: addr + uint64(n)}
	}
	return n, nil
}

func TestStateSize(t *testing.T) {
	const most = 2696
	for _, c := range []struct {
		name         string
		has, compact uint64
		want         uint32
	}{
		{"old form, x87 and SSE", 3, 0, 576},
		{"old form with AVX", 7, 0, most},
		{"compact, what ld.so saves (0xee)", 6, 1<<63 | 0xee, 576 + 256 + 64 + 64 + 512 + 1024},
		{"compact, AVX", 7, 1<<63 | 7, 832},
		{"compact, with what is not known", 7, 1<<63 | 1<<40, most},
	} {
		m := make(memory, 1024)
		binary.LittleEndian.PutUint64(m[512:], c.has)
		binary.LittleEndian.PutUint64(m[520:], c.compact)
		if got := stateSize(m, 0x1000, most); got != c.want {
			t.Errorf("%s: %d bytes instead of %d", c.name, got, c.want)
		}
	}
	if got := stateSize(memory{}, 0x1000, most); got != most {
		t.Errorf("unreadable: %d bytes", got)
	}
}

// TestAddrs: where the accesses of instructions are.
func TestAddrs(t *testing.T) {
	r := mem.Regs{
		RIP: 0x400000, RAX: 0x1_0000_0105, RBX: 0x2000, RCX: 3, RSI: 0x3000, RDI: 0x4000, RSP: 0x7000, FSBase: 0x9000,
	}
	after := r
	after.RCX = 0
	for _, c := range []struct {
		name string
		code []byte
		want []flow.Mem
	}{
		{"mov rax, [rbx+rcx*8+16]", []byte{0x48, 0x8b, 0x44, 0xcb, 0x10}, []flow.Mem{{Addr: 0x2000 + 24 + 16, Size: 8}}},
		{"mov eax, [rip+1]", []byte{0x8b, 0x05, 1, 0, 0, 0}, []flow.Mem{{Addr: 0x400007, Size: 4}}},
		{"mov rax, fs:[0x28]", []byte{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}, []flow.Mem{{Addr: 0x9028, Size: 8}}},
		{"mov al, [eax]", []byte{0x67, 0x8a, 0x00}, []flow.Mem{{Addr: 0x105, Size: 1}}},
		{"push rbx", []byte{0x53}, []flow.Mem{{Addr: 0x6ff8, Size: 8}}},
		{"pop rbx", []byte{0x5b}, []flow.Mem{{Addr: 0x7000, Size: 8}}},
		{"call [rbx]", []byte{0xff, 0x13}, []flow.Mem{{Addr: 0x2000, Size: 8}, {Addr: 0x6ff8, Size: 8}}},
		{"xlat", []byte{0xd7}, []flow.Mem{{Addr: 0x2005, Size: 1}}},
		{"bts [rbx], rax", []byte{0x48, 0x0f, 0xab, 0x03}, []flow.Mem{{Addr: trace.Addr(0x2000 + 0x1_0000_0105>>6*8), Size: 8}}},
		{"rep movsd", []byte{0xf3, 0xa5}, []flow.Mem{{Addr: 0x3000, Size: 12}, {Addr: 0x4000, Size: 12}}},
		{"lea rax, [rbx]", []byte{0x48, 0x8d, 0x03}, nil},
	} {
		in, err := x86.Decode(c.code, r.RIP)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		d := describe(&in, c.code)
		got := new(Engine).addrs(&d, in.Len, &r, nil)
		if d.rep {
			repeated(&d, &r, &after, got)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	// Downwards the range begins at the last element.
	in, err := x86.Decode([]byte{0xf3, 0xaa}, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := describe(&in, []byte{0xf3, 0xaa})
	r.EFlags = flagDirection
	got := new(Engine).addrs(&d, in.Len, &r, nil)
	repeated(&d, &r, &after, got)
	if diff := cmp.Diff([]flow.Mem{{Addr: 0x3ffe, Size: 3}}, got); diff != "" {
		t.Error(diff)
	}
}
