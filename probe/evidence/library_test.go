package evidence

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/objfile"
)

// TestLibrary: what the C++ library allocates for exceptions and strings is known without
// its debug information.
func TestLibrary(t *testing.T) {
	out, err := exec.Command("g++", "-print-file-name=libstdc++.so.6").Output()
	path, err2 := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	if err != nil || err2 != nil {
		t.Skip("no libstdc++.so.6")
	}
	f, err := objfile.Open(path, objfile.Options{NoSeparate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	finder := NewFinder(nil)
	for name, want := range map[string]struct {
		typ     string
		certain bool
	}{
		"__cxa_allocate_exception": {"__cxxabiv1::__cxa_refcounted_exception", false}, // what is thrown lies behind it
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm": {"char", true},
		"_ZNSs4_Rep9_S_createEmmRKSaIcE":                                      {"std::string::_Rep", true},
		"_ZSt17__throw_bad_allocv":                                            {},
	} {
		funcs := f.FuncsLinked(func(linkage string) bool { return linkage == name || strings.HasPrefix(linkage, name+"@") })
		if len(funcs) != 1 {
			t.Errorf("%d functions %s", len(funcs), name)
			continue
		}
		told := finder.ForFrame(Frame{File: f, Addr: firstReturn(t, f, &funcs[0])})
		got := ""
		if told.Type != nil {
			got = told.Type.Name
		}
		if got != want.typ || told.Certain != want.certain {
			t.Errorf("%s: %q, certain: %v", name, got, told.Certain)
		}
	}
}

// firstReturn is where the first call of a function returns to.
func firstReturn(t *testing.T, f *objfile.File, fn *objfile.Func) uint64 {
	for pc := fn.Addr; pc < fn.Ranges[0][1]; {
		in, ok := decode(f, pc)
		if !ok {
			break
		}
		pc += uint64(in.Len)
		if in.Op.String() == "CALL" {
			return pc
		}
	}
	t.Fatalf("%s calls nothing", fn.Name)
	return 0
}
