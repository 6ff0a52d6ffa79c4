package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// answers asks an index this and that.
func answers(x *Index) string {
	s := ""
	for _, t := range []mgpp.Timestamp{1, x.Now() / 2, x.Now()} {
		live := slices.Collect(x.Live(t))
		s += fmt.Sprintln(t, live, x.Op(t), x.LastWrite(low+8, 300, t))
		for _, id := range live {
			n := x.Node(id)
			b := mgpp.Bytes{Data: make([]byte, min(n.Size, 64))}
			s += fmt.Sprintln(n, x.At(t).Read(n.Start, &b), b.Data, b.Written, x.At(t).Target(n.Start, coded.Plain), x.Of(id), x.Rank(x.Of(id), id))
		}
	}
	for pc, n := range x.Statements() {
		s += fmt.Sprintln(pc, n)
	}
	return s + fmt.Sprintln(x.Populations(), x.Touched(0, x.Now()))
}

// files are the index of a trace, and the trace.
func files(t *testing.T, path string) ([]byte, *trace.Reader) {
	t.Helper()
	whole, err := os.ReadFile(path + ".idx")
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return whole, r
}

// TestDamage: an index of which any byte is wrong is refused, or says so when it is
// asked, or answers as it should. It never answers something else.
func TestDamage(t *testing.T) {
	_, path := program(t, 3, 300)
	want := answers(build(t, path))
	whole, r := files(t, path)
	rnd := rand.New(rand.NewPCG(1, 1))
	told := 0
	for range 100 {
		b := slices.Clone(whole)
		if rnd.IntN(8) == 0 {
			b = b[:rnd.IntN(len(b))]
		} else {
			b[rnd.IntN(len(b))] ^= byte(1 + rnd.IntN(255))
		}
		if err := os.WriteFile(path+".bad", b, 0o644); err != nil {
			t.Fatal(err)
		}
		Directory(path + ".bad") // no panic
		x, err := Open(path+".bad", r)
		if err != nil {
			told++
			continue
		}
		got := answers(x)
		if x.Err() != nil {
			told++
		} else if got != want {
			t.Fatal("a damaged index answers something else")
		}
		x.Close()
	}
	if told == 0 {
		t.Error("no damage was found")
	}
}

// TestForged: what the description of an index says is held to what there is, where its
// checksum is right too.
func TestForged(t *testing.T) {
	_, path := program(t, 3, 300)
	build(t, path)
	whole, r := files(t, path)
	for name, forge := range map[string]func(d *description){
		"good":              func(*description) {},
		"covers":            func(d *description) { d.MaxLevel = 1 << 40 },
		"groups":            func(d *description) { d.Groups = 1 << 40 },
		"no nodes":          func(d *description) { d.Nodes = -1 },
		"more operations":   func(d *description) { d.Now = 1 << 60 },
		"fewer operations":  func(d *description) { d.Now = 1 },
		"calls":             func(d *description) { d.CallsOf = []int{-5} },
		"no list of chunks": func(d *description) { d.Chunks = blob{} },
	} {
		d, err := describe(bytes.NewReader(whole), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var forged bytes.Buffer
		forged.Write(whole[:len(whole)-tail-len(text)])
		forge(d)
		if err := newOutput(&forged).end(d, blob{}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".forged", forged.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		x, err := Open(path+".forged", r)
		if (err == nil) != (name == "good") || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			x.Close()
		}
	}
}

// TestDamageKeepsTrace: where an index is refused, the trace can be read as a whole, to
// make another.
func TestDamageKeepsTrace(t *testing.T) {
	_, path := program(t, 3, 100)
	x := build(t, path)
	whole, err := os.ReadFile(path + ".idx")
	if err != nil {
		t.Fatal(err)
	}
	whole[x.d.Chunks.At] ^= 1
	if err := os.WriteFile(path+".idx", whole, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := Open(path+".idx", r); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("an index without its chunks: %v", err)
	}
	if err := r.Seek(0); err != nil {
		t.Fatal(err)
	}
	stacks := 0
	for {
		var ev trace.Event
		if err := r.Next(&ev); err != nil {
			break
		}
		if len(ev.Stack) > 0 {
			stacks++
		}
	}
	if stacks == 0 {
		t.Error("the events of the trace have lost their stacks")
	}
}

// TestDamagedTrace: the index of a trace of which a block in the middle is damaged is that of what
// could be read, and finds times and statements in that.
func TestDamagedTrace(t *testing.T) {
	h, path := program(t, 5, 2000)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	x := build(t, path)
	now := x.Now()
	if now == 0 || now >= h.Now() {
		t.Fatalf("%d of %d operations could be read", now, h.Now())
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		at := mgpp.Timestamp(rnd.Uint64N(uint64(now) + 1))
		addr := trace.Addr(low + rnd.IntN(0x300))
		if want, got := h.LastWrite(addr, 8, at), x.LastWrite(addr, 8, at); got != want {
			t.Errorf("last write to %#x at %d: %d, want %d", uint64(addr), at, got, want)
		}
		if want, got := h.Op(at), x.Op(at); got.Kind != want.Kind || got.Addr != want.Addr {
			t.Errorf("operation %d: %v, want %v", at, got, want)
		}
	}
	for pc, n := range x.Statements() {
		if at, count := x.Nth([]trace.Addr{pc}, 0); at == 0 || count != n || h.Op(at).PC != pc {
			t.Errorf("%#x made %d operations, the last %d; want %d", uint64(pc), count, at, n)
		}
	}
	if at := x.AtWall(1 << 60); at == 0 || at > now {
		t.Errorf("the last operation by the clock is %d of %d", at, now)
	}
	if x.Err() != nil {
		t.Error(x.Err())
	}
}

// TestStale: the index of another trace is refused.
func TestStale(t *testing.T) {
	_, path := program(t, 1, 100)
	_, other := program(t, 2, 100)
	build(t, path)
	r, err := trace.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := Open(path+".idx", r); !errors.Is(err, ErrStale) {
		t.Errorf("the index of another trace: %v", err)
	}
}
