package doctor

import (
	"strings"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Capture sums findings up: whether anything can be captured, and by what.
func Capture(findings []Finding) Finding {
	missing := map[string][]string{}
	for _, f := range findings {
		if !f.Required || f.OK {
			continue
		}
		if f.Engine != "" {
			missing[f.Engine] = append(missing[f.Engine], f.Name)
			continue
		}
		missing[EngineInline] = append(missing[EngineInline], f.Name)
		missing[EngineKernel] = append(missing[EngineKernel], f.Name)
	}
	f := Finding{Name: "capture", Required: true}
	var can, not []string
	for _, e := range []string{EngineInline, EngineKernel} {
		if m := missing[e]; len(m) > 0 {
			not = append(not, "not by --engine "+e+" ("+strings.Join(m, ", ")+")")
		} else {
			can = append(can, "--engine "+e)
		}
	}
	if f.OK = len(can) > 0; f.OK {
		f.Detail = "possible by " + strings.Join(append([]string{strings.Join(can, " and ")}, not...), "; ")
		return f
	}
	f.Detail = "impossible: " + strings.Join(not, "; ")
	f.Fix = "see what is missing below"
	return f
}

// sharedMemory: the engine in the process writes to memory that both map.
func (s *system) sharedMemory() Finding {
	f := Finding{Name: "shared memory", Engine: EngineInline, Required: true, OK: true, Detail: "memfd_create works"}
	if err := s.memfd(); err != nil {
		f.OK, f.Detail = false, "memfd_create: "+err.Error()
		f.Fix = "in a container: --security-opt seccomp=unconfined"
	}
	return f
}

// guardPages: what ends a full buffer.
func (s *system) guardPages() Finding {
	f := Finding{Name: "guard pages", Engine: EngineInline, OK: true, Detail: "userfaultfd (user mode): a full buffer stops its thread without a signal"}
	if err := s.userfault(); err != nil {
		f.OK = false
		f.Detail = "no userfaultfd (" + err.Error() + "): a full buffer is a SIGSEGV that mgtrace swallows; a program that blocks SIGSEGV while it has a handler for it loses the handler"
		f.Fix = "Linux 5.11 or later with CONFIG_USERFAULTFD; in a container: --security-opt seccomp=unconfined"
	}
	return f
}

// dropping: stores that can not matter are dropped in the program by an
// instruction of BMI2.
func (s *system) dropping() Finding {
	if s.bmi2 {
		return Finding{Name: "filter", Engine: EngineInline, OK: true, Detail: "BMI2: with a specification, stores that can not matter are dropped where they happen"}
	}
	return Finding{Name: "filter", Engine: EngineInline, Detail: "this processor has no BMI2: every store is recorded, which is slower"}
}

// addressSpace: buffers and trampolines reserve far more of it than they use.
func (s *system) addressSpace() Finding {
	f := Finding{Name: "address space", Engine: EngineInline, OK: true, Detail: "memory may be reserved without being used"}
	switch v, _ := s.read("/proc/sys/vm/overcommit_memory"); {
	case v == "2":
		f.OK = false
		f.Detail = "vm.overcommit_memory = 2: what is reserved for buffers counts as used, which may be refused"
		f.Fix = "sudo sysctl vm.overcommit_memory=0"
	case s.space < 1<<40:
		f.OK = false
		f.Detail = "it is limited (ulimit -v): buffers are smaller and for fewer threads, and every store is recorded, which is slower"
		f.Fix = "ulimit -v unlimited"
	}
	return f
}

// attaching: who may trace a process that is not a child (Yama,
// Documentation/admin-guide/LSM/Yama.rst).
func (s *system) attaching() Finding {
	f := Finding{Name: "attaching", OK: true}
	v, err := s.read("/proc/sys/kernel/yama/ptrace_scope")
	capable := s.has(unix.CAP_SYS_PTRACE)
	switch {
	case v == "3":
		f.OK, f.Detail = false, "kernel.yama.ptrace_scope = 3: to no process, until the next boot"
		f.Fix = "remove the setting from /etc/sysctl.d and reboot"
	case capable:
		f.Detail = "to any process: CAP_SYS_PTRACE"
	case err != nil || v == "0":
		f.Detail = "to this user's processes"
	default:
		f.OK, f.Detail = false, "kernel.yama.ptrace_scope = "+v+": only to processes that mgtrace has started"
		f.Fix = "sudo sysctl kernel.yama.ptrace_scope=0, or " + s.setcap("cap_bpf,cap_perfmon,cap_sys_ptrace")
	}
	return f
}

// tryMemfd makes shared memory as the engine does.
func tryMemfd() error {
	fd, err := unix.MemfdCreate("mgtrace", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// tryUserfault makes a descriptor for the faults of user mode, which needs no
// privilege (userfaultfd(2), UFFD_USER_MODE_ONLY).
func tryUserfault() error {
	const userModeOnly = 1
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|userModeOnly, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func hasBMI2() bool { return cpu.X86.HasBMI2 }

// addressLimit is the limit of a process's address space, bytes.
func addressLimit() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil {
		return limit.Cur
	}
	return unix.RLIM_INFINITY
}
