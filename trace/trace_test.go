package trace

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sampleText has every kind with every field.
const sampleText = `
store thread=7 wall=1000 flags=atomic|rmw pc=0x401136 addr=0x5008 base=0x5000 data=0102030405060708
store thread=7 wall=-1 pc=0x401136 addr=0x5010 size=8 data=0102
store thread=8 wall=900 flags=late|bit15 pc=0x401140 addr=0xffffffffffffffff base=0x1 data=ff
bulk thread=7 wall=1001 flags=partial pc=0x401150 addr=0x5000 size=4096 base=0x5000 name="memcpy" data=00ff
syscall thread=7 pc=0x401160 addr=0x5000 base=0x5000 name="read \"x\" y=z" data=616263
syscall thread=7 pc=0x401160 addr=0x5000 aux=17 data=61
unread thread=7 pc=0x401170 addr=0x6000 size=16 base=0x6000 name="page not resident"
image addr=0x601000 data=00
alloc thread=7 wall=2000 flags=zeroed pc=0x401180 addr=0x5000 size=24 name="calloc" stack=0x401180,0x401000,0x7f0000000000
alloc thread=7 wall=2000 pc=0x401180 addr=0x5040 size=0 name="malloc" stack=0x401180,0x401000,0x7f0000000000
free thread=7 pc=0x401190 addr=0x5000 name="free" stack=0x401190
realloc thread=7 pc=0x4011a0 addr=0x7000 size=48 aux=0x5000 name="realloc" stack=0x4011a0
refused thread=7 pc=0x4011a0 size=9223372036854775807 aux=0x7000 name="realloc"
map thread=7 addr=0x10000 size=4096
unmap thread=7 addr=0x10000 size=4096
call thread=7 pc=0x4011b0 aux=3 sp=0x7ffe0000 args=0x1,0x0,0xffffffffffffffff,0x2,0x3,0x4
return thread=7 flags=unwound pc=0x4011c0 aux=3 sp=0x7ffe0000 ret=0xffffffffffffffff
line thread=7 flags=inline pc=0x4011d0 aux=2 sp=0x7ffe0000
thread-start thread=8 aux=1
thread-exit thread=8
fork thread=7 aux=99
exec thread=7 name="/bin/true"
signal thread=7 pc=0x4011e0 addr=0x8 base=0x7ffdff80 aux=11 sp=0x7ffe0000 name="SIGSEGV" stack=0x4011e0,0x401000 args=0x0,0x7ffe0000,0xffffffffffffffff data=00010203
lost size=12 name="ring full"
global addr=0x601000 aux=1 name="head" data=0000000000000000
memory addr=0x601000 data=0050000000000000
begin wall=77 size=1234567 aux=3 name="the rest was dropped"
cease wall=78 name="--to insert"
around thread=7 pc=0x4011e0 stack=0x4011e1,0x401000
passed thread=7 pc=0x4011b0 addr=0x7ffe0040 data=00500000000000000200000000000000
quiet thread=7 wall=79 pc=0x4011b0
held thread=7 wall=80 pc=0x4011b4 name="timeout" stack=0x401200,0x401300
wild thread=7 wall=81 addr=0x5010 data=6800000005000000
truncated name="killed"
exit thread=7 aux=139
`

func sample(t testing.TB) []Event {
	t.Helper()
	events, err := ReadText(strings.NewReader(sampleText))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Kind]bool{}
	for _, e := range events {
		seen[e.Kind] = true
	}
	if len(seen) != NumKinds-1 {
		t.Fatalf("the sample has %d of %d kinds", len(seen), NumKinds-1)
	}
	return events
}

var sampleProgram = Program{Path: "/bin/prog", PID: 7, Engine: "test", Modules: []Module{{Path: "/bin/prog", Bias: 0x1000}}}

// write makes a trace of the events, in blocks of n.
func write(t testing.TB, events []Event, n int, finish bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, sampleProgram)
	if err := w.Attach("prog", strings.NewReader("ELF, or so")); err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := w.Write(&events[i]); err != nil {
			t.Fatal(err)
		}
		if n > 0 && i%n == n-1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	if finish {
		err = w.Finish(Trailer{Hits: 5, Complete: true})
	} else {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func clone(e Event) Event {
	e.Data = append([]byte(nil), e.Data...)
	e.Args = append([]uint64(nil), e.Args...)
	e.Stack = append([]Addr(nil), e.Stack...)
	return e
}

// readAll reads until the error.
func readAll(r *Reader) (events []Event, err error) {
	var e Event
	for {
		if err := r.Next(&e); err != nil {
			return events, err
		}
		events = append(events, clone(e))
	}
}

func open(t testing.TB, data []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestRoundTrip(t *testing.T) {
	want := sample(t)
	for _, n := range []int{0, 1, 2, 5} {
		r := open(t, write(t, want, n, true))
		got, err := readAll(r)
		if err != io.EOF {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("blocks of %d (-want +got)\n%s", n, d)
		}
		if d := cmp.Diff(sampleProgram, r.Program()); d != "" {
			t.Error(d)
		}
		if x, ok := r.Trailer(); !ok || x.Hits != 5 || !x.Complete {
			t.Errorf("trailer %v %v", x, ok)
		}
	}
}

func TestRandomRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var want []Event
	for range 20000 {
		want = append(want, randomEvent(rnd))
	}
	got, err := readAll(open(t, write(t, want, 0, true)))
	if err != io.EOF {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// randomEvent makes an event that uses only its kind's fields.
func randomEvent(rnd *rand.Rand) Event {
	e := Event{Kind: Kind(1 + rnd.IntN(NumKinds-1)), Thread: ThreadID(rnd.Uint32()), Wall: rnd.Int64(), Instant: Instant(rnd.Uint64() >> rnd.IntN(64)), Flags: Flags(rnd.Uint32()), PC: Addr(rnd.Uint64())}
	fs := kindSpecs[e.Kind].fields
	for f := fieldAddr; f <= fieldRet; f++ {
		if p := number(f, &e); p != nil && fs.has(f) {
			*p = rnd.Uint64() >> rnd.IntN(64)
		}
	}
	if fs.has(fieldName) {
		e.Name = [...]string{"", "malloc", "free", "a b\n"}[rnd.IntN(4)]
	}
	if fs.has(fieldStack) {
		for range rnd.IntN(4) {
			e.Stack = append(e.Stack, Addr(rnd.IntN(3)))
		}
	}
	if fs.has(fieldArgs) {
		for range rnd.IntN(7) {
			e.Args = append(e.Args, rnd.Uint64())
		}
	}
	if fs.has(fieldData) {
		for range rnd.IntN(20) {
			e.Data = append(e.Data, byte(rnd.Uint32()))
		}
		if rnd.IntN(2) == 0 {
			e.Size = uint64(len(e.Data))
		}
	}
	return e
}

func TestTextRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		want := randomEvent(rnd)
		got, err := ParseText(Format(want))
		if err != nil {
			t.Fatalf("%s: %v", Format(want), err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s\n%s", Format(want), d)
		}
	}
	var b strings.Builder
	b.WriteByte('\n')
	for _, e := range sample(t) {
		b.WriteString(Format(e) + "\n")
	}
	if d := cmp.Diff(sampleText, b.String()); d != "" {
		t.Error(d)
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", `unknown kind of event ""`},
		{"stor addr=1", `unknown kind of event "stor"`},
		{"store addr", `store: "addr" is not field=value`},
		{"store adr=1", `store has no field "adr"`},
		{"map data=00", `map has no field "data"`},
		{"store addr=1 addr=2", `store: addr stands twice`},
		{"store addr=xyz", `store: addr: strconv.ParseUint: parsing "xyz": invalid syntax`},
		{"store data=0", "store: data: encoding/hex: odd length hex string"},
		{"store flags=blue", `store: flags: bad value "blue"`},
		{"free name=free", "free: name is not a quoted string"},
	} {
		if _, err := ParseText(c.line); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.line, err, c.want)
		}
	}
	if _, err := ReadText(strings.NewReader("# comment\n\nmap\nbad\n")); err == nil || !strings.HasPrefix(err.Error(), "line 4: ") {
		t.Error(err)
	}
}

// TestCut cuts a trace at every offset: what is read is a beginning of what
// was written, and the end says that it was cut off.
func TestCut(t *testing.T) {
	want := sample(t)
	whole := write(t, want, 3, true)
	longest := 0
	for n := range whole {
		r, err := NewReader(bytes.NewReader(whole[:n]), int64(n))
		if n < len(magic) {
			if !errors.Is(err, ErrNotTrace) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		got, err := readAll(r)
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if d := cmp.Diff(want[:len(got)], got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%d bytes\n%s", n, d)
		}
		if len(got) < longest {
			t.Fatalf("%d bytes give %d events, fewer gave %d", n, len(got), longest)
		}
		longest = len(got)
		r.Close()
	}
	if longest != len(want) {
		t.Errorf("without its trailer the trace has %d of %d events", longest, len(want))
	}
}

// TestFlip changes every byte: the change is noticed, and what was read before
// is right.
func TestFlip(t *testing.T) {
	want := sample(t)
	whole := write(t, want, 3, true)
	for i := range whole {
		for _, x := range []byte{1, 0x80, 0xff} {
			data := bytes.Clone(whole)
			data[i] ^= x
			r, err := NewReader(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				continue
			}
			got, err := readAll(r)
			if d := cmp.Diff(want[:min(len(got), len(want))], got, cmpopts.EquateEmpty()); d != "" {
				t.Fatalf("byte %d ^ %#x\n%s", i, x, d)
			}
			noticed := err != io.EOF
			for _, c := range r.Chunks() {
				noticed = noticed || !c.indexed
			}
			for _, name := range r.Attachments() {
				a, _ := r.Attachment(name)
				b, err := io.ReadAll(a)
				noticed = noticed || err != nil || string(b) != "ELF, or so"
			}
			if !noticed && len(r.Attachments()) == 1 {
				t.Fatalf("byte %d ^ %#x was not noticed", i, x)
			}
			r.Close()
		}
	}
}

func TestForeign(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, data string
		want       error
	}{
		{"empty", "", ErrNotTrace},
		{"elf", "\x7fELF and so on and on", ErrNotTrace},
		{"short", magic[:5], ErrNotTrace},
		{"newer", magic + "\x05\x00\x00\x00", ErrVersion},
		{"older", magic + "\x01\x00\x00\x00", ErrVersion},
		{"head", magic + "\x02\x00", ErrTruncated},
		{"bare", magic + "\x04\x00\x00\x00", ErrCorrupt},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.data), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Open(dir); !errors.Is(err, ErrNotTrace) {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestAttachments(t *testing.T) {
	big := make([]byte, 3*pieceBytes+17)
	rand.NewChaCha8([32]byte{1}).Read(big)
	var b bytes.Buffer
	w := NewWriter(&b, sampleProgram)
	for name, data := range map[string][]byte{"big": big, "exact": big[:pieceBytes], "empty": nil} {
		if err := w.Attach(name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Attach("big", bytes.NewReader(nil)); err == nil {
		t.Error("a second attachment of the same name was taken")
	}
	e := Event{Kind: KindMap, Addr: 1, Size: 2}
	if err := w.Write(&e); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(Trailer{}); err != nil {
		t.Fatal(err)
	}
	whole := open(t, b.Bytes())
	known, err := newReader(bytes.NewReader(b.Bytes()), int64(b.Len()), whole.Directory())
	if err != nil || known.blocks.known == nil {
		t.Fatalf("the trace was not opened by its directory: %v", err)
	}
	for _, r := range []*Reader{whole, known} {
		if d := cmp.Diff([]string{"big", "empty", "exact"}, r.Attachments()); d != "" {
			t.Error(d)
		}
		for name, want := range map[string][]byte{"big": big, "exact": big[:pieceBytes], "empty": {}} {
			a, ok := r.Attachment(name)
			got, err := io.ReadAll(a)
			if !ok || err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v, %d bytes, %v", name, ok, len(got), err)
			}
			if got, ok := r.ReadAttachment(name); !ok || !bytes.Equal(got, want) {
				t.Errorf("%s, read at once: %v, %d bytes", name, ok, len(got))
			}
		}
		if _, ok := r.Attachment("none"); ok {
			t.Error("there is an attachment that is not there")
		}
		if _, ok := r.ReadAttachment("none"); ok {
			t.Error("there is an attachment that is not there")
		}
	}
	// The directory of another trace, and what is none.
	for _, other := range [][]byte{open(t, write(t, sample(t), 100, true)).Directory(), {1, 2, 3}, {255, 255, 255, 255}, make([]byte, 100)} {
		r, err := newReader(bytes.NewReader(b.Bytes()), int64(b.Len()), other)
		if err != nil || r.blocks.known != nil || len(r.Attachments()) != 3 {
			t.Errorf("with %d bytes of another directory: %v", len(other), err)
		}
	}
	// Cut within the large one.
	r := open(t, b.Bytes()[:b.Len()/2])
	for _, name := range r.Attachments() {
		a, _ := r.Attachment(name)
		if got, err := io.ReadAll(a); name == "big" && !errors.Is(err, ErrTruncated) && len(got) != len(big) {
			t.Errorf("cut: %d bytes, %v", len(got), err)
		}
		if got, ok := r.ReadAttachment(name); name == "big" && ok && len(got) != len(big) {
			t.Errorf("cut, read at once: %d bytes", len(got))
		}
	}
}

// fullDisk takes n bytes and then no more.
type fullDisk struct {
	bytes.Buffer
	n int
}

var errNoSpace = errors.New("no space left on device")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.Len()+len(b) > d.n {
		n, _ := d.Buffer.Write(b[:d.n-d.Len()])
		return n, errNoSpace
	}
	return d.Buffer.Write(b)
}

// check: the file is good up to its last whole block.
func (d *fullDisk) check(t *testing.T, want []Event) {
	t.Helper()
	got, err := readAll(open(t, d.Bytes()))
	if !errors.Is(err, ErrTruncated) || len(got) == 0 {
		t.Errorf("%d events, %v", len(got), err)
	}
	if diff := cmp.Diff(want[:len(got)], got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestFullDisk(t *testing.T) {
	d := &fullDisk{n: 2000}
	w := NewWriter(d, sampleProgram)
	rnd := rand.New(rand.NewPCG(5, 6))
	var want []Event
	var err error
	for err == nil {
		e := randomEvent(rnd)
		want = append(want, e)
		if err = w.Write(&e); err == nil && len(want)%5 == 0 {
			err = w.Flush()
		}
	}
	if !errors.Is(err, errNoSpace) || !errors.Is(w.Finish(Trailer{}), errNoSpace) {
		t.Errorf("got %v", err)
	}
	d.check(t, want)
}

func TestLongData(t *testing.T) {
	long := make([]byte, maxData+1000)
	long[maxData] = 7
	events := []Event{
		{Kind: KindGlobal, Addr: 0x1000, Size: uint64(len(long)), Aux: 1, Data: long},
		{Kind: KindBulk, Addr: 0x1000, Size: uint64(len(long)), Name: "memset", Data: long},
	}
	got, err := readAll(open(t, write(t, events, 0, true)))
	if err != io.EOF || len(got) != 3 {
		t.Fatalf("%d events, %v", len(got), err)
	}
	if g := got[1]; g.Kind != KindImage || g.Addr != 0x1000+maxData || len(g.Data) != 1000 || g.Data[0] != 7 {
		t.Errorf("the rest of a global is %v", g.Kind)
	}
	if g := got[2]; g.Flags&FlagPartial == 0 || g.Size != uint64(len(long)) || len(g.Data) != maxData {
		t.Errorf("a long bulk write has %d bytes of %d, flags %v", len(g.Data), g.Size, g.Flags)
	}
}

// TestTimer shows that events reach the file without another call.
func TestTimer(t *testing.T) {
	wrote := make(chan struct{}, 10)
	w := NewWriter(writerFunc(func(b []byte) (int, error) {
		wrote <- struct{}{}
		return len(b), nil
	}), sampleProgram)
	<-wrote
	<-wrote
	if err := w.Write(&Event{Kind: KindMap}); err != nil {
		t.Fatal(err)
	}
	<-wrote
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// The empty string and the empty stack are not stored: a block of them, which compresses
// to nothing, would take gigabytes of memory.
func TestEmptyInTables(t *testing.T) {
	for _, c := range []struct {
		raw  string
		good bool
	}{
		{"\x01\x01a\x01\x01\x02", true},
		{"\x00\x01\x01\x02", true},
		{"\x01\x00\x01\x01\x02", false},
		{"\x01\x01a\x01\x00", false},
		{"\x64" + strings.Repeat("\x00", 100), false},
		{"\x00\x64" + strings.Repeat("\x00", 100), false},
	} {
		r := Reader{strings: []string{""}, stacks: [][]Addr{nil}}
		if err := r.takeTables([]byte(c.raw)); (err == nil) != c.good || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", c.raw, err)
		}
		if len(r.strings)+len(r.stacks) > 4 {
			t.Errorf("%q: %d strings and %d stacks", c.raw, len(r.strings), len(r.stacks))
		}
	}
}

func FuzzReader(f *testing.F) {
	events := sample(f)
	f.Add(write(f, events, 0, true))
	f.Add(write(f, events, 4, false))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		defer r.Close()
		if _, err := readAll(r); err == nil {
			t.Fatal("no end")
		}
		for _, name := range r.Attachments() {
			a, _ := r.Attachment(name)
			io.Copy(io.Discard, a)
		}
	})
}

// FuzzEvents gives the decoder blocks that pass their checksums.
func FuzzEvents(f *testing.F) {
	f.Add([]byte{1, 0, 1, 1, 1}, []byte{0, 0})
	f.Add([]byte{1, 0, 1, 1, 10}, []byte{1, 1, 'x', 1, 2, 0, 2})
	f.Fuzz(func(t *testing.T, raw, tables []byte) {
		var b bytes.Buffer
		w := NewWriter(&b, sampleProgram)
		w.writeBlock(blockTables, 0, tables)
		var rows events
		if rows.load(raw) == nil {
			w.writeBlock(blockEvents, rows.count(), raw)
		}
		if err := w.Finish(Trailer{}); err != nil {
			t.Skip(err)
		}
		if _, err := readAll(open(t, b.Bytes())); err == nil {
			t.Fatal("no end")
		}
	})
}

func FuzzParseText(f *testing.F) {
	for line := range strings.SplitSeq(strings.TrimSpace(sampleText), "\n") {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := ParseText(line)
		if err != nil {
			return
		}
		again, err := ParseText(Format(e))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e, again, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}
