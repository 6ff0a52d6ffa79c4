package dwarf

import (
	"sort"
	"sync"
)

// Sections are the debug sections of one file, decompressed; absent ones are
// nil. In a split file they are those whose names end in ".dwo".
type Sections struct {
	Info, Types, Abbrev, Str, LineStr, StrOffsets, Addr []byte
	Ranges, RngLists, Loc, LocLists, Line               []byte
}

// Data is the debug information of one file. It may be used concurrently once
// its links (Alt, Split, Signature) are set.
type Data struct {
	sec   Sections
	split bool
	units []*Unit

	// Alt is the supplementary file (dwz), nil if there is none.
	Alt *Data
	// Split finds the unit that a skeleton stands for; nil if it can not.
	Split func(skeleton *Unit) *Unit
	// Signature finds a type unit elsewhere (.dwp), for signatures that this
	// Data does not have.
	Signature func(sig uint64) *Unit

	mu      sync.Mutex
	abbrevs map[uint64]*abbrevTable
	sigOnce sync.Once
	sigs    map[uint64]*Unit
}

// New returns the debug information in sec. Units that can not be read are
// left out.
func New(sec Sections) *Data { return newData(sec, false) }

// NewSplit is New for the sections of a .dwo file.
func NewSplit(sec Sections) *Data { return newData(sec, true) }

func newData(sec Sections, split bool) *Data {
	d := &Data{sec: sec, split: split, abbrevs: map[uint64]*abbrevTable{}}
	d.readUnits(sec.Info, false)
	d.readUnits(sec.Types, true)
	return d
}

// Units returns the units in the order of their offsets, those of .debug_types last.
func (d *Data) Units() []*Unit { return d.units }

// readUnits reads the unit headers (DWARF 5, section 7.5.1).
func (d *Data) readUnits(info []byte, types bool) {
	for b := NewBuf(info, 0); b.More(); {
		u := &Unit{data: d, Off: b.Off(), inTypes: types}
		n, dwarf64 := b.Length()
		if b.Bad() || n > uint64(len(info))-b.Off() {
			return
		}
		u.dwarf64, u.end = dwarf64, b.Off()+n
		ok := u.readHeader(&b)
		if ok {
			d.units = append(d.units, u)
		}
		b = NewBuf(info, u.end)
	}
}

func (u *Unit) readHeader(b *Buf) bool {
	u.Version = int(b.U16())
	if u.Version < 2 || u.Version > 5 {
		return false
	}
	u.kind = unitCompile
	if u.Version == 5 {
		u.kind = int(b.U8())
		u.addrSize = int(b.U8())
		u.abbrevOff = b.offset(u.dwarf64)
	} else {
		u.abbrevOff = b.offset(u.dwarf64)
		u.addrSize = int(b.U8())
		if u.inTypes {
			u.kind = unitType
		}
	}
	switch u.kind {
	case unitType, unitSplitType:
		u.signature = b.U64()
		u.typeOff = b.offset(u.dwarf64)
	case unitSkeleton, unitSplitCompile:
		u.id = b.U64()
	}
	u.first = b.Off()
	return !b.Bad() && u.addrSize == 8 && u.first <= u.end
}

// info returns the section that u lies in.
func (u *Unit) info() []byte {
	if u.inTypes {
		return u.data.sec.Types
	}
	return u.data.sec.Info
}

// unitAt returns the unit of .debug_info that holds offset off.
func (d *Data) unitAt(off uint64) *Unit {
	n := len(d.units)
	i := sort.Search(n, func(i int) bool { return d.units[i].inTypes || d.units[i].Off > off }) - 1
	if i < 0 || off < d.units[i].first || off >= d.units[i].end {
		return nil
	}
	return d.units[i]
}

// typeUnit returns the entry that a type signature names.
func (d *Data) typeUnit(sig uint64) Ref {
	d.sigOnce.Do(func() {
		d.sigs = map[uint64]*Unit{}
		for _, u := range d.units {
			if u.IsType() {
				d.sigs[u.signature] = u
			}
		}
	})
	u := d.sigs[sig]
	if u == nil && d.Signature != nil {
		u = d.Signature(sig)
	}
	if u == nil {
		return Ref{}
	}
	return u.at(u.Off + u.typeOff)
}

type abbrev struct {
	tag      Tag
	children bool
	fields   []abbrevField
}

type abbrevField struct {
	attr     Attr
	form     form
	implicit int64
}

// abbrevTable maps codes, which compilers number densely from 1.
type abbrevTable struct {
	dense  []abbrev // by code - 1
	sparse map[uint64]abbrev
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	if a, ok := t.sparse[code]; ok {
		return &a
	}
	return nil
}

func (d *Data) abbrevTable(off uint64) *abbrevTable {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.abbrevs[off]
	if t == nil {
		t = readAbbrevs(NewBuf(d.sec.Abbrev, off))
		d.abbrevs[off] = t
	}
	return t
}

func readAbbrevs(b Buf) *abbrevTable {
	t := &abbrevTable{sparse: map[uint64]abbrev{}}
	for b.More() {
		code := b.Uleb()
		if code == 0 {
			break
		}
		a := abbrev{tag: Tag(b.Uleb()), children: b.U8() != 0}
		for !b.Bad() {
			f := abbrevField{attr: Attr(b.Uleb()), form: form(b.Uleb())}
			if f.form == formImplicitConst {
				f.implicit = b.Sleb()
			}
			if f.attr == 0 && f.form == 0 {
				break
			}
			a.fields = append(a.fields, f)
		}
		if b.Bad() {
			break
		}
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
		} else {
			t.sparse[code] = a
		}
	}
	return t
}
