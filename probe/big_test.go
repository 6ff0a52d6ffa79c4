package probe

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"mgtrace/objfile"
	"mgtrace/x86"
)

const libc = "/lib/x86_64-linux-gnu/libc.so.6"

// open returns an image of an installed file, or skips.
func open(t testing.TB, path string) *Image {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	f, err := objfile.Open(path, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &Image{Path: path, File: f}
}

// TestInstalledPrograms plans programs that nobody here wrote: every planned
// site must be an instruction to objdump as well, and hardly a store be lost.
func TestInstalledPrograms(t *testing.T) {
	files := []string{"/bin/bash", "/usr/bin/python3", libc, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"}
	if testing.Short() {
		files = files[:1]
	}
	for _, path := range files {
		t.Run(path[strings.LastIndex(path, "/")+1:], func(t *testing.T) {
			images := []*Image{open(t, path)}
			if path != libc {
				images = append(images, open(t, libc))
			}
			plan, err := Build(Request{}, images, Options{})
			if err != nil {
				t.Fatal(err)
			}
			all := len(plan.Stores) + len(plan.Unprobed)
			share := 100 * float64(len(plan.Stores)) / float64(all)
			t.Logf("%.3f %% of %d stores; %s", share, all, plan)
			least := 99.0
			if path == libc { // one in twenty is a vector store, most of them refused
				least = 92
			}
			if share < least {
				t.Errorf("only %.2f %% of the stores can be captured", share)
			}
			checkSites(t, plan)
			checkAgainstObjdump(t, plan, path)
		})
	}
}

// checkSites: what holds of every plan.
func checkSites(t *testing.T, plan *Plan) {
	t.Helper()
	check := func(s Site, what string) {
		if s == (Site{}) {
			return
		}
		f := plan.Images[s.Image].File
		if off, ok := f.Offset(s.Addr); !ok || off != s.Offset {
			t.Errorf("%s at %#x: offset %#x, want %#x", what, s.Addr, s.Offset, off)
		}
		if ok, reason := x86.KernelProbeable(f.Code(s.Addr, x86.MaxLen)); !ok {
			t.Errorf("%s at %#x can not be probed: %s", what, s.Addr, reason)
		}
	}
	for i := range plan.Stores {
		s := &plan.Stores[i]
		check(s.After, "behind a store")
		if !s.AfterOnly {
			check(s.Site, "store")
		} else if s.After == (Site{}) {
			t.Errorf("store at %#x: AfterOnly without After", s.Addr)
		}
	}
	for _, f := range plan.Funcs {
		check(f.Entry, f.Name)
		for _, r := range f.Returns {
			check(r, f.Name)
		}
	}
	for _, p := range plan.Points {
		check(p.Site, "point")
	}
}

// checkAgainstObjdump: every site of the program is an instruction to objdump.
func checkAgainstObjdump(t *testing.T, plan *Plan, path string) {
	t.Helper()
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Log("objdump is not installed")
		return
	}
	sites := map[uint64]bool{}
	for _, s := range plan.Stores {
		sites[s.Addr] = true
		if s.After != (Site{}) {
			sites[s.After.Addr] = true
		}
	}
	cmd := exec.Command("objdump", "-d", "--no-show-raw-insn", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if hex, _, ok := strings.Cut(strings.TrimSpace(sc.Text()), ":"); ok {
			if addr, err := strconv.ParseUint(hex, 16, 64); err == nil {
				delete(sites, addr)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for addr := range sites {
		if n++; n < 10 {
			t.Errorf("site %#x is no instruction to objdump", addr)
		}
	}
}

func BenchmarkBuildPython(b *testing.B) {
	for b.Loop() {
		images := []*Image{open(b, "/usr/bin/python3"), open(b, libc)}
		if _, err := Build(Request{Watch: []string{"main"}}, images, Options{}); err != nil {
			b.Log(err)
		}
	}
}

// TestWritersReturn: of a writer without uretprobe, every exit is a RET, and
// there is one: behind a jump to another function it would not have written yet.
func TestWritersReturn(t *testing.T) {
	plan, err := Build(Request{}, []*Image{open(t, "/bin/bash"), open(t, libc)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i := range plan.Funcs {
		f := &plan.Funcs[i]
		if f.Role != RoleWriter || f.Uretprobe {
			continue
		}
		seen++
		if len(f.Returns) == 0 {
			t.Errorf("%s never returns", f.Name)
		}
		for _, r := range f.Returns {
			in, err := x86.Decode(plan.Images[r.Image].File.Code(r.Addr, x86.MaxLen), r.Addr)
			if err != nil || in.Kind != x86.KindRet {
				t.Errorf("%s is left at %#x: %+v, %v", f.Name, r.Addr, in, err)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d writers", seen)
	}
}
