package flow

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mgtrace/trace"
)

// program makes records as a program might, and some that none would.
type program struct {
	r      *rand.Rand
	w      *Writer
	blocks []Block
	want   []Record
}

func (p *program) block(t *testing.T) {
	n := 1 + p.r.IntN(12)
	b := Block{Start: trace.Addr(p.r.Uint64() >> 17)}
	for range n {
		in := Inst{Off: uint16(len(b.Code)), Len: uint8(1 + p.r.IntN(15)), Access: uint16(len(b.Accesses))}
		if p.r.IntN(2) == 0 {
			in.NMem = uint8(p.r.IntN(3))
		}
		for range in.NMem {
			b.Accesses = append(b.Accesses, Access{Size: uint16([]int{0, 1, 4, 8, 8, 64}[p.r.IntN(6)]), Flags: AccessFlags(p.r.IntN(8))})
		}
		for range in.Len {
			b.Code = append(b.Code, byte(p.r.Uint32()))
		}
		b.Insts = append(b.Insts, in)
	}
	if p.r.IntN(2) == 0 {
		for i, a := range b.Accesses {
			d := Derivation{Of: uint16(i)}
			if a.Size != 0 && p.r.IntN(2) == 0 {
				d = Derivation{Absolute, p.r.Uint64()}
				if i > 0 && p.r.IntN(2) == 0 {
					d = Derivation{uint16(p.r.IntN(i)), p.r.Uint64() % 1024}
				}
			}
			b.Derived = append(b.Derived, d)
		}
	}
	id, err := p.w.Block(b)
	p.blocks = append(p.blocks, b)
	if err != nil || int(id) != len(p.blocks) {
		t.Fatalf("block %d: %d, %v", len(p.blocks), id, err)
	}
}

func (p *program) exec(t *testing.T, thread trace.ThreadID) {
	if len(p.blocks) == 0 || p.r.IntN(50) == 0 {
		p.block(t)
	}
	// Mostly what follows has followed before.
	id := (p.r.IntN(3) + len(p.want)) % len(p.blocks)
	b := &p.blocks[id]
	from, n := 0, len(b.Insts)
	if p.r.IntN(20) == 0 {
		from = p.r.IntN(n)
		n = 1 + p.r.IntN(n-from)
	}
	lo, hi := b.accesses(from, n)
	var mem []Mem
	for i := lo; i < hi; i++ {
		m := Mem{Addr: 0x7fff_0000_0000 + trace.Addr(len(p.want)*8), Size: uint32(b.Accesses[i].Size)}
		switch p.r.IntN(4) {
		case 0:
			m.Addr = trace.Addr(p.r.Uint64())
		case 1:
			m.Addr = trace.Addr(id) * 64
		}
		if m.Size == 0 {
			m.Size = p.r.Uint32N(1 << 12)
		}
		if b.Derived != nil {
			switch d := b.Derived[i]; {
			case d.Of == Absolute:
				m.Addr = trace.Addr(d.Add)
			case int(d.Of) >= lo && int(d.Of) < i:
				m.Addr = mem[int(d.Of)-lo].Addr + trace.Addr(d.Add)
			}
		}
		mem = append(mem, m)
	}
	var at trace.Instant
	var err error
	if told, ok := whole(b, n, mem); ok && p.r.IntN(2) == 0 {
		var entire EntireBlock
		if entire, err = p.w.Entire(BlockID(id + 1)); err != nil {
			t.Fatal(err)
		}
		var room []uint64
		if room, at, err = p.w.Whole(thread, entire); len(room) != len(told) {
			t.Fatalf("room for %d addresses instead of %d", len(room), len(told))
		}
		copy(room, told)
	} else {
		at, err = p.w.Exec(thread, BlockID(id+1), from, n, mem)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.want = append(p.want, Record{Kind: Exec, Thread: thread, Block: BlockID(id + 1), From: uint16(from), N: uint16(n), Instant: at, Mem: mem})
}

// whole are the addresses of an execution that do not follow from others, if it is of a
// whole block that tells all sizes.
func whole(b *Block, n int, mem []Mem) (told []uint64, ok bool) {
	for i := range mem {
		if n < len(b.Insts) || b.Accesses[i].Size == 0 {
			return nil, false
		}
		if _, follows := b.derived(i, 0); !follows {
			told = append(told, uint64(mem[i].Addr))
		}
	}
	return told, n == len(b.Insts)
}

func (p *program) other(t *testing.T, thread trace.ThreadID) {
	r := Record{Kind: Start + Kind(p.r.IntN(int(kindEnd-Start))), Thread: thread, Instant: p.w.Instant()}
	switch r.Kind {
	case Define:
		r.Cause, r.Number = BySyscall, p.r.Uint64N(400)
		r.Mem = []Mem{{trace.Addr(p.r.Uint64()), p.r.Uint32()}, {1, 2}}
	case Signal:
		r.Number, r.PC, r.Handler = 11, trace.Addr(p.r.Uint64()), 5
	case Gap:
		r.Size, r.Why = p.r.Uint64(), "because"
	case Map:
		r.Module = &trace.Module{Path: "/lib/x.so", Bias: 4096, Lo: 1, Hi: 2}
	}
	if err := p.w.Other(&r); err != nil {
		t.Fatal(err)
	}
	p.want = append(p.want, r)
}

// record writes n records of a few threads.
func record(t *testing.T, seed uint64, n int) (*program, []byte) {
	var out bytes.Buffer
	p := &program{r: rand.New(rand.NewPCG(seed, 1)), w: NewWriter(&out, Head{Trace: "abc", Path: "/bin/x"})}
	thread := trace.ThreadID(100)
	for range n {
		if p.r.IntN(10) == 0 {
			thread = 100 + trace.ThreadID(p.r.IntN(40))
		}
		if p.r.IntN(100) == 0 {
			p.other(t, thread)
		} else {
			p.exec(t, thread)
		}
		if p.r.IntN(1000) == 0 {
			if err := p.w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.w.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	if got := p.w.Stats().Bytes; got != uint64(out.Len()) {
		t.Errorf("%d bytes counted of %d", got, out.Len())
	}
	return p, out.Bytes()
}

func open(t *testing.T, b []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// copied makes a record one that may be kept.
func copied(r *Record) Record {
	c := *r
	c.Mem = append([]Mem(nil), r.Mem...)
	return c
}

func scan(r *Reader, from trace.Instant) (got []Record, err error) {
	err = r.Scan(from, func(rec *Record) error {
		got = append(got, copied(rec))
		return nil
	})
	return got, err
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(8) {
		p, b := record(t, seed, 5000)
		r := open(t, b)
		if r.Head().Trace != "abc" || r.Blocks() != len(p.blocks) || r.Insts() != p.w.Stats().Insts {
			t.Fatalf("head %+v, %d blocks, %d instructions", r.Head(), r.Blocks(), r.Insts())
		}
		for i := range p.blocks {
			if d := cmp.Diff(&p.blocks[i], r.Block(BlockID(i+1)), cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
		got, err := scan(r, 0)
		if d := differ(p.want, got); err != nil || d != "" {
			t.Fatalf("%v\n%s", err, d)
		}
		// From any place, and the chunks in any order.
		for range 20 {
			from := trace.Instant(1 + p.r.Uint64N(r.Insts()))
			first := 0
			for ; ; first++ {
				w := &p.want[first]
				if w.Instant >= from || w.Kind == Exec && w.Instant+trace.Instant(w.N) > from {
					break
				}
			}
			n := 0
			err := r.Scan(from, func(rec *Record) error {
				if d := differ(p.want[first+n:first+n+1], []Record{copied(rec)}); d != "" {
					t.Fatalf("from %d, record %d: %s", from, n, d)
				}
				if n++; n == 30 {
					return ErrStop
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		c, err := r.NewChunkReader()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		end := len(p.want)
		for i := len(r.Chunks()) - 1; i >= 0; i-- {
			if err := c.Read(i); err != nil {
				t.Fatal(err)
			}
			end -= c.Len()
			var rec Record
			c.At(0, &rec)
			if d := cmp.Diff(p.want[end], rec, cmpopts.EquateEmpty()); d != "" {
				t.Fatal(d)
			}
		}
	}
}

// TestCutOff: what is left of a flow after its writer was killed is good, and what
// is missing is an error.
func TestCutOff(t *testing.T) {
	p, b := record(t, 7, 8000)
	for range 60 {
		n := p.r.IntN(len(b))
		r, err := NewReader(bytes.NewReader(b[:n]), int64(n))
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrNotFlow) {
				t.Fatal(err)
			}
			continue
		}
		got, err := scan(r, 0)
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
		if d := differ(p.want[:len(got)], got); d != "" {
			t.Fatal(d)
		}
	}
}

// TestDamage: a changed byte is noticed, and what is read before it is right.
func TestDamage(t *testing.T) {
	p, b := record(t, 8, 3000)
	for range 60 {
		bad := bytes.Clone(b)
		bad[fileHeader+p.r.IntN(len(b)-fileHeader)] ^= 1 << p.r.IntN(8)
		r, err := NewReader(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			continue
		}
		got, err := scan(r, 0)
		if err == nil {
			t.Fatal("a changed byte was not noticed")
		}
		if d := differ(p.want[:len(got)], got); d != "" {
			t.Fatal(d)
		}
	}
}

// TestMisuse: what can not be written is refused.
func TestMisuse(t *testing.T) {
	w := NewWriter(&bytes.Buffer{}, Head{})
	id, err := w.Block(Block{Start: 1, Code: []byte{0x90, 0xc3}, Insts: []Inst{{0, 1, 0, 0}, {1, 1, 1, 0}}, Accesses: []Access{{8, Reads | Stack}}})
	if err != nil {
		t.Fatal(err)
	}
	sized, err := w.Block(Block{Start: 1, Code: []byte{0xc3}, Insts: []Inst{{0, 1, 1, 0}}, Accesses: []Access{{0, Reads}}})
	if err != nil {
		t.Fatal(err)
	}
	one := []Mem{{1, 8}}
	for name, err := range map[string]error{
		"no block":      second(w.Exec(1, 0, 0, 1, nil)),
		"other block":   second(w.Exec(1, 3, 0, 1, nil)),
		"too many":      second(w.Exec(1, id, 1, 2, one)),
		"none":          second(w.Exec(1, id, 1, 0, nil)),
		"no address":    second(w.Exec(1, id, 0, 2, nil)),
		"whole, none":   second(w.Entire(0)),
		"whole, other":  second(w.Entire(3)),
		"whole, sizes":  second(w.Entire(sized)),
		"exec as other": w.Other(&Record{Kind: Exec}),
		"no module":     w.Other(&Record{Kind: Map}),
		"gap in code":   second(w.Block(Block{Code: []byte{1, 2}, Insts: []Inst{{0, 1, 0, 0}}})),
		"no code":       second(w.Block(Block{})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if at, err := w.Exec(1, id, 0, 2, one); at != 1 || err != nil {
		t.Errorf("%d, %v", at, err)
	}
}

// differ is cmp.Diff of records, which takes its time, where there is a difference.
func differ(want, got []Record) string {
	same := len(want) == len(got)
	for i := 0; same && i < len(want); i++ {
		w, g := &want[i], &got[i]
		same = slices.Equal(w.Mem, g.Mem) && w.Kind == g.Kind && w.Instant == g.Instant && w.Block == g.Block &&
			w.From == g.From && w.N == g.N && w.Thread == g.Thread && (w.Kind == Exec || cmp.Diff(*w, *g, cmpopts.EquateEmpty()) == "")
	}
	if same {
		return ""
	}
	return "records differ:\n" + cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// TestPause: what is executed while a flow is paused is counted and not there.
func TestPause(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, Head{})
	id, err := w.Block(Block{Start: 1, Code: []byte{0x90, 0x90}, Insts: []Inst{{0, 1, 0, 0}, {1, 1, 0, 0}}})
	if err != nil {
		t.Fatal(err)
	}
	entire, err := w.Entire(id)
	if err != nil {
		t.Fatal(err)
	}
	var at []trace.Instant
	for i := range 7 {
		switch i {
		case 1:
			w.Pause()
		case 4:
			err = w.Resume()
		case 5:
			w.Pause()
		}
		if w.Paused() {
			if _, err := w.Exec(9, id, 0, 2, nil); err == nil {
				t.Fatal("an execution in a pause is no error")
			}
			if _, _, err := w.Whole(9, entire); err == nil {
				t.Fatal("that of a whole block is none")
			}
			w.Pass(2)
			continue
		}
		k, e := w.Exec(9, id, 0, 2, nil)
		if err = errors.Join(err, e); err != nil {
			t.Fatal(err)
		}
		at = append(at, k)
	}
	if err := w.Other(&Record{Kind: Signal, Thread: 9, Number: 11, PC: 3}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]trace.Instant{1, 3}, at); d != "" {
		t.Error(d)
	}
	got, err := scan(open(t, out.Bytes()), 0)
	want := []Record{
		{Kind: Exec, Thread: 9, Block: id, N: 2, Instant: 1},
		{Kind: Gap, Size: 6, Why: OutsidePart, Instant: 3},
		{Kind: Exec, Thread: 9, Block: id, N: 2, Instant: 3},
		{Kind: Gap, Size: 4, Why: OutsidePart, Instant: 5},
		{Kind: Signal, Thread: 9, Number: 11, PC: 3, Instant: 5},
	}
	if d := differ(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func second[T any](_ T, err error) error { return err }

// TestRepetition: what repeats itself costs next to nothing.
func TestRepetition(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, Head{})
	b := Block{Start: 1, Code: make([]byte, 4), Insts: []Inst{{0, 1, 1, 0}, {1, 1, 0, 1}, {2, 1, 1, 1}, {3, 1, 0, 2}}, Accesses: []Access{{8, Reads}, {8, Writes}}}
	one, err := w.Block(b)
	if err != nil {
		t.Fatal(err)
	}
	list := rand.Perm(1000)
	for range 300 {
		for i, at := range list {
			mem := []Mem{{trace.Addr(at * 64), 8}, {trace.Addr(4096 + i*8), 8}}
			if _, err := w.Exec(1, one, 0, 4, mem); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(Trailer{}); err != nil {
		t.Fatal(err)
	}
	if s := w.Stats(); float64(s.Bytes)/float64(s.Insts) > 0.1 {
		t.Errorf("%d bytes for %d instructions of a loop", s.Bytes, s.Insts)
	}
}

func FuzzReader(f *testing.F) {
	for seed := range uint64(3) {
		_, b := record(&testing.T{}, seed, 200)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		n := uint64(0)
		_ = r.Scan(0, func(rec *Record) error {
			if rec.Kind == Exec {
				blk := r.Block(rec.Block)
				if lo, hi := blk.accesses(int(rec.From), int(rec.N)); hi-lo != len(rec.Mem) {
					t.Fatalf("%d addresses for %d accesses", len(rec.Mem), hi-lo)
				}
				n += uint64(rec.N)
			}
			return nil
		})
		if n > r.Insts() {
			t.Fatalf("%d instructions of %d", n, r.Insts())
		}
	})
}

// FuzzChunk gives the decoder of chunks what the checksums keep from FuzzReader.
func FuzzChunk(f *testing.F) {
	p, b := record(&testing.T{}, 3, 300)
	r, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		f.Fatal(err)
	}
	z, err := newUnpacker()
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range r.chunks {
		raw, err := z.payload(r.r, c.head, c.at)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(raw), uint32(c.Records), uint32(c.Insts))
	}
	_ = p
	c := ChunkReader{f: r} // one for all: its tables are large
	f.Fuzz(func(t *testing.T, raw []byte, records, insts uint32) {
		err := c.decode(raw, &Chunk{First: 1, Insts: uint64(insts), Records: int(records % chunkRecords)})
		if err == nil && c.Len() != int(records%chunkRecords) {
			t.Fatal("accepted a chunk of another length")
		}
		var rec Record
		for i := range c.Len() {
			c.At(i, &rec)
		}
	})
}
