package trace

import (
	"encoding/binary"
	"fmt"
)

// code is what a code byte says.
type code struct {
	addrMask, valueMask uint64 // of the bytes that are stored
	addr, value         uint8  // how many they are
	missed              uint8  // 1: the site's number is stored
}

// codeTable is read-only.
var codeTable = func() (t [256]code) {
	for i := range numCodes {
		a, v := i%9, i/9%9
		t[i] = code{lowBytes(a), lowBytes(v), uint8(a), uint8(v), uint8(i / 81)}
	}
	return t
}()

// lowBytes is the mask of the n low bytes of a word, 0 ≤ n ≤ 8.
func lowBytes(n int) uint64 { return 1<<(8*n) - 1 }

// storeDecoder decodes the stores of a block.
type storeDecoder struct {
	table *siteTable
	known predictions
	left  int
	calls int // that have been decoded
	site  uint32
	addr  uint64

	number                             int    // bytes of a site's number
	numberMask                         uint32 // of them
	codes, sites, addrs, values, extra []byte // what is left; the first four never run out
	special                            [piece]uint16
}

// piece is how many stores are decoded at a time, which stay in the first cache.
const piece = 1 << 9

// load takes a block of stores, which it refers to; raw has 8 bytes behind its
// length. It proves that the columns have what the codes say.
func (d *storeDecoder) load(raw []byte) error {
	c := cursor{buf: raw}
	n := c.plain()
	number := c.plain()
	var lens [4]uint64
	for i := range lens {
		lens[i] = c.plain()
	}
	if c.bad || n > maxStores || number < 1 || number > 4 {
		return fmt.Errorf("%w: the head of a block of stores", ErrCorrupt)
	}
	padded := raw[:len(raw)+8]
	at := len(raw) - len(c.buf)
	column := func(n uint64) []byte {
		if c.take(n) == nil && n > 0 {
			return nil
		}
		b := padded[at : at+int(n)+8]
		at += int(n)
		return b
	}
	d.codes = column(n)
	d.sites, d.addrs, d.values, d.extra = column(lens[0]), column(lens[1]), column(lens[2]), column(lens[3])
	if c.bad || len(c.buf) > 0 {
		return fmt.Errorf("%w: the columns of a block of stores", ErrCorrupt)
	}
	d.codes = d.codes[:n]
	d.extra = d.extra[:lens[3]]
	var sites, addrs, values uint64
	for _, b := range d.codes {
		if b >= numCodes {
			return fmt.Errorf("%w: code %d of a store", ErrCorrupt, b)
		}
		k := &codeTable[b]
		sites += uint64(k.missed)
		addrs += uint64(k.addr)
		values += uint64(k.value)
	}
	if sites*number != lens[0] || addrs != lens[1] || values != lens[2] {
		return fmt.Errorf("%w: the columns of a block of stores do not have what its codes say", ErrCorrupt)
	}
	d.known = predictions{}
	d.left, d.site, d.addr = int(n), 0, 0
	d.number, d.numberMask = int(number), uint32(lowBytes(int(number)))
	return nil
}

// next decodes the next stores: as many as recs is long, and there must be
// that many. Values of several words are appended to wide.
func (d *storeDecoder) next(recs []StoreRec, wide []byte) ([]byte, error) {
	for len(recs) > 0 {
		part := recs[:min(piece, len(recs))]
		recs = recs[len(part):]
		special, err := d.nextSites(part)
		if err != nil {
			return wide, err
		}
		d.nextAddrs(part)
		d.nextValues(part)
		if wide, err = d.nextMore(part, special, wide); err != nil {
			return wide, err
		}
		d.codes = d.codes[len(part):]
		d.left -= len(part)
	}
	return wide, nil
}

// nextSites decodes the sites of a piece and finds the stores that have more
// than an address and a word, and the calls.
func (d *storeDecoder) nextSites(recs []StoreRec) (special []uint16, err error) {
	codes := d.codes[:len(recs)]
	in := d.sites
	forms := d.table.forms
	site := d.site
	number, mask := uint32(d.number), d.numberMask
	at, n := uint32(0), 0
	for i := range recs {
		missed := -uint32(codeTable[codes[i]].missed)
		stored := binary.LittleEndian.Uint32(in[at:at+4]) & mask
		at += number & missed
		last := site
		site = d.known[last%slots].next
		site ^= (site ^ stored) & missed
		d.known[last%slots].next = site
		recs[i] = StoreRec{Site: site}
		if int(site) >= len(forms) {
			return nil, fmt.Errorf("%w: a store of site %d of %d", ErrCorrupt, site, len(forms))
		}
		d.special[n%piece] = uint16(i)
		n += int(forms[site] & formMore)
	}
	d.site = site
	d.sites = in[at:]
	return d.special[:n], nil
}

func (d *storeDecoder) nextAddrs(recs []StoreRec) {
	codes := d.codes[:len(recs)]
	in := d.addrs
	addr := d.addr
	at := 0
	for i := range recs {
		r := &recs[i]
		k := &codeTable[codes[i]]
		last := &d.known[r.Site%slots]
		offset := last.offset + unzigzag(binary.LittleEndian.Uint64(in[at:at+8])&k.addrMask)
		at += int(k.addr)
		last.offset = offset
		addr += offset
		r.Addr = addr
	}
	d.addr = addr
	d.addrs = in[at:]
}

func (d *storeDecoder) nextValues(recs []StoreRec) {
	codes := d.codes[:len(recs)]
	in := d.values
	at := 0
	for i := range recs {
		r := &recs[i]
		k := &codeTable[codes[i]]
		last := &d.known[r.Site%slots]
		v := last.value ^ binary.LittleEndian.Uint64(in[at:at+8])&k.valueMask
		at += int(k.value)
		last.value = v
		r.Value = v
	}
	d.values = in[at:]
}

// nextMore decodes what the special stores have beyond address and word.
func (d *storeDecoder) nextMore(recs []StoreRec, special []uint16, wide []byte) ([]byte, error) {
	for _, i := range special {
		r := &recs[i]
		form := d.table.forms[r.Site]
		if form&formCall != 0 {
			d.calls++
		}
		if form&formBase != 0 {
			w, ok := d.extraWord()
			if !ok {
				return wide, fmt.Errorf("%w: the base of a store", ErrCorrupt)
			}
			base := &d.known[r.Site%slots].base
			*base += unzigzag(w)
			r.Base = *base
		}
		if form&formWide == 0 {
			continue
		}
		word := r.Value
		r.Value = uint64(len(wide))
		wide = binary.LittleEndian.AppendUint64(wide, word)
		n := int(d.table.sites[r.Site].Width)
		for n -= 8; n > 0; n -= 8 {
			w, ok := d.extraWord()
			if !ok {
				return wide, fmt.Errorf("%w: the value of a store", ErrCorrupt)
			}
			if n >= 8 {
				w ^= word
			}
			word = w
			wide = binary.LittleEndian.AppendUint64(wide, word)
		}
		wide = wide[:len(wide)+min(n, 0)]
	}
	return wide, nil
}

func (d *storeDecoder) extraWord() (uint64, bool) {
	if len(d.extra) == 0 || d.extra[0] > 8 || len(d.extra) <= int(d.extra[0]) {
		return 0, false
	}
	n := int(d.extra[0])
	w := binary.LittleEndian.Uint64(d.extra[1:][:8:8]) & lowBytes(n)
	d.extra = d.extra[1+n:]
	return w, true
}
