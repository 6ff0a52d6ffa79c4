package bpf

import (
	"bufio"
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"mgtrace/probe"
)

// mapping is one line of /proc/PID/maps.
type mapping struct {
	lo, hi, offset uint64
	write, exec    bool
	shared         bool
	dev, ino       uint64
	path           string
}

// readMaps reads the mappings of a process that have a file.
func readMaps(pid int) ([]mapping, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMaps(f)
}

func parseMaps(r io.Reader) ([]mapping, error) {
	var maps []mapping
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		m, ok := parseMapping(sc.Text())
		if ok && m.ino != 0 {
			maps = append(maps, m)
		}
	}
	return maps, sc.Err()
}

// parseMapping reads "55d0-55d1 r-xp 00001000 08:02 123  /path" (proc(5)).
func parseMapping(line string) (m mapping, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 {
		return m, false
	}
	lo, hi, _ := strings.Cut(f[0], "-")
	major, minor, _ := strings.Cut(f[3], ":")
	bad := false
	num := func(s string, base int) uint64 {
		v, err := strconv.ParseUint(s, base, 64)
		bad = bad || err != nil
		return v
	}
	m = mapping{
		lo:     num(lo, 16),
		hi:     num(hi, 16),
		write:  len(f[1]) > 1 && f[1][1] == 'w',
		exec:   len(f[1]) > 2 && f[1][2] == 'x',
		shared: len(f[1]) > 3 && f[1][3] == 's',
		offset: num(f[2], 16),
		dev:    unix.Mkdev(uint32(num(major, 16)), uint32(num(minor, 16))),
		ino:    num(f[4], 10),
		path:   strings.Join(f[5:], " "),
	}
	return m, !bad
}

// image is where a file of the plan lies in the process.
type image struct {
	path string // by which this process can open it
	maps []mapping
	bias uint64
	load [][2]uint64 // writable segments in the process, with their .bss
	code addrRange   // executable mappings
}

// findImage finds the mappings of the file at path, which may be a path in the
// mount namespace of the process.
func findImage(pid int, path string, maps []mapping) (*image, error) {
	var unmapped *image
	for _, p := range []string{path, filepath.Join("/proc", strconv.Itoa(pid), "root", path)} {
		var st unix.Stat_t
		if unix.Stat(p, &st) != nil {
			continue
		}
		im := &image{path: p}
		for _, m := range maps {
			// Overlay file systems show another device number in maps:
			// the path decides then.
			if m.ino == st.Ino && (m.dev == st.Dev || m.path == path) {
				im.maps = append(im.maps, m)
			}
		}
		if len(im.maps) > 0 {
			return im, im.locate()
		}
		if unmapped == nil {
			unmapped = im
		}
	}
	// A module that the process may dlopen: the kernel puts the probes in when
	// it is mapped.
	if unmapped != nil {
		return unmapped, nil
	}
	return nil, fmt.Errorf("%s is neither mapped in process %d nor a file", path, pid)
}

// locate reads the program headers: the bias, and where static data lies.
func (im *image) locate() error {
	f, err := elf.Open(im.path)
	if err != nil {
		return err
	}
	defer f.Close()
	im.bias = bias(f, im.maps)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 {
			im.load = append(im.load, [2]uint64{im.bias + p.Vaddr, im.bias + p.Vaddr + p.Memsz})
		}
	}
	for _, m := range im.maps {
		if !m.exec {
			continue
		}
		if im.code.Hi == 0 {
			im.code.Lo = m.lo
		}
		im.code.Hi = m.hi
	}
	return nil
}

// bias finds the difference between addresses in the process and in the file.
func bias(f *elf.File, maps []mapping) uint64 {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		for _, m := range maps {
			if m.offset <= p.Off && p.Off < m.offset+(m.hi-m.lo) {
				return m.lo - m.offset + p.Off - p.Vaddr
			}
		}
	}
	return 0
}

// maxRanges is MAX_RANGES in kernel/shared.h.
const maxRanges = 128

// staticData returns the static data of all files that the process has mapped,
// without the globals of the plan: stores there are not wanted. Files that are
// no ELF files have none.
func staticData(pid int, plan *probe.Plan, program *image, maps []mapping) []addrRange {
	var data [][2]uint64
	seen := make(map[[2]uint64]bool)
	for _, m := range maps {
		id := [2]uint64{m.dev, m.ino}
		if seen[id] {
			continue
		}
		seen[id] = true
		im, err := findImage(pid, m.path, maps)
		if err != nil {
			continue
		}
		data = append(data, im.load...)
	}
	var out []addrRange
	for _, r := range plan.Unwanted(data, program.bias) {
		out = append(out, addrRange{r[0], r[1]})
	}
	slices.SortFunc(out, func(a, b addrRange) int { return cmp.Compare(a.Lo, b.Lo) })
	return out[:min(len(out), maxRanges)]
}
