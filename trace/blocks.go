package trace

import "iter"

// located is a block and where its payload lies.
type located struct {
	block
	at int64
}

// blockList is the blocks of a trace in order. Of a long trace whose directory is known, most
// are never asked for, and their headers are not read.
type blockList struct {
	found []located // in the file; or
	known *directory
}

// len is how many there are.
func (l *blockList) len() int {
	if l.known != nil {
		return l.known.blocks
	}
	return len(l.found)
}

// get returns a block. Only that of a directory can fail: it is read then.
func (l *blockList) get(i int) (located, error) {
	if l.known != nil {
		return l.known.get(i)
	}
	return l.found[i], nil
}

// each gives all blocks in order, until one can not be read.
func (l *blockList) each(f func(i int, b located)) error {
	for i := range l.len() {
		b, err := l.get(i)
		if err != nil {
			return err
		}
		f(i, b)
	}
	return nil
}

// chunk finds the chunk of event n: its first block, behind the events of the one before, and
// the events before.
func (l *blockList) chunk(n uint64) (start int, first uint64, err error) {
	if l.known != nil {
		start, first = l.known.before(n)
	}
	for ; start < l.len(); start++ {
		b, err := l.get(start)
		if err != nil {
			return 0, 0, err
		}
		if b.kind == blockEvents {
			if n < first+uint64(b.count) {
				break
			}
			first += uint64(b.count)
		}
	}
	for ; start > 0; start-- {
		if b, err := l.get(start - 1); err != nil || b.kind == blockEvents {
			return start, first, err
		}
	}
	return start, first, nil
}

// knows: what blocks of the kind hold is needed by chunks behind them.
func (k blockType) knows() bool {
	return k == blockTables || k == blockSites || k == blockCalls || k == blockAllocs || k == blockSegment
}

// knowledge gives the blocks of [from, to) whose kind knows, and whether they are tables.
func (l *blockList) knowledge(from, to int) iter.Seq2[int, bool] {
	if l.known != nil {
		return l.known.knowledge(from, to)
	}
	return func(yield func(int, bool) bool) {
		for i, b := range l.found[from:max(from, to)] {
			if b.kind.knows() && !yield(from+i, b.kind == blockTables) {
				return
			}
		}
	}
}
