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
// What decides the speed is that the loops have no branch that depends on the
// data (every number is written as 8 bytes, of which the next one overwrites
// what was too much) and few enough variables for the registers. So stores are
// collected in columns, whatever runs they come in, and coded a piece at a time,
// which stays in the first cache, in a few loops, which write to arrays at fixed
// places: these take no registers and need no checks.

const (
	maxStores = 1 << 16 // stores of a block that is read
	full      = 1 << 15 // of one that is written: the part of a history that a query decodes
	piece     = 1 << 9  // stores that are coded at a time
	slots     = 1 << 12 // of predictions
	numCodes  = 9 * 9 * 2
)

// predictions is what is known of the sites, by the low bits of their numbers.
type predictions struct {
	next [slots]uint32   // the site that came after it
	last [slots]struct { // side by side: a load waits for a store before it whose address has the same low bits
		offset uint64 // its last address minus that of the store before
		value  uint64 // its last value, or the first word of it
	}
	base [slots]uint64 // its last base
}

// storeEncoder collects the stores of a block.
type storeEncoder struct {
	table  *siteTable
	known  predictions
	n      int    // stores
	held   int    // of them, that are in the piece and not coded yet
	site   uint32 // the last
	addr   uint64 // the last
	number int    // bytes of a site's number

	codes, sites, addrs, values, extra []byte // the columns of the block

	// The piece: of values the first word.
	numbers [piece]uint32
	places  [piece]uint64
	words   [piece]uint64

	// The columns of the piece, with room for the last number's 8 bytes.
	pieceCodes  [piece]byte
	pieceSites  [4*piece + 4]byte
	pieceAddrs  [8*piece + 8]byte
	pieceValues [8*piece + 8]byte

	special [piece]uint16 // which stores that are added have more than that

	touched [1 << pageBits]uint8 // pages, by the low bits of their numbers: 1, else 0
}

func newStoreEncoder(t *siteTable) *storeEncoder {
	return &storeEncoder{table: t, number: siteBytes(len(t.sites))}
}

// room is how many stores the block takes yet.
func (c *storeEncoder) room() int { return full - c.n }

var (
	errSite = errors.New("a store of no known site")                    // read-only
	errWide = errors.New("a store whose value lies outside of its run") // read-only
)

// add takes stores, at most as many as there is room for, and marks the pages
// where they begin. At an error those of the piece that it is about have not been
// taken, and the block must be ended.
func (c *storeEncoder) add(recs []StoreRec, wide []byte) error {
	for len(recs) > 0 {
		part := recs[:min(piece-c.held, len(recs))]
		recs = recs[len(part):]
		special, err := c.look(part)
		if err != nil {
			return err
		}
		if len(special) > 0 {
			if err := c.codeMore(part, special, wide); err != nil {
				return err
			}
		}
		c.n += len(part)
		if c.held += len(part); c.held == piece {
			c.code()
		}
	}
	return nil
}

// code codes the piece.
func (c *storeEncoder) code() {
	c.codeSites()
	c.codeWords()
	c.held = 0
}

// look adds stores to the piece, marks pages, and finds those that have more than
// an address and one word.
func (c *storeEncoder) look(recs []StoreRec) (special []uint16, err error) {
	numbers, places, words := c.numbers[c.held:][:len(recs)], c.places[c.held:][:len(recs)], c.words[c.held:][:len(recs)]
	forms, pages := c.table.forms, &c.touched
	n := uint(0)
	for i := range recs {
		site, addr := recs[i].Site, recs[i].Addr
		if int(site) >= len(forms) {
			return nil, fmt.Errorf("%w: %d of %d", errSite, site, len(forms))
		}
		numbers[i], places[i], words[i] = site, addr, recs[i].Value
		c.special[n%piece] = uint16(i)
		n += uint(forms[site] & formMore)
		pages[addr>>pageShift%(1<<pageBits)] = 1
	}
	return c.special[:n], nil
}

// codeSites codes the numbers of the sites.
func (c *storeEncoder) codeSites() {
	last := c.site
	number := uint(c.number)
	n := uint(0)
	for i, site := range c.numbers[:c.held] {
		wrong := c.known.next[last%slots] ^ site
		missed := uint32(int32(wrong|-wrong) >> 31) // all ones, or 0
		c.known.next[last%slots] = site
		last = site
		binary.LittleEndian.PutUint32(c.pieceSites[n%(4*piece):][:4], site)
		n += number & uint(missed)
		c.pieceCodes[i] = byte(missed) & 81
	}
	c.site = last
	c.sites = append(c.sites, c.pieceSites[:n]...)
}

// codeWords codes the addresses and the words, and completes the codes.
func (c *storeEncoder) codeWords() {
	addr := c.addr
	nAddrs, nValues := uint(0), uint(0)
	for i, site := range c.numbers[:c.held] {
		last := &c.known.last[site%slots]
		offset := c.places[i] - addr
		addr = c.places[i]
		a := zigzag(offset - last.offset)
		last.offset = offset
		binary.LittleEndian.PutUint64(c.pieceAddrs[nAddrs%(8*piece):][:8], a)
		aLen := bytesOf(a)
		nAddrs += aLen

		v := c.words[i] ^ last.value
		last.value = c.words[i]
		binary.LittleEndian.PutUint64(c.pieceValues[nValues%(8*piece):][:8], v)
		vLen := bytesOf(v)
		nValues += vLen
		c.pieceCodes[i] += byte(aLen + 9*vLen)
	}
	c.addr = addr
	c.codes = append(c.codes, c.pieceCodes[:c.held]...)
	c.addrs = append(c.addrs, c.pieceAddrs[:nAddrs]...)
	c.values = append(c.values, c.pieceValues[:nValues]...)
}

// codeMore codes what the special of the stores that look has added have beyond
// address and word, and takes the first words of their values.
func (c *storeEncoder) codeMore(recs []StoreRec, special []uint16, wide []byte) error {
	c.extra = slices.Grow(c.extra, len(special)*(MaxStoreWidth+2*9))
	extra := c.extra[:cap(c.extra)]
	n := len(c.extra)
	for _, i := range special {
		r := &recs[i]
		form := c.table.forms[r.Site]
		if form&formBase != 0 {
			base := &c.known.base[r.Site%slots]
			n += putWord(extra[n:], zigzag(r.Base-*base))
			*base = r.Base
		}
		if form&formWide == 0 {
			continue
		}
		width := uint64(c.table.sites[r.Site].Width)
		if uint64(len(wide)) < width || r.Value > uint64(len(wide))-width {
			return fmt.Errorf("%w: %d bytes at %d of %d", errWide, width, r.Value, len(wide))
		}
		b := wide[r.Value : r.Value+width]
		before := binary.LittleEndian.Uint64(b)
		c.words[(c.held+int(i))%piece] = before
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
	return nil
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
	c.code()
	for _, n := range []int{c.n, c.number, len(c.sites), len(c.addrs), len(c.values), len(c.extra)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, column := range []*[]byte{&c.codes, &c.sites, &c.addrs, &c.values, &c.extra} {
		b = append(b, *column...)
		*column = (*column)[:0]
	}
	c.n, c.site, c.addr = 0, 0, 0
	c.known = predictions{}
	c.number = siteBytes(len(c.table.sites))
	return b
}
