package objfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Why a file can not be used.
var (
	ErrNotELF        = errors.New("not an ELF file")
	Err32Bit         = errors.New("a 32-bit program: only 64-bit ones are supported")
	ErrMachine       = errors.New("built for another machine: only x86-64 is supported")
	ErrNotExecutable = errors.New("neither an executable nor a shared object")
)

// image is an ELF file of any kind: the program, its debug files, a .dwo.
type image struct {
	name  string
	elf   *elf.File
	close func() error
}

func openImage(path string) (*image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, ErrNotELF)
	}
	im, err := newImage(path, f)
	if err != nil {
		f.Close()
		return nil, err
	}
	im.close = f.Close
	return im, nil
}

// newImage checks the identification itself: debug/elf's errors do not say
// what a user wants to know.
func newImage(name string, r io.ReaderAt) (im *image, err error) {
	defer func() {
		if p := recover(); p != nil { // debug/elf on corrupted headers
			im, err = nil, fmt.Errorf("%s: %w: %v", name, ErrNotELF, p)
		}
	}()
	var ident [20]byte
	if n, _ := r.ReadAt(ident[:], 0); n < len(ident) || string(ident[:4]) != elf.ELFMAG {
		return nil, fmt.Errorf("%s: %w", name, ErrNotELF)
	}
	machine := elf.Machine(binary.LittleEndian.Uint16(ident[18:]))
	switch {
	case elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS32:
		return nil, fmt.Errorf("%s: %w", name, Err32Bit)
	case elf.Data(ident[elf.EI_DATA]) != elf.ELFDATA2LSB:
		return nil, fmt.Errorf("%s: %w", name, ErrMachine)
	case machine != elf.EM_X86_64:
		return nil, fmt.Errorf("%s: %w (%v)", name, ErrMachine, machine)
	}
	ef, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %v", name, ErrNotELF, err)
	}
	return &image{name: name, elf: ef, close: func() error { return nil }}, nil
}

// section returns the contents of a section, decompressed; nil if there is
// none or it can not be read.
func (im *image) section(name string) (data []byte) {
	defer func() {
		if recover() != nil { // debug/elf on corrupted sections
			data = nil
		}
	}()
	s := im.elf.Section(name)
	if s == nil { // compressed in the way before SHF_COMPRESSED
		s = im.elf.Section(strings.Replace(name, ".debug_", ".zdebug_", 1))
	}
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil
	}
	data, err := s.Data()
	if err != nil {
		return nil
	}
	return data
}

func (im *image) has(name string) bool {
	for _, n := range [...]string{name, strings.Replace(name, ".debug_", ".zdebug_", 1)} {
		if s := im.elf.Section(n); s != nil && s.Type != elf.SHT_NOBITS {
			return true
		}
	}
	return false
}

// buildID returns the build-id in hex, "" if there is none.
func (im *image) buildID() string {
	if id := buildIDNote(im.section(".note.gnu.build-id")); id != "" {
		return id
	}
	for _, p := range im.elf.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		data := make([]byte, p.Filesz)
		if _, err := p.ReadAt(data, 0); err == nil {
			if id := buildIDNote(data); id != "" {
				return id
			}
		}
	}
	return ""
}

// buildIDNote finds NT_GNU_BUILD_ID among notes.
func buildIDNote(b []byte) string {
	for len(b) >= 12 {
		namesz := uint64(binary.LittleEndian.Uint32(b))
		descsz := uint64(binary.LittleEndian.Uint32(b[4:]))
		typ := binary.LittleEndian.Uint32(b[8:])
		b = b[12:]
		nameEnd, size := (namesz+3)&^3, uint64(len(b))
		if nameEnd > size || descsz > size-nameEnd {
			return ""
		}
		if typ == 3 && string(b[:min(namesz, 4)]) == "GNU\x00" {
			return hex.EncodeToString(b[nameEnd : nameEnd+descsz])
		}
		b = b[min(nameEnd+(descsz+3)&^3, size):]
	}
	return ""
}

// link is the contents of .gnu_debuglink or .gnu_debugaltlink: a file name,
// and a CRC-32 or build-id.
func (im *image) link(section string) (name string, rest []byte) {
	data := im.section(section)
	i := bytes.IndexByte(data, 0)
	if i <= 0 {
		return "", nil
	}
	return string(data[:i]), data[i+1:]
}
