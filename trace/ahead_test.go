package trace

import (
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// readAheadAll reads all with Ahead, but for what follows n items; 0: all.
func readAheadAll(r *Reader, n int) (events []Event, err error) {
	items := 0
	var e Event
	err = r.Ahead(func(ev *Event, run *Stores, sites []StoreSite) bool {
		if run == nil {
			events = append(events, clone(*ev))
		} else {
			for i := range run.Recs {
				run.Event(i, sites, &e)
				events = append(events, clone(e))
			}
		}
		items++
		return items != n
	})
	return events, err
}

// What is read ahead is what is read in step: also where the trace is cut off or damaged, of a
// trace of many pieces, and again after a stop.
func TestReadAhead(t *testing.T) {
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		items := randomItems(rnd, 150)
		data := writeItems(t, items, []int{0, 1, 7, 50}[seed])
		cut := data[:len(data)-1-rnd.IntN(len(data)/2)]
		damaged := append([]byte(nil), data...)
		damaged[len(damaged)/3+rnd.IntN(len(damaged)/2)] ^= 0x10
		for what, data := range map[string][]byte{"whole": data, "packed": pack(t, data), "cut off": cut, "damaged": damaged} {
			want, ended := readAll(open(t, data))
			r := open(t, data)
			some, err := readAheadAll(r, 1+rnd.IntN(20))
			if err != nil && ended == io.EOF {
				t.Errorf("seed %d, %s: stopped with %v", seed, what, err)
			}
			if d := firstDiff(want[:min(len(want), len(some))], some); d != "" {
				t.Errorf("seed %d, %s, stopped (-want +got)\n%s", seed, what, d)
			}
			r = open(t, data)
			got, err := readAheadAll(r, 0)
			if err == nil || err.Error() != ended.Error() || errors.Is(err, ErrCorrupt) != errors.Is(ended, ErrCorrupt) {
				t.Errorf("seed %d, %s: it ends with %v, in step with %v", seed, what, err, ended)
			}
			if d := firstDiff(want, got); d != "" {
				t.Errorf("seed %d, %s (-want +got)\n%s", seed, what, d)
			}
			if ended != io.EOF {
				continue
			}
			if err := r.Seek(0); err != nil { // and in step again
				t.Fatal(err)
			}
			if got, err = readBatches(r, rnd); err != io.EOF {
				t.Errorf("seed %d, %s: then %v", seed, what, err)
			}
			if d := firstDiff(want, got); d != "" {
				t.Errorf("seed %d, %s, read again (-want +got)\n%s", seed, what, d)
			}
		}
	}
}
