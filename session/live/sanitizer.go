package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mgtrace/session/symbol"
)

// sanitizers are those of compilers that choose a program's addresses, by the beginning of
// their libraries' names and by a function that these define. They end a program that has
// memory where they expect none.
var sanitizers = map[string]struct{ library, entry string }{
	"AddressSanitizer":   {"asan", "__asan_init"},
	"ThreadSanitizer":    {"tsan", "__tsan_init"},
	"MemorySanitizer":    {"msan", "__msan_init"},
	"DataFlowSanitizer":  {"dfsan", "_ZN7__dfsan10dfsan_initEv"},
	"HWAddressSanitizer": {"hwasan", "__hwasan_init"},
}

// leakSearchers are the sanitizers that look for leaks when the program ends, which does not work under any tracer: they
// end it then with a status of their own. And the variable that tells them not to.
var leakSearchers = map[string]string{"asan": "ASAN_OPTIONS", "lsan": "LSAN_OPTIONS"}

// warnOfLeaks warns of a search for leaks, which changes how the program ends.
func (l *Program) warnOfLeaks() {
	for _, variable := range leakSearchers {
		if v := os.Getenv(variable); strings.Contains(v, "detect_leaks=0") || strings.Contains(v, "detect_leaks=false") {
			return
		}
	}
	for _, im := range l.Symbols.Images {
		for library, variable := range leakSearchers {
			if within, beside := carries(&im, library, "__"+library+"_init"); within || beside {
				l.warn("LeakSanitizer does not work under a tracer and ends the program with an error of its own: %s=detect_leaks=0 leaves the search for leaks out", variable)
				return
			}
		}
	}
}

// carries: the file is the program's own code with a sanitizer's library in it, which defines that function (within), or it is the library
// (beside).
func carries(im *symbol.Image, library, entry string) (within, beside bool) {
	within = im.Traced && im.Obj != nil && len(im.Obj.FuncsLinked(func(name string) bool { return name == entry })) > 0
	base := filepath.Base(im.Path)
	return within, strings.HasPrefix(base, "lib"+library+".so") || strings.HasPrefix(base, "libclang_rt."+library)
}

// sanitizer returns the one that the program was built with, "" if there is none. within:
// its library is a part of the program's own code.
func (l *Program) sanitizer() (name string, within bool) {
	for name, s := range sanitizers {
		for _, im := range l.Symbols.Images {
			if within, beside := carries(&im, s.library, s.entry); within || beside {
				return name, within
			}
		}
	}
	return "", false
}

// besideSanitizer says whether the engine inside the process may keep its table of stores
// that matter: AddressSanitizer wants that range for itself. Other sanitizers leave no
// place for the engine, and one within the program is code that must not be patched.
func (l *Program) besideSanitizer() (table bool, err error) {
	switch name, within := l.sanitizer(); {
	case name == "":
		return true, nil
	case name == "AddressSanitizer" && !within:
		return false, nil
	case within:
		return false, fmt.Errorf("the program holds %s's own code, which can not be patched: use --engine ebpf, or build without -static-lib…san", name)
	default:
		return false, fmt.Errorf("%s lets a program have no memory where the engine puts its own: use --engine ebpf", name)
	}
}
