package symbol

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// A library that a program opens while it runs (dlopen) is in no list of what it needs. But mostly its files tell: they
// hold its name, or the name of its directory, or it lies beside the program.

// Surroundings are what names of files mean to a process.
type Surroundings struct {
	Dir         string // its working directory
	LibraryPath string // its LD_LIBRARY_PATH
}

// Openable are the libraries that the process of some images may open and that Own marks, in the order in which they
// were found, and the paths of those that are too many (maxOpenable). The caller closes their files. A process that
// can open none has none.
func Openable(images []Image, s Surroundings, o objfile.Options) (own []Image, left []string) {
	if !slices.ContainsFunc(images, opens) {
		return nil, nil
	}
	known := map[string]bool{}
	var paths []string
	for i := range images {
		known[resolved(images[i].Path)] = true
		if images[i].Traced && images[i].Obj != nil {
			paths = append(paths, s.named(&images[i])...)
		}
	}
	paths = append(paths, sharedObjects(filepath.Dir(images[0].Path), maxDepth)...)
	var code uint64
	for i := 0; i < len(paths); i++ { // it grows
		path := resolved(paths[i])
		if path == "" || known[path] {
			continue
		}
		known[path] = true
		f, err := objfile.Open(path, o)
		if err != nil {
			continue // no library
		}
		found := []Image{{Module: trace.Module{Path: path, BuildID: f.BuildID()}, Obj: f}}
		switch {
		case !f.SharedObject() || len(Own(found)) == 0:
		case code+f.CodeSize() > maxOpenable:
			left = append(left, path)
		default:
			code += f.CodeSize()
			own = append(own, found...)
			paths = append(paths, s.named(&found[0])...)
			continue
		}
		_ = f.Close()
	}
	return own, left
}

// maxOpenable bounds what is planned for libraries that may never be opened, in bytes of code.
const maxOpenable = 8 << 20

// opens says that an image, other than the C library itself, asks for a library to be opened.
func opens(im Image) bool {
	return im.Obj != nil && !runtimeLibrary(im.Path) && (im.Obj.Imports("dlopen") || im.Obj.Imports("dlmopen"))
}

// resolved is a path without symbolic links, "" if nothing is there.
func resolved(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return path
}

// named are files that a file may open: those that it needs, those whose names it holds, and what lies in directories
// whose names it holds.
func (s Surroundings) named(im *Image) (paths []string) {
	bare, searched := dependencies(im.Path, s.LibraryPath)
	var dirs []string
	for _, name := range libraryNames(im.Obj) {
		switch dir, _ := filepath.Split(name); {
		case strings.Contains(dir, "%"): // what directory is known to nobody
		case dir == "":
			bare = append(bare, name)
		case strings.HasSuffix(name, "/"), strings.Contains(name, "%"):
			dirs = append(dirs, s.absolute(dir))
		default:
			paths = append(paths, s.absolute(name))
		}
	}
	for _, name := range bare {
		for _, dir := range searched {
			paths = append(paths, s.absolute(filepath.Join(dir, name)))
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		paths = append(paths, sharedObjects(dir, 1)...)
	}
	return paths
}

func (s Surroundings) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.Dir, path)
}

// libraryNames are the strings in a file's memory that look like the name of a shared object, or like a format of
// printf(3) that makes one, and absolute paths of directories, with a slash at their end.
func libraryNames(f *objfile.File) (names []string) {
	seen := map[string]bool{}
	for _, text := range f.ReadOnly() {
		for len(text) > 0 {
			word, rest, _ := bytes.Cut(text, []byte{0})
			text = rest
			if len(word) < 2 || len(word) > maxName || word[0] != '/' && !bytes.Contains(word, []byte(".so")) || seen[string(word)] {
				continue
			}
			name := string(word)
			switch {
			case isSharedObject(name):
			case name[0] == '/' && !systemDir(name) && isDir(name):
				name = strings.TrimSuffix(name, "/") + "/"
			default:
				continue
			}
			seen[string(word)] = true
			names = append(names, name)
		}
	}
	return names
}

// maxName bounds what counts as a path.
const maxName = 512

// isSharedObject: a path ends as those of shared objects do, with or without a version.
func isSharedObject(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	i := strings.Index(base, ".so")
	return i > 0 && (i+3 == len(base) || base[i+3] == '.') && !strings.ContainsAny(path, " \t\n\"")
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// sharedDirs have files of many programs.
var sharedDirs = []string{"/", "/usr", "/tmp", "/var", "/etc", "/opt", "/home", "/root", "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local", "/usr/local/bin", "/usr/share"}

// systemDir: a directory has files of all the machine, or of no kind that could be told.
func systemDir(path string) bool {
	path = filepath.Clean(path)
	return slices.Contains(linkerDirs, path) || slices.Contains(sharedDirs, path) || strings.HasPrefix(path, "/proc") || strings.HasPrefix(path, "/sys") || strings.HasPrefix(path, "/dev")
}

// Bounds of what is looked at for libraries beside the program: how deep its directory is searched, and how many files.
const (
	maxDepth   = 3
	maxEntries = 4096
)

// sharedObjects are the files in a directory, and as many levels of those in it less one, whose names are those of
// shared objects, the nearest first. Hidden directories and links to directories are left out, and so is what lies
// below directories of the system.
func sharedObjects(dir string, levels int) (paths []string) {
	seen := 0
	for at := []string{dir}; levels > 0 && len(at) > 0; levels-- {
		var below []string
		for _, dir := range at {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if seen++; seen > maxEntries {
					return paths
				}
				path := filepath.Join(dir, e.Name())
				switch {
				case e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !systemDir(dir):
					below = append(below, path)
				case e.Type()&^fs.ModeSymlink == 0 && isSharedObject(e.Name()):
					paths = append(paths, path)
				}
			}
		}
		at = below
	}
	return paths
}
