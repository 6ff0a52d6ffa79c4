package symbol

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"

	"mgtrace/objfile"
	"mgtrace/trace"
)

// Needed are the libraries that the dynamic linker would load for a program and that Own marks, where they are found
// without running it: in the directories that the files name (DT_RUNPATH, DT_RPATH), in LD_LIBRARY_PATH and where the
// linker always looks (ld.so(8)). Those that /etc/ld.so.conf leads to are not found. The caller closes their files.
func Needed(program string, o objfile.Options) []Image {
	var images []Image
	seen := map[string]bool{}
	for queue := []string{program}; len(queue) > 0; queue = queue[1:] {
		names, dirs := dependencies(queue[0], os.Getenv("LD_LIBRARY_PATH"))
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, dir := range dirs {
				path := filepath.Join(dir, name)
				f, err := objfile.Open(path, o)
				if err != nil {
					continue
				}
				images = append(images, Image{Module: trace.Module{Path: path, BuildID: f.BuildID()}, Obj: f})
				queue = append(queue, path)
				break
			}
		}
	}
	own := Own(images)
	for _, im := range images {
		if !im.Traced {
			_ = im.Obj.Close()
		}
	}
	return own
}

// dependencies are the libraries that a file needs, and the directories in which the linker looks for what a file asks
// for by its name alone, in order.
func dependencies(path, libraryPath string) (names, dirs []string) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	names, _ = f.DynString(elf.DT_NEEDED) // none: a static program
	here, err := filepath.Abs(path)
	if err != nil {
		return nil, nil
	}
	origin := strings.NewReplacer("$ORIGIN", filepath.Dir(here), "${ORIGIN}", filepath.Dir(here))
	rpath, _ := f.DynString(elf.DT_RPATH)
	runpath, _ := f.DynString(elf.DT_RUNPATH)
	if len(runpath) > 0 {
		rpath = nil // it counts for nothing then
	}
	add := func(list string) {
		for _, dir := range filepath.SplitList(list) {
			if dir != "" {
				dirs = append(dirs, origin.Replace(dir))
			}
		}
	}
	for _, list := range rpath {
		add(list)
	}
	add(libraryPath)
	for _, list := range runpath {
		add(list)
	}
	return names, append(dirs, linkerDirs...)
}

// linkerDirs are where the linker always looks.
var linkerDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
