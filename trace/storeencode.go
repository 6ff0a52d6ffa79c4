package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Stores are coded against a prediction:
//
//	site    predicted: the one that followed the last site when that was here
//	        last. Otherwise its number is stored
//	address predicted: that of the store before, plus what lay between the two
//	        the last time that this site was here. The difference is zigzagged
//	value   the last one of this site, and the difference is an exclusive or:
//	        it is never longer than the value
//
// A number takes as many bytes as it has, 0 to 8. One byte, the code, has the
// length for address (a) and value (v) and whether the site was missed (m):
// a + 9v + 81m. Values of several words and bases are an own column, in which
// each number follows its length: bases as the zigzag of the difference from
// the site's last, each word after the first as the exclusive or with the one
// before.
//
// Predictions are forgotten at the end of a block, so that each can be read
// alone. They are kept for the low bits of a site's number: two sites with the
// same ones spoil each other's predictions, nothing else.
//
// What decides the speed is how many instructions a store takes. One loop codes those of a
// run, up to one of several words or with a base; no branch in it depends on the data (every
// number is written as 8 bytes, of which the next one overwrites what was too much); and it
// writes to arrays at fixed places, which take no registers and need no checks.

const (
	maxStores = 1 << 16 // stores of a block that is read
	full      = 1 << 15 // of one that is written: the part of a history that a query decodes
	slots     = 1 << 12 // of predictions
	numCodes  = 9 * 9 * 2
)

// predictions is what is known of the sites, by the low bits of their numbers.
type predictions [slots]prediction

type prediction struct {
	offset uint64 // the site's last address minus that of the store before
	value  uint64 // its last value, or the first word of it
	base   uint64 // its last base
	next   uint32 // the site that came after it
}

// storeEncoder collects the stores of a block.
type storeEncoder struct {
	table  *siteTable
	known  predictions
	n      int    // stores
	site   uint32 // the last
	addr   uint64 // the last
	number int    // bytes of a site's number

	// The columns of the block, with room for the last number's 8 bytes, and how long they are.
	codes                   [full]byte // n
	sites                   [4*full + 4]byte
	addrs                   [8*full + 8]byte
	values                  [8*full + 8]byte
	nSites, nAddrs, nValues uint
	extra                   []byte

	touched [1 << pageBits]uint8 // pages, by the low bits of their numbers: 1, else 0
}

func newStoreEncoder(t *siteTable) *storeEncoder {
	return &storeEncoder{table: t, number: siteBytes(len(t.sites))}
}

// room is how many stores the block takes yet.
func (c *storeEncoder) room() int { return full - c.n }

// size is how many bytes the block has, about.
func (c *storeEncoder) size() int { return c.n + int(c.nSites+c.nAddrs+c.nValues) + len(c.extra) }

var (
	errSite = errors.New("a store of no known site")                    // read-only
	errWide = errors.New("a store whose value lies outside of its run") // read-only
)

// add takes stores, at most as many as there is room for. At an error it has taken those
// before the one that it is about, and the block must be ended.
func (c *storeEncoder) add(recs []StoreRec, wide []byte) error {
	for {
		n := c.table.plain(recs)
		c.code(recs[:n])
		if n == len(recs) {
			return nil
		}
		word, err := c.codeMore(&recs[n], wide)
		if err != nil {
			return err
		}
		c.code([]StoreRec{{Site: recs[n].Site, Addr: recs[n].Addr, Value: word}})
		recs = recs[n+1:]
	}
}

// code codes sites, addresses, and values of one word, and marks the pages where stores
// begin.
func (c *storeEncoder) code(recs []StoreRec) {
	addr := c.addr
	nSites, nAddrs, nValues := c.nSites, c.nAddrs, c.nValues
	last := &c.known[c.site%slots]
	for i := range recs {
		r := &recs[i]
		site := r.Site
		wrong := last.next ^ site
		last.next = site
		binary.LittleEndian.PutUint32(c.sites[nSites%(4*full):][:4], site)
		missed := uint32(int32(wrong|-wrong) >> 31) // all ones, or 0
		nSites += uint(uint32(c.number) & missed)

		last = &c.known[site%slots]
		offset := r.Addr - addr
		addr = r.Addr
		c.touched[addr>>pageShift%(1<<pageBits)] = 1
		a := zigzag(offset - last.offset)
		last.offset = offset
		binary.LittleEndian.PutUint64(c.addrs[nAddrs%(8*full):][:8], a)
		aLen := bytesOf(a)
		nAddrs += aLen

		v := r.Value ^ last.value
		last.value = r.Value
		binary.LittleEndian.PutUint64(c.values[nValues%(8*full):][:8], v)
		vLen := bytesOf(v)
		nValues += vLen
		c.codes[uint(c.n+i)%full] = byte(aLen+9*vLen) + byte(missed)&81
	}
	if n := len(recs); n > 0 {
		c.site = recs[n-1].Site
		c.n += n
	}
	c.addr = addr
	c.nSites, c.nAddrs, c.nValues = nSites, nAddrs, nValues
}

// codeMore codes what a store has beyond address and word, and returns the first word of
// its value.
func (c *storeEncoder) codeMore(r *StoreRec, wide []byte) (word uint64, err error) {
	if int(r.Site) >= len(c.table.forms) {
		return 0, fmt.Errorf("%w: %d of %d", errSite, r.Site, len(c.table.forms))
	}
	form := c.table.forms[r.Site]
	c.extra = slices.Grow(c.extra, MaxStoreWidth+2*9)
	extra := c.extra[:cap(c.extra)]
	n := len(c.extra)
	if form&formBase != 0 {
		base := &c.known[r.Site%slots].base
		n += putWord(extra[n:], zigzag(r.Base-*base))
		*base = r.Base
	}
	word = r.Value
	if form&formWide != 0 {
		width := uint64(c.table.sites[r.Site].Width)
		if uint64(len(wide)) < width || r.Value > uint64(len(wide))-width {
			return 0, fmt.Errorf("%w: %d bytes at %d of %d", errWide, width, r.Value, len(wide))
		}
		b := wide[r.Value : r.Value+width]
		word = binary.LittleEndian.Uint64(b)
		before := word
		for b = b[8:]; len(b) >= 8; b = b[8:] {
			w := binary.LittleEndian.Uint64(b)
			n += putWord(extra[n:], w^before)
			before = w
		}
		if len(b) > 0 {
			n += putWord(extra[n:], tail(b))
		}
	}
	c.extra = extra[:n]
	return word, nil
}

// tail is the number whose bytes are b, fewer than 8.
func tail(b []byte) uint64 {
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

// putWord writes the length of a number and its bytes, 9 at most, of which it
// returns how many count.
func putWord(b []byte, w uint64) int {
	_ = b[8]
	n := bytesOf(w)
	b[0] = byte(n)
	binary.LittleEndian.PutUint64(b[1:9], w)
	return 1 + int(n)
}

// bytesOf is how many bytes a number takes: 0 for 0.
func bytesOf(v uint64) uint { return uint(bits.Len64(v)+7) >> 3 }

// appendBlock appends the block's payload to b and begins anew.
func (c *storeEncoder) appendBlock(b []byte) []byte {
	columns := [...][]byte{c.sites[:c.nSites], c.addrs[:c.nAddrs], c.values[:c.nValues], c.extra}
	b = binary.AppendUvarint(b, uint64(c.n))
	b = binary.AppendUvarint(b, uint64(c.number))
	for _, column := range columns {
		b = binary.AppendUvarint(b, uint64(len(column)))
	}
	b = append(b, c.codes[:c.n]...)
	for _, column := range columns {
		b = append(b, column...)
	}
	c.n, c.site, c.addr, c.nSites, c.nAddrs, c.nValues, c.extra = 0, 0, 0, 0, 0, 0, c.extra[:0]
	c.known = predictions{}
	c.number = siteBytes(len(c.table.sites))
	return b
}
