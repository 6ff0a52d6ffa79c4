package mgpp

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"
)

// column is numbers that are added one behind the other. Each chunk of them that is full
// is packed, beside what goes on: that took a twentieth of the time of whoever adds them.
type column struct {
	full    []packed
	packing *packing             // behind them; nil: none is full yet
	newest  *[columnChunk]uint32 // behind it; nil: there is none yet
	packer  *packer              // of whoever packs; nil: nobody has
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
		if c.packer == nil {
			c.packer = new(packer)
		}
		go func() { // one at a time
			full.packed = c.packer.pack(full.numbers[:])
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
		n += 4*columnChunk + packedBytes + uint64(cap(p.packed.bits)) + uint64(unsafe.Sizeof(*c.packer))
	}
	return n
}

// packed is numbers as what they are more than the least of them, each in as many bits as the largest needs: any of
// them is found without the others. Where the same come again and again, as in a loop, it is the different ones, and each
// number is which of these it is.
type packed struct {
	least  uint32
	values uint16 // how many different ones there are, if they are kept
	width  uint8  // bits of a number, 0 to 32
	bits   []byte // the different ones, 4 bytes each; the numbers, from the low bit of the first byte on, 8 bytes at least
}

const packedBytes = 32 // of a packed without its bits

// packer packs one list after the other, of columnChunk numbers at most.
type packer struct {
	values [mostValues]uint32     // the different ones of a list, as they come
	which  [columnChunk]uint16    // by number of the list: index in values
	table  [2 * mostValues]uint16 // hash table: index in values + 1, 0: empty
}

const (
	valuesBits = 11
	mostValues = 1 << valuesBits // more different ones are not worth it, in a full chunk: mostDifferent
)

// room returns n bytes, with as many behind them as the allocator has.
func room(n int) []byte { return slices.Grow([]byte(nil), n)[:n] }

func (p *packer) pack(list []uint32) packed {
	least, most := extremes(list)
	out := packed{least: least, width: uint8(bits.Len32(most - least))}
	if out.width == 0 {
		return out
	}
	if n := p.different(list, int(out.width)); n > 0 {
		out.least, out.values, out.width = 0, uint16(n), uint8(bits.Len(uint(n-1)))
		head := 4 * n
		out.bits = room(head + bytesOf(len(list), out.width))
		for i, v := range p.values[:n] {
			binary.LittleEndian.PutUint32(out.bits[4*i:], v)
		}
		putBits(out.bits[head:], p.which[:len(list)], 0, uint(out.width))
		return out
	}
	out.bits = room(bytesOf(len(list), out.width))
	putBits(out.bits, list, least, uint(out.width))
	return out
}

// bytesOf is how many bytes n numbers of so many bits take.
func bytesOf(n int, width uint8) int { return max(8, (n*int(width)+31)/32*4) }

// putBits puts what the numbers are more than the least into so many bits each.
func putBits[T uint16 | uint32](to []byte, list []T, least T, width uint) {
	word, filled := uint64(0), uint(0)
	for _, v := range list {
		word |= uint64(v-least) << (filled & 63) // which it is; so the compiler need not ask
		if filled += width; filled >= 32 {
			binary.LittleEndian.PutUint32(to, uint32(word))
			to, word, filled = to[4:], word>>32, filled-32
		}
	}
	if filled > 0 {
		binary.LittleEndian.PutUint32(to, uint32(word))
	}
}

// different finds the different numbers of a list that takes so many bits a number otherwise, and which each is. 0: to keep them
// would not take an eighth less.
func (p *packer) different(list []uint32, width int) int {
	most := mostDifferent(len(list), width)
	if most == 0 {
		return 0
	}
	clear(p.table[:])
	n, last, is := 0, ^list[0], uint16(0)
	for i, v := range list {
		if v != last {
			last = v
			at := v * 0x9e3779b1 >> (32 - valuesBits - 1)
			for p.table[at] != 0 && p.values[p.table[at]-1] != v {
				at = (at + 1) % uint32(len(p.table))
			}
			if p.table[at] == 0 {
				if n == most || i < soonDifferent && n == soonDifferent*7/8 {
					return 0
				}
				p.values[n] = v
				n++
				p.table[at] = uint16(n)
			}
			is = p.table[at] - 1
		}
		p.which[i] = is
	}
	return n
}

// soonDifferent are the first numbers of a list; if nearly all of them differ, so do the others.
const soonDifferent = 1 << 8

// mostDifferent is how many different numbers n may be, of so many bits, that to keep these takes an eighth less.
func mostDifferent(n, width int) int {
	for w := width - 1; w > 0; w-- {
		// 32 bits each, and w for each number.
		if room := n * (width*7/8 - w) / 32; room > 1<<(w-1) {
			return min(room, 1<<w, mostValues)
		}
	}
	return 0
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
	numbers := p.bits[4*uint(p.values):]
	bit := uint64(i) * uint64(p.width)
	from := min(bit>>3, uint64(len(numbers)-8)) // the last 8 bytes have the last numbers
	v := uint32(binary.LittleEndian.Uint64(numbers[from:]) >> ((bit - from<<3) & 63) & (1<<p.width - 1))
	if p.values > 0 {
		return binary.LittleEndian.Uint32(p.bits[4*v:])
	}
	return p.least + v
}
