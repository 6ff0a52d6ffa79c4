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
	number map[originKey]int
	all    []origin
	group  []int // of each
	assign func(alloc string, stack []trace.Addr) int
}

type originKey struct {
	alloc string
	stack *trace.Addr // stacks are shared
}

type origin struct {
	alloc string
	stack []trace.Addr
}

func newOrigins(group func(alloc string, stack []trace.Addr) int) *origins {
	return &origins{number: map[originKey]int{{}: 0}, all: []origin{{}}, group: []int{0}, assign: group}
}

func (o *origins) of(n *mgpp.Node) int {
	k := originKey{alloc: n.Alloc}
	if len(n.Stack) > 0 {
		k.stack = &n.Stack[0]
	}
	if n.Global != 0 || n.Tracked {
		k = originKey{}
	}
	i, ok := o.number[k]
	if !ok {
		i = len(o.all)
		o.number[k] = i
		o.all = append(o.all, origin{n.Alloc, n.Stack})
		group := i
		if o.assign != nil {
			group = o.assign(n.Alloc, n.Stack)
		}
		o.group = append(o.group, group)
	}
	return i
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
	if n > uint64(len(b)) {
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

// writeNodes writes all that concerns nodes.
func (b *Builder) writeNodes(d *description, group func(alloc string, stack []trace.Addr) int) error {
	nodes := newTable(b.out, maxCols, nil)
	nodes.extraCol = 4 // deaths
	cover := newSorter(3, dirOf(b.path))
	byGroup := newSorter(2, dirOf(b.path))
	ends := newSorter(2, dirOf(b.path))
	for _, s := range []*sorter{cover, byGroup, ends} { // which all collect at once
		s.most = sortBytes / 3
	}
	defer cover.close()
	defer ends.close()
	defer byGroup.close()
	o, l := newOrigins(group), NewLives(b.hist.Now())
	var resizes []row
	var inGroup []uint64 // how many nodes of each so far
	for n := range b.hist.Nodes() {
		origin := o.of(&n)
		in := o.group[origin]
		d.Groups = max(d.Groups, in+1)
		l.Add(in, &n)
		for in >= len(inGroup) {
			inGroup = append(inGroup, 0)
		}
		inGroup[in]++
		byGroup.add(uint64(in), uint64(n.ID))
		what, size := uint64(origin)<<whatBits, n.Size
		if b.hist.Zeroed(n.ID) {
			what |= bitZeroed
		}
		if n.Global != 0 || n.Tracked {
			what |= bitFixed
		}
		if n.Tracked {
			what |= bitTracked
		}
		if n.Before {
			what |= bitBefore
		}
		own := func(time mgpp.Timestamp, size uint64) {
			eachCover(uint64(n.Start), uint64(n.Start)+size, func(level int, key uint64) {
				d.MaxLevel = max(d.MaxLevel, level)
				cover.add(key, uint64(time), uint64(n.ID))
			})
		}
		times := b.hist.Resizes(n.ID)
		if len(times) > 0 {
			what |= bitResized
			size = b.hist.NodeSize(n.ID, times[0]-1)
			resizes = append(resizes, row{uint64(n.ID), uint64(n.Birth), size})
		}
		death := uint64(n.Death)
		if death == 0 {
			death = alive
		} else {
			ends.add(death, uint64(n.ID))
		}
		if n.Moved != 0 {
			d.Moves++
		}
		special := uint64(n.Moved)
		if n.Global != 0 {
			special = uint64(n.Global)
		}
		nodes.add([]uint64{uint64(n.Birth), uint64(n.ID), uint64(n.Start), n.Size, death, what, special, uint64(in), inGroup[in]})
		own(n.Birth, size)
		for _, t := range times {
			s := b.hist.NodeSize(n.ID, t)
			resizes = append(resizes, row{uint64(n.ID), uint64(t), s})
			own(t, s)
		}
	}
	var err error
	if d.Tables[tabNodes], err = nodes.finish(); err != nil {
		return err
	}
	if err := b.sorted(d, tabCover, cover, nil); err != nil {
		return err
	}
	if err := b.sorted(d, tabEnds, ends, nil); err != nil {
		return err
	}
	if err := b.sorted(d, tabGroups, byGroup, nil); err != nil {
		return err
	}
	if err := b.table(d, tabResizes, 3, resizes, nil); err != nil {
		return err
	}
	records, rows := o.encode()
	if err := b.table(d, tabOrigins, 4, rows, nil); err != nil {
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
