package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"
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
// What decides the speed is how many instructions a store takes. One loop looks for those of
// several words or with a base; another one codes all else, and no branch in it depends on
// the data (every number is written as 8 bytes, of which the next one overwrites what was too
// much). On x86-64 both are one, and written in assembly (storecode_amd64.s): what is here
// does the same elsewhere, and there what is rare.

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
	known  predictions
	table  *siteTable
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
	wides                   [piece]wideOffset // scratch of add

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
// before the one that it is about, and the block must be ended. While it runs, the value of
// a wide store is its first word.
func (c *storeEncoder) add(recs []StoreRec, wide []byte) error {
	for len(recs) > 0 {
		part := recs[:min(piece, len(recs))]
		fast := 0
		if leadingZeros {
			fast = c.addFast(part, wide)
			part = part[fast:min(fast+1, len(part))]
		}
		if len(part) > 0 {
			if err := c.addPiece(part, wide); err != nil {
				return err
			}
		}
		recs = recs[fast+len(part):]
	}
	return nil
}

func (c *storeEncoder) addPiece(recs []StoreRec, wide []byte) (err error) {
	c.extra = slices.Grow(c.extra, piece*maxMore)
	extra := unsafe.Pointer(unsafe.SliceData(c.extra))
	more := unsafe.Add(extra, len(c.extra))
	forms := c.table.forms
	n, wides := 0, 0
	for ; n < len(recs); n++ {
		r := &recs[n]
		if uint64(r.Site) >= uint64(len(forms)) {
			err = fmt.Errorf("%w: %d of %d", errSite, r.Site, len(forms))
			break
		}
		form := forms[r.Site]
		if form&formAlloc != 0 {
			c.mark(r.Addr, r.Value)
		}
		if form&formBase != 0 {
			base := &c.known[r.Site%slots].base
			more = putWord(more, zigzag(r.Base-*base))
			*base = r.Base
		}
		if form&formWide != 0 {
			width := uint64(c.table.sites[r.Site].Width)
			if uint64(len(wide)) < width || r.Value > uint64(len(wide))-width {
				err = fmt.Errorf("%w: %d bytes at %d of %d", errWide, width, r.Value, len(wide))
				break
			}
			b := wide[r.Value:][:width]
			c.wides[wides%piece] = wideOffset{n, r.Value}
			wides++
			r.Value = binary.LittleEndian.Uint64(b)
			more = codeWords(more, r.Value, b[8:])
		}
	}
	c.extra = c.extra[:uintptr(more)-uintptr(extra)]
	c.code(recs[:n])
	for _, w := range c.wides[:wides] {
		recs[w.rec].Value = w.offset
	}
	return err
}

// mark marks the pages of a block; code does that of where it begins.
func (c *storeEncoder) mark(addr, size uint64) {
	pages := (addr%(1<<pageShift) + min(size, 1<<(pageShift+pageBits)) + 1<<pageShift - 1) >> pageShift
	for i := range pages {
		c.touched[(addr>>pageShift+i)%(1<<pageBits)] = 1
	}
}

// wideOffset is what the value of a wide store was.
type wideOffset struct {
	rec    int
	offset uint64
}

// maxMore is how many bytes of the last column a store takes, at most: a base, and all words
// of the widest but the first, each behind its length; and what the last of them was written
// with that does not count.
const maxMore = 9 + (MaxStoreWidth/8-1)*9 + 8

// codeWords codes the words of a wide store behind the first one.
func codeWords(to unsafe.Pointer, before uint64, b []byte) unsafe.Pointer {
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		to = putWord(to, w^before)
		before = w
	}
	if len(b) > 0 {
		to = putWord(to, tail(b))
	}
	return to
}

// code codes sites, addresses, and values of one word, and marks the pages where stores
// begin.
//
// This is where the time goes, and what counts is how many instructions there are and how
// many registers they want. So what is written is reached by pointers, one for each column.
// The columns have room for the stores that a block takes, each of the longest.
func (c *storeEncoder) code(recs []StoreRec) {
	if len(recs) > full-c.n {
		panic("trace: more stores than a block takes")
	}
	codes := unsafe.Pointer(&c.codes[c.n%full])
	sites := unsafe.Pointer(&c.sites[c.nSites])
	addrs := unsafe.Pointer(&c.addrs[c.nAddrs])
	values := unsafe.Pointer(&c.values[c.nValues])
	number := uint32(c.number)
	addr := c.addr
	last := &c.known[c.site%slots]
	for i := range recs {
		r := &recs[i]
		site := r.Site
		wrong := last.next ^ site
		last.next = site
		put32(sites, site)
		missed := uint32(int32(wrong|-wrong) >> 31) // all ones, or 0
		sites = unsafe.Add(sites, number&missed)

		last = &c.known[site%slots]
		offset := r.Addr - addr
		addr = r.Addr
		c.touched[addr>>pageShift%(1<<pageBits)] = 1
		a := zigzag(offset - last.offset)
		last.offset = offset
		put64(addrs, a)
		aLen := bytesOf(a)
		addrs = unsafe.Add(addrs, aLen)

		v := r.Value ^ last.value
		last.value = r.Value
		put64(values, v)
		vLen := bytesOf(v)
		values = unsafe.Add(values, vLen)
		*(*byte)(unsafe.Add(codes, i)) = byte(aLen+9*vLen) + byte(missed)&81
	}
	if n := len(recs); n > 0 {
		c.site = recs[n-1].Site
		c.n += n
	}
	c.addr = addr
	c.nSites = uint(uintptr(sites) - uintptr(unsafe.Pointer(&c.sites)))
	c.nAddrs = uint(uintptr(addrs) - uintptr(unsafe.Pointer(&c.addrs)))
	c.nValues = uint(uintptr(values) - uintptr(unsafe.Pointer(&c.values)))
}

// put32 and put64 write a number of a column.
func put32(p unsafe.Pointer, v uint32) { binary.LittleEndian.PutUint32((*[4]byte)(p)[:], v) }
func put64(p unsafe.Pointer, v uint64) { binary.LittleEndian.PutUint64((*[8]byte)(p)[:], v) }

// tail is the number whose bytes are b, fewer than 8.
func tail(b []byte) uint64 {
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:])
}

// putWord writes the length of a number and its bytes, 9 at most, and returns what lies behind
// those that count.
func putWord(to unsafe.Pointer, w uint64) unsafe.Pointer {
	n := bytesOf(w)
	*(*byte)(to) = byte(n)
	put64(unsafe.Add(to, 1), w)
	return unsafe.Add(to, 1+n)
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
