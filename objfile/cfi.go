package objfile

import (
	"debug/elf"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"mgtrace/objfile/dwarf"
)

// cfiTable is the call frame information of a file: .eh_frame (Linux Standard
// Base, Core, chapter 10.6) and .debug_frame (DWARF 5, section 6.4).
type cfiTable struct {
	fdes []fde // by lo; of .debug_frame only what .eh_frame lacks
	pool sync.Pool
}

// cie is what several functions have in common.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64 // the column of the return address
	encoding  uint8  // of addresses in its FDEs
	lsda      uint8  // of the address of language-specific data there
	augmented bool
	signal    bool
	insts     []byte
}

// fde describes the frames of [lo, hi). Its rows are computed when first asked for.
type fde struct {
	lo, hi uint64
	cie    *cie
	insts  []byte
	lsda   uint64 // address of language-specific data; 0: none
	at     uint64 // address of insts, for encoded addresses in them
	rows   *atomic.Pointer[frameRows]
}

type frameRows struct {
	rows  []frameRow
	exprs [][]byte
}

// frameRow holds from pc up to the next row: how to find the canonical frame
// address and the caller's registers.
type frameRow struct {
	pc   uint64
	cfa  frameRule // ruleRegister or ruleValExpr
	regs [17]frameRule
}

type frameRule struct {
	kind ruleKind
	reg  uint8
	n    int32 // offset, or index in frameRows.exprs
}

type ruleKind uint8

const (
	ruleNone      ruleKind = iota // nothing is said
	ruleUndefined                 // lost; for the return address: no caller
	ruleSame                      // unchanged
	ruleOffset                    // saved at CFA + n
	ruleValOffset                 // is CFA + n
	ruleRegister                  // is register reg + n
	ruleExpr                      // saved where expression n says
	ruleValExpr                   // is what expression n says
)

// Pointer encodings (Linux Standard Base, Core, section 10.5.1).
const (
	encOmit    = 0xff
	encPCRel   = 0x10
	encFormat  = 0x0f
	encRelMask = 0x70
)

func (f *File) cfiTable() *cfiTable {
	f.cfiOnce.Do(func() {
		t := &f.cfi
		t.pool.New = func() any { return new([8]byte) }
		addr, data := f.ehFrame()
		t.fdes = keepFDEs(f, readFrames(data, addr, true), nil)
		debug := f.main.section(".debug_frame")
		if im := f.separate(); debug == nil && im != nil {
			debug = im.section(".debug_frame")
		}
		t.fdes = keepFDEs(f, readFrames(debug, 0, false), t.fdes)
	})
	return &f.cfi
}

// ehFrame returns .eh_frame and its address, found by its section or, where
// section headers were stripped, through PT_GNU_EH_FRAME.
func (f *File) ehFrame() (addr uint64, data []byte) {
	if s := f.main.elf.Section(".eh_frame"); s != nil {
		return s.Addr, f.main.section(".eh_frame")
	}
	for _, p := range f.main.elf.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		hdr := f.Code(p.Vaddr, 12)
		if len(hdr) < 12 || hdr[0] != 1 {
			return 0, nil
		}
		b := dwarf.NewBuf(hdr, 4)
		ptr, ok := readEncoded(&b, hdr[1], p.Vaddr)
		if seg := f.segment(ptr); ok && seg >= 0 {
			return ptr, f.segmentData(seg)[ptr-f.main.elf.Progs[seg].Vaddr:]
		}
	}
	return 0, nil
}

// readFrames reads all entries of a section that lies at addr.
func readFrames(data []byte, addr uint64, eh bool) []fde {
	cies := map[uint64]*cie{}
	n := countFrames(data, eh)
	list, rows := make([]fde, 0, n), make([]atomic.Pointer[frameRows], n)
	for b := dwarf.NewBuf(data, 0); b.More(); {
		n, dwarf64 := b.Length()
		start := b.Off()
		if b.Bad() || n == 0 || n > uint64(len(data))-start {
			if n == 0 && !eh && !b.Bad() {
				continue
			}
			break // .eh_frame ends with a zero length
		}
		end := start + n
		e := dwarf.NewBuf(data[:end], start)
		idAt := e.Off()
		id := frameID(&e, dwarf64, eh)
		if isCIE(id, dwarf64, eh) {
			b = dwarf.NewBuf(data, end)
			continue
		}
		cieOff := id
		if eh {
			cieOff = idAt - id
		}
		c, seen := cies[cieOff]
		if !seen {
			c = readCIE(data, cieOff, addr, eh)
			cies[cieOff] = c
		}
		if c != nil {
			if d, ok := readFDE(&e, data[:end], c, addr); ok {
				d.rows = &rows[len(list)]
				list = append(list, d)
			}
		}
		b = dwarf.NewBuf(data, end)
	}
	return list
}

// countFrames is how many entries a section has, at most one for each that readFrames comes to.
func countFrames(data []byte, eh bool) (n int) {
	for b := dwarf.NewBuf(data, 0); b.More(); {
		size, _ := b.Length()
		start := b.Off()
		if b.Bad() || size > uint64(len(data))-start || size == 0 && eh {
			break
		}
		if size > 0 {
			n++
		}
		b = dwarf.NewBuf(data, start+size)
	}
	return n
}

func frameID(b *dwarf.Buf, dwarf64, eh bool) uint64 {
	if dwarf64 && !eh {
		return b.U64()
	}
	return uint64(b.U32())
}

func isCIE(id uint64, dwarf64, eh bool) bool {
	switch {
	case eh:
		return id == 0
	case dwarf64:
		return id == ^uint64(0)
	}
	return id == 0xffffffff
}

func readCIE(data []byte, off, addr uint64, eh bool) *cie {
	b := dwarf.NewBuf(data, off)
	n, dwarf64 := b.Length()
	if b.Bad() || n > uint64(len(data))-b.Off() {
		return nil
	}
	end := b.Off() + n
	b = dwarf.NewBuf(data[:end], b.Off())
	if !isCIE(frameID(&b, dwarf64, eh), dwarf64, eh) {
		return nil
	}
	version := b.U8()
	aug := string(b.CString())
	if version >= 4 {
		b.U16() // sizes of addresses and segment selectors
	}
	c := &cie{codeAlign: b.Uleb(), dataAlign: b.Sleb(), lsda: encOmit}
	if version == 1 {
		c.ra = uint64(b.U8())
	} else {
		c.ra = b.Uleb()
	}
	if len(aug) > 0 && !c.augment(&b, aug, addr) {
		return nil
	}
	if b.Bad() || c.ra != RegPC {
		return nil
	}
	c.insts = data[b.Off():end]
	return c
}

// augment reads the augmentation data that the string announces.
func (c *cie) augment(b *dwarf.Buf, aug string, addr uint64) bool {
	if aug[0] != 'z' {
		return false // what follows has no length: it can not be skipped
	}
	c.augmented = true
	n := b.Uleb()
	end := b.Off() + n
	for _, ch := range aug[1:] {
		switch ch {
		case 'R':
			c.encoding = b.U8()
		case 'P':
			readEncoded(b, b.U8(), addr)
		case 'L':
			c.lsda = b.U8()
		case 'S':
			c.signal = true
		}
	}
	if b.Bad() || b.Off() > end {
		return false
	}
	b.Bytes(end - b.Off())
	return !b.Bad()
}

func readFDE(b *dwarf.Buf, data []byte, c *cie, addr uint64) (fde, bool) {
	lo, ok := readEncoded(b, c.encoding, addr)
	size, _ := readEncoded(b, c.encoding&encFormat, addr)
	var lsda uint64
	if c.augmented {
		n := b.Uleb()
		data := *b
		if at, ok := readEncoded(&data, c.lsda, addr); ok && n > 0 && at != addr+b.Off() { // a NULL is not relative
			lsda = at
		}
		b.Bytes(n)
	}
	if !ok || b.Bad() || size == 0 || lo+size < lo {
		return fde{}, false
	}
	return fde{lo: lo, hi: lo + size, cie: c, lsda: lsda, insts: data[b.Off():], at: addr + b.Off()}, true
}

// readEncoded reads a pointer; base is the address of the section's start.
func readEncoded(b *dwarf.Buf, enc uint8, base uint64) (uint64, bool) {
	if enc == encOmit {
		return 0, false
	}
	at := base + b.Off()
	var v uint64
	switch enc & encFormat {
	case 0x0, 0x4, 0xc:
		v = b.U64()
	case 0x1:
		v = b.Uleb()
	case 0x2:
		v = uint64(b.U16())
	case 0x3:
		v = uint64(b.U32())
	case 0x9:
		v = uint64(b.Sleb())
	case 0xa:
		v = uint64(int64(int16(b.U16())))
	case 0xb:
		v = uint64(int64(int32(b.U32())))
	default:
		return 0, false
	}
	switch enc & encRelMask {
	case 0:
	case encPCRel:
		v += at
	default:
		return 0, false
	}
	return v, enc&0x80 == 0 && !b.Bad()
}

// keepFDEs adds to have the descriptions of code that it lacks, and sorts.
func keepFDEs(f *File, list, have []fde) []fde {
	n := len(have)
	have = slices.Grow(have, len(list))
	for _, d := range list {
		if !f.executable(d.lo) {
			continue
		}
		if i := findFDE(have[:n], d.lo); i < 0 {
			have = append(have, d)
		}
	}
	sort.SliceStable(have, func(i, j int) bool { return have[i].lo < have[j].lo })
	return have
}

func findFDE(fdes []fde, pc uint64) int {
	lo, hi := 0, len(fdes)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if fdes[m].lo <= pc {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 || pc >= fdes[lo-1].hi {
		return -1
	}
	return lo - 1
}

// frameRow returns the row that holds at pc, with the expressions that it may
// refer to; nil if there is none.
func (f *File) frameRow(pc uint64) (*frameRow, *frameRows, *fde) {
	t := f.cfiTable()
	i := findFDE(t.fdes, pc)
	if i < 0 {
		return nil, nil, nil
	}
	d := &t.fdes[i]
	r := d.rows.Load()
	if r == nil {
		r = d.execute()
		d.rows.Store(r)
	}
	lo, hi := 0, len(r.rows)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if r.rows[m].pc <= pc {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 {
		return nil, nil, nil
	}
	return &r.rows[lo-1], r, d
}

// cfaAt returns the canonical frame address at pc as register + offset.
func (f *File) cfaAt(pc uint64) (reg int, offset int64, ok bool) {
	row, _, _ := f.frameRow(pc)
	if row == nil || row.cfa.kind != ruleRegister {
		return 0, 0, false
	}
	return int(row.cfa.reg), int64(row.cfa.n), true
}
