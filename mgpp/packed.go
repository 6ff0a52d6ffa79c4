package mgpp

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// column is numbers that are added one behind the other. Each chunk of them that is full
// is packed, beside what goes on: that took a twentieth of the time of whoever adds them.
type column struct {
	full    []packed
	packing *packing             // behind them; nil: none is full yet
	newest  *[columnChunk]uint32 // behind it; nil: there is none yet
	end     uint32               // of it: the first number that it has no room for
}

const columnChunk = 1 << 12

// packing is a chunk that is being packed, or has been.
type packing struct {
	numbers *[columnChunk]uint32 // which nobody changes
	packed  packed
	done    chan struct{} // closed when packed is there
}

// set sets number i, which is behind all that have been set. Those in between are 0.
func (c *column) set(i, v uint32) {
	if i >= c.end {
		c.turn(i)
	}
	c.newest[i%columnChunk] = v
}

// turn packs what is full before the chunk of number i.
func (c *column) turn(i uint32) {
	if c.newest == nil {
		c.newest = new([columnChunk]uint32)
		c.end = columnChunk
	}
	for ; i >= c.end; c.end += columnChunk {
		full := &packing{numbers: c.newest, done: make(chan struct{})}
		if before := c.packing; before != nil {
			<-before.done
			c.full, c.newest = append(c.full, before.packed), before.numbers
		} else {
			c.newest = new([columnChunk]uint32)
		}
		c.packing = full
		go func() {
			full.packed = pack(full.numbers[:])
			close(full.done)
		}()
		clear(c.newest[:])
	}
}

func (c *column) at(i uint32) uint32 {
	switch k := int(i / columnChunk); {
	case k < len(c.full):
		return c.full[k].at(i % columnChunk)
	case k == len(c.full) && c.packing != nil:
		return c.packing.numbers[i%columnChunk]
	}
	return c.newest[i%columnChunk]
}

func (c *column) bytes() uint64 {
	n := uint64(cap(c.full)) * packedBytes
	if c.newest != nil {
		n += 4 * columnChunk
	}
	for i := range c.full {
		n += uint64(cap(c.full[i].bits))
	}
	if p := c.packing; p != nil {
		<-p.done
		n += 4*columnChunk + packedBytes + uint64(cap(p.packed.bits))
	}
	return n
}

// packed is numbers as what they are more than the least of them, each in as
// many bits as the largest needs: any of them is found without the others.
type packed struct {
	least uint32
	width uint8  // bits of a number, 0 to 32
	bits  []byte // the numbers, from the low bit of the first byte on, 8 bytes at least
}

const packedBytes = 32 // of a packed without its bits

func pack(list []uint32) packed {
	least, most := extremes(list)
	p := packed{least: least, width: uint8(bits.Len32(most - least))}
	if p.width == 0 {
		return p
	}
	// As many bytes as the numbers take: sizes that the allocator has, most often.
	n := max(8, (len(list)*int(p.width)+31)/32*4)
	p.bits = slices.Grow([]byte(nil), n)[:n]
	out, word, filled := p.bits, uint64(0), uint(0)
	for _, v := range list {
		word |= uint64(v-least) << (filled & 63) // which it is; so the compiler need not ask
		if filled += uint(p.width); filled >= 32 {
			binary.LittleEndian.PutUint32(out, uint32(word))
			out, word, filled = out[4:], word>>32, filled-32
		}
	}
	if filled > 0 {
		binary.LittleEndian.PutUint32(out, uint32(word))
	}
	return p
}

// extremes returns the least and the largest of the numbers, of which there is one at least. Two of each are looked
// for side by side: each step waits for the one before.
func extremes(list []uint32) (least, most uint32) {
	least, most = list[0], list[0]
	if len(list)%2 != 0 {
		list = list[1:]
	}
	least2, most2 := least, most
	for ; len(list) >= 2; list = list[2:] {
		v, w := list[0], list[1]
		least, most = min(least, v), max(most, v)
		least2, most2 = min(least2, w), max(most2, w)
	}
	return min(least, least2), max(most, most2)
}

func (p *packed) at(i uint32) uint32 {
	if p.width == 0 {
		return p.least
	}
	bit := uint64(i) * uint64(p.width)
	from := min(bit>>3, uint64(len(p.bits)-8)) // the last 8 bytes have the last numbers
	return p.least + uint32(binary.LittleEndian.Uint64(p.bits[from:])>>((bit-from<<3)&63)&(1<<p.width-1))
}
