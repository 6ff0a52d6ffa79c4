package live

import (
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/target/mem"
	"mgtrace/trace"
)

// Limits of what is told of mapped files: looks at what is mapped, which take a while, and files.
const (
	maxLooks  = 16
	maxShared = 4
)

// sharedFiles are the files that the program has mapped shared.
type sharedFiles struct {
	looks int
	files []trace.Shared
}

// note looks whether what the program has mapped at an address is such a file.
func (s *sharedFiles) note(addr trace.Addr, mapped func() ([]mem.Map, error)) {
	if s.looks == maxLooks || len(s.files) == maxShared {
		return
	}
	s.looks++
	maps, err := mapped()
	if err != nil {
		return // it is ending
	}
	i := slices.IndexFunc(maps, func(m mem.Map) bool { return m.Lo <= uint64(addr) && uint64(addr) < m.Hi })
	if i < 0 || !isFile(maps[i]) || slices.ContainsFunc(s.files, func(f trace.Shared) bool { return f.Path == maps[i].Path }) {
		return
	}
	s.files = append(s.files, trace.Shared{Path: maps[i].Path, Size: maps[i].Size()})
}

// isFile: it is a file's contents that others may see, and neither code nor a device, nor what the C library has of its own
// (glibc 2.36, iconv/gconv_cache.c).
func isFile(m mem.Map) bool {
	device := strings.HasPrefix(m.Path, "/dev/") && !strings.HasPrefix(m.Path, "/dev/shm/")
	return m.Shared && m.Inode != 0 && strings.HasPrefix(m.Path, "/") && !m.Exec && !device && filepath.Base(m.Path) != "gconv-modules.cache"
}
