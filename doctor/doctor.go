package doctor

import (
	"fmt"
	"os"
)

// Finding is one thing that was looked at.
type Finding struct {
	Name     string `json:"name"`
	Engine   string `json:"engine,omitempty"` // the engine that it concerns; "": both
	OK       bool   `json:"ok"`
	Required bool   `json:"required"` // nothing can be captured (by that engine) unless it is OK
	Detail   string `json:"detail"`
	Fix      string `json:"fix,omitempty"` // a command or an advice; "" if there is none, or no need
}

// The engines.
const (
	EngineInline = "inline"
	EngineKernel = "ebpf"
)

// Check looks at this machine, kernel and process. The first finding sums the
// others up.
func Check() []Finding {
	all := current().check()
	return append([]Finding{Capture(all)}, all...)
}

func (s *system) check() []Finding {
	return []Finding{
		s.tracing(),
		s.yama(),
		s.attaching(),
		s.sharedMemory(),
		s.guardPages(),
		s.addressSpace(),
		s.dropping(),
		s.kernel(),
		s.btf(),
		s.capabilities(),
		s.uprobeMulti(),
		s.unprivilegedBPF(),
		s.perfParanoid(),
		s.lockdown(),
		s.privilegedPrograms(),
		s.container(),
		s.freezer(),
		s.coreFiles(),
		s.debugInfo(),
	}
}

// system is the machine as far as checks ask for it. Files are below root, so
// that tests can show other machines.
type system struct {
	root    string // "" in real life
	release string // of the kernel
	self    string // path of this program
	noSUID  bool   // self lies where file capabilities have no effect
	status  map[string]string
	try     func() error // uprobe_multi
	trace   func() error // tracing a child
	core    uint64       // limit of core files in bytes
	space   uint64       // limit of the address space in bytes

	memfd, userfault func() error // making them
	bmi2             bool
}

func (s *system) read(path string) (string, error) {
	b, err := os.ReadFile(s.root + path)
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	return string(b), err
}

func (s *system) exists(path string) bool {
	_, err := os.Stat(s.root + path)
	return err == nil
}

// setcap is the command that gives this program its capabilities.
func (s *system) setcap(caps string) string {
	return fmt.Sprintf("sudo setcap %s=ep %s", caps, s.self)
}
