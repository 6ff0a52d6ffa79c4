package patch

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mgtrace/objfile"
	"mgtrace/x86"
)

// loaded is a file's code at an address that Linux would choose, and what is
// free around it.
type loaded struct {
	code []Code
	free []Range
}

// load reads a program or library. A heap of 256 MB is left behind a program,
// 64 MB of other libraries around a library.
func load(t testing.TB, path string) loaded {
	t.Helper()
	f, err := objfile.Open(path, objfile.Options{})
	if err != nil {
		t.Skipf("%s: %v", path, err)
	}
	defer f.Close()
	ef, err := elf.Open(path)
	if err != nil {
		t.Skipf("%s: %v", path, err)
	}
	defer ef.Close()
	var end uint64
	for _, p := range ef.Progs {
		if p.Type == elf.PT_LOAD {
			end = max(end, (p.Vaddr+p.Memsz+0xfff)&^0xfff)
		}
	}
	const mmapMin, heap, others, stack = 0x10000, 256 << 20, 64 << 20, 0x7fff_fe00_0000
	var bias uint64
	var l loaded
	switch {
	case ef.Type == elf.ET_EXEC:
		l.free = []Range{{mmapMin, 0x400000}, {end + heap, 1 << 32}}
	case strings.Contains(path, ".so"):
		bias = 0x7fff_f700_0000
		l.free = []Range{{bias - 4<<30, bias - others}, {0x7fff_f800_0000, stack}} // behind the loader and its like
	default:
		bias = 0x5555_5555_4000
		l.free = []Range{{bias - 4<<30, bias}, {bias + end + heap, bias + 4<<30}}
	}
	ranges, _ := f.CodeRanges()
	for _, p := range ef.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		c := Code{Addr: p.Vaddr + bias, Bytes: make([]byte, p.Filesz)}
		if _, err := p.ReadAt(c.Bytes, 0); err != nil {
			t.Fatal(err)
		}
		for _, r := range ranges {
			if r[0] >= p.Vaddr && r[1] <= p.Vaddr+p.Filesz {
				c.Funcs = append(c.Funcs, Range{r[0] + bias, r[1] + bias})
			}
		}
		l.code = append(l.code, c)
	}
	return l
}

// binaries are what the tests patch, if they are installed.
var binaries = []string{"bash", "perl", "/usr/bin/python3", "git", "gdb", "sqlite3", "gcc", "ld", "as", "tar",
	"libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "libsqlite3.so.0", "libm.so.6"}

func find(t testing.TB, name string) string {
	if strings.Contains(name, ".so") {
		for _, dir := range []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"} {
			if path, err := filepath.EvalSymlinks(filepath.Join(dir, name)); err == nil {
				return path
			}
		}
		t.Skipf("%s: not installed", name)
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Skipf("%s: %v", name, err)
	}
	return path
}

// TestBinaries patches every store of real programs that may write to the heap.
func TestBinaries(t *testing.T) {
	for _, name := range binaries {
		t.Run(filepath.Base(name), func(t *testing.T) {
			l := load(t, find(t, name))
			sites := sitesOf(l.code, heapStore)
			e := emitterFor(l.code, sites, 60)
			begin := time.Now()
			plan, err := Make(l.code, sites, l.free, e)
			took := time.Since(begin)
			if err != nil {
				t.Fatal(err)
			}
			show(t, plan, len(sites))
			t.Logf("%v", took)
			begin = time.Now()
			if err := Verify(plan, l.code, sites, l.free, e); err != nil {
				t.Fatal(err)
			}
			t.Logf("verified in %v", time.Since(begin))
			missed := plan.Tactics[Refused] + plan.Tactics[Trap]
			if missed*1000 > len(sites) {
				t.Errorf("%d of %d sites have no jump", missed, len(sites))
			}
			for i, r := range plan.Refusals {
				if i < 5 {
					t.Logf("refused %#x: %v", r.Addr, r.Reason)
				}
			}
		})
	}
}

func show(t testing.TB, p *Plan, sites int) {
	var b strings.Builder
	for tactic := B1; tactic < NumTactics; tactic++ {
		n := p.Tactics[tactic]
		b.WriteString(" ")
		b.WriteString(tactic.String())
		b.WriteString(percent(n, sites))
	}
	size := 0
	for i := range p.Trampolines {
		size += len(p.Trampolines[i].Bytes)
	}
	t.Logf("%d sites:%s, %d traps, %d refused, %d evicted, %d hops, %d pages for %d",
		sites, b.String(), p.Tactics[Trap], p.Tactics[Refused], p.Evicted, p.Hops, p.Pages, (size+4095)/4096)
}

// BenchmarkMake plans a small program and the largest that is likely to be here.
func BenchmarkMake(b *testing.B) {
	for _, name := range []string{"bash", "libc.so.6", "cc1"} {
		b.Run(name, func(b *testing.B) {
			path := ""
			if name == "cc1" {
				out, err := exec.Command("gcc", "-print-prog-name=cc1").Output()
				if path = strings.TrimSpace(string(out)); err != nil || !filepath.IsAbs(path) {
					b.Skip("no cc1")
				}
			} else {
				path = find(b, name)
			}
			l := load(b, path)
			sites := sitesOf(l.code, heapStore)
			e := emitterFor(l.code, sites, 60)
			b.ResetTimer()
			for b.Loop() {
				plan, err := Make(l.code, sites, l.free, e)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(plan.Pages), "pages")
				b.ReportMetric(float64(len(sites)), "sites")
				b.ReportMetric(float64(plan.Tactics[Trap]+plan.Tactics[Refused]), "unpatched")
			}
		})
	}
}

// TestHooks patches what hooks need besides the stores: every system call, and of
// every sixteenth function the first instruction and the returns.
func TestHooks(t *testing.T) {
	for _, name := range []string{"bash", "/usr/bin/python3", "libc.so.6"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			l := load(t, find(t, name))
			var sites []Site
			var kinds []string
			add := func(c Code, f Range, hooked bool) {
				c.Funcs = []Range{f}
				for _, s := range sitesOf([]Code{c}, func(*x86.Inst) bool { return true }) {
					in, _ := x86.Decode(c.Bytes[s.Addr-c.Addr:], s.Addr)
					kind := ""
					switch {
					case hooked && s.Addr == f.Lo:
						kind = "entry"
					case hooked && in.Kind == x86.KindRet:
						kind = "return"
					case in.Branch() == x86.BranchSyscall:
						kind = "system call"
					case heapStore(&in):
						kind = "store"
					default:
						continue
					}
					sites, kinds = append(sites, s), append(kinds, kind)
				}
			}
			for _, c := range l.code {
				for i, f := range c.Funcs {
					add(c, f, i%16 == 0)
				}
			}
			l.code = WithPadding(l.code)
			e := emitterFor(l.code, sites, 100)
			plan, err := Make(l.code, sites, l.free, e)
			if err != nil {
				t.Fatal(err)
			}
			if err := Verify(plan, l.code, sites, l.free, e); err != nil {
				t.Fatal(err)
			}
			show(t, plan, len(sites))
			count := map[string]*[NumTactics]int{}
			for i, k := range kinds {
				if count[k] == nil {
					count[k] = new([NumTactics]int)
				}
				count[k][plan.TacticOf[i]]++
			}
			for k, n := range count {
				t.Logf("%s: %v", k, *n)
			}
			if missed := plan.Tactics[Refused] + plan.Tactics[Trap]; missed*200 > len(sites) {
				t.Errorf("%d of %d sites have no jump", missed, len(sites))
			}
		})
	}
}
