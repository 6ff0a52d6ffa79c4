package doctor

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"mgtrace/target"
)

// What is here must be told whole: a name, a detail, and a way out of what is
// required and missing.
func TestCheckHere(t *testing.T) {
	for _, f := range Check() {
		t.Logf("%+v", f)
		if f.Name == "" || f.Detail == "" {
			t.Errorf("incomplete: %+v", f)
		}
		if f.Required && !f.OK && f.Fix == "" {
			t.Errorf("no way out: %+v", f)
		}
		if b, err := json.Marshal(f); err != nil || !strings.Contains(string(b), `"required"`) {
			t.Errorf("as JSON: %s, %v", b, err)
		}
	}
}

// machine makes a system out of files.
func machine(t *testing.T, files map[string]string) *system {
	t.Helper()
	s := &system{root: t.TempDir(), release: "6.18.1", self: "/usr/bin/mgtrace",
		try: func() error { return nil }, trace: func() error { return nil }, status: map[string]string{},
		memfd: func() error { return nil }, userfault: func() error { return nil }, bmi2: true, space: 1 << 63}
	for name, text := range files {
		path := filepath.Join(s.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestFindings(t *testing.T) {
	const allCaps, none, ptrace = "000001ffffffffff", "0000000000000000", "0000000000080000"
	for name, c := range map[string]struct {
		files       map[string]string
		change      func(*system)
		check       func(*system) Finding
		ok          bool
		detail, fix string
	}{
		"new kernel":         {check: (*system).kernel, ok: true, detail: "6.18"},
		"old kernel":         {change: func(s *system) { s.release = "6.1.0-37-amd64" }, check: (*system).kernel, detail: "needs 6.6", fix: "boot"},
		"older kernel":       {change: func(s *system) { s.release = "5.15.0" }, check: (*system).kernel, fix: "boot"},
		"no release":         {change: func(s *system) { s.release = "" }, check: (*system).kernel, fix: "boot"},
		"no btf":             {check: (*system).btf, detail: "missing", fix: "CONFIG_DEBUG_INFO_BTF"},
		"btf":                {files: map[string]string{"/sys/kernel/btf/vmlinux": "x"}, check: (*system).btf, ok: true},
		"no caps":            {change: caps(none), check: (*system).capabilities, detail: "CAP_BPF, CAP_PERFMON", fix: "sudo setcap cap_bpf,cap_perfmon=ep /usr/bin/mgtrace"},
		"caps":               {change: caps("000000c000000000"), check: (*system).capabilities, ok: true},
		"half the caps":      {change: caps("0000004000000000"), check: (*system).capabilities, detail: "missing: CAP_BPF", fix: "setcap"},
		"nosuid":             {change: func(s *system) { s.noSUID = true }, check: (*system).capabilities, detail: "nosuid", fix: "/usr/local/bin/mgtrace"},
		"uprobe_multi":       {check: (*system).uprobeMulti, ok: true},
		"no uprobe_multi":    {change: tries(ebpf.ErrNotSupported), check: (*system).uprobeMulti, detail: "does not have", fix: "6.6"},
		"untried":            {change: tries(os.ErrPermission), check: (*system).uprobeMulti, detail: "without the capabilities", fix: "setcap"},
		"refused":            {change: func(s *system) { caps(allCaps)(s); tries(os.ErrPermission)(s) }, check: (*system).uprobeMulti, fix: "--cap-add BPF"},
		"no yama":            {check: (*system).yama, ok: true, detail: "not there"},
		"yama 1":             {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "1"}, check: (*system).yama, ok: true},
		"yama 2":             {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "2"}, check: (*system).yama, fix: "ptrace_scope=1"},
		"yama 2, capable":    {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "2"}, change: caps(ptrace), check: (*system).yama, ok: true},
		"yama 3":             {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "3"}, change: caps(ptrace), check: (*system).yama, fix: "reboot"},
		"not traced":         {change: func(s *system) { s.trace = func() error { return errors.New("no") } }, check: (*system).tracing, detail: "no", fix: "SYS_PTRACE"},
		"no /proc":           {change: func(s *system) { s.trace = func() error { return target.ErrNoProc } }, check: (*system).tracing, detail: "/proc", fix: "mount"},
		"traced":             {check: (*system).tracing, ok: true},
		"memfd":              {check: (*system).sharedMemory, ok: true},
		"no memfd":           {change: func(s *system) { s.memfd = func() error { return os.ErrPermission } }, check: (*system).sharedMemory, detail: "memfd_create", fix: "seccomp"},
		"userfaultfd":        {check: (*system).guardPages, ok: true, detail: "without a signal"},
		"no userfaultfd":     {change: func(s *system) { s.userfault = func() error { return os.ErrPermission } }, check: (*system).guardPages, detail: "SIGSEGV", fix: "5.11"},
		"bmi2":               {check: (*system).dropping, ok: true, detail: "BMI2"},
		"no bmi2":            {change: func(s *system) { s.bmi2 = false }, check: (*system).dropping, detail: "every store is recorded"},
		"overcommit":         {files: map[string]string{"/proc/sys/vm/overcommit_memory": "0"}, check: (*system).addressSpace, ok: true},
		"no overcommit":      {files: map[string]string{"/proc/sys/vm/overcommit_memory": "2"}, check: (*system).addressSpace, detail: "= 2", fix: "overcommit_memory=0"},
		"ulimit -v":          {change: func(s *system) { s.space = 1 << 32 }, check: (*system).addressSpace, detail: "ulimit", fix: "unlimited"},
		"attach, no yama":    {change: caps(none), check: (*system).attaching, ok: true, detail: "this user's"},
		"attach, yama 0":     {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "0"}, change: caps(none), check: (*system).attaching, ok: true},
		"attach, yama 1":     {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "1"}, change: caps(none), check: (*system).attaching, detail: "mgtrace has started", fix: "ptrace_scope=0"},
		"attach, capable":    {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "2"}, change: caps(ptrace), check: (*system).attaching, ok: true, detail: "any process"},
		"attach, yama 3":     {files: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "3"}, change: caps(ptrace), check: (*system).attaching, fix: "reboot"},
		"no lockdown":        {check: (*system).lockdown, ok: true, detail: "none"},
		"integrity":          {files: map[string]string{"/sys/kernel/security/lockdown": "none [integrity] confidentiality"}, check: (*system).lockdown, ok: true, detail: "integrity"},
		"confidentiality":    {files: map[string]string{"/sys/kernel/security/lockdown": "none integrity [confidentiality]"}, check: (*system).lockdown, detail: "confidentiality", fix: "integrity"},
		"no container":       {files: map[string]string{"/proc/self/uid_map": "         0          0 4294967295"}, check: (*system).container, ok: true, detail: "none"},
		"docker":             {files: map[string]string{"/.dockerenv": ""}, check: (*system).container, ok: true, detail: "docker"},
		"user namespace":     {files: map[string]string{"/proc/self/uid_map": "0 1000 1"}, check: (*system).container, detail: "user namespace", fix: "outside"},
		"no cgroup":          {check: (*system).freezer, detail: "EINTR"},
		"cgroup":             {files: map[string]string{"/proc/self/mounts": "cgroup2 /cg cgroup2 rw 0 0", "/cg/x": ""}, check: (*system).freezer, ok: true, detail: "/cg"},
		"core limited":       {files: map[string]string{"/proc/sys/kernel/core_pattern": "core"}, check: (*system).coreFiles, fix: "ulimit"},
		"core written":       {files: map[string]string{"/proc/sys/kernel/core_pattern": "core"}, change: func(s *system) { s.core = 1 << 40 }, check: (*system).coreFiles, ok: true},
		"core to systemd":    {files: map[string]string{"/proc/sys/kernel/core_pattern": "|/usr/lib/systemd/systemd-coredump %P"}, check: (*system).coreFiles, ok: true, detail: "coredumpctl"},
		"no debug packages":  {check: (*system).debugInfo, fix: "apt"},
		"debug packages":     {files: map[string]string{"/usr/lib/debug/.build-id/x": ""}, check: (*system).debugInfo, ok: true},
		"bpf sysctl":         {files: map[string]string{"/proc/sys/kernel/unprivileged_bpf_disabled": "2"}, check: (*system).unprivilegedBPF, ok: true, detail: "= 2"},
		"perf paranoid":      {files: map[string]string{"/proc/sys/kernel/perf_event_paranoid": "4"}, check: (*system).perfParanoid, ok: true, detail: "= 4"},
		"no perf events":     {check: (*system).perfParanoid, fix: "CONFIG_PERF_EVENTS"},
		"cannot keep setuid": {change: caps(none), check: (*system).privilegedPrograms, fix: "cap_sys_ptrace"},
		"keeps setuid":       {change: caps(ptrace), check: (*system).privilegedPrograms, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := machine(t, c.files)
			if c.change != nil {
				c.change(s)
			}
			f := c.check(s)
			if f.OK != c.ok || !strings.Contains(f.Detail, c.detail) || !strings.Contains(f.Fix, c.fix) || c.fix == "" && f.OK && f.Fix != "" {
				t.Errorf("got %+v; want ok %v, detail %q, fix %q", f, c.ok, c.detail, c.fix)
			}
		})
	}
}

func caps(hex string) func(*system) { return func(s *system) { s.status["CapEff"] = hex } }

func tries(err error) func(*system) { return func(s *system) { s.try = func() error { return err } } }

// patched makes a program and sets one byte of its ELF header.
func patched(build func(*testing.T) string, at int, to byte) func(*testing.T) string {
	return func(t *testing.T) string {
		path := build(t)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[at] = to
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// finding returns the finding of that name.
func finding(t *testing.T, all []Finding, name string) Finding {
	t.Helper()
	for _, f := range all {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no finding %q in %+v", name, all)
	return Finding{}
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "p.c")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	gcc := func(flags ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			out := filepath.Join(t.TempDir(), "p")
			if msg, err := exec.Command("gcc", append([]string{"-o", out, source}, flags...)...).CombinedOutput(); err != nil {
				t.Skipf("gcc %v: %s", flags, msg)
			}
			return out
		}
	}
	script := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(path, []byte("#!/bin/sh\ntrue\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		make    func(*testing.T) string
		finding string
		ok      bool
		detail  string
	}{
		"debug":           {gcc("-g"), "debug information", true, "in the program"},
		"no debug":        {gcc(), "debug information", false, "none"},
		"dynamic":         {gcc(), "linking", true, "libc.so.6"},
		"static":          {gcc("-static"), "linking", true, "static"},
		"stripped":        {gcc("-s"), "symbols", false, "stripped"},
		"stripped static": {gcc("-s", "-static"), "symbols", false, "allocator"},
		"asan":            {gcc("-fsanitize=address"), "sanitizer", false, "AddressSanitizer"},
		"static asan rt":  {gcc("-fsanitize=address", "-static-libasan"), "sanitizer", false, "AddressSanitizer"},
		"no asan":         {gcc(), "sanitizer", true, "none"},
		"32-bit":          {patched(gcc(), 4, 1), "program", false, "32-bit"},
		"foreign":         {patched(gcc(), 18, 0xb7), "program", false, "EM_AARCH64"},
		"relocatable":     {gcc("-c"), "program", false, ""},
		"script":          {script, "program", false, "/bin/sh"},
		"missing":         {func(t *testing.T) string { return "no-such-program" }, "program", false, "PATH"},
		"directory":       {func(t *testing.T) string { return t.TempDir() }, "program", false, "directory"},
		"by PATH":         {func(t *testing.T) string { return "sh" }, "program", true, "/sh"},
	} {
		t.Run(name, func(t *testing.T) {
			f := finding(t, Program(c.make(t)), c.finding)
			if f.OK != c.ok || !strings.Contains(f.Detail, c.detail) {
				t.Errorf("got %+v; want ok %v, detail %q", f, c.ok, c.detail)
			}
		})
	}
}

// One engine is enough to capture; what both need is needed.
func TestCapture(t *testing.T) {
	none := func() error { return os.ErrPermission }
	for name, c := range map[string]struct {
		change func(*system)
		ok     bool
		detail string
	}{
		"both":           {func(*system) {}, true, "possible by --engine inline and --engine ebpf"},
		"no privileges":  {func(s *system) { s.status["CapEff"] = "0"; s.try = none }, true, "possible by --engine inline; not by --engine ebpf (capabilities, uprobe_multi)"},
		"old kernel":     {func(s *system) { s.release = "5.15.0" }, true, "possible by --engine inline; not by --engine ebpf (kernel)"},
		"no memfd":       {func(s *system) { s.memfd = none }, true, "possible by --engine ebpf; not by --engine inline (shared memory)"},
		"no ptrace":      {func(s *system) { s.trace = none }, false, "impossible"},
		"no userfaultfd": {func(s *system) { s.userfault = none }, true, "possible by --engine inline and"},
	} {
		t.Run(name, func(t *testing.T) {
			s := machine(t, map[string]string{"/sys/kernel/btf/vmlinux": "x"})
			caps("000000c000000000")(s)
			c.change(s)
			f := Capture(s.check())
			if f.OK != c.ok || !f.Required || f.Engine != "" || !strings.Contains(f.Detail, c.detail) || !f.OK && f.Fix == "" {
				t.Errorf("got %+v; want ok %v, detail %q", f, c.ok, c.detail)
			}
		})
	}
}
