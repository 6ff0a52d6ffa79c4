package mgpp

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// churn is what a program that builds linked structures does: blocks of 40
// bytes that fill, change and die, stores of 8 and 4 bytes.
func churn(n, reach int) []trace.Event {
	rnd := rand.New(rand.NewPCG(7, 8))
	events := make([]trace.Event, 0, n+16)
	var live []trace.Addr
	top := trace.Addr(0x5555_5000_0000)
	stack := []trace.Addr{0x401150, 0x401200}
	for len(events) < n {
		a := top
		if len(live) > n/100 { // free one and take its place
			i := rnd.IntN(len(live))
			a, live[i] = live[i], live[len(live)-1]
			live = live[:len(live)-1]
			events = append(events, trace.Event{Kind: trace.KindFree, Thread: 7, Wall: -1, PC: 0x401400, Addr: a})
		} else {
			top += 48
		}
		live = append(live, a)
		events = append(events, trace.Event{Kind: trace.KindAlloc, Thread: 7, Wall: -1, PC: 0x401150, Addr: a, Size: 40, Name: "malloc", Stack: stack})
		for i := range 12 {
			node := a
			if i >= 5 {
				node = live[len(live)-1-rnd.IntN(min(reach, len(live)))]
			}
			data := make([]byte, 8)
			binary.LittleEndian.PutUint64(data, uint64(live[rnd.IntN(len(live))]))
			if i%3 == 2 {
				data = data[:4]
			}
			events = append(events, trace.Event{Kind: trace.KindStore, Thread: 7, Wall: -1, PC: trace.Addr(0x401160 + i*7), Addr: node + trace.Addr(i%5*8), Size: uint64(len(data)), Base: node, Data: data})
		}
	}
	return events
}

func BenchmarkTarget(b *testing.B) {
	events := churn(1<<20, 1<<20)
	h := New(Options{})
	for i := range events {
		if _, err := h.Apply(&events[i]); err != nil {
			b.Fatal(err)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	v := h.At(h.Now())
	for b.Loop() {
		v.Target(events[rnd.IntN(len(events))].Addr, coded.Plain)
	}
}
