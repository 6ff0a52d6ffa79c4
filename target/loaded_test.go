package target

import (
	"debug/elf"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"mgtrace/target/mem"
	"mgtrace/target/mem/memtest"
)

// fileSymbol returns a symbol's value and the entry point of a file.
func fileSymbol(t *testing.T, path, name string) (value, entry uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value, f.Entry
		}
	}
	t.Fatalf("%s has no symbol %s", path, name)
	return 0, 0
}

var kinds = map[string][]string{
	"pie":        {"-fpie", "-pie"},
	"no-pie":     {"-fno-pie", "-no-pie"},
	"static":     {"-static"},
	"static-pie": {"-static-pie"},
	"now":        {"-Wl,-z,now"},
}

// When its libraries are loaded, a function pointer that ld.so relocates is set
// and no constructor has run; from there the program runs as ever.
func TestRunToLoaded(t *testing.T) {
	for kind, flags := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "loaded", flags...)})
			if err := s.p.RunToLoaded(t.Context()); err != nil {
				t.Fatal(err)
			}
			constructed, err := mem.ReadUint32(s.p, symbol(t, s.p, "constructed"))
			if err != nil || constructed != 0 {
				t.Errorf("constructed is %d, %v", constructed, err)
			}
			checkLibc(t, s.p, !strings.HasPrefix(kind, "static"))
			if st := s.run(t.Context(), Handlers{}); st.Code != 3 {
				t.Errorf("status %v", st)
			}
			if got := s.output(); got != "constructed 1" {
				t.Errorf("output %q", got)
			}
		})
	}
}

// checkLibc holds that a dynamic program's libc is mapped and relocated.
func checkLibc(t *testing.T, p *Process, dynamic bool) {
	t.Helper()
	maps, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, m := range maps {
		found = found || strings.Contains(m.Path, "libc.so") && m.Exec
	}
	if found != dynamic {
		t.Errorf("libc mapped: %v, want %v", found, dynamic)
	}
	if !dynamic {
		return
	}
	pointer, err := mem.ReadUint64(p, symbol(t, p, "pointer"))
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := mem.FindMap(maps, pointer); !ok || !strings.Contains(m.Path, "libc.so") {
		t.Errorf("pointer %#x is in %+v, not relocated", pointer, m)
	}
}

func TestRunTo(t *testing.T) {
	for kind, flags := range kinds {
		t.Run(kind, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "loaded", flags...)})
			main := symbol(t, s.p, "main")
			before := make([]byte, 16)
			if _, err := s.p.ReadMemory(before, main); err != nil {
				t.Fatal(err)
			}
			if _, err := s.p.RunTo(t.Context(), main); err != nil {
				t.Fatal(err)
			}
			regs, err := s.p.Regs(s.p.PID())
			if err != nil || regs.RIP != main {
				t.Errorf("stopped at %#x, want %#x; %v", regs.RIP, main, err)
			}
			after := make([]byte, 16)
			if _, err := s.p.ReadMemory(after, main); err != nil || string(after) != string(before) {
				t.Errorf("code is % x, was % x; %v", after, before, err)
			}
			if st := s.run(t.Context(), Handlers{}); st.Code != 3 {
				t.Errorf("status %v", st)
			}
		})
	}
}

func TestMissingLibrary(t *testing.T) {
	dir := t.TempDir()
	lib, prog := dir+"/libgone.so", dir+"/prog"
	for _, cmd := range [][]string{
		{"gcc", "-shared", "-fPIC", "-o", lib, "testdata/lib.c"},
		{"gcc", "-o", prog, "-Wl,--no-as-needed", "testdata/loaded.c", lib},
		{"rm", lib},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", cmd, out)
		}
	}
	s := launch(t, Command{Path: prog})
	if err := s.p.RunToLoaded(t.Context()); !errors.Is(err, ErrExited) || !strings.Contains(err.Error(), "127") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(s.output(), "libgone.so") {
		t.Errorf("output %q", s.output())
	}
}

func TestCall(t *testing.T) {
	for _, kind := range []string{"pie", "no-pie"} {
		t.Run(kind, func(t *testing.T) {
			s := launch(t, Command{Path: build(t, "loaded", kinds[kind]...)})
			if err := s.p.RunToLoaded(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, err := s.p.Regs(s.p.PID())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.p.Call(symbol(t, s.p, "resolver")); err != nil || got != symbol(t, s.p, "chosen") {
				t.Errorf("resolver gives %#x, %v; want %#x", got, err, symbol(t, s.p, "chosen"))
			}
			if _, err := s.p.Call(symbol(t, s.p, "faulty")); err == nil || !strings.Contains(err.Error(), "SIGSEGV") {
				t.Errorf("faulty resolver: %v", err)
			}
			if _, err := s.p.Call(8); err == nil {
				t.Error("a function at 8 was called")
			}
			if after, err := s.p.Regs(s.p.PID()); err != nil || after != before {
				t.Errorf("registers changed: %+v, were %+v; %v", after, before, err)
			}
			if st := s.run(t.Context(), Handlers{}); st.Code != 3 {
				t.Errorf("status %v", st)
			}
			if got := s.output(); got != "constructed 1" {
				t.Errorf("output %q", got)
			}
		})
	}
}

// The resolvers of libc itself: a string function must be chosen.
func TestCallLibcResolver(t *testing.T) {
	s := launch(t, Command{Path: build(t, "loaded")})
	if err := s.p.RunToLoaded(t.Context()); err != nil {
		t.Fatal(err)
	}
	maps, err := s.p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	var libc mem.Map
	for _, m := range maps {
		if strings.Contains(m.Path, "libc.so") && m.Offset == 0 {
			libc = m
		}
	}
	f, err := elf.Open(libc.Path)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Skip(err)
	}
	called := 0
	for _, sym := range symbols {
		if elf.ST_TYPE(sym.Info) != elf.STT_GNU_IFUNC || sym.Section == elf.SHN_UNDEF {
			continue
		}
		got, err := s.p.Call(libc.Lo + sym.Value)
		if err != nil {
			t.Errorf("%s: %v", sym.Name, err)
			continue
		}
		called++
		if m, ok := mem.FindMap(maps, got); !ok || !m.Exec {
			t.Errorf("%s resolves to %#x in %+v", sym.Name, got, m)
		}
	}
	t.Logf("%d resolvers called", called)
	if st := s.run(t.Context(), Handlers{}); st.Code != 3 {
		t.Errorf("status %v", st)
	}
}

func TestMemorySuite(t *testing.T) {
	s := launch(t, Command{Path: build(t, "behave"), Args: []string{"code", "0"}})
	addr := symbol(t, s.p, "secret")
	maps, err := s.p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	memtest.Run(t, s.p, memtest.Case{Addr: addr, Data: []byte("written before the end"), Hole: hole(maps)})
}

// hole is an address that is not mapped, just above one that is.
func hole(maps []mem.Map) uint64 {
	for i, m := range maps[:len(maps)-1] {
		if m.Read && maps[i+1].Lo != m.Hi {
			return m.Hi
		}
	}
	return 0
}
