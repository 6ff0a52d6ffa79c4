package patch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/x86"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The places of testdata/execute.c, as offsets from the page of the instruction.
const (
	execTarget = 0x800
	execData   = 0x10000
)

// executed are instructions: B1 is a displacement of one byte to the target, B4
// one of four bytes, D4 one of four bytes to the data.
var executed = []string{
	"90", "48 8b 05 D4", "48 89 05 D4", "48 8d 0d D4", "83 05 D4 07", "66 81 05 D4 34 12", "48 c7 05 D4 01 02 03 04",
	"f3 0f 6f 05 D4", "c5 fa 6f 05 D4", "f0 48 0f b1 15 D4", "0f ba 2d D4 05", "48 0f a3 0d D4", "ff 35 D4", "8f 05 D4", "80 3d D4 11",
	"eb B1", "e9 B4", "48 e9 B4", "2e e9 B4", "70 B1", "71 B1", "72 B1", "73 B1", "74 B1", "75 B1", "76 B1", "77 B1", "78 B1", "79 B1", "7a B1", "7b B1", "7c B1",
	"7d B1", "7e B1", "7f B1", "0f 84 B4", "0f 85 B4", "0f 8f B4", "2e 0f 82 B4", "3e 74 B1",
	"e0 B1", "e1 B1", "e2 B1", "e3 B1", "67 e0 B1", "67 e2 B1", "67 e3 B1",
	"e8 B4", "66 48 e8 B4", "ff d0", "ff e0", "3e ff d0", "f2 ff d0", "40 ff d0", "48 ff d0", "41 ff 14 24", "41 ff 54 24 08", "41 ff 94 24 00 01 00 00",
	"ff 14 24", "ff 54 24 08", "ff 54 24 78", "ff 94 24 00 01 00 00", "ff 14 cc", "ff 54 cc 10", "ff 54 24 f0", "41 ff 24 24", "ff 64 24 08",
	"c3", "f3 c3", "c2 10 00", "50", "54", "5c", "5b", "68 01 02 03 04", "6a fe", "9c", "c9", "c8 10 00 00", "8f 44 24 08",
	"48 89 07", "aa", "f3 aa", "f3 48 a5", "0f b1 17", "87 07", "48 ff 47 08", "0f 94 07", "48 0f c7 0f",
	"f3 0f 1e fa", "0f 1f 44 00 00", "48 b8 01 02 03 04 05 06 07 08", "86 27",
}

// assemble fills in the displacements of an instruction at addr.
func assemble(t testing.TB, text string, addr uint64) []byte {
	page := addr &^ 0xfff
	size := len(strings.ReplaceAll(strings.NewReplacer("B1", "00", "B4", "00000000", "D4", "00000000").Replace(text), " ", "")) / 2
	next := addr + uint64(size)
	b4 := func(to uint64) string {
		return fmt.Sprintf("%x", binary.LittleEndian.AppendUint32(nil, uint32(to-next)))
	}
	return unhex(t, strings.NewReplacer("B1", "20", "B4", b4(page+execTarget), "D4", b4(page+execData+16)).Replace(text))
}

// TestExecuted runs instructions and their relocated copies on the processor:
// registers, flags, memory, stack and where control goes are the same.
func TestExecuted(t *testing.T) {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("executes x86-64 instructions on Linux")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler")
	}
	program := filepath.Join(t.TempDir(), "execute")
	if out, err := exec.Command(gcc, "-O1", "-o", program, filepath.Join("testdata", "execute.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	type pair struct{ from, to uint64 }
	places := []pair{
		{0x1000_0010, 0x5000_0123}, {0x1000_0010, 0x1_0fff_ff00 - 1<<31}, {0x5555_0000_0010, 0x5554_9000_0ff0 - 0x200},
		{0x5555_0000_0010, 0x5555_6000_0001}, {0x2555_8000_0010, 0x2555_7000_0200},
	}
	var in bytes.Buffer
	var names []string
	for _, p := range places {
		// getpid: RCX is the address behind it
		for _, text := range append([]string{"0f 05"}, executed...) {
			raw := assemble(t, text, p.from)
			code := []Code{{Addr: p.from, Bytes: raw}}
			out, err := Relocate(nil, code, p.from, p.to)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if inst, _ := x86.Decode(raw, p.from); len(out) > MaxRelocated(&inst) {
				t.Errorf("%s: %d bytes, at most %d were announced", text, len(out), MaxRelocated(&inst))
			}
			fmt.Fprintf(&in, "%x %x %x %x\n", p.from, p.to, raw, out)
			names = append(names, fmt.Sprintf("%s from %#x to %#x: % x", text, p.from, p.to, out))
		}
	}
	cmd := exec.Command(program)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(names) {
		t.Fatalf("%d answers to %d questions", len(lines), len(names))
	}
	for i, l := range lines {
		if l != "ok" {
			t.Errorf("%s: %s", names[i], l)
		}
	}
}

func TestRelocate(t *testing.T) {
	const from = 0x5555_0000_1000
	for _, c := range []struct {
		hex  string
		to   uint64
		want string
		err  error
	}{
		{"c7 f8 10 00 00 00", from + 0x100, "c7 f8 10 ff ff ff", nil},
		{"e2 fe", from + 0x100, "e2 02 eb 05 e9 f7 fe ff ff", nil},
		{"e8 00 00 00 00", from + 0x1000, "68 05 10 00 00 c7 44 24 04 55 55 00 00 e9 f3 ef ff ff", nil},
		{"62 f1 7c 48 11 05 10 00 00 00", from - 0x10, "62 f1 7c 48 11 05 20 00 00 00", nil},
		{"0f 0b", from + 1, "0f 0b", nil},
		{"cc", from + 1, "", ErrTrap},
		{"f1", from + 1, "", ErrTrap},
		{"0f 34", from + 1, "", ErrSysenter},
		{"ff 1f", from + 1, "", ErrFarCall},
		{"66 e8 00 00 00 00", from + 1, "", ErrOpSize},
		{"66 75 00", from + 1, "", ErrOpSize},
		{"66 ff d0", from + 1, "", ErrOpSize},
		{"ff d4", from + 1, "", ErrCallStack},
		{"41 ff d4", from + 0x10, "68 03 10 00 00 c7 44 24 04 55 55 00 00 41 ff e4", nil},
		{"ff 54 24 f8", from + 1, "", ErrCallStack},
		{"41 41 41 41 41 41 41 41 42 ff 54 24 30", from + 1, "", ErrLong},
		{"ff 94 24 fc ff ff 7f", from + 1, "", ErrFar},
		{"67 8b 05 00 00 00 00", from + 1, "", ErrAddr32},
		{"8b 05 00 00 00 00", from + 1<<31 + 8, "", ErrFar},
		{"e9 00 00 00 00", from - 1<<32, "", ErrFar},
		{"0f", from, "", x86.ErrTruncated},
		{"06", from, "", x86.ErrUnknown},
	} {
		code := []Code{{Addr: from, Bytes: unhex(t, c.hex)}}
		got, err := Relocate(nil, code, from, c.to)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v instead of %v", c.hex, err, c.err)
		}
		if diff := cmp.Diff(unhex(t, c.want), got, cmp.Transformer("hex", func(b []byte) string { return fmt.Sprintf("% x", b) })); diff != "" {
			t.Errorf("%s: %s", c.hex, diff)
		}
	}
	if _, err := Relocate(nil, []Code{{Addr: from, Bytes: []byte{0x90}}}, from+1, from); !errors.Is(err, ErrNoCode) {
		t.Error(err)
	}
}

// FuzzRelocate: no panic, the announced size, and the copy decodes.
func FuzzRelocate(f *testing.F) {
	for _, s := range executed {
		f.Add(assemble(f, s, 0x1000_0010), uint64(0x1000_2000))
	}
	f.Fuzz(func(t *testing.T, raw []byte, to uint64) {
		const from = 0x1000_0010
		in, err := x86.Decode(raw, from)
		out, rerr := Relocate(nil, []Code{{Addr: from, Bytes: raw}}, from, to)
		if err != nil || rerr != nil {
			return
		}
		if len(out) > MaxRelocated(&in) {
			t.Fatalf("% x: % x", raw, out)
		}
		for at := 0; at < len(out); {
			n, err := x86.Decode(out[at:], to+uint64(at))
			if err != nil {
				t.Fatalf("% x: % x: %v", raw, out, err)
			}
			at += n.Len
		}
	})
}
