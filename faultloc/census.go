package faultloc

import (
	"encoding/binary"
	"maps"
	"slices"

	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// A program often counts what it has linked, and asks at times whether the number is right. Where it ends itself by such a condition,
// the number's last store may be right, and the one that is missing lies long before. The run itself says what the number counts: the
// blocks of one size to which pointers lead from where it lies, where these were as many after each store of it, up to one.

// Limits of what is gone through.
const (
	maxRead    = 1 << 20 // words of memory, in all
	maxTakenIn = 1 << 18 // operations
	maxOwned   = 1 << 12 // blocks that are reached
	maxLooked  = 1 << 9  // bytes of a block that may hold pointers
	minCounted = 6       // stores after which the number was right
	maxSizes   = 4       // that blocks have of which a number is the count
)

// census is a number that a condition asked for, beside the blocks that are reached from where it lies.
type census struct {
	in      *Input
	addr    trace.Addr
	size    int
	owner   mgpp.Node
	left    int                         // words that may still be read
	owned   map[mgpp.NodeID]bool        // what is reached, the owner too
	blocks  map[uint64]int64            // how many of the others have which size
	births  map[uint64][]mgpp.Timestamp // of blocks of a size
	moments []moment
}

// moment is what there was after an operation.
type moment struct {
	at     mgpp.Timestamp
	stores bool // it stored the number
	number int64
	blocks map[uint64]int64
}

// change is one of the number, or of how many blocks there are.
type change struct {
	at     mgpp.Timestamp
	stores bool  // it stored the number
	by     int64 // what that, or how many blocks there are, grew by
	ahead  int64 // by how much the number is larger than that of the blocks after it
}

// tallied adds the change up to which a number that the condition asked for was that of blocks.
func tallied(in Input, suspects []Suspect, x Read) []Suspect {
	if !in.looksFor(Tallied) || x.Size > 8 || x.Before > maxTakenIn {
		return suspects
	}
	v := in.Model.View(x.Before)
	id, ok := v.NodeAt(x.Addr)
	if !ok {
		return suspects
	}
	c := census{in: &in, addr: x.Addr, size: x.Size, left: maxRead, births: map[uint64][]mgpp.Timestamp{}}
	if c.owner, ok = v.Node(id); !ok || !c.take(x.Before) {
		return suspects
	}
	for _, size := range c.counted() {
		changes := c.changes(size)
		z, ok := resting(changes, c.births[size])
		if !ok {
			continue
		}
		broke, often, falls := in.broke(changes, z)
		if broke == nil || !in.attributed(broke.at) {
			continue
		}
		e := Evidence{Kind: Tallied, Bytes: size, Of: often, But: -z, Falls: falls}
		if !broke.stores {
			e.Moved = broke.by
		}
		return charge(in, suspects, broke.at, e)
	}
	return suspects
}

// take counts the blocks at each operation up to a time that may have changed them or the number. It reports false where that can not be
// done, or is too much.
func (c *census) take(end mgpp.Timestamp) bool {
	from := c.first(end)
	if from == 0 {
		return false
	}
	for at := from; at <= end; at++ {
		stores := c.stores(at)
		if !stores && !c.concerns(at) {
			continue
		}
		n, known := c.number(at)
		if !known || !c.reach(at) {
			return false
		}
		c.moments = append(c.moments, moment{at: at, stores: stores, number: n, blocks: c.blocks})
	}
	return true
}

// counted are the sizes of blocks that the number may count.
func (c *census) counted() []uint64 {
	sizes := slices.Sorted(maps.Keys(c.moments[len(c.moments)/2].blocks))
	return sizes[:min(len(sizes), maxSizes)]
}

// changes are those of the number, and of how many blocks of a size there are.
func (c *census) changes(size uint64) (out []change) {
	for i, m := range c.moments {
		x := change{at: m.at, stores: m.stores, ahead: m.number - m.blocks[size]}
		if i > 0 {
			x.by = m.blocks[size] - c.moments[i-1].blocks[size]
			if x.stores {
				x.by = m.number - c.moments[i-1].number
			}
		}
		if x.stores || x.by != 0 {
			out = append(out, x)
		}
	}
	return out
}

// first is the first store of the number in its block's life.
func (c *census) first(end mgpp.Timestamp) (at mgpp.Timestamp) {
	for before := end; ; before = at - 1 {
		w := c.in.History.LastWrite(c.addr, uint64(c.size), before)
		if w == 0 || w <= c.owner.Birth {
			return at
		}
		at = w
	}
}

// stores: an operation stored the number.
func (c *census) stores(at mgpp.Timestamp) bool {
	op := c.in.History.Op(at)
	return c.in.wrote(at) && op.Addr < c.addr+trace.Addr(c.size) && c.addr < op.Addr+trace.Addr(op.Size)
}

// concerns: an operation may have changed which blocks are reached.
func (c *census) concerns(at mgpp.Timestamp) bool {
	op := c.in.History.Op(at)
	switch op.Kind {
	case mgpp.OpBirth:
		c.births[op.Size] = append(c.births[op.Size], at)
		return false // nothing leads to it yet
	case mgpp.OpStore, mgpp.OpBulk, mgpp.OpUnread:
		return op.Size >= 8 && c.owned[op.Node]
	}
	return c.owned[op.Node]
}

// number is what the number was at a time.
func (c *census) number(at mgpp.Timestamp) (n int64, known bool) {
	v, known := mgpp.Number(c.in.Model.View(at), c.addr, c.size)
	return signed(v, c.size), known
}

// reach finds the blocks that are reached from the number's, which is none of them. It reports false where they are too many.
func (c *census) reach(at mgpp.Timestamp) bool {
	v := c.in.Model.View(at)
	c.owned, c.blocks = map[mgpp.NodeID]bool{c.owner.ID: true}, map[uint64]int64{}
	queue := []mgpp.NodeID{c.owner.ID}
	for len(queue) > 0 {
		n, ok := v.Node(queue[0])
		queue = queue[1:]
		if !ok {
			continue
		}
		b := mgpp.Bytes{Data: make([]byte, min(n.Size, maxLooked)), Written: make([]bool, min(n.Size, maxLooked))}
		v.Read(n.Start, &b)
		for i := 0; i+8 <= len(b.Data); i += 8 {
			c.left--
			to := trace.Addr(binary.LittleEndian.Uint64(b.Data[i:]))
			if !b.Written[i] || !b.Written[i+7] || to == 0 || to >= trace.UserEnd {
				continue
			}
			id, ok := v.NodeAt(to)
			if !ok || c.owned[id] || v.Target(n.Start+trace.Addr(i), coded.Plain).State != mgpp.Points { // the block lies there since
				continue
			}
			if m, ok := v.Node(id); ok {
				c.blocks[m.Size]++
			}
			c.owned[id] = true
			queue = append(queue, id)
		}
		if c.left < 0 || len(c.owned) > maxOwned {
			return false
		}
	}
	return true
}
