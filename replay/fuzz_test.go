package replay

import (
	"encoding/hex"
	"testing"
)

// bytesWorld is a program of some bytes at an address, in a memory that is 0 where it is known.
type bytesWorld []byte

const bytesAt = 0x40_0000

func (w bytesWorld) Read(addr uint64, data []byte, known []bool) {
	for i := range data {
		at := addr + uint64(i)
		known[i] = at>>4&1 == 0
		if off := at - bytesAt; off < uint64(len(w)) {
			data[i], known[i] = w[off], true
		}
	}
}

func (w bytesWorld) Code(pc uint64) []byte {
	if off := pc - bytesAt; off < uint64(len(w)) {
		return w[off:]
	}
	return nil
}

func (w bytesWorld) Import(pc uint64) string {
	names := [...]string{"malloc", "calloc", "realloc", "free", "memcpy", "memset", "memmove", "strlen", "strcpy", "strcmp", "printf", "exit", "strcasecmp", "strchr", "strrchr", "memchr", "strnlen", "strspn", "strpbrk", "strstr", "toupper", "__ctype_b_loc", "pthread_mutex_lock", "pthread_mutex_init", "snprintf", "vsprintf", "strtol", "time", "strcat"}
	if n := pc - 0x50_0000; n < uint64(len(names)) {
		return names[n]
	}
	return ""
}

func (w bytesWorld) Function(string) (uint64, bool) { return 0, false }

// FuzzRun: whatever the bytes are, a run ends, and says why. With the same decisions and values it does the same again.
func FuzzRun(f *testing.F) {
	for _, text := range []string{
		"55 4889e5 b801000000 5dc3",               // a function that returns 1
		"4885ff 7402 0f05 c3",                     // a condition, and a system call
		"b9ffffffff f3aa c3",                      // rep stosb
		"48f7f6 c3 48f7fe c3",                     // divisions
		"660fefc0 0f1107 f20f58c1 c3",             // vectors and numbers with a point
		"e8fbffffff",                              // a call of itself
		"480fa4c80c 0fc8 660fc8 0fa3c8 0fbcc1 c3", // shifts of two registers, bytes the other way round, bits
		"8ed8 8cd8 6489042500000000 c3",           // segments
	} {
		var clean []byte
		for _, c := range []byte(text) {
			if c != ' ' {
				clean = append(clean, c)
			}
		}
		code, err := hex.DecodeString(string(clean))
		if err != nil {
			f.Fatal(text, err)
		}
		f.Add(code, uint64(0x60_0000), uint64(3))
	}
	f.Fuzz(func(t *testing.T, code []byte, a, b uint64) {
		m := New(bytesWorld(code))
		call := Call{Entry: bytesAt, Args: []uint64{a, b, 16}, MaxSteps: 2000}
		run := m.Run(call)
		if run.Steps > call.MaxSteps+maxData {
			t.Errorf("%d steps", run.Steps)
		}
		call.Flip = func(int, uint64) bool { return false }
		call.Alter = func(_ int, _, value uint64) uint64 { return value }
		again := m.Run(call)
		if again.Steps != run.Steps || again.Result != run.Result || len(again.Effects) != len(run.Effects) {
			t.Errorf("%d steps, result %d, then %d and %d", run.Steps, run.Result, again.Steps, again.Result)
		}
		call.Flip = func(n int, _ uint64) bool { return n%2 == 0 }
		call.Alter = func(n int, _, value uint64) uint64 { return value + uint64(n) }
		m.Run(call)
	})
}
