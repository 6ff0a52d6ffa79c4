package objfile

import (
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"sync"

	"mgtrace/cxxname"
	"mgtrace/types"
)

// File is one ELF executable or shared object with its debug information.
type File struct {
	path    string
	main    *image
	buildID string
	find    *finder
	opts    Options

	dynamic func() dynamic

	separateOnce sync.Once
	separateFile *image // see separate

	debugOnce sync.Once
	debug     debugInfo

	symOnce sync.Once
	symbols symbolTable

	cfiOnce sync.Once
	cfi     cfiTable

	rangesOnce sync.Once
	ranges     [][2]uint64 // CodeRanges
	guessed    bool

	codeMu sync.Mutex
	code   map[int][]byte // contents of segments, by index in Progs

	funcsOnce sync.Once
	funcs     []Func
	namesOnce sync.Once
	names     [][]cxxname.Name // of funcs
	byName    *cxxname.Index   // of names
	globOnce  sync.Once
	globals   []global
	placeless []global // variables of files that lie at no one place: in pieces, or nowhere
	conv      converter
	universe  *types.Universe

	importsOnce sync.Once
	imports     map[uint64]string

	slotsOnce sync.Once
	slots     map[uint64]Slot

	exportsOnce sync.Once
	exports     exports

	vtablesOnce sync.Once
	vtablesOf   map[string]vtable
}

// Open opens the executable or shared object at path.
func Open(path string, o Options) (*File, error) {
	im, err := openImage(path)
	if err != nil {
		return nil, err
	}
	f, err := newFile(path, im, o)
	if err != nil {
		im.close()
		return nil, err
	}
	f.find = newFinder(path, o)
	return f, nil
}

// Parse reads a file that is at hand, for example an attachment of a trace,
// with the files of its debug information (separate, supplementary, .dwo and
// .dwp in any order; they are told apart by their contents). It looks at no
// other file. The readers must stay usable as long as the File is.
func Parse(name string, r io.ReaderAt, debug ...io.ReaderAt) (*File, error) {
	im, err := newImage(name, r)
	if err != nil {
		return nil, err
	}
	f, err := newFile(name, im, Options{})
	if err != nil {
		return nil, err
	}
	f.find = &finder{path: name, given: []*image{}}
	for i, r := range debug {
		c, err := newImage(fmt.Sprintf("%s: debug file %d", name, i+1), r)
		if err != nil {
			return nil, err
		}
		f.find.given = append(f.find.given, c)
	}
	return f, nil
}

func newFile(path string, im *image, o Options) (*File, error) {
	if t := im.elf.Type; t != elf.ET_EXEC && t != elf.ET_DYN || len(im.elf.Progs) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrNotExecutable)
	}
	f := &File{path: path, main: im, opts: o, buildID: im.buildID(), code: map[int][]byte{}}
	f.dynamic = sync.OnceValue(f.readDynamic)
	f.conv.file = f
	f.universe = types.NewUniverse(&f.conv)
	return f, nil
}

// dynamic is what the dynamic linker would read.
type dynamic struct {
	interp      string
	needed      []string
	pie, shared bool
}

func (f *File) readDynamic() (d dynamic) {
	defer func() { _ = recover() }() // debug/elf on corrupted sections
	for _, p := range f.main.elf.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz > 0 && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err == nil {
				d.interp = cString(b)
			}
		}
	}
	if f.main.elf.Type == elf.ET_DYN {
		const df1PIE = 0x08000000
		flags, _ := f.main.elf.DynValue(elf.DT_FLAGS_1)
		soname, _ := f.main.elf.DynString(elf.DT_SONAME)
		d.pie = len(flags) > 0 && flags[0]&df1PIE != 0 || d.interp != "" && len(soname) == 0
		d.shared = !d.pie
	}
	d.needed, _ = f.main.elf.ImportedLibraries()
	return d
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// Close closes the files that were opened. The File must not be used after it.
func (f *File) Close() error {
	err := f.main.close()
	for _, im := range f.find.used {
		if e := im.close(); err == nil {
			err = e
		}
	}
	return err
}

// Path returns the path as it was opened.
func (f *File) Path() string { return f.path }

// BuildID returns the build-id in hex, "" if there is none.
func (f *File) BuildID() string { return f.buildID }

// PIE says whether the file is a position-independent executable.
func (f *File) PIE() bool { return f.dynamic().pie }

// SharedObject says whether the file is a shared library. Like a PIE it is
// mapped anywhere.
func (f *File) SharedObject() bool { return f.dynamic().shared }

// Static says whether the program runs without the dynamic linker.
func (f *File) Static() bool { return f.dynamic().interp == "" && len(f.dynamic().needed) == 0 }

// Interp returns the path of the dynamic linker, "" if there is none.
func (f *File) Interp() string { return f.dynamic().interp }

// Needed returns the libraries that the file is linked with.
func (f *File) Needed() []string { return append([]string(nil), f.dynamic().needed...) }

// Entry returns the address of the first instruction.
func (f *File) Entry() uint64 { return f.main.elf.Entry }

// Machine returns the machine's name.
func (f *File) Machine() string { return "x86-64" }

// Warnings says what debug information is missing, after it was used.
func (f *File) Warnings() []string {
	f.info()
	f.debug.mu.Lock()
	defer f.debug.mu.Unlock()
	return append([]string(nil), f.find.warn...)
}

// DebugFiles opens all debug information and returns the paths of the files
// beside Path that it lies in: what a trace must carry for Parse.
func (f *File) DebugFiles() []string {
	d := f.info()
	for _, u := range d.units {
		u.Full()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var paths []string
	seen := map[string]bool{f.path: true}
	for _, im := range f.find.used {
		if !seen[im.name] {
			seen[im.name] = true
			paths = append(paths, im.name)
		}
	}
	return paths
}

// Offset returns the offset in the file of a virtual address; not ok if the
// address is not backed by the file.
func (f *File) Offset(vaddr uint64) (uint64, bool) {
	if p := f.segment(vaddr); p >= 0 {
		prog := f.main.elf.Progs[p]
		return prog.Off + (vaddr - prog.Vaddr), true
	}
	return 0, false
}

// Vaddr is the inverse of Offset. Where several segments map an offset it is
// the executable one's.
func (f *File) Vaddr(offset uint64) (uint64, bool) {
	var addr uint64
	found := false
	for _, p := range f.main.elf.Progs {
		if p.Type != elf.PT_LOAD || offset < p.Off || offset-p.Off >= p.Filesz {
			continue
		}
		if !found || p.Flags&elf.PF_X != 0 {
			addr, found = p.Vaddr+(offset-p.Off), true
		}
	}
	return addr, found
}

// segment returns the index of the loaded segment whose file contents hold vaddr, or -1.
func (f *File) segment(vaddr uint64) int {
	for i, p := range f.main.elf.Progs {
		if p.Type == elf.PT_LOAD && vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Filesz {
			return i
		}
	}
	return -1
}

// executable says whether addr can hold code. Address 0 never does: there lies
// what the linker discarded.
func (f *File) executable(addr uint64) bool {
	if addr == 0 {
		return false
	}
	i := f.segment(addr)
	return i >= 0 && f.main.elf.Progs[i].Flags&elf.PF_X != 0
}

// Code returns the n bytes at a virtual address as the file has them, fewer if
// the segment ends there, nil if nothing is mapped. They must not be changed.
func (f *File) Code(vaddr uint64, n int) []byte {
	i := f.segment(vaddr)
	if i < 0 || n <= 0 {
		return nil
	}
	data := f.segmentData(i)
	off := vaddr - f.main.elf.Progs[i].Vaddr
	if off >= uint64(len(data)) {
		return nil
	}
	end := min(off+uint64(n), uint64(len(data)))
	return data[off:end:end]
}

func (f *File) segmentData(i int) []byte {
	f.codeMu.Lock()
	defer f.codeMu.Unlock()
	data, ok := f.code[i]
	if !ok {
		p := f.main.elf.Progs[i]
		data = contents(p, int64(min(p.Filesz, 1<<40)))
		f.code[i] = data
	}
	return data
}

// contents reads n bytes, or what there is of them.
func contents(r io.ReaderAt, n int64) []byte {
	if _, err := r.ReadAt(make([]byte, 1), n-1); err != nil { // a damaged header: no memory for what it says
		data, _ := io.ReadAll(io.NewSectionReader(r, 0, n))
		return data
	}
	data := make([]byte, n)
	k, _ := io.ReadFull(io.NewSectionReader(r, 0, n), data)
	return data[:k]
}

// LoadRange returns the half-open range of virtual addresses that the file occupies.
func (f *File) LoadRange() (lo, hi uint64) {
	lo = ^uint64(0)
	for _, p := range f.main.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Memsz > 0 {
			lo, hi = min(lo, p.Vaddr), max(hi, p.Vaddr+p.Memsz)
		}
	}
	if hi == 0 {
		return 0, 0
	}
	return lo, hi
}

// CodeRanges returns the half-open ranges of machine code for a linear sweep,
// sorted and disjoint: the functions that .eh_frame and symbols delimit. What
// lies between them may be padding or data and is left out, as are the stubs
// of the procedure linkage table. guessed says that the file delimits no
// functions, so that the ranges are whole executable sections. The slice must not be
// changed.
func (f *File) CodeRanges() (ranges [][2]uint64, guessed bool) {
	f.rangesOnce.Do(func() {
		f.ranges, f.guessed = f.codeRanges()
		for i := range f.ranges {
			if r := &f.ranges[i]; f.SignalFrame(r[0]) && r[0]+1 < r[1] {
				r[0]++ // the unwind entry of __restore_rt begins a byte before it (glibc, sigaction.c)
			}
		}
	})
	return f.ranges, f.guessed
}

func (f *File) codeRanges() (ranges [][2]uint64, guessed bool) {
	add := func(lo, hi uint64) {
		if lo < hi && f.executable(lo) && f.executable(hi-1) && !f.symbolTable().inPLT(lo) {
			ranges = append(ranges, [2]uint64{lo, hi})
		}
	}
	for _, e := range f.cfiTable().fdes {
		add(e.lo, e.hi)
	}
	for _, s := range f.symbolTable().funcs {
		add(s.addr, s.addr+s.size)
	}
	if ranges = mergeRanges(ranges); len(ranges) > 0 {
		return ranges, false
	}
	for _, s := range f.main.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type != elf.SHT_NOBITS {
			add(s.Addr, s.Addr+s.Size)
		}
	}
	if len(ranges) == 0 {
		for _, p := range f.main.elf.Progs {
			if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
				add(p.Vaddr, p.Vaddr+p.Filesz)
			}
		}
	}
	return mergeRanges(ranges), true
}

// mergeRanges sorts ranges and joins those that overlap.
func mergeRanges(r [][2]uint64) [][2]uint64 {
	slices.SortFunc(r, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	out := r[:0]
	for _, x := range r {
		if n := len(out); n > 0 && x[0] < out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], x[1])
			continue
		}
		out = append(out, x)
	}
	return out
}

// Universe returns the types of the debug information, and what callers add.
func (f *File) Universe() *types.Universe { return f.universe }

// WritableSegments returns the half-open ranges of virtual addresses of the
// static data, .bss included.
func (f *File) WritableSegments() (ranges [][2]uint64) {
	for _, p := range f.main.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && p.Memsz > 0 {
			ranges = append(ranges, [2]uint64{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	return ranges
}

// ReadOnly returns what the file has for memory that a process can not write to, segment by segment. It must not be
// changed.
func (f *File) ReadOnly() (segments [][]byte) {
	for i, p := range f.main.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W == 0 && p.Filesz > 0 {
			segments = append(segments, f.segmentData(i))
		}
	}
	return segments
}

// CodeSize is how many bytes of the file can be executed.
func (f *File) CodeSize() (size uint64) {
	for _, p := range f.main.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			size += p.Filesz
		}
	}
	return size
}

// Bias returns what is added to virtual addresses where size bytes of the file,
// from offset, are mapped at an address, to be executed or not; not ok if they belong to no segment.
func (f *File) Bias(at, offset, size uint64, exec bool) (bias uint64, ok bool) {
	// Of a small file, lld (LLVM's linker) has several segments in one page, which is mapped for each of them.
	for _, alike := range [2]bool{true, false} {
		for _, p := range f.main.elf.Progs {
			if p.Type != elf.PT_LOAD || alike && p.Flags&elf.PF_X != 0 != exec {
				continue
			}
			if offset <= p.Off && p.Off < offset+size {
				return at - offset + p.Off - p.Vaddr, true
			}
			if p.Off <= offset && offset < p.Off+p.Filesz { // a later part of a segment
				bias, ok = at-offset+p.Off-p.Vaddr, true
			}
		}
		if ok {
			return bias, true
		}
	}
	return 0, false
}
