package dwarf

import (
	"path"
	"sort"
	"strings"
	"sync"
)

// Row says that the code from Addr up to the next row's Addr is of a source position.
type Row struct {
	Addr   uint64
	File   int // index for LineTable.File
	Line   int // 0 if the code has no line
	Column int
	Stmt   bool // a recommended place for a breakpoint
	End    bool // the first address behind a sequence
}

// LineTable is the line table of a unit. Its files are read at once, its rows
// when they are first asked for.
type LineTable struct {
	header lineHeader
	files  []string // by index in the program, "" if there is none

	once sync.Once
	seqs []sequence
}

// sequence is a run of rows in the order of their addresses; its last row is an End.
type sequence struct {
	lo, hi uint64
	rows   []Row
}

type lineHeader struct {
	version    int
	program    []byte
	minInst    uint64
	maxOps     uint64
	stmt       bool
	lineBase   int
	lineRange  int
	opcodeBase int
	lengths    []byte
}

// Lines returns the unit's line table; nil if there is none.
func (u *Unit) Lines() *LineTable {
	u.lineOnce.Do(func() {
		if r := u.info0(); r.hasLines {
			u.lines = u.readLineTable(r.stmtList)
		}
	})
	return u.lines
}

// FileName returns the file that index i of DW_AT_decl_file or DW_AT_call_file
// names. A split unit by gcc has a table of file names of its own; one by
// clang uses that of its skeleton.
func (u *Unit) FileName(i uint64) string {
	t := u.Lines()
	if t == nil && u.skeleton != nil {
		t = u.skeleton.Lines()
	}
	if t == nil {
		return ""
	}
	return t.File(int(min(i, 1<<30)))
}

// File returns a file's path, absolute where the debug information says enough; "" if unknown.
func (t *LineTable) File(i int) string {
	if i < 0 || i >= len(t.files) {
		return ""
	}
	return t.files[i]
}

// Files returns the table of files.
func (t *LineTable) Files() []string { return t.files }

// Row returns the row that covers addr.
func (t *LineTable) Row(addr uint64) (Row, bool) {
	if rows, i := t.find(addr); rows != nil {
		return rows[i], true
	}
	return Row{}, false
}

// Before returns the nearest row with a line among the one that covers addr and those
// before it from low on.
func (t *LineTable) Before(addr, low uint64) (Row, bool) {
	rows, i := t.find(addr)
	for ; rows != nil && i >= 0 && rows[i].Addr >= low; i-- {
		if rows[i].Line > 0 {
			return rows[i], true
		}
	}
	return Row{}, false
}

// find returns the sequence that has addr, and the row that covers it; nil if there is none.
func (t *LineTable) find(addr uint64) (rows []Row, row int) {
	t.once.Do(t.run)
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].lo > addr }) - 1
	// Sequences rarely overlap; where they do, one further back may hold addr.
	for tries := 0; i >= 0 && tries < 8; i, tries = i-1, tries+1 {
		s := &t.seqs[i]
		if addr >= s.hi {
			continue
		}
		j := sort.Search(len(s.rows), func(j int) bool { return s.rows[j].Addr > addr }) - 1
		if j >= 0 && !s.rows[j].End {
			return s.rows, j
		}
	}
	return nil, 0
}

// Sequences calls visit with the rows of each sequence.
func (t *LineTable) Sequences(visit func(rows []Row)) {
	t.once.Do(t.run)
	for _, s := range t.seqs {
		visit(s.rows)
	}
}

// readLineTable reads the header at off (DWARF 5, section 6.2.4).
func (u *Unit) readLineTable(off uint64) *LineTable {
	sec := u.data.sec.Line
	b := NewBuf(sec, off)
	n, dwarf64 := b.Length()
	if b.Bad() || n > uint64(len(sec))-b.Off() {
		return nil
	}
	b.data = sec[:b.Off()+n]
	t := &LineTable{}
	h := &t.header
	h.version = int(b.U16())
	if h.version < 2 || h.version > 5 {
		return nil
	}
	if h.version >= 5 {
		b.U16() // sizes of addresses and segment selectors
	}
	headerLen := b.offset(dwarf64)
	start := b.Off() + headerLen
	if b.Bad() || start < b.Off() || start > uint64(len(b.data)) {
		return nil
	}
	h.program = b.data[start:]
	h.minInst = uint64(b.U8())
	h.maxOps = 1
	if h.version >= 4 {
		h.maxOps = uint64(b.U8())
	}
	h.stmt = b.U8() != 0
	h.lineBase = int(int8(b.U8()))
	h.lineRange = int(b.U8())
	h.opcodeBase = int(b.U8())
	if h.opcodeBase > 0 {
		h.lengths = b.Bytes(uint64(h.opcodeBase - 1))
	}
	if h.version >= 5 {
		t.files = u.lineFiles5(&b, dwarf64)
	} else {
		t.files = u.lineFiles4(&b)
	}
	return t
}

// lineFiles4 reads the file table of versions 2 to 4, whose files count from 1.
func (u *Unit) lineFiles4(b *Buf) []string {
	dirs := []string{u.CompDir()}
	for b.More() {
		dir := string(b.CString())
		if dir == "" {
			break
		}
		dirs = append(dirs, absolute(u.CompDir(), dir))
	}
	files := []string{absolute(u.CompDir(), u.Name())}
	for b.More() {
		name := string(b.CString())
		if name == "" {
			break
		}
		dir := b.Uleb()
		b.Uleb() // time
		b.Uleb() // length
		if dir < uint64(len(dirs)) {
			name = absolute(dirs[dir], name)
		}
		files = append(files, name)
	}
	return files
}

// lineFiles5 reads the directory and file tables of version 5.
func (u *Unit) lineFiles5(b *Buf, dwarf64 bool) []string {
	var dirs, files []string
	u.lineEntries(b, dwarf64, func(name string, _ uint64) {
		if len(dirs) > 0 {
			name = absolute(dirs[0], name)
		}
		dirs = append(dirs, name)
	})
	u.lineEntries(b, dwarf64, func(name string, dir uint64) {
		if dir < uint64(len(dirs)) {
			name = absolute(dirs[dir], name)
		}
		files = append(files, name)
	})
	return files
}

func (u *Unit) lineEntries(b *Buf, dwarf64 bool, add func(name string, dir uint64)) {
	type field struct {
		content uint64
		form    form
	}
	fields := make([]field, b.U8())
	for i := range fields {
		fields[i] = field{b.Uleb(), form(b.Uleb())}
	}
	n := b.Uleb()
	if len(fields) == 0 {
		return
	}
	reader := &Unit{data: u.data, dwarf64: dwarf64, Version: 5}
	for i := uint64(0); i < n && b.More(); i++ {
		var name string
		var dir uint64
		for _, f := range fields {
			v := value{form: f.form}
			reader.readValue(b, &v)
			switch f.content {
			case 1: // DW_LNCT_path
				v.attr = AttrName
				e := Entry{Unit: u, vals: []value{v}}
				name = e.String(AttrName)
			case 2: // DW_LNCT_directory_index
				dir = v.n
			}
		}
		if !b.Bad() {
			add(name, dir)
		}
	}
}

func absolute(dir, name string) string {
	if name == "" || strings.HasPrefix(name, "/") || dir == "" {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// run executes the line program (DWARF 5, section 6.2.5).
func (t *LineTable) run() {
	h := &t.header
	if h.lineRange == 0 || h.maxOps == 0 {
		return
	}
	var rows []Row
	reg := Row{File: 1, Line: 1, Stmt: h.stmt}
	reset := reg
	var op uint64
	advance := func(n uint64) {
		if h.maxOps == 1 {
			reg.Addr += h.minInst * n
			return
		}
		reg.Addr += h.minInst * ((op + n) / h.maxOps)
		op = (op + n) % h.maxOps
	}
	emit := func() { rows = append(rows, reg) }
	for b := NewBuf(h.program, 0); b.More(); {
		code := int(b.U8())
		if code >= h.opcodeBase {
			code -= h.opcodeBase
			advance(uint64(code / h.lineRange))
			reg.Line += h.lineBase + code%h.lineRange
			emit()
			continue
		}
		switch code {
		case 0:
			n := b.Uleb()
			ext := NewBuf(b.Bytes(n), 0)
			switch ext.U8() {
			case 1: // DW_LNE_end_sequence
				reg.End = true
				emit()
				t.addSequence(rows)
				rows, reg, op = nil, reset, 0
			case 2: // DW_LNE_set_address
				reg.Addr, op = ext.U64(), 0
			}
		case 1: // DW_LNS_copy
			emit()
		case 2: // DW_LNS_advance_pc
			advance(b.Uleb())
		case 3: // DW_LNS_advance_line
			reg.Line += int(b.Sleb())
		case 4: // DW_LNS_set_file
			reg.File = int(min(b.Uleb(), 1<<30))
		case 5: // DW_LNS_set_column
			reg.Column = int(min(b.Uleb(), 1<<30))
		case 6: // DW_LNS_negate_stmt
			reg.Stmt = !reg.Stmt
		case 7, 10, 11: // DW_LNS_set_basic_block, prologue_end, epilogue_begin
		case 8: // DW_LNS_const_add_pc
			advance(uint64((255 - h.opcodeBase) / h.lineRange))
		case 9: // DW_LNS_fixed_advance_pc
			reg.Addr += uint64(b.U16())
			op = 0
		case 12: // DW_LNS_set_isa
			b.Uleb()
		default:
			for n := h.operands(code); n > 0; n-- {
				b.Uleb()
			}
		}
	}
	sort.SliceStable(t.seqs, func(i, j int) bool { return t.seqs[i].lo < t.seqs[j].lo })
}

func (h *lineHeader) operands(code int) int {
	if code-1 < len(h.lengths) {
		return int(h.lengths[code-1])
	}
	return 0
}

// addSequence keeps a sequence that has addresses in order and is not empty.
func (t *LineTable) addSequence(rows []Row) {
	n := len(rows)
	if n < 2 || rows[n-1].Addr <= rows[0].Addr {
		return
	}
	if !sort.SliceIsSorted(rows, func(i, j int) bool { return rows[i].Addr < rows[j].Addr }) {
		return
	}
	t.seqs = append(t.seqs, sequence{rows[0].Addr, rows[n-1].Addr, rows})
}
