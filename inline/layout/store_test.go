package layout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/x86"
)

// TestRecords: what the records of instructions hold.
func TestRecords(t *testing.T) {
	for _, c := range []struct {
		text, code string
		complex    bool
		parts      StoreParts
		size       int
	}{
		{"mov [rdi], al", "\x88\x07", false, StoreParts{FromBase: true}, 16},
		{"mov [rdi], rax", "\x48\x89\x07", false, StoreParts{FromBase: true}, 20},
		{"mov [rdi-64], rax", "\x48\x89\x47\xc0", false, StoreParts{FromBase: true}, 20},
		{"mov [rdi+0x7ffffff0], rax", "\x48\x89\x87\xf0\xff\xff\x7f", false, StoreParts{}, 20},
		{"mov [rdi+rcx*8], rax", "\x48\x89\x04\xcf", false, StoreParts{Base: true}, 28},
		{"mov [rcx*8+64], rax", "\x48\x89\x04\xcd\x40\x00\x00\x00", false, StoreParts{}, 20},
		{"mov [edi], rax", "\x67\x48\x89\x07", false, StoreParts{Base: true}, 28},
		{"fstp tbyte [rdi]", "\xdb\x3f", false, StoreParts{FromBase: true}, 24},
		{"xchg [rdi], eax", "\x87\x07", false, StoreParts{Stamp: true, Old: true, FromBase: true}, 40},
		{"lock dec dword [rdi]", "\xf0\xff\x0f", false, StoreParts{Stamp: true, FromBase: true}, 24},
		{"cmpxchg [rdi], edx", "\x0f\xb1\x17", false, StoreParts{Flags: true, FromBase: true}, 24},
		{"lock cmpxchg16b [rdi]", "\xf0\x48\x0f\xc7\x0f", false, StoreParts{Stamp: true, Flags: true, Old: true, FromBase: true}, 60},
		{"vmovups [rdi], zmm0", "\x62\xf1\x7c\x48\x11\x07", false, StoreParts{FromBase: true}, 76},
		{"vmovups [rdi]{k1}, zmm0", "\x62\xf1\x7c\x49\x11\x07", true, StoreParts{}, 0},
		{"rep movsb", "\xf3\xa4", true, StoreParts{}, 0},
		{"bts [rdi], eax", "\x0f\xab\x07", true, StoreParts{}, 0},
		{"fnsave [rdi]", "\xdd\x37", true, StoreParts{}, 0},
		{"cmpbexadd [rdi], eax, ecx", "\xc4\xe2\x71\xe6\x07", true, StoreParts{}, 0},
	} {
		in, err := x86.Decode([]byte(c.code), 0)
		if err != nil || in.Effect != x86.EffectStore {
			t.Fatalf("%s: %v, effect %v", c.text, err, in.Effect)
		}
		s := &in.Store
		if got := Complex(s); got != c.complex {
			t.Errorf("%s: Complex %v", c.text, got)
		}
		if c.complex {
			continue
		}
		if diff := cmp.Diff(c.parts, PartsOf(s, false)); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
		if got := StoreSize(s.Width, c.parts); got != c.size {
			t.Errorf("%s: size %d, want %d", c.text, got, c.size)
		}
		if !PartsOf(s, true).Stamp {
			t.Errorf("%s: no stamp in strict order", c.text)
		}
	}
}
