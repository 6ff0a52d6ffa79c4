package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Why the engine can not run.
var (
	ErrNotSupported = errors.New("the eBPF engine is not supported")
	ErrPermission   = errors.New("the eBPF engine is not permitted")
)

// A FeatureError names what the kernel lacks. It is an ErrNotSupported.
type FeatureError struct {
	Feature string // what is missing
	Kernel  string // the first kernel that has it; "" if it is a matter of its configuration
	Have    string // this kernel
}

func (e *FeatureError) Error() string {
	if e.Kernel == "" {
		return fmt.Sprintf("%v: this kernel (%s) has no %s", ErrNotSupported, e.Have, e.Feature)
	}
	return fmt.Sprintf("%v: %s needs Linux %s or later, this is %s", ErrNotSupported, e.Feature, e.Kernel, e.Have)
}

// Is makes errors.Is(err, ErrNotSupported) true.
func (e *FeatureError) Is(target error) bool { return target == ErrNotSupported }

// A PermissionError names the capabilities that are missing and the command that
// grants them. It is an ErrPermission.
type PermissionError struct {
	Missing []string // names as setcap knows them
	Command string
	Err     error // what the kernel said, if it was asked
}

func (e *PermissionError) Error() string {
	if len(e.Missing) == 0 {
		return fmt.Sprintf("%v: the kernel refused (%v) though the capabilities are there: in a container, they must be those of the host", ErrPermission, e.Err)
	}
	return fmt.Sprintf("%v: it needs %s. Run once:\n    %s", ErrPermission, strings.Join(e.Missing, " and "), e.Command)
}

// Is makes errors.Is(err, ErrPermission) true.
func (e *PermissionError) Is(target error) bool { return target == ErrPermission }

// Unwrap returns the kernel's error.
func (e *PermissionError) Unwrap() error { return e.Err }

// minKernel is the first kernel with uprobe_multi links (commit 89ae89f53d20).
var minKernel = [2]int{6, 6}

// Check says whether the engine can run here: nil, a *FeatureError or a
// *PermissionError. It changes nothing.
func Check() error {
	if err := checkKernel(); err != nil {
		return err
	}
	return checkCapabilities(nil)
}

func checkKernel() error {
	release := kernelRelease()
	if major, minor, ok := parseRelease(release); ok &&
		(major < minKernel[0] || major == minKernel[0] && minor < minKernel[1]) {
		return &FeatureError{
			Feature: "probing many instructions at once (uprobe_multi)",
			Kernel:  fmt.Sprintf("%d.%d", minKernel[0], minKernel[1]),
			Have:    release,
		}
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return &FeatureError{Feature: "type information of its own (CONFIG_DEBUG_INFO_BTF)", Have: release}
	}
	return nil
}

func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// parseRelease reads the first two numbers of a kernel release like
// "6.18.4-amd64".
func parseRelease(s string) (major, minor int, ok bool) {
	a, rest, _ := strings.Cut(s, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err1 := strconv.Atoi(a)
	minor, err2 := strconv.Atoi(rest[:end])
	return major, minor, err1 == nil && err2 == nil
}

// needed are the capabilities that the kernel asks for (capabilities(7)).
var needed = [...]struct {
	name string
	bit  uint
}{{"cap_bpf", unix.CAP_BPF}, {"cap_perfmon", unix.CAP_PERFMON}}

// checkCapabilities says which capabilities this process lacks. cause is what
// the kernel refused with, or nil.
func checkCapabilities(cause error) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	effective, err := effectiveCapabilities(status)
	if err != nil {
		return err
	}
	e := &PermissionError{Err: cause}
	for _, c := range needed {
		// CAP_SYS_ADMIN implies both.
		if effective>>c.bit&1 == 0 && effective>>unix.CAP_SYS_ADMIN&1 == 0 {
			e.Missing = append(e.Missing, c.name)
		}
	}
	if len(e.Missing) == 0 && cause == nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		self = "mgtrace"
	}
	e.Command = fmt.Sprintf("sudo setcap cap_bpf,cap_perfmon=ep %s", self)
	return e
}

func effectiveCapabilities(status []byte) (uint64, error) {
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte("CapEff:")); ok {
			return strconv.ParseUint(string(bytes.TrimSpace(v)), 16, 64)
		}
	}
	return 0, errors.New("no CapEff in /proc/self/status")
}

// explain makes the kernel's refusal one of this package's errors.
func explain(what string, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%s: %w", what, checkCapabilities(err))
	}
	return fmt.Errorf("%s: %w", what, err)
}
