package index

import (
	"cmp"
	"io"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// sorter sorts more rows than memory holds: it sorts as many as it may keep,
// writes them to a file as a run, and merges the runs in the end.
type sorter struct {
	cols int
	rows []row
	dir  string // of the file of runs
	file *os.File
	out  *output
	runs []tableMeta
	z    *zstd.Encoder
	err  error
}

// sortRows is how many rows are sorted at once: 28 MB.
const sortRows = 1 << 19

func newSorter(cols int, dir string, z *zstd.Encoder) *sorter {
	return &sorter{cols: cols, dir: dir, z: z}
}

func (s *sorter) add(r row) {
	s.rows = append(s.rows, r)
	if len(s.rows) == sortRows {
		s.spill()
	}
}

func (s *sorter) sort() {
	slices.SortFunc(s.rows, func(a, b row) int {
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		return cmp.Compare(a[1], b[1])
	})
}

func (s *sorter) spill() {
	if s.err != nil {
		s.rows = s.rows[:0]
		return
	}
	if s.file == nil {
		if s.file, s.err = os.CreateTemp(s.dir, "mgtrace-index-*"); s.err != nil {
			return
		}
		s.out = newOutput(s.file)
	}
	s.sort()
	t := newTable(s.out, s.cols, nil)
	for i := range s.rows {
		t.add(&s.rows[i])
	}
	s.rows = s.rows[:0]
	var m tableMeta
	m, s.err = t.finish()
	s.runs = append(s.runs, m)
}

// run is a run that is merged.
type mergeRun struct {
	t     *table
	block int
	rows  rows
	at    int
	head  row
}

// next moves on; it reports whether there is another row.
func (r *mergeRun) next() (bool, error) {
	if r.at++; r.at < r.rows.len() {
		r.head = r.rows.at(r.at)
		return true, nil
	}
	if r.block == r.t.Blocks {
		return false, nil
	}
	var err error
	r.rows, err = r.t.load(r.block, r.rows)
	r.block, r.at = r.block+1, 0
	if err != nil {
		return false, err
	}
	r.head = r.rows.at(0)
	return true, nil
}

// finish gives all rows in order, and removes what it wrote.
func (s *sorter) finish(f func(*row)) error {
	defer s.close()
	if s.file == nil {
		s.sort()
		for i := range s.rows {
			f(&s.rows[i])
		}
		return s.err
	}
	if len(s.rows) > 0 {
		s.spill()
	}
	s.rows = nil
	if s.err == nil {
		s.err = s.out.w.Flush()
	}
	if s.err != nil {
		return s.err
	}
	return s.merge(f)
}

// merge keeps the runs in a heap by their next rows.
func (s *sorter) merge(f func(*row)) error {
	var heap []*mergeRun
	for _, m := range s.runs {
		r := &mergeRun{rows: rows{cols: m.Cols}, t: &table{tableMeta: m, f: io.ReaderAt(s.file)}, at: -1}
		if err := r.t.open(); err != nil {
			return err
		}
		if ok, err := r.next(); err != nil {
			return err
		} else if ok {
			heap = append(heap, r)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		down(heap, i)
	}
	for len(heap) > 0 {
		f(&heap[0].head)
		ok, err := heap[0].next()
		if err != nil {
			return err
		}
		if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		if len(heap) > 0 {
			down(heap, 0)
		}
	}
	return nil
}

func down(heap []*mergeRun, i int) {
	for {
		k := 2*i + 1
		if k >= len(heap) {
			return
		}
		if k+1 < len(heap) && heap[k+1].head.less(&heap[k].head) {
			k++
		}
		if !heap[k].head.less(&heap[i].head) {
			return
		}
		heap[i], heap[k] = heap[k], heap[i]
		i = k
	}
}

func (s *sorter) close() {
	if s.file != nil {
		_ = s.file.Close() // nothing in it is wanted any more
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
}
