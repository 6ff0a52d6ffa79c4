package slice

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// single makes each piece a step: a run that is not long has many segments then.
var single = limits{0, maxShapes}

// someLimits are met, or are not.
var someLimits = []limits{single, {5, maxShapes}, {maxStretches, 3}, {maxStretches, maxShapes}}

// indexed makes the index of a run.
func indexed(t *testing.T, s Source, o BuildOptions) (*Index, *Program) {
	t.Helper()
	return limited(t, s, o, limits{maxStretches, maxShapes})
}

// limited is indexed, with other limits.
func limited(t *testing.T, s Source, o BuildOptions, l limits) (*Index, *Program) {
	t.Helper()
	p, err := NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	p.limits = l
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
// same, whatever the limits.
func three(t *testing.T, s Source, instant uint64, o Options) (*Index, *Slice) {
	t.Helper()
	return threeFrom(t, s, func(x *Index) Criteria { return at(t, x, instant) }, o)
}

// threeFrom is three for another criterion.
func threeFrom(t *testing.T, s Source, from func(*Index) Criteria, o Options) (x *Index, sl *Slice) {
	t.Helper()
	for _, l := range someLimits {
		x, sl = threeWith(t, s, from, o, l)
	}
	return x, sl
}

func threeWith(t *testing.T, s Source, from func(*Index) Criteria, o Options, l limits) (*Index, *Slice) {
	t.Helper()
	x, _ := limited(t, s, BuildOptions{Restores: true}, l)
	c := from(x)
	sl, err := x.Backward(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	p2, err := NewProgram(s)
	if err != nil {
		t.Fatal(err)
	}
	p2.limits = l
	dir := t.TempDir()
	r, err := p2.Record(scratch(t, dir, "steps"), scratch(t, dir, "mem"))
	if err != nil {
		t.Fatal(err)
	}
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

// reseal gives an index that was changed the checksums of what it has.
func reseal(b []byte) {
	le := binary.LittleEndian
	if len(b) < footLen {
		return
	}
	end := uint64(len(b) - footLen)
	foot := b[end:]
	pieces, dir := le.Uint64(foot), le.Uint64(foot[4*8:])
	if pieces > dir || dir > end {
		return
	}
	for at := dir; at+dirEntry <= end; at += dirEntry {
		lo, hi := le.Uint64(b[at:]), pieces
		if next := at + dirEntry; next+dirEntry <= end {
			hi = le.Uint64(b[next:])
		}
		if lo <= hi && hi <= pieces {
			le.PutUint32(b[at+20:], crc32.ChecksumIEEE(b[lo:hi]))
		}
	}
	le.PutUint64(foot[3*8:], uint64(crc32.ChecksumIEEE(b[pieces:dir])))
	le.PutUint64(foot[5*8:], uint64(crc32.ChecksumIEEE(b[dir:end])))
	le.PutUint64(foot[15*8:], uint64(crc32.ChecksumIEEE(foot[:15*8])))
}

// No byte of an index can be another without that being noticed; with checksums made anew
// some can.
func TestDamagedIndex(t *testing.T) {
	s, prog := ran(3, true)
	x, p := indexed(t, s, BuildOptions{})
	var out bytes.Buffer
	if err := BuildIndex(&out, p, BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	good := out.Bytes()
	goal, err := x.Find(s.last(lastOf(prog)))
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) error {
		x, err := OpenIndex(bytes.NewReader(b), int64(len(b)), s)
		if err != nil {
			return err
		}
		a := newAhead(x, true)
		defer a.stop()
		for i := range x.segments() {
			if _, err := a.segment(i); err != nil {
				return err
			}
		}
		_, err = x.Backward(context.Background(), Criteria{goal}, Options{})
		return err
	}
	if err := read(good); err != nil {
		t.Fatal(err)
	}
	unseen := 0
	for at := len(indexMagic) + len(x.Key); at < len(good); at += len(good)/80 + 1 {
		b := bytes.Clone(good)
		b[at] ^= 1 << (at % 8)
		if err := read(b); !errors.Is(err, ErrIndex) {
			t.Fatalf("byte %d of %d is another: %v", at, len(good), err)
		}
		if reseal(b); read(b) == nil {
			unseen++
		}
	}
	if unseen == 0 {
		t.Error("resealing does not work: the checksums found nothing that nothing else finds")
	}
}

// What an index says of itself is held to what there is, also where its checksums are right.
func TestForgedIndex(t *testing.T) {
	s, _ := ran(3, true)
	x, p := indexed(t, s, BuildOptions{})
	code := p.pieces[0].Code
	for _, c := range []struct {
		from, n uint64
		good    bool
	}{
		{0, uint64(len(code.Insts)), true},
		{1, uint64(len(code.Insts)), false},
		{1<<64 - 1, 2, false},
	} {
		raw := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(code.ID)), c.from), c.n)
		if err := new(Index).readPieces(&cursor{b: raw}, 1, s); (err == nil) != c.good || err != nil && !errors.Is(err, ErrIndex) {
			t.Errorf("instructions %d to %d of %d: %v", c.from, c.from+c.n, len(code.Insts), err)
		}
	}
	for _, steps := range []StepID{x.Steps, 1<<64 - 100} {
		var out bytes.Buffer
		b := newBuilder(&out, BuildOptions{}, p.limits.shapes)
		if steps == x.Steps {
			track := newTracker(p, b.part)
			if err := track.run(); err != nil {
				t.Fatal(err)
			}
		}
		b.steps = steps
		if err := b.finish(p, &Doubts{}); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenIndex(bytes.NewReader(out.Bytes()), int64(out.Len()), s); (err == nil) != (steps == x.Steps) || err != nil && !errors.Is(err, ErrIndex) {
			t.Errorf("%d steps: %v", steps, err)
		}
	}
	g, k, err := x.meet(node(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	ops := len(g.shape(k).ops)
	for op := range uint16(maxStepOps) {
		n := node(1, op)
		a, err := x.At(n)
		if want := int(op) < ops; (err == nil) != want {
			t.Errorf("op %d: %v", op, err)
		} else if want && a.PC() == 0 {
			t.Errorf("op %d has no address", op)
		}
	}
}
