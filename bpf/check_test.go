package bpf

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParseRelease(t *testing.T) {
	for _, c := range []struct {
		in           string
		major, minor int
		ok           bool
	}{
		{"6.18.44-fc", 6, 18, true},
		{"6.6", 6, 6, true},
		{"5.10.0-28-amd64", 5, 10, true},
		{"unknown", 0, 0, false},
	} {
		major, minor, ok := parseRelease(c.in)
		if major != c.major || minor != c.minor || ok != c.ok {
			t.Errorf("%q: %d %d %v", c.in, major, minor, ok)
		}
	}
}

func TestErrors(t *testing.T) {
	f := &FeatureError{Feature: "uprobe_multi", Kernel: "6.6", Have: "6.1.0"}
	if !errors.Is(f, ErrNotSupported) || !strings.Contains(f.Error(), "needs Linux 6.6 or later, this is 6.1.0") {
		t.Error(f)
	}
	p := &PermissionError{Missing: []string{"cap_bpf", "cap_perfmon"}, Command: "sudo setcap x", Err: unix.EPERM}
	if !errors.Is(p, ErrPermission) || !errors.Is(p, unix.EPERM) || !strings.Contains(p.Error(), "sudo setcap x") {
		t.Error(p)
	}
	caps, err := effectiveCapabilities([]byte("Name:\tx\nCapEff:\t000000c000000000\n"))
	if err != nil || caps != 1<<unix.CAP_BPF|1<<unix.CAP_PERFMON {
		t.Errorf("%#x, %v", caps, err)
	}
}

// An ordinary user with CAP_BPF and CAP_PERFMON can do all this; without them
// the error names the command.
func TestOrdinaryUser(t *testing.T) {
	if os.Getenv("BPF_TEST_USER") != "" {
		ordinaryUser(t)
		return
	}
	needEngine(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can become an ordinary user")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build(t, "threads.c", "-o", filepath.Join(dir, "threads"))
	self := filepath.Join(dir, "test")
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(self, b, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, caps := range []string{"bpf,perfmon", ""} {
		args := []string{"--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"}
		if caps != "" {
			plus := "+" + strings.ReplaceAll(caps, ",", ",+")
			args = []string{"--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all," + plus, "--ambient-caps=-all," + plus, "--bounding-set=-all," + plus}
		}
		cmd := exec.Command(setpriv, append(args, self, "-test.run=^TestOrdinaryUser$", "-test.v")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "BPF_TEST_USER="+caps+"/"+filepath.Join(dir, "threads"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("with %q: %v\n%s", caps, err, out)
		}
	}
}

func ordinaryUser(t *testing.T) {
	caps, path, _ := strings.Cut(os.Getenv("BPF_TEST_USER"), "/")
	path = "/" + path
	if caps == "" {
		err := Check()
		if !errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "setcap cap_bpf,cap_perfmon=ep "+os.Args[0]) {
			t.Fatal(err)
		}
		return
	}
	if os.Geteuid() == 0 {
		t.Fatal("still root")
	}
	p := newPlanner(t, path, libc).stores("fill").allocators()
	record(t, path, &p.plan, Options{}, "10").checkThreads(t, 10)
}

func TestParseMaps(t *testing.T) {
	maps, err := parseMaps(strings.NewReader(`55d0c0a00000-55d0c0a01000 r-xp 00001000 08:02 123                        /usr/bin/a b
55d0c0a02000-55d0c0a03000 rw-p 00000000 00:00 0                          [heap]
garbage
7f00-7f10 rw-p zz 00:00 1 /x
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []mapping{{lo: 0x55d0c0a00000, hi: 0x55d0c0a01000, offset: 0x1000, exec: true, dev: unix.Mkdev(8, 2), ino: 123, path: "/usr/bin/a b"}}
	if diff := cmp.Diff(want, maps, cmp.AllowUnexported(mapping{})); diff != "" {
		t.Error(diff)
	}
}
