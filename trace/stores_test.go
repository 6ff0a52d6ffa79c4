package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// item is what one call gives a Writer.
type item struct {
	event  *Event
	sites  []StoreSite
	stores *Stores
}

// randomItems makes events, runs of stores, and sites whenever they come, as a
// program with dlopen gives them.
func randomItems(rnd *rand.Rand, n int) []item {
	var items []item
	var sites []StoreSite
	more := func(n int) {
		var fresh []StoreSite
		calls, allocs := len(sites) > 0 && rnd.IntN(3) == 0, len(sites) > 0 && rnd.IntN(3) == 0
		for range n {
			s := StoreSite{
				PC: Addr(rnd.Uint64() >> rnd.IntN(64)), Width: [...]uint8{1, 2, 4, 8, 8, 10, 16, 32, 64, 9}[rnd.IntN(10)],
				Flags: Flags(rnd.IntN(16)), Base: BaseForm(rnd.IntN(3)),
			}
			if s.Base == BaseOffset {
				s.Disp = int64(rnd.IntN(1000) - 500)
			}
			if calls {
				s = CallSite([...]string{"memcpy", "memset", "strcpy"}[rnd.IntN(3)], s.PC, uint8(1+rnd.IntN(MaxStoreWidth)))
			}
			if allocs {
				kind := [...]Kind{KindAlloc, KindFree}[rnd.IntN(2)]
				stack := make([]Addr, rnd.IntN(4))
				for i := range stack {
					stack[i] = Addr(rnd.IntN(5) * 1000)
				}
				s = AllocSite(kind, s.Flags, [...]string{"malloc", "calloc", "free"}[rnd.IntN(3)], s.PC, stack)
			}
			fresh = append(fresh, s)
		}
		sites = append(sites, fresh...)
		items = append(items, item{sites: fresh})
	}
	more(3)
	wall := int64(0)
	for range n {
		wall += int64(rnd.IntN(3))
		switch rnd.IntN(8) {
		case 0, 1:
			e := randomEvent(rnd)
			items = append(items, item{event: &e})
		case 2:
			more([...]int{1, 5, 300}[rnd.IntN(3)])
		default:
			s := &Stores{Thread: ThreadID(1 + rnd.IntN(2)), Wall: wall}
			for range rnd.IntN([...]int{3, 3, 40, 40, 40, 2000}[rnd.IntN(6)]) {
				s.add(randomStore(rnd, len(sites), s), rnd, sites)
			}
			if rnd.IntN(3) == 0 {
				for range s.Recs {
					s.Instants = append(s.Instants, Instant(rnd.Uint64()>>rnd.IntN(64)))
				}
			}
			items = append(items, item{stores: s})
		}
	}
	return items
}

// randomStore is near the one before, or anywhere.
func randomStore(rnd *rand.Rand, sites int, s *Stores) StoreRec {
	r := StoreRec{Site: uint32(rnd.IntN(sites)), Addr: rnd.Uint64() >> rnd.IntN(64), Base: rnd.Uint64() >> rnd.IntN(64), Value: rnd.Uint64() >> rnd.IntN(64)}
	if n := len(s.Recs); n > 0 && rnd.IntN(4) > 0 {
		last := s.Recs[n-1]
		r = StoreRec{Site: (last.Site + 1) % uint32(sites), Addr: last.Addr + uint64(rnd.IntN(9)) - 4, Base: last.Base, Value: uint64(rnd.IntN(300))}
	}
	return r
}

// add appends r as its site wants it.
func (s *Stores) add(r StoreRec, rnd *rand.Rand, sites []StoreSite) {
	site := &sites[r.Site]
	if site.IsCall() {
		s.Calls++
	}
	if site.Base != BaseOwn {
		r.Base = 0
	}
	if site.Kind == KindFree {
		r.Value = 0
	}
	if site.Width > 8 {
		r.Value = uint64(len(s.Wide))
		for range site.Width {
			s.Wide = append(s.Wide, byte(rnd.IntN(3)*rnd.IntN(256)))
		}
	} else {
		r.Value &= lowBytes(int(site.Width))
	}
	s.Recs = append(s.Recs, r)
}

// eventsOf is what Next shall return for the items.
func eventsOf(items []item) (events []Event) {
	var sites []StoreSite
	for _, it := range items {
		sites = append(sites, it.sites...)
		if it.event != nil {
			events = append(events, *it.event)
		}
		if it.stores != nil {
			for i := range it.stores.Recs {
				var e Event
				it.stores.Event(i, sites, &e)
				events = append(events, clone(e))
			}
		}
	}
	return events
}

func (it *item) write(t testing.TB, w interface {
	Write(*Event) error
	WriteStores(*Stores) error
	AddSites([]StoreSite) (uint32, error)
}) {
	t.Helper()
	var err error
	switch {
	case it.event != nil:
		err = w.Write(it.event)
	case it.stores != nil:
		err = w.WriteStores(it.stores)
	default:
		_, err = w.AddSites(it.sites)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writeItems makes a trace, in chunks of about n items.
func writeItems(t testing.TB, items []item, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, sampleProgram)
	for i := range items {
		items[i].write(t, w)
		if n > 0 && i%n == n-1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readBatches reads all with NextBatch, and with Next now and then.
func readBatches(r *Reader, rnd *rand.Rand) (events []Event, err error) {
	var e Event
	for {
		if rnd.IntN(3) == 0 {
			if err := r.Next(&e); err != nil {
				return events, err
			}
			events = append(events, clone(e))
			continue
		}
		s, err := r.NextBatch(&e)
		if err != nil {
			return events, err
		}
		if s == nil {
			events = append(events, clone(e))
			continue
		}
		for i := range s.Recs {
			s.Event(i, r.Sites(), &e)
			if e.Kind != KindStore {
				return events, fmt.Errorf("a run has %v", e.Kind)
			}
			events = append(events, clone(e))
		}
	}
}

func pack(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Pack(&b, open(t, data), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// firstDiff shows the first difference. cmp.Diff would take minutes for as many
// events as these tests have.
func firstDiff(want, got []Event) string {
	for i := range min(len(want), len(got)) {
		a, b := &want[i], &got[i]
		if a.Kind != b.Kind || a.Flags != b.Flags || a.Thread != b.Thread || a.Wall != b.Wall || a.Instant != b.Instant || a.PC != b.PC || a.Addr != b.Addr ||
			a.Size != b.Size || a.Base != b.Base || !bytes.Equal(a.Data, b.Data) || a.Name != b.Name || a.Kind != KindStore && a.Kind != KindBulk {
			if d := cmp.Diff(*a, *b, cmpopts.EquateEmpty()); d != "" {
				return fmt.Sprintf("event %d (-want +got)\n%s", i, d)
			}
		}
	}
	if len(want) != len(got) {
		return fmt.Sprintf("%d events instead of %d", len(got), len(want))
	}
	return ""
}

// TestStores: what is written as runs is read as the same events in the same
// order, one by one and in batches, packed and not.
func TestStores(t *testing.T) {
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		items := randomItems(rnd, 100)
		want := eventsOf(items)
		for _, n := range []int{0, 1, 7} {
			data := writeItems(t, items, n)
			for _, data := range [][]byte{data, pack(t, data)} {
				got, err := readAll(open(t, data))
				if err != io.EOF {
					t.Fatal(err)
				}
				if d := firstDiff(want, got); d != "" {
					t.Fatalf("seed %d, chunks of %d (-want +got)\n%s", seed, n, d)
				}
				if got, err = readBatches(open(t, data), rnd); err != io.EOF {
					t.Fatal(err)
				}
				if d := firstDiff(want, got); d != "" {
					t.Fatalf("seed %d, batches, chunks of %d (-want +got)\n%s", seed, n, d)
				}
			}
		}
	}
}

// kept is a sink that keeps events.
type kept struct {
	t      *testing.T
	sites  []StoreSite
	events []Event
}

func (k *kept) Event(e *Event) error {
	k.events = append(k.events, clone(*e))
	return nil
}

func (k *kept) Stores(s *Stores) error {
	for i := range s.Recs {
		if k.sites[s.Recs[i].Site].IsCall() || s.Calls > 0 {
			k.t.Fatal("a call in a run")
		}
		var e Event
		s.Event(i, k.sites, &e)
		k.events = append(k.events, clone(e))
	}
	return nil
}

// TestSplit: runs with calls, given to who wants those as events, are the same events.
func TestSplit(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(8, 1)), 200)
	k := &kept{t: t}
	var x Splitter
	var run *Stores
	calls := 0
	for _, it := range items {
		k.sites = append(k.sites, it.sites...)
		if it.event != nil {
			_ = k.Event(it.event)
		} else if run = it.stores; run != nil {
			_ = x.Split(run, k.sites, k)
			calls += run.Calls
		}
	}
	if d := firstDiff(eventsOf(items), k.events); d != "" {
		t.Error(d)
	}
	if calls == 0 {
		t.Error("no calls")
	}
	run = &Stores{Calls: 1, Recs: []StoreRec{{}, {Site: 1}, {}}}
	sites := []StoreSite{{Width: 8}, CallSite("memcpy", 1, 8)}
	if n := testing.AllocsPerRun(10, func() { _ = x.Split(run, sites, nowhere{}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

type nowhere struct{}

func (nowhere) Event(*Event) error   { return nil }
func (nowhere) Stores(*Stores) error { return nil }

// TestOlder: traces of the versions before, which have no allocators or no calls, are read, packed too.
func TestOlder(t *testing.T) {
	s := Stores{Thread: 1, Recs: []StoreRec{{Addr: 8, Value: 1}, {Addr: 16, Value: 2}}}
	items := []item{{sites: []StoreSite{{PC: 1, Width: 8}}}, {stores: &s}}
	data := writeItems(t, items, 0)
	for _, v := range []byte{older, oldest} {
		data[len(magic)] = v
		sameItems(t, items, data)
		sameItems(t, items, pack(t, data))
	}
}

// sameItems wants a file to have what was written.
func sameItems(t testing.TB, items []item, data []byte) {
	t.Helper()
	got, err := readAll(open(t, data))
	if err != io.EOF {
		t.Fatal(err)
	}
	if d := firstDiff(eventsOf(items), got); d != "" {
		t.Fatal(d)
	}
}

// TestHeld: what is written by one who holds the writer is what was written, and others
// wait meanwhile.
func TestHeld(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(5, 1)), 200)
	var b bytes.Buffer
	w := NewWriter(&b, sampleProgram)
	flushed := make(chan error)
	for i := 0; i < len(items); i += 10 {
		h := w.Hold()
		go func() { flushed <- w.Flush() }()
		for j := range items[i:min(i+10, len(items))] {
			items[i+j].write(t, h)
		}
		w.Release()
		if err := <-flushed; err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	sameItems(t, items, b.Bytes())
}

// TestWriterTables: stacks that begin or end alike, and names that are equal but lie elsewhere,
// are told apart and found again.
func TestWriterTables(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 1))
	var items []item
	for range 5000 {
		stack := make([]Addr, rnd.IntN(6))
		for i := range stack {
			stack[i] = 0x40_0000 + Addr(rnd.IntN(4))
		}
		name := strings.Clone(fmt.Sprint("f", rnd.IntN(100))[rnd.IntN(2):])
		items = append(items, item{event: &Event{Kind: KindAlloc, Addr: 16, Size: 1, Name: name, Stack: stack}})
	}
	data := writeItems(t, items, 0)
	sameItems(t, items, data)
	w := newWriter(io.Discard)
	for _, it := range items {
		w.tables.string(it.event.Name)
		w.tables.stack(it.event.Stack)
	}
	if strings, stacks := len(w.tables.strings), len(w.tables.stacks); strings > 201 || stacks > 1365 {
		t.Errorf("%d strings and %d stacks in the tables", strings, stacks)
	}
}

// TestLongRuns fills blocks.
func TestLongRuns(t *testing.T) {
	const n = 3*full + 5
	w := newWorkload(1)
	var s Stores
	s.Recs = make([]StoreRec, n)
	w.fill(&s)
	data := writeItems(t, []item{{sites: w.sites}, {stores: &s}}, 0)
	r := open(t, data)
	at := 0
	for {
		var e Event
		got, err := r.NextBatch(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Recs {
			var a, b Event
			s.Event(at, w.sites, &a)
			got.Event(i, r.Sites(), &b)
			if d := firstDiff([]Event{a}, []Event{b}); d != "" {
				t.Fatalf("store %d: %s", at, d)
			}
			at++
		}
	}
	if at != n || len(r.Chunks()) != 4 {
		t.Errorf("%d of %d stores in %d chunks", at, n, len(r.Chunks()))
	}
}

// TestSeek reads from anywhere, forwards and backwards.
func TestSeek(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	items := randomItems(rnd, 200)
	want := eventsOf(items)
	r := open(t, writeItems(t, items, 3))
	if c := r.Chunks(); len(c) < 50 || c[len(c)-1].First+c[len(c)-1].Count != uint64(len(want)) {
		t.Fatalf("%d chunks", len(c))
	}
	for range 100 {
		at := rnd.IntN(len(want))
		if err := r.Seek(uint64(at)); err != nil {
			t.Fatal(err)
		}
		var e Event
		for i := at; i < min(at+rnd.IntN(50), len(want)); i++ {
			if err := r.Next(&e); err != nil {
				t.Fatal(err)
			}
			if d := firstDiff(want[i:i+1], []Event{e}); d != "" {
				t.Fatalf("event %d after seeking %d\n%s", i, at, d)
			}
		}
	}
	var e Event
	if err := r.Seek(uint64(len(want))); err != nil || r.Next(&e) != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if err := r.Seek(uint64(len(want)) + 1); err != io.EOF {
		t.Errorf("behind the end: %v", err)
	}
}

// TestIndex: what the index excludes is not there.
func TestIndex(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 9))
	items := randomItems(rnd, 1000)
	events := eventsOf(items)
	r := open(t, writeItems(t, items, 20))
	chunks := r.Chunks()
	excluded, asked := 0, 0
	for range 10 {
		at := min(uint64(events[rnd.IntN(len(events))].Addr), 1<<64-9) // no question wraps around
		for i := range chunks {
			c := &chunks[i]
			first, last, known := c.Wall()
			may := c.MayTouch(Addr(at), 8)
			asked++
			if !may {
				excluded++
			}
			for _, e := range events[c.First : c.First+c.Count] {
				touches := kindSpecs[e.Kind].fields.has(fieldAddr) && uint64(e.Addr)-at < 8 ||
					kindSpecs[e.Kind].fields.has(fieldData) && at-uint64(e.Addr) < uint64(len(e.Data)) ||
					e.Kind == KindAlloc && at-uint64(e.Addr) < e.Size
				if touches && !may {
					t.Fatalf("chunk %d does not have %#x, but %s", i, at, Format(e))
				}
				if e.Wall >= 0 && (!known || e.Wall < first || e.Wall > last) {
					t.Fatalf("chunk %d lies in [%d, %d], but %s", i, first, last, Format(e))
				}
			}
		}
	}
	if excluded == 0 {
		t.Errorf("of %d questions the index excluded none", asked)
	}
}

func TestPages(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		var set pageSet
		var ranges [][2]uint64
		for range rnd.IntN(20) {
			addr, size := rnd.Uint64()>>rnd.IntN(64), rnd.Uint64()>>(40+rnd.IntN(24))
			set.mark(addr, size)
			ranges = append(ranges, [2]uint64{addr, size})
		}
		c := cursor{buf: set.append(nil)}
		var runs pageRuns
		runs.parse(&c)
		if c.bad || len(c.buf) != 0 {
			t.Fatal("the set can not be read")
		}
		for _, x := range ranges {
			off := uint64(0)
			if x[1] > 0 {
				off = rnd.Uint64N(x[1])
			}
			if x[0]+off >= x[0] && !runs.has(x[0]+off, 1) {
				t.Fatalf("%#x of [%#x, +%#x) is missing", x[0]+off, x[0], x[1])
			}
		}
		for range 100 {
			page := rnd.Uint64N(1 << pageBits)
			if got, want := runs.has(page<<pageShift, 1), set[page/64]&(1<<(page%64)) != 0; got != want {
				t.Fatalf("page %d: %v", page, got)
			}
		}
	}
}

// TestBadStores: a store that does not fit its site ends the recording, and
// what was written before it is kept.
func TestBadStores(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  StoreRec
		want error
	}{
		{"site", StoreRec{Site: 2}, errSite},
		{"wide", StoreRec{Site: 1, Value: 1}, errWide},
		{"wide, far", StoreRec{Site: 1, Value: 1 << 63}, errWide},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w := NewWriter(&b, sampleProgram)
			if _, err := w.AddSites([]StoreSite{{Width: 8}, {Width: 16}}); err != nil {
				t.Fatal(err)
			}
			good := Stores{Recs: []StoreRec{{Addr: 1}, {Site: 1, Addr: 2}}, Wide: make([]byte, 16)}
			if err := w.WriteStores(&good); err != nil {
				t.Fatal(err)
			}
			bad := Stores{Recs: []StoreRec{{Addr: 3}, c.bad}, Wide: make([]byte, 16)}
			if err := w.WriteStores(&bad); !errors.Is(err, c.want) {
				t.Fatal(err)
			}
			if err := w.WriteStores(&good); !errors.Is(err, c.want) {
				t.Errorf("afterwards: %v", err)
			}
			got, err := readAll(open(t, b.Bytes()))
			if len(got) != 3 || !errors.Is(err, ErrTruncated) {
				t.Errorf("%d events, %v", len(got), err)
			}
		})
	}
	w := NewWriter(io.Discard, sampleProgram)
	for _, s := range []StoreSite{{}, {Width: MaxStoreWidth + 1}, {Width: 8, Base: baseEnd}, {Width: 8, Name: "memcpy"}, CallSite("memcpy", 1, 0)} {
		if _, err := w.AddSites([]StoreSite{s}); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

// TestCutStores cuts a trace with runs: what is left can be read and packed.
func TestCutStores(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	items := randomItems(rnd, 40)
	want := eventsOf(items)
	data := writeItems(t, items, 4)
	for range 80 {
		n := rnd.IntN(len(data))
		r, err := NewReader(bytes.NewReader(data[:n]), int64(n))
		if err != nil {
			continue
		}
		got, err := readAll(r)
		if !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if d := firstDiff(want[:len(got)], got); d != "" {
			t.Fatalf("%d bytes\n%s", n, d)
		}
		again, err := readAll(open(t, pack(t, data[:n])))
		if !errors.Is(err, ErrTruncated) || len(again) != len(got) {
			t.Fatalf("packed: %d of %d events, %v", len(again), len(got), err)
		}
		r.Close()
	}
}

// FuzzStores gives the decoder of runs blocks that pass their checksums.
func FuzzStores(f *testing.F) {
	table := &siteTable{}
	var sites []StoreSite
	for i := range uint64(20) {
		s := StoreSite{PC: Addr(i), Width: [...]uint8{1, 4, 8, 16, 10}[i%5], Base: BaseForm(i % 3)}
		if i%7 == 6 {
			s = CallSite("memcpy", s.PC, s.Width)
		}
		if i%7 == 5 {
			s = AllocSite(KindAlloc+Kind(i/7%2), 0, "malloc", s.PC, nil)
		}
		sites = append(sites, s)
		table.add(s)
	}
	rnd := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{1, 20, 700} {
		var s Stores
		for range n {
			s.add(randomStore(rnd, len(sites), &s), rnd, sites)
		}
		c := newStoreEncoder(table)
		if err := c.add(s.Recs, s.Wide); err != nil {
			f.Fatal(err)
		}
		f.Add(c.appendBlock(nil), []byte{})
	}
	f.Add([]byte{}, binary.AppendUvarint([]byte{1, 2, 8, 0, 2}, 16))
	f.Add([]byte{}, []byte{1, 2, 8, 1, 'f'})
	f.Add([]byte{}, []byte{1, 2, byte(KindAlloc), 0, 0, 2, 'f', 'f'})
	f.Fuzz(func(t *testing.T, raw, more []byte) {
		var b bytes.Buffer
		w := NewWriter(&b, sampleProgram)
		if _, err := w.AddSites(sites); err != nil {
			t.Fatal(err)
		}
		w.flushSites()
		w.writeBlock([...]blockType{blockSites, blockCalls, blockAllocs}[len(more)%3], 0, more)
		d := storeDecoder{table: table}
		rows := binary.AppendUvarint([]byte{1, 0, byte(fieldKind), 1, kindRun, 0, byte(fieldRun)}, 3)
		n := 0
		if d.load(append(raw, make([]byte, behind)...)[:len(raw)]) == nil {
			n = d.left
		}
		v := binary.AppendUvarint(nil, uint64(n))
		rows = append(append(rows[:7], byte(len(v))), v...)
		w.writeBlock(blockStores, uint64(n), raw)
		w.writeBlock(blockEvents, uint64(n), rows)
		w.writeBlock(blockIndex, 1, more)
		if err := w.Finish(Trailer{}); err != nil {
			t.Skip(err)
		}
		r := open(t, b.Bytes())
		got, err := readAll(r)
		if err == nil {
			t.Fatal("no end")
		}
		for i := range r.Chunks() {
			r.Chunks()[i].MayTouch(0, 8)
		}
		if err == io.EOF && len(got) != n {
			t.Fatalf("%d of %d stores", len(got), n)
		}
	})
}
