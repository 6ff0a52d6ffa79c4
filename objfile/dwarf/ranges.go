package dwarf

// Ranges returns the addresses that the entry covers, half-open, in the order
// of the debug information, empty ones left out (DWARF 5, section 2.17).
func (e *Entry) Ranges() [][2]uint64 {
	if v := e.value(AttrRanges); v != nil {
		return e.Unit.rangeList(v)
	}
	low, ok := e.Addr(AttrLowPC)
	if !ok {
		return nil
	}
	high, ok := e.Addr(AttrHighPC)
	if !ok {
		n, isLen := e.Uint(AttrHighPC)
		if !isLen {
			return nil
		}
		high = low + n
	}
	if high <= low {
		return nil
	}
	return [][2]uint64{{low, high}}
}

func (u *Unit) rangeList(v *value) [][2]uint64 {
	if u.Version >= 5 {
		off := v.n
		if v.form == formRnglistx {
			var ok bool
			if off, ok = u.listOffset(u.data.sec.RngLists, u.bases().rng, v.n); !ok {
				return nil
			}
		}
		return u.rangeList5(NewBuf(u.data.sec.RngLists, off))
	}
	// Ranges are not split in DWARF 4: they lie in the main file.
	off := v.n
	if u.skeleton != nil {
		off += u.skeleton.bases().gnuRng
	}
	return u.rangeList4(NewBuf(u.addrUnit().data.sec.Ranges, off))
}

// listOffset looks up entry i of the offset table at base.
func (u *Unit) listOffset(sec []byte, base, i uint64) (uint64, bool) {
	size := uint64(4)
	if u.dwarf64 {
		size = 8
	}
	if i > uint64(len(sec))/size {
		return 0, false
	}
	b := NewBuf(sec, base+i*size)
	off := b.offset(u.dwarf64)
	return base + off, !b.Bad()
}

// rangeList4 reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (u *Unit) rangeList4(b Buf) (list [][2]uint64) {
	base := u.base()
	for b.More() {
		lo, hi := b.U64(), b.U64()
		switch {
		case b.Bad() || lo == 0 && hi == 0:
			return list
		case lo == ^uint64(0):
			base = hi
		case lo < hi:
			list = append(list, [2]uint64{base + lo, base + hi})
		}
	}
	return list
}

// rangeList5 reads a list of .debug_rnglists (DWARF 5, section 7.25).
func (u *Unit) rangeList5(b Buf) (list [][2]uint64) {
	base := u.base()
	for b.More() {
		var lo, hi uint64
		ok := true
		switch b.U8() {
		case 0: // DW_RLE_end_of_list
			return list
		case 1: // DW_RLE_base_addressx
			base, _ = u.Addr(b.Uleb())
			continue
		case 2: // DW_RLE_startx_endx
			lo, ok = u.Addr(b.Uleb())
			hi, _ = u.Addr(b.Uleb())
		case 3: // DW_RLE_startx_length
			lo, ok = u.Addr(b.Uleb())
			hi = lo + b.Uleb()
		case 4: // DW_RLE_offset_pair
			lo = base + b.Uleb()
			hi = base + b.Uleb()
		case 5: // DW_RLE_base_address
			base = b.U64()
			continue
		case 6: // DW_RLE_start_end
			lo, hi = b.U64(), b.U64()
		case 7: // DW_RLE_start_length
			lo = b.U64()
			hi = lo + b.Uleb()
		default:
			return list
		}
		if ok && lo < hi && !b.Bad() {
			list = append(list, [2]uint64{lo, hi})
		}
	}
	return list
}

// ExprAt returns the location expression of an attribute that holds at an
// address. found says whether there is an attribute with a location at all;
// list, whether it is a location list, whose entries hold exactly where they say.
func (e *Entry) ExprAt(a Attr, addr uint64) (expr []byte, list, found bool) {
	v := e.value(a)
	if v == nil {
		return nil, false, false
	}
	u := e.Unit
	switch v.form {
	case formExprloc, formBlock, formBlock1, formBlock2, formBlock4:
		return v.b, false, true
	case formLoclistx:
		if off, ok := u.listOffset(u.data.sec.LocLists, u.bases().loc, v.n); ok {
			return u.locList5(NewBuf(u.data.sec.LocLists, off), addr), true, true
		}
		return nil, true, true
	case formSecOffset, formData4, formData8:
		switch {
		case u.Version >= 5:
			expr = u.locList5(NewBuf(u.data.sec.LocLists, v.n), addr)
		case u.data.split:
			expr = u.locListGNU(NewBuf(u.data.sec.Loc, v.n), addr)
		default:
			expr = u.locList4(NewBuf(u.data.sec.Loc, v.n), addr)
		}
		return expr, true, true
	}
	return nil, false, false
}

// locList4 reads a list of .debug_loc (DWARF 4, section 2.6.2).
func (u *Unit) locList4(b Buf, addr uint64) []byte {
	base := u.base()
	for b.More() {
		lo, hi := b.U64(), b.U64()
		if lo == 0 && hi == 0 {
			return nil
		}
		if lo == ^uint64(0) {
			base = hi
			continue
		}
		expr := b.Bytes(uint64(b.U16()))
		if base+lo <= addr && addr < base+hi && expr != nil {
			return expr
		}
	}
	return nil
}

// locListGNU reads a list of .debug_loc.dwo as gcc and clang write it with
// DWARF 4 (gcc wiki, DebugFission): kinds 1 base, 2 start-end, 3 start-length.
func (u *Unit) locListGNU(b Buf, addr uint64) []byte {
	base := u.base()
	for b.More() {
		var lo, hi uint64
		switch b.U8() {
		case 1:
			base, _ = u.Addr(b.Uleb())
			continue
		case 2:
			lo, _ = u.Addr(b.Uleb())
			hi, _ = u.Addr(b.Uleb())
		case 3:
			lo, _ = u.Addr(b.Uleb())
			n := b.U32()
			// Where gcc starts a range a byte before a label it subtracts that
			// byte from the length instead of adding it: -1 is 1.
			if n == 0xffffffff {
				n = 1
			}
			hi = lo + uint64(n)
		case 4:
			lo = base + uint64(b.U32())
			hi = base + uint64(b.U32())
		default:
			return nil
		}
		expr := b.Bytes(uint64(b.U16()))
		if lo <= addr && addr < hi && expr != nil {
			return expr
		}
	}
	return nil
}

// locList5 reads a list of .debug_loclists (DWARF 5, section 7.29). A default
// location holds where no other entry does.
func (u *Unit) locList5(b Buf, addr uint64) (dflt []byte) {
	base := u.base()
	for b.More() {
		var lo, hi uint64
		isDefault := false
		switch b.U8() {
		case 0: // DW_LLE_end_of_list
			return dflt
		case 1: // DW_LLE_base_addressx
			base, _ = u.Addr(b.Uleb())
			continue
		case 2: // DW_LLE_startx_endx
			lo, _ = u.Addr(b.Uleb())
			hi, _ = u.Addr(b.Uleb())
		case 3: // DW_LLE_startx_length
			lo, _ = u.Addr(b.Uleb())
			hi = lo + b.Uleb()
		case 4: // DW_LLE_offset_pair
			lo = base + b.Uleb()
			hi = base + b.Uleb()
		case 5: // DW_LLE_default_location
			isDefault = true
		case 6: // DW_LLE_base_address
			base = b.U64()
			continue
		case 7: // DW_LLE_start_end
			lo, hi = b.U64(), b.U64()
		case 8: // DW_LLE_start_length
			lo = b.U64()
			hi = lo + b.Uleb()
		case 9: // DW_LLE_GNU_view_pair
			b.Uleb()
			b.Uleb()
			continue
		default:
			return dflt
		}
		expr := b.Bytes(b.Uleb())
		switch {
		case expr == nil:
			return dflt
		case isDefault:
			dflt = expr
		case lo <= addr && addr < hi:
			return expr
		}
	}
	return dflt
}
