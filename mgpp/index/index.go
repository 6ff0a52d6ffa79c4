package index

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

const (
	// recentNodes is how many are by where they lie.
	recentNodes = 1 << 8
)

// Index answers about a trace as mgpp.History does. A failure of reading gives
// empty answers, and is told by Err: ask it when all is answered. It is used by one
// goroutine at a time. The nodes of its views do not say where they come from.
type Index struct {
	f       *os.File
	r       *trace.Reader
	d       *description
	tables  map[string]*table
	chunks  chunks
	origins map[int]origin    // that were read
	parts   map[int]*part     // chunks that were decoded
	loaded  []int             // their numbers, oldest first
	known   knownNodes        // that were found by their numbers
	recent  [recentNodes]node // and by an address in 16 bytes: lasting ones
	latest  node              // that was found by an address or asked for, a lasting one
	times   []uint64          // room for those of the bytes that are read
	longs   []longWrite       // by time
	long    longData          // of the one that was asked for last
	err     error

	// CallSite changes an event of the trace before it becomes an operation; nil: it
	// does not.
	CallSite func(*trace.Event)
}

// Open opens the index of a trace. The error is ErrStale if it is of another one, or
// of an earlier state of it; ErrCorrupt if it is damaged: it can be built again then.
func Open(path string, r *trace.Reader) (*Index, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	x, err := open(f, r)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return x, nil
}

// Directory returns what trace.OpenWith opens the trace faster with; nil if there is
// no index at path, or it does not know.
func Directory(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b, err := directory(f, info.Size())
	if err != nil {
		return nil
	}
	return b
}

func open(f *os.File, r *trace.Reader) (*Index, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	d, err := describe(f, info.Size())
	if err != nil {
		return nil, err
	}
	if d.Of != r.Fingerprint() {
		return nil, ErrStale
	}
	if d.Nodes < 0 || d.Now > maxNow || d.MaxLevel < 0 || d.MaxLevel >= levels || d.Groups < 0 || d.Groups > d.Nodes+1 || slices.ContainsFunc(d.CallsOf, func(n int) bool { return n < 0 }) {
		return nil, ErrCorrupt
	}
	x := &Index{f: f, r: r, d: d, tables: map[string]*table{}, origins: map[int]origin{}, parts: map[int]*part{}}
	for name, m := range d.Tables {
		if m.Cols < 2 || m.Cols > maxCols || m.Blocks < 0 || m.Dir < 0 || m.Blocks > 1<<26 || m.Rows > uint64(m.Blocks)*blockRows {
			return nil, ErrCorrupt
		}
		x.tables[name] = &table{tableMeta: m, f: f}
	}
	if err := x.takeChunks(r.ChunkCount()); err != nil {
		return nil, err
	}
	x.scan(tabLongs, 0, func(r *row) bool {
		x.longs = append(x.longs, longWrite{r[0], r[1], r[2]})
		return true
	})
	if x.err != nil {
		return nil, errors.Join(ErrCorrupt, x.err)
	}
	// Nodes have the stacks that matter. Only now: of an index that is no good another
	// is made, with the stacks.
	r.PassStacks(x.names)
	return x, nil
}

// names reads the names of the trace's events.
func (x *Index) names() (out []string) {
	b, err := x.d.Names.read(x.f)
	if x.fail(err) {
		return nil
	}
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			x.fail(ErrCorrupt)
			return nil
		}
		out = append(out, string(b[k:][:n]))
		b = b[k+int(n):]
	}
	return out
}

// Close closes the file.
func (x *Index) Close() error {
	return x.f.Close()
}

// Err is what went wrong so far.
func (x *Index) Err() error { return x.err }

func (x *Index) fail(err error) bool {
	if err != nil && x.err == nil {
		x.err = err
	}
	return err != nil
}

// table returns one; a missing one is empty.
func (x *Index) table(name string) *table {
	t := x.tables[name]
	if t == nil {
		x.fail(fmt.Errorf("%w: no table of %s", ErrCorrupt, name))
		t = &table{tableMeta: tableMeta{Cols: 2}, f: x.f}
		x.tables[name] = t
	}
	return t
}

func (x *Index) search(name string, a, b uint64) uint64 {
	i, err := x.table(name).search(a, b)
	x.fail(err)
	return i
}

func (x *Index) rowAt(name string, i uint64) (row, bool) {
	if i >= x.table(name).Rows {
		return row{}, false
	}
	r, err := x.table(name).at(i)
	return r, !x.fail(err)
}

// eachBefore gives the rows below (a, b) that have the number a too, the last first, until
// f returns false.
func (x *Index) eachBefore(name string, a, b uint64, f func(row) bool) {
	t := x.table(name)
	r, i, ok, err := t.before(a, b)
	for !x.fail(err) && ok && f(r) && i > 0 {
		i--
		r, err = t.at(i)
		ok = r[0] == a
	}
}

func (x *Index) scan(name string, from uint64, f func(*row) bool) {
	x.fail(x.table(name).scan(from, f))
}

// Now returns the timestamp of the newest operation.
func (x *Index) Now() mgpp.Timestamp { return x.d.Now }

// Kinds is how many events of each kind the trace has, by trace.Kind.
func (x *Index) Kinds() []uint64 { return x.d.Kinds }

// Crash is when the program crashed.
func (x *Index) Crash() (mgpp.Timestamp, bool) {
	if x.d.Crash == nil {
		return 0, false
	}
	return *x.d.Crash, true
}

// Notes reads what Builder.Finish was given as Notes.Any.
func (x *Index) Notes(v any) error {
	if len(x.d.Notes) == 0 {
		return nil
	}
	return json.Unmarshal(x.d.Notes, v)
}

// Calls are the outermost calls of a function, by its FuncID - 1.
type Calls struct {
	x     *Index
	first uint64
	n     int
}

// CallsOf returns those of a function.
func (x *Index) CallsOf(fn int) Calls {
	if fn < 0 || fn >= len(x.d.CallsOf) {
		return Calls{x: x}
	}
	c := Calls{x: x, n: x.d.CallsOf[fn]}
	for _, n := range x.d.CallsOf[:fn] {
		c.first += uint64(n)
	}
	return c
}

// Len is how many there are.
func (c Calls) Len() int { return c.n }

// Call returns one of them, from 0.
func (c Calls) Call(i int) (from, to mgpp.Timestamp, open bool) {
	r, ok := c.x.rowAt(tabCalls, c.first+uint64(i))
	if !ok || r[3] == 0 {
		return mgpp.Timestamp(r[2]), 0, true
	}
	return mgpp.Timestamp(r[2]), mgpp.Timestamp(r[3] - 1), false
}

// Statements gives each program counter that made operations, with how many.
func (x *Index) Statements() iter.Seq2[trace.Addr, uint64] {
	return func(yield func(trace.Addr, uint64) bool) {
		x.scan(tabTotals, 0, func(r *row) bool { return yield(trace.Addr(r[0]), r[2]) })
	}
}

// Populations counts the nodes of each group.
func (x *Index) Populations() []Population {
	b, err := x.d.Lives.read(x.f)
	if x.fail(err) {
		return nil
	}
	out, err := decodeLives(b)
	x.fail(err)
	return out
}

var _ io.Closer = (*Index)(nil)
