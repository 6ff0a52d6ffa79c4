package index

import (
	"cmp"
	"slices"
	"sort"

	"mgtrace/parallel"
)

// foreseen is a block that is asked for soon.
type foreseen struct {
	nearby
	block
}

const (
	// foreseeFrom is of how many keys on blocks are read beforehand: of fewer, to share the
	// work costs as much as it saves.
	foreseeFrom = 48
	// foreseePart is how many keys are looked up one after another.
	foreseePart = 32
	// foreseeRoom is what memory for blocks is allocated by, bytes: to touch fresh memory costs
	// as much as to read.
	foreseeRoom = 32 << 10
)

// foresee reads the blocks that are asked for by keys, which ascend: the last of which the
// first row is below each. To find and read a block takes some microseconds and needs no other,
// so all processors do it together. What was foreseen before is forgotten.
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

// readBelow reads the blocks of some keys and returns how many they are. It changes nothing of
// the table.
func (t *table) readBelow(keys []key, out []foreseen) (n int, err error) {
	var p page
	var room []byte
	have := -1 // the number of p
	for _, k := range keys {
		if n > 0 && out[n-1].has(k) {
			continue
		}
		at := t.pageBelow(k)
		if at < 0 {
			continue
		}
		if at != have {
			if p, err = t.readPage(at, p.b); err != nil {
				return n, err
			}
			have = at
		}
		if len(room) < maxBlock+behind {
			room = make([]byte, foreseeRoom)
		}
		f := &out[n]
		f.nearby = t.nearby(p, at, k)
		if f.block, err = t.load(p, f.i%pageBlocks, room); err != nil {
			return n, err
		}
		room = room[len(f.b):]
		n++
	}
	return n, nil
}

// foreseenBelow is blockBelow where the block was foreseen; else nil.
func (t *table) foreseenBelow(want key) *foreseen {
	i := sort.Search(len(t.foreseen), func(i int) bool { return !t.foreseen[i].from.less(want) }) - 1
	if i < 0 || !t.foreseen[i].has(want) {
		return nil
	}
	return &t.foreseen[i]
}

// foreseenAt returns a block by its number if it was foreseen; else nil.
func (t *table) foreseenAt(i int) *block {
	k, ok := slices.BinarySearchFunc(t.foreseen, i, func(f foreseen, i int) int { return cmp.Compare(f.i, i) })
	if !ok {
		return nil
	}
	return &t.foreseen[k].block
}
