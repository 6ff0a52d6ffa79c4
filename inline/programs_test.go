package inline

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Frames are left by exceptions, longjmp, other stacks and cancellation.
func TestFlow(t *testing.T) {
	path := build(t, "flow.cc")
	for _, mode := range []string{"exceptions", "jumps", "coroutines"} {
		t.Run(mode, func(t *testing.T) {
			r := run{}
			r.same(t, path, mode)
		})
	}
}

// However a program is built, it does what it does alone, and memory is what the
// recording says.
func TestBuilds(t *testing.T) {
	for _, flags := range []string{
		"-O0", "-O3 -march=native", "-no-pie -O2 -fcf-protection=full -fno-plt", "-static -O2", "-static-pie -O2", "-Os -fomit-frame-pointer -Wl,-z,now,-z,separate-code",
	} {
		t.Run(flags, func(t *testing.T) {
			path := build(t, "flow.cc", strings.Fields(flags)...)
			for _, mode := range []string{"exceptions", "jumps"} {
				r := run{}
				r.same(t, path, mode)
			}
		})
	}
}

// Programs that nobody here wrote.
func TestRealPrograms(t *testing.T) {
	cc1, _ := exec.Command("gcc", "-print-prog-name=cc1").Output()
	dir := t.TempDir()
	source := filepath.Join(dir, "a.c")
	if err := os.WriteFile(source, []byte("int f(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i] * i; return s; }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"/bin/ls", "-lR", "/usr/include/linux"},
		{"/bin/bash", "-c", `for i in 1 2 3; do a+=($(echo $i | tr 1 x)); done; echo "${a[@]}"; (exit 3)`},
		{"/usr/bin/python3", "-c", "import threading\nd={}\nt=[threading.Thread(target=lambda k: d.update({k: str(k)*50}), args=(i,)) for i in range(20)]\n[x.start() for x in t]; [x.join() for x in t]\nprint(sorted(d.items())[3])"},
		{strings.TrimSpace(string(cc1)), "-quiet", "-O2", source, "-o", "-"},
	} {
		t.Run(filepath.Base(args[0]), func(t *testing.T) {
			if path, err := exec.LookPath(args[0]); err != nil || !filepath.IsAbs(path) {
				t.Skip("not installed")
			}
			output, code := native(t, args[0], args[1:]...)
			r := run{}
			if err := r.try(t, args[0], args[1:]...); err != nil {
				t.Fatal(err)
			}
			if r.output != output || r.status.Signal != 0 || r.status.Code != code {
				t.Errorf("%v, output:\n%s\nwithout mgtrace %d:\n%s", r.status, r.output, code, output)
			}
			// Libraries write to the program's blocks by themselves.
			t.Logf("%d of %d bytes differ; %+v", r.differ, r.known, r.stats)
			if r.differ > r.known/50 {
				t.Errorf("%d of %d bytes differ", r.differ, r.known)
			}
		})
	}
}
