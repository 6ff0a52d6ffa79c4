package mem

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
)

// Map is one mapping of a program's address space.
type Map struct {
	Lo, Hi  uint64 // half-open range of addresses
	Read    bool
	Write   bool
	Exec    bool
	Shared  bool
	Offset  uint64 // of Lo in the file
	Inode   uint64 // 0: not a file, or unknown
	Path    string // a file, or a name in brackets ("[heap]"); "" anonymous
	Deleted bool   // the file that Path named was unlinked or replaced
}

// Size is the length of the mapping in bytes.
func (m Map) Size() uint64 { return m.Hi - m.Lo }

// File reports whether the mapping is of a file that has a name.
func (m Map) File() bool { return strings.HasPrefix(m.Path, "/") }

// Anonymous reports whether the mapping has no name and no file behind it.
func (m Map) Anonymous() bool { return m.Path == "" && m.Inode == 0 }

// FindMap returns the mapping that contains addr; maps are in address order.
func FindMap(maps []Map, addr uint64) (Map, bool) {
	i := sort.Search(len(maps), func(i int) bool { return maps[i].Hi > addr })
	if i == len(maps) || maps[i].Lo > addr {
		return Map{}, false
	}
	return maps[i], true
}

// ParseMaps reads the text of /proc/PID/maps (proc_pid_maps(5)).
func ParseMaps(r io.Reader) ([]Map, error) {
	var maps []Map
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20) // a path may have 4096 bytes, each escaped as \ooo
	for in.Scan() {
		m, err := parseMap(in.Text())
		if err != nil {
			return maps, err
		}
		maps = append(maps, m)
	}
	return maps, in.Err()
}

// parseMap reads "lo-hi perms offset dev inode   path".
func parseMap(line string) (Map, error) {
	var m Map
	bad := func() (Map, error) { return Map{}, fmt.Errorf("not a line of /proc/PID/maps: %q", line) }
	field, rest := make([]string, 5), line
	for i := range field {
		field[i], rest, _ = strings.Cut(rest, " ")
	}
	lo, hi, ok := strings.Cut(field[0], "-")
	if !ok || len(field[1]) != 4 {
		return bad()
	}
	var errs [4]error
	m.Lo, errs[0] = strconv.ParseUint(lo, 16, 64)
	m.Hi, errs[1] = strconv.ParseUint(hi, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(field[2], 16, 64)
	m.Inode, errs[3] = strconv.ParseUint(field[4], 10, 64)
	for _, err := range errs {
		if err != nil {
			return bad()
		}
	}
	if m.Hi < m.Lo {
		return bad()
	}
	p := field[1]
	m.Read, m.Write, m.Exec, m.Shared = p[0] == 'r', p[1] == 'w', p[2] == 'x', p[3] == 's'
	m.Path = strings.TrimLeft(rest, " ")
	if path, found := strings.CutSuffix(m.Path, " (deleted)"); found && m.Inode != 0 {
		m.Path, m.Deleted = path, true
	}
	m.Path = strings.ReplaceAll(m.Path, `\012`, "\n") // the one character that the kernel escapes
	return m, nil
}
