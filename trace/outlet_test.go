package trace

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestApart: what is written apart is what was written, packed and not, and chunks without
// runs alone are compressed.
func TestApart(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(3, 1)), 200)
	for i := range 28 {
		items = append(items, item{event: &Event{Kind: KindImage, Addr: Addr(i), Size: 1000, Data: make([]byte, 1000)}})
	}
	var b bytes.Buffer
	w := NewWriter(&b, sampleProgram)
	w.Apart()
	for i := range items {
		items[i].write(t, w)
		if i%7 == 6 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{b.Bytes(), pack(t, b.Bytes())} {
		sameItems(t, items, data)
	}
	runs, raw, packed := false, 0, 0
	for _, k := range open(t, b.Bytes()).blocks.found {
		switch {
		case k.kind == blockStores:
			runs = true
		case k.kind != blockEvents:
		case runs && k.codec != codecRaw:
			t.Error("the events of a chunk with runs are compressed")
		case k.codec == codecRaw:
			runs = false
			raw++
		default:
			packed++
		}
	}
	if raw == 0 || packed == 0 {
		t.Errorf("%d chunks with runs, %d compressed ones without", raw, packed)
	}
}

// TestAhead: who writes apart goes on while the disk is busy.
func TestAhead(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(4, 1)), 15) // no more blocks than may wait
	var b bytes.Buffer
	free, busy := make(chan struct{}), false
	w := NewWriter(writerFunc(func(p []byte) (int, error) {
		if busy {
			<-free
		}
		return b.Write(p)
	}), sampleProgram)
	busy = true
	w.Apart()
	for i := range items {
		items[i].write(t, w)
		if i == len(items)/2 {
			w.mu.Lock()
			w.flush()
			w.mu.Unlock()
		}
	}
	close(free)
	if err := w.Finish(Trailer{Complete: true}); err != nil {
		t.Fatal(err)
	}
	sameItems(t, items, b.Bytes())
}

// TestApartFullDisk: the error comes with a later call, and the file is good up to its last
// whole block.
func TestApartFullDisk(t *testing.T) {
	d := &fullDisk{n: 20000}
	w := NewWriter(d, sampleProgram)
	w.Apart()
	rnd := rand.New(rand.NewPCG(5, 7))
	var want []Event
	var err error
	for err == nil {
		e := randomEvent(rnd)
		want = append(want, e)
		if err = w.Write(&e); err == nil && len(want)%5 == 0 {
			w.onTimer() // which does not wait
		}
	}
	if !errors.Is(err, errNoSpace) || !errors.Is(w.Flush(), errNoSpace) || !errors.Is(w.Finish(Trailer{}), errNoSpace) {
		t.Errorf("got %v", err)
	}
	d.check(t, want)
}
