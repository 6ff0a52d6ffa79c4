package live

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"mgtrace/objfile"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// guess takes the program's own libraries that it may open while it runs: when it does it is too late to plan for them.
func (l *Program) guess(images []symbol.Image) {
	late, left := symbol.Openable(append(slices.Clone(images), l.late...), surroundings(l.proc.PID()), objfile.Options{DebugDirs: l.o.DebugDirs})
	for _, im := range late {
		l.o.Capture.log("%s has debug information of its own: its stores are recorded if the program opens it (--module none leaves it out)", im.Path)
		l.late, l.guessed = append(l.late, im), append(l.guessed, im.Path)
	}
	for _, path := range left {
		l.o.Capture.log("%s is not recorded if the program opens it, since there are too many: --module %[1]s records it", path)
	}
}

// forgo leaves out what guess has taken.
func (l *Program) forgo() {
	l.late = slices.DeleteFunc(l.late, func(im symbol.Image) bool { return slices.Contains(l.guessed, im.Path) })
	l.guessed = nil
}

// seen are the program's modules without those that guess has taken and that it has not opened.
func (l *Program) seen() []trace.Module {
	return slices.DeleteFunc(slices.Clone(l.Prog.Modules), func(m trace.Module) bool {
		return slices.Contains(l.guessed, m.Path) && slices.ContainsFunc(l.late, func(im symbol.Image) bool { return im.Path == m.Path })
	})
}

// surroundings are those of a process.
func surroundings(pid int) (s symbol.Surroundings) {
	s.Dir, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)) // it is ending, or another's: names with a directory are not found
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for _, v := range strings.Split(string(env), "\x00") {
		if list, ok := strings.CutPrefix(v, "LD_LIBRARY_PATH="); ok {
			s.LibraryPath = list
		}
	}
	return s
}
