package types

// field is a member before it has a place.
type field struct {
	name     string
	pos      int
	t        *Type
	bitField bool
	bits     int
	packed   bool  // by its own attribute
	align    int64 // by its own attribute; 0: none
	override int64 // by its typedef's attribute; 0: none
}

// layout places members one after the other as gcc does on x86-64 (System V
// ABI 3.1.2; gcc/stor-layout.cc, place_field with PCC_BITFIELD_TYPE_MATTERS).
type layout struct {
	union, packed bool
	members       []Member
	bit           int64 // first free bit
	end           int64 // bits of the largest member of a union
	align         int64 // bytes
}

// place gives f its offset; false if the type becomes too large.
func (l *layout) place(f *field) bool {
	if l.union {
		l.bit = 0
	}
	natural := f.t.Alignment()
	if f.override > 0 {
		natural = f.override
	}
	packed := l.packed || f.packed
	align := natural
	if packed {
		align = 1
	}
	align = max(align, f.align)
	if f.bitField {
		l.placeBits(f, natural, align, packed)
	} else {
		l.grow(align)
		l.bit = roundUp(l.bit, align*8)
		l.members = append(l.members, Member{Name: f.name, Type: f.t, Offset: l.bit / 8})
		l.bit += f.t.Size * 8
	}
	l.end = max(l.end, l.bit)
	return l.bit/8 < maxObject
}

// placeBits places a bit-field:
//
//  1. of no width: the next member begins at the next boundary of the type;
//  2. not packed: it must not cross a boundary of its type, or it begins at one;
//  3. only a named one raises the alignment of the structure.
func (l *layout) placeBits(f *field, natural, align int64, packed bool) {
	if f.bits == 0 {
		l.bit = roundUp(l.bit, max(natural, f.align)*8)
		return
	}
	if f.align > 0 {
		l.bit = roundUp(l.bit, f.align*8)
	}
	unit, size := natural*8, f.t.Size*8
	if !packed && (l.bit%unit+int64(f.bits)+unit-1)/unit > size/unit {
		l.bit = roundUp(l.bit, unit)
	}
	if f.name != "" {
		l.grow(align)
		l.members = append(l.members, Member{Name: f.name, Type: f.t, Offset: l.bit / 8, BitOffset: int(l.bit % 8), BitSize: f.bits})
	}
	l.bit += int64(f.bits)
}

func (l *layout) grow(align int64) { l.align = max(l.align, align) }

// finish returns the size and alignment of the whole.
func (l *layout) finish(declared int64) (size, align int64) {
	align = max(l.align, declared, 1)
	return roundUp((l.end+7)/8, align), align
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
