package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"mgtrace/target"
)

// The first kernel with uprobe_multi links.
const needMajor, needMinor = 6, 6

// current is the machine that we run on.
func current() *system {
	s := &system{try: loadUprobeMulti, trace: traceAChild, status: make(map[string]string),
		memfd: tryMemfd, userfault: tryUserfault, bmi2: hasBMI2(), space: addressLimit()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		s.release = unix.ByteSliceToString(u.Release[:])
	}
	self, err := os.Executable()
	if err != nil {
		self = "mgtrace"
	}
	s.self = self
	var fsys unix.Statfs_t
	s.noSUID = unix.Statfs(self, &fsys) == nil && fsys.Flags&unix.ST_NOSUID != 0
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &limit) == nil {
		s.core = limit.Cur
	}
	text, err := s.read("/proc/self/status")
	if err == nil {
		s.parseStatus(text)
	}
	return s
}

func (s *system) parseStatus(text string) {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			s.status[key] = strings.TrimSpace(value)
		}
	}
}

// traceAChild launches a program that does nothing and ends it at its exec.
func traceAChild() error {
	path, err := exec.LookPath("true")
	if err != nil {
		return nil // nothing to try with
	}
	p, err := target.Launch(context.Background(), target.Command{Path: path})
	if err != nil {
		return err
	}
	return p.Close()
}

func (s *system) kernel() Finding {
	f := Finding{Name: "kernel", Engine: EngineKernel, Required: true, Detail: "Linux " + s.release}
	major, minor, ok := parseRelease(s.release)
	f.OK = ok && (major > needMajor || major == needMajor && minor >= needMinor)
	if !f.OK {
		f.Detail += fmt.Sprintf("; probing many instructions at once needs %d.%d", needMajor, needMinor)
		f.Fix = fmt.Sprintf("boot Linux %d.%d or later (Debian 12: apt install linux-image-amd64 from bookworm-backports)", needMajor, needMinor)
	}
	return f
}

// parseRelease reads the first two numbers of "6.18.4-amd64".
func parseRelease(release string) (major, minor int, ok bool) {
	n, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return major, minor, err == nil && n == 2
}

func (s *system) btf() Finding {
	f := Finding{Name: "kernel types", Engine: EngineKernel, Required: true, OK: s.exists("/sys/kernel/btf/vmlinux"), Detail: "/sys/kernel/btf/vmlinux"}
	if !f.OK {
		f.Detail += " is missing"
		f.Fix = "use a kernel built with CONFIG_DEBUG_INFO_BTF (those of the distributions are)"
	}
	return f
}

// has reports whether this process has a capability.
func (s *system) has(bit uint) bool {
	effective, err := strconv.ParseUint(s.status["CapEff"], 16, 64)
	return err == nil && effective>>bit&1 != 0
}

// missingCaps lists what the eBPF engine lacks. CAP_SYS_ADMIN implies both.
func (s *system) missingCaps() []string {
	if s.has(unix.CAP_SYS_ADMIN) {
		return nil
	}
	var missing []string
	if !s.has(unix.CAP_BPF) {
		missing = append(missing, "cap_bpf")
	}
	if !s.has(unix.CAP_PERFMON) {
		missing = append(missing, "cap_perfmon")
	}
	return missing
}

func (s *system) capabilities() Finding {
	f := Finding{Name: "capabilities", Engine: EngineKernel, Required: true}
	missing := s.missingCaps()
	if f.OK = len(missing) == 0; f.OK {
		f.Detail = "CAP_BPF and CAP_PERFMON"
		return f
	}
	f.Detail = "missing: " + strings.ToUpper(strings.Join(missing, ", "))
	f.Fix = s.setcap("cap_bpf,cap_perfmon")
	if s.noSUID {
		f.Detail += "; " + s.self + " lies on a file system mounted nosuid, where setcap has no effect"
		f.Fix = fmt.Sprintf("copy %s to /usr/local/bin and run: sudo setcap cap_bpf,cap_perfmon=ep /usr/local/bin/%s",
			s.self, filepath.Base(s.self))
	}
	return f
}

func (s *system) uprobeMulti() Finding {
	f := Finding{Name: "uprobe_multi", Engine: EngineKernel, Required: true}
	switch err := s.try(); {
	case err == nil:
		f.OK, f.Detail = true, "a program for it was loaded"
	case errors.Is(err, ebpf.ErrNotSupported):
		f.Detail = "this kernel does not have it"
		f.Fix = fmt.Sprintf("boot Linux %d.%d or later with CONFIG_UPROBES and CONFIG_BPF_EVENTS", needMajor, needMinor)
	case len(s.missingCaps()) > 0:
		f.Detail = "cannot be tried without the capabilities"
		f.Fix = s.setcap("cap_bpf,cap_perfmon")
	default:
		f.Detail = "cannot be tried: " + err.Error()
		f.Fix = "in a container, give it the host's capabilities: --cap-add BPF --cap-add PERFMON --security-opt seccomp=unconfined"
	}
	return f
}

func (s *system) unprivilegedBPF() Finding {
	v, err := s.read("/proc/sys/kernel/unprivileged_bpf_disabled")
	f := Finding{Name: "unprivileged bpf", Engine: EngineKernel, OK: true, Detail: "kernel.unprivileged_bpf_disabled = " + v + ": capabilities are needed"}
	switch {
	case err != nil:
		f.Detail = "kernel.unprivileged_bpf_disabled is not there"
	case v == "0":
		f.Detail = "kernel.unprivileged_bpf_disabled = 0; probes need capabilities all the same"
	}
	return f
}

func (s *system) perfParanoid() Finding {
	v, err := s.read("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return Finding{Name: "perf events", Engine: EngineKernel, Detail: "the kernel has none: kernel.perf_event_paranoid is not there",
			Fix: "use a kernel built with CONFIG_PERF_EVENTS"}
	}
	return Finding{Name: "perf events", Engine: EngineKernel, OK: true,
		Detail: "kernel.perf_event_paranoid = " + v + ", which does not bind holders of CAP_PERFMON"}
}

// lockdown: the file shows all modes, the active one in brackets.
func (s *system) lockdown() Finding {
	f := Finding{Name: "lockdown", Engine: EngineKernel, OK: true, Detail: "none"}
	text, err := s.read("/sys/kernel/security/lockdown")
	if err != nil {
		return f
	}
	if _, rest, ok := strings.Cut(text, "["); ok {
		f.Detail, _, _ = strings.Cut(rest, "]")
	}
	if f.Detail == "confidentiality" {
		f.OK = false
		f.Detail += ": BPF programs may not read kernel memory, and crashes may lack details"
		f.Fix = "boot with lockdown=integrity"
	}
	return f
}

func (s *system) tracing() Finding {
	f := Finding{Name: "tracing", Required: true, OK: true, Detail: "a child was launched and traced"}
	if err := s.trace(); err != nil {
		f.OK, f.Detail = false, err.Error()
		f.Fix = s.yama().Fix
		switch {
		case errors.Is(err, target.ErrTraced):
			f.Fix = "run mgtrace outside of that tracer"
		case errors.Is(err, target.ErrNoProc):
			f.Fix = "mount -t proc proc /proc"
		case f.Fix == "":
			f.Fix = "in a container: --cap-add SYS_PTRACE --security-opt seccomp=unconfined"
		}
	}
	return f
}

func (s *system) yama() Finding {
	v, err := s.read("/proc/sys/kernel/yama/ptrace_scope")
	f := Finding{Name: "yama", OK: true, Detail: "kernel.yama.ptrace_scope = " + v}
	switch {
	case err != nil:
		f.Detail = "not there: nothing beyond the usual permissions"
	case v == "0" || v == "1":
		f.Detail += ": programs that mgtrace starts may be traced"
	case v == "2" && s.has(unix.CAP_SYS_PTRACE):
		f.Detail += ", and this process has CAP_SYS_PTRACE"
	case v == "2":
		f.OK = false
		f.Detail += ": only holders of CAP_SYS_PTRACE may trace"
		f.Fix = "sudo sysctl kernel.yama.ptrace_scope=1, or " + s.setcap("cap_bpf,cap_perfmon,cap_sys_ptrace")
	default:
		f.OK = false
		f.Detail += ": nobody may trace, until the next boot"
		f.Fix = "remove the setting from /etc/sysctl.d and reboot"
	}
	return f
}

func (s *system) privilegedPrograms() Finding {
	f := Finding{Name: "setuid programs", OK: s.has(unix.CAP_SYS_PTRACE), Detail: "CAP_SYS_PTRACE: they keep their privileges while traced"}
	if !f.OK {
		f.Detail = "without CAP_SYS_PTRACE, setuid and setcap programs lose their privileges while traced, and are refused"
		f.Fix = s.setcap("cap_bpf,cap_perfmon,cap_sys_ptrace")
	}
	return f
}

// container: capabilities of a user namespace do not count for BPF.
func (s *system) container() Finding {
	f := Finding{Name: "container", OK: true, Detail: "none found"}
	for path, name := range map[string]string{"/.dockerenv": "docker", "/run/.containerenv": "podman"} {
		if s.exists(path) {
			f.Detail = name
		}
	}
	if s.status["Seccomp"] == "2" {
		f.Detail += "; a seccomp filter is active"
	}
	if ids, err := s.read("/proc/self/uid_map"); err == nil {
		if w := strings.Fields(ids); len(w) == 3 && (w[0] != "0" || w[1] != "0" || w[2] != strconv.FormatUint(math.MaxUint32, 10)) {
			f.OK, f.Required, f.Engine = false, true, EngineKernel
			f.Detail += "; a user namespace, in which capabilities do not reach BPF"
			f.Fix = "run mgtrace outside of the user namespace (a rootful container with --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE)"
		}
	}
	if !s.exists("/sys/kernel/tracing") && !s.exists("/sys/kernel/debug/tracing") {
		f.Detail += "; no tracefs here (it is not needed)"
	}
	return f
}

// freezer: a program that has to wait for the reader is frozen by its cgroup
// where that is possible; a stop by signal makes some of its system calls fail
// with EINTR.
func (s *system) freezer() Finding {
	f := Finding{Name: "freezer", Engine: EngineKernel, Detail: "no cgroup v2 is mounted: a program that has to wait is stopped by signals, which some programs notice (EINTR)"}
	mounts, _ := s.read("/proc/self/mounts")
	for line := range strings.Lines(mounts) {
		if w := strings.Fields(line); len(w) > 2 && w[2] == "cgroup2" {
			f.OK = s.writable(w[1])
			f.Detail = "cgroup v2 at " + w[1]
			if !f.OK {
				f.Detail += ", where this user may not make groups: a program that has to wait is stopped by signals, which some programs notice (EINTR)"
				f.Fix = "systemd-run --user --scope -p Delegate=yes mgtrace …"
			}
			break
		}
	}
	return f
}

func (s *system) writable(dir string) bool {
	return unix.Access(s.root+dir, unix.W_OK) == nil
}

func (s *system) coreFiles() Finding {
	pattern, err := s.read("/proc/sys/kernel/core_pattern")
	f := Finding{Name: "core files", OK: true, Detail: "written as " + pattern}
	switch {
	case err != nil:
		return Finding{Name: "core files", Detail: "kernel.core_pattern cannot be read"}
	case strings.HasPrefix(pattern, "|") && strings.Contains(pattern, "systemd-coredump"):
		f.Detail = "kept by systemd: coredumpctl dump -o FILE gets one for mgtrace check"
	case strings.HasPrefix(pattern, "|"):
		f.Detail = "given to a program: " + pattern[1:]
	case s.core == 0:
		f.OK = false
		f.Detail += ", but their size is limited to 0 here"
		f.Fix = "ulimit -c unlimited"
	}
	return f
}

func (s *system) debugInfo() Finding {
	const dir = "/usr/lib/debug"
	entries, err := os.ReadDir(s.root + dir)
	if err == nil && len(entries) > 0 {
		return Finding{Name: "debug packages", OK: true, Detail: dir}
	}
	return Finding{Name: "debug packages", Detail: dir + " is missing or empty: lines in libraries of the distribution are not known",
		Fix: "sudo apt install libc6-dbg, and the -dbgsym packages of the libraries of interest"}
}

// loadUprobeMulti loads the least program for uprobe_multi links: a kernel
// without them refuses its attach type. (Package features would ask too, but
// reads /proc/self/mem first, which a binary with file capabilities may not.)
func loadUprobeMulti() error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "GPL", KernelVersion: firstKernel,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	switch {
	case errors.Is(err, unix.EINVAL): // an attach type that it does not know
		return errors.Join(ebpf.ErrNotSupported, err)
	case err != nil:
		return err
	}
	return p.Close()
}

// firstKernel is that kernel as LINUX_VERSION_CODE; kernels of today ignore it.
const firstKernel = needMajor<<16 | needMinor<<8
