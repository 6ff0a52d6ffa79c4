package index

import (
	"cmp"
	"slices"
	"sort"

	"mgtrace/parallel"
)

// foreseen is a row that is asked for soon, the last that is below some keys: its own is from,
// that of the row behind it to.
type foreseen struct {
	nearby
	row row
}

const (
	// foreseeFrom is of how many keys on rows are read beforehand: of fewer, to share the
	// work costs as much as it saves.
	foreseeFrom = 48
	// foreseePart is how many keys are looked up one after another.
	foreseePart = 32
)

// foresee reads the rows that are asked for by keys, which ascend: the last that is below each.
// To find and read a block takes some microseconds and needs no other, so all processors do it
// together; of the block no more is kept, for to touch fresh memory costs as much as to read. What
// was foreseen before is forgotten.
func (t *table) foresee(keys []key) error {
	t.foreseen = nil
	if len(keys) < foreseeFrom || t.Blocks == 0 {
		return nil
	}
	if err := t.open(); err != nil {
		return err
	}
	out := make([]foreseen, len(keys))
	found := make([]int, (len(keys)+foreseePart-1)/foreseePart)
	errs := make([]error, len(found))
	parallel.Batches(len(keys), foreseePart, func(from, to int) {
		k := from / foreseePart
		found[k], errs[k] = t.readBelow(keys[from:to], out[from:to])
	})
	n := 0
	for k := range found {
		from := k * foreseePart
		n += copy(out[n:], out[from:from+found[k]])
	}
	t.foreseen = slices.CompactFunc(out[:n], func(a, b foreseen) bool { return a.i == b.i })
	return cmp.Or(errs...)
}

// readBelow reads the rows of some keys and returns how many they are. It changes nothing of
// the table.
func (t *table) readBelow(keys []key, out []foreseen) (n int, err error) {
	var p page
	var k block
	var in nearby // k, if it is any
	have := -1    // the number of p
	for _, want := range keys {
		if n > 0 && out[n-1].has(want) {
			continue
		}
		if !in.has(want) {
			at := t.pageBelow(want)
			if at < 0 {
				continue
			}
			if at != have {
				if p, err = t.readPage(at, p.b); err != nil {
					return n, err
				}
				have = at
			}
			in = t.nearby(p, at, want)
			if k, err = t.load(p, in.i%pageBlocks, k.b); err != nil {
				return n, err
			}
		}
		below, last := k.below(want[0], want[1])
		if below == 0 {
			return n, errBlock
		}
		f := foreseen{nearby{from: last, to: in.to, i: in.i*blockRows + below - 1}, k.row(below - 1)}
		if below < k.n {
			f.to = key{k.cell(0, below), k.cell(1, below)}
		}
		out[n] = f
		n++
	}
	return n, nil
}

// foreseenBelow is the last row below a key, if it was foreseen; else nil.
func (t *table) foreseenBelow(want key) *foreseen {
	i := sort.Search(len(t.foreseen), func(i int) bool { return !t.foreseen[i].from.less(want) }) - 1
	if i < 0 || !t.foreseen[i].has(want) {
		return nil
	}
	return &t.foreseen[i]
}
