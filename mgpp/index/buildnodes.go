package index

import (
	"encoding/binary"
	"hash/crc32"
	"path/filepath"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

func dirOf(path string) string { return filepath.Dir(path) }

// origins numbers where nodes come from, 0: unknown.
type origins struct {
	number []int // by mgpp.History.Origin; 0: none yet
	all    []origin
}

type origin struct {
	alloc string
	stack []trace.Addr
}

func newOrigins() origins {
	return origins{all: []origin{{}}}
}

// of numbers that of a node, which has the number from in the history.
func (o *origins) of(n *mgpp.Node, from int) int {
	if n.Global != 0 || n.Tracked || from == 0 {
		return 0
	}
	if k := from + 1 - len(o.number); k > 0 {
		o.number = append(o.number, make([]int, k)...)
	}
	i := &o.number[from]
	if *i == 0 {
		*i = len(o.all)
		o.all = append(o.all, origin{n.Alloc, n.Stack})
	}
	return *i
}

// groups gives origins their groups, in the order in which they are asked for.
type groups struct {
	of     []int // of each origin; -1: not asked for yet
	count  int   // that there are, the first among them
	assign func(alloc string, stack []trace.Addr) int
}

func newGroups(o *origins, assign func(alloc string, stack []trace.Addr) int) *groups {
	g := &groups{of: make([]int, len(o.all)), count: 1, assign: assign}
	for i := range g.of[1:] {
		g.of[1+i] = -1
	}
	return g
}

func (g *groups) find(i int, o *origin) int {
	if g.of[i] < 0 {
		g.of[i] = g.count
		if g.assign != nil {
			g.of[i] = g.assign(o.alloc, o.stack)
		}
		g.count = max(g.count, g.of[i]+1)
	}
	return g.of[i]
}

// encode codes the list: records, and for each a row that says where it is.
func (o *origins) encode() (b []byte, rows []row) {
	for i, x := range o.all {
		from := len(b)
		b = append(binary.AppendUvarint(b, uint64(len(x.alloc))), x.alloc...)
		b = binary.AppendUvarint(b, uint64(len(x.stack)))
		prev := trace.Addr(0)
		for _, a := range x.stack {
			d := uint64(a - prev)
			b = binary.AppendUvarint(b, d<<1^uint64(int64(d)>>63))
			prev = a
		}
		rows = append(rows, row{uint64(i), uint64(from), uint64(len(b) - from), uint64(crc32.Checksum(b[from:], castagnoli))})
	}
	return b, rows
}

func decodeOrigin(b []byte) (o origin, err error) {
	k, n := binary.Uvarint(b)
	if n <= 0 || k > uint64(len(b)-n) {
		return o, ErrCorrupt
	}
	o.alloc = string(b[n:][:k])
	b = b[n+int(k):]
	k, n = binary.Uvarint(b)
	if n <= 0 || k > uint64(len(b)) {
		return o, ErrCorrupt
	}
	b = b[n:]
	if k > 0 {
		o.stack = make([]trace.Addr, k)
	}
	prev := uint64(0)
	for j := range o.stack {
		u, n := binary.Uvarint(b)
		if n <= 0 {
			return o, ErrCorrupt
		}
		b = b[n:]
		prev += u>>1 ^ -(u & 1)
		o.stack[j] = trace.Addr(prev)
	}
	return o, nil
}

// Lives counts, for each group of nodes, how many live at a few times.
type Lives struct {
	now   mgpp.Timestamp
	total []Population
}

// NewLives counts in a history that ends at a time.
func NewLives(now mgpp.Timestamp) *Lives { return &Lives{now: now} }

// Population is the nodes of a group.
type Population struct {
	Count uint64 // that there ever were
	Bytes uint64 // of them all, at last
	// Live and LiveBytes are what lived at the end of each part of the history, which
	// is divided into parts of equal length.
	Live      [LifeParts]int64
	LiveBytes [LifeParts]int64
}

// LifeParts is how many parts that are.
const LifeParts = 16

// part returns the first part at whose end what happens at t has happened.
func (l *Lives) part(t mgpp.Timestamp) int {
	if l.now == 0 {
		return 0
	}
	return min(int((uint64(max(t, 1))-1)*LifeParts/uint64(l.now)), LifeParts-1)
}

// Add counts a node.
func (l *Lives) Add(group int, n *mgpp.Node) {
	for group >= len(l.total) {
		l.total = append(l.total, Population{})
	}
	p := &l.total[group]
	p.Count++
	p.Bytes += n.Size
	from := l.part(n.Birth)
	p.Live[from]++
	p.LiveBytes[from] += int64(n.Size)
	if n.Death != 0 {
		to := l.part(n.Death)
		p.Live[to]--
		p.LiveBytes[to] -= int64(n.Size)
	}
}

// Populations returns the counts, by group. It is called once, when all are counted.
func (l *Lives) Populations() []Population {
	for i := range l.total {
		p := &l.total[i]
		for k := 1; k < LifeParts; k++ {
			p.Live[k] += p.Live[k-1]
			p.LiveBytes[k] += p.LiveBytes[k-1]
		}
	}
	return l.total
}

func encodeLives(list []Population) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)))
	for i := range list {
		p := &list[i]
		b = binary.AppendUvarint(binary.AppendUvarint(b, p.Count), p.Bytes)
		for k := range LifeParts {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.Live[k])), uint64(p.LiveBytes[k]))
		}
	}
	return b
}

func decodeLives(b []byte) ([]Population, error) {
	bad := false
	number := func() uint64 {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			bad = true
			return 0
		}
		b = b[k:]
		return v
	}
	n := number()
	if n > uint64(len(b))/(2+2*LifeParts) {
		return nil, ErrCorrupt
	}
	out := make([]Population, n)
	for i := range out {
		out[i].Count, out[i].Bytes = number(), number()
		for k := range LifeParts {
			out[i].Live[k], out[i].LiveBytes[k] = int64(number()), int64(number())
		}
	}
	if bad || len(b) > 0 {
		return nil, ErrCorrupt
	}
	return out, nil
}

// forgetFrom is from how many nodes on those are let go of that are not needed any more.
const forgetFrom = 1 << 18

// pageNodes is how many nodes are as much work as a page of memory, when it is found out
// which are needed.
const pageNodes = 16

// found is what has been taken down of nodes.
type found struct {
	origins
	nodes, cover, ends, resizes *sorter
	maxLevel                    int
	moves                       int
	limit                       int // of nodes in memory
}

func newFound(dir string) found {
	return found{origins: newOrigins(), limit: forgetFrom, nodes: newSorter(7, dir), cover: newSorter(7, dir), ends: newSorter(2, dir), resizes: newSorter(3, dir)}
}

func (f *found) sorters() [4]*sorter { return [...]*sorter{f.nodes, f.cover, f.ends, f.resizes} }

// forget takes down the nodes that are not needed any more, and lets go of them.
func (b *Builder) forget() {
	if b.hist.Remembered() < b.found.limit {
		return
	}
	b.hist.Forget(func(id mgpp.NodeID) { n := b.hist.Node(id); b.node(&n) })
	b.found.limit = max(forgetFrom, 2*b.hist.Remembered(), pageNodes*b.hist.Stats().Pages)
}

// node takes down a node, to which nothing will happen any more.
func (b *Builder) node(n *mgpp.Node) {
	f := &b.found
	what := uint64(0)
	for _, x := range [...]struct {
		is  bool
		bit uint64
	}{{b.hist.Zeroed(n.ID), bitZeroed}, {n.Global != 0 || n.Tracked, bitFixed}, {n.Tracked, bitTracked}, {n.Before, bitBefore}, {n.Moved != 0, bitMoved}} {
		if x.is {
			what |= x.bit
		}
	}
	death := uint64(n.Death)
	if death == 0 {
		death = alive
	} else {
		f.ends.add(death, uint64(n.ID))
	}
	origin := uint64(f.origins.of(n, b.hist.Origin(n.ID))) << whatBits
	own := func(time mgpp.Timestamp, size uint64) {
		eachCover(uint64(n.Start), uint64(n.Start)+size, func(level int, key uint64) {
			f.maxLevel = max(f.maxLevel, level)
			f.cover.add(key, uint64(time), uint64(n.ID), firstGranule(key)-uint64(n.Start), n.Size, death, origin|what)
		})
	}
	size := n.Size
	if list := b.hist.Resizes(n.ID); len(list) > 0 {
		what |= bitResized
		size = list[0].Was
		f.resizes.add(uint64(n.ID), uint64(n.Birth), size)
		for _, r := range list {
			f.resizes.add(uint64(n.ID), uint64(r.Time), r.Size)
			own(r.Time, r.Size)
		}
	}
	own(n.Birth, size)
	special := uint64(n.Moved)
	if n.Moved != 0 {
		f.moves++
	}
	if n.Global != 0 {
		special = uint64(n.Global)
	}
	f.nodes.add(uint64(n.Birth), uint64(n.ID), uint64(n.Start), n.Size, death, origin|what, special)
}

// writeNodes writes all that concerns nodes.
func (b *Builder) writeNodes(d *description, assign func(alloc string, stack []trace.Addr) int) error {
	f := &b.found
	for n := range b.hist.Nodes() {
		b.node(&n)
	}
	byGroup := newSorter(2, dirOf(b.path))
	defer byGroup.close()
	g, l := newGroups(&f.origins, assign), NewLives(b.hist.Now())
	var inGroup []uint64 // how many nodes of each so far
	nodes := newTable(b.out, maxCols)
	nodes.mostCol = 4 // deaths
	err := f.nodes.finish(func(found []uint64) {
		var r row
		copy(r[:], found)
		i := int(r[5] >> whatBits)
		in := g.find(i, &f.all[i])
		for in >= len(inGroup) {
			inGroup = append(inGroup, 0)
		}
		inGroup[in]++
		r[7], r[8] = uint64(in), inGroup[in]
		nodes.add(r[:])
		byGroup.add(uint64(in), r[1])
		n := mgpp.Node{Size: r[3], Birth: mgpp.Timestamp(r[0])}
		if r[4] != alive {
			n.Death = mgpp.Timestamp(r[4])
		}
		l.Add(in, &n)
	})
	if err != nil {
		return err
	}
	d.Overlap = b.hist.Overlap()
	d.MaxLevel, d.Moves, d.Groups = f.maxLevel, f.moves, g.count
	if d.Tables[tabNodes], err = nodes.finish(); err != nil {
		return err
	}
	for _, t := range []struct {
		name string
		rows *sorter
	}{{tabEnds, f.ends}, {tabGroups, byGroup}, {tabResizes, f.resizes}} {
		if err := b.sorted(d, t.name, t.rows); err != nil {
			return err
		}
	}
	cover := newTable(b.out, f.cover.cols)
	err = f.cover.finish(func(r []uint64) {
		r[6] = uint64(g.of[r[6]>>whatBits])<<whatBits | r[6]&whatMask
		cover.add(r)
	})
	if err != nil {
		return err
	}
	if d.Tables[tabCover], err = cover.finish(); err != nil {
		return err
	}
	records, rows := f.origins.encode()
	if err := b.table(d, tabOrigins, 4, rows); err != nil {
		return err
	}
	if d.Origins, err = b.out.blob(records); err != nil {
		return err
	}
	d.Lives, err = b.out.blob(encodeLives(l.Populations()))
	return err
}

// alive is the death of a node that lives at the end.
const alive = 1 << 32
