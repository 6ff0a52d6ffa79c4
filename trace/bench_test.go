package trace

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"
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
