package dwarf

import "sync"

// Unit is a compilation unit, partial unit or type unit.
type Unit struct {
	Off     uint64 // of its header in the section
	Version int

	data      *Data
	inTypes   bool
	dwarf64   bool
	kind      int
	addrSize  int
	abbrevOff uint64
	first     uint64 // offset of its first entry
	end       uint64
	signature uint64
	typeOff   uint64
	id        uint64

	// skeleton is the unit of the main file that a split unit belongs to.
	skeleton *Unit

	abbrevOnce sync.Once
	abbrevs    *abbrevTable
	basesOnce  sync.Once
	bases0     bases
	rootOnce   sync.Once
	root       rootInfo
	fullOnce   sync.Once
	full       *Unit
	lineOnce   sync.Once
	lines      *LineTable
}

// bases are the offsets that other attributes of the unit count from.
type bases struct {
	str, addr, rng, loc uint64
	gnuRng              uint64 // of a DWARF 4 skeleton, for the ranges of its split unit
	low                 uint64 // address that range and location lists count from
}

// rootInfo is what the first entry of a unit says about the whole unit.
type rootInfo struct {
	tag        Tag
	name       string
	compDir    string
	language   int
	stmtList   uint64
	hasLines   bool
	dwoName    string
	dwoID      uint64
	isSkeleton bool
	ranges     [][2]uint64
}

// Ref names an entry. The zero Ref names none.
type Ref struct {
	Unit *Unit
	Off  uint64
}

// Root returns the offset of the unit's first entry.
func (u *Unit) Root() uint64 { return u.first }

// Data returns the file that u is of.
func (u *Unit) Data() *Data { return u.data }

// IsType says whether u is a type unit.
func (u *Unit) IsType() bool { return u.kind == unitType || u.kind == unitSplitType }

// TypeRef returns the type that a type unit defines.
func (u *Unit) TypeRef() Ref { return u.at(u.Off + u.typeOff) }

// IsPartial says whether u is a partial unit: shared parts, imported by others.
func (u *Unit) IsPartial() bool { return u.info0().tag == TagPartialUnit }

// Name returns the name of the source file, "" if unknown.
func (u *Unit) Name() string { return u.info0().name }

// CompDir returns the directory of the compilation.
func (u *Unit) CompDir() string { return u.info0().compDir }

// Language returns DW_AT_language, 0 if unknown.
func (u *Unit) Language() int { return u.info0().language }

// DwoName returns the file of the split unit that u stands for, "" if it stands for none.
func (u *Unit) DwoName() string { return u.info0().dwoName }

// DwoID returns the identification of a skeleton or of a split unit.
func (u *Unit) DwoID() uint64 { return u.info0().dwoID }

// Ranges returns the addresses of the unit's code as its first entry gives them.
func (u *Unit) Ranges() [][2]uint64 { return u.info0().ranges }

// Full returns the unit with the entries: u itself, or the split unit that the
// skeleton u stands for. If that can not be found it is u.
func (u *Unit) Full() *Unit {
	u.fullOnce.Do(func() {
		u.full = u
		if !u.info0().isSkeleton || u.data.Split == nil {
			return
		}
		if s := u.data.Split(u); s != nil {
			s.skeleton = u
			u.full = s
		}
	})
	return u.full
}

// at returns a Ref if off lies within the entries of u.
func (u *Unit) at(off uint64) Ref {
	if off < u.first || off >= u.end {
		return Ref{}
	}
	return Ref{u, off}
}

func (u *Unit) table() *abbrevTable {
	u.abbrevOnce.Do(func() { u.abbrevs = u.data.abbrevTable(u.abbrevOff) })
	return u.abbrevs
}

func (u *Unit) info0() *rootInfo {
	u.rootOnce.Do(u.readRoot)
	return &u.root
}

func (u *Unit) bases() *bases {
	u.basesOnce.Do(u.readBases)
	return &u.bases0
}

// readBases reads what the forms of all attributes depend on. Split units of
// DWARF 5 have no base attributes: their bases lie just after the header of
// the contribution (DWARF 5, section 7.26 to 7.29).
func (u *Unit) readBases() {
	r := &u.bases0
	if u.data.split && u.Version >= 5 {
		header := uint64(8)
		if u.dwarf64 {
			header = 16
		}
		r.str, r.rng, r.loc = header, header+4, header+4
	}
	var e Entry
	if !u.Read(u.first, &e) {
		return
	}
	for _, v := range e.vals {
		switch v.attr {
		case AttrStrOffsetsBase:
			r.str = v.n
		case AttrAddrBase, AttrGNUAddrBase:
			r.addr = v.n
		case AttrRngListsBase:
			r.rng = v.n
		case AttrGNURangesBase:
			r.gnuRng = v.n
		case AttrLocListsBase:
			r.loc = v.n
		}
	}
	if v := e.value(AttrLowPC); v != nil {
		r.low = v.n
		if v.form != formAddr {
			r.low, _ = u.addrAt(r.addr, v.n)
		}
	}
}

func (u *Unit) readRoot() {
	r := &u.root
	var e Entry
	if !u.Read(u.first, &e) {
		return
	}
	r.tag = e.Tag
	r.name, r.compDir = e.String(AttrName), e.String(AttrCompDir)
	lang, _ := e.Uint(AttrLanguage)
	r.language = int(lang)
	r.stmtList, r.hasLines = e.Uint(AttrStmtList)
	r.dwoID, _ = e.Uint(AttrGNUDwoID)
	if u.Version >= 5 {
		r.dwoID = u.id
	}
	if r.dwoName = e.String(AttrDwoName); r.dwoName == "" {
		r.dwoName = e.String(AttrGNUDwoName)
	}
	r.isSkeleton = !u.data.split && (u.kind == unitSkeleton || r.dwoName != "" && r.dwoID != 0)
	r.ranges = e.Ranges()
}

// addrUnit is the unit whose address table, range base and line table serve u.
func (u *Unit) addrUnit() *Unit {
	if u.skeleton != nil {
		return u.skeleton
	}
	return u
}

// Addr returns entry i of the unit's address table.
func (u *Unit) Addr(i uint64) (uint64, bool) {
	a := u.addrUnit()
	return a.addrAt(a.bases().addr, i)
}

func (u *Unit) addrAt(base, i uint64) (uint64, bool) {
	sec := u.data.sec.Addr
	if i > uint64(len(sec))/8 {
		return 0, false
	}
	b := NewBuf(sec, base+i*8)
	v := b.U64()
	return v, !b.Bad()
}

// base is the address that range and location lists start from.
func (u *Unit) base() uint64 { return u.addrUnit().bases().low }
