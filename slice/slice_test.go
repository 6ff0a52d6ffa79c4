package slice

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// indexed makes the index of a run.
func indexed(t *testing.T, s Source, o BuildOptions) (*Index, *Program) {
	t.Helper()
	p, err := NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := BuildIndex(&b, p, o); err != nil {
		t.Fatal(err)
	}
	x, err := OpenIndex(bytes.NewReader(b.Bytes()), int64(b.Len()), s)
	if err != nil {
		t.Fatal(err)
	}
	return x, p
}

// nodes returns all nodes of a backward slice.
func (s *Slice) nodes() Set {
	var out Set
	w := s.ways.(*backwardWays)
	for _, m := range w.marks {
		first := StepID(m.segment<<segmentBits + 1)
		for k := range StepID(segmentLen) {
			if p, _ := w.step(first + k); p != nil {
				for op := range bitsOf(p.all) {
					out = append(out, node(first+k, uint16(op)))
				}
			}
		}
	}
	return out
}

// at is the criterion: the first op of an instant.
func at(t *testing.T, x *Index, instant uint64) Criteria {
	t.Helper()
	n, err := x.Find(instant)
	if err != nil {
		t.Fatal(err)
	}
	return Criteria{n}
}

func scratch(t *testing.T, dir, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// three computes a slice of an instant with each of the algorithms and wants them the
// same.
func three(t *testing.T, s Source, instant uint64, o Options) (*Index, *Slice) {
	t.Helper()
	return threeFrom(t, s, func(x *Index) Criteria { return at(t, x, instant) }, o)
}

// threeFrom is three for another criterion.
func threeFrom(t *testing.T, s Source, from func(*Index) Criteria, o Options) (*Index, *Slice) {
	t.Helper()
	x, p := indexed(t, s, BuildOptions{Restores: true})
	c := from(x)
	sl, err := x.Backward(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	p2, err := NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := p2.Record(scratch(t, dir, "steps"), scratch(t, dir, "mem"))
	if err != nil {
		t.Fatal(err)
	}
	_ = p
	filtered, err := r.Filtered(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := r.Plain(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(plain)
	slices.Sort(filtered)
	idx := sl.nodes()
	slices.Sort(idx)
	if d := cmp.Diff(plain, filtered); d != "" {
		t.Errorf("algorithm 4 and 5 differ (-4 +5):\n%s", d)
	}
	if d := cmp.Diff(filtered, idx); d != "" {
		t.Errorf("algorithm 5 and the index differ (-5 +index):\n%s", d)
	}
	return x, sl
}
