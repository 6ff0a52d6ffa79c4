package trace

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// typical makes events as a program that builds linked structures does: a few
// dozen store instructions, nodes of a few words, pointers and small numbers.
func typical(n int) []Event {
	rnd := rand.New(rand.NewPCG(7, 8))
	events := make([]Event, 0, n)
	heap := Addr(0x55550000_2a0)
	stack := []Addr{0x401150, 0x401200, 0x7ffff7a00000}
	wall := int64(0)
	for len(events) < n {
		wall += int64(rnd.IntN(200))
		events = append(events, Event{Kind: KindAlloc, Thread: 4711, Wall: wall, PC: 0x401150, Addr: heap, Size: 40, Name: "malloc", Stack: stack})
		for i := range 10 {
			wall += int64(rnd.IntN(50))
			data := make([]byte, 8)
			node := heap - Addr(rnd.IntN(1+len(events)/11)*48)
			if i%2 == 0 {
				binary.LittleEndian.PutUint64(data, uint64(heap)-uint64(rnd.IntN(100)*48))
			} else {
				data = data[:4]
				binary.LittleEndian.PutUint32(data, uint32(rnd.IntN(1000)))
			}
			off := Addr(i % 5 * 8)
			events = append(events, Event{Kind: KindStore, Thread: 4711, Wall: wall, PC: 0x401160 + Addr(i)*7, Addr: node + off, Size: uint64(len(data)), Base: node, Data: data})
		}
		heap += 48
	}
	return events[:n]
}

func BenchmarkWrite(b *testing.B) {
	events := typical(1 << 16)
	count := &countWriter{}
	w := NewWriter(count, Program{})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if err := w.Write(&events[i%len(events)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(count.n)/float64(i), "bytes/event")
	b.ReportMetric(float64(i)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkNext(b *testing.B) {
	data := write(b, typical(1<<16), 0, true)
	b.ReportAllocs()
	r := open(b, data)
	var e Event
	n := 0
	for b.Loop() {
		err := r.Next(&e)
		if err == io.EOF {
			r, err = NewReader(bytes.NewReader(data), int64(len(data)))
		}
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

type countWriter struct{ n int }

func (c *countWriter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

// batch is how many stores an engine delivers at once, of one
// thread: they stay in the first cache.
const batch = 512

func BenchmarkWriteStores(b *testing.B) {
	x := newWorkload(1)
	runs := make([]Stores, maxStores/batch)
	for i := range runs {
		runs[i].Recs = make([]StoreRec, batch)
		x.fill(&runs[i])
	}
	count := &countWriter{}
	w := NewWriter(count, Program{})
	if _, err := w.AddSites(x.sites); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	rounds := writeRounds(b, w, runs)
	reportStores(b, rounds*len(runs)*batch, count.n)
}

// BenchmarkWriteShortRuns is BenchmarkWriteStores where each run has a wall clock of its own, and
// few stores: a program that calls its allocator or the system all the time.
func BenchmarkWriteShortRuns(b *testing.B) {
	const batch = 8
	x := newWorkload(1)
	runs := make([]Stores, maxStores/batch)
	for i := range runs {
		runs[i].Recs = make([]StoreRec, batch)
		x.fill(&runs[i])
		runs[i].Wall = int64(i) * 1700
	}
	count := &countWriter{}
	w := NewWriter(count, Program{})
	if _, err := w.AddSites(x.sites); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	rounds := writeRounds(b, w, runs)
	reportStores(b, rounds*len(runs)*batch, count.n)
}

// writeRounds writes the runs again and again, each time as chunks of their
// own. Other programs disturb the mean on a busy machine: the fastest round is
// reported too.
func writeRounds(b *testing.B, w *Writer, runs []Stores) (rounds int) {
	n := 0
	for i := range runs {
		n += len(runs[i].Recs)
	}
	best := time.Hour
	for b.Loop() {
		began := time.Now()
		for i := range runs {
			if err := w.WriteStores(&runs[i]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(began))
		rounds++
	}
	b.ReportMetric(float64(best.Nanoseconds())/float64(n), "best-ns/store")
	return rounds
}

func reportStores(b *testing.B, stores, bytes int) {
	b.ReportMetric(float64(bytes)/float64(stores), "bytes/store")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(stores), "ns/store")
	b.ReportMetric(float64(stores)/b.Elapsed().Seconds()/1e6, "Mstores/s")
}

// storesTrace is a trace of n stores in runs.
func storesTrace(b *testing.B, n int) []byte {
	x := newWorkload(1)
	s := Stores{Recs: make([]StoreRec, n)}
	x.fill(&s)
	return writeItems(b, []item{{sites: x.sites}, {stores: &s}}, 0)
}

func BenchmarkNextBatch(b *testing.B) {
	const n = 1 << 20
	data := storesTrace(b, n)
	for _, c := range []struct {
		name string
		data []byte
	}{{"recorded", data}, {"packed", pack(b, data)}} {
		b.Run(c.name, func(b *testing.B) {
			r := open(b, c.data)
			rounds := 0
			for b.Loop() {
				if err := r.Seek(0); err != nil {
					b.Fatal(err)
				}
				readRuns(b, r)
				rounds++
			}
			reportStores(b, rounds*n, rounds*len(c.data))
		})
	}
}

func readRuns(b *testing.B, r *Reader) (n int) {
	var e Event
	for {
		s, err := r.NextBatch(&e)
		if err == io.EOF {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		if s != nil {
			n += len(s.Recs)
		}
	}
}

func BenchmarkPack(b *testing.B) {
	const n = 1 << 20
	r := open(b, storesTrace(b, n))
	count := &countWriter{}
	for b.Loop() {
		count.n = 0
		if err := Pack(count, r, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(count.n)/n, "bytes/store")
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mstores/s")
}

func BenchmarkSeek(b *testing.B) {
	const n = 1 << 20
	r := open(b, storesTrace(b, n))
	rnd := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		if err := r.Seek(rnd.Uint64N(n)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTraces writes, packs and reads the stores of recorded traces:
//
//	MGTRACE_TRACES='/path/*.mgt' go test -bench Traces ./trace
func BenchmarkTraces(b *testing.B) {
	paths, err := filepath.Glob(os.Getenv("MGTRACE_TRACES"))
	if err != nil {
		b.Fatal(err)
	}
	if len(paths) == 0 {
		b.Skip("MGTRACE_TRACES names no traces")
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".mgt")
		b.Run("write/"+name, func(b *testing.B) { benchWriteTrace(b, path) })
		b.Run("pack/"+name, func(b *testing.B) {
			r := openFile(b, path)
			count := &countWriter{}
			for b.Loop() {
				count.n = 0
				if err := Pack(count, r, nil); err != nil {
					b.Fatal(err)
				}
			}
			c := r.Chunks()
			reportStores(b, b.N*int(c[len(c)-1].First+c[len(c)-1].Count), b.N*count.n)
		})
		b.Run("read/"+name, func(b *testing.B) {
			r := openFile(b, path)
			n := 0
			for b.Loop() {
				if err := r.Seek(0); err != nil {
					b.Fatal(err)
				}
				n += readRuns(b, r)
			}
			reportStores(b, n, 0)
		})
	}
}

func openFile(b *testing.B, path string) *Reader {
	r, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return r
}

// benchWriteTrace writes stores from the middle of a trace again: so few that
// they stay in the caches, as those that come from an engine are.
func benchWriteTrace(b *testing.B, path string) {
	r := openFile(b, path)
	var runs []Stores
	n := 0
	c := r.Chunks()
	if err := r.Seek(c[len(c)/2].First); err != nil {
		b.Fatal(err)
	}
	for n < maxStores {
		var e Event
		s, err := r.NextBatch(&e)
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		if s != nil {
			c := *s
			c.Recs, c.Wide = slices.Clone(s.Recs), slices.Clone(s.Wide)
			runs = append(runs, c)
			n += len(s.Recs)
		}
	}
	count := &countWriter{}
	w := NewWriter(count, Program{})
	if _, err := w.AddSites(r.Sites()); err != nil {
		b.Fatal(err)
	}
	rounds := writeRounds(b, w, runs)
	reportStores(b, rounds*n, count.n)
}
