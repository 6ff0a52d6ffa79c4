package observe

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/capture"
	"mgtrace/probe"
	"mgtrace/target/mem"
)

// What formats say was written.
var formats = []struct {
	format   string
	assigned int
	want     []conversion
}{
	{"%3s%hhd %hi%lld %[^]x]%lf%Lf", 7, []conversion{{0, 0, false}, {1, 1, false}, {2, 2, false}, {3, 8, false}, {4, 0, false}, {5, 8, false}, {6, 10, false}}},
	{"%3s%hhd %hi%lld %[^]x]%lf%Lf", 2, []conversion{{0, 0, false}, {1, 1, false}}},
	{"%*d%*[]^]%% %2$p", 1, []conversion{{1, 8, false}}},
	{"%d%d", -1, nil},
	{"%d %n,%n%d", 1, []conversion{{0, 4, false}, {1, 4, false}}},
	{"%d,%n%d", 2, []conversion{{0, 4, false}, {1, 4, false}, {2, 4, false}}},
	{"%n", 0, []conversion{{0, 4, false}}},
	{"%*d%n", 0, nil},
	{"%c%lc%5c%ls%f", 5, []conversion{{0, 1, false}, {1, 4, false}, {2, 5, false}, {4, 4, false}}},
	{"%d%y%d", 2, []conversion{{0, 4, false}}},
	{"%ms %m[a-z]%3mc", 3, []conversion{{0, 0, true}, {1, 0, true}, {2, 3, true}}},
	{"%zu%jd%td%qd%'d%Id", 6, []conversion{{0, 8, false}, {1, 8, false}, {2, 8, false}, {3, 8, false}, {4, 4, false}, {5, 4, false}}},
	{"%[^]%d]%[]%d]%[a]%d", 4, []conversion{{0, 0, false}, {1, 0, false}, {2, 0, false}, {3, 4, false}}},
	{"%[", 1, nil},
	{"%[^", 1, nil},
	{"%[]", 1, nil},
	{"100%", 1, nil},
}

func TestScanned(t *testing.T) {
	for _, c := range formats {
		var got []conversion
		scanned([]byte(c.format), c.assigned, func(x conversion) { got = append(got, x) })
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(conversion{})); d != "" {
			t.Errorf("%q, %d assigned: %s", c.format, c.assigned, d)
		}
	}
}

// The C that the hook routine and the kernel's programs read formats with says the same of
// each of these, and of two after each other, however many conversions assigned.
func TestScannedInC(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "formats")
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "-o", bin, "testdata/formats.c").CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		t.Skip("needs gcc:", err)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var in bytes.Buffer
	var asked, want []string
	ask := func(format string) {
		for assigned := -1; assigned < 15; assigned++ {
			fmt.Fprintf(&in, "%d\x00%s\x00", assigned, format)
			asked = append(asked, fmt.Sprintf("%q, %d assigned", format, assigned))
			line := ""
			scanned([]byte(format), assigned, func(x conversion) { line += fmt.Sprint(x) })
			want = append(want, line)
		}
	}
	for _, a := range formats {
		ask(a.format)
		for _, b := range formats {
			ask(a.format + b.format)
		}
	}
	c := exec.Command(bin)
	c.Stdin = &in
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers to %d formats", len(got), len(want))
	}
	for i, line := range got {
		if line != want[i] {
			t.Errorf("%s: in C %s, want %s", asked[i], line, want[i])
		}
	}
}

// The pointers behind a format: in registers, then on the stack; in a va_list likewise.
func TestFormatPointers(t *testing.T) {
	sscanf := probe.Func{Name: "sscanf", Role: probe.RoleWriter, Dst: 2, Extent: probe.ExtentFormat}
	vscanf := probe.Func{Name: "vscanf", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentFormat}
	w := newWorld(t, []probe.Func{sscanf, vscanf})
	w.put(0x1100, []byte("%hhd%hhd%hhd%hhd%hhd%ms\x00")...)
	w.put(0x1000, []byte("abcde")...)
	w.put(0x1200, []byte("text\x00")...)
	w.word(0x1010, 0x1200)
	w.word(0x7f00, 0x40050)
	w.word(0x7f08, 0x1004)
	w.word(0x7f10, 0x1010)
	_ = w.o.Before(1, &mem.Regs{RIP: 0x50100, RSP: 0x7f00, RSI: 0x1100, RDX: 0x1000, RCX: 0x1001, R8: 0x1002, R9: 0x1003})
	w.returns(0, 0x7f00, 6)

	w.word(0x7e00, 0x30<<32|0x28) // gp_offset
	w.word(0x7e08, 0x7e40)
	w.word(0x7e10, 0x7e80)
	w.word(0x7e80+0x28, 0x1001)
	w.word(0x7e40, 0x1002)
	w.entered(1, 0x7d00, 0x40050, 0x1100, 0x7e00)
	w.returns(1, 0x7d00, 2)
	w.check(t,
		brief{capture.Bulk, 0, 0x1000, 1, "a"}, brief{capture.Bulk, 0, 0x1001, 1, "b"}, brief{capture.Bulk, 0, 0x1002, 1, "c"},
		brief{capture.Bulk, 0, 0x1003, 1, "d"}, brief{capture.Bulk, 0, 0x1004, 1, "e"},
		brief{capture.Bulk, 0, 0x1010, 8, "\x00\x12\x00\x00\x00\x00\x00\x00"}, brief{capture.Bulk, 0, 0x1200, 5, "text\x00"},
		brief{capture.Bulk, 0, 0x1001, 1, "b"}, brief{capture.Bulk, 0, 0x1002, 1, "c"})
}

// getline: the buffer's address and size only where they are new.
func TestLines(t *testing.T) {
	w := newWorld(t, []probe.Func{{Name: "getline", Role: probe.RoleWriter, Dst: 1, Len: 2, Extent: probe.ExtentLine}})
	w.put(0x1100, []byte("a line\n\x00")...)
	line := func(buffer, size, result uint64) {
		w.entered(0, 0x7f00, 0x40050, 0x1000, 0x1008)
		w.word(0x1000, buffer)
		w.word(0x1008, size)
		w.returns(0, 0x7f00, result)
	}
	line(0x1100, 120, 7)
	line(0x1100, 120, 1)
	line(0x1100, 240, ^uint64(0))
	w.check(t,
		brief{capture.Bulk, 0, 0x1000, 8, "\x00\x11\x00\x00\x00\x00\x00\x00"}, brief{capture.Bulk, 0, 0x1008, 8, "\x78\x00\x00\x00\x00\x00\x00\x00"},
		brief{capture.Bulk, 0, 0x1100, 8, "a line\n\x00"},
		brief{capture.Bulk, 0, 0x1100, 2, "a "},
		brief{capture.Bulk, 0, 0x1008, 8, "\xf0\x00\x00\x00\x00\x00\x00\x00"})
}

// strtok_r: the pointer that it keeps, where it is new, and the end of the token.
func TestTokens(t *testing.T) {
	w := newWorld(t, []probe.Func{{Name: "strtok_r", Role: probe.RoleWriter, Dst: 3, Extent: probe.ExtentSplit}})
	w.put(0x1100, []byte("one\x00two\x00")...)
	split := func(to, token uint64) {
		w.entered(0, 0x7f00, 0x40050, 0, 0, 0x1000)
		w.word(0x1000, to)
		w.returns(0, 0x7f00, token)
	}
	split(0x1104, 0x1100)
	split(0x1107, 0x1104) // the string ends where the token does
	split(0x1107, 0)
	split(0, 0x1107)
	w.check(t,
		brief{capture.Bulk, 0, 0x1000, 8, "\x04\x11\x00\x00\x00\x00\x00\x00"}, brief{capture.Bulk, 0, 0x1103, 1, "\x00"},
		brief{capture.Bulk, 0, 0x1000, 8, "\x07\x11\x00\x00\x00\x00\x00\x00"}, brief{capture.Bulk, 0, 0x1000, 8, "\x00\x00\x00\x00\x00\x00\x00\x00"})
}
