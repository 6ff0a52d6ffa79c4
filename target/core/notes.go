package core

import (
	"bytes"
	"strings"

	"mgtrace/target/mem"
)

// Note types of owner "CORE" (linux/elf.h).
const (
	ntPRStatus = 1
	ntPRPSInfo = 3
	ntAuxv     = 6
	ntSigInfo  = 0x53494749
	ntFile     = 0x46494c45
)

// Offsets in struct elf_prstatus and elf_prpsinfo of x86-64 (linux/elfcore.h).
const (
	prSignal  = 12
	prPID     = 32
	prRegs    = 112
	psPID     = 24
	psName    = 40
	psArgs    = 56
	psSize    = 136
	siCode    = 8
	siAddr    = 16
	maxFiles  = 1 << 20
	fileEntry = 24
)

// mappedFile is an entry of NT_FILE.
type mappedFile struct {
	lo, hi uint64
	offset uint64 // bytes
	path   string
}

// readNotes reads one PT_NOTE as far as the file goes.
func (f *File) readNotes(p prog) []mappedFile {
	size := min(p.fileSize, maxNotes)
	if p.offset > uint64(f.size) {
		size = 0
	} else if size > uint64(f.size)-p.offset {
		size = uint64(f.size) - p.offset
	}
	if size < p.fileSize {
		f.missing("%d bytes of notes: the file is cut off", p.fileSize-size)
	}
	b := make([]byte, size)
	if n, err := f.r.ReadAt(b, int64(p.offset)); err != nil && n < len(b) {
		f.missing("notes: %v", err)
		b = b[:n]
	}
	var files []mappedFile
	for {
		name, kind, desc, rest, ok := nextNote(b)
		if !ok {
			return files
		}
		b = rest
		if name == "CORE" {
			files = append(files, f.readNote(kind, desc)...)
		}
	}
}

// nextNote splits a note off: three words, then name and contents, each padded
// to four bytes.
func nextNote(b []byte) (name string, kind uint32, desc, rest []byte, ok bool) {
	if len(b) < 12 {
		return
	}
	nameSize, descSize := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
	kind, b = le.Uint32(b[8:]), b[12:]
	pad := func(n uint64) uint64 { return (n + 3) &^ 3 }
	if pad(nameSize)+descSize > uint64(len(b)) {
		return
	}
	name = strings.TrimRight(string(b[:nameSize]), "\x00")
	b = b[pad(nameSize):]
	desc, rest = b[:descSize], b[min(pad(descSize), uint64(len(b))):]
	return name, kind, desc, rest, true
}

func (f *File) readNote(kind uint32, desc []byte) []mappedFile {
	switch kind {
	case ntPRStatus:
		f.readThread(desc)
	case ntPRPSInfo:
		if len(desc) >= psSize {
			f.PID = int(le.Uint32(desc[psPID:]))
			f.Program = cString(desc[psName:psArgs])
			f.Args = strings.TrimRight(cString(desc[psArgs:psSize]), " ")
		}
	case ntAuxv:
		f.Auxv = mem.ParseAuxv(desc)
	case ntSigInfo:
		f.readSigInfo(desc)
	case ntFile:
		return readFiles(desc)
	}
	return nil
}

func cString(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

func (f *File) readThread(desc []byte) {
	if len(desc) < prRegs+mem.RegsSize {
		f.missing("the registers of a thread")
		return
	}
	regs, err := mem.DecodeRegs(desc[prRegs:])
	if err != nil {
		f.missing("the registers of a thread: %v", err)
		return
	}
	t := Thread{TID: int(le.Uint32(desc[prPID:])), Signal: int(le.Uint16(desc[prSignal:])), Regs: regs}
	if len(f.Threads) == 0 {
		f.Signal = t.Signal
	}
	f.Threads = append(f.Threads, t)
}

func (f *File) readSigInfo(desc []byte) {
	if f.Info.Known || len(desc) < siAddr+8 {
		return // the first thread's comes first
	}
	f.Info = SigInfo{
		Known:  true,
		Signal: int(int32(le.Uint32(desc))),
		Code:   int(int32(le.Uint32(desc[siCode:]))),
	}
	switch f.Info.Signal {
	case 4, 7, 8, 11: // SIGILL, SIGBUS, SIGFPE, SIGSEGV
		if f.Info.Code > 0 && f.Info.Code < 0x80 {
			f.Info.Addr = le.Uint64(desc[siAddr:])
		}
	}
}

// readFiles reads NT_FILE: a count, a page size, the ranges (with offsets in
// pages), then the names.
func readFiles(desc []byte) []mappedFile {
	if len(desc) < 16 {
		return nil
	}
	count, page := le.Uint64(desc), le.Uint64(desc[8:])
	desc = desc[16:]
	if count > maxFiles || count*fileEntry > uint64(len(desc)) {
		return nil
	}
	names := desc[count*fileEntry:]
	files := make([]mappedFile, 0, count)
	for i := range count {
		e := desc[i*fileEntry:]
		name, rest, found := bytes.Cut(names, []byte{0})
		if !found {
			break
		}
		names = rest
		m := mappedFile{lo: le.Uint64(e), hi: le.Uint64(e[8:]), offset: le.Uint64(e[16:]) * page, path: string(name)}
		if m.lo < m.hi {
			files = append(files, m)
		}
	}
	return files
}
