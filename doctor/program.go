package doctor

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mgtrace/target"
)

// Program looks at one program, found as a shell would find it.
func Program(name string) []Finding {
	path, err := target.Find(name, os.Getenv("PATH"))
	if err == nil {
		var x *target.Executable
		if x, err = target.Inspect(path); err == nil {
			return inspect(x)
		}
	}
	return []Finding{{Name: "program", Required: true, Detail: err.Error()}}
}

func inspect(x *target.Executable) []Finding {
	if f := kind(x); !f.OK {
		return []Finding{f, privileges(x)}
	}
	found := []Finding{kind(x), privileges(x)}
	f, err := elf.Open(x.Path)
	if err != nil {
		return append(found, Finding{Name: "file", Required: true, Detail: err.Error()})
	}
	defer f.Close()
	return append(found, linking(x, f), symbols(x, f), debugInfo(x, f), sanitizer(f))
}

// kind: whether it is a program that can be traced at all.
func kind(x *target.Executable) Finding {
	f := Finding{Name: "program", Required: true, Detail: x.Path}
	switch {
	case !x.Readable:
		f.Detail += ": may be executed but not read"
		f.Fix = "make it readable: chmod +r " + x.Path
	case x.Script():
		f.Detail += ": a script; what runs is its interpreter, " + strings.Join(x.Interpreter, " ")
		f.Fix = "name the program that it starts: --follow exec=NAME"
	case x.Machine == elf.EM_386, x.Machine == elf.EM_X86_64 && x.Class == elf.ELFCLASS32:
		f.Detail += ": a 32-bit program"
		f.Fix = "build it for x86-64"
	case x.Machine != elf.EM_X86_64:
		f.Detail += fmt.Sprintf(": for another machine (%s)", x.Machine)
		f.Fix = "build it for x86-64"
	case x.Type != elf.ET_EXEC && x.Type != elf.ET_DYN:
		f.Detail += fmt.Sprintf(": not a program (%s)", x.Type)
	case x.Loader != "" && !readable(x.Loader):
		f.Detail += ": its dynamic linker " + x.Loader + " is missing"
	default:
		f.OK = true
	}
	return f
}

func readable(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func privileges(x *target.Executable) Finding {
	f := Finding{Name: "privileges", OK: true, Detail: "none of its own"}
	switch why := x.LosesPrivileges(target.CurrentUser()); {
	case why != "":
		f.OK, f.Required = false, true
		f.Detail = why + ", and would lose that while traced"
		f.Fix = "give mgtrace CAP_SYS_PTRACE (mgtrace doctor shows how), or let the program run unprivileged"
	case x.Setuid || x.Setgid || x.Caps:
		f.Detail = "it is setuid, setgid or has capabilities, and keeps them"
	}
	return f
}

func linking(x *target.Executable, f *elf.File) Finding {
	if !x.Static() {
		libs, _ := f.ImportedLibraries()
		return Finding{Name: "linking", OK: true, Detail: "dynamic: " + strings.Join(libs, ", ")}
	}
	return Finding{Name: "linking", OK: true, Detail: "static: the allocator is found by its symbols in the program"}
}

func symbols(x *target.Executable, f *elf.File) Finding {
	found := Finding{Name: "symbols", OK: f.Section(".symtab") != nil, Detail: "present"}
	switch {
	case found.OK:
	case x.Static():
		found.Required = true
		found.Detail = "stripped and static: the allocator cannot be found by name"
		found.Fix = "name it by address: --alloc 0xADDR=… --free 0xADDR"
	default:
		found.Detail = "stripped: functions are addresses, except those of libraries"
		found.Fix = "install its debug package, or keep the symbols (no strip, no -s)"
	}
	return found
}

func debugInfo(x *target.Executable, f *elf.File) Finding {
	found := Finding{Name: "debug information", OK: true}
	id := buildID(f)
	switch {
	case f.Section(".debug_info") != nil:
		found.Detail = "in the program"
		if f.Section(".gnu_debugaltlink") != nil {
			found.Detail += ", shared with others (dwz)"
		}
	case len(id) > 2 && readable(filepath.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug")):
		found.Detail = "in its debug package"
	case f.Section(".gnu_debuglink") != nil && linked(x, f) != "":
		found.Detail = "in " + linked(x, f)
	default:
		found.OK = false
		found.Detail = "none: no lines, and the specification has to declare its layouts"
		found.Fix = "compile with -g, or install its debug package"
		if id != "" {
			found.Fix += " (build-id " + id + ")"
		}
	}
	return found
}

// buildID is the build-id of a file in hexadecimal, "" if it has none: a note
// of owner GNU, whose contents begin after three words and the padded name.
func buildID(f *elf.File) string {
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) <= 16 {
		return ""
	}
	return fmt.Sprintf("%x", b[16:])
}

// linked is the file that .gnu_debuglink names, "" if it is not there.
func linked(x *target.Executable, f *elf.File) string {
	b, err := f.Section(".gnu_debuglink").Data()
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(b), "\x00")
	dir := filepath.Dir(x.Path)
	for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, ".debug", name), filepath.Join("/usr/lib/debug", dir, name)} {
		if path != x.Path && readable(path) {
			return path
		}
	}
	return ""
}

// sanitizer: the runtimes replace the allocator, and delay its frees.
func sanitizer(f *elf.File) Finding {
	names := map[string]string{"__asan_init": "AddressSanitizer", "__hwasan_init": "HWAddressSanitizer",
		"__msan_init": "MemorySanitizer", "__tsan_init": "ThreadSanitizer"}
	var all []elf.Symbol
	for _, read := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
		s, _ := read() // one of the tables may be missing
		all = append(all, s...)
	}
	for _, s := range all {
		if name, ok := names[s.Name]; ok {
			return Finding{Name: "sanitizer", Detail: "built with " + name +
				": its allocator pads blocks and delays frees, and its shadow memory is written too",
				Fix: "build without -fsanitize for this"}
		}
	}
	return Finding{Name: "sanitizer", OK: true, Detail: "none"}
}
