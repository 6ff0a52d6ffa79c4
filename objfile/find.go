package objfile

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"mgtrace/objfile/dwarf"
)

// debugDir is where distributions install separate debug files.
const debugDir = "/usr/lib/debug"

// finder looks for the files that hold debug information: on disk around a
// path, or (given) among files that are at hand, as attachments of a trace.
type finder struct {
	path  string   // of the program
	dirs  []string // debug directories, best first
	given []*image // instead of the disk
	used  []*image // every further file that was opened
	warn  []string
}

func newFinder(path string, o Options) *finder {
	return &finder{path: path, dirs: append(append([]string(nil), o.DebugDirs...), debugDir)}
}

func (fd *finder) open(path string) *image {
	im, err := openImage(path)
	if err != nil {
		return nil
	}
	fd.used = append(fd.used, im)
	return im
}

// separate finds the debug file of im (gdb manual, "Separate Debug Files").
func (fd *finder) separate(im *image) *image {
	id := im.buildID()
	if fd.given != nil {
		return fd.pick(func(c *image) bool {
			return hasInfo(c) && (c.buildID() == id || c.elf.Type != elf.ET_REL && c.elf.Entry == im.elf.Entry && c.buildID() == "")
		})
	}
	if c := fd.byBuildID(id, im); c != nil {
		return c
	}
	name, rest := im.link(".gnu_debuglink")
	if name == "" || len(rest) < 4 {
		return nil
	}
	crc := binary.LittleEndian.Uint32(rest[len(rest)-4:])
	for _, dir := range fd.programDirs() {
		paths := []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name)}
		for _, d := range fd.dirs {
			paths = append(paths, filepath.Join(d, dir, name))
		}
		for _, p := range paths {
			if !sameFile(p, fd.path) && checksum(p) == crc {
				if c := fd.open(p); c != nil {
					return c
				}
			}
		}
	}
	return nil
}

func (fd *finder) byBuildID(id string, not *image) *image {
	if len(id) < 4 {
		return nil
	}
	for _, d := range fd.dirs {
		p := filepath.Join(d, ".build-id", id[:2], id[2:]+".debug")
		if sameFile(p, not.name) {
			continue
		}
		if c := fd.open(p); c != nil && c.buildID() == id {
			return c
		}
	}
	return nil
}

// alternate finds the supplementary file that dwz moved shared parts of im to.
func (fd *finder) alternate(im *image) *image {
	name, rest := im.link(".gnu_debugaltlink")
	if name == "" {
		return nil
	}
	id := hex.EncodeToString(rest)
	if fd.given != nil {
		return fd.pick(func(c *image) bool { return c != im && c.buildID() == id })
	}
	paths := []string{name}
	if !filepath.IsAbs(name) {
		dir := filepath.Dir(im.name)
		if real, err := filepath.EvalSymlinks(im.name); err == nil {
			dir = filepath.Dir(real)
		}
		paths = []string{filepath.Join(dir, name)}
	}
	for _, d := range fd.dirs {
		paths = append(paths, filepath.Join(d, ".dwz", filepath.Base(name)))
	}
	for _, p := range paths {
		if c := fd.open(p); c != nil && c.buildID() == id {
			return c
		}
	}
	if c := fd.byBuildID(id, im); c != nil {
		return c
	}
	fd.warn = append(fd.warn, "supplementary debug file not found: "+name)
	return nil
}

// dwo finds the split file of a unit and the unit in it.
func (fd *finder) dwo(u *dwarf.Unit) (*image, *dwarf.Unit) {
	id := u.DwoID()
	if fd.given != nil {
		for _, c := range fd.given {
			if c.has(".debug_info.dwo") && !c.has(".debug_cu_index") {
				if s := splitUnit(c, id); s != nil {
					return c, s
				}
			}
		}
		return nil, nil
	}
	name := u.DwoName()
	paths := []string{name}
	if !filepath.IsAbs(name) {
		paths = []string{filepath.Join(u.CompDir(), name)}
		for _, dir := range fd.programDirs() {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	for _, dir := range fd.programDirs() {
		paths = append(paths, filepath.Join(dir, filepath.Base(name)))
	}
	for _, p := range paths {
		if im, err := openImage(p); err == nil {
			if s := splitUnit(im, id); s != nil {
				fd.used = append(fd.used, im)
				return im, s
			}
			im.close()
		}
	}
	fd.warn = append(fd.warn, "split debug file not found: "+name)
	return nil, nil
}

// pack finds the .dwp file of im.
func (fd *finder) pack(im *image) *image {
	isPack := func(c *image) bool { return c.has(".debug_cu_index") }
	if fd.given != nil {
		return fd.pick(isPack)
	}
	paths := []string{fd.path + ".dwp", im.name + ".dwp"}
	if real, err := filepath.EvalSymlinks(fd.path); err == nil {
		paths = append(paths, real+".dwp")
	}
	for _, p := range paths {
		if c := fd.open(p); c != nil && isPack(c) {
			return c
		}
	}
	return nil
}

func (fd *finder) pick(ok func(*image) bool) *image {
	for _, c := range fd.given {
		if ok(c) {
			return c
		}
	}
	return nil
}

// programDirs are the directory of the program as it was named, and as it is
// behind symbolic links; absolute.
func (fd *finder) programDirs() (dirs []string) {
	abs, err := filepath.Abs(fd.path)
	if err != nil {
		return nil
	}
	dirs = []string{filepath.Dir(abs)}
	if real, err := filepath.EvalSymlinks(abs); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}

func hasInfo(im *image) bool { return im.has(".debug_info") }

func sameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}

// checksum is the CRC-32 of .gnu_debuglink: the usual one, of the whole file.
func checksum(path string) uint32 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return 0
	}
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, f); err != nil {
		return 0
	}
	return h.Sum32()
}

// dwarfSections reads the debug sections of im, with suffix "" or ".dwo".
// Line tables' strings have no .dwo form of their own.
func dwarfSections(im *image, suffix string) dwarf.Sections {
	s := func(name string) []byte { return im.section(".debug_" + name + suffix) }
	return dwarf.Sections{
		Info: s("info"), Types: s("types"), Abbrev: s("abbrev"), Str: s("str"), LineStr: s("line_str"),
		StrOffsets: s("str_offsets"), Addr: s("addr"), Ranges: s("ranges"), RngLists: s("rnglists"),
		Loc: s("loc"), LocLists: s("loclists"), Line: s("line"),
	}
}

// splitUnit returns the unit of a .dwo file by its identification.
func splitUnit(im *image, id uint64) *dwarf.Unit {
	for _, u := range dwarf.NewSplit(dwarfSections(im, ".dwo")).Units() {
		if u.DwoID() == id && !u.IsType() {
			return u
		}
	}
	return nil
}
