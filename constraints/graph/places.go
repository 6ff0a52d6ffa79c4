package graph

import "mgtrace/trace"

// places finds the object at an address now. Memory is divided into pages, and
// these into granules; each names the object that it belongs to. Where several
// live objects share a granule, only the history knows: see several.
type places struct {
	leaves map[trace.Addr]*placeLeaf // by address >> leafShift
	recent [recentLeaves]struct {    // those that were looked at last, by the low bits of their numbers
		leaf *placeLeaf
		key  trace.Addr
	}
}

// recentLeaves is a power of two: what a program works on may lie in so many pieces of 4 MB.
const recentLeaves = 32

type placeLeaf [1 << (leafShift - placePageShift)]placePage

// placePage is what lies in one page of 4 KB.
type placePage struct {
	whole    ObjID // the whole page belongs to it, unless a granule says otherwise
	granules *[1 << (placePageShift - placeShift)]ObjID
}

const (
	placeShift     = 4 // granules of 16 bytes, as blocks of malloc are aligned
	placePageShift = 12
	leafShift      = 22

	several = ^ObjID(0) // several objects
)

func (p *places) leaf(addr trace.Addr) *placeLeaf {
	key := addr >> leafShift
	last := &p.recent[key%recentLeaves]
	if last.leaf == nil || key != last.key {
		l := p.leaves[key]
		if l == nil {
			return nil
		}
		last.leaf, last.key = l, key
	}
	return last.leaf
}

// page returns the page of addr, nil if no object was ever there.
func (p *places) page(addr trace.Addr) *placePage {
	if l := p.leaf(addr); l != nil {
		return &l[addr&(1<<leafShift-1)>>placePageShift]
	}
	return nil
}

// at returns the object of addr's granule: the newest, 0 if there never was one.
func (p *placePage) at(addr trace.Addr) ObjID {
	if p.granules != nil {
		if o := p.granules[addr&(1<<placePageShift-1)>>placeShift]; o != 0 {
			return o
		}
	}
	return p.whole
}

// peek returns the object of addr's granule, and remembers nothing of that: any number may ask at once.
func (p *places) peek(addr trace.Addr) ObjID {
	l := p.leaves[addr>>leafShift]
	if l == nil {
		return 0
	}
	return l[addr&(1<<leafShift-1)>>placePageShift].at(addr)
}

// over returns the object, perhaps dead, that alone has a claim to [addr,
// addr+size); 0 if none has. It is not sure where there may be several.
func (p *places) over(addr trace.Addr, size uint64) (o ObjID, sure bool) {
	if size-1 < uint64(1<<placeShift-addr&(1<<placeShift-1)) { // in one granule, as most that is stored
		pg := p.page(addr)
		if pg == nil {
			return 0, true
		}
		if o = pg.at(addr); o == several {
			return 0, false
		}
		return o, true
	}
	if size > 1<<placePageShift {
		return 0, false
	}
	if size == 0 {
		return 0, true
	}
	last := max(addr, addr+trace.Addr(size)-1) // what is asked for may be at the end of all addresses
	for unit, first := addr>>placeShift, true; unit <= last>>placeShift; unit++ {
		x, at := ObjID(0), unit<<placeShift
		if pg := p.page(at); pg != nil {
			x = pg.at(at)
		}
		if x == several || !first && x != o {
			return 0, false
		}
		o, first = x, false
	}
	return o, true
}

// put gives [lo, hi) to an object. alive tells which of those that had it still
// live.
func (p *places) put(o ObjID, lo, hi trace.Addr, alive func(ObjID) bool) {
	const pageMask = 1<<placePageShift - 1
	for lo < hi {
		l := p.leaf(lo)
		if l == nil {
			if p.leaves == nil {
				p.leaves = map[trace.Addr]*placeLeaf{}
			}
			l = new(placeLeaf)
			p.leaves[lo>>leafShift] = l
		}
		pg := &l[lo&(1<<leafShift-1)>>placePageShift]
		end := min(hi, lo&^pageMask+pageMask+1)
		if end-lo == pageMask+1 && pg.granules == nil && (pg.whole == 0 || pg.whole != several && !alive(pg.whole)) {
			pg.whole = o
		} else {
			pg.put(o, lo, end, alive)
		}
		lo = end
	}
}

func (p *placePage) put(o ObjID, lo, hi trace.Addr, alive func(ObjID) bool) {
	if p.granules == nil {
		p.granules = new([1 << (placePageShift - placeShift)]ObjID)
	}
	last := (hi - 1) & (1<<placePageShift - 1) >> placeShift
	for i := lo & (1<<placePageShift - 1) >> placeShift; i <= last; i++ {
		had := p.granules[i]
		if had == 0 {
			had = p.whole
		}
		if had != 0 && had != o && (had == several || alive(had)) {
			p.granules[i] = several
		} else {
			p.granules[i] = o
		}
	}
}
