package mgpp

// A cell's versions are a chain: the head names the newest, and every version
// the one before it. The versions of a program are nearly all plain stores,
// which write one cell each, so a version is the timestamp of its operation and
// its link lies in a column beside the other columns of operations: some two bytes
// a change, written once, in order. Cells that an operation writes, and to which the same
// came before, share a version: where nothing was written yet, a memset has one for all of its words.
// An operation that writes cells with different pasts links those behind the first through `extras`.
//
// A version, and a head, is one uint32:
//
//	0            none
//	0ttt…        the operation at time t
//	10xx…        extras[x]
//	110x…        (head) a cell split in two (cells.go): index in memory.splits
//	111x…        (head) a long chain: index in chains.longs
//
// Invariant: along a chain times strictly descend.
//
// A chain that becomes long gets a record that keeps every markEvery-th of its
// further versions in an array, where a time is looked up by binary search; at
// most markEvery links lead on from there. What becomes long is decided by lot,
// one version in 64, so that pushing never has to look at a chain: before the
// first mark there are 64 versions on average.
type head uint32

const (
	extraBit = 1 << 31
	splitTag = 0b110 << 29
	longTag  = 0b111 << 29
	tagMask  = 0b111 << 29

	maxTime  = extraBit - 1
	maxExtra = 1<<30 - 1
	maxSplit = 1<<29 - 1
	maxLong  = 1<<29 - 1

	markEvery = 8
	longFrom  = 4 // versions that a chain has at least when it is made long
	longOdds  = 6 // one version in 2^longOdds makes it long
)

func (h head) split() bool { return h&tagMask == splitTag }

// long is a chain with an index: marks[i] is version number i·markEvery, counted
// from 0 at the one that made the chain long, first. There are none before the
// second.
type long struct {
	newest, first uint32
	count         uint32 // versions since first
	marks         []uint32
}

const longBytes = 40

// chains holds the links of all cells. A version that a link leads to is kept as how near
// it is.
type chains struct {
	links column // by time: the version before, in the first cell that the operation wrote
	// The newest operation that has a version, with the versions before its first one and before its last one.
	linked struct{ t, first, prev, version uint32 }

	// Versions of cells with another past than the first that their operations wrote.
	extras     uint32 // how many there are
	extraTimes column
	extraLinks column
	extrasAt   []uint32 // how many there were when each chunk of links began

	longs slab[long]
}

// near codes a version to which a link leads from time t: 0 for none, twice the operations
// between, or twice the extras between it and a given one, with its sign, and 1.
func near(v, t, extra uint32) uint32 {
	switch {
	case v == 0:
		return 0
	case v&extraBit != 0:
		d := int32(v&^extraBit - extra)
		return uint32(d<<1^d>>31)<<1 | 1
	}
	return (t - v) << 1
}

// far is what near has coded.
func far(n, t, extra uint32) uint32 {
	switch {
	case n == 0:
		return 0
	case n&1 != 0:
		u := n >> 1
		return extraBit | (extra + (u>>1 ^ -(u & 1)))
	}
	return t - n>>1
}

func (c *chains) bytes() uint64 {
	n := c.links.bytes() + c.extraTimes.bytes() + c.extraLinks.bytes() + uint64(cap(c.extrasAt))*4
	for i := range c.longs.len() {
		n += longBytes + uint64(cap(c.longs.at(i).marks))*4
	}
	return n
}

// timeOf returns the time of a version.
func (c *chains) timeOf(v uint32) uint32 {
	if v&extraBit != 0 {
		return c.extraTimes.at(v &^ extraBit)
	}
	return v
}

// prev returns the version before v, 0 if v is the oldest.
func (c *chains) prev(v uint32) uint32 {
	if v&extraBit != 0 {
		x := v &^ extraBit
		return far(c.extraLinks.at(x), c.extraTimes.at(x), x)
	}
	return far(c.links.at(v), v, c.extrasAt[v/columnChunk])
}

// push makes the operation at t the newest version of the cell, which is not
// split and was last written before t.
func (c *chains) push(h *head, t uint32) {
	if *h >= longTag {
		c.pushLong(c.longs.at(int(*h&^tagMask)), t)
		return
	}
	prev := uint32(*h)
	v := c.link(t, prev)
	*h = head(v)
	// The product spreads times that come in steps.
	if prev != 0 && v*0x9e3779b1>>(32-longOdds) == 0 {
		c.lengthen(h)
	}
}

// link makes a version at time t whose predecessor is prev.
func (c *chains) link(t, prev uint32) uint32 {
	l := &c.linked
	if t == l.t {
		switch prev {
		case l.first:
			return t
		case l.prev:
			return l.version
		}
		x := c.extras
		c.extraTimes.set(x, t)
		c.extraLinks.set(x, near(prev, t, x))
		c.extras++
		l.prev, l.version = prev, extraBit|x
		return l.version
	}
	l.t, l.first, l.prev, l.version = t, prev, prev, t
	for int(t/columnChunk) >= len(c.extrasAt) {
		c.extrasAt = append(c.extrasAt, c.extras)
	}
	c.links.set(t, near(prev, t, c.extrasAt[t/columnChunk]))
	return t
}

func (c *chains) pushLong(l *long, t uint32) {
	l.newest = c.link(t, l.newest)
	l.count++
	if l.count%markEvery == 0 {
		if l.marks == nil {
			l.marks = append(make([]uint32, 0, 4), l.first)
		}
		l.marks = append(l.marks, l.newest)
	}
}

// lengthen makes a chain long unless it is very short.
func (c *chains) lengthen(h *head) {
	v := uint32(*h)
	for range longFrom - 1 {
		if v = c.prev(v); v == 0 {
			return
		}
	}
	v = uint32(*h)
	*h = longTag | head(c.longs.add(long{newest: v, first: v}))
}

// find returns the time of the newest version at or before t; 0 if there is
// none. The head is not split.
func (c *chains) find(h head, t uint32) uint32 {
	if uint32(h) <= t { // one operation, or none: now, the commonest question
		return uint32(h)
	}
	_, older := c.around(h, t)
	return older
}

// findNext returns the time of the oldest version after t; 0 if there is none.
// The head is not split.
func (c *chains) findNext(h head, t uint32) uint32 {
	newer, _ := c.around(h, t)
	return newer
}

// around returns the times of the oldest version after t and of the newest one
// at or before it; 0 where there is none.
func (c *chains) around(h head, t uint32) (newer, older uint32) {
	v := uint32(h)
	if h >= longTag {
		v = c.longs.at(int(h&^tagMask)).from(c, t)
	}
	for v != 0 {
		at := c.timeOf(v)
		if at <= t {
			return newer, at
		}
		newer, v = at, c.prev(v)
	}
	return newer, 0
}

// after appends the times of a list's versions after t, newest first. The head is not split.
func (c *chains) after(times []uint32, h head, t uint32) []uint32 {
	v := uint32(h)
	if h >= longTag {
		v = c.longs.at(int(h &^ tagMask)).newest
	}
	for ; v != 0; v = c.prev(v) {
		at := c.timeOf(v)
		if at <= t {
			break
		}
		times = append(times, at)
	}
	return times
}

// from returns a version from which t is at most markEvery links away, unless
// it is before the first: the oldest mark after t, else the newest version.
func (l *long) from(c *chains, t uint32) uint32 {
	switch {
	case c.timeOf(l.newest) <= t:
		return l.newest
	case c.timeOf(l.first) > t:
		return l.first
	}
	lo, hi := 0, len(l.marks)
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); c.timeOf(l.marks[m]) <= t {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(l.marks) {
		return l.marks[lo]
	}
	return l.newest
}
