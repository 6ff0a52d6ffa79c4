package inline

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mgtrace/capture"
	"mgtrace/inline/hook"
	"mgtrace/inline/patch"
	"mgtrace/objfile"
	"mgtrace/probe"
	"mgtrace/target/mem"
	"mgtrace/x86"
)

// TestCoverage plans the patches of real programs and libraries as an engine
// would that records all of their stores, system calls and allocators, and
// counts by which tactic. Each plan is proved. At least 99.9 % of the stores must be
// reached by jumps: a trap costs a thousand times as much.
func TestCoverage(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "%-24s %8s %8s", "", "sites", "stores")
	for tactic := patch.B1; tactic < patch.NumTactics; tactic++ {
		fmt.Fprintf(&table, " %8s", tactic)
	}
	fmt.Fprintf(&table, " %10s %8s\n", "by jumps", "time")
	for _, name := range []string{"bash", "perl", "/usr/bin/python3", "git", "gdb", "libc.so.6", "libstdc++.so.6", "libsqlite3.so.0", "cc1plus"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			path := installed(t, name)
			e, free := engineFor(t, path)
			began := time.Now()
			u, err := e.planUnit([]int{0}, free)
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(began).Round(time.Millisecond)
			if err := patch.Verify(u.plan, u.code(), u.patchSites(), free, u.maker); err != nil {
				t.Error(err)
			}
			var stores, missed int
			for i, tactic := range u.plan.TacticOf {
				s := &u.sites[i]
				jump := tactic != patch.Trap && tactic != patch.Refused
				if s.Tag >= 0 {
					stores++
				}
				if s.Tag >= 0 && !jump {
					missed++
				}
				if !jump {
					t.Logf("%v at %#x: %s", tactic, s.PC-e.images[0].bias, x86.Text(s.Code, s.PC))
				}
			}
			fmt.Fprintf(&table, "%-24s %8d %8d", filepath.Base(path), len(u.sites), stores)
			for tactic := patch.B1; tactic < patch.NumTactics; tactic++ {
				fmt.Fprintf(&table, " %8d", u.plan.Tactics[tactic])
			}
			fmt.Fprintf(&table, " %8.3f %% %8s\n", 100*float64(stores-missed)/float64(stores), took)
			if stores < 1000 {
				t.Errorf("only %d stores", stores)
			}
			if missed*1000 > stores {
				t.Errorf("%d of %d stores have no jump", missed, stores)
			}
		})
	}
	t.Logf("\n%s", table.String())
}

// installed finds a program, a library or a part of gcc.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if strings.Contains(name, ".so") || strings.HasPrefix(name, "cc1") {
		option := "-print-file-name="
		if strings.HasPrefix(name, "cc1") {
			option = "-print-prog-name="
		}
		var out []byte
		out, err = exec.Command("gcc", option+name).Output()
		path = strings.TrimSpace(string(out))
	}
	if err != nil || !filepath.IsAbs(path) {
		t.Skipf("%s is not installed", name)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Skip(err)
	}
	return path
}

// engineFor is an engine for one file that is mapped where Linux would, with
// what is free around it, and without a process.
func engineFor(t *testing.T, path string) (*Engine, []patch.Range) {
	t.Helper()
	f, err := objfile.Open(path, objfile.Options{NoSeparate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	im := &probe.Image{Path: path, File: f, Traced: true}
	plan, err := probe.Build(probe.Request{}, []*probe.Image{im}, probe.Options{InProcess: true})
	if err != nil {
		t.Fatal(err)
	}
	maps, bytes, brk := layOut(t, path)
	e := &Engine{plan: plan, sites: capture.Sites(plan), images: make([]*image, 1), numbers: map[placeKey]int{}}
	e.opts.fill(plan)
	if e.images[0], err = locate(plan.Images[0], maps, bytes); err != nil {
		t.Fatal(err)
	}
	e.tables = hook.New(plan, func(int) (lo, hi uint64) { return e.images[0].extent() }, nil)
	return e, freeSpace(maps, brk)
}

// fileBytes is the memory of mapped files.
type fileBytes struct {
	maps []mem.Map
	data [][]byte
}

func (f *fileBytes) ReadMemory(buf []byte, addr uint64) (int, error) {
	for i, m := range f.maps {
		if m.Lo <= addr && addr < m.Hi && f.data[i] != nil {
			return copy(buf, f.data[i][addr-m.Lo:]), nil
		}
	}
	return 0, &mem.UnreadableError{Addr: addr}
}

// layOut maps a file: a program where it wants to be or near 0x5555_5555_4000, a
// library above other ones of 64 MB.
func layOut(t *testing.T, path string) (maps []mem.Map, bytes *fileBytes, brk uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const others, stack = 64 << 20, 0x7fff_ffff_f000
	bias := uint64(0x5555_5555_4000)
	library := strings.Contains(filepath.Base(path), ".so")
	switch {
	case f.Type == elf.ET_EXEC:
		bias = 0
	case library:
		bias = 0x7fff_f700_0000
		maps = append(maps, mem.Map{Lo: bias - others, Hi: bias})
	}
	bytes = &fileBytes{}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		lo, hi := (p.Vaddr+bias)&^(pageSize-1), pageUp(p.Vaddr+bias+p.Memsz)
		m := mem.Map{Lo: lo, Hi: hi, Read: true, Exec: p.Flags&elf.PF_X != 0, Offset: p.Off &^ (pageSize - 1), Path: path}
		var data []byte
		if m.Exec {
			data = make([]byte, hi-lo)
			if _, err := p.ReadAt(data[p.Vaddr+bias-lo:][:p.Filesz], 0); err != nil {
				t.Fatal(err)
			}
		}
		maps = append(maps, m)
		bytes.maps, bytes.data = append(bytes.maps, m), append(bytes.data, data)
		brk = max(brk, hi)
	}
	if library {
		brk = 0x5555_5560_0000
	}
	maps = append(maps, mem.Map{Lo: stack - 132<<10, Hi: stack, Path: "[stack]"})
	slices.SortFunc(maps, func(a, b mem.Map) int { return cmp.Compare(a.Lo, b.Lo) })
	return maps, bytes, brk
}
