package symbol

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/objfile"
	"mgtrace/target/mem"
	"mgtrace/trace"
)

// Load opens every ELF file that is mapped with code, the program itself
// first. root is prepended to the paths (the process's own root directory).
// Files that can not be opened are images without symbols.
func Load(maps []mem.Map, exe, root string, traced []string, o objfile.Options) (images []Image) {
	seen := map[string]bool{}
	for _, m := range maps {
		if !m.Exec || !m.File() || unnamed(m) || seen[m.Path] {
			continue
		}
		seen[m.Path] = true
		im := Image{Module: trace.Module{Path: m.Path, Lo: trace.Addr(m.Lo), Hi: trace.Addr(m.Hi)}}
		if f, err := openMapped(m, root, o); err != nil {
			im.Err = err
		} else {
			im.Obj = f
			im.BuildID = f.BuildID()
			im.Bias = bias(f, m)
			lo, hi := f.LoadRange()
			im.Lo, im.Hi = im.Bias+trace.Addr(lo), im.Bias+trace.Addr(hi)
		}
		im.Traced = m.Path == exe || MatchesModule(m.Path, traced)
		if m.Path == exe {
			images = append([]Image{im}, images...)
		} else {
			images = append(images, im)
		}
	}
	return images
}

// Untraced, as the name of a module, has no library recorded that nobody has named.
const Untraced = "none"

// Own marks the libraries among mapped files that whoever built the program has built as well, and returns them: they
// write to its structures as its own code does.
func Own(images []Image) (own []Image) {
	for i := range images {
		im := &images[i]
		if im.Traced || im.Obj == nil || runtimeLibrary(im.Path) || !im.Obj.OwnDWARF() {
			continue
		}
		im.Traced = true
		own = append(own, *im)
	}
	return own
}

// runtimeLibrary: the file is a part of the C or C++ implementation, or of a sanitizer.
func runtimeLibrary(path string) bool {
	if IsLibC(path) {
		return true
	}
	base := filepath.Base(path)
	return slices.ContainsFunc([]string{
		"ld-", "ld.so", "libc++", "libstdc++", "libgcc", "libunwind", "libm.so", "libpthread", "libdl.so", "librt.so",
		"libasan", "libtsan", "libmsan", "libubsan", "liblsan", "libclang_rt", "libgomp", "libomp", "libatomic",
	}, func(name string) bool { return strings.HasPrefix(base, name) })
}

// unnamed says that memory, which /proc/PID/maps shows as a deleted file, never had a name:
// of memfd_create(2), shmget(2), and what is shared with children or of huge pages.
func unnamed(m mem.Map) bool {
	return m.Deleted && (strings.HasPrefix(m.Path, "/memfd:") || strings.HasPrefix(m.Path, "/SYSV") ||
		m.Path == "/dev/zero" || m.Path == "/anon_hugepage")
}

// openMapped opens the file of a mapping, unless what lies at its path now is not what
// was mapped.
func openMapped(m mem.Map, root string, o objfile.Options) (*objfile.File, error) {
	if m.Deleted {
		return nil, fmt.Errorf("%s was replaced or removed after it was mapped (start the program anew)", m.Path)
	}
	return objfile.Open(filepath.Join(root, m.Path), o)
}

// LoadLate opens a library that the program has not mapped when it starts: it
// may dlopen it.
func LoadLate(name string, o objfile.Options) (Image, error) {
	path, err := filepath.EvalSymlinks(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil || !strings.Contains(name, "/") {
		return Image{}, fmt.Errorf("--module %s: the program has no such library; one that it loads later is named by its path", name)
	}
	f, err := objfile.Open(path, o)
	if err != nil {
		return Image{}, fmt.Errorf("--module %s: %w", name, err)
	}
	return Image{Module: trace.Module{Path: path, BuildID: f.BuildID(), Traced: true}, Obj: f}, nil
}

// Locate fills in where an image is mapped, if it is.
func (im *Image) Locate(maps []mem.Map) bool {
	for _, m := range maps {
		if m.Path != im.Path {
			continue
		}
		im.Place(bias(im.Obj, m))
		return true
	}
	return false
}

// Place fills in where an image is mapped.
func (im *Image) Place(bias trace.Addr) {
	lo, hi := im.Obj.LoadRange()
	im.Bias, im.Lo, im.Hi = bias, bias+trace.Addr(lo), bias+trace.Addr(hi)
}

// bias is where the file is mapped: the virtual address that the mapping's
// first byte has in the file lies at m.Lo.
func bias(f *objfile.File, m mem.Map) trace.Addr {
	if b, ok := f.Bias(m.Lo, m.Offset, m.Size(), m.Exec); ok {
		return trace.Addr(b)
	}
	lo, _ := f.LoadRange()
	return trace.Addr(m.Lo - lo)
}

// IsLibC: the file is the C library of a dynamic program.
func IsLibC(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "libc.so") || strings.HasPrefix(base, "libc-")
}

// IsLibCXX: it is a C++ library, GCC's or LLVM's.
func IsLibCXX(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "libstdc++.so") || strings.HasPrefix(base, "libc++.so")
}

// Uncaptured are the names of the libraries of which no store is captured, but for those of the C implementation.
func (t *Table) Uncaptured() (names []string) {
	for i := range t.Images {
		if t.Images[i].Uncaptured() {
			names = append(names, filepath.Base(t.Images[i].Path))
		}
	}
	return names
}

// Uncaptured: it is such a library.
func (im *Image) Uncaptured() bool {
	return strings.Contains(filepath.Base(im.Path), ".so") && !im.Traced && (!runtimeLibrary(im.Path) || IsLibCXX(im.Path))
}

// MatchesModule: a module is named by its path, its file name, or its name
// without version ("libfoo.so" for libfoo.so.1.2).
func MatchesModule(path string, names []string) bool {
	base := filepath.Base(path)
	for _, n := range names {
		if abs, err := filepath.Abs(n); err == nil && abs == path {
			return true
		}
		if real, err := filepath.EvalSymlinks(n); err == nil {
			if abs, err := filepath.Abs(real); err == nil && abs == path {
				return true
			}
		}
		if !strings.Contains(n, "/") && (base == n || strings.HasPrefix(base, n+".")) {
			return true
		}
	}
	return false
}
