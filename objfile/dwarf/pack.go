package dwarf

import (
	"encoding/binary"
	"sync"
)

// Pack is a DWARF package file (.dwp): the split units of a program in one
// file, each with its parts of the sections (DWARF 5, section 7.3.5; version 2
// is gcc's and binutils' form for DWARF 4).
type Pack struct {
	sec   Sections // of the .dwp file
	units packIndex
	types packIndex

	mu        sync.Mutex
	typeUnits map[uint64]*Unit
}

type packIndex struct {
	version int
	columns []uint32
	rows    map[uint64]packRow // by unit identification or type signature
}

type packRow struct{ offsets, sizes []byte } // of 4 bytes per column

// NewPack returns the package with the given sections and the contents of
// .debug_cu_index and .debug_tu_index.
func NewPack(sec Sections, cuIndex, tuIndex []byte) *Pack {
	return &Pack{sec: sec, units: readPackIndex(cuIndex), types: readPackIndex(tuIndex), typeUnits: map[uint64]*Unit{}}
}

func readPackIndex(data []byte) (x packIndex) {
	b := NewBuf(data, 0)
	x.version = int(b.U32()) // in version 5 two bytes and two of padding
	columns, units, slots := uint64(b.U32()), uint64(b.U32()), uint64(b.U32())
	if b.Bad() || x.version != 2 && x.version != 5 || columns > 16 || slots > uint64(len(data))/12 || units > slots {
		return packIndex{}
	}
	hashes, indices := b.Bytes(8*slots), b.Bytes(4*slots)
	for range columns {
		x.columns = append(x.columns, b.U32())
	}
	offsets, sizes := b.Bytes(4*columns*units), b.Bytes(4*columns*units)
	if b.Bad() {
		return packIndex{}
	}
	x.rows = map[uint64]packRow{}
	for i := range slots {
		row := uint64(binary.LittleEndian.Uint32(indices[4*i:]))
		if row == 0 || row > units {
			continue
		}
		lo, hi := 4*columns*(row-1), 4*columns*row
		x.rows[binary.LittleEndian.Uint64(hashes[8*i:])] = packRow{offsets[lo:hi], sizes[lo:hi]}
	}
	return x
}

// cut gives each column's part of its section.
func (p *Pack) cut(x packIndex, id uint64) (Sections, bool) {
	row, ok := x.rows[id]
	if !ok {
		return Sections{}, false
	}
	sec := Sections{Str: p.sec.Str}
	for i, column := range x.columns {
		off := uint64(binary.LittleEndian.Uint32(row.offsets[4*i:]))
		size := uint64(binary.LittleEndian.Uint32(row.sizes[4*i:]))
		part := func(s []byte) []byte {
			if off > uint64(len(s)) || size > uint64(len(s))-off {
				return nil
			}
			return s[off : off+size : off+size]
		}
		switch column {
		case 1:
			sec.Info = part(p.sec.Info)
		case 2:
			sec.Types = part(p.sec.Types)
		case 3:
			sec.Abbrev = part(p.sec.Abbrev)
		case 4:
			sec.Line = part(p.sec.Line)
		case 5: // .debug_loc in version 2, .debug_loclists in version 5
			sec.Loc, sec.LocLists = part(p.sec.Loc), part(p.sec.LocLists)
		case 6:
			sec.StrOffsets = part(p.sec.StrOffsets)
		case 8:
			sec.RngLists = part(p.sec.RngLists)
		}
	}
	return sec, true
}

// Unit returns the split unit with an identification, nil if there is none.
func (p *Pack) Unit(id uint64) *Unit {
	sec, ok := p.cut(p.units, id)
	if !ok {
		return nil
	}
	d := NewSplit(sec)
	d.Signature = p.typeUnit
	for _, u := range d.Units() {
		if !u.IsType() {
			return u
		}
	}
	return nil
}

func (p *Pack) typeUnit(sig uint64) *Unit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u, ok := p.typeUnits[sig]; ok {
		return u
	}
	p.typeUnits[sig] = nil
	if sec, ok := p.cut(p.types, sig); ok {
		d := NewSplit(sec)
		d.Signature = p.typeUnit
		for _, u := range d.Units() {
			if u.IsType() {
				p.typeUnits[sig] = u
				break
			}
		}
	}
	return p.typeUnits[sig]
}
