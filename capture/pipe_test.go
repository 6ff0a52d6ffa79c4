package capture

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mgtrace/trace"
)

// script is a sink that writes down what it is given.
type script struct {
	lines []string
	calls int // sites
	fail  int // at this line
}

var errScript = errors.New("the paper is full") // read-only

func (s *script) note(format string, a ...any) error {
	if s.fail > 0 && len(s.lines) >= s.fail {
		return errScript
	}
	s.lines = append(s.lines, fmt.Sprintf(format, a...))
	return nil
}

func (s *script) Sites(sites []trace.StoreSite) error { return s.note("sites %v", sites) }
func (s *script) Stores(r *trace.Stores) error {
	if r.Calls > 0 && s.calls == 0 {
		return s.note("calls in runs, and nobody has told of any")
	}
	return s.note("run %d %d %v %d %x %v", r.Thread, r.Wall, r.Recs, r.Calls, r.Wide, r.Instants)
}

// Calls implements Mixed: a pipe may tell of calls earlier than it was told.
func (s *script) Calls(fresh []trace.StoreSite) error {
	s.calls += len(fresh)
	return nil
}
func (s *script) Event(e *trace.Event) error {
	return s.note("%v %d %x %v %v %q", e.Kind, e.Aux, e.Data, e.Args, e.Stack, e.Name)
}

// feed gives a sink the same things for the same seed, all in the same memory.
func feed(sink Sink, seed uint64, n int) error {
	rng := rand.New(rand.NewPCG(seed, 5))
	var run trace.Stores
	own := make([]trace.StoreRec, 0, 700)
	var data []byte
	var args []uint64
	for i := range n {
		var err error
		switch rng.IntN(6) {
		case 0, 1, 2:
			run.Recs = own[:0]
			if p, ok := sink.(*Pipe); rng.IntN(2) == 0 && ok {
				run.Recs = p.Room(700)
			}
			run = trace.Stores{Thread: trace.ThreadID(rng.IntN(3)), Wall: int64(i), Recs: run.Recs[:0], Wide: run.Wide[:0], Instants: run.Instants[:0]}
			for range 1 + rng.IntN(700) {
				run.Recs = append(run.Recs, trace.StoreRec{Site: rng.Uint32N(9), Addr: rng.Uint64(), Value: uint64(len(run.Wide))})
				run.Wide = append(run.Wide, byte(rng.Uint32()))
			}
			for range len(run.Recs) * rng.IntN(2) {
				run.Instants = append(run.Instants, trace.Instant(rng.Uint64()))
			}
			if rng.IntN(2) == 0 {
				run.Calls = len(run.Recs) / 2
				err = sink.(Mixed).Calls([]trace.StoreSite{trace.CallSite("memcpy", trace.Addr(i), 8)})
			}
			if err == nil {
				err = sink.Stores(&run)
			}
		case 3:
			err = sink.Sites([]trace.StoreSite{{PC: trace.Addr(i)}})
		default:
			data, args = data[:0], args[:0]
			for range rng.IntN(9000) {
				data = append(data, byte(rng.Uint32()))
			}
			for range rng.IntN(7) {
				args = append(args, rng.Uint64())
			}
			kinds := []trace.Kind{trace.KindBulk, trace.KindCall, trace.KindAlloc, trace.KindMap}
			ev := trace.Event{Kind: kinds[rng.IntN(len(kinds))], Aux: uint64(i), Data: data, Args: args, Stack: []trace.Addr{1, trace.Addr(i)}, Name: fmt.Sprint(i)}
			err = sink.Event(&ev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// What goes into a pipe comes out of it, whatever becomes of the memory that it
// lay in.
func TestPipe(t *testing.T) {
	for seed := range uint64(8) {
		var want, got script
		if err := feed(&want, seed, 300); err != nil {
			t.Fatal(err)
		}
		p := NewPipe(&got)
		if err := feed(p, seed, 300); err != nil {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			if err := p.Flush(); err != nil || len(got.lines) != len(want.lines) {
				t.Errorf("flushed %d of %d, error %v", len(got.lines), len(want.lines), err)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(want.lines, got.lines) {
			t.Fatal(cmp.Diff(want.lines, got.lines))
		}
		if want.calls != got.calls {
			t.Errorf("%d calls of %d", got.calls, want.calls)
		}
	}
}

// batches counts what it is given between Begin and End, which must not nest.
type batches struct {
	script
	within bool
	begun  int
	missed int
}

func (b *batches) Begin() {
	if b.within {
		b.missed++
	}
	b.within, b.begun = true, b.begun+1
}
func (b *batches) End() { b.within = false }
func (b *batches) Event(e *trace.Event) error {
	if !b.within {
		b.missed++
	}
	return b.script.Event(e)
}

// A sink that wants to know is told where what comes at once begins and ends, also when
// it fails.
func TestPipeBatches(t *testing.T) {
	for _, fail := range []int{0, 50} {
		b := batches{script: script{fail: fail}}
		p := NewPipe(&b)
		err := feed(p, 3, 300)
		if err == nil {
			err = p.Close()
		} else {
			_ = p.Close()
		}
		if (err != nil) != (fail > 0) {
			t.Fatal(err)
		}
		if b.within || b.missed > 0 || b.begun == 0 {
			t.Errorf("after %d beginnings: within one %v, %d events outside", b.begun, b.within, b.missed)
		}
		if fail == 0 && b.begun > 300 {
			t.Errorf("%d beginnings for 300 items", b.begun)
		}
	}
}

// The sink's error ends the writing, at Flush at the latest, and nothing comes to
// the sink after it.
func TestPipeFails(t *testing.T) {
	for fail := 1; fail < 200; fail += 13 {
		s := script{fail: fail}
		p := NewPipe(&s)
		err := feed(p, uint64(fail), 300)
		if err == nil {
			err = p.Flush()
		}
		if !errors.Is(err, errScript) {
			t.Errorf("fails at %d: error %v", fail, err)
		}
		if err := p.Close(); !errors.Is(err, errScript) {
			t.Errorf("fails at %d: Close says %v", fail, err)
		}
		if len(s.lines) != fail {
			t.Errorf("fails at %d: the sink was given %d", fail, len(s.lines))
		}
	}
}
