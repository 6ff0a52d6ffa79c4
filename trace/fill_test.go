package trace_test

import (
	"testing"

	"mgtrace/trace"
)

// TestFill: of a memset of which only the beginning was recorded all is known, of another write not; nor if the beginning is not of one byte.
func TestFill(t *testing.T) {
	const begin = "\x07\x07\x07\x07\x07\x07\x07\x07"
	for name, c := range map[string]struct {
		ev   trace.Event
		want bool
	}{
		"memset":             {trace.Event{Kind: trace.KindBulk, Flags: trace.FlagPartial, Name: "memset", Data: []byte(begin)}, true},
		"checked":            {trace.Event{Kind: trace.KindBulk, Flags: trace.FlagPartial, Name: "__memset_chk", Data: []byte(begin)}, true},
		"whole":              {trace.Event{Kind: trace.KindBulk, Name: "memset", Data: []byte(begin)}, false},
		"memcpy":             {trace.Event{Kind: trace.KindBulk, Flags: trace.FlagPartial, Name: "memcpy", Data: []byte(begin)}, false},
		"read":               {trace.Event{Kind: trace.KindSyscall, Flags: trace.FlagPartial, Name: "memset", Data: []byte(begin)}, false},
		"written to by many": {trace.Event{Kind: trace.KindBulk, Flags: trace.FlagPartial, Name: "memset", Data: []byte("\x00" + begin)}, false},
		"nothing is known":   {trace.Event{Kind: trace.KindBulk, Flags: trace.FlagPartial, Name: "memset"}, false},
	} {
		c.ev.Size = 1 << 21
		if b, ok := c.ev.Fill(); ok != c.want || ok && b != 7 {
			t.Errorf("%s: %d, %t", name, b, ok)
		}
	}
}
