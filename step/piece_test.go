package step

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/flow"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"
)

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
		got := addrs(&d, in.Len, &r, nil, nil)
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
	got := addrs(&d, in.Len, &r, nil, nil)
	repeated(&d, &r, &after, got)
	if diff := cmp.Diff([]flow.Mem{{Addr: 0x3ffe, Size: 3}}, got); diff != "" {
		t.Error(diff)
	}
}
