package x86

import "testing"

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
		if got := StateSize(c.has, c.compact, most); got != c.want {
			t.Errorf("%s: %d bytes instead of %d", c.name, got, c.want)
		}
	}
}
