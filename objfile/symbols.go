package objfile

import (
	"cmp"
	"debug/elf"
	"slices"
	"sort"
	"strings"

	"mgtrace/cxxname"
)

// symbol is a function or object of a symbol table.
type symbol struct {
	name  string // without a version ("@GLIBC_2.14")
	addr  uint64
	size  uint64
	ifunc bool
	bind  elf.SymBind
	typed bool // STT_FUNC or STT_GNU_IFUNC, not a bare label

	parts  [][2]uint64 // unlikely parts elsewhere
	partOf int         // index of the function that this is an unlikely part of, or -1
}

// symbolTable holds what .symtab (of the file or its debug file) and .dynsym define.
type symbolTable struct {
	funcs   []symbol // by address, then best name first
	objects []symbol
	ranges  spans[int] // index in funcs
	plt     [][2]uint64
}

func (f *File) symbolTable() *symbolTable {
	f.symOnce.Do(func() {
		var t symbolTable
		for _, s := range f.main.elf.Sections {
			if s.Name == ".plt" || strings.HasPrefix(s.Name, ".plt.") {
				t.plt = append(t.plt, [2]uint64{s.Addr, s.Addr + s.Size})
			}
		}
		t.read(f, f.main, (*elf.File).DynamicSymbols)
		t.read(f, f.main, (*elf.File).Symbols)
		if im := f.separate(); im != nil {
			t.read(f, im, (*elf.File).Symbols)
		}
		t.funcs, t.objects = sortSymbols(t.funcs), sortSymbols(t.objects)
		t.joinParts()
		for i, s := range t.funcs {
			t.ranges.add(s.addr, s.addr+s.size, i)
		}
		t.ranges.index()
		f.symbols = t
	})
	return &f.symbols
}

// joinParts gives unlikely parts ("f.cold") to their functions, where one
// function only has the name.
func (t *symbolTable) joinParts() {
	byName := map[string]int{}
	for i, s := range t.funcs {
		t.funcs[i].partOf = -1
		if _, double := byName[s.name]; double {
			byName[s.name] = -1
		} else {
			byName[s.name] = i
		}
	}
	for i := range t.funcs {
		s := &t.funcs[i]
		if !cxxname.IsCold(s.name) || s.size == 0 {
			continue
		}
		base := s.name[:strings.LastIndex(s.name, ".cold")]
		if j, ok := byName[base]; ok && j >= 0 && t.funcs[j].size > 0 {
			s.partOf = j
			t.funcs[j].parts = append(t.funcs[j].parts, [2]uint64{s.addr, s.addr + s.size})
		}
	}
}

// at returns the symbols of an address, best name first.
func (t *symbolTable) at(addr uint64) []symbol {
	i := sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].addr >= addr })
	j := i
	for j < len(t.funcs) && t.funcs[j].addr == addr {
		j++
	}
	return t.funcs[i:j]
}

// labelBefore returns the function of unknown size that addr may lie in: the
// last symbol before it, if that has no size.
func (t *symbolTable) labelBefore(addr uint64) (int, bool) {
	i := sort.Search(len(t.funcs), func(i int) bool { return t.funcs[i].addr > addr }) - 1
	if i < 0 || t.funcs[i].size > 0 || addr-t.funcs[i].addr > 1<<12 {
		return 0, false
	}
	for i > 0 && t.funcs[i-1].addr == t.funcs[i].addr {
		i--
	}
	return i, t.funcs[i].size == 0
}

func (t *symbolTable) inPLT(addr uint64) bool {
	for _, r := range t.plt {
		if r[0] <= addr && addr < r[1] {
			return true
		}
	}
	return false
}

func (t *symbolTable) read(f *File, im *image, list func(*elf.File) ([]elf.Symbol, error)) {
	defer func() { _ = recover() }() // debug/elf on corrupted tables
	syms, err := list(im.elf)
	if err != nil {
		return
	}
	const ifunc = elf.SymType(10) // STT_GNU_IFUNC
	for _, s := range syms {
		if s.Section == elf.SHN_UNDEF || s.Section >= elf.SHN_LORESERVE || s.Value == 0 || s.Name == "" {
			continue
		}
		name, _, _ := strings.Cut(s.Name, "@")
		typ := elf.ST_TYPE(s.Info)
		sym := symbol{name: name, addr: s.Value, size: s.Size, ifunc: typ == ifunc, bind: elf.ST_BIND(s.Info)}
		switch typ {
		case elf.STT_FUNC, ifunc, elf.STT_NOTYPE:
			sym.typed = typ != elf.STT_NOTYPE
			if !f.executable(s.Value) || t.inPLT(s.Value) || !sym.typed && sym.bind != elf.STB_GLOBAL {
				continue
			}
			if sym.size > 0 && !f.executable(s.Value+s.Size-1) {
				sym.size = 0
			}
			t.funcs = append(t.funcs, sym)
		case elf.STT_OBJECT:
			t.objects = append(t.objects, sym)
		}
	}
}

// sortSymbols sorts by address and preference of names, and drops doubles and
// labels inside functions.
func sortSymbols(list []symbol) []symbol {
	order := make([]int32, len(list)) // to move symbols takes longer than to compare them
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &list[i], &list[j]
		switch {
		case a.addr != b.addr:
			return cmp.Compare(a.addr, b.addr)
		case a.better(b):
			return -1
		case b.better(a):
			return 1
		}
		return cmp.Compare(i, j)
	})
	out := make([]symbol, 0, len(list))
	var end uint64 // of the typed symbols so far
	for _, i := range order {
		s, n := &list[i], len(out)
		if n > 0 && out[n-1].addr == s.addr && out[n-1].name == s.name {
			continue
		}
		if !s.typed && s.size == 0 && s.addr < end {
			continue
		}
		if s.typed {
			end = max(end, s.addr+s.size)
		}
		out = append(out, *s)
	}
	return out
}

// better orders the names of one address: those that a programmer would use first.
func (s *symbol) better(o *symbol) bool {
	rank := func(s *symbol) int {
		n := 0
		if s.size == 0 {
			n += 8
		}
		if !s.typed {
			n += 4
		}
		switch s.bind {
		case elf.STB_WEAK:
			n++
		case elf.STB_LOCAL:
			n += 2
		}
		return n
	}
	if a, b := rank(s), rank(o); a != b {
		return a < b
	}
	if a, b := underscores(s.name), underscores(o.name); a != b {
		return a < b
	}
	if len(s.name) != len(o.name) {
		return len(s.name) < len(o.name)
	}
	return s.name < o.name
}

func (s *symbol) global() bool { return s.bind != elf.STB_LOCAL }

func underscores(name string) int {
	if strings.HasPrefix(name, "_Z") {
		return 0
	}
	return len(name) - len(strings.TrimLeft(name, "_"))
}
