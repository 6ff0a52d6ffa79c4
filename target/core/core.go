package core

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"mgtrace/target/mem"
)

// Why a file is not a core that can be read.
var (
	ErrNotCore = errors.New("is not a core file")
	ErrForeign = errors.New("is a core file of another machine")
)

// File is a core file. It is immutable; its methods may be called from several
// goroutines.
type File struct {
	PID     int
	Program string // the process's name (comm), at most 15 bytes
	Args    string // the start of its command line
	Signal  int    // that ended it; 0: none (gcore)
	Info    SigInfo
	Threads []Thread // the first is the one that got the signal
	Auxv    mem.Auxv
	Maps    []mem.Map // in address order; names of anonymous ones are not recorded

	// Missing says what the file should hold and does not, in plain words.
	Missing []string

	r        io.ReaderAt
	size     int64
	segments []segment // by address, disjoint
	backing  map[string]*backing
	closers  []io.Closer
}

// SigInfo tells about the signal that ended the process (NT_SIGINFO).
type SigInfo struct {
	Known  bool
	Signal int
	Code   int
	Addr   uint64 // address at fault, for SIGSEGV, SIGBUS, SIGILL, SIGFPE with Code in (0, 0x80)
}

// Thread is a thread of the process when it ended.
type Thread struct {
	TID    int
	Signal int // that it was handling, 0 none
	Regs   mem.Regs
}

// Options say how to find the files that were mapped.
type Options struct {
	// Open opens a file that the process had mapped, by its path there. nil:
	// the file of that name. Files that are not found are listed in Missing
	// when their bytes are needed.
	Open func(path string) (io.ReaderAt, error)
}

// segment is a PT_LOAD: mapped [lo, hi), of which the core holds the first
// have bytes at file offset.
type segment struct {
	lo, hi  uint64
	offset  uint64
	have    uint64
	lost    uint64 // bytes that the header promises and the file has not
	file    *backing
	fileOff uint64 // offset of lo in file
}

// backing is a mapped file.
type backing struct {
	path string
	r    io.ReaderAt
	why  string // why r is nil
}

const (
	maxSegments = 1 << 20
	maxNotes    = 64 << 20 // bytes
)

// Open reads the core file at path.
func Open(path string, opt Options) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotCore
	}
	var f *File
	if err == nil {
		f, err = New(r, info.Size(), opt)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.closers = append(f.closers, r)
	return f, nil
}

// New reads a core file of size bytes. r is used until Close.
func New(r io.ReaderAt, size int64, opt Options) (*File, error) {
	headers, err := readHeaders(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, size: size, backing: make(map[string]*backing)}
	if opt.Open == nil {
		opt.Open = f.openFile
	}
	if len(headers.progs) < headers.want {
		f.missing("%d of %d program headers: the file is cut off", headers.want-len(headers.progs), headers.want)
	}
	var files []mappedFile
	for _, p := range headers.progs {
		if p.kind == ptNote {
			files = append(files, f.readNotes(p)...)
		}
	}
	f.addSegments(headers.progs)
	f.addFiles(files, opt.Open)
	f.describe()
	return f, nil
}

// Close closes the files that Open and New have opened.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	f.closers = nil
	return errors.Join(errs...)
}

func (f *File) missing(format string, args ...any) {
	f.Missing = append(f.Missing, fmt.Sprintf(format, args...))
}

// openFile is the default of Options.Open.
func (f *File) openFile(path string) (io.ReaderAt, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := r.Stat(); err != nil || !info.Mode().IsRegular() {
		r.Close()
		return nil, errors.Join(err, errors.New("not a regular file"))
	}
	f.closers = append(f.closers, r)
	return r, nil
}

// addSegments makes the list of mappings. Segments that overlap one before them
// (no kernel writes such) are cut.
func (f *File) addSegments(progs []prog) {
	for _, p := range progs {
		if p.kind != ptLoad || p.memSize == 0 || p.addr+p.memSize < p.addr {
			continue
		}
		s := segment{lo: p.addr, hi: p.addr + p.memSize, offset: p.offset, have: min(p.fileSize, p.memSize)}
		if end := uint64(f.size); s.offset >= end {
			s.lost, s.have = s.have, 0
		} else if s.have > end-s.offset {
			s.lost, s.have = s.have-(end-s.offset), end-s.offset
		}
		f.segments = append(f.segments, s)
		f.Maps = append(f.Maps, mem.Map{Lo: s.lo, Hi: s.hi,
			Read: p.flags&4 != 0, Write: p.flags&2 != 0, Exec: p.flags&1 != 0})
	}
	slices.SortStableFunc(f.segments, func(a, b segment) int { return cmp.Compare(a.lo, b.lo) })
	slices.SortStableFunc(f.Maps, func(a, b mem.Map) int { return cmp.Compare(a.Lo, b.Lo) })
	f.dropOverlaps()
}

func (f *File) dropOverlaps() {
	n := 0
	for i := range f.segments {
		if n > 0 && f.segments[i].lo < f.segments[n-1].hi {
			f.missing("the mapping at %#x: it overlaps another", f.segments[i].lo)
			continue
		}
		f.segments[n], f.Maps[n] = f.segments[i], f.Maps[i]
		n++
	}
	f.segments, f.Maps = f.segments[:n], f.Maps[:n]
}

// addFiles names the mappings of files (NT_FILE) and makes the files' bytes the
// fallback for those that the core leaves out.
func (f *File) addFiles(files []mappedFile, open func(string) (io.ReaderAt, error)) {
	for _, m := range files {
		for i := f.find(m.lo); i < len(f.segments) && f.segments[i].lo < m.hi; i++ {
			s := &f.segments[i]
			if s.lo < m.lo {
				continue
			}
			s.fileOff = m.offset + (s.lo - m.lo)
			f.Maps[i].Path, f.Maps[i].Offset = m.path, s.fileOff
			if s.have+s.lost < s.hi-s.lo && !f.Maps[i].Write {
				s.file = f.back(m.path, open)
			}
		}
	}
	f.compareFiles()
}

func (f *File) back(path string, open func(string) (io.ReaderAt, error)) *backing {
	if b := f.backing[path]; b != nil {
		return b
	}
	b := &backing{path: path}
	r, err := open(path)
	if err != nil {
		b.why = err.Error()
		f.missing("unchanged bytes of %s: %v", path, err)
	} else {
		b.r = r
	}
	f.backing[path] = b
	return b
}

// compareFiles holds each file against the bytes of it that the core has (the
// kernel writes the first page of each ELF file, with its build-id, bit 4 of
// /proc/PID/coredump_filter) and does not use one that has changed.
func (f *File) compareFiles() {
	for i, s := range f.segments {
		b := f.backing[f.Maps[i].Path]
		// Whole mappings may differ rightly: ld.so has relocated them.
		unchanged := s.file != nil || s.fileOff == 0 && !f.Maps[i].Write
		if b == nil || b.r == nil || s.have == 0 || !unchanged {
			continue
		}
		n := min(s.have, 4096)
		inCore, inFile := make([]byte, n), make([]byte, n)
		if _, err := f.r.ReadAt(inCore, int64(s.offset)); err != nil || s.fileOff > math.MaxInt64 {
			continue
		}
		if _, err := b.r.ReadAt(inFile, int64(s.fileOff)); err != nil || string(inCore) != string(inFile) {
			b.r, b.why = nil, "the file has changed since"
			f.missing("unchanged bytes of %s: the file has changed since", b.path)
		}
	}
}

// describe adds up what was cut off.
func (f *File) describe() {
	lost, mappings := uint64(0), 0
	for _, s := range f.segments {
		if s.lost > 0 {
			lost += s.lost
			mappings++
		}
	}
	if lost > 0 {
		f.missing("%d bytes of memory in %d mappings: the file is cut off", lost, mappings)
	}
	if len(f.Threads) == 0 {
		f.missing("the registers of all threads")
	}
	if f.Auxv == nil {
		f.missing("the auxiliary vector")
	}
}

// find returns the index of the first segment that ends above addr.
func (f *File) find(addr uint64) int {
	i, _ := slices.BinarySearchFunc(f.segments, addr, func(s segment, addr uint64) int {
		if s.hi <= addr {
			return -1
		}
		return 1
	})
	return i
}

// ReadMemory implements mem.Memory.
func (f *File) ReadMemory(buf []byte, addr uint64) (int, error) {
	n := 0
	for n < len(buf) {
		at := addr + uint64(n)
		i := f.find(at)
		if at < addr || i == len(f.segments) || f.segments[i].lo > at {
			return n, &mem.UnreadableError{Addr: at, Why: "not mapped"}
		}
		k, err := f.readSegment(&f.segments[i], buf[n:], at)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// readSegment reads from the core's part of a segment, or from its file, up to
// where that part ends.
func (f *File) readSegment(s *segment, buf []byte, at uint64) (int, error) {
	skip := at - s.lo
	var r io.ReaderAt
	var off, end uint64
	switch {
	case skip < s.have:
		r, off, end = f.r, s.offset+skip, s.lo+s.have
	case skip < s.have+s.lost:
		return 0, &mem.UnreadableError{Addr: at, Why: "the core file is cut off"}
	case s.file == nil:
		return 0, &mem.UnreadableError{Addr: at, Why: "not in the core file"}
	case s.file.r == nil:
		return 0, &mem.UnreadableError{Addr: at, Why: s.file.path + ": " + s.file.why}
	default:
		r, off, end = s.file.r, s.fileOff+skip, s.hi
	}
	buf = buf[:min(uint64(len(buf)), end-at)]
	if off > math.MaxInt64 {
		return 0, &mem.UnreadableError{Addr: at, Why: "offset out of range"}
	}
	n, err := r.ReadAt(buf, int64(off))
	if n < len(buf) {
		return n, &mem.UnreadableError{Addr: at + uint64(n), Why: fmt.Sprint(err)}
	}
	return n, nil
}

var le = binary.LittleEndian
